//! The end of a track in shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::time::Tick;
use crate::protocol::SharedTick;

/// A tick that one thread writes and others read. Release and acquire are enough: a reader that misses a write reports
/// a contact with a version that is gone, and its event is rejected.
pub struct TrackEnd(AtomicU64);

impl SharedTick for TrackEnd {
    fn new(tick: Tick) -> Self {
        TrackEnd(AtomicU64::new(tick))
    }

    #[inline]
    fn get(&self) -> Tick {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self, tick: Tick) {
        self.0.store(tick, Ordering::Release);
    }
}
