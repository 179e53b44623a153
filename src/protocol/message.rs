//! Messages between entities.

use std::fmt;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, CachedContact, Cluster, Dynamics};

/// An entity: a body or a cluster of bodies with one local virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entity {}", self.0)
    }
}

/// Tells apart what an entity did at a tick from what it did there after taking that back. Never used twice.
pub type Version = u32;

/// A input of two entities: a tick, and the versions of both sides at that tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The tick.
    pub tick: Tick,
    /// Version of the one who sends.
    pub from: Version,
    /// Version of the one who receives.
    pub to: Version,
}

/// A message from entity to entity. All but answers are pending_acks until they are answered.
pub enum Message<D: Dynamics + ?Sized> {
    /// My body touches yours. Acts on the way from `at.tick` to the next tick.
    Event {
        /// When, and between which versions.
        at: At,
        /// Identifies the answer.
        serial: u64,
        /// The sender's body, its flight at that tick, and the receiver's body.
        mine: BodyIndex,
        /// Flight of the sender's body.
        flight: D::Flight,
        /// The receiver's body.
        yours: BodyIndex,
    },
    /// What I did at that tick no longer holds: nothing of mine touches you there.
    Antievent {
        /// When, and between which versions.
        at: At,
        /// Identifies the answer.
        serial: u64,
    },
    /// What you need to know of a body of mine that touches you and others.
    GhostUpdate {
        /// When, and between which versions.
        at: At,
        /// Identifies the answer.
        serial: u64,
        /// The sender's body.
        mine: BodyIndex,
        /// Its ghost.
        ghost: Arc<D::Ghost>,
    },
    /// These bodies are yours from `tick` on, which is global virtual time.
    Migrate {
        /// Identifies the answer.
        serial: u64,
        /// From when on.
        tick: Tick,
        /// Who, and what goes with them.
        migration: Box<Migration<D>>,
    },
    /// Heard, and acted on. `rejected` if the version it was meant for is gone.
    Ack {
        /// Which message.
        serial: u64,
        /// The receiver has taken back what the message was about.
        rejected: bool,
    },
}

impl<D: Dynamics + ?Sized> Message<D> {
    /// The input it is about, if it is about one of the receiver's.
    pub fn at(&self) -> Option<&At> {
        match self {
            Message::Event { at, .. } | Message::Antievent { at, .. } | Message::GhostUpdate { at, .. } => {
                Some(at)
            }
            Message::Migrate { .. } | Message::Ack { .. } => None,
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
            Message::GhostUpdate { at, serial, mine, ghost } => {
                let ghost = ghost.clone();
                Message::GhostUpdate { at: *at, serial: *serial, mine: *mine, ghost }
            }
            Message::Migrate { serial, tick, migration } => {
                Message::Migrate { serial: *serial, tick: *tick, migration: migration.clone() }
            }
            Message::Ack { serial, rejected } => Message::Ack { serial: *serial, rejected: *rejected },
        }
    }
}

/// Bodies on their way from one entity to another.
pub struct Migration<D: Dynamics + ?Sized> {
    /// Bodies and their flights.
    pub cluster: Cluster<D>,
    /// What pairs remember that touched at the tick before.
    pub memories: Vec<CachedContact<D>>,
    /// Whether somebody was held at the tick before.
    pub expects_contact: bool,
    /// Actions from outside that wait for their tick: the tick, their order, and what they do.
    pub inputs: Vec<(Tick, u64, D::Input)>,
}

impl<D: Dynamics> Migration<D> {
    /// Everybody who goes: those who are there, and those who have yet to come into being.
    pub fn bodies(&self) -> Vec<BodyIndex> {
        let present = self.cluster.iter().map(|(place, _)| *place);
        present.chain(self.inputs.iter().map(|(_, _, action)| D::target(action))).collect()
    }
}

impl<D: Dynamics + ?Sized> Clone for Migration<D> {
    fn clone(&self) -> Self {
        Migration {
            cluster: self.cluster.clone(),
            memories: self.memories.clone(),
            expects_contact: self.expects_contact,
            inputs: self.inputs.clone(),
        }
    }
}
