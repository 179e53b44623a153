//! A bucket of the temporal volumetric hash table: the tracks that pass its cells.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::cell_cover::CellSpan;
use super::cell_grid::Cell;
use super::track::Track;
use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Dynamics};
use crate::protocol::message::EntityId;

/// A contact that a write has found.
#[derive(Clone)]
pub struct Encounter<D: Dynamics> {
    /// The writer's body.
    pub own: BodyIndex,
    /// The track it touches.
    pub other: Arc<Track<D>>,
    /// The number of the body it touches, among those of the other track.
    pub at: u32,
}

impl<D: Dynamics> Encounter<D> {
    /// The body it touches, and its flight.
    pub fn remote(&self) -> &(BodyIndex, D::Flight) {
        &self.other.cluster[self.at as usize]
    }
}

impl<D: Dynamics> Serialize for Encounter<D> {
    /// The contact, but not where the other track ends by now: that does not matter any more.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.own, self.other.version, self.remote()).serialize(serializer)
    }
}

/// A track in a cell. What decides whether it matters is copied here, so that most entries are skipped without a load of
/// their tracks.
#[derive(Clone)]
pub struct Entry<D: Dynamics> {
    span: CellSpan,
    /// The entity that the track belongs to.
    entity: EntityId,
    /// The track.
    pub track: Arc<Track<D>>,
}

impl<D: Dynamics> Entry<D> {
    /// A track that passes a cell with some of its cluster.
    pub fn new(span: CellSpan, track: Arc<Track<D>>) -> Self {
        Entry { span, entity: track.version.entity, track }
    }

    /// The same with another track, which stands for the same flights.
    pub(crate) fn with(&self, track: Arc<Track<D>>) -> Self {
        Entry { track, span: self.span, ..*self }
    }

    /// The cell.
    pub fn cell(&self) -> &Cell {
        &self.span.cell
    }

    /// Numbers, in the cluster, of the bodies that pass this cell.
    pub fn members(&self) -> &[u32] {
        self.track.cell_cover.members_in(&self.span)
    }
}

/// A bucket with fewer entries is never swept. Not tuned.
const SWEEP_ENTRIES_MIN: usize = 16;

/// The tracks that pass some cells.
#[derive(Clone)]
pub struct Bucket<D: Dynamics> {
    /// The first tick of every entry, and one more than its last tick when it was written: most entries are of other ticks,
    /// and these are all that is looked at of them. The track knows whether it has been retracted since.
    times: Vec<(Tick, Tick)>,
    entries: Vec<Entry<D>>,
    /// With this many entries it is time to look for retracted ones.
    sweep_at: usize,
}

impl<D: Dynamics> Default for Bucket<D> {
    fn default() -> Self {
        Bucket { times: Vec::new(), entries: Vec::new(), sweep_at: SWEEP_ENTRIES_MIN }
    }
}

impl<D: Dynamics> Bucket<D> {
    /// Gives `see` every track of entities other than `entity` that may touch a span within `first..=last`, and drops
    /// what lies below `gvt`.
    pub fn visit(
        &mut self,
        span: &CellSpan,
        entity: EntityId,
        (first, last, gvt): (Tick, Tick, Tick),
        mut see: impl FnMut(&Entry<D>),
    ) {
        if self.entries.len() >= self.sweep_at {
            self.sweep(gvt);
        }
        let mut at = 0;
        while let Some(&(begin, end)) = self.times.get(at) {
            if end <= gvt {
                self.remove(at);
                continue;
            }
            if begin <= last && end > first {
                let entry = &self.entries[at];
                let is_here = entry.span.cell == span.cell && entry.entity != entity;
                if is_here && entry.span.bounds.overlaps(&span.bounds) {
                    let end = entry.track.end();
                    if end <= gvt || end <= begin {
                        self.remove(at);
                        continue;
                    }
                    if end > first {
                        see(entry);
                    }
                }
            }
            at += 1;
        }
    }

    fn remove(&mut self, at: usize) {
        self.times.swap_remove(at);
        self.entries.swap_remove(at);
    }

    /// Fossil collection: drops what lies below `gvt` and what has been retracted. A visit only cleans the cells it
    /// passes.
    pub fn sweep(&mut self, gvt: Tick) {
        for at in (0..self.entries.len()).rev() {
            let end = self.entries[at].track.end();
            if end <= gvt || end <= self.times[at].0 {
                self.remove(at);
            }
        }
        self.sweep_at = SWEEP_ENTRIES_MIN.max(2 * self.entries.len());
    }

    /// Adds a track to a cell.
    pub fn add(&mut self, entry: Entry<D>) {
        self.times.push((entry.track.first, entry.track.end()));
        self.entries.push(entry);
    }

    /// Checks that every entry stands for ticks its track has covered.
    pub fn validate(&self) -> Result<(), String> {
        let wrong = self.times.iter().zip(&self.entries).find(|((first, end), entry)| {
            let is_right = first < end && entry.track.end() <= *end;
            !is_right || entry.entity != entry.track.version.entity
        });
        wrong.map_or(Ok(()), |((first, end), entry)| {
            let (entity, track_end) = (entry.entity, entry.track.end());
            Err(format!("an entry of {entity} covers {first}..{end}, its track ends at {track_end}"))
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
