//! Who are_near whom within the next tick. A pure function of two states, so that everybody finds the same pairs.

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::collision::kernels::{Manifold, Placed, contact};
use crate::physics::contact::STATIC_PARTNER;
use crate::physics::island_solver::candidates::CandidateList;
use crate::physics::island_solver::filter::CollisionFilter;
use crate::physics::{BodyDef, Shape, World};

/// Two things that meet. The first is a body; of two bodies it is the one of the smaller place.
#[derive(Clone, Debug)]
pub struct IslandContact {
    /// Place of the body.
    pub a: u32,
    /// Place of the other body, or [`IslandContact::STATIC`] and the place of the static object.
    pub b: u32,
    /// Where they meet.
    pub manifold: Manifold,
}

impl IslandContact {
    /// Added to the places of static objects.
    pub const STATIC: u32 = STATIC_PARTNER;

    /// The pair of bodies, unless one is static.
    pub fn bodies(&self) -> Option<(u32, u32)> {
        (self.b < Self::STATIC).then_some((self.a, self.b))
    }
}

/// How far ahead of a body contacts are looked for.
#[inline]
pub(super) fn look_ahead(world: &World, body: &BodyDef, state: &BodyState) -> f64 {
    // What flies faster than its own size per tick is not seen in full; a scene is warned about that.
    let travel = (state.v.norm() * world.time.tick_s).min(body.radius);
    0.5 * world.rule.speculative_m + travel
}

/// Where the parts of two shapes are that may press on each other within the next tick.
#[inline]
fn pressing(world: &World, manifold: Manifold, approach: impl Fn(Vec3) -> Vec3) -> Option<Manifold> {
    let presses = manifold.points().iter().any(|p| {
        let speed = approach(p.point).dot(&p.normal);
        p.gap + (world.time.tick_s * speed).min(0.0) < world.rule.speculative_m
    });
    presses.then_some(manifold)
}

#[inline]
fn place<'a>(body: &'a BodyDef, state: &BodyState) -> Placed<'a> {
    Placed { shape: &body.shape, x: state.x, q: state.q }
}

/// Where two bodies meet, if they do. `a` has the smaller id.
#[inline]
pub fn meeting(world: &World, a: &BodyDef, sa: &BodyState, b: &BodyDef, sb: &BodyState) -> Option<Manifold> {
    let reach = look_ahead(world, a, sa) + look_ahead(world, b, sb);
    let reached = a.radius + b.radius + reach;
    if (sa.x - sb.x).norm_squared() >= reached * reached {
        return None;
    }
    let manifold = contact(&place(a, sa), &place(b, sb), reach);
    pressing(world, manifold, |p| sa.velocity_at(p - sa.x) - sb.velocity_at(p - sb.x))
}

/// Whether two bodies meet, without saying where.
#[inline]
pub fn are_near(world: &World, a: &BodyDef, sa: &BodyState, b: &BodyDef, sb: &BodyState) -> bool {
    meeting(world, a, sa, b, sb).is_some()
}

/// Finds everything that are_near among some bodies.
#[derive(Default)]
pub struct Detector {
    neighbours: CandidateList,
    near: Vec<u32>,
}

impl Detector {
    /// All pairs of the bodies at `places` (ascending) that may meet, ascending; `states` are by place.
    pub fn candidates(&mut self, world: &World, places: &[u32], states: &[BodyState]) -> &[(u32, u32)] {
        self.neighbours.candidates(world, places, states)
    }

    /// How often candidates were looked for anew.
    pub fn searches(&self) -> u64 {
        self.neighbours.built()
    }

    /// Calls `found` for everything static that one of the bodies are_near, in ascending order.
    pub fn statics(
        &mut self,
        world: &World,
        places: &[u32],
        states: &[BodyState],
        mut found: impl FnMut(IslandContact),
    ) {
        for &place in places {
            let (body, state) = (&world.bodies[place as usize], &states[place as usize]);
            let reach = look_ahead(world, body, state) + 0.5 * world.rule.speculative_m;
            let bounds = body.shape.aabb(state.x, &state.q).grown(reach);
            world.static_bvh.near(&bounds, &mut self.near);
            for &at in &self.near {
                let object = &world.statics[at as usize];
                let placed = Placed { shape: &object.shape, x: object.x, q: object.q };
                if is_clear_of(body, state, &placed, reach) {
                    continue;
                }
                let manifold = contact(&self::place(body, state), &placed, reach);
                if let Some(manifold) = pressing(world, manifold, |p| state.velocity_at(p - state.x)) {
                    found(IslandContact { a: place, b: IslandContact::STATIC | at, manifold });
                }
            }
        }
    }
}

/// Bounds of some bodies and of what they look ahead to, by place: who is out of each other's bounds does not meet.
#[derive(Clone, Debug, Default)]
pub struct Bounds(Vec<Aabb>);

impl Bounds {
    /// Takes the bounds of the bodies at `places`; `states` are by place.
    pub fn update(&mut self, world: &World, places: &[u32], states: &[BodyState]) {
        self.0.resize(states.len(), Aabb { min: Vec3::zeros(), max: Vec3::zeros() });
        for place in places.iter().map(|place| *place as usize) {
            let (body, state) = (&world.bodies[place], &states[place]);
            // A little more than needed, for rounding.
            let ahead = look_ahead(world, body, state) + 1e-9 * body.radius;
            self.0[place] = body.shape.aabb(state.x, &state.q).grown(ahead);
        }
    }
}

/// Where a pair are_near, unless a joint keeps it from doing so; `states` are by place, the smaller place first.
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
    let manifold = meeting(world, body_a, state_a, body_b, state_b)?;
    filter.may_touch(a, b).then_some(IslandContact { a, b, manifold })
}

/// A quick way to tell that a body is far above a plane.
#[inline]
fn is_clear_of(body: &BodyDef, state: &BodyState, object: &Placed, reach: f64) -> bool {
    let Shape::HalfSpace(plane) = object.shape else { return false };
    (object.q * plane.normal).dot(&(state.x - object.x)) > body.radius + reach
}
