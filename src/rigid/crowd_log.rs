//! Watches how many pairs touch at one tick while no entity sees all of them. Only crowded responses are noted.
//!
//! Speculation may see a crowd that is never committed, and responses that are not noted do not count: the limit is a
//! limit of memory, and the tick of its error is not exact.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;

use crate::base::sync::{AtomicBool, Mutex, lock};
use crate::base::time::Tick;
use crate::physics::World;
use crate::physics::collision::crowd::{Crowd, touching_max};
use crate::protocol::BodyIndex;

/// Responses with fewer pairs are not noted. Not tuned.
const NOTED_MIN: usize = 128;
/// Ticks are forgotten beyond this many: no entity runs as far ahead. Not tuned.
const TICKS_MAX: usize = 4096;

/// The crowded responses of a run.
pub(crate) struct CrowdLog {
    /// Whether something is noted about the entity of each body, so that others need no lock.
    is_noted: Vec<AtomicBool>,
    /// Ends of pairs by tick and by the first body of the entity.
    noted: Mutex<BTreeMap<Tick, BTreeMap<BodyIndex, usize>>>,
    has_failed: AtomicBool,
    failure: Mutex<Option<(Tick, Crowd)>>,
}

impl CrowdLog {
    pub fn new(bodies: usize) -> Self {
        CrowdLog {
            is_noted: (0..bodies).map(|_| AtomicBool::new(false)).collect(),
            noted: Mutex::default(),
            has_failed: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Notes that an entity with `first` as its first body responds at a tick at which its bodies touch `others` bodies of
    /// other entities. What it did from then on has been rolled back.
    pub fn note(&self, world: &World, tick: Tick, first: BodyIndex, others: usize) {
        let is_noted = self.is_noted.get(first as usize);
        let is_known = is_noted.is_none_or(|noted| noted.load(SeqCst));
        if others < NOTED_MIN && !is_known {
            return;
        }
        let mut noted = lock(&self.noted);
        for (_, entities) in noted.range_mut(tick..) {
            entities.remove(&first);
        }
        if others < NOTED_MIN {
            return;
        }
        if let Some(is_noted) = is_noted {
            is_noted.store(true, SeqCst);
        }
        let entities = noted.entry(tick).or_default();
        entities.insert(first, others);
        let pairs = entities.values().sum::<usize>() / 2;
        if entities.len() >= 3 && pairs > touching_max(world.bodies.len()) {
            let mut most: Vec<_> = entities.iter().collect();
            most.sort_by_key(|(first, others)| (std::cmp::Reverse(**others), **first));
            let bodies = [0, 1, 2].map(|at| world.bodies[*most[at].0 as usize].id);
            self.fail(tick, Crowd { pairs, bodies });
        }
        if noted.len() > TICKS_MAX {
            noted.pop_first();
        }
    }

    /// Ends the run.
    pub fn fail(&self, tick: Tick, crowd: Crowd) {
        lock(&self.failure).get_or_insert((tick, crowd));
        self.has_failed.store(true, SeqCst);
    }

    /// The crowd that the run must end with, if there is one.
    pub fn failure(&self) -> Option<(Tick, Crowd)> {
        if self.has_failed.load(SeqCst) { *lock(&self.failure) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Scene, Shape};

    #[test]
    fn what_is_rolled_back_does_not_count() {
        let ball = |at: u32| Body::new(Shape::Sphere { radius: 0.1 }, [f64::from(at), 0.0, 0.0]);
        let world = World::new(&Scene { bodies: (0..4).map(ball).collect(), ..Scene::default() }).unwrap();
        let log = CrowdLog::new(4);
        // Two ends make one pair.
        let third = 2 * touching_max(4) / 3 + 1;
        for round in 0..3 {
            log.note(&world, 7, 0, third);
            log.note(&world, 7, 1, third);
            log.note(&world, 8, 2, third);
            assert_eq!(log.failure(), None, "{round}");
        }
        log.note(&world, 6, 0, 1);
        log.note(&world, 7, 2, third);
        assert_eq!(log.failure(), None);
        log.note(&world, 7, 3, third);
        let (tick, crowd) = log.failure().unwrap();
        assert_eq!((tick, crowd.bodies.map(|body| body.0)), (7, [1, 2, 3]));
        assert!(crowd.pairs > touching_max(4));
    }
}
