//! Why a run could not be finished.

use thiserror::Error;

use crate::base::ids::BodyId;
use crate::base::time::Tick;
use crate::physics::collision::crowd::Crowd;
use crate::scene::SceneError;

/// Why a run could not be finished.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RunError {
    /// The scene is not usable.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The state of a body is not finite any more.
    #[error("{body} at tick {tick} is no longer finite; {hint}")]
    NotFinite {
        /// The body.
        body: BodyId,
        /// The tick at which its state was found not to be finite.
        tick: Tick,
        /// What usually helps.
        hint: &'static str,
    },
    /// More bodies are in one place than there is memory for.
    #[error("at tick {tick} {crowd}; keep bodies apart, make them smaller, or use fewer")]
    Crowded {
        /// The tick at which they touch.
        tick: Tick,
        /// Which bodies, and how many pairs.
        crowd: Crowd,
    },
    /// A handler panicked: a fault of the program, not of the scene.
    #[error("{body} at tick {tick} caused an internal error: {text}")]
    Panicked {
        /// The body of the handler that panicked, or the first of its island.
        body: BodyId,
        /// The local virtual time of its entity.
        tick: Tick,
        /// The message of the panic.
        text: String,
    },
    /// A worker panicked: a fault of the program, not of the scene.
    #[error("worker {worker} at tick {tick} caused an internal error: {text}")]
    Worker {
        /// Number of the worker.
        worker: u32,
        /// The tick that the worker was computing.
        tick: Tick,
        /// The message of the panic.
        text: String,
    },
    /// No entity makes progress any more: a fault of the program, not of the scene. The text lists the entities that are
    /// farthest behind.
    #[error("the run has stalled: {0}")]
    Stalled(String),
    /// Another run takes this simulation's inputs.
    #[error(
        "another run of this simulation is under way and takes its inputs; wait for its end or build another simulation"
    )]
    InputsTaken,
    /// The operating system refused a thread; the text is its reason.
    #[error("no thread could be started: {0}; close other programs or use fewer cores")]
    NoThread(String),
}

impl RunError {
    /// Nothing runs and nothing is on its way before the last tick; `behind` describes entities, the farthest behind first.
    pub(crate) fn stalled<'a>(last_tick: Tick, behind: impl Iterator<Item = &'a str>) -> Self {
        let behind: Vec<&str> = behind.collect();
        let behind = if behind.is_empty() { "every entity is done".to_owned() } else { behind.join("; ") };
        RunError::Stalled(format!("no message is on its way, and tick {last_tick} is not reached: {behind}"))
    }

    pub(crate) fn no_thread(reason: impl std::fmt::Display) -> Self {
        RunError::NoThread(reason.to_string())
    }

    pub(crate) fn not_finite(body: BodyId, tick: Tick) -> Self {
        let hint = "shorten the tick (ticks_per_second) or look for extreme masses and speeds";
        RunError::NotFinite { body, tick, hint }
    }
}
