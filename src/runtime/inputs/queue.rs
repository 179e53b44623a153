//! Inputs of executors with one thread, which empty the queue between any two handlers.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{InputError, InputSink, QueuedInput};
use crate::runtime::shared::Shared;

/// Inputs that have been admitted and not been handled yet.
pub(crate) struct InputQueue {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// Inputs, each with the tick at which it pins GVT.
    inputs: Vec<(Tick, QueuedInput)>,
}

impl InputQueue {
    /// An empty queue.
    pub fn new(shared: Arc<Shared>) -> Self {
        InputQueue { shared, state: Mutex::default() }
    }

    /// Ends the run: inputs are rejected from now on.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Removes and returns all inputs, each with the tick at which it pins GVT.
    pub fn take_all(&self) -> Vec<(Tick, QueuedInput)> {
        std::mem::take(&mut self.lock().inputs)
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

    fn take(&self, pinned: Tick, entry: QueuedInput) {
        self.lock().inputs.push((pinned, entry));
    }
}
