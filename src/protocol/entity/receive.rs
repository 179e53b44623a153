//! Hearing: every message is handled in full when it arrives, in every phase, and answered at once.

use std::sync::Arc;

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, Dynamics, RemoteContact};
use crate::protocol::effects::Effects;
use crate::protocol::entity::Entity;
use crate::protocol::fault::Fault;
use crate::protocol::history::ContactRecord;
use crate::protocol::message::{At, EntityId, Message, Version};

impl<D: Dynamics> Entity<D> {
    /// Handles a message in full. The answer, if one is due, is the last thing in the outbox.
    ///
    /// Only what is about a plan under way is put off until the table has answered: whoever tells it has seen the
    /// plan's track there, so the answer is on its way and waits for nobody.
    pub(in crate::protocol) fn handle(&mut self, from: EntityId, message: Message<D>, out: &mut Effects<D>) {
        if self.writing && self.is_about_plan(&message) {
            self.deferred.push((from, message));
            return;
        }
        match message {
            Message::Event { serial, .. } if self.has(Fault::RollbackLater) => {
                self.deferred.push((from, message));
                out.messages.push((from, Message::Ack { serial, rejected: false }));
            }
            Message::Event { at, serial, mine, flight, yours } => {
                let is_taken = self.on_event(at, mine, &flight, yours, out);
                let rejected = !is_taken && !self.has(Fault::NeverRejected);
                out.messages.push((from, Message::Ack { serial, rejected }));
            }
            Message::Antievent { at, serial } => {
                let about = |known: &ContactRecord<D>| known.version == at.from;
                self.forget(at.tick, at.to, about, out);
                if self.has(Fault::AntieventUnacknowledged) {
                    return;
                }
                out.messages.push((from, Message::Ack { serial, rejected: false }));
            }
            Message::GhostUpdate { at, serial, mine, ghost } => {
                self.on_ghost_update(at, mine, ghost, out);
                out.messages.push((from, Message::Ack { serial, rejected: false }));
            }
            Message::Migrate { serial, tick, migration } => {
                self.on_migrate(tick, *migration, out);
                out.messages.push((from, Message::Ack { serial, rejected: false }));
            }
            Message::Ack { serial, rejected } => {
                let debt = self.pending_acks.remove(&serial);
                if debt.is_none() && self.has(Fault::MigrationNotAwaited) {
                    return;
                }
                let debt = debt.expect("invariant: only what is pending_acks is answered");
                let rejected = rejected && !self.has(Fault::RejectionIgnored);
                if let Some((at, own, body)) = debt.event.filter(|_| rejected) {
                    // The other side has taken that back: there is no such contact.
                    let about =
                        |known: &ContactRecord<D>| known.version == at.to && known.remote.body == body;
                    self.forget_touch(at.tick, at.from, about, own, out);
                }
            }
        }
    }

    /// Whether a message is about what is being written and not known yet.
    fn is_about_plan(&self, message: &Message<D>) -> bool {
        let (version, first) = self.planned;
        let is_planned = |at: &At| at.to == version && at.tick >= first;
        !self.has(Fault::MessageBeforeReply) && message.at().is_some_and(is_planned)
    }

    /// A deliberate fault: what has been answered already is acted on at last.
    pub(super) fn roll_back_late(&mut self, out: &mut Effects<D>) {
        if self.has(Fault::RollbackLater) {
            for (_, message) in std::mem::take(&mut self.deferred) {
                if let Message::Event { at, mine, flight, yours, .. } = message {
                    self.on_event(at, mine, &flight, yours, out);
                }
            }
        }
    }

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
        let segment = self.history.at(at.tick, at.to).expect("invariant: a cut keeps the tick it is for");
        if note(&mut segment.remotes, at.from, body, own, flight) {
            if !keeps_response {
                segment.response = None;
            }
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
        let same = known.remote.ghost.as_ref().is_some_and(|old| D::same_ghost(old, &ghost));
        known.remote.ghost = Some(ghost);
        if !same {
            segment.response = None;
            self.changes += 1;
            self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
            self.rollback_to(at.tick, out);
        }
    }

    /// Forgets remotes at a input, if that input still exists.
    fn forget(
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
            self.forgot(tick, version, out);
        }
    }

    /// Forgets that one of its own bodies touches a remote.
    fn forget_touch(
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
        let mut changed = false;
        for known in segment.remotes.iter_mut().filter(|known| about(known)) {
            let before = known.remote.touches.len();
            known.remote.touches.retain(|touched| *touched != own);
            changed |= known.remote.touches.len() != before;
        }
        segment.remotes.retain(|known| !known.remote.touches.is_empty());
        if changed {
            self.forgot(tick, version, out);
        }
    }

    fn forgot(&mut self, tick: Tick, version: Version, out: &mut Effects<D>) {
        let keeps_response = self.has(Fault::ResponseKept);
        let segment = self.history.at(tick, version).expect("invariant: it was there a input ago");
        if !keeps_response {
            segment.response = None;
        }
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

/// Adds a touch with a remote to a list. Says whether that is news.
pub(super) fn note<D: Dynamics>(
    remotes: &mut ThinVec<ContactRecord<D>>,
    version: Version,
    body: BodyIndex,
    own: BodyIndex,
    flight: &D::Flight,
) -> bool {
    // In a fixed order, so that the order in which news comes leaves no trace.
    let key = |known: &ContactRecord<D>| (known.version, known.remote.body);
    match remotes.binary_search_by_key(&(version, body), key) {
        Ok(at) => {
            let touches = &mut remotes[at].remote.touches;
            let news = touches.binary_search(&own);
            if let Err(at) = news {
                touches.insert(at, own);
            }
            news.is_err()
        }
        Err(at) => {
            let remote = RemoteContact { body, flight: flight.clone(), touches: vec![own], ghost: None };
            remotes.insert(at, ContactRecord { version, remote });
            true
        }
    }
}
