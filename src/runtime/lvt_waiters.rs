//! Those who wait for the lowest local virtual time to reach a tick.

use std::collections::BTreeMap;

use crate::base::sync::{Mutex, lock};
use crate::base::time::Tick;
use crate::protocol::EntityId;

/// Who waits for which tick.
#[derive(Default)]
pub(crate) struct WaitingRoom {
    waiting: Mutex<BTreeMap<Tick, Vec<EntityId>>>,
}

impl WaitingRoom {
    /// Registers an entity that waits for `tick`. Says no if that has been reached: `floor` is asked after
    /// registering, so that no wake-up is lost.
    pub fn register(&self, id: EntityId, tick: Tick, floor: impl FnOnce() -> Tick) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.entry(tick).or_default().push(id);
        if floor() < tick {
            return true;
        }
        if let Some(waiters) = waiting.get_mut(&tick) {
            waiters.retain(|waiter| *waiter != id);
        }
        false
    }

    /// Takes out everybody whose tick has been reached.
    pub fn reached(&self, floor: Tick) -> Vec<EntityId> {
        let mut woken = Vec::new();
        let mut waiting = lock(&self.waiting);
        while let Some(entry) = waiting.first_entry().filter(|entry| *entry.key() <= floor) {
            woken.extend(entry.remove());
        }
        woken
    }
}
