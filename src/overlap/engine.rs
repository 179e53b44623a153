//! What a worker needs of a physics engine. Any engine will do in which states can be set and bodies disabled.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::overlap::settings::{EngineKind, OverlapParameters};
use crate::physics::World;
use crate::physics::island_solver::{
    CollisionFilter, Impulses, IslandSolver, ManifoldLists, StepCounts, WarmStart,
};

/// Advances some of the bodies of a world. Bodies are named by their index in the world's list.
pub trait Engine: Send {
    /// Lets a body take part, from a state.
    fn activate(&mut self, body: u32, state: &BodyState);
    /// Lets a body no longer take part.
    fn deactivate(&mut self, body: u32);
    /// Puts an active body into a state.
    fn set_state(&mut self, body: u32, state: &BodyState);
    /// The state of an active body.
    fn state(&self, body: u32) -> BodyState;
    /// Advances all active bodies by one tick.
    fn step(&mut self) -> StepCounts;
    /// Imports warm-start impulses from another worker's engine, for bodies that have just been activated. Returns how many
    /// contact points and joints were imported.
    fn import_warm_start(&mut self, _: &WarmStart) -> (usize, usize) {
        (0, 0)
    }
    /// Gives the contacts between bodies at the next tick, ascending. An engine that finds contacts itself ignores them.
    fn set_contacts(&mut self, _: &ManifoldLists) {}
    /// The impulses the last tick ended with, for [`Engine::import_warm_start`].
    fn impulses(&self) -> Option<Arc<Impulses>> {
        None
    }
}

impl Engine for IslandSolver {
    fn activate(&mut self, body: u32, state: &BodyState) {
        IslandSolver::activate(self, body, state);
    }

    fn deactivate(&mut self, body: u32) {
        IslandSolver::deactivate(self, body);
    }

    fn set_state(&mut self, body: u32, state: &BodyState) {
        IslandSolver::set_state(self, body, state);
    }

    fn state(&self, body: u32) -> BodyState {
        *IslandSolver::state(self, body)
    }

    fn step(&mut self) -> StepCounts {
        IslandSolver::step(self)
    }

    fn import_warm_start(&mut self, warm_start: &WarmStart) -> (usize, usize) {
        IslandSolver::import_warm_start(self, warm_start)
    }

    fn set_contacts(&mut self, contacts: &ManifoldLists) {
        IslandSolver::tell(self, contacts.clone());
    }

    fn impulses(&self) -> Option<Arc<Impulses>> {
        Some(IslandSolver::impulses(self).clone())
    }
}

/// An engine of the given kind, with no active body.
pub fn engine(
    world: &Arc<World>,
    filter: &Arc<CollisionFilter>,
    parameters: &OverlapParameters,
) -> Box<dyn Engine> {
    match parameters.engine {
        EngineKind::Island => {
            Box::new(IslandSolver::new(world.clone(), filter.clone()).measuring(parameters.measures))
        }
        #[cfg(feature = "rapier")]
        EngineKind::Rapier => Box::new(crate::overlap::rapier::RapierEngine::new(world)),
    }
}
