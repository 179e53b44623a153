//! What the protocol asks of the physics. The protocol moves versions, contacts and times about; what a flight, a contact
//! or a response is, it does not know. Tests put a toy model behind this trait.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::fault::Fault;
use crate::base::aabb::Aabb;
use crate::base::ids::BodyId;
use crate::base::time::Tick;

/// Index of a body in the world's list.
pub type BodyIndex = u32;

/// The bodies of an entity in ascending order, and their flights: one body, or those of an island.
pub type Cluster<D> = SmallVec<[(BodyIndex, <D as Dynamics>::Flight); 1]>;

/// A value that can be sent to another process.
pub trait Wire: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> Wire for T {}

/// A tick that one entity writes and others read at any time. How it is shared is the executor's business.
pub trait SharedTick {
    /// Begins with this tick.
    fn new(tick: Tick) -> Self;
    /// The tick last written, or an earlier one.
    fn get(&self) -> Tick;
    /// Writes a tick.
    fn set(&self, tick: Tick);
}

/// The physics, as the protocol sees it. Pure: the same arguments always give the same answers.
pub trait Dynamics: Sized {
    /// Motion of one body over a range of ticks.
    type Flight: Clone + Wire;
    /// What a pair keeps from the tick before.
    type Cache: Clone + Wire;
    /// What a neighbour needs to know of a body that touches several things.
    type Ghost: Wire;
    /// What an input does to a body: push it, spawn it, despawn it.
    type Input: Clone + Wire;
    /// Where the end of a track is kept: written by its owner, read by all.
    type SharedTick: SharedTick;

    /// Whether a world of this kind may have a deliberate fault: only those that check the checks.
    const FAULTY: bool = false;

    /// The deliberate fault it has.
    fn fault(&self) -> Fault {
        Fault::None
    }

    /// Whether two ghost states are equal to the bit.
    fn same_ghost(a: &Self::Ghost, b: &Self::Ghost) -> bool;

    /// The id of a body, which means the same in every process.
    fn body_id(&self, body: BodyIndex) -> BodyId {
        BodyId(body)
    }

    /// The index of a body in this process.
    fn body_index(&self, id: BodyId) -> Option<BodyIndex> {
        Some(id.0)
    }

    /// Gives every body that a cache names another number. Nothing to do where caches name none.
    fn rename_in_cache(_cache: &mut Self::Cache, _rename: &mut dyn FnMut(BodyIndex) -> BodyIndex) {}

    /// Radius of a ball about a body's centre that holds it, with the margin of touching.
    fn radius(&self, body: BodyIndex) -> f64;

    /// Bounds of everything a body covers at the ticks `from..=to`, with the margin of touching.
    fn bounds(&self, body: BodyIndex, flight: &Self::Flight, from: Tick, to: Tick) -> Aabb;

    /// The first tick of `from..=to` at which a body touches static geometry.
    fn first_own_touch(&self, body: BodyIndex, flight: &Self::Flight, from: Tick, to: Tick) -> Option<Tick>;

    /// The first tick of `from..=to` at which two bodies touch.
    fn first_touch(
        &self,
        a: (BodyIndex, &Self::Flight),
        b: (BodyIndex, &Self::Flight),
        from: Tick,
        to: Tick,
    ) -> Option<Tick>;

    /// How a cluster goes on after `tick`, given its contacts there.
    fn respond(&self, tick: Tick, input: &ResponseInput<Self>) -> Response<Self>;

    /// The body that an input is about.
    fn target(input: &Self::Input) -> BodyIndex;

    /// Applies inputs to a cluster, in their order, on the way from `tick` to the next, after its contacts have acted.
    /// An input for a body that is not in the cluster does nothing, unless it spawns the body. Keeps the cluster in
    /// ascending order, and returns what has changed: `None` for a body that does not exist any more.
    fn apply_inputs(
        &self,
        tick: Tick,
        cluster: &mut Cluster<Self>,
        inputs: &[(u64, Self::Input)],
    ) -> Vec<(BodyIndex, Option<Self::Flight>)>;
}

/// Everything a cluster knows about one tick.
pub struct ResponseInput<'a, D: Dynamics> {
    /// Bodies of the cluster with their flights.
    pub cluster: &'a [(BodyIndex, D::Flight)],
    /// Caches of pairs that touched at the tick before, in the order of their keys.
    pub caches: &'a [CachedContact<D>],
    /// Bodies of other entities that touch bodies of the cluster.
    pub remotes: &'a [&'a RemoteContact<D>],
    /// The cluster is an island: its bodies do not merely share a clock, they are solved together.
    pub is_island: bool,
}

/// What a pair keeps from the tick before.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct CachedContact<D: Dynamics> {
    /// A body of the cluster.
    pub own: BodyIndex,
    /// What it touched.
    pub partner: PartnerKey,
    /// What the pair keeps.
    pub cache: D::Cache,
}

impl<D: Dynamics> CachedContact<D> {
    /// Lists of cached contacts are in the order of this.
    pub fn key(&self) -> (BodyIndex, PartnerKey) {
        (self.own, self.partner)
    }
}

impl<D: Dynamics> Clone for CachedContact<D> {
    fn clone(&self) -> Self {
        CachedContact { own: self.own, partner: self.partner, cache: self.cache.clone() }
    }
}

/// A partner of a body, in an order in which bodies come before static geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PartnerKey {
    /// Another body.
    Body(BodyIndex),
    /// Static geometry, by its id.
    Static(u32),
    /// The whole island of the body.
    Island,
}

/// A body of another entity that touches the cluster at a tick.
#[derive(Serialize)]
#[serde(bound = "")]
pub struct RemoteContact<D: Dynamics> {
    /// The other entity's body.
    pub body: BodyIndex,
    /// Its flight at that tick.
    pub flight: D::Flight,
    /// The bodies of the cluster it touches, ascending.
    pub touches: SmallVec<[BodyIndex; 2]>,
    /// Its ghost state, if its entity has sent one; none is needed as long as it touches only this cluster.
    pub ghost: Option<Arc<D::Ghost>>,
}

impl<D: Dynamics> Clone for RemoteContact<D> {
    fn clone(&self) -> Self {
        RemoteContact {
            body: self.body,
            flight: self.flight.clone(),
            touches: self.touches.clone(),
            ghost: self.ghost.clone(),
        }
    }
}

/// How a cluster goes on.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub struct Response<D: Dynamics> {
    /// New flights of the bodies that touched something; the others fly on.
    pub flights: Cluster<D>,
    /// What pairs keep for the next tick, in the order of their keys.
    pub caches: Arc<[CachedContact<D>]>,
    /// The ghost state of each body of the cluster that touches a remote body.
    pub ghosts: SmallVec<[GhostToSend<D>; 1]>,
    /// Whether every remote body's ghost state is known in full. If not, an update is on its way, and going on would be
    /// in vain.
    pub has_all_ghosts: bool,
    /// Whether a body is held rather than bounced off: then the next contact is likely one tick away.
    pub is_resting: bool,
    /// For the statistics.
    pub counts: ContactCounts,
}

impl<D: Dynamics> Response<D> {
    /// New flights of the bodies that touched something, with their numbers in the cluster.
    pub fn numbered<'a>(
        &'a self,
        cluster: &'a [(BodyIndex, D::Flight)],
    ) -> impl Iterator<Item = (usize, &'a D::Flight)> + 'a {
        let mut next = 0;
        self.flights.iter().map(move |(body, flight)| {
            // Where most bodies have touched something, the next of them is the next of the cluster.
            let number = match cluster.get(next) {
                Some((own, _)) if own == body => next,
                _ => cluster
                    .binary_search_by_key(body, |(own, _)| *own)
                    .expect("invariant: responses are of the cluster"),
            };
            next = number + 1;
            (number, flight)
        })
    }
}

/// The ghost state of one body of the cluster.
#[derive(Serialize)]
#[serde(bound = "")]
pub struct GhostToSend<D: Dynamics> {
    /// A body of the cluster.
    pub own: BodyIndex,
    /// Everything it touches.
    pub partners: SmallVec<[PartnerKey; 4]>,
    /// Its ghost state.
    pub ghost: Arc<D::Ghost>,
}

impl<D: Dynamics> Clone for GhostToSend<D> {
    fn clone(&self) -> Self {
        GhostToSend { own: self.own, partners: self.partners.clone(), ghost: self.ghost.clone() }
    }
}

/// Contacts of a cluster at one tick. A pair with a remote body is counted by the body with the smaller index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ContactCounts {
    /// Pairs in contact.
    pub contacts: u32,
    /// Of these, pairs that did not touch at the tick before.
    pub new_contacts: u32,
    /// Deepest overlap, metres.
    pub overlap_m: f64,
}
