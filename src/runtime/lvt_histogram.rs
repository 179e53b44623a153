//! How far everybody has come, in shared memory, and the minimum of it: global virtual time.
//!
//! A histogram of local virtual times over a ring of ticks. Moving adds at the new place before it takes away at
//! the old one, so every entity is visible in at least one slot at every instant. The minimum is found by an
//! ascending scan from the last known one. The scan is sound although it takes time: whoever is found to have
//! fallen behind it was cut back by a message of somebody who, at that input, stood no higher, and so on down to
//! somebody below the start of the scan, which nobody can be.
//!
//! Who acts from outside stands nowhere, so a scan must not be under way while he is let in: [`LvtHistogram::pin`].

use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, spin_loop};
use crate::base::time::Tick;
use crate::protocol::VirtualTimes;

/// LvtHistogram of all entities, and global virtual time.
pub struct LvtHistogram {
    slots: Box<[AtomicU32]>,
    gvt: AtomicU64,
    lvt_min: AtomicU64,
    scanning: AtomicBool,
    /// Global virtual time is not published beyond this: somebody has yet to take the frames up to here.
    ceiling: AtomicU64,
    window: u64,
    /// Global virtual time stays so many ticks behind the lowest local virtual time.
    history: u64,
    last_tick: Tick,
}

impl Clone for LvtHistogram {
    /// As they are at this input, for those who look at one input at a time.
    fn clone(&self) -> Self {
        LvtHistogram {
            slots: self.slots.iter().map(|slot| AtomicU32::new(slot.load(SeqCst))).collect(),
            gvt: AtomicU64::new(self.gvt.load(SeqCst)),
            lvt_min: AtomicU64::new(self.lvt_min.load(SeqCst)),
            scanning: AtomicBool::new(self.scanning.load(SeqCst)),
            ceiling: AtomicU64::new(self.ceiling.load(SeqCst)),
            ..*self
        }
    }
}

impl LvtHistogram {
    /// All of `entities` at tick 0. Nobody will ever be counted more than `window` ticks above the lowest, and
    /// `history` ticks below that are kept unsettled.
    pub fn new(entities: u32, window: u64, history: u64, last_tick: Tick) -> Self {
        let len = (window + history + 2).next_power_of_two() as usize;
        let slots: Box<[AtomicU32]> = (0..len).map(|_| AtomicU32::new(0)).collect();
        slots[0].store(entities, SeqCst);
        LvtHistogram {
            slots,
            gvt: AtomicU64::new(0),
            lvt_min: AtomicU64::new(0),
            scanning: AtomicBool::new(false),
            ceiling: AtomicU64::new(last_tick),
            window,
            history,
            last_tick,
        }
    }

    /// Everything up to this tick is settled for ever.
    #[inline]
    pub fn gvt(&self) -> Tick {
        self.gvt.load(SeqCst)
    }

    /// How far the run has come.
    #[inline]
    pub fn times(&self) -> VirtualTimes {
        // In this order: global virtual time never passes the lowest of all.
        let gvt = self.gvt();
        VirtualTimes { gvt, lvt_min: self.lvt_min.load(SeqCst).max(gvt) }
    }

    /// Moves one entity. Says whether it may have been the last at the minimum.
    #[inline]
    pub fn shift(&self, from: Tick, to: Tick) -> bool {
        self.add(to);
        self.remove(from)
    }

    /// Counts one more. Only for somebody brought in by one who is counted no higher, or held no higher.
    #[inline]
    pub fn add(&self, at: Tick) {
        self.slot(at).fetch_add(1, SeqCst);
    }

    /// Counts one less. Says whether that may have been the last at the minimum.
    #[inline]
    pub fn remove(&self, from: Tick) -> bool {
        let left = self.slot(from).fetch_sub(1, SeqCst) - 1;
        debug_assert!(left != u32::MAX, "nobody was counted at {from}");
        left == 0 && from <= self.lvt_min.load(SeqCst)
    }

    /// Lets somebody in from outside who is about to act at `tick`: global virtual time will not pass that tick
    /// before the tick that is returned has been left again. An error, with global virtual time, if it has
    /// passed already. Call [`LvtHistogram::advance`] afterwards: a scan may have been put off.
    pub fn pin(&self, tick: Tick) -> Result<Tick, Tick> {
        while self.scanning.swap(true, SeqCst) {
            spin_loop();
        }
        let gvt = self.gvt();
        let held = tick.min(gvt + self.window);
        if tick >= gvt {
            self.add(held);
        }
        self.scanning.store(false, SeqCst);
        if tick >= gvt { Ok(held) } else { Err(gvt) }
    }

    /// Looks for a higher minimum; the new one if there is one. Only one caller scans at a time; a caller that
    /// finds another scanning may leave, because that one looks again when it is done.
    pub fn advance(&self) -> Option<VirtualTimes> {
        let mut raised = None;
        loop {
            if self.scanning.swap(true, SeqCst) {
                return raised;
            }
            let (start, before) = (self.gvt(), self.lvt_min.load(SeqCst));
            let limit = self.limit();
            let mut at = start;
            while at < limit && self.slot(at).load(SeqCst) == 0 {
                at += 1;
            }
            // At the end nothing more can come; but the frames up to there have yet to be taken.
            let ceiling = self.ceiling.load(SeqCst);
            let settled =
                if at == self.last_tick { ceiling.min(at) } else { at.saturating_sub(self.history) };
            self.lvt_min.store(at, SeqCst);
            if settled > start {
                self.gvt.store(settled, SeqCst);
            }
            if at > before || settled > start {
                raised = Some(VirtualTimes { gvt: settled.max(start), lvt_min: at });
            }
            self.scanning.store(false, SeqCst);
            // Somebody may have left the minimum or raised the ceiling while we scanned, and gone away because we did.
            if at >= self.limit() || self.slot(at).load(SeqCst) != 0 {
                return raised;
            }
        }
    }

    /// Lets global virtual time be published up to `tick`. Call [`LvtHistogram::advance`] afterwards.
    pub fn set_ceiling(&self, tick: Tick) {
        self.ceiling.store(tick, SeqCst);
    }

    /// How far a scan may go.
    fn limit(&self) -> Tick {
        (self.ceiling.load(SeqCst) + self.history).min(self.last_tick)
    }

    /// The highest tick at which anybody is counted, up to `window` above the lowest.
    pub fn farthest(&self, window: u64) -> Tick {
        let lvt_min = self.times().lvt_min;
        let above = (1..=window).rev().map(|ahead| lvt_min + ahead);
        above.into_iter().find(|tick| self.slot(*tick).load(Relaxed) != 0).unwrap_or(lvt_min)
    }

    /// How many are counted at a tick that is not settled.
    pub fn at(&self, tick: Tick) -> u32 {
        self.slot(tick).load(SeqCst)
    }

    fn slot(&self, tick: Tick) -> &AtomicU32 {
        &self.slots[tick as usize & (self.slots.len() - 1)]
    }
}
