//! The one predicate that decides whether two bodies, or a body and static geometry, touch at a tick.
//!
//! Broad phases, hash tables and root finders may propose too many candidates, never too few. The two functions here
//! decide, and are always called with the body of the smaller id first.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::collision::kernels::{Manifold, Placed, contact};
use crate::physics::shape::Shape;
use crate::physics::world::{BodyDef, ContactRule, StaticDef};

/// Whether two balls touch: the same predicate for the most common pair, from positions and velocities alone. The
/// angular velocities of balls have no part along the line of centres.
#[inline]
pub(crate) fn balls_touch(rule: &ContactRule, radii: f64, xa: Vec3, va: Vec3, xb: Vec3, vb: Vec3) -> bool {
    let d = xa - xb;
    let d2 = d.norm_squared();
    let reached = radii + rule.margin_m;
    if d2 >= reached * reached {
        return false;
    }
    let distance = d2.sqrt();
    d2 == 0.0 || (va - vb).dot(&d) < parting_speed(rule, distance - radii) * distance
}

/// The speed (m/s) of separation from which bodies with this gap (metres) no longer touch.
#[inline]
pub(crate) fn parting_speed(rule: &ContactRule, gap: f64) -> f64 {
    rule.separation_speed_mps + rule.overlap_rate_hz * (-gap).max(0.0)
}

/// Where two bodies touch: nearer than the margin and not flying apart. `a` has the smaller id.
#[inline]
pub fn touching(
    rule: &ContactRule,
    a: &BodyDef,
    sa: &BodyState,
    b: &BodyDef,
    sb: &BodyState,
) -> Option<Manifold> {
    debug_assert!(a.id < b.id, "pairs are evaluated with the smaller id first");
    let radii = a.radius + b.radius;
    if let (Shape::Sphere { .. }, Shape::Sphere { .. }) = (&a.shape, &b.shape) {
        let touch = balls_touch(rule, radii, sa.x, sa.v, sb.x, sb.v);
        return touch.then(|| contact(&placed(a, sa), &placed(b, sb), f64::INFINITY));
    }
    let reached = radii + rule.margin_m;
    if (sa.x - sb.x).norm_squared() >= reached * reached {
        return None;
    }
    let manifold = contact(&placed(a, sa), &placed(b, sb), rule.speculative_m);
    let touches = manifold.points().iter().any(|p| {
        let approach = sa.velocity_at(p.point - sa.x) - sb.velocity_at(p.point - sb.x);
        p.gap < rule.margin_m && approach.dot(&p.normal) < parting_speed(rule, p.gap)
    });
    touches.then_some(manifold)
}

/// Whether two bodies are nearer than the margin, however they move. `a` has the smaller id.
pub(crate) fn is_within_margin(
    rule: &ContactRule,
    a: &BodyDef,
    sa: &BodyState,
    b: &BodyDef,
    sb: &BodyState,
) -> bool {
    let points = contact(&placed(a, sa), &placed(b, sb), rule.speculative_m);
    points.points().iter().any(|p| p.gap < rule.margin_m)
}

/// Where a body touches static geometry.
#[inline]
pub fn touching_static(rule: &ContactRule, a: &BodyDef, sa: &BodyState, b: &StaticDef) -> Option<Manifold> {
    let manifold = contact(&placed(a, sa), &Placed { shape: &b.shape, x: b.x, q: b.q }, rule.speculative_m);
    let touches = manifold.points().iter().any(|p| {
        let approach = sa.velocity_at(p.point - sa.x);
        p.gap < rule.margin_m && approach.dot(&p.normal) < parting_speed(rule, p.gap)
    });
    touches.then_some(manifold)
}

fn placed<'a>(body: &'a BodyDef, state: &BodyState) -> Placed<'a> {
    Placed { shape: &body.shape, x: state.x, q: state.q }
}
