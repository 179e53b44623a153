//! A table write: a plan on its way through its buckets, which finds its first contact and leaves its track there.

use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;

use super::bucket::{Bucket, Encounter, Entry};
use super::track::Track;
use crate::base::aabb::Aabb;
use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::entity::{Plan, WriteResult};
use crate::protocol::fault::Fault;
use crate::protocol::tvht::cell_cover::{CellCover, CoveredCell};
use crate::protocol::tvht::cell_grid::Grid;

/// A body of a track covers at most about this many cells; faster bodies take shorter steps. Not tuned.
const CELLS_MAX: f64 = 64.0;

/// The cover of a cluster that stays near is made for this many ticks more. Not tuned.
const NEAR_AHEAD_TICKS: u64 = 8;

/// A plan on its way through its buckets.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub struct TableWrite<D: Dynamics> {
    #[serde(skip)]
    plan: Plan<D>,
    gvt: Tick,
    track: Arc<Track<D>>,
    /// How many cells it has passed.
    passed: usize,
    /// The first tick with a contact, as far as is known, and all contacts at it.
    last: Tick,
    found: Vec<Encounter<D>>,
    #[serde(skip)]
    fault: Fault,
}

impl<D: Dynamics> TableWrite<D> {
    /// Prepares the write of a plan: its track, and the cells it covers.
    pub fn new(grid: &Grid, dynamics: &D, mut plan: Plan<D>, gvt: Tick) -> Self {
        let cluster = std::mem::take(&mut plan.cluster);
        let mut last = plan.last;
        let mut covered = bounds(dynamics, &cluster, (plan.first, last));
        let is_fast = |at: usize, bounds: &Aabb| {
            let level = grid.level_of(dynamics.radius(cluster[at].0));
            grid.coverage(bounds, level) > CELLS_MAX
        };
        while last > plan.first && covered.iter().enumerate().any(|(at, bounds)| is_fast(at, bounds)) {
            last = plan.first + (last - plan.first) / 2;
            covered = bounds(dynamics, &cluster, (plan.first, last));
        }
        let ticks = (plan.first, last);
        let known = plan.cell_cover.take().filter(|cell_cover| cell_cover.fits(&cluster, &covered));
        let fault = if D::FAULTY { dynamics.fault() } else { Fault::None };
        let cell_cover = known.unwrap_or_else(|| {
            if plan.is_near {
                // The cover serves longer if it includes where every body is about to go.
                for (at, (body, flight)) in cluster.iter().enumerate() {
                    let ahead =
                        covered[at].union(&dynamics.bounds(*body, flight, last, last + NEAR_AHEAD_TICKS));
                    if !is_fast(at, &ahead) {
                        covered[at] = ahead;
                    }
                }
            }
            let mut cell_cover = CellCover::new(grid, dynamics, &cluster, &covered, plan.is_near);
            if fault == Fault::LocksUnordered && plan.version.entity.0 % 2 == 1 {
                cell_cover.stops.reverse();
            }
            Arc::new(cell_cover)
        });
        let track = Track::new(plan.version, ticks, cluster, cell_cover);
        let gvt = gvt + u64::from(fault == Fault::TableFossilAtGvt);
        TableWrite { plan, gvt, track: Arc::new(track), passed: 0, last, found: Vec::new(), fault }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan<D> {
        &self.plan
    }

    fn stops(&self) -> &[CoveredCell] {
        &self.track.cell_cover.stops
    }

    /// The first of the bodies.
    pub fn body(&self) -> BodyIndex {
        self.track.bodies().next().unwrap_or(0)
    }

    /// The buckets of all its cells, ascending.
    pub fn buckets(&self) -> SmallVec<[u32; 8]> {
        let mut numbers: SmallVec<[u32; 8]> = self.stops().iter().map(|stop| stop.bucket).collect();
        numbers.dedup();
        numbers
    }

    /// Its next bucket; `None` if it has passed them all.
    pub fn wants(&self) -> Option<u32> {
        self.stops().get(self.passed).map(|stop| stop.bucket)
    }

    /// Passes its next bucket: searches it for the first contact, and leaves its track there.
    pub fn pass(&mut self, dynamics: &D, bucket: &mut Bucket<D>) {
        let Some(number) = self.wants() else { return };
        let cell_cover = self.track.cell_cover.clone();
        while let Some(stop) = cell_cover.stops.get(self.passed).filter(|stop| stop.bucket == number) {
            let fault = self.fault();
            let TableWrite { plan, gvt, track, last, found, .. } = self;
            let own = cell_cover.members_in(&stop.span);
            bucket.visit(&stop.span, plan.version.entity, (plan.first, *last, *gvt), |entry| {
                find_contacts(dynamics, (track, own), entry, (last, found), fault);
            });
            bucket.add(Entry::new(stop.span, track.clone()));
            self.passed += 1;
        }
    }

    /// All buckets have been passed: the track ends at the first contact.
    pub fn finish(self) -> (Plan<D>, WriteResult<D>) {
        if self.fault() != Fault::TrackNotRetracted {
            self.track.retract(self.last + 1);
        }
        (self.plan, WriteResult { last: self.last, found: self.found, track: self.track })
    }
}

impl<D: Dynamics> TableWrite<D> {
    /// The deliberate fault it has: none, where nothing may have one.
    #[inline]
    fn fault(&self) -> Fault {
        if D::FAULTY { self.fault } else { Fault::None }
    }

    /// Its track, so that a model can replace it by a copy.
    pub(crate) fn track_mut(&mut self) -> &mut Arc<Track<D>> {
        &mut self.track
    }
}

/// Bounds of everything that bodies cover from tick `first` to `last`.
fn bounds<D: Dynamics>(
    dynamics: &D,
    cluster: &[(BodyIndex, D::Flight)],
    (first, last): (Tick, Tick),
) -> SmallVec<[Aabb; 1]> {
    cluster.iter().map(|(body, flight)| dynamics.bounds(*body, flight, first, last)).collect()
}

/// Finds the earliest contact between this track and the entry's bodies, at or before `last`.
fn find_contacts<D: Dynamics>(
    dynamics: &D,
    (track, own): (&Track<D>, &[u32]),
    entry: &Entry<D>,
    (last, found): (&mut Tick, &mut Vec<Encounter<D>>),
    fault: Fault,
) {
    let other = &entry.track;
    for &theirs in entry.members() {
        let their_range = &other.cell_cover.ranges[theirs as usize];
        for &mine in own {
            // A pair that shares several cells is compared in one of them.
            let is_here = track.cell_cover.ranges[mine as usize].owns_pair(their_range, entry.cell());
            if !is_here && fault != Fault::NoOwnerCell {
                continue;
            }
            // Its owner may be retracting it at this moment; then this is an empty range.
            let from = track.first.max(other.first);
            let to = (*last).min(other.end().saturating_sub(1));
            if from > to {
                return;
            }
            let (body, flight) = &track.cluster[mine as usize];
            let (remote, their_flight) = &other.cluster[theirs as usize];
            let touch = dynamics.first_touch((*body, flight), (*remote, their_flight), from, to);
            let Some(tick) = touch else { continue };
            if tick < *last {
                *last = tick;
                found.clear();
            }
            if fault == Fault::OneContactOnly && !found.is_empty() {
                continue;
            }
            found.push(Encounter { own: *body, other: other.clone(), at: theirs });
        }
    }
}
