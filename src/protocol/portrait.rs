//! Portraits: what is worth telling apart about the state of a protocol, for those who look at every state.
//!
//! Versions only ever grow, so no two states would be alike if they were taken as they are. But they are only
//! compared with each other; so they are handed over by name, and the painter may number those that still occur as
//! it likes, as long as it keeps their order. Serial numbers only say what an answer is the answer to; so what is
//! pending_acks is taken down in their place.

use crate::base::time::Tick;
use crate::protocol::dynamics::{CachedContact, Dynamics, PartnerKey};
use crate::protocol::message::{At, EntityId, Message, Migration, Version};
use crate::protocol::tvht::{Encounter, Track};

/// A number that is only compared with others of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// A version of an entity.
    Version(EntityId, Version),
}

/// Takes down a state, part by part.
pub trait Painter<D: Dynamics> {
    /// A number that counts as it is.
    fn number(&mut self, number: u64);
    /// A number that is only compared.
    fn named(&mut self, named: Named);
    /// A flight.
    fn flight(&mut self, flight: &D::Flight);
    /// What a pair remembers.
    fn memory(&mut self, memory: &D::Cache);
    /// A ghost.
    fn ghost(&mut self, ghost: &D::Ghost);
    /// Something done from outside.
    fn action(&mut self, action: &D::Input);

    /// A tick, if there is one.
    fn maybe(&mut self, tick: Option<Tick>) {
        self.number(tick.map_or(0, |tick| tick + 1));
    }

    /// How many parts of a kind follow.
    fn many(&mut self, count: usize) {
        self.number(count as u64);
    }
}

impl<D: Dynamics> Message<D> {
    /// Takes down a message on its way. For an answer, who gets it must take down what it is the answer to.
    pub fn portray(&self, from: EntityId, to: EntityId, painter: &mut impl Painter<D>) {
        let input = |painter: &mut dyn Painter<D>, at: &At| {
            painter.number(at.tick);
            painter.named(Named::Version(from, at.from));
            painter.named(Named::Version(to, at.to));
        };
        match self {
            Message::Event { at, mine, flight, yours, .. } => {
                painter.number(0);
                input(painter, at);
                painter.number(u64::from(*mine));
                painter.flight(flight);
                painter.number(u64::from(*yours));
            }
            Message::Antievent { at, .. } => {
                painter.number(1);
                input(painter, at);
            }
            Message::GhostUpdate { at, mine, ghost, .. } => {
                painter.number(2);
                input(painter, at);
                painter.number(u64::from(*mine));
                painter.ghost(ghost);
            }
            Message::Migrate { tick, migration, .. } => {
                painter.number(3);
                painter.number(*tick);
                migration.portray(painter);
            }
            Message::Ack { rejected, .. } => painter.number(4 + u64::from(*rejected)),
        }
    }
}

impl<D: Dynamics> Migration<D> {
    fn portray(&self, painter: &mut impl Painter<D>) {
        portray_cluster(&self.cluster, painter);
        portray_memories(&self.memories, painter);
        painter.number(u64::from(self.expects_contact));
        painter.many(self.inputs.len());
        for (tick, number, action) in &self.inputs {
            painter.number(*tick);
            painter.number(*number);
            painter.action(action);
        }
    }
}

impl<D: Dynamics> Track<D> {
    /// Takes down a track.
    pub fn portray(&self, painter: &mut impl Painter<D>) {
        painter.number(u64::from(self.entity.0));
        painter.named(Named::Version(self.entity, self.version));
        painter.number(self.first);
        painter.number(self.end());
        portray_cluster(self.cluster_at(self.first), painter);
        painter.many(self.later().len());
        self.later().iter().for_each(|cluster| portray_cluster(cluster, painter));
        self.cell_cover.portray(painter);
    }
}

/// Takes down contacts that a write came upon. Where the others' tracks end by now matters not.
pub(super) fn portray_found<D: Dynamics>(found: &[Encounter<D>], painter: &mut impl Painter<D>) {
    painter.many(found.len());
    for contact in found {
        let (other, (body, flight)) = (&contact.other, contact.remote());
        painter.number(u64::from(contact.own));
        painter.number(u64::from(other.entity.0));
        painter.number(u64::from(*body));
        painter.named(Named::Version(other.entity, other.version));
        painter.flight(flight);
    }
}

/// Takes down bodies and their flights.
pub(super) fn portray_cluster<D: Dynamics>(cluster: &[(u32, D::Flight)], painter: &mut impl Painter<D>) {
    painter.many(cluster.len());
    for (place, flight) in cluster {
        painter.number(u64::from(*place));
        painter.flight(flight);
    }
}

/// Takes down what pairs remember.
pub(super) fn portray_memories<D: Dynamics>(memories: &[CachedContact<D>], painter: &mut impl Painter<D>) {
    painter.many(memories.len());
    for CachedContact { own, partner, memory } in memories {
        painter.number(u64::from(*own));
        portray_partner(*partner, painter);
        painter.memory(memory);
    }
}

pub(super) fn portray_partner<D: Dynamics>(partner: PartnerKey, painter: &mut impl Painter<D>) {
    painter.number(match partner {
        PartnerKey::Body(place) => u64::from(place),
        PartnerKey::Static(id) => 1 << 40 | u64::from(id),
        PartnerKey::Island => 1 << 41,
    });
}
