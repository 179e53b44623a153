//! What all workers do before a tick: they look who meets, each at its share of the pairs that may.
//!
//! Where two bodies meet follows from their states alone. So it does not matter who looks, and nobody has to look twice:
//! what was found is handed to the workers in which both bodies live.

use std::ops::Range;
use std::sync::Arc;

use crate::physics::World;
use crate::solver::{Bounds, Fabric, Meeting, met};
use crate::state::BodyState;

/// What a worker is to look at.
#[derive(Clone)]
pub struct Glance {
    /// The blended states, by place.
    pub states: Arc<Vec<BodyState>>,
    /// Pairs that may meet, ascending.
    pub candidates: Arc<Vec<(u32, u32)>>,
    /// Which of the pairs.
    pub share: Range<usize>,
}

/// A worker's eyes.
pub struct Scout {
    world: Arc<World>,
    fabric: Arc<Fabric>,
    all: Vec<u32>,
    bounds: Bounds,
    /// What was found last, whose room is used again once nobody reads it any more.
    found: Arc<Vec<Meeting>>,
}

impl Scout {
    /// Somebody who can look at all bodies of a world.
    pub fn new(world: &Arc<World>, fabric: &Arc<Fabric>) -> Self {
        let all = (0..world.bodies.len() as u32).collect();
        Scout {
            world: world.clone(),
            fabric: fabric.clone(),
            all,
            bounds: Bounds::default(),
            found: Arc::default(),
        }
    }

    /// Those of its share of the pairs that meet, ascending.
    pub fn look(&mut self, glance: &Glance) -> Arc<Vec<Meeting>> {
        let states = glance.states.as_slice();
        self.bounds.update(&self.world, &self.all, states);
        if Arc::get_mut(&mut self.found).is_none() {
            self.found = Arc::new(Vec::with_capacity(self.found.len()));
        }
        if let Some(found) = Arc::get_mut(&mut self.found) {
            let (world, fabric, bounds) = (&self.world, &self.fabric, &self.bounds);
            let pairs = glance.candidates[glance.share.clone()].iter();
            found.clear();
            found.extend(pairs.filter_map(|pair| met(world, fabric, states, bounds, *pair)));
        }
        self.found.clone()
    }
}

/// The share of the worker `at` of so many, of a list of a length.
pub fn share(length: usize, at: usize, workers: usize) -> Range<usize> {
    length * at / workers..length * (at + 1) / workers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_each_other_and_leave_nothing_out() {
        for (length, workers) in [(0, 3), (2, 5), (100, 1), (101, 7)] {
            let shares: Vec<_> = (0..workers).map(|at| share(length, at, workers)).collect();
            assert_eq!((shares[0].start, shares[workers - 1].end), (0, length));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(shares.iter().all(|share| share.len().abs_diff(length / workers) <= 1));
        }
    }
}
