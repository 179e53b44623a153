//! Who is handed over when, and by how many workers groups are shared. All of it changes the result.

use crate::overlap::OverlapSettings;
use crate::overlap::partition::Partition;
use crate::physics::World;
use crate::scene::SceneError;

/// How bodies are brought together and let go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IslandSettings {
    /// Ticks from one decision to the next. A decision takes effect so many ticks after the tick it is about.
    pub epoch: u64,
    /// Fewer bodies make no group.
    pub smallest: u32,
    /// How groups are shared by workers. One worker unless something else is said; who begins where is always decided
    /// by bisection.
    pub workers: OverlapSettings,
}

impl Default for IslandSettings {
    fn default() -> Self {
        IslandSettings { epoch: 64, smallest: 3, workers: OverlapSettings::default() }
    }
}

impl IslandSettings {
    /// How the workers of a group share it, if that fits the world.
    pub(super) fn shared(&self, world: &World) -> Result<OverlapSettings, SceneError> {
        if self.epoch == 0 {
            return Err(SceneError::new(
                "bridge.epoch",
                "is 0",
                "use 1 tick or more; about a window is usual",
            ));
        }
        if self.smallest < 2 {
            let problem = format!("is {}", self.smallest);
            return Err(SceneError::new(
                "bridge.smallest",
                problem,
                "use 2 or more: a group is several bodies",
            ));
        }
        let workers = Some(self.workers.workers.unwrap_or(1));
        let shared = OverlapSettings { workers, partition: Partition::Bisect, ..self.workers };
        shared.chosen(world)?;
        Ok(shared)
    }
}
