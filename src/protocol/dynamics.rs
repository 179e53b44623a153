//! What the protocol asks of the physics. The protocol moves versions, contacts and promises about; what a
//! flight, a contact or a response is, it does not know. Tests put a tiny world behind this trait.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::time::Tick;
use crate::physics::Aabb;
use crate::protocol::fault::Fault;

/// Place of a body in the world's list.
pub type Place = u32;

/// Bodies in ascending order, and their flights. Most crews are one body.
pub type Crew<D> = SmallVec<[(Place, <D as Dynamics>::Flight); 1]>;

/// The physics, as the protocol sees it. Pure: the same arguments give the same answers, always.
pub trait Dynamics {
    /// Motion of one body over a range of ticks.
    type Flight: Clone;
    /// What a pair remembers from the tick before.
    type Memory: Clone;
    /// What others need to know of a body that touches several things.
    type Standing;
    /// What somebody outside may do to a body, or to the world: push it, let it come into being, take it away.
    type Action: Clone;

    /// Whether a world of this kind may have a deliberate fault: only those that check the checks.
    const FAULTY: bool = false;

    /// The deliberate fault it has.
    fn fault(&self) -> Fault {
        Fault::None
    }

    /// Whether two standings are the same to the bit.
    fn same_standing(a: &Self::Standing, b: &Self::Standing) -> bool;

    /// Radius of a ball about a body's centre that holds it, with room for the margin of touching.
    fn radius(&self, body: Place) -> f64;

    /// Bounds of everything a body covers at the ticks `from..=to`, with room for the margin of touching.
    fn bounds(&self, body: Place, flight: &Self::Flight, from: Tick, to: Tick) -> Aabb;

    /// The first tick of `from..=to` at which the bodies of one crew touch static geometry or each other.
    fn first_own_touch(&self, crew: &[(Place, Self::Flight)], from: Tick, to: Tick) -> Option<Tick>;

    /// The first tick of `from..=to` at which two bodies touch.
    fn first_touch(
        &self,
        a: (Place, &Self::Flight),
        b: (Place, &Self::Flight),
        from: Tick,
        to: Tick,
    ) -> Option<Tick>;

    /// How a crew goes on after `tick`, given what it touches there.
    fn respond(&self, tick: Tick, moment: &Moment<Self>) -> Response<Self>;

    /// The body an action is about.
    fn subject(action: &Self::Action) -> Place;

    /// Lets actions from outside act on a crew, in their order, on the way from `tick` to the next, after what
    /// touches has acted. Those whose subject is not of the crew do nothing, unless they bring it into being.
    /// Keeps the crew in ascending order, and returns what is new about it: `None` for who is gone.
    fn steer(
        &self,
        tick: Tick,
        crew: &mut Crew<Self>,
        actions: &[(u64, Self::Action)],
    ) -> Vec<(Place, Option<Self::Flight>)>;
}

/// Everything a crew knows about one tick.
pub struct Moment<'a, D: Dynamics + ?Sized> {
    /// Bodies of the crew with their flights.
    pub crew: &'a [(Place, D::Flight)],
    /// What pairs remember, if they touched at the tick before; in the order of their keys.
    pub memories: &'a [Remembered<D>],
    /// Bodies of others that touch bodies of the crew.
    pub strangers: &'a [Stranger<D>],
    /// The crew is a group: its bodies do not merely share a clock, they are solved together.
    pub together: bool,
}

/// What a pair remembers: the crew's body, its partner as the physics numbers it, and the memory.
pub struct Remembered<D: Dynamics + ?Sized> {
    /// A body of the crew.
    pub own: Place,
    /// Whom it touched.
    pub partner: PartnerKey,
    /// What the two remember.
    pub memory: D::Memory,
}

impl<D: Dynamics + ?Sized> Remembered<D> {
    /// Lists of memories are in the order of this.
    pub fn key(&self) -> (Place, PartnerKey) {
        (self.own, self.partner)
    }
}

impl<D: Dynamics + ?Sized> Clone for Remembered<D> {
    fn clone(&self) -> Self {
        Remembered { own: self.own, partner: self.partner, memory: self.memory.clone() }
    }
}

/// A partner of a body, in an order in which bodies come before static geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartnerKey {
    /// Another body.
    Body(Place),
    /// Static geometry, by its id.
    Static(u32),
    /// Its whole crew, where a crew is more than those who share a clock.
    Company,
}

/// A body of another entity that touches the crew at a tick.
pub struct Stranger<D: Dynamics + ?Sized> {
    /// Which body.
    pub body: Place,
    /// Its flight at that tick.
    pub flight: D::Flight,
    /// The bodies of the crew it touches, ascending.
    pub touches: Vec<Place>,
    /// What it has told of itself; nothing as long as it touches only this crew.
    pub standing: Option<Arc<D::Standing>>,
}

/// How a crew goes on.
#[derive(Clone)]
pub struct Response<D: Dynamics + ?Sized> {
    /// New flights of the bodies that touched something; the others fly on.
    pub flights: Vec<(Place, D::Flight)>,
    /// What pairs remember for the next tick, in the order of their keys.
    pub memories: Arc<[Remembered<D>]>,
    /// Standing of each body of the crew that touches a stranger, and what it touches.
    pub told: Vec<Told<D>>,
    /// Whether all strangers have told all there is to tell. If not, more is on its way, and going on would be in
    /// vain.
    pub complete: bool,
    /// Whether somebody is held rather than bounced off: then the next contact is likely one tick away.
    pub lingers: bool,
    /// For the statistics.
    pub seen: Seen,
}

impl<D: Dynamics + ?Sized> Response<D> {
    /// New flights of the bodies that touched something, with their numbers in the crew.
    pub fn numbered<'a>(
        &'a self,
        crew: &'a [(Place, D::Flight)],
    ) -> impl Iterator<Item = (usize, &'a D::Flight)> + 'a {
        let mut next = 0;
        self.flights.iter().map(move |(place, flight)| {
            // Where most have touched something, the next of them is the next of the crew.
            let number = match crew.get(next) {
                Some((own, _)) if own == place => next,
                _ => crew
                    .binary_search_by_key(place, |(own, _)| *own)
                    .expect("invariant: responses are of the crew"),
            };
            next = number + 1;
            (number, flight)
        })
    }
}

/// The standing of one body of the crew.
pub struct Told<D: Dynamics + ?Sized> {
    /// Which body.
    pub own: Place,
    /// Everything it touches.
    pub partners: Vec<PartnerKey>,
    /// Its standing.
    pub standing: Arc<D::Standing>,
}

impl<D: Dynamics + ?Sized> Clone for Told<D> {
    fn clone(&self) -> Self {
        Told { own: self.own, partners: self.partners.clone(), standing: self.standing.clone() }
    }
}

/// What a crew saw at one tick. Pairs with strangers are counted by the body with the smaller place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Pairs in touch.
    pub touches: u32,
    /// Of these, pairs that did not touch at the tick before.
    pub new_touches: u32,
    /// Deepest overlap, metres.
    pub overlap_m: f64,
}
