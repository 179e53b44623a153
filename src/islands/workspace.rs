//! Work space of groups, kept from tick to tick for speed alone: nothing in it changes an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::islands::advance::Bridging;
use crate::overlap::graph::Walk;
use crate::physics::World;
use crate::physics::island_solver::{Bounds, Detector, GroupSolver};

/// Work spaces are as large as the world: so many bodies are remembered in all of them together, and then all are
/// forgotten.
const KNOWN_BODIES: usize = 500_000;
/// At least so many groups are remembered.
const KNOWN_AT_LEAST: usize = 16;

/// The work spaces of some groups of one world, shared by so many workers.
#[derive(Default)]
pub struct Spaces {
    world: Option<Arc<World>>,
    workers: u32,
    /// By the first body of the group.
    known: BTreeMap<u32, Space>,
}

impl Spaces {
    /// The work space of the group whose first body is `first`.
    pub(super) fn of(&mut self, bridging: &Bridging, first: u32) -> &mut Space {
        let is_same = self.world.as_ref().is_some_and(|world| Arc::ptr_eq(world, bridging.world()))
            && self.workers == bridging.workers();
        let most = KNOWN_AT_LEAST.max(KNOWN_BODIES / bridging.world().bodies.len().max(1));
        let is_full = self.known.len() >= most && !self.known.contains_key(&first);
        if !is_same || is_full {
            let (world, workers) = (Some(bridging.world().clone()), bridging.workers());
            *self = Spaces { world, workers, known: BTreeMap::new() };
        }
        self.known.entry(first).or_insert_with(|| Space::new(bridging))
    }
}

/// The work space of one group.
pub(super) struct Space {
    /// One for every worker.
    pub solvers: Vec<GroupSolver>,
    pub detector: Detector,
    pub bounds: Bounds,
    /// By place; only those of the group mean anything.
    pub states: Vec<BodyState>,
    pub walk: Walk,
}

impl Space {
    fn new(bridging: &Bridging) -> Self {
        Space {
            solvers: (0..bridging.workers()).map(|_| bridging.solver()).collect(),
            detector: Detector::default(),
            bounds: Bounds::default(),
            states: bridging.world().bodies.iter().map(|body| body.start).collect(),
            walk: Walk::default(),
        }
    }
}
