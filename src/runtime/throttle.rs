//! A limit on the memory of histories: while they exceed it, all entities may run ahead less far. It never stops a run:
//! the entity with the lowest LVT may always go on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::protocol::Limits;
use crate::runtime::stats::CoreCounters;

/// How far entities may run ahead at present.
pub struct Throttle {
    /// The limits while histories fit.
    widest: Limits,
    bytes_max: u64,
    /// The present window, ticks.
    window_ticks: AtomicU64,
}

impl Throttle {
    /// These limits hold as long as histories take at most `bytes_max` bytes.
    pub fn new(widest: Limits, bytes_max: u64) -> Self {
        Throttle { widest, bytes_max, window_ticks: AtomicU64::new(widest.window) }
    }

    /// How far entities may run ahead now.
    #[inline]
    pub fn limits(&self) -> Limits {
        Limits { window: self.window_ticks.load(Relaxed), ..self.widest }
    }

    /// Halves the window if histories take too many bytes, and doubles it if they take less than half as many. Called
    /// whenever GVT has risen. The factors are not tuned.
    pub(crate) fn adjust<'a>(&self, counters: impl Iterator<Item = &'a CoreCounters>) {
        let bytes = CoreCounters::history_bytes(counters);
        let window = self.window_ticks.load(Relaxed);
        if bytes > self.bytes_max {
            self.window_ticks.store((window / 2).max(1), Relaxed);
        } else if window < self.widest.window && bytes < self.bytes_max / 2 {
            self.window_ticks.store((window * 2).min(self.widest.window), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_shrinks_while_histories_are_too_large() {
        let widest =
            Limits { window: 60, contact_window: None, stride_min: 45, adaptive: true, last_tick: 1000 };
        let throttle = Throttle::new(widest, 1000);
        let heavy = CoreCounters::with_history_bytes(2000);
        let fair = CoreCounters::with_history_bytes(800);
        let light = CoreCounters::with_history_bytes(100);
        let mut windows = Vec::new();
        for counters in
            [&heavy, &heavy, &fair, &light, &heavy, &heavy, &heavy, &heavy, &heavy, &heavy, &light]
        {
            throttle.adjust(std::iter::once(counters));
            windows.push(throttle.limits().window);
        }
        assert_eq!(windows, [30, 15, 15, 30, 15, 7, 3, 1, 1, 1, 2]);
    }
}
