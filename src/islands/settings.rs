//! When bodies join and leave islands, and how workers share islands. All of it changes the result.

use crate::overlap::partition::Partition;
use crate::overlap::{OverlapParameters, OverlapSettings};
use crate::physics::World;
use crate::scene::SceneError;

/// When bodies join and leave islands, and how workers share islands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IslandSettings {
    /// The ticks of an epoch. Membership is decided once per epoch and takes effect one epoch later.
    pub epoch_ticks: u64,
    /// The smallest number of bodies of an island.
    pub bodies_min: u32,
    /// How workers share an island. One worker by default; an island is always divided by bisection.
    pub overlap: OverlapSettings,
}

impl Default for IslandSettings {
    /// Neither the epoch nor the smallest island is tuned.
    fn default() -> Self {
        IslandSettings { epoch_ticks: 64, bodies_min: 3, overlap: OverlapSettings::default() }
    }
}

impl IslandSettings {
    /// Checks the settings against a world, and fills in how workers share an island.
    pub(super) fn resolve(&self, world: &World) -> Result<OverlapParameters, SceneError> {
        if self.epoch_ticks == 0 {
            let fix = "use 1 tick or more; about a window is usual";
            return Err(SceneError::new("bridge.epoch_ticks", "is 0", fix));
        }
        if self.bodies_min < 2 {
            let problem = format!("is {}", self.bodies_min);
            let fix = "use 2 or more: an island has several bodies";
            return Err(SceneError::new("bridge.bodies_min", problem, fix));
        }
        let workers = Some(self.overlap.workers.unwrap_or(1));
        OverlapSettings { workers, partition: Partition::Bisect, ..self.overlap }.resolve(world)
    }
}
