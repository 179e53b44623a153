//! A table write: a plan on its way through its buckets, which finds its first contact and leaves its track there.

use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;
use thin_vec::ThinVec;

use super::bucket::{Bucket, Encounter, Entry};
use super::track::Track;
use crate::base::aabb::Aabb;
use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Cluster, Dynamics};
use crate::protocol::entity::{Plan, PlannedTick, WriteResult};
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
        let mut later: ThinVec<Cluster<D>> =
            plan.planned_ticks.iter_mut().map(|planned| std::mem::take(&mut planned.cluster)).collect();
        let mut last = plan.last;
        let mut covered = bounds(dynamics, &cluster, (&later, &plan.planned_ticks), (plan.first, last));
        let is_fast = |at: usize, bounds: &Aabb| {
            let level = grid.level_of(dynamics.radius(cluster[at].0));
            grid.coverage(bounds, level) > CELLS_MAX
        };
        while last > plan.first && covered.iter().enumerate().any(|(at, bounds)| is_fast(at, bounds)) {
            last = plan.first + (last - plan.first) / 2;
            later.truncate((last - plan.first) as usize);
            covered = bounds(dynamics, &cluster, (&later, &plan.planned_ticks), (plan.first, last));
        }
        let ticks = (plan.first, last);
        let known = plan.cell_cover.take().filter(|cell_cover| cell_cover.fits(&cluster, &covered));
        let fault = if D::FAULTY { dynamics.fault() } else { Fault::None };
        let cell_cover = known.unwrap_or_else(|| {
            if plan.is_near {
                // The cover serves longer if it includes where every body is about to go.
                let latest = later.last().unwrap_or(&cluster);
                for (at, (body, flight)) in latest.iter().enumerate() {
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
        let track = Track::new(plan.version, ticks, (cluster, later), cell_cover);
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

/// Bounds of each body of a cluster: on one flight throughout, or on another from each planned tick on.
fn bounds<D: Dynamics>(
    dynamics: &D,
    cluster: &[(BodyIndex, D::Flight)],
    (later, planned_ticks): (&[Cluster<D>], &[PlannedTick<D>]),
    (first, last): (Tick, Tick),
) -> SmallVec<[Aabb; 1]> {
    let end = if later.is_empty() { last } else { first };
    let cover = |(body, flight): &(BodyIndex, D::Flight), from, to| dynamics.bounds(*body, flight, from, to);
    let mut covered: SmallVec<[Aabb; 1]> = cluster.iter().map(|flier| cover(flier, first, end)).collect();
    let Some(latest) = later.last() else { return covered };
    // The tick since which each body is on its flight.
    let mut since = vec![first; cluster.len()];
    let mut before = cluster;
    for (tick, (planned, then)) in (first..).zip(planned_ticks.iter().zip(later)) {
        for (number, _) in planned.response.numbered(before) {
            let from = std::mem::replace(&mut since[number], tick + 1);
            covered[number] = covered[number].union(&cover(&before[number], from, tick));
        }
        before = then;
    }
    for ((covered, flier), since) in covered.iter_mut().zip(latest).zip(since) {
        *covered = covered.union(&cover(flier, since, last));
    }
    covered
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
            let first_touch = |from: Tick, to: Tick| {
                let (body, flight) = &track.cluster_at(from)[mine as usize];
                let (remote, their_flight) = &other.cluster_at(from)[theirs as usize];
                dynamics.first_touch((*body, flight), (*remote, their_flight), from, to)
            };
            let touch = match track.is_one_flight() && other.is_one_flight() {
                true => first_touch(from, to),
                false => (from..=to).find_map(|tick| first_touch(tick, tick)),
            };
            let Some(tick) = touch else { continue };
            if tick < *last {
                *last = tick;
                found.clear();
            }
            if fault == Fault::OneContactOnly && !found.is_empty() {
                continue;
            }
            let own = track.cluster_at(tick)[mine as usize].0;
            found.push(Encounter { own, other: other.clone(), at: theirs, tick });
        }
    }
}
