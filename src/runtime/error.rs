//! Why a run could not be finished.

use thiserror::Error;

use crate::base::ids::BodyId;
use crate::base::time::Tick;
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
    /// A handler panicked: a fault of the program, not of the scene.
    #[error("{body} at tick {tick} caused an internal error: {text}")]
    Panicked {
        /// The body of the handler that panicked, or the first of its cluster.
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
    pub(crate) fn not_finite(body: BodyId, tick: Tick) -> Self {
        let hint = "shorten the tick (ticks_per_second) or look for extreme masses and speeds";
        RunError::NotFinite { body, tick, hint }
    }
}
