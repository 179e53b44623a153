//! How many pairs may touch at one tick. A pair takes some 600 bytes in a solver, so bodies that are all in one place
//! would take all memory: that is an error instead.

use crate::base::ids::BodyId;
use crate::base::state::BodyState;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::collision::is_within_margin;
use crate::physics::{BodyDef, World, touching};

/// Pairs that may touch at one tick: so many per body, and so many besides, the lesser of two. In the densest packing of
/// equal balls a body has 6 pairs to itself.
const TOUCHING_MAX: [(usize, usize); 2] = [(64, 1_000_000), (8, 8_000_000)];
/// The same for pairs with bounding balls that come near each other, which thin shapes have many of.
const NEAR_MAX: [(usize, usize); 2] = [(1024, 16_000_000), (16, 64_000_000)];
/// The same for pairs in a near list of balls or in a calendar, as a multiple of those that may touch.
const NEAR_BALLS_MAX: usize = 4;

/// More pairs that touch at one tick than a run can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// At least so many pairs touch.
    pub pairs: usize,
    /// The bodies that touch most others.
    pub bodies: [BodyId; 3],
}

/// The most pairs that may touch among so many bodies.
pub(crate) fn touching_max(bodies: usize) -> usize {
    least(TOUCHING_MAX, bodies)
}

/// The most pairs of so many bodies that a broad phase may find.
pub(crate) fn near_max(bodies: usize) -> usize {
    least(NEAR_MAX, bodies)
}

/// The most pairs of so many bodies that a near list of balls or a calendar may have.
pub(crate) fn near_balls_max(bodies: usize) -> usize {
    NEAR_BALLS_MAX * touching_max(bodies)
}

fn least(limits: [(usize, usize); 2], bodies: usize) -> usize {
    let [a, b] = limits.map(|(per_body, besides)| per_body * bodies + besides);
    a.min(b)
}

impl Crowd {
    /// Whether too many of these pairs touch. The pairs are those of some bodies that come near each other, all of them
    /// or as many as [`near_max`] allows; `of` is the index of a body of a pair, and its state.
    pub(crate) fn among(
        world: &World,
        pairs: &[(u32, u32)],
        bodies: usize,
        of: impl Fn(u32) -> (u32, BodyState),
    ) -> Option<Crowd> {
        let touch = |a: (&BodyDef, &BodyState), b: (&BodyDef, &BodyState)| {
            touching(&world.rule, a.0, a.1, b.0, b.1).is_some()
        };
        Crowd::counted(world, pairs, bodies, of, touch)
    }

    fn counted(
        world: &World,
        pairs: &[(u32, u32)],
        bodies: usize,
        of: impl Fn(u32) -> (u32, BodyState),
        touch: impl Fn((&BodyDef, &BodyState), (&BodyDef, &BodyState)) -> bool,
    ) -> Option<Crowd> {
        let (touching_max, is_cut) = (touching_max(bodies), pairs.len() >= near_max(bodies));
        if pairs.len() <= touching_max {
            return None;
        }
        let mut partners = vec![0u32; bodies];
        let mut found = 0;
        for &(a, b) in pairs {
            let (index_a, state_a) = of(a);
            let (index_b, state_b) = of(b);
            let (body_a, body_b) = (&world.bodies[index_a as usize], &world.bodies[index_b as usize]);
            if is_cut || touch((body_a, &state_a), (body_b, &state_b)) {
                found += 1;
                partners[a as usize] += 1;
                partners[b as usize] += 1;
            }
            if found > touching_max {
                return Some(Crowd::of(found, &partners, |number| world.bodies[of(number).0 as usize].id));
            }
        }
        None
    }

    /// The crowd of pairs that all touch, as indices of bodies.
    pub(crate) fn of_pairs(world: &World, pairs: impl Iterator<Item = (u32, u32)>) -> Crowd {
        let mut partners = vec![0u32; world.bodies.len()];
        let mut found = 0;
        for (a, b) in pairs {
            found += 1;
            partners[a as usize] += 1;
            partners[b as usize] += 1;
        }
        Crowd::of(found, &partners, |number| world.bodies[number as usize].id)
    }

    /// The crowd in which each body has so many partners.
    fn of(pairs: usize, partners: &[u32], id: impl Fn(u32) -> BodyId) -> Crowd {
        let mut numbers: Vec<u32> = (0..partners.len() as u32).collect();
        numbers.sort_by_key(|number| std::cmp::Reverse(partners[*number as usize]));
        Crowd { pairs, bodies: [0, 1, 2].map(|at| id(numbers[at])) }
    }

    /// Whether too many of these bodies are in one place, `states` being theirs. However they move: an island solver
    /// takes pairs that separate too.
    pub(crate) fn of_bodies(
        world: &World,
        grid: &mut Grid,
        bodies: &[u32],
        states: &[BodyState],
    ) -> Option<Crowd> {
        let can_be = bodies.len() * bodies.len().saturating_sub(1) / 2 > touching_max(bodies.len());
        if !can_be {
            return None;
        }
        let positions: Vec<_> = states.iter().map(|state| state.x).collect();
        let radii: Vec<f64> = bodies.iter().map(|body| world.bodies[*body as usize].radius).collect();
        let pairs = grid.limited_pairs(&positions, &radii, world.rule.broad_margin_m);
        let of = |at: u32| (bodies[at as usize], states[at as usize]);
        Crowd::counted(world, pairs, bodies.len(), of, |a, b| {
            is_within_margin(&world.rule, a.0, a.1, b.0, b.1)
        })
    }
}

impl std::fmt::Display for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c] = self.bodies;
        write!(f, "{a}, {b}, {c} and others are in one place: {} pairs touch, and there are more", self.pairs)
    }
}
