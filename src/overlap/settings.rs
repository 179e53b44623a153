//! How bodies are shared by workers. Everything here changes the result; the number of cores does not.

use crate::overlap::balance::Load;
use crate::overlap::partition::Partition;
use crate::overlap::worker_set::WORKERS_MAX;
use crate::physics::World;
use crate::scene::SceneError;

/// How the copies of a shared body are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightRule {
    /// The weight of a worker is larger the nearer its own bodies are in the constraint graph.
    #[default]
    Geodesic,
    /// All workers have the same weight.
    Equal,
}

/// The physics engine of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The island solver of this project.
    #[default]
    Island,
    /// Rapier, if it was compiled in.
    #[cfg(feature = "rapier")]
    Rapier,
}

impl EngineKind {
    /// All engines, with their names on the command line.
    pub const ALL: &[(&str, EngineKind)] = &[
        ("group", EngineKind::Island),
        #[cfg(feature = "rapier")]
        ("rapier", EngineKind::Rapier),
    ];
}

/// How bodies are shared by workers. A choice that is `None` depends on the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapSettings {
    /// The number of workers; by default as many as the scene has parts, or two.
    pub workers: Option<u32>,
    /// How many constraints deep workers share bodies beyond those between them; by default as in the scene.
    pub gamma: Option<u32>,
    /// How many constraints away a worker's own bodies are searched for weights; by default enough for `gamma`.
    pub beta: Option<u32>,
    /// How copies are weighted.
    pub weights: WeightRule,
    /// The load that contacts balance between workers; with `None` bodies only move where a constraint needs them.
    pub load: Option<Load>,
    /// How bodies are divided at the start.
    pub partition: Partition,
    /// The engine of every worker.
    pub engine: EngineKind,
    /// Whether the residual of the solvers is measured.
    pub measures: bool,
}

impl Default for OverlapSettings {
    fn default() -> Self {
        OverlapSettings {
            workers: None,
            gamma: None,
            beta: None,
            weights: WeightRule::default(),
            load: Some(Load::default()),
            partition: Partition::default(),
            engine: EngineKind::default(),
            measures: false,
        }
    }
}

/// [`OverlapSettings`] checked against a world, with all its defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapParameters {
    /// The number of workers.
    pub workers: u32,
    /// How many constraints deep workers share bodies beyond those between them.
    pub gamma: u32,
    /// How many constraints away a worker's own bodies are searched for weights.
    pub beta: u32,
    /// How copies are weighted.
    pub weights: WeightRule,
    /// The load that contacts balance between workers, if any.
    pub load: Option<Load>,
    /// How bodies are divided at the start.
    pub partition: Partition,
    /// The engine of every worker.
    pub engine: EngineKind,
    /// Whether the residual of the solvers is measured.
    pub measures: bool,
}

impl OverlapSettings {
    /// Checks the settings against a world and fills in defaults.
    pub fn resolve(&self, world: &World) -> Result<OverlapParameters, SceneError> {
        let bodies = world.bodies.len();
        let parts = world.parts.iter().max().map(|last| last + 1);
        let by_parts = self.partition == Partition::Scene;
        let workers = self.workers.or(parts.filter(|_| by_parts)).unwrap_or(2.min(bodies as u32));
        let most = bodies.min(WORKERS_MAX);
        if workers == 0 || workers as usize > most {
            let problem = format!("{workers} workers for {bodies} bodies");
            return Err(SceneError::new("workers", problem, format!("use 1 to {most}")));
        }
        if by_parts && let Some(parts) = parts.filter(|parts| *parts != workers && workers > 1) {
            let problem = format!("the scene has {parts} parts, and {workers} workers are to share them");
            let fix = format!("use {parts} workers, or divide the bodies another way (`--partition bisect`)");
            return Err(SceneError::new("workers", problem, fix));
        }
        let gamma = self.gamma.unwrap_or(world.group.gamma);
        if gamma as usize >= bodies.max(2) {
            let farthest = bodies - 1;
            let problem = format!(
                "is {gamma}, but no two of {bodies} bodies are more than {farthest} constraints apart"
            );
            let fix = format!("use 0 to {farthest}; 0 to 10 is usual");
            return Err(SceneError::new("gamma", problem, fix));
        }
        let beta = self.beta.unwrap_or((2 * gamma + 2).max(4));
        if beta == 0 {
            let fix = "use 1 or more: bodies must look at least at their neighbours";
            return Err(SceneError::new("beta", "is 0", fix));
        }
        let &OverlapSettings { weights, load, partition, engine, measures, .. } = self;
        Ok(OverlapParameters { workers, gamma, beta, weights, load, partition, engine, measures })
    }
}
