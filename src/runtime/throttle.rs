//! A limit on the memory of histories: when they outgrow it, everybody may run ahead less far, until they fit.
//! It throttles and never kills: whoever is farthest behind may always go on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::protocol::Limits;
use crate::runtime::stats::CoreCounters;

/// How far entities may run ahead at present.
pub struct Throttle {
    widest: Limits,
    bytes_max: u64,
    window: AtomicU64,
}

impl Throttle {
    /// Histories may take so many bytes; if they take less, these limits hold.
    pub fn new(widest: Limits, bytes_max: u64) -> Self {
        Throttle { widest, bytes_max, window: AtomicU64::new(widest.window) }
    }

    /// How far entities may run ahead now.
    #[inline]
    pub fn limits(&self) -> Limits {
        Limits { window: self.window.load(Relaxed), ..self.widest }
    }

    /// Looks how much memory histories take, whenever global virtual time has risen.
    pub(crate) fn look<'a>(&self, core_counters: impl Iterator<Item = &'a CoreCounters>) {
        let bytes = CoreCounters::history_bytes(core_counters);
        let window = self.window.load(Relaxed);
        if bytes > self.bytes_max {
            self.window.store((window / 2).max(1), Relaxed);
        } else if window < self.widest.window && bytes < self.bytes_max / 2 {
            self.window.store((window * 2).min(self.widest.window), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_too_much_runs_ahead_less_far() {
        let widest = Limits {
            window: 60,
            contact_window: None,
            stride_min: 45,
            adaptive: true,
            last_tick: 1000,
            alone_until: 1000,
        };
        let throttle = Throttle::new(widest, 1000);
        let heavy = CoreCounters::weighing(2000);
        let fair = CoreCounters::weighing(800);
        let light = CoreCounters::weighing(100);
        let mut seen = Vec::new();
        for core_counters in
            [&heavy, &heavy, &fair, &light, &heavy, &heavy, &heavy, &heavy, &heavy, &heavy, &light]
        {
            throttle.look(std::iter::once(core_counters));
            seen.push(throttle.limits().window);
        }
        assert_eq!(seen, [30, 15, 15, 30, 15, 7, 3, 1, 1, 1, 2]);
    }
}
