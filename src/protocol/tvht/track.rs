//! The track of an entity: its flights over a range of ticks, as the table knows them.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::cell_cover::CellCover;
use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Cluster, Dynamics, SharedTick};
use crate::protocol::message::Version;

/// The flights of an entity's bodies over a range of ticks: one object per step, shared by all buckets it passes.
pub struct Track<D: Dynamics> {
    /// Version of the entity at these ticks.
    pub version: Version,
    /// First tick.
    pub first: Tick,
    /// One more than the last tick. Lowered when the owner rolls back.
    end: D::SharedTick,
    /// Its bodies in ascending order, and their flights.
    pub cluster: Cluster<D>,
    /// The cells they cover.
    pub cell_cover: Arc<CellCover>,
}

impl<D: Dynamics> Track<D> {
    /// A track that covers `first..=last`.
    pub fn new(
        version: Version,
        (first, last): (Tick, Tick),
        cluster: Cluster<D>,
        cell_cover: Arc<CellCover>,
    ) -> Self {
        Track { version, first, end: D::SharedTick::new(last + 1), cluster, cell_cover }
    }

    /// Its bodies, ascending.
    pub fn bodies(&self) -> impl Iterator<Item = BodyIndex> + '_ {
        self.cluster.iter().map(|(body, _)| *body)
    }

    /// One more than the last tick it covers.
    #[inline]
    pub fn end(&self) -> Tick {
        self.end.get()
    }

    /// A copy that is retracted by itself, for a model that looks at several futures.
    pub(crate) fn unshared_copy(&self) -> Self {
        Track {
            version: self.version,
            first: self.first,
            end: D::SharedTick::new(self.end()),
            cluster: self.cluster.clone(),
            cell_cover: self.cell_cover.clone(),
        }
    }

    /// Makes the track end before `end`. A reader that still sees the old end reports a contact with a version that is
    /// gone, and its event is rejected.
    pub fn retract(&self, end: Tick) {
        self.end.set(end);
    }

    /// The flight of a body.
    pub fn flight_of(&self, body: BodyIndex) -> Option<&D::Flight> {
        let at = self.cluster.binary_search_by_key(&body, |(own, _)| *own).ok()?;
        Some(&self.cluster[at].1)
    }
}

impl<D: Dynamics> Serialize for Track<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut track = serializer.serialize_struct("Track", 5)?;
        track.serialize_field("version", &self.version)?;
        track.serialize_field("first", &self.first)?;
        track.serialize_field("end", &self.end())?;
        track.serialize_field("cluster", &self.cluster)?;
        track.serialize_field("cell_cover", &*self.cell_cover)?;
        track.end()
    }
}
