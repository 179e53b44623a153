//! Solvers and scratch memory of islands, kept from tick to tick for speed. Nothing in them changes a result.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::state::BodyState;
use crate::islands::advance::IslandModel;
use crate::overlap::tick::OverlapTick;
use crate::physics::World;
use crate::physics::island_solver::{Bounds, Detector, IslandSolver};

/// A workspace is as large as its world. All workspaces are dropped when they have this many bodies together. Not tuned.
const BODIES_MAX: usize = 500_000;
/// At least this many workspaces are kept, however large the world is. Not tuned.
const WORKSPACES_MIN: usize = 16;

/// The workspaces of islands of one world and one number of workers.
#[derive(Default)]
pub struct Workspaces {
    world: Option<Arc<World>>,
    workers: u32,
    /// By the first body of the island.
    workspaces: BTreeMap<u32, Workspace>,
}

impl Workspaces {
    /// The workspace of the island with the first body `first`.
    pub(super) fn of(&mut self, islands: &IslandModel, first: u32) -> &mut Workspace {
        let is_same = self.world.as_ref().is_some_and(|world| Arc::ptr_eq(world, islands.world()))
            && self.workers == islands.workers();
        let most = WORKSPACES_MIN.max(BODIES_MAX / islands.world().bodies.len().max(1));
        let is_full = self.workspaces.len() >= most && !self.workspaces.contains_key(&first);
        if !is_same || is_full {
            let (world, workers) = (Some(islands.world().clone()), islands.workers());
            *self = Workspaces { world, workers, workspaces: BTreeMap::new() };
        }
        self.workspaces.entry(first).or_insert_with(|| Workspace::new(islands))
    }
}

/// The workspace of one island.
pub(super) struct Workspace {
    /// The solver of every worker.
    pub solvers: Vec<IslandSolver>,
    pub detector: Detector,
    pub bounds: Bounds,
    /// The states of all bodies of the world; only those of the island's members are valid.
    pub states: Vec<BodyState>,
    pub tick: OverlapTick,
}

impl Workspace {
    fn new(islands: &IslandModel) -> Self {
        Workspace {
            solvers: (0..islands.workers()).map(|_| islands.solver()).collect(),
            detector: Detector::default(),
            bounds: Bounds::default(),
            states: islands.world().bodies.iter().map(|body| body.start).collect(),
            tick: OverlapTick::default(),
        }
    }
}
