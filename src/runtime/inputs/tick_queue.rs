//! Where the plain loop takes inputs, each at its tick.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{InputError, InputSink, QueuedInput};

/// Inputs that wait for their tick.
pub(crate) struct TickQueue {
    state: Mutex<State>,
    let_in: Condvar,
}

#[derive(Default)]
struct State {
    /// The first tick that has not been acted at.
    now: Tick,
    /// Somebody is about to let in an input for this tick.
    held: Option<Tick>,
    entries: Vec<QueuedInput>,
}

impl TickQueue {
    /// With inputs that are known from the start.
    pub fn new(known: &[QueuedInput]) -> Self {
        let state = State { entries: known.to_vec(), ..State::default() };
        TickQueue { state: Mutex::new(state), let_in: Condvar::new() }
    }

    /// Everything that acts at `tick`, in its order. From now on that tick is settled.
    pub fn pass(&self, tick: Tick) -> Vec<QueuedInput> {
        let is_held = |state: &mut State| state.held.is_some_and(|held| held <= tick);
        let state = self.let_in.wait_while(self.lock(), is_held);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.now = tick + 1;
        let mut due: Vec<QueuedInput> = state.entries.extract_if(.., |entry| entry.tick <= tick).collect();
        due.sort_by_key(|entry| entry.number);
        due
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl InputSink for TickQueue {
    fn pin(&self, tick: Tick) -> Result<Tick, InputError> {
        let mut state = self.lock();
        if tick < state.now {
            return Err(InputError::Committed { tick, gvt: state.now });
        }
        state.held = Some(tick);
        Ok(tick)
    }

    fn take(&self, _: Tick, entry: QueuedInput) {
        let mut state = self.lock();
        state.held = None;
        state.entries.push(entry);
        self.let_in.notify_all();
    }
}
