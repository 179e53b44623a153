//! Receiving: every message is handled in full when it arrives, in every phase, and acknowledged at once.

use std::sync::Arc;

use smallvec::smallvec;
use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::{Dynamics, RemoteContact};
use crate::protocol::effects::Effects;
use crate::protocol::entity::Entity;
use crate::protocol::fault::Fault;
use crate::protocol::history::ContactRecord;
use crate::protocol::message::{At, EntityId, Message, Serial, Version};

impl<D: Dynamics> Entity<D> {
    /// Handles a message in full. The acknowledgement, if one is due, is its last effect.
    ///
    /// Only a message about a plan under way is deferred until the table has replied: its sender has found the plan's
    /// track there, so the reply is on its way and waits for no other entity.
    pub(in crate::protocol) fn handle(&mut self, from: EntityId, message: Message<D>, out: &mut Effects<D>) {
        if self.writing && self.is_about_plan(&message) {
            self.deferred.push((from, message));
            return;
        }
        let acknowledge = |serial: Serial, rejected: bool, out: &mut Effects<D>| {
            out.messages.push((from, Message::Ack { serial, rejected }));
        };
        match message {
            Message::Event { serial, .. } if self.has(Fault::RollbackLater) => {
                self.deferred.push((from, message));
                acknowledge(serial, false, out);
            }
            Message::Event { at, serial, mine, flight, yours } => {
                let is_applied = self.on_event(at, mine, &flight, yours, out);
                acknowledge(serial, !is_applied && !self.has(Fault::NeverRejected), out);
            }
            Message::Antievent { at, serial } => {
                let about = |known: &ContactRecord<D>| known.version == at.from;
                self.remove_contacts(at.tick, at.to, about, out);
                if !self.has(Fault::AntieventUnacknowledged) {
                    acknowledge(serial, false, out);
                }
            }
            Message::GhostUpdate { at, serial, mine, ghost } => {
                self.on_ghost_update(at, mine, ghost, out);
                if let Some(serial) = serial {
                    acknowledge(serial, false, out);
                }
            }
            Message::Migrate { serial, tick, migration } => {
                self.on_migrate(tick, *migration, out);
                acknowledge(serial, false, out);
            }
            Message::Ack { serial, rejected } => self.on_ack(serial, rejected, out),
        }
    }

    /// Whether a message is about a flight that is being written and not in the history yet.
    fn is_about_plan(&self, message: &Message<D>) -> bool {
        let (version, first) = self.planned;
        let is_planned = |at: &At| at.to == version && at.tick >= first;
        !self.has(Fault::MessageBeforeReply) && message.at().is_some_and(is_planned)
    }

    /// A deliberate fault: stragglers that have been acknowledged already take effect at last.
    pub(super) fn roll_back_late(&mut self, out: &mut Effects<D>) {
        if self.has(Fault::RollbackLater) {
            for (_, message) in std::mem::take(&mut self.deferred) {
                if let Message::Event { at, mine, flight, yours, .. } = message {
                    self.on_event(at, mine, &flight, yours, out);
                }
            }
        }
    }

    /// A contact with a remote body; a straggler if the LVT has passed its tick. Whether the version still exists.
    fn on_event(
        &mut self,
        at: At,
        body: BodyIndex,
        flight: &D::Flight,
        own: BodyIndex,
        out: &mut Effects<D>,
    ) -> bool {
        if self.history.at(at.tick, at.to).is_none() {
            return false;
        }
        self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
        self.rollback_to(at.tick + u64::from(self.has(Fault::RollbackTooLate)), out);
        let keeps_response = self.has(Fault::ResponseKept);
        let segment =
            self.history.at(at.tick, at.to).expect("invariant: a rollback keeps the tick it goes to");
        if note(&mut segment.remotes, at.from, body, own, flight) {
            if !keeps_response {
                segment.response = None;
            }
            segment.has_told = false;
            self.changes += 1;
        } else {
            self.stats.repeated_events += 1;
        }
        true
    }

    fn on_ghost_update(&mut self, at: At, body: BodyIndex, ghost: Arc<D::Ghost>, out: &mut Effects<D>) {
        let is_final = self.has(Fault::GhostIgnored);
        let Some(segment) = self.history.at(at.tick, at.to).filter(|segment| segment.last == at.tick) else {
            return;
        };
        let about = |known: &&mut ContactRecord<D>| known.version == at.from && known.remote.body == body;
        let Some(known) = segment.remotes.iter_mut().find(about) else { return };
        if is_final && known.remote.ghost.is_some() {
            return;
        }
        let is_same = known.remote.ghost.as_ref().is_some_and(|old| D::same_ghost(old, &ghost));
        known.remote.ghost = Some(ghost);
        if !is_same {
            segment.response = None;
            self.changes += 1;
            self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
            self.rollback_to(at.tick, out);
        }
    }

    fn on_ack(&mut self, serial: Serial, rejected: bool, out: &mut Effects<D>) {
        let at = self.pending_acks.iter().position(|(pending, _)| *pending == serial);
        let pending = at.map(|at| self.pending_acks.remove(at).1);
        if pending.is_none() && self.has(Fault::MigrationNotAwaited) {
            return;
        }
        let pending = pending.expect("invariant: only messages that were sent are acknowledged, each once");
        let rejected = rejected && !self.has(Fault::RejectionIgnored);
        if let Some((at, own, body)) = pending.event.filter(|_| rejected) {
            // The receiver has rolled that version back: there is no such contact.
            let about = |known: &ContactRecord<D>| known.version == at.to && known.remote.body == body;
            self.remove_contact_of(at.tick, at.from, about, own, out);
        }
    }

    /// Removes remote contacts at a tick, if that version of it still exists.
    fn remove_contacts(
        &mut self,
        tick: Tick,
        version: Version,
        about: impl Fn(&ContactRecord<D>) -> bool,
        out: &mut Effects<D>,
    ) {
        let Some(segment) = self.history.at(tick, version).filter(|segment| segment.last == tick) else {
            return;
        };
        let before = segment.remotes.len();
        segment.remotes.retain(|known| !about(known));
        if segment.remotes.len() != before {
            self.contacts_removed(tick, version, out);
        }
    }

    /// Removes one body of the cluster from remote contacts at a tick.
    fn remove_contact_of(
        &mut self,
        tick: Tick,
        version: Version,
        about: impl Fn(&ContactRecord<D>) -> bool,
        own: BodyIndex,
        out: &mut Effects<D>,
    ) {
        let Some(segment) = self.history.at(tick, version).filter(|segment| segment.last == tick) else {
            return;
        };
        let mut has_changed = false;
        for known in segment.remotes.iter_mut().filter(|known| about(known)) {
            let before = known.remote.touches.len();
            known.remote.touches.retain(|touched| *touched != own);
            has_changed |= known.remote.touches.len() != before;
        }
        segment.remotes.retain(|known| !known.remote.touches.is_empty());
        if has_changed {
            self.contacts_removed(tick, version, out);
        }
    }

    /// Rolls back to a tick at which contacts have been removed: what followed from them is undone.
    fn contacts_removed(&mut self, tick: Tick, version: Version, out: &mut Effects<D>) {
        let keeps_response = self.has(Fault::ResponseKept);
        let segment = self.history.at(tick, version).expect("invariant: the contacts were of this segment");
        if !keeps_response {
            segment.response = None;
        }
        segment.has_told = false;
        let remotes = &segment.remotes;
        let mut sent_ghosts = std::mem::take(&mut segment.sent_ghosts);
        sent_ghosts.retain(|sent| remotes.iter().any(|known| known.version.entity == sent.to));
        segment.sent_ghosts = sent_ghosts;
        self.changes += 1;
        self.stats.secondary_rollbacks += u64::from(self.lvt() > tick);
        if !self.has(Fault::AntieventWithoutRollback) {
            self.rollback_to(tick, out);
        }
    }
}

/// Adds a contact with a remote body to a list. Whether it was not in the list.
pub(super) fn note<D: Dynamics>(
    remotes: &mut ThinVec<ContactRecord<D>>,
    version: Version,
    body: BodyIndex,
    own: BodyIndex,
    flight: &D::Flight,
) -> bool {
    // In a fixed order, so that the order in which messages arrive leaves no trace.
    let key = |known: &ContactRecord<D>| (known.version, known.remote.body);
    match remotes.binary_search_by_key(&(version, body), key) {
        Ok(at) => {
            let touches = &mut remotes[at].remote.touches;
            let found = touches.binary_search(&own);
            if let Err(at) = found {
                touches.insert(at, own);
            }
            found.is_err()
        }
        Err(at) => {
            let remote = RemoteContact { body, flight: flight.clone(), touches: smallvec![own], ghost: None };
            remotes.insert(at, ContactRecord { version, remote });
            true
        }
    }
}
