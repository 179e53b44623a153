//! Work workspace of groups, kept from tick to tick for speed alone: nothing in it changes an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::islands::advance::IslandModel;
use crate::overlap::graph::Walk;
use crate::physics::World;
use crate::physics::island_solver::{Bounds, Detector, IslandSolver};

/// Work spaces are as large as the world: so many bodies are remembered in all of them together, and then all are
/// forgotten.
const KNOWN_BODIES: usize = 500_000;
/// At least so many groups are remembered.
const KNOWN_AT_LEAST: usize = 16;

/// The work spaces of some groups of one world, shared by so many workers.
#[derive(Default)]
pub struct Workspaces {
    world: Option<Arc<World>>,
    workers: u32,
    /// By the first body of the group.
    known: BTreeMap<u32, Workspace>,
}

impl Workspaces {
    /// The work workspace of the group whose first body is `first`.
    pub(super) fn of(&mut self, islands: &IslandModel, first: u32) -> &mut Workspace {
        let is_same = self.world.as_ref().is_some_and(|world| Arc::ptr_eq(world, islands.world()))
            && self.workers == islands.workers();
        let most = KNOWN_AT_LEAST.max(KNOWN_BODIES / islands.world().bodies.len().max(1));
        let is_full = self.known.len() >= most && !self.known.contains_key(&first);
        if !is_same || is_full {
            let (world, workers) = (Some(islands.world().clone()), islands.workers());
            *self = Workspaces { world, workers, known: BTreeMap::new() };
        }
        self.known.entry(first).or_insert_with(|| Workspace::new(islands))
    }
}

/// The work workspace of one group.
pub(super) struct Workspace {
    /// One for every worker.
    pub solvers: Vec<IslandSolver>,
    pub detector: Detector,
    pub bounds: Bounds,
    /// By place; only those of the group mean anything.
    pub states: Vec<BodyState>,
    pub walk: Walk,
}

impl Workspace {
    fn new(islands: &IslandModel) -> Self {
        Workspace {
            solvers: (0..islands.workers()).map(|_| islands.solver()).collect(),
            detector: Detector::default(),
            bounds: Bounds::default(),
            states: islands.world().bodies.iter().map(|body| body.start).collect(),
            walk: Walk::default(),
        }
    }
}
