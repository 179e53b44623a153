//! Inputs of the sequential executors, each at its tick.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::runtime::inputs::{InputError, InputSink, QueuedInput};

/// Inputs that wait for their tick.
pub(crate) struct TickQueue {
    state: Mutex<State>,
    /// Signals that a pinned input has arrived.
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    /// The first tick that is not committed.
    now: Tick,
    /// An input for this tick is about to arrive.
    pinned: Option<Tick>,
    entries: Vec<QueuedInput>,
}

impl TickQueue {
    /// A queue with the inputs that are known from the start.
    pub fn new(known: &[QueuedInput]) -> Self {
        let state = State { entries: known.to_vec(), ..State::default() };
        TickQueue { state: Mutex::new(state), arrived: Condvar::new() }
    }

    /// Removes and returns the inputs for `tick`, in their order. From now on that tick is committed.
    pub fn pass(&self, tick: Tick) -> Vec<QueuedInput> {
        let is_pinned = |state: &mut State| state.pinned.is_some_and(|pinned| pinned <= tick);
        let state = self.arrived.wait_while(self.lock(), is_pinned);
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
        state.pinned = Some(tick);
        Ok(tick)
    }

    fn take(&self, _: Tick, entry: QueuedInput) {
        let mut state = self.lock();
        state.pinned = None;
        state.entries.push(entry);
        self.arrived.notify_all();
    }
}
