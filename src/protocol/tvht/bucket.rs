//! A bucket of the temporal volumetric hash table: who is in its cells, when, and on which flight.

use std::sync::Arc;

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Cluster, Dynamics, SharedTick};
use crate::protocol::message::{EntityId, Version};
use crate::protocol::tvht::cell_cover::{CellCover, CellSpan};
use crate::protocol::tvht::cell_grid::Cell;

/// The flights of a cluster over a range of ticks: one object for each step, shared by all buckets it passes.
pub struct Track<D: Dynamics + ?Sized> {
    /// Whose.
    pub entity: EntityId,
    /// Version of the entity at these ticks.
    pub version: Version,
    /// First tick.
    pub first: Tick,
    /// One more than the last tick. Lowered when the owner takes back what comes after.
    end: D::SharedTick,
    /// Bodies in ascending order, and their flights.
    cluster: Cluster<D>,
    /// The flights at the ticks after the first, if there are others at every tick; the bodies are the same.
    later: ThinVec<Cluster<D>>,
    /// Where in the grid they are.
    pub cell_cover: Arc<CellCover>,
}

impl<D: Dynamics + ?Sized> Track<D> {
    /// A track that covers `first..=last`: with the same flights throughout, or with others at every tick.
    pub fn new(
        owner: (EntityId, Version),
        ticks: (Tick, Tick),
        (cluster, later): (Cluster<D>, ThinVec<Cluster<D>>),
        cell_cover: Arc<CellCover>,
    ) -> Self {
        debug_assert!(later.is_empty() || later.len() as u64 == ticks.1 - ticks.0, "flights for every tick");
        let end = D::SharedTick::new(ticks.1 + 1);
        Track { entity: owner.0, version: owner.1, first: ticks.0, end, cluster, later, cell_cover }
    }

    /// The cluster with its flights at a tick that it covered when it was written.
    #[inline]
    pub fn cluster_at(&self, tick: Tick) -> &Cluster<D> {
        match tick.checked_sub(self.first + 1) {
            Some(at) if !self.later.is_empty() => &self.later[at as usize],
            _ => &self.cluster,
        }
    }

    /// Whether the flights are the same throughout.
    #[inline]
    pub fn is_one_flight(&self) -> bool {
        self.later.is_empty()
    }

    /// Who is in the cluster, ascending.
    pub fn bodies(&self) -> impl Iterator<Item = BodyIndex> + '_ {
        self.cluster.iter().map(|(place, _)| *place)
    }

    /// The flights of each tick after the first, if they change.
    pub(in crate::protocol) fn later(&self) -> &[Cluster<D>] {
        &self.later
    }

    /// One more than the last tick it covers.
    #[inline]
    pub fn end(&self) -> Tick {
        self.end.get()
    }

    /// Another track like this one, that is cut by itself.
    pub(crate) fn unshared_copy(&self) -> Self
    where
        D: Sized,
    {
        Track {
            entity: self.entity,
            version: self.version,
            first: self.first,
            end: D::SharedTick::new(self.end()),
            cluster: self.cluster.clone(),
            later: self.later.clone(),
            cell_cover: self.cell_cover.clone(),
        }
    }

    /// Takes back everything from `end` on. A reader that still sees the old end reports a contact with a version
    /// that is gone, and is told so.
    pub fn retract(&self, end: Tick) {
        self.end.set(end);
    }

    /// The flight of a body of the cluster at a tick.
    pub fn flight_of(&self, body: BodyIndex, tick: Tick) -> Option<&D::Flight> {
        let cluster = self.cluster_at(tick);
        let at = cluster.binary_search_by_key(&body, |(place, _)| *place).ok()?;
        Some(&cluster[at].1)
    }
}

/// A contact that a write came upon.
#[derive(Clone)]
pub struct Encounter<D: Dynamics + ?Sized> {
    /// The writer's body.
    pub own: BodyIndex,
    /// The track it touches.
    pub other: Arc<Track<D>>,
    /// The number in the other cluster of the body it touches.
    pub at: u32,
    /// When.
    pub tick: Tick,
}

impl<D: Dynamics + ?Sized> Encounter<D> {
    /// The body it touches, and its flight.
    pub fn remote(&self) -> &(BodyIndex, D::Flight) {
        &self.other.cluster_at(self.tick)[self.at as usize]
    }
}

/// A track in a cell. What decides whether it matters is kept here, so that most entries are passed over without
/// a look at their tracks.
#[derive(Clone)]
pub struct Entry<D: Dynamics + ?Sized> {
    span: CellSpan,
    /// Whose.
    entity: EntityId,
    first: Tick,
    /// One more than the last tick when it was written; the track knows whether it has been cut since.
    end: Tick,
    /// The track.
    pub track: Arc<Track<D>>,
}

impl<D: Dynamics + ?Sized> Entry<D> {
    /// A track that passes a cell with some of its cluster.
    pub fn new(span: CellSpan, track: Arc<Track<D>>) -> Self {
        Entry { span, entity: track.entity, first: track.first, end: track.end(), track }
    }

    /// The same with another track, which stands for the same flights.
    pub(crate) fn with(&self, track: Arc<Track<D>>) -> Self {
        Entry { track, span: self.span, ..*self }
    }

    /// Where.
    pub fn cell(&self) -> &Cell {
        &self.span.cell
    }

    /// Numbers in the cluster of those who pass this cell.
    pub fn members(&self) -> &[u32] {
        self.track.cell_cover.members_in(&self.span)
    }
}

/// A bucket with fewer entries is never swept.
const CROWDED_AT_FIRST: usize = 16;

/// The tracks that pass some cells.
#[derive(Clone)]
pub struct Bucket<D: Dynamics + ?Sized> {
    entries: Vec<Entry<D>>,
    /// With so many entries it is time to look for those that have been cut.
    crowded: usize,
}

impl<D: Dynamics + ?Sized> Default for Bucket<D> {
    fn default() -> Self {
        Bucket { entries: Vec::new(), crowded: CROWDED_AT_FIRST }
    }
}

impl<D: Dynamics + ?Sized> Bucket<D> {
    /// Shows every track of entities other than `entity` that may meet a span within `first..=last`, and
    /// drops what lies below `gvt`.
    pub fn visit(
        &mut self,
        span: &CellSpan,
        entity: EntityId,
        (first, last, gvt): (Tick, Tick, Tick),
        mut see: impl FnMut(&Entry<D>),
    ) {
        if self.entries.len() >= self.crowded {
            self.sweep(gvt);
        }
        let mut at = 0;
        while at < self.entries.len() {
            let entry = &self.entries[at];
            if entry.end <= gvt {
                self.entries.swap_remove(at);
                continue;
            }
            let is_here = entry.span.cell == span.cell && entry.entity != entity;
            let is_now = entry.first <= last && entry.end > first;
            if is_here && is_now && entry.span.bounds.overlaps(&span.bounds) {
                let end = entry.track.end();
                if end <= gvt || end <= entry.first {
                    self.entries.swap_remove(at);
                    continue;
                }
                if end > first {
                    see(entry);
                }
            }
            at += 1;
        }
    }

    /// Drops what lies below `gvt` and what has been cut away: in other cells than those that are visited nobody
    /// notices.
    pub fn sweep(&mut self, gvt: Tick) {
        self.entries.retain(|entry| {
            let end = entry.track.end();
            end > gvt && end > entry.first
        });
        self.crowded = CROWDED_AT_FIRST.max(2 * self.entries.len());
    }

    /// Adds a track to a cell.
    pub fn add(&mut self, entry: Entry<D>) {
        self.entries.push(entry);
    }

    /// Checks that every entry stands for ticks its track has covered.
    pub fn validate(&self) -> Result<(), String> {
        let wrong = self.entries.iter().find(|entry| {
            let is_empty = entry.first >= entry.end;
            is_empty || entry.track.end() > entry.end || entry.entity != entry.track.entity
        });
        wrong.map_or(Ok(()), |entry| {
            Err(format!(
                "an entry of {} covers {}..{}, its track ends at {}",
                entry.entity,
                entry.first,
                entry.end,
                entry.track.end()
            ))
        })
    }

    /// Every entry.
    pub(crate) fn entries(&self) -> &[Entry<D>] {
        &self.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
