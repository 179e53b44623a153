//! The temporal volumetric hash table: who passes which part of space, when.
//!
//! Shared lane: the buckets lie in shared memory. A write locks all buckets it needs in ascending order, so that
//! nobody ever waits in a circle, looks for the first tick at which it meets anybody, cuts its tracks there,
//! and leaves them behind; then it lets go of all locks. No lock is held across a message.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::protocol::{Bucket, Cell, Dynamics, Found, Grid, Plan, Track, Written};
use crate::time::Tick;

/// A track covers at most about so many cells; faster bodies take shorter steps.
const CELLS_MAX: f64 = 64.0;

/// The buckets in shared memory.
pub struct SharedTable<D: Dynamics> {
    grid: Grid,
    buckets: Box<[Mutex<Bucket<D>>]>,
}

/// One body of a plan with the cells it passes.
struct Path {
    level: u8,
    cells: Vec<Cell>,
}

impl<D: Dynamics> SharedTable<D> {
    /// An empty table over a grid.
    pub fn new(grid: Grid) -> Self {
        let buckets = (0..grid.buckets()).map(|_| Mutex::default()).collect();
        SharedTable { grid, buckets }
    }

    /// Writes a plan, cut at the first tick at which it meets somebody. Everything it meets at that tick is
    /// reported.
    pub fn write(&self, dynamics: &D, plan: &Plan<D>, gvt: Tick) -> Written<D> {
        let mut last = plan.last;
        let paths: SmallVec<[Path; 1]> =
            plan.crew.iter().map(|(body, flight)| self.path(dynamics, *body, flight, plan.first, &mut last)).collect();
        let mut numbers: SmallVec<[u32; 16]> =
            paths.iter().flat_map(|path| &path.cells).map(|cell| self.grid.bucket(cell)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut locked: SmallVec<[MutexGuard<Bucket<D>>; 8]> = numbers.iter().map(|at| self.lock(*at)).collect();
        let place = |cell: &Cell| {
            numbers.binary_search(&self.grid.bucket(cell)).expect("invariant: all buckets of the plan are locked")
        };
        let mut found: Vec<Found<D>> = Vec::new();
        let mut seen: SmallVec<[*const Track<D>; 16]> = SmallVec::new();
        for ((own, flight), path) in plan.crew.iter().zip(&paths) {
            seen.clear();
            for cell in &path.cells {
                let look = |other: &Arc<Track<D>>| {
                    if other.entity == plan.entity || seen.contains(&Arc::as_ptr(other)) {
                        return;
                    }
                    seen.push(Arc::as_ptr(other));
                    // Its owner may be cutting it at this moment; then this is an empty range.
                    let (from, to) = (plan.first.max(other.first), last.min(other.end().saturating_sub(1)));
                    if from > to {
                        return;
                    }
                    let pair = ((*own, flight), (other.body, &other.flight));
                    if let Some(tick) = dynamics.first_touch(pair.0, pair.1, from, to) {
                        if tick < last {
                            last = tick;
                            found.clear();
                        }
                        found.push(Found { own: *own, other: other.clone() });
                    }
                };
                locked[place(cell)].visit(cell, path.level, (plan.first, plan.last, gvt), look);
            }
        }
        let mut tracks = Vec::with_capacity(plan.crew.len());
        for ((body, flight), path) in plan.crew.iter().zip(&paths) {
            let owner = (plan.entity, plan.version);
            let track = Arc::new(Track::new(owner, (*body, path.level), (plan.first, last), flight.clone()));
            for cell in &path.cells {
                locked[place(cell)].add(*cell, track.clone());
            }
            tracks.push(track);
        }
        Written { last, found, tracks }
    }

    /// Entries in all buckets together.
    pub fn len(&self) -> usize {
        (0..self.grid.buckets()).map(|bucket| self.lock(bucket).len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells a body passes from `first` to `last`; `last` is lowered until there are not too many.
    fn path(&self, dynamics: &D, body: u32, flight: &D::Flight, first: Tick, last: &mut Tick) -> Path {
        let level = self.grid.level_of(dynamics.radius(body));
        let mut bounds = dynamics.bounds(body, flight, first, *last);
        while *last > first && self.grid.coverage(&bounds, level) > CELLS_MAX {
            *last = first + (*last - first) / 2;
            bounds = dynamics.bounds(body, flight, first, *last);
        }
        let mut cells = Vec::new();
        self.grid.cells(&bounds, level, &mut cells);
        Path { level, cells }
    }

    fn lock(&self, bucket: u32) -> MutexGuard<'_, Bucket<D>> {
        // A panic elsewhere ends the run; until then its buckets are as good as ever.
        self.buckets[bucket as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
