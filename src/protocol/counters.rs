//! How far everybody has come, in shared memory, and the minimum of it: global virtual time.
//!
//! A histogram of local virtual times over a ring of ticks. Moving adds at the new place before it takes away at
//! the old one, so every entity is visible in at least one slot at every instant. The minimum is found by an
//! ascending scan from the last known one. The scan is sound although it takes time: whoever is found to have
//! fallen behind it was cut back by a message of somebody who, at that moment, stood no higher, and so on down to
//! somebody below the start of the scan, which nobody can be.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::time::Tick;

/// Counters of all entities, and global virtual time.
pub struct Counters {
    slots: Box<[AtomicU32]>,
    gvt: AtomicU64,
    scanning: AtomicBool,
    /// Global virtual time is not published beyond this: somebody has yet to take the frames up to here.
    ceiling: AtomicU64,
}

impl Counters {
    /// All of `entities` at tick 0. Nobody will ever be counted more than `window` ticks above global virtual time.
    pub fn new(entities: u32, window: u64, last_tick: Tick) -> Self {
        let len = (window + 2).next_power_of_two() as usize;
        let slots: Box<[AtomicU32]> = (0..len).map(|_| AtomicU32::new(0)).collect();
        slots[0].store(entities, SeqCst);
        Counters {
            slots,
            gvt: AtomicU64::new(0),
            scanning: AtomicBool::new(false),
            ceiling: AtomicU64::new(last_tick),
        }
    }

    /// Everything up to this tick is settled for ever.
    #[inline]
    pub fn gvt(&self) -> Tick {
        self.gvt.load(SeqCst)
    }

    /// Moves one entity. Says whether it may have been the last at global virtual time.
    #[inline]
    pub fn shift(&self, from: Tick, to: Tick) -> bool {
        self.slot(to).fetch_add(1, SeqCst);
        let left = self.slot(from).fetch_sub(1, SeqCst) - 1;
        debug_assert!(left != u32::MAX, "nobody was counted at {from}");
        left == 0 && from == self.gvt()
    }

    /// Looks for a higher minimum; the new one if there is one. Only one caller scans at a time; a caller that
    /// finds another scanning may leave, because that one looks again when it is done.
    pub fn advance(&self) -> Option<Tick> {
        let mut raised = None;
        loop {
            if self.scanning.swap(true, SeqCst) {
                return raised;
            }
            let start = self.gvt();
            let ceiling = self.ceiling.load(SeqCst);
            let mut at = start;
            while at < ceiling && self.slot(at).load(SeqCst) == 0 {
                at += 1;
            }
            if at > start {
                self.gvt.store(at, SeqCst);
                raised = Some(at);
            }
            self.scanning.store(false, SeqCst);
            // Somebody may have left the minimum or raised the ceiling while we scanned, and gone away because we did.
            if at >= self.ceiling.load(SeqCst) || self.slot(at).load(SeqCst) != 0 {
                return raised;
            }
        }
    }

    /// Lets global virtual time be published up to `tick`. Call [`Counters::advance`] afterwards.
    pub fn set_ceiling(&self, tick: Tick) {
        self.ceiling.store(tick, SeqCst);
    }

    fn slot(&self, tick: Tick) -> &AtomicU32 {
        &self.slots[tick as usize & (self.slots.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_follows_the_last() {
        let counters = Counters::new(2, 8, 100);
        assert!(!counters.shift(0, 5));
        assert_eq!(counters.advance(), None);
        assert!(counters.shift(0, 7));
        assert_eq!(counters.advance(), Some(5));
        assert!(!counters.shift(7, 6));
        assert!(counters.shift(5, 9));
        assert_eq!(counters.advance(), Some(6));
        assert_eq!(counters.gvt(), 6);
    }
}
