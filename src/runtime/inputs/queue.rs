//! Where the single-threaded drivers take inputs: they look into it between any two things that happen.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{Door, Entry, InputError};
use crate::runtime::shared::Commons;

/// Inputs that have been let in and not been taken yet.
pub(crate) struct Letterbox {
    commons: Arc<Commons>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    letters: Vec<(Tick, Entry)>,
}

impl Letterbox {
    /// An empty one.
    pub fn new(commons: Arc<Commons>) -> Self {
        Letterbox { commons, state: Mutex::default() }
    }

    /// The run is over.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Takes everything out, each with the tick at which it holds global virtual time.
    pub fn empty(&self) -> Vec<(Tick, Entry)> {
        std::mem::take(&mut self.lock().letters)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Door for Letterbox {
    fn hold(&self, tick: Tick) -> Result<Tick, InputError> {
        if self.lock().is_closed {
            return Err(InputError::Over);
        }
        self.commons.counters.hold(tick).map_err(|gvt| InputError::Settled { tick, gvt })
    }

    fn let_in(&self, held: Tick, entry: Entry) {
        self.lock().letters.push((held, entry));
    }
}
