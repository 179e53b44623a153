//! Where the single-threaded drivers take inputs: they look into it between any two things that happen.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{Entry, InputError, InputSink};
use crate::runtime::shared::Shared;

/// Inputs that have been let in and not been taken yet.
pub(crate) struct InputQueue {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    messages: Vec<(Tick, Entry)>,
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
    pub fn empty(&self) -> Vec<(Tick, Entry)> {
        std::mem::take(&mut self.lock().messages)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl InputSink for InputQueue {
    fn hold(&self, tick: Tick) -> Result<Tick, InputError> {
        if self.lock().is_closed {
            return Err(InputError::Over);
        }
        self.shared.lvt_histogram.pin(tick).map_err(|gvt| InputError::Settled { tick, gvt })
    }

    fn let_in(&self, held: Tick, entry: Entry) {
        self.lock().messages.push((held, entry));
    }
}
