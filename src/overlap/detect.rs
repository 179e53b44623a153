//! Contact detection before a tick, divided among the workers: each tests a range of the candidate pairs.
//!
//! The contact of two bodies follows from their states alone, so any worker can find it, and every pair is tested once.
//! The result is handed to all workers; each takes the contacts of which it has both bodies.

use std::ops::Range;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::island_solver::{Bounds, CollisionFilter, IslandContact, find_contact};

/// The candidate pairs that one worker tests.
#[derive(Clone)]
pub struct DetectTask {
    /// The blended states of all bodies.
    pub states: Arc<Vec<BodyState>>,
    /// Pairs of bodies that may be in contact, ascending.
    pub candidates: Arc<Vec<(u32, u32)>>,
    /// Which of the candidates this worker tests.
    pub range: Range<usize>,
}

/// Tests candidate pairs; belongs to one worker.
pub struct DetectWorker {
    world: Arc<World>,
    filter: Arc<CollisionFilter>,
    all_bodies: Vec<u32>,
    bounds: Bounds,
    /// The contacts found last. Their memory is used again once no other reference is left.
    found: Arc<Vec<IslandContact>>,
}

impl DetectWorker {
    /// A detector for all bodies of a world.
    pub fn new(world: &Arc<World>, filter: &Arc<CollisionFilter>) -> Self {
        DetectWorker {
            world: world.clone(),
            filter: filter.clone(),
            all_bodies: (0..world.bodies.len() as u32).collect(),
            bounds: Bounds::default(),
            found: Arc::default(),
        }
    }

    /// The contacts among the task's range of candidates, ascending.
    pub fn detect(&mut self, task: &DetectTask) -> Arc<Vec<IslandContact>> {
        let states = task.states.as_slice();
        self.bounds.update(&self.world, &self.all_bodies, states);
        if Arc::get_mut(&mut self.found).is_none() {
            self.found = Arc::new(Vec::with_capacity(self.found.len()));
        }
        if let Some(found) = Arc::get_mut(&mut self.found) {
            let (world, filter, bounds) = (&self.world, &self.filter, &self.bounds);
            let pairs = task.candidates[task.range.clone()].iter();
            found.clear();
            found.extend(pairs.filter_map(|pair| find_contact(world, filter, states, bounds, *pair)));
        }
        self.found.clone()
    }
}

/// The range that `worker` gets of a list of `length` entries, divided evenly among `workers`.
pub fn range_of(length: usize, worker: usize, workers: usize) -> Range<usize> {
    length * worker / workers..length * (worker + 1) / workers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::island_solver::{Detector, IslandSolver};
    use crate::scenarios::{Request, build};

    /// A solver that is given the contacts computes to the bit what a solver computes that finds them itself.
    #[test]
    fn given_contacts_and_found_contacts_have_the_same_result() {
        let request = Request { bodies: Some(300), seconds: Some(2.0), ..Request::default() };
        let world = Arc::new(World::new(&build("bowl", &request).unwrap()).unwrap());
        let filter = Arc::new(CollisionFilter::new(&world));
        let (mut finding, mut given) =
            (IslandSolver::of_all(world.clone()), IslandSolver::of_all(world.clone()));
        let mut workers: Vec<DetectWorker> = (0..3).map(|_| DetectWorker::new(&world, &filter)).collect();
        let mut detector = Detector::default();
        let all: Vec<u32> = (0..world.bodies.len() as u32).collect();
        let mut contacts = 0;
        for tick in 0..400 {
            let states = Arc::new(given.states().to_vec());
            let candidates = Arc::new(detector.candidates(&world, &all, &states).to_vec());
            let found = workers.iter_mut().enumerate().map(|(number, worker)| {
                let range = range_of(candidates.len(), number, 3);
                worker.detect(&DetectTask { states: states.clone(), candidates: candidates.clone(), range })
            });
            let found: Vec<_> = found.collect();
            contacts += found.iter().map(|list| list.len()).sum::<usize>();
            given.tell(Arc::new(found));
            let (a, b) = (finding.step(), given.step());
            assert_eq!((a, finding.states()), (b, given.states()), "at tick {tick}");
        }
        assert!(contacts > 1000, "balls touch: {contacts}");
    }

    #[test]
    fn ranges_follow_each_other_and_leave_nothing_out() {
        for (length, workers) in [(0, 3), (2, 5), (100, 1), (101, 7)] {
            let ranges: Vec<_> = (0..workers).map(|worker| range_of(length, worker, workers)).collect();
            assert_eq!((ranges[0].start, ranges[workers - 1].end), (0, length));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(ranges.iter().all(|range| range.len().abs_diff(length / workers) <= 1));
        }
    }
}
