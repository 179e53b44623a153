//! What handlers cost: measured, replayed from a run before, or fixed.

use std::time::{Duration, Instant};

use crate::runtime::stats::thread_cpu;

/// Laps longer than this are checked for time in which other programs had the core. Not tuned.
const LONG: Duration = Duration::from_micros(20);
/// Empty laps that tell what reading the clock costs.
const EMPTY_LAPS: usize = 1000;

/// Where costs come from. A schedule follows from the scene, the machine and the costs: equal costs, equal schedules.
#[derive(Clone, Debug)]
pub(crate) enum Costs {
    /// Processor time, as each piece of work takes it.
    Measured,
    /// Those of another run of the same work on the same machine, nanoseconds, in their order.
    #[cfg(test)]
    Replayed(Vec<u32>),
    /// Every piece of work takes as many nanoseconds.
    Fixed(u32),
}

/// A stopwatch for pieces of work.
#[derive(Debug)]
pub(crate) struct Clock {
    costs: Costs,
    since: Instant,
    /// Wall and processor time when they were last compared.
    compared: (Instant, Option<Duration>),
    /// Wall time of reading the clock, nanoseconds.
    reading_nanos: u64,
    /// The costs so far, nanoseconds, to be replayed.
    #[cfg(test)]
    pub laps: Vec<u32>,
    /// Their sum.
    #[cfg(test)]
    pub sum_nanos: u64,
}

impl Clock {
    pub fn new(costs: Costs) -> Self {
        let now = Instant::now();
        let mut clock = Clock {
            costs,
            since: now,
            compared: (now, thread_cpu()),
            reading_nanos: 0,
            #[cfg(test)]
            laps: Vec::new(),
            #[cfg(test)]
            sum_nanos: 0,
        };
        let empty = (0..EMPTY_LAPS).map(|_| clock.measured()).min();
        clock.reading_nanos = empty.unwrap_or(0);
        clock
    }

    /// What was done since the last lap counts for nothing.
    pub fn restart(&mut self) {
        if matches!(self.costs, Costs::Measured) {
            let now = Instant::now();
            if now - self.since > LONG {
                // What other programs took until now is not taken off a lap to come.
                self.compared = (now, thread_cpu());
            }
            self.since = Instant::now();
        }
    }

    /// The cost of what was done since the last lap, or since the clock was restarted, nanoseconds.
    pub fn lap(&mut self) -> u64 {
        let nanos = match &self.costs {
            Costs::Fixed(nanos) => u64::from(*nanos),
            #[cfg(test)]
            Costs::Replayed(laps) => laps.get(self.laps.len()).copied().map_or(0, u64::from),
            Costs::Measured => self.measured(),
        };
        #[cfg(test)]
        {
            self.laps.push(nanos.min(u64::from(u32::MAX)) as u32);
            self.sum_nanos += nanos;
        }
        nanos
    }

    fn measured(&mut self) -> u64 {
        let now = Instant::now();
        let mut took = now - self.since;
        if took > LONG {
            let cpu = thread_cpu();
            if let (Some(before), Some(cpu)) = (self.compared.1, cpu) {
                let stolen = (now - self.compared.0).saturating_sub(cpu.saturating_sub(before));
                // It fell into this lap, most likely: others are short.
                took = took.saturating_sub(stolen).max(LONG);
            }
            self.compared = (now, cpu);
        }
        self.since = Instant::now();
        (took.as_nanos() as u64).saturating_sub(self.reading_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_fixed_replayed_or_measured() {
        let mut fixed = Clock::new(Costs::Fixed(7));
        assert_eq!((fixed.lap(), fixed.lap(), fixed.sum_nanos), (7, 7, 14));
        let mut replayed = Clock::new(Costs::Replayed(vec![3, 5]));
        assert_eq!((replayed.lap(), replayed.lap(), replayed.lap()), (3, 5, 0));
        let mut measured = Clock::new(Costs::Measured);
        let empty = measured.lap();
        measured.restart();
        let busy: f64 = (0..200_000).map(|n| std::hint::black_box(f64::from(n)).sqrt()).sum();
        assert!(busy > 0.0 && measured.lap() > empty);
        assert_eq!(measured.laps.iter().map(|nanos| u64::from(*nanos)).sum::<u64>(), measured.sum_nanos);
    }
}
