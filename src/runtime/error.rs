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
    /// A body's state left the range of numbers.
    #[error("{body} at tick {tick} is no longer finite; {hint}")]
    NotFinite {
        /// Which body.
        body: BodyId,
        /// When.
        tick: Tick,
        /// What usually helps.
        hint: &'static str,
    },
    /// A handler panicked: a fault of the program, not of the scene.
    #[error("{body} at tick {tick} caused an internal error: {text}")]
    Panicked {
        /// Which body.
        body: BodyId,
        /// When.
        tick: Tick,
        /// What the panic said.
        text: String,
    },
    /// A worker panicked: a fault of the program, not of the scene.
    #[error("worker {worker} at tick {tick} caused an internal error: {text}")]
    Worker {
        /// Which worker.
        worker: u32,
        /// When.
        tick: Tick,
        /// What the panic said.
        text: String,
    },
    /// Nothing moves any more: a fault of the program, not of the scene.
    #[error("the run has stalled: {0}")]
    Stalled(String),
    /// Another run takes this simulation's inputs.
    #[error(
        "another run of this simulation is under way and takes its inputs; wait for its end or build another simulation"
    )]
    InputsTaken,
    /// The operating system gave no thread.
    #[error("no thread could be started: {0}; close other programs or use fewer cores")]
    NoThread(String),
}

impl RunError {
    pub(crate) fn not_finite(body: BodyId, tick: Tick) -> Self {
        let hint = "shorten the tick (ticks_per_second) or look for extreme masses and speeds";
        RunError::NotFinite { body, tick, hint }
    }
}
