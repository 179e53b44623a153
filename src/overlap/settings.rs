//! How the work is spread. The number of workers and the depth of overlap decide the result, cores do not.

use crate::overlap::balance::Load;
use crate::overlap::partition::Partition;
use crate::overlap::worker_set::WORKERS_MAX;
use crate::physics::World;
use crate::scene::SceneError;

/// How the copies of a shared body are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightRule {
    /// A worker counts the more the nearer its own bodies are in the constraint graph.
    #[default]
    Geodesic,
    /// All workers count the same.
    Equal,
}

/// What advances the bodies of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// Our group solver.
    #[default]
    Group,
    /// Rapier, if it was compiled in.
    #[cfg(feature = "rapier")]
    Rapier,
}

impl EngineKind {
    /// All there are, with their names on the command line.
    pub const ALL: &[(&str, EngineKind)] = &[
        ("group", EngineKind::Group),
        #[cfg(feature = "rapier")]
        ("rapier", EngineKind::Rapier),
    ];
}

/// How the work is spread over workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapSettings {
    /// How many workers; as many as the scene has parts, or two, if nothing is said.
    pub workers: Option<u32>,
    /// How deep workers share bodies beyond those where they meet; what the scene says if nothing is said here.
    pub gamma: Option<u32>,
    /// How far bodies look for what is a worker's own, in constraints; enough for `gamma` if nothing is said.
    pub beta: Option<u32>,
    /// How copies are weighted.
    pub weights: WeightRule,
    /// What counts as load when contacts change who is where; nothing keeps everybody where they are needed.
    pub load: Option<Load>,
    /// Who begins where.
    pub partition: Partition,
    /// What advances the bodies.
    pub engine: EngineKind,
    /// Measures what solvers leave unsolved.
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

/// Settings that fit a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// How many workers.
    pub workers: u32,
    /// How deep workers share bodies.
    pub gamma: u32,
    /// How far bodies look.
    pub beta: u32,
}

impl OverlapSettings {
    /// Checks the settings against a world.
    pub fn chosen(&self, world: &World) -> Result<Chosen, SceneError> {
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
        Ok(Chosen { workers, gamma, beta })
    }
}
