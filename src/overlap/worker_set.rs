//! Sets of workers, as the bits of a number.

use serde::{Deserialize, Serialize};

/// The largest number of workers: one bit each.
pub const WORKERS_MAX: usize = 64;

/// A set of workers, which are numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSet(u64);

impl WorkerSet {
    /// The empty set.
    pub const EMPTY: WorkerSet = WorkerSet(0);

    /// The set of one worker.
    pub fn one(worker: u32) -> Self {
        WorkerSet(1 << worker)
    }

    /// The number of workers in the set.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the worker is in the set.
    pub fn contains(self, worker: u32) -> bool {
        self.0 >> worker & 1 == 1
    }

    /// Whether the set is a subset of `other`.
    pub fn is_within(self, other: WorkerSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The union of two sets.
    pub fn union(self, other: WorkerSet) -> Self {
        WorkerSet(self.0 | other.0)
    }

    /// The intersection of two sets.
    pub fn common(self, other: WorkerSet) -> Self {
        WorkerSet(self.0 & other.0)
    }

    /// The set without the workers of `other`.
    pub fn without(self, other: WorkerSet) -> Self {
        WorkerSet(self.0 & !other.0)
    }

    /// The worker with the smallest number.
    pub fn first(self) -> Option<u32> {
        (self.0 != 0).then(|| self.0.trailing_zeros())
    }

    /// The workers of the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(next)
        })
    }
}
