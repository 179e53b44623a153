//! What entities tell each other, and what a handler wants done.

use std::fmt;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::dynamics::{Crew, Dynamics, Place, Remembered};

/// An entity: a body or a crew of bodies with one local virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entity {}", self.0)
    }
}

/// Tells apart what an entity did at a tick from what it did there after taking that back. Never used twice.
pub type Version = u32;

/// A moment of two entities: a tick, and the versions of both sides at that tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The tick.
    pub tick: Tick,
    /// Version of the one who sends.
    pub from: Version,
    /// Version of the one who receives.
    pub to: Version,
}

/// A message from entity to entity. All but answers are owed until they are answered.
pub enum Message<D: Dynamics + ?Sized> {
    /// My body touches yours. Acts on the way from `at.tick` to the next tick.
    Event {
        /// When, and between which versions.
        at: At,
        /// Identifies the answer.
        serial: u64,
        /// The sender's body, its flight at that tick, and the receiver's body.
        mine: Place,
        /// Flight of the sender's body.
        flight: D::Flight,
        /// The receiver's body.
        yours: Place,
    },
    /// What I did at that tick no longer holds: nothing of mine touches you there.
    Antievent {
        /// When, and between which versions.
        at: At,
        /// Identifies the answer.
        serial: u64,
    },
    /// What you need to know of a body of mine that touches you and others.
    Standing {
        /// When, and between which versions.
        at: At,
        /// Identifies the answer.
        serial: u64,
        /// The sender's body.
        mine: Place,
        /// Its standing.
        standing: Arc<D::Standing>,
    },
    /// These bodies are yours from `tick` on, which is global virtual time.
    Join {
        /// Identifies the answer.
        serial: u64,
        /// From when on.
        tick: Tick,
        /// Who, and what goes with them.
        party: Box<Party<D>>,
    },
    /// Heard, and acted on. `refused` if the version it was meant for is gone.
    Answer {
        /// Which message.
        serial: u64,
        /// The receiver has taken back what the message was about.
        refused: bool,
    },
}

impl<D: Dynamics + ?Sized> Message<D> {
    /// The moment it is about, if it is about one of the receiver's.
    pub fn at(&self) -> Option<&At> {
        match self {
            Message::Event { at, .. } | Message::Antievent { at, .. } | Message::Standing { at, .. } => {
                Some(at)
            }
            Message::Join { .. } | Message::Answer { .. } => None,
        }
    }
}

impl<D: Dynamics + ?Sized> Clone for Message<D> {
    fn clone(&self) -> Self {
        match self {
            Message::Event { at, serial, mine, flight, yours } => {
                let flight = flight.clone();
                Message::Event { at: *at, serial: *serial, mine: *mine, flight, yours: *yours }
            }
            Message::Antievent { at, serial } => Message::Antievent { at: *at, serial: *serial },
            Message::Standing { at, serial, mine, standing } => {
                let standing = standing.clone();
                Message::Standing { at: *at, serial: *serial, mine: *mine, standing }
            }
            Message::Join { serial, tick, party } => {
                Message::Join { serial: *serial, tick: *tick, party: party.clone() }
            }
            Message::Answer { serial, refused } => Message::Answer { serial: *serial, refused: *refused },
        }
    }
}

/// Bodies on their way from one entity to another.
pub struct Party<D: Dynamics + ?Sized> {
    /// Bodies and their flights.
    pub crew: Crew<D>,
    /// What pairs remember that touched at the tick before.
    pub memories: Vec<Remembered<D>>,
    /// Whether somebody was held at the tick before.
    pub expectant: bool,
    /// Actions from outside that wait for their tick: the tick, their order, and what they do.
    pub actions: Vec<(Tick, u64, D::Action)>,
}

impl<D: Dynamics> Party<D> {
    /// Everybody who goes: those who are there, and those who have yet to come into being.
    pub fn bodies(&self) -> Vec<Place> {
        let present = self.crew.iter().map(|(place, _)| *place);
        present.chain(self.actions.iter().map(|(_, _, action)| D::subject(action))).collect()
    }
}

impl<D: Dynamics + ?Sized> Clone for Party<D> {
    fn clone(&self) -> Self {
        Party {
            crew: self.crew.clone(),
            memories: self.memories.clone(),
            expectant: self.expectant,
            actions: self.actions.clone(),
        }
    }
}

/// What a handler wants done, in this order: the log is cut, then grows; the counters move; then messages leave.
/// The order matters: an answer must not leave before the counters have been moved.
pub struct Outbox<D: Dynamics + ?Sized> {
    /// Flights of these bodies that begin after a tick are taken back.
    pub landed: Vec<(Place, Tick)>,
    /// Flights that begin at a tick; nothing for who is no more from that tick on.
    pub took_off: Vec<(Place, Tick, Option<D::Flight>)>,
    /// The entity's count moves from one tick to another. It comes from nowhere if it was vacant, and goes
    /// nowhere if it is.
    pub counted: Option<(Option<Tick>, Option<Tick>)>,
    /// Messages, in order.
    pub messages: Vec<(EntityId, Message<D>)>,
}

impl<D: Dynamics + ?Sized> Default for Outbox<D> {
    fn default() -> Self {
        Outbox { landed: Vec::new(), took_off: Vec::new(), counted: None, messages: Vec::new() }
    }
}

impl<D: Dynamics + ?Sized> Outbox<D> {
    /// Forgets everything, so that it can be filled again.
    pub fn clear(&mut self) {
        self.landed.clear();
        self.took_off.clear();
        self.counted = None;
        self.messages.clear();
    }

    pub(super) fn land(&mut self, bodies: &[Place], after: Tick) {
        self.took_off.retain(|(_, from, _)| *from <= after);
        self.landed.extend(bodies.iter().map(|body| (*body, after)));
    }

    pub(super) fn count(&mut self, from: Option<Tick>, to: Option<Tick>) {
        let from = self.counted.map_or(from, |(first, _)| first);
        self.counted = (from != to).then_some((from, to));
    }
}
