//! A bucket of the temporal volumetric hash table: who is in its cells, when, and on which flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::dynamics::{Dynamics, Place};
use super::grid::Cell;
use super::message::{EntityId, Version};
use crate::time::Tick;

/// The flight of one body over a range of ticks, shared by all buckets it passes.
pub struct Track<D: Dynamics + ?Sized> {
    /// Whose body.
    pub entity: EntityId,
    /// Which body.
    pub body: Place,
    /// Version of the entity at these ticks.
    pub version: Version,
    /// Level of the body in the grid.
    pub level: u8,
    /// First tick.
    pub first: Tick,
    /// One more than the last tick. Lowered when the owner takes back what comes after.
    end: AtomicU64,
    /// The motion.
    pub flight: D::Flight,
}

impl<D: Dynamics + ?Sized> Track<D> {
    /// A track that covers `first..=last`.
    pub fn new(
        owner: (EntityId, Version),
        body: (Place, u8),
        ticks: (Tick, Tick),
        flight: D::Flight,
    ) -> Self {
        let end = AtomicU64::new(ticks.1 + 1);
        Track { entity: owner.0, version: owner.1, body: body.0, level: body.1, first: ticks.0, end, flight }
    }

    /// One more than the last tick it covers.
    #[inline]
    pub fn end(&self) -> Tick {
        self.end.load(Ordering::Acquire)
    }

    /// Another track like this one, that is cut by itself.
    pub(crate) fn apart(&self) -> Self
    where
        D: Sized,
    {
        let (owner, body) = ((self.entity, self.version), (self.body, self.level));
        let track = Track::new(owner, body, (self.first, self.first), self.flight.clone());
        track.cut(self.end());
        track
    }

    /// Takes back everything from `end` on. A reader that still sees the old end reports a contact with a version
    /// that is gone, and is told so.
    pub fn cut(&self, end: Tick) {
        self.end.store(end, Ordering::Release);
    }
}

/// A contact that a write came upon.
#[derive(Clone)]
pub struct Found<D: Dynamics + ?Sized> {
    /// The writer's body.
    pub own: Place,
    /// The track it touches.
    pub other: Arc<Track<D>>,
}

/// The tracks that pass some cells.
#[derive(Clone)]
pub struct Bucket<D: Dynamics + ?Sized> {
    entries: Vec<(Cell, Arc<Track<D>>)>,
}

impl<D: Dynamics + ?Sized> Default for Bucket<D> {
    fn default() -> Self {
        Bucket { entries: Vec::new() }
    }
}

impl<D: Dynamics + ?Sized> Bucket<D> {
    /// Shows every track of others in `cell` that may meet a track on `level` within `first..=last`, and drops
    /// what lies below `gvt`. Two bodies meet on the coarser of their levels only.
    pub fn visit(
        &mut self,
        cell: &Cell,
        level: u8,
        (first, last, gvt): (Tick, Tick, Tick),
        mut see: impl FnMut(&Arc<Track<D>>),
    ) {
        let mut at = 0;
        while at < self.entries.len() {
            let (here, track) = &self.entries[at];
            let end = track.end();
            if end <= gvt || end <= track.first {
                self.entries.swap_remove(at);
                continue;
            }
            if here == cell && track.first <= last && end > first && cell.level() == level.max(track.level) {
                see(track);
            }
            at += 1;
        }
    }

    /// Adds a track to a cell.
    pub fn add(&mut self, cell: Cell, track: Arc<Track<D>>) {
        self.entries.push((cell, track));
    }

    /// Every entry: the cell, and a track that passes it.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Cell, &Arc<Track<D>>)> {
        self.entries.iter().map(|(cell, track)| (cell, track))
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
