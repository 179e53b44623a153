//! What all workers do before a tick: they look who are_near, each at its share of the pairs that may.
//!
//! Where two bodies meet follows from their states alone. So it does not matter who looks, and nobody has to look twice:
//! what was found is handed to the workers in which both bodies live.

use std::ops::Range;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::island_solver::{Bounds, CollisionFilter, IslandContact, find_contact};

/// What a worker is to look at.
#[derive(Clone)]
pub struct DetectTask {
    /// The blended states, by place.
    pub states: Arc<Vec<BodyState>>,
    /// Pairs that may meet, ascending.
    pub candidates: Arc<Vec<(u32, u32)>>,
    /// Which of the pairs.
    pub share: Range<usize>,
}

/// A worker's eyes.
pub struct DetectWorker {
    world: Arc<World>,
    filter: Arc<CollisionFilter>,
    all: Vec<u32>,
    bounds: Bounds,
    /// What was found last, whose room is used again once nobody reads it any more.
    found: Arc<Vec<IslandContact>>,
}

impl DetectWorker {
    /// Somebody who can look at all bodies of a world.
    pub fn new(world: &Arc<World>, filter: &Arc<CollisionFilter>) -> Self {
        let all = (0..world.bodies.len() as u32).collect();
        DetectWorker {
            world: world.clone(),
            filter: filter.clone(),
            all,
            bounds: Bounds::default(),
            found: Arc::default(),
        }
    }

    /// Those of its share of the pairs that meet, ascending.
    pub fn look(&mut self, task: &DetectTask) -> Arc<Vec<IslandContact>> {
        let states = task.states.as_slice();
        self.bounds.update(&self.world, &self.all, states);
        if Arc::get_mut(&mut self.found).is_none() {
            self.found = Arc::new(Vec::with_capacity(self.found.len()));
        }
        if let Some(found) = Arc::get_mut(&mut self.found) {
            let (world, filter, bounds) = (&self.world, &self.filter, &self.bounds);
            let pairs = task.candidates[task.share.clone()].iter();
            found.clear();
            found.extend(pairs.filter_map(|pair| find_contact(world, filter, states, bounds, *pair)));
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
    use crate::physics::island_solver::{Detector, IslandSolver};
    use crate::scenarios::{Request, build};

    /// A solver that is told who are_near does to the bit what one does that looks for itself.
    #[test]
    fn who_is_told_does_what_who_looks_would_do() {
        let request = Request { bodies: Some(300), seconds: Some(2.0), ..Request::default() };
        let world = Arc::new(World::new(&build("bowl", &request).unwrap()).unwrap());
        let filter = Arc::new(CollisionFilter::new(&world));
        let (mut looks, mut told) =
            (IslandSolver::of_all(world.clone()), IslandSolver::of_all(world.clone()));
        let mut scouts: Vec<DetectWorker> = (0..3).map(|_| DetectWorker::new(&world, &filter)).collect();
        let mut detector = Detector::default();
        let all: Vec<u32> = (0..world.bodies.len() as u32).collect();
        let mut find_contact = 0;
        for tick in 0..400 {
            let states = Arc::new(told.states().to_vec());
            let candidates = Arc::new(detector.candidates(&world, &all, &states).to_vec());
            let found = scouts.iter_mut().enumerate().map(|(at, detector_worker)| {
                let share = share(candidates.len(), at, 3);
                detector_worker.look(&DetectTask {
                    states: states.clone(),
                    candidates: candidates.clone(),
                    share,
                })
            });
            let found: Vec<_> = found.collect();
            find_contact += found.iter().map(|list| list.len()).sum::<usize>();
            told.tell(Arc::new(found));
            let (a, b) = (looks.step(), told.step());
            assert_eq!((a, looks.states()), (b, told.states()), "at tick {tick}");
        }
        assert!(find_contact > 1000, "balls meet: {find_contact}");
    }

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
