//! The track of an entity: its flights over a range of ticks, as the table knows them.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};
use thin_vec::ThinVec;

use super::cell_cover::CellCover;
use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Cluster, Dynamics, SharedTick};
use crate::protocol::message::Version;

/// The flights of a cluster over a range of ticks: one object per step, shared by all buckets it passes.
pub struct Track<D: Dynamics> {
    /// Version of the entity at these ticks.
    pub version: Version,
    /// First tick.
    pub first: Tick,
    /// One more than the last tick. Lowered when the owner rolls back.
    end: D::SharedTick,
    /// Bodies in ascending order, and their flights.
    cluster: Cluster<D>,
    /// The flights at the ticks after the first, if there are others at every tick; the bodies are the same.
    later: ThinVec<Cluster<D>>,
    /// The cells they cover.
    pub cell_cover: Arc<CellCover>,
}

impl<D: Dynamics> Track<D> {
    /// A track that covers `first..=last`: with the same flights throughout, or with others at every tick.
    pub fn new(
        version: Version,
        ticks: (Tick, Tick),
        (cluster, later): (Cluster<D>, ThinVec<Cluster<D>>),
        cell_cover: Arc<CellCover>,
    ) -> Self {
        debug_assert!(later.is_empty() || later.len() as u64 == ticks.1 - ticks.0, "flights for every tick");
        let end = D::SharedTick::new(ticks.1 + 1);
        Track { version, first: ticks.0, end, cluster, later, cell_cover }
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

    /// Bodies of the cluster, ascending.
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
            later: self.later.clone(),
            cell_cover: self.cell_cover.clone(),
        }
    }

    /// Makes the track end before `end`. A reader that still sees the old end reports a contact with a version that is
    /// gone, and its event is rejected.
    pub fn retract(&self, end: Tick) {
        self.end.set(end);
    }

    /// The flight of a body of the cluster at a tick.
    pub fn flight_of(&self, body: BodyIndex, tick: Tick) -> Option<&D::Flight> {
        let cluster = self.cluster_at(tick);
        let at = cluster.binary_search_by_key(&body, |(own, _)| *own).ok()?;
        Some(&cluster[at].1)
    }
}

impl<D: Dynamics> Serialize for Track<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut track = serializer.serialize_struct("Track", 6)?;
        track.serialize_field("version", &self.version)?;
        track.serialize_field("first", &self.first)?;
        track.serialize_field("end", &self.end())?;
        track.serialize_field("cluster", &self.cluster)?;
        track.serialize_field("later", &self.later)?;
        track.serialize_field("cell_cover", &*self.cell_cover)?;
        track.end()
    }
}
