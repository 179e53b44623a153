//! Hearing: every message is handled in full when it arrives, in every phase, and answered at once.

use std::sync::Arc;

use thin_vec::ThinVec;

use crate::base::time::Tick;
use crate::protocol::dynamics::{Dynamics, Place, Stranger};
use crate::protocol::entity::Entity;
use crate::protocol::fault::Fault;
use crate::protocol::history::Known;
use crate::protocol::message::{At, EntityId, Message, Outbox, Version};

impl<D: Dynamics> Entity<D> {
    /// Handles a message in full. The answer, if one is due, is the last thing in the outbox.
    ///
    /// Only what is about a plan under way is put off until the table has answered: whoever tells it has seen the
    /// plan's track there, so the answer is on its way and waits for nobody.
    pub fn handle(&mut self, from: EntityId, message: Message<D>, out: &mut Outbox<D>) {
        if self.writing && self.is_about_plan(&message) {
            self.put_off.push((from, message));
            return;
        }
        match message {
            Message::Event { serial, .. } if self.has(Fault::RollbackLater) => {
                self.put_off.push((from, message));
                out.messages.push((from, Message::Answer { serial, refused: false }));
            }
            Message::Event { at, serial, mine, flight, yours } => {
                let is_taken = self.on_event(from, at, mine, &flight, yours, out);
                let refused = !is_taken && !self.has(Fault::NeverRefused);
                out.messages.push((from, Message::Answer { serial, refused }));
            }
            Message::Antievent { at, serial } => {
                let about = |known: &Known<D>| known.entity == from && known.version == at.from;
                self.forget(at.tick, at.to, about, out);
                if self.has(Fault::AntieventUnanswered) {
                    return;
                }
                out.messages.push((from, Message::Answer { serial, refused: false }));
            }
            Message::Standing { at, serial, mine, standing } => {
                self.on_standing(from, at, mine, standing, out);
                out.messages.push((from, Message::Answer { serial, refused: false }));
            }
            Message::Join { serial, tick, party } => {
                self.on_join(tick, *party, out);
                out.messages.push((from, Message::Answer { serial, refused: false }));
            }
            Message::Answer { serial, refused } => {
                let debt = self.owed.remove(&serial);
                if debt.is_none() && self.has(Fault::HandoverNotOwed) {
                    return;
                }
                let debt = debt.expect("invariant: only what is owed is answered");
                let refused = refused && !self.has(Fault::RefusalIgnored);
                if let Some((at, to, own, body)) = debt.event.filter(|_| refused) {
                    // The other side has taken that back: there is no such contact.
                    let about = |known: &Known<D>| {
                        known.entity == to && known.version == at.to && known.stranger.body == body
                    };
                    self.forget_touch(at.tick, at.from, about, own, out);
                }
            }
        }
    }

    /// Whether a message is about what is being written and not known yet.
    fn is_about_plan(&self, message: &Message<D>) -> bool {
        let (version, first) = self.planned;
        let is_planned = |at: &At| at.to == version && at.tick >= first;
        !self.has(Fault::NewsBeforeAnswer) && message.at().is_some_and(is_planned)
    }

    /// A deliberate fault: what has been answered already is acted on at last.
    pub(super) fn roll_back_late(&mut self, out: &mut Outbox<D>) {
        if self.has(Fault::RollbackLater) {
            for (from, message) in std::mem::take(&mut self.put_off) {
                if let Message::Event { at, mine, flight, yours, .. } = message {
                    self.on_event(from, at, mine, &flight, yours, out);
                }
            }
        }
    }

    fn on_event(
        &mut self,
        from: EntityId,
        at: At,
        body: Place,
        flight: &D::Flight,
        own: Place,
        out: &mut Outbox<D>,
    ) -> bool {
        if self.history.at(at.tick, at.to).is_none() {
            return false;
        }
        self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
        self.cut(at.tick + u64::from(self.has(Fault::CutTooLate)), out);
        let keeps_response = self.has(Fault::ResponseKept);
        let segment = self.history.at(at.tick, at.to).expect("invariant: a cut keeps the tick it is for");
        if note(&mut segment.strangers, (from, at.from), body, own, flight) {
            if !keeps_response {
                segment.response = None;
            }
            self.changes += 1;
        } else {
            self.stats.repeated += 1;
        }
        true
    }

    fn on_standing(
        &mut self,
        from: EntityId,
        at: At,
        body: Place,
        standing: Arc<D::Standing>,
        out: &mut Outbox<D>,
    ) {
        let is_final = self.has(Fault::StandingIgnored);
        let Some(segment) = self.history.at(at.tick, at.to).filter(|segment| segment.last == at.tick) else {
            return;
        };
        let about = |known: &&mut Known<D>| {
            known.entity == from && known.version == at.from && known.stranger.body == body
        };
        let Some(known) = segment.strangers.iter_mut().find(about) else { return };
        if is_final && known.stranger.standing.is_some() {
            return;
        }
        let same = known.stranger.standing.as_ref().is_some_and(|old| D::same_standing(old, &standing));
        known.stranger.standing = Some(standing);
        if !same {
            segment.response = None;
            self.changes += 1;
            self.stats.primary_rollbacks += u64::from(self.lvt() > at.tick);
            self.cut(at.tick, out);
        }
    }

    /// Forgets strangers at a moment, if that moment still exists.
    fn forget(
        &mut self,
        tick: Tick,
        version: Version,
        about: impl Fn(&Known<D>) -> bool,
        out: &mut Outbox<D>,
    ) {
        let Some(segment) = self.history.at(tick, version).filter(|segment| segment.last == tick) else {
            return;
        };
        let before = segment.strangers.len();
        segment.strangers.retain(|known| !about(known));
        if segment.strangers.len() != before {
            self.forgot(tick, version, out);
        }
    }

    /// Forgets that one of its own bodies touches a stranger.
    fn forget_touch(
        &mut self,
        tick: Tick,
        version: Version,
        about: impl Fn(&Known<D>) -> bool,
        own: Place,
        out: &mut Outbox<D>,
    ) {
        let Some(segment) = self.history.at(tick, version).filter(|segment| segment.last == tick) else {
            return;
        };
        let mut changed = false;
        for known in segment.strangers.iter_mut().filter(|known| about(known)) {
            let before = known.stranger.touches.len();
            known.stranger.touches.retain(|touched| *touched != own);
            changed |= known.stranger.touches.len() != before;
        }
        segment.strangers.retain(|known| !known.stranger.touches.is_empty());
        if changed {
            self.forgot(tick, version, out);
        }
    }

    fn forgot(&mut self, tick: Tick, version: Version, out: &mut Outbox<D>) {
        let keeps_response = self.has(Fault::ResponseKept);
        let segment = self.history.at(tick, version).expect("invariant: it was there a moment ago");
        if !keeps_response {
            segment.response = None;
        }
        let strangers = &segment.strangers;
        let mut tales = std::mem::take(&mut segment.tales);
        tales.retain(|tale| strangers.iter().any(|known| known.entity == tale.to));
        segment.tales = tales;
        self.changes += 1;
        self.stats.secondary_rollbacks += u64::from(self.lvt() > tick);
        if !self.has(Fault::AntieventWithoutCut) {
            self.cut(tick, out);
        }
    }
}

/// Adds a touch with a stranger to a list. Says whether that is news.
pub(super) fn note<D: Dynamics>(
    strangers: &mut ThinVec<Known<D>>,
    (entity, version): (EntityId, Version),
    body: Place,
    own: Place,
    flight: &D::Flight,
) -> bool {
    // In a fixed order, so that the order in which news comes leaves no trace.
    let key = |known: &Known<D>| (known.entity, known.version, known.stranger.body);
    match strangers.binary_search_by_key(&(entity, version, body), key) {
        Ok(at) => {
            let touches = &mut strangers[at].stranger.touches;
            let news = touches.binary_search(&own);
            if let Err(at) = news {
                touches.insert(at, own);
            }
            news.is_err()
        }
        Err(at) => {
            let stranger = Stranger { body, flight: flight.clone(), touches: vec![own], standing: None };
            strangers.insert(at, Known { entity, version, stranger });
            true
        }
    }
}
