//! What is due at which tick.

use crate::base::time::Tick;

/// Ticks ahead that have a list of their own, at most; what is due later waits in one list. A power of two. Not tuned.
const RING_MAX: usize = 1024;

/// Entries by the tick at which they are due. Time only goes on.
#[derive(Clone)]
pub(crate) struct Calendar<T> {
    /// Entries of as many ticks from `now` on as there are lists, by tick modulo that number, which is a power of two.
    ring: Vec<Vec<T>>,
    later: Vec<(Tick, T)>,
    now: Tick,
    /// Number of entries.
    count: usize,
}

impl<T> Calendar<T> {
    /// An empty calendar that begins at a tick, of a run that ends at `last`.
    pub fn new(now: Tick, last: Tick) -> Self {
        // Half of the lists are enough for all ticks of a short run.
        let lists = (2 * (last.saturating_sub(now) + 2)).min(RING_MAX as Tick).next_power_of_two();
        Calendar { ring: (0..lists).map(|_| Vec::new()).collect(), later: Vec::new(), now, count: 0 }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.count
    }

    fn lists(&self) -> Tick {
        self.ring.len() as Tick
    }

    /// Where the list of a tick is.
    #[inline]
    fn at(&self, tick: Tick) -> usize {
        tick as usize & (self.ring.len() - 1)
    }

    /// Calls `act` for every entry with its tick.
    pub fn for_each(&self, mut act: impl FnMut(Tick, &T)) {
        for tick in self.now..self.now + self.lists() {
            self.ring[self.at(tick)].iter().for_each(|entry| act(tick, entry));
        }
        self.later.iter().for_each(|(tick, entry)| act(*tick, entry));
    }

    /// Puts an entry at a tick that is not over.
    #[inline]
    pub fn put(&mut self, tick: Tick, entry: T) {
        debug_assert!(tick >= self.now, "tick {tick} is over at {}", self.now);
        self.count += 1;
        if tick < self.now + self.lists() {
            let at = self.at(tick);
            self.ring[at].push(entry);
        } else {
            self.later.push((tick, entry));
        }
    }

    /// Forgets all ticks before `tick`.
    pub fn advance(&mut self, tick: Tick) {
        for over in self.now..tick.min(self.now + self.lists()) {
            let at = self.at(over);
            self.count -= self.ring[at].len();
            self.ring[at].clear();
        }
        // Every entry is moved once, when its tick comes into the ring; half a ring ahead at the least.
        let half = self.lists() / 2;
        let is_due = tick / half != self.now / half;
        self.now = tick;
        if is_due && !self.later.is_empty() {
            self.count -= self.later.len();
            for (tick, entry) in std::mem::take(&mut self.later) {
                self.put(tick, entry);
            }
        }
    }

    /// Copies the entries of a tick, less than half a ring ahead, into `out`. They stay until the tick is forgotten: after
    /// a rollback they are due again.
    pub fn read(&self, tick: Tick, out: &mut Vec<T>)
    where
        T: Copy,
    {
        debug_assert!(tick >= self.now && tick < self.now + self.lists() / 2);
        out.clear();
        out.extend_from_slice(&self.ring[self.at(tick)]);
    }
}
