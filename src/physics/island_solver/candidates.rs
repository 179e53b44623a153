//! Who may meet whom: a list of candidates that stays good for several ticks.
//!
//! It is built with some room to spare and built anew when somebody has used up that room. What really are_near is decided
//! pair by pair, so how long a list lives changes no bit.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::island_solver::detect::look_ahead;

/// Ticks that a list should last.
const TICKS: f64 = 6.0;
/// Least and most room to spare, as shares of a body's size. Whoever falls along with others has little need of room until
/// it lands; without the least, somebody who lands would call for a new list at almost every tick.
const ROOM_SHARES: (f64, f64) = (0.2, 0.5);

/// Candidates among some bodies.
#[derive(Default)]
pub struct CandidateList {
    grid: Grid,
    /// What the list was built for.
    places: Vec<u32>,
    positions: Vec<Vec3>,
    /// How far each may reach or move until a new list is needed.
    radii: Vec<f64>,
    /// Pairs of places, ascending.
    pairs: Vec<(u32, u32)>,
    built: u64,
}

impl CandidateList {
    /// All pairs of the bodies at `places` (ascending) that may meet at this tick, ascending; `states` are by place.
    pub fn candidates(&mut self, world: &World, places: &[u32], states: &[BodyState]) -> &[(u32, u32)] {
        if !self.is_good_for(world, places, states) {
            self.build(world, places, states);
        }
        &self.pairs
    }

    /// How often a list was built.
    pub fn built(&self) -> u64 {
        self.built
    }

    fn is_good_for(&self, world: &World, places: &[u32], states: &[BodyState]) -> bool {
        if self.built == 0 || self.places != places {
            return false;
        }
        // What all do together brings nobody nearer to anybody.
        let count = places.len().max(1) as f64;
        let moves = |at: usize, place: &u32| states[*place as usize].x - self.positions[at];
        let drift = places.iter().enumerate().map(|(at, place)| moves(at, place)).sum::<Vec3>() / count;
        places.iter().enumerate().all(|(at, place)| {
            let (body, state) = (&world.bodies[*place as usize], &states[*place as usize]);
            let reach = body.radius + look_ahead(world, body, state);
            (moves(at, place) - drift).norm() + reach <= self.radii[at]
        })
    }

    fn build(&mut self, world: &World, places: &[u32], states: &[BodyState]) {
        self.built += 1;
        self.places.clear();
        self.places.extend_from_slice(places);
        self.positions.clear();
        self.radii.clear();
        let count = places.len().max(1) as f64;
        let mean = places.iter().map(|place| states[*place as usize].v).sum::<Vec3>() / count;
        let h = world.time.tick_s;
        // Those at rest are about to fall.
        let fall = TICKS * world.gravity.norm() * h;
        for place in places.iter().map(|place| *place as usize) {
            let (body, state) = (&world.bodies[place], &states[place]);
            let room = TICKS * ((state.v - mean).norm() + fall) * h;
            let room = room.clamp(ROOM_SHARES.0 * body.radius, ROOM_SHARES.1 * body.radius);
            self.positions.push(state.x);
            self.radii.push(body.radius + look_ahead(world, body, state) + room);
        }
        let near = self.grid.pairs(&self.positions, &self.radii, 0.0);
        self.pairs.clear();
        self.pairs.extend(near.iter().map(|(a, b)| (places[*a as usize], places[*b as usize])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::island_solver::IslandSolver;
    use crate::scenarios::{Request, build};
    use std::sync::Arc;

    /// A list that is kept for some ticks holds every pair that a new one would.
    #[test]
    fn old_lists_miss_nothing() {
        let request = Request { bodies: Some(150), seconds: Some(2.0), ..Request::default() };
        let world = Arc::new(World::new(&build("bowl", &request).unwrap()).unwrap());
        let places: Vec<u32> = (0..world.bodies.len() as u32).collect();
        let mut solver = IslandSolver::of_all(world.clone());
        let mut kept = CandidateList::default();
        for _ in 0..480 {
            solver.step();
            let states = solver.states();
            let candidates = kept.candidates(&world, &places, states);
            let mut fresh = CandidateList::default();
            for pair @ (a, b) in fresh.candidates(&world, &places, states) {
                let (a, b) = (*a as usize, *b as usize);
                let are_near = crate::physics::island_solver::are_near(
                    &world,
                    &world.bodies[a],
                    &states[a],
                    &world.bodies[b],
                    &states[b],
                );
                assert!(!are_near || candidates.binary_search(pair).is_ok());
            }
        }
        assert!(kept.built() < 120, "lists were built {} times in 480 ticks", kept.built());
    }
}
