//! Messages between entities, and the names they use: entities, versions, serial numbers.
//!
//! Messages can be sent to another process: `codec.rs` turns them into bytes, in which bodies are named by their ids.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, CachedContact, Cluster, Dynamics};

/// An entity, which is a logical process: a body, or an island of bodies, with one local virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u32);

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entity {}", self.0)
    }
}

/// A version of an entity's history. Every rollback begins a new one, and no version is ever used twice: what an entity
/// did at a tick is told apart from what it did there after a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(from = "(EntityId, u32)")]
pub struct Version {
    /// The entity that the history belongs to.
    pub entity: EntityId,
    /// Ascends with every rollback of that entity.
    pub number: u32,
}

impl Serialize for Version {
    /// Under a name of its own: a fingerprint keeps the order of versions, not their numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("Version", &(self.entity, self.number))
    }
}

impl From<(EntityId, u32)> for Version {
    fn from((entity, number): (EntityId, u32)) -> Self {
        Version { entity, number }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

/// The serial number of a message: it says what an acknowledgement acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Serial(pub u64);

/// A tick of two entities, and the versions of both at that tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct At {
    /// The tick.
    pub tick: Tick,
    /// The sender's version.
    pub from: Version,
    /// The receiver's version.
    pub to: Version,
}

/// A message from entity to entity. All are acknowledged but acknowledgements, and ghost states that are awaited.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Message<D: Dynamics> {
    /// A body of the sender touches one of the receiver. Acts on the way from `at.tick` to the next tick.
    Event {
        /// The tick, and the versions the contact is between.
        at: At,
        /// Identifies the acknowledgement.
        serial: Serial,
        /// The sender's body.
        mine: BodyIndex,
        /// The flight of the sender's body at that tick.
        flight: D::Flight,
        /// The receiver's body.
        yours: BodyIndex,
    },
    /// The anti-message of all events of one version at one tick: none of the sender's bodies touches the receiver
    /// there.
    Antievent {
        /// The tick, and the versions of the events it cancels.
        at: At,
        /// Identifies the acknowledgement.
        serial: Serial,
    },
    /// What the receiver needs to know of a body of the sender that touches the receiver and others.
    GhostUpdate {
        /// The tick, and the versions the contact is between.
        at: At,
        /// Identifies the acknowledgement. `None` if the receiver awaits this ghost state, and needs not say that it has
        /// come: the first one of a contact that lasts.
        serial: Option<Serial>,
        /// The sender's body.
        mine: BodyIndex,
        /// Its ghost state.
        ghost: Arc<D::Ghost>,
    },
    /// Bodies belong to the receiver from `tick` on, which is GVT.
    Migrate {
        /// Identifies the acknowledgement.
        serial: Serial,
        /// The first tick at which the receiver has them.
        tick: Tick,
        /// The bodies, and what goes with them.
        migration: Box<Migration<D>>,
    },
    /// A message has been received and has taken effect.
    Ack {
        /// The message it acknowledges.
        serial: Serial,
        /// The receiver has rolled back the version that the message was for: it had no effect.
        rejected: bool,
    },
}

impl<D: Dynamics> Message<D> {
    /// The tick and versions it is about, if it is about a tick of the receiver's history.
    pub fn at(&self) -> Option<&At> {
        match self {
            Message::Event { at, .. } | Message::Antievent { at, .. } | Message::GhostUpdate { at, .. } => {
                Some(at)
            }
            Message::Migrate { .. } | Message::Ack { .. } => None,
        }
    }
}

impl<D: Dynamics> Clone for Message<D> {
    fn clone(&self) -> Self {
        match self {
            Message::Event { at, serial, mine, flight, yours } => {
                let flight = flight.clone();
                Message::Event { at: *at, serial: *serial, mine: *mine, flight, yours: *yours }
            }
            Message::Antievent { at, serial } => Message::Antievent { at: *at, serial: *serial },
            Message::GhostUpdate { at, serial, mine, ghost } => {
                Message::GhostUpdate { at: *at, serial: *serial, mine: *mine, ghost: ghost.clone() }
            }
            Message::Migrate { serial, tick, migration } => {
                Message::Migrate { serial: *serial, tick: *tick, migration: migration.clone() }
            }
            Message::Ack { serial, rejected } => Message::Ack { serial: *serial, rejected: *rejected },
        }
    }
}

/// Bodies on their way from one entity to another: into an island, or out of one.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Migration<D: Dynamics> {
    /// Bodies and their flights.
    pub cluster: Cluster<D>,
    /// Contact caches of pairs that touched at the tick before.
    pub caches: Vec<CachedContact<D>>,
    /// Whether a body was held by a contact at the tick before.
    pub expects_contact: bool,
}

impl<D: Dynamics> Migration<D> {
    /// All bodies that migrate, ascending.
    pub fn bodies(&self) -> impl Iterator<Item = BodyIndex> + '_ {
        self.cluster.iter().map(|(body, _)| *body)
    }
}

impl<D: Dynamics> Clone for Migration<D> {
    fn clone(&self) -> Self {
        Migration {
            cluster: self.cluster.clone(),
            caches: self.caches.clone(),
            expects_contact: self.expects_contact,
        }
    }
}
