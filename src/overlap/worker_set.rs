//! Sets of workers, small enough to be a number.

/// More workers are refused.
pub const WORKERS_MAX: usize = 64;

/// Some of the workers, which are numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WorkerSet(u64);

impl WorkerSet {
    /// No worker.
    pub const EMPTY: WorkerSet = WorkerSet(0);

    /// One worker.
    pub fn one(worker: u32) -> Self {
        WorkerSet(1 << worker)
    }

    /// How many there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the worker is one of them.
    pub fn contains(self, worker: u32) -> bool {
        self.0 >> worker & 1 == 1
    }

    /// Whether all of them are in `other`.
    pub fn is_within(self, other: WorkerSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Those in either.
    pub fn union(self, other: WorkerSet) -> Self {
        WorkerSet(self.0 | other.0)
    }

    /// Those in both.
    pub fn common(self, other: WorkerSet) -> Self {
        WorkerSet(self.0 & other.0)
    }

    /// Those not in `other`.
    pub fn without(self, other: WorkerSet) -> Self {
        WorkerSet(self.0 & !other.0)
    }

    /// The one with the smallest number.
    pub fn first(self) -> Option<u32> {
        (self.0 != 0).then(|| self.0.trailing_zeros())
    }

    /// All of them, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(next)
        })
    }
}
