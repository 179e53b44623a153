//! The GVT service of one process: a histogram of local virtual times over a ring of ticks, in shared memory.
//!
//! Moving an LVT adds it at the new tick before it is removed at the old one, so every entity is visible in at least one
//! slot at every instant. The minimum is found by an ascending scan from the last known one. The scan is sound although
//! it takes time: an entity that is found behind it was rolled back by a message of another entity; the LVT of the
//! sender was no higher at that moment, and so on down to an entity below the start of the scan, where there is none.
//!
//! An external input has no LVT, so it must not be admitted while a scan runs: [`GvtService::pin`].

use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, spin_loop};
use crate::base::time::Tick;
use crate::protocol::{GvtService, VirtualTimes};

/// Local virtual times of all entities, and global virtual time.
pub struct LvtHistogram {
    /// Number of LVTs at each tick, in a ring.
    slots: Box<[AtomicU32]>,
    gvt: AtomicU64,
    lvt_min: AtomicU64,
    /// Whether a thread scans or pins at present: a lock.
    scanning: AtomicBool,
    /// GVT is not published beyond this tick: frames up to here have yet to be taken.
    ceiling: AtomicU64,
    /// Most ticks from the lowest LVT to the highest.
    window_ticks: u64,
    /// GVT stays this many ticks behind the lowest LVT.
    history_ticks: u64,
    last_tick: Tick,
}

impl Clone for LvtHistogram {
    /// A copy of the present state. Only the model checker uses it, on one thread.
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
    /// A histogram of `entities` LVTs at tick 0. No LVT will ever be more than `window_ticks` above the lowest, or one more
    /// for a spawned entity, and GVT stays `history_ticks` below the lowest.
    pub fn new(entities: u32, window_ticks: u64, history_ticks: u64, last_tick: Tick) -> Self {
        let len = (window_ticks + history_ticks + 2).next_power_of_two() as usize;
        let slots: Box<[AtomicU32]> = (0..len).map(|_| AtomicU32::new(0)).collect();
        slots[0].store(entities, SeqCst);
        LvtHistogram {
            slots,
            gvt: AtomicU64::new(0),
            lvt_min: AtomicU64::new(0),
            scanning: AtomicBool::new(false),
            ceiling: AtomicU64::new(last_tick),
            window_ticks,
            history_ticks,
            last_tick,
        }
    }

    /// Number of LVTs at a tick from GVT on.
    pub fn at(&self, tick: Tick) -> u32 {
        self.slot(tick).load(SeqCst)
    }

    /// The tick at which a scan ends at the latest.
    fn limit(&self) -> Tick {
        (self.ceiling.load(SeqCst) + self.history_ticks).min(self.last_tick)
    }

    fn slot(&self, tick: Tick) -> &AtomicU32 {
        &self.slots[tick as usize & (self.slots.len() - 1)]
    }
}

impl GvtService for LvtHistogram {
    #[inline]
    fn gvt(&self) -> Tick {
        self.gvt.load(SeqCst)
    }

    #[inline]
    fn times(&self) -> VirtualTimes {
        // In this order: GVT never passes the lowest LVT.
        let gvt = self.gvt();
        VirtualTimes { gvt, lvt_min: self.lvt_min.load(SeqCst).max(gvt) }
    }

    #[inline]
    fn add(&self, at: Tick) {
        self.slot(at).fetch_add(1, SeqCst);
    }

    #[inline]
    fn remove(&self, from: Tick) -> bool {
        let left = self.slot(from).fetch_sub(1, SeqCst) - 1;
        debug_assert!(left != u32::MAX, "no LVT is counted at {from}");
        left == 0 && from <= self.lvt_min.load(SeqCst)
    }

    fn pin(&self, tick: Tick) -> Result<Tick, Tick> {
        while self.scanning.swap(true, SeqCst) {
            spin_loop();
        }
        let gvt = self.gvt();
        let pinned = tick.min(gvt + self.window_ticks);
        if tick >= gvt {
            self.add(pinned);
        }
        self.scanning.store(false, SeqCst);
        if tick >= gvt { Ok(pinned) } else { Err(gvt) }
    }

    /// One caller scans at a time. A caller that finds another one scanning may leave, because the other one checks again
    /// when it is done.
    fn advance(&self) -> Option<VirtualTimes> {
        let mut raised = None;
        loop {
            if self.scanning.swap(true, SeqCst) {
                return raised;
            }
            let (start, before) = (self.gvt(), self.lvt_min.load(SeqCst));
            let limit = self.limit();
            let mut lowest = start;
            while lowest < limit && self.slot(lowest).load(SeqCst) == 0 {
                lowest += 1;
            }
            // At the last tick no late input can come; but the frames up to there have yet to be taken.
            let ceiling = self.ceiling.load(SeqCst);
            let committed = if lowest == self.last_tick {
                ceiling.min(lowest)
            } else {
                lowest.saturating_sub(self.history_ticks)
            };
            self.lvt_min.store(lowest, SeqCst);
            if committed > start {
                self.gvt.store(committed, SeqCst);
            }
            if lowest > before || committed > start {
                raised = Some(VirtualTimes { gvt: committed.max(start), lvt_min: lowest });
            }
            self.scanning.store(false, SeqCst);
            // While this scan ran, the last LVT may have left the minimum, or the ceiling may have been raised, and the
            // caller that saw it left because of this scan.
            if lowest >= self.limit() || self.slot(lowest).load(SeqCst) != 0 {
                return raised;
            }
        }
    }

    fn set_ceiling(&self, tick: Tick) {
        self.ceiling.store(tick, SeqCst);
    }

    fn farthest(&self, window: u64) -> Tick {
        let lvt_min = self.times().lvt_min;
        let above = (1..=window).rev().map(|ahead| lvt_min + ahead);
        above.into_iter().find(|tick| self.slot(*tick).load(Relaxed) != 0).unwrap_or(lvt_min)
    }
}
