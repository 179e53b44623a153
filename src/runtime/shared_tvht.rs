//! The shared lane of the hash table: its buckets in shared memory, each behind a lock.

use smallvec::SmallVec;

use crate::base::sync::{Mutex, MutexGuard, lock};
use crate::base::time::Tick;
use crate::protocol::{Bucket, Dynamics, Grid, Plan, TableWrite, WriteResult};

/// Where the buckets of the hash table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// In shared memory.
    #[default]
    Shared,
    /// Each in an actor of its own.
    Actors,
}

/// The buckets in shared memory.
pub struct SharedTable<D: Dynamics> {
    grid: Grid,
    buckets: Box<[Mutex<Bucket<D>>]>,
}

impl<D: Dynamics> SharedTable<D> {
    /// An empty table over a grid.
    pub fn new(grid: Grid) -> Self {
        let buckets = (0..grid.buckets()).map(|_| Mutex::default()).collect();
        SharedTable { grid, buckets }
    }

    /// Writes a plan, cut at the first tick of contact with a track of another entity. All contacts at that tick are in
    /// the result.
    pub fn write(&self, dynamics: &D, plan: Plan<D>, gvt: Tick) -> (Plan<D>, WriteResult<D>) {
        let mut search = TableWrite::new(&self.grid, dynamics, plan, gvt);
        let mut locked: SmallVec<[MutexGuard<Bucket<D>>; 8]> =
            search.buckets().into_iter().map(|number| lock(&self.buckets[number as usize])).collect();
        for bucket in &mut locked {
            search.pass(dynamics, bucket);
        }
        // Cut before the locks are released: no other search finds more of the track than is valid.
        search.finish()
    }

    /// Drops entries below `gvt` and entries that have been cut away, in all buckets. Writes drop them only where they
    /// pass, and every entry keeps the flights of its track alive.
    pub fn sweep(&self, gvt: Tick) {
        self.buckets.iter().for_each(|bucket| lock(bucket).sweep(gvt));
    }

    /// Number of entries in all buckets together.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(|bucket| lock(bucket).len()).sum()
    }

    /// Whether the table holds no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
