//! What a worker needs of a physics engine. Any engine will do that can be told states and forget bodies.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::overlap::settings::{EngineKind, OverlapSettings};
use crate::physics::World;
use crate::physics::island_solver::{
    CollisionFilter, Impulses, IslandSolver, ManifoldLists, StepCounts, WarmStart,
};

/// Advances some of the bodies of a world, which are known by their places.
pub trait Engine: Send {
    /// Lets a body take part, from a state.
    fn activate(&mut self, place: u32, state: &BodyState);
    /// Lets a body no longer take part.
    fn deactivate(&mut self, place: u32);
    /// Puts an active body into a state.
    fn set_state(&mut self, place: u32, state: &BodyState);
    /// The state of an active body.
    fn state(&self, place: u32) -> BodyState;
    /// Advances all active bodies by one tick.
    fn step(&mut self) -> StepCounts;
    /// Takes over what another engine remembers of bodies that have just been activated; how many points and joints.
    fn import_warm_start(&mut self, _: &WarmStart) -> (usize, usize) {
        (0, 0)
    }
    /// Is told who are_near at the next tick, ascending; an engine that looks for itself need not listen.
    fn tell(&mut self, _: &ManifoldLists) {}
    /// What the engine remembers, for [`Engine::import_warm_start`].
    fn impulses(&self) -> Option<Arc<Impulses>> {
        None
    }
}

impl Engine for IslandSolver {
    fn activate(&mut self, place: u32, state: &BodyState) {
        IslandSolver::activate(self, place, state);
    }

    fn deactivate(&mut self, place: u32) {
        IslandSolver::deactivate(self, place);
    }

    fn set_state(&mut self, place: u32, state: &BodyState) {
        IslandSolver::set_state(self, place, state);
    }

    fn state(&self, place: u32) -> BodyState {
        *IslandSolver::state(self, place)
    }

    fn step(&mut self) -> StepCounts {
        IslandSolver::step(self)
    }

    fn import_warm_start(&mut self, shares: &WarmStart) -> (usize, usize) {
        IslandSolver::import_warm_start(self, shares)
    }

    fn tell(&mut self, told: &ManifoldLists) {
        IslandSolver::tell(self, told.clone());
    }

    fn impulses(&self) -> Option<Arc<Impulses>> {
        Some(IslandSolver::impulses(self).clone())
    }
}

/// An engine of the kind that is asked for, with no active body.
pub fn engine(
    world: &Arc<World>,
    filter: &Arc<CollisionFilter>,
    settings: &OverlapSettings,
) -> Box<dyn Engine> {
    match settings.engine {
        EngineKind::Group => {
            Box::new(IslandSolver::new(world.clone(), filter.clone()).measuring(settings.measures))
        }
        #[cfg(feature = "rapier")]
        EngineKind::Rapier => Box::new(crate::overlap::rapier::RapierEngine::new(world)),
    }
}
