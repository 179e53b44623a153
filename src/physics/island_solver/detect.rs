//! Contacts within the next tick. A pure function of two states, so that every worker finds the same contacts.

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::collision::kernels::{Manifold, Placed, contact};
use crate::physics::contact::STATIC_PARTNER;
use crate::physics::island_solver::candidates::CandidateList;
use crate::physics::island_solver::filter::CollisionFilter;
use crate::physics::{BodyDef, Shape, World};

/// Two things in contact. The first is a body; of two bodies it is the one with the smaller index.
#[derive(Clone, Debug)]
pub struct IslandContact {
    /// Index of the body.
    pub a: u32,
    /// Index of the other body, or [`IslandContact::STATIC`] plus the index of the static object.
    pub b: u32,
    /// Contact points.
    pub manifold: Manifold,
}

impl IslandContact {
    /// Added to the indices of static objects.
    pub const STATIC: u32 = STATIC_PARTNER;

    /// The pair of bodies, unless one is static.
    pub fn bodies(&self) -> Option<(u32, u32)> {
        (self.b < Self::STATIC).then_some((self.a, self.b))
    }
}

/// How far from a body contacts are looked for, metres.
#[inline]
pub(super) fn look_ahead(world: &World, body: &BodyDef, state: &BodyState) -> f64 {
    // The travel of a body faster than its own size per tick is not covered in full; a scene is warned about that.
    let travel = (state.v.norm() * world.time.tick_s).min(body.radius);
    0.5 * world.rule.speculative_m + travel
}

/// The manifold, if any of its points may carry load within the next tick.
#[inline]
fn if_loaded(world: &World, manifold: Manifold, approach: impl Fn(Vec3) -> Vec3) -> Option<Manifold> {
    let may_carry_load = manifold.points().iter().any(|p| {
        let speed = approach(p.point).dot(&p.normal);
        p.gap + (world.time.tick_s * speed).min(0.0) < world.rule.speculative_m
    });
    may_carry_load.then_some(manifold)
}

#[inline]
fn placed<'a>(body: &'a BodyDef, state: &BodyState) -> Placed<'a> {
    Placed { shape: &body.shape, x: state.x, q: state.q }
}

/// Contact points of two bodies, if they may carry load within the next tick. `a` has the smaller id.
#[inline]
pub fn find_manifold(
    world: &World,
    a: &BodyDef,
    sa: &BodyState,
    b: &BodyDef,
    sb: &BodyState,
) -> Option<Manifold> {
    let reach = look_ahead(world, a, sa) + look_ahead(world, b, sb);
    let reached = a.radius + b.radius + reach;
    if (sa.x - sb.x).norm_squared() >= reached * reached {
        return None;
    }
    let manifold = contact(&placed(a, sa), &placed(b, sb), reach);
    if_loaded(world, manifold, |p| sa.velocity_at(p - sa.x) - sb.velocity_at(p - sb.x))
}

/// Finds candidates for contacts among some bodies, and their contacts with static geometry.
#[derive(Default)]
pub struct Detector {
    candidates: CandidateList,
    /// Static geometry near one body.
    near: Vec<u32>,
}

impl Detector {
    /// All pairs of `bodies` (ascending indices) that may be in contact, ascending. `states` are those of all bodies of
    /// the world.
    pub fn candidates(&mut self, world: &World, bodies: &[u32], states: &[BodyState]) -> &[(u32, u32)] {
        self.candidates.candidates(world, bodies, states)
    }

    /// How many times candidates were searched anew.
    pub fn searches(&self) -> u64 {
        self.candidates.built()
    }

    /// Calls `found` for every contact of one of `bodies` with static geometry, in ascending order.
    pub fn statics(
        &mut self,
        world: &World,
        bodies: &[u32],
        states: &[BodyState],
        mut found: impl FnMut(IslandContact),
    ) {
        for &index in bodies {
            let (body, state) = (&world.bodies[index as usize], &states[index as usize]);
            let reach = look_ahead(world, body, state) + 0.5 * world.rule.speculative_m;
            let bounds = body.shape.aabb(state.x, &state.q).grown(reach);
            world.static_bvh.near(&bounds, &mut self.near);
            for &at in &self.near {
                let object = &world.statics[at as usize];
                let fixed = Placed { shape: &object.shape, x: object.x, q: object.q };
                if is_clear_of(body, state, &fixed, reach) {
                    continue;
                }
                let manifold = contact(&placed(body, state), &fixed, reach);
                if let Some(manifold) = if_loaded(world, manifold, |p| state.velocity_at(p - state.x)) {
                    found(IslandContact { a: index, b: IslandContact::STATIC | at, manifold });
                }
            }
        }
    }
}

/// Bounds of some bodies and of how far they look ahead, by body index: bodies with disjoint bounds have no contact.
#[derive(Clone, Debug, Default)]
pub struct Bounds(Vec<Aabb>);

impl Bounds {
    /// Computes the bounds of `bodies`; `states` are those of all bodies of the world.
    pub fn update(&mut self, world: &World, bodies: &[u32], states: &[BodyState]) {
        self.0.resize(states.len(), Aabb { min: Vec3::zeros(), max: Vec3::zeros() });
        for at in bodies.iter().map(|body| *body as usize) {
            let (body, state) = (&world.bodies[at], &states[at]);
            // A little larger than needed, for rounding.
            let ahead = look_ahead(world, body, state) + 1e-9 * body.radius;
            self.0[at] = body.shape.aabb(state.x, &state.q).grown(ahead);
        }
    }
}

/// The contact of a pair of body indices, the smaller first, unless a joint rules it out. `states` are those of all
/// bodies of the world.
#[inline]
pub fn find_contact(
    world: &World,
    filter: &CollisionFilter,
    states: &[BodyState],
    bounds: &Bounds,
    (a, b): (u32, u32),
) -> Option<IslandContact> {
    if !bounds.0[a as usize].overlaps(&bounds.0[b as usize]) {
        return None;
    }
    let (body_a, body_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
    let (state_a, state_b) = (&states[a as usize], &states[b as usize]);
    let manifold = find_manifold(world, body_a, state_a, body_b, state_b)?;
    filter.may_touch(a, b).then_some(IslandContact { a, b, manifold })
}

/// A cheap test for bodies far above a plane; says no for every other shape.
#[inline]
fn is_clear_of(body: &BodyDef, state: &BodyState, object: &Placed, reach: f64) -> bool {
    match object.shape {
        Shape::HalfSpace(plane) => (object.q * plane.normal).dot(&(state.x - object.x)) > body.radius + reach,
        Shape::Sphere(_)
        | Shape::Box(_)
        | Shape::Capsule(_)
        | Shape::Cylinder(_)
        | Shape::Ring(_)
        | Shape::Hull(_)
        | Shape::Mesh(_) => false,
    }
}
