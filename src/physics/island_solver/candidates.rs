//! Candidates for contacts: a list of pairs that stays valid for several ticks.
//!
//! It is built with a margin, and built anew when a body has used up its margin. The narrow phase decides pair by pair,
//! so the age of a list changes no result.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::island_solver::detect::look_ahead;

/// Number of ticks that a list should last. Not tuned.
const TICKS: f64 = 6.0;
/// Smallest and largest margin, as shares of a body's size. Bodies that fall together need little margin until they land;
/// without the smallest, a body that lands would need a new list at almost every tick. No figures kept.
const MARGIN_SHARES: (f64, f64) = (0.2, 0.5);

/// Candidates among some bodies.
#[derive(Default)]
pub struct CandidateList {
    grid: Grid,
    /// The bodies that the list was built for, as ascending indices, and their positions then.
    bodies: Vec<u32>,
    positions: Vec<Vec3>,
    /// How far each may reach and move until a new list is needed, metres.
    radii: Vec<f64>,
    /// Pairs of body indices, ascending.
    pairs: Vec<(u32, u32)>,
    /// Number of lists built so far.
    built: u64,
}

impl CandidateList {
    /// All pairs of `bodies` (ascending indices) that may be in contact at this tick, ascending. `states` are those of all
    /// bodies of the world.
    pub fn candidates(&mut self, world: &World, bodies: &[u32], states: &[BodyState]) -> &[(u32, u32)] {
        if !self.is_valid_for(world, bodies, states) {
            self.build(world, bodies, states);
        }
        &self.pairs
    }

    /// Number of lists built so far.
    pub fn built(&self) -> u64 {
        self.built
    }

    fn is_valid_for(&self, world: &World, bodies: &[u32], states: &[BodyState]) -> bool {
        if self.built == 0 || self.bodies != bodies {
            return false;
        }
        // A common motion brings no pair nearer.
        let count = bodies.len().max(1) as f64;
        let moved = |at: usize, body: &u32| states[*body as usize].x - self.positions[at];
        let drift = bodies.iter().enumerate().map(|(at, body)| moved(at, body)).sum::<Vec3>() / count;
        bodies.iter().enumerate().all(|(at, index)| {
            let (body, state) = (&world.bodies[*index as usize], &states[*index as usize]);
            let reach = body.radius + look_ahead(world, body, state);
            (moved(at, index) - drift).norm() + reach <= self.radii[at]
        })
    }

    fn build(&mut self, world: &World, bodies: &[u32], states: &[BodyState]) {
        self.built += 1;
        self.bodies.clear();
        self.bodies.extend_from_slice(bodies);
        self.positions.clear();
        self.radii.clear();
        let count = bodies.len().max(1) as f64;
        let mean = bodies.iter().map(|body| states[*body as usize].v).sum::<Vec3>() / count;
        let h = world.time.tick_s;
        // A body at rest may be about to fall.
        let fall = TICKS * world.gravity.norm() * h;
        for at in bodies.iter().map(|body| *body as usize) {
            let (body, state) = (&world.bodies[at], &states[at]);
            let margin = TICKS * ((state.v - mean).norm() + fall) * h;
            let margin = margin.clamp(MARGIN_SHARES.0 * body.radius, MARGIN_SHARES.1 * body.radius);
            self.positions.push(state.x);
            self.radii.push(body.radius + look_ahead(world, body, state) + margin);
        }
        let near = self.grid.pairs(&self.positions, &self.radii, 0.0);
        self.pairs.clear();
        self.pairs.extend(near.iter().map(|(a, b)| (bodies[*a as usize], bodies[*b as usize])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::island_solver::IslandSolver;
    use crate::physics::island_solver::detect::find_manifold;
    use crate::scenarios::{Request, build};
    use std::sync::Arc;

    /// A list that is kept for some ticks holds every pair that a new one would hold.
    #[test]
    fn an_old_list_misses_no_contact() {
        let request = Request { bodies: Some(150), seconds: Some(2.0), ..Request::default() };
        let world = Arc::new(World::new(&build("bowl", &request).unwrap()).unwrap());
        let bodies: Vec<u32> = (0..world.bodies.len() as u32).collect();
        let mut solver = IslandSolver::of_all(world.clone());
        let mut kept = CandidateList::default();
        for _ in 0..480 {
            solver.step();
            let states = solver.states();
            let candidates = kept.candidates(&world, &bodies, states);
            let mut fresh = CandidateList::default();
            for pair @ (a, b) in fresh.candidates(&world, &bodies, states) {
                let (a, b) = (*a as usize, *b as usize);
                let (body_a, body_b) = (&world.bodies[a], &world.bodies[b]);
                let manifold = find_manifold(&world, body_a, &states[a], body_b, &states[b]);
                assert!(manifold.is_none() || candidates.binary_search(pair).is_ok());
            }
        }
        assert!(kept.built() < 120, "lists were built {} times in 480 ticks", kept.built());
    }
}
