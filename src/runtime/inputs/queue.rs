//! Where the single-threaded drivers take inputs: they look into it between any two things that happen.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{InputError, InputSink, QueuedInput};
use crate::runtime::shared::Shared;

/// Inputs that have been let in and not been taken yet.
pub(crate) struct InputQueue {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    messages: Vec<(Tick, QueuedInput)>,
}

impl InputQueue {
    /// An empty one.
    pub fn new(shared: Arc<Shared>) -> Self {
        InputQueue { shared, state: Mutex::default() }
    }

    /// The run is over.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Takes everything out, each with the tick at which it holds global virtual time.
    pub fn take_all(&self) -> Vec<(Tick, QueuedInput)> {
        std::mem::take(&mut self.lock().messages)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl InputSink for InputQueue {
    fn pin(&self, tick: Tick) -> Result<Tick, InputError> {
        if self.lock().is_closed {
            return Err(InputError::Over);
        }
        self.shared.gvt.pin(tick).map_err(|gvt| InputError::Committed { tick, gvt })
    }

    fn take(&self, held: Tick, entry: QueuedInput) {
        self.lock().messages.push((held, entry));
    }
}
