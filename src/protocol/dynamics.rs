//! What the protocol asks of the physics. The protocol moves versions, contacts and promises about; what a
//! flight, a contact or a response is, it does not know. Tests put a tiny world behind this trait.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::aabb::Aabb;
use crate::base::time::Tick;
use crate::protocol::fault::Fault;

/// BodyIndex of a body in the world's list.
pub type BodyIndex = u32;

/// Bodies in ascending order, and their flights. Most clusters are one body.
pub type Cluster<D> = SmallVec<[(BodyIndex, <D as Dynamics>::Flight); 1]>;

/// A tick that one entity writes and others read at any time. How it is shared is the executor's business.
pub trait SharedTick {
    /// Begins with this tick.
    fn new(tick: Tick) -> Self;
    /// The tick last written, or an earlier one.
    fn get(&self) -> Tick;
    /// Writes a tick.
    fn set(&self, tick: Tick);
}

/// The physics, as the protocol sees it. Pure: the same arguments give the same answers, always.
pub trait Dynamics {
    /// Motion of one body over a range of ticks.
    type Flight: Clone;
    /// What a pair remembers from the tick before.
    type Cache: Clone;
    /// What others need to know of a body that touches several things.
    type Ghost;
    /// What somebody outside may do to a body, or to the world: push it, let it come into being, take it away.
    type Input: Clone;

    /// Where the end of a track is kept: written by its owner, read by all.
    type SharedTick: SharedTick;

    /// Whether a world of this kind may have a deliberate fault: only those that check the checks.
    const FAULTY: bool = false;

    /// The deliberate fault it has.
    fn fault(&self) -> Fault {
        Fault::None
    }

    /// Whether two ghosts are the same to the bit.
    fn same_ghost(a: &Self::Ghost, b: &Self::Ghost) -> bool;

    /// Radius of a ball about a body's centre that holds it, with room for the margin of touching.
    fn radius(&self, body: BodyIndex) -> f64;

    /// Bounds of everything a body covers at the ticks `from..=to`, with room for the margin of touching.
    fn bounds(&self, body: BodyIndex, flight: &Self::Flight, from: Tick, to: Tick) -> Aabb;

    /// The first tick of `from..=to` at which the bodies of one cluster touch static geometry or each other.
    fn first_own_touch(&self, cluster: &[(BodyIndex, Self::Flight)], from: Tick, to: Tick) -> Option<Tick>;

    /// The first tick of `from..=to` at which two bodies touch.
    fn first_touch(
        &self,
        a: (BodyIndex, &Self::Flight),
        b: (BodyIndex, &Self::Flight),
        from: Tick,
        to: Tick,
    ) -> Option<Tick>;

    /// How a cluster goes on after `tick`, given what it touches there.
    fn respond(&self, tick: Tick, input: &ResponseInput<Self>) -> Response<Self>;

    /// The body an action is about.
    fn target(action: &Self::Input) -> BodyIndex;

    /// Lets actions from outside act on a cluster, in their order, on the way from `tick` to the next, after what
    /// touches has acted. Those whose target is not of the cluster do nothing, unless they bring it into being.
    /// Keeps the cluster in ascending order, and returns what is new about it: `None` for who is gone.
    fn apply_inputs(
        &self,
        tick: Tick,
        cluster: &mut Cluster<Self>,
        actions: &[(u64, Self::Input)],
    ) -> Vec<(BodyIndex, Option<Self::Flight>)>;
}

/// Everything a cluster knows about one tick.
pub struct ResponseInput<'a, D: Dynamics + ?Sized> {
    /// Bodies of the cluster with their flights.
    pub cluster: &'a [(BodyIndex, D::Flight)],
    /// What pairs remember, if they touched at the tick before; in the order of their keys.
    pub memories: &'a [CachedContact<D>],
    /// Bodies of others that touch bodies of the cluster.
    pub remotes: &'a [RemoteContact<D>],
    /// The cluster is a group: its bodies do not merely share a clock, they are solved together.
    pub together: bool,
}

/// What a pair remembers: the cluster's body, its partner as the physics numbers it, and the memory.
pub struct CachedContact<D: Dynamics + ?Sized> {
    /// A body of the cluster.
    pub own: BodyIndex,
    /// Whom it touched.
    pub partner: PartnerKey,
    /// What the two remember.
    pub memory: D::Cache,
}

impl<D: Dynamics + ?Sized> CachedContact<D> {
    /// Lists of memories are in the order of this.
    pub fn key(&self) -> (BodyIndex, PartnerKey) {
        (self.own, self.partner)
    }
}

impl<D: Dynamics + ?Sized> Clone for CachedContact<D> {
    fn clone(&self) -> Self {
        CachedContact { own: self.own, partner: self.partner, memory: self.memory.clone() }
    }
}

/// A partner of a body, in an order in which bodies come before static geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartnerKey {
    /// Another body.
    Body(BodyIndex),
    /// Static geometry, by its id.
    Static(u32),
    /// Its whole cluster, where a cluster is more than those who share a clock.
    Island,
}

/// A body of another entity that touches the cluster at a tick.
pub struct RemoteContact<D: Dynamics + ?Sized> {
    /// Which body.
    pub body: BodyIndex,
    /// Its flight at that tick.
    pub flight: D::Flight,
    /// The bodies of the cluster it touches, ascending.
    pub touches: Vec<BodyIndex>,
    /// What it has told of itself; nothing as long as it touches only this cluster.
    pub ghost: Option<Arc<D::Ghost>>,
}

/// How a cluster goes on.
#[derive(Clone)]
pub struct Response<D: Dynamics + ?Sized> {
    /// New flights of the bodies that touched something; the others fly on.
    pub flights: Vec<(BodyIndex, D::Flight)>,
    /// What pairs remember for the next tick, in the order of their keys.
    pub memories: Arc<[CachedContact<D>]>,
    /// Standing of each body of the cluster that touches a remote, and what it touches.
    pub told: Vec<GhostToSend<D>>,
    /// Whether all remotes have told all there is to tell. If not, more is on its way, and going on would be in
    /// vain.
    pub complete: bool,
    /// Whether somebody is held rather than bounced off: then the next contact is likely one tick away.
    pub is_resting: bool,
    /// For the statistics.
    pub seen: Seen,
}

impl<D: Dynamics + ?Sized> Response<D> {
    /// New flights of the bodies that touched something, with their numbers in the cluster.
    pub fn numbered<'a>(
        &'a self,
        cluster: &'a [(BodyIndex, D::Flight)],
    ) -> impl Iterator<Item = (usize, &'a D::Flight)> + 'a {
        let mut next = 0;
        self.flights.iter().map(move |(place, flight)| {
            // Where most have touched something, the next of them is the next of the cluster.
            let number = match cluster.get(next) {
                Some((own, _)) if own == place => next,
                _ => cluster
                    .binary_search_by_key(place, |(own, _)| *own)
                    .expect("invariant: responses are of the cluster"),
            };
            next = number + 1;
            (number, flight)
        })
    }
}

/// The ghost of one body of the cluster.
pub struct GhostToSend<D: Dynamics + ?Sized> {
    /// Which body.
    pub own: BodyIndex,
    /// Everything it touches.
    pub partners: Vec<PartnerKey>,
    /// Its ghost.
    pub ghost: Arc<D::Ghost>,
}

impl<D: Dynamics + ?Sized> Clone for GhostToSend<D> {
    fn clone(&self) -> Self {
        GhostToSend { own: self.own, partners: self.partners.clone(), ghost: self.ghost.clone() }
    }
}

/// What a cluster saw at one tick. Pairs with remotes are counted by the body with the smaller place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Pairs in touch.
    pub touches: u32,
    /// Of these, pairs that did not touch at the tick before.
    pub new_touches: u32,
    /// Deepest overlap, metres.
    pub overlap_m: f64,
}
