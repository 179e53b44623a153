//! Entities that wait for the lowest LVT to reach a tick.

use std::collections::BTreeMap;

use crate::base::sync::{Mutex, lock};
use crate::base::time::Tick;
use crate::protocol::EntityId;

/// Entities that wait for the lowest LVT, by the tick each waits for.
#[derive(Default)]
pub(crate) struct LvtWaiters {
    waiting: Mutex<BTreeMap<Tick, Vec<EntityId>>>,
}

impl LvtWaiters {
    /// Registers an entity that waits for `tick`. Returns `false`, and registers nothing, if the tick has been reached.
    /// `lvt_min` is read after registering, so that no wake-up is lost.
    pub fn register(&self, id: EntityId, tick: Tick, lvt_min: impl FnOnce() -> Tick) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.entry(tick).or_default().push(id);
        if lvt_min() < tick {
            return true;
        }
        if let Some(waiters) = waiting.get_mut(&tick) {
            waiters.retain(|waiter| *waiter != id);
        }
        false
    }

    /// Removes and returns all entities that wait for a tick which has been reached.
    pub fn reached(&self, lvt_min: Tick) -> Vec<EntityId> {
        let mut woken = Vec::new();
        let mut waiting = lock(&self.waiting);
        while let Some(entry) = waiting.first_entry().filter(|entry| *entry.key() <= lvt_min) {
            woken.extend(entry.remove());
        }
        woken
    }
}
