//! The first tick of a range at which two flights touch, without looking at every tick.
//!
//! Root finding only narrows the range, with a margin. Whether bodies touch is decided by the one predicate of the narrow
//! phase, so that the answer is exactly that of testing every tick in turn.

use crate::base::math::Vec3;
use crate::base::time::Tick;
use crate::physics::collision::kernels::Placed;
use crate::physics::collision::narrow_phase::{balls_touch, touching, touching_static};
use crate::physics::flight::{Flight, FlightCursor};
use crate::physics::shape::Shape;
use crate::physics::world::{BodyDef, StaticDef, World};

/// Distance by which bounds are widened against rounding, metres.
const SLACK_M: f64 = 1e-6;
/// The same as a share of the coordinates, for bodies far from the origin.
const SLACK_SHARE: f64 = 1e-12;

/// A body in flight.
pub type Flying<'a> = (&'a BodyDef, &'a Flight);

/// The first tick of `from..=to` at which two bodies touch. `a` has the smaller id; neither flight begins after
/// `from`.
pub fn first_touch(world: &World, a: Flying, b: Flying, from: Tick, to: Tick) -> Option<Tick> {
    let (first, last) = near_ticks(world, a, b, from, to)?;
    let both_balls = matches!((&a.0.shape, &b.0.shape), (Shape::Sphere { .. }, Shape::Sphere { .. }));
    if both_balls {
        let radii = a.0.radius + b.0.radius;
        return (first..=last).find(|&tick| {
            let (xa, va) = (a.1.position_at(world, tick), a.1.velocity_at(world, tick));
            let (xb, vb) = (b.1.position_at(world, tick), b.1.velocity_at(world, tick));
            balls_touch(&world.rule, radii, xa, va, xb, vb)
        });
    }
    let (mut at_a, mut at_b) = (FlightCursor::new(*a.1), FlightCursor::new(*b.1));
    (first..=last).find(|&tick| {
        let (sa, sb) = (at_a.state_at(world, a.0, tick), at_b.state_at(world, b.0, tick));
        touching(&world.rule, a.0, &sa, b.0, &sb).is_some()
    })
}

/// The ticks of `from..=to` at which the bounding balls of two bodies may be within the margin. Both fall alike,
/// so their relative motion is a straight line.
fn near_ticks(world: &World, a: Flying, b: Flying, from: Tick, to: Tick) -> Option<(Tick, Tick)> {
    let (xa, xb) = (a.1.position_at(world, from), b.1.position_at(world, from));
    let d = xa - xb;
    let u = a.1.velocity_at(world, from) - b.1.velocity_at(world, from);
    let span = world.time.span_s(from, to);
    let g = world.gravity.amax();
    let scale =
        xa.amax().max(xb.amax()) + (a.1.origin.v.amax() + b.1.origin.v.amax()) * span + g * span * span;
    let reach = a.0.radius + b.0.radius + world.rule.margin_m + SLACK_M + SLACK_SHARE * scale;
    // |d + u s|^2 < reach^2
    let (speed2, approach, excess) = (u.norm_squared(), d.dot(&u), d.norm_squared() - reach * reach);
    if speed2 == 0.0 {
        return (excess < 0.0).then_some((from, to));
    }
    let discriminant = approach * approach - speed2 * excess;
    if discriminant < 0.0 {
        return None;
    }
    let root = discriminant.sqrt();
    let enters = (-approach - root) / speed2;
    let mut leaves = (-approach + root) / speed2;
    if let (Shape::Sphere { .. }, Shape::Sphere { .. }) = (&a.0.shape, &b.0.shape) {
        // Balls that part faster than the rule's limit do not touch, and they never slow down. The limit times
        // the distance is largest at half the reach.
        let limit =
            world.rule.separation_speed_mps * reach + world.rule.overlap_rate_hz * (0.25 * reach * reach);
        leaves = leaves.min((limit - approach) / speed2);
    }
    if leaves < -world.time.tick_s || enters > span + world.time.tick_s {
        return None;
    }
    // A tick of guard on both sides.
    let ticks = |seconds: f64| (seconds.max(0.0) / world.time.tick_s).min((to - from) as f64);
    let first = from + (ticks(enters).floor() as Tick).saturating_sub(1);
    let last = (from + ticks(leaves).ceil() as Tick + 1).min(to);
    (first <= last).then_some((first, last))
}

/// The first tick of `from..=to` at which a body touches static geometry. The flight does not begin after `from`.
pub fn first_static_touch(world: &World, (body, flight): Flying, from: Tick, to: Tick) -> Option<Tick> {
    let bounds = flight.swept_aabb(world, body, from, to).grown(world.rule.broad_margin_m);
    let mut near = Vec::new();
    world.static_bvh.near(&bounds, &mut near);
    let mut earliest = None;
    for object in near.into_iter().map(|index| &world.statics[index as usize]) {
        // Contacts after the earliest found so far are of no use.
        let until = earliest.map_or(to, |tick: Tick| tick - 1);
        if let Some(tick) = first_touch_with(world, (body, flight), object, from, until) {
            earliest = Some(tick);
            if tick == from {
                break;
            }
        }
    }
    earliest
}

fn first_touch_with(
    world: &World,
    (body, flight): Flying,
    object: &StaticDef,
    from: Tick,
    to: Tick,
) -> Option<Tick> {
    let mut cursor = FlightCursor::new(*flight);
    let mut tick = from;
    while tick <= to {
        if let Some(ticks) = contact_free_ticks(world, (body, flight), object, tick) {
            if ticks >= (to - tick) as f64 {
                return None;
            }
            tick += (ticks as Tick).max(1);
            continue;
        }
        if touching_static(&world.rule, body, &cursor.state_at(world, body, tick), object).is_some() {
            return Some(tick);
        }
        tick += 1;
    }
    None
}

/// For how many ticks after `tick` a body certainly does not touch static geometry; `None` if it may touch it at
/// `tick`.
fn contact_free_ticks(world: &World, (body, flight): Flying, object: &StaticDef, tick: Tick) -> Option<f64> {
    let x = flight.position_at(world, tick);
    let placed = Placed { shape: &object.shape, x: object.x, q: object.q };
    let (normal, distance) = placed.signed_distance(x);
    let slack = SLACK_M + SLACK_SHARE * (x.amax() + distance.abs());
    let margin = distance - body.radius - world.rule.margin_m - slack;
    if margin <= 0.0 {
        return None;
    }
    let v = flight.velocity_at(world, tick);
    // Only a convex shape lies entirely on one side of the plane through its nearest point.
    let safe_s = if object.shape.is_convex() {
        contact_free_s(margin, normal, v, world.gravity)
    } else {
        crossing_s(margin, v, world.gravity)
    };
    Some((safe_s / world.time.tick_s).floor() - 1.0)
}

/// How long, in seconds, a point stays above the plane that lies `margin` (metres) below it: infinite if it never comes
/// down to it.
fn contact_free_s(margin: f64, normal: Vec3, v: Vec3, gravity: Vec3) -> f64 {
    let (speed, half_pull) = (normal.dot(&v), 0.5 * normal.dot(&gravity));
    let discriminant = speed * speed - 4.0 * half_pull * margin;
    if discriminant < 0.0 {
        return f64::INFINITY;
    }
    let denominator = -speed + discriminant.sqrt();
    if denominator <= 0.0 { f64::INFINITY } else { 2.0 * margin / denominator }
}

/// How long, in seconds, it takes at least to move by `margin` (metres) in any direction.
fn crossing_s(margin: f64, v: Vec3, gravity: Vec3) -> f64 {
    let (speed, half_pull) = (v.norm(), 0.5 * gravity.norm());
    2.0 * margin / (speed + (speed * speed + 4.0 * half_pull * margin).sqrt())
}
