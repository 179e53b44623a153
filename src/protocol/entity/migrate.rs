//! The company an entity keeps: bodies that come and go, by actions from outside or handed over by others.
//!
//! A handover happens at global virtual time, where everything before is settled: giver and taker both begin anew
//! at that tick with their new crews, so nobody else need be asked. Which bodies share an entity never changes a
//! result.

use crate::base::time::Tick;
use crate::protocol::dynamics::{Crew, Dynamics, PartnerKey, Place, Remembered};
use crate::protocol::entity::{Debt, Entity, Origin};
use crate::protocol::fault::Fault;
use crate::protocol::message::{EntityId, Message, Outbox, Party};

/// An action that reached an entity after its subject had been handed over: to be sent on.
pub struct Forward<D: Dynamics> {
    /// To whom.
    pub to: EntityId,
    /// What.
    pub action: D::Action,
}

/// A crew at a tick, what its pairs remember from the tick before, and whether somebody was held then.
struct Present<D: Dynamics> {
    crew: Crew<D>,
    memories: Vec<Remembered<D>>,
    expectant: bool,
}

impl<D: Dynamics> Entity<D> {
    /// Somebody outside acts on a body at a tick, which must not lie below global virtual time: on the way from
    /// that tick to the next, in the order of `number`. Nothing happens if the body is no more.
    pub fn act(
        &mut self,
        tick: Tick,
        number: u64,
        action: D::Action,
        out: &mut Outbox<D>,
    ) -> Option<Forward<D>> {
        let subject = D::subject(&action);
        if self.members.binary_search(&subject).is_err() {
            let to = self.given.get(&subject).filter(|_| !self.has(Fault::NotSentOn));
            return to.map(|to| Forward { to: *to, action });
        }
        let actions = self.actions.entry(tick).or_default();
        let at = actions.partition_point(|(other, _)| *other < number);
        actions.insert(at, (number, action));
        // A plan that is on its way was made without it.
        self.changes += u64::from(!self.has(Fault::InputIgnoresPlan));
        self.stats.actions += 1;
        self.stats.primary_rollbacks += u64::from(self.lvt() > tick);
        self.cut(tick, out);
        None
    }

    /// Whether it has no bodies, and nothing that could still change gives it any.
    pub(super) fn has_no_future(&self, gvt: Tick) -> bool {
        let is_empty = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest.crew().is_empty() && latest.first <= gvt,
            (None, Some(origin)) => origin.crew.is_empty() && origin.first <= gvt,
            (None, None) => true,
        };
        is_empty && self.actions.is_empty()
    }

    /// Is counted no more, until somebody hands it bodies.
    pub(super) fn vacate(&mut self, out: &mut Outbox<D>) {
        self.history.clear(self.lvt());
        self.origin = None;
        self.members.clear();
        out.count(self.counted, None);
        self.counted = None;
    }

    /// Whether it could hand over bodies now: it stands at global virtual time, and is waiting for nothing.
    pub fn can_hand_over(&self, gvt: Tick) -> bool {
        self.owed.is_empty() && !self.writing && self.counted == Some(gvt)
    }

    /// Hands over some of its bodies. Ask [`Entity::can_hand_over`] first.
    pub fn hand_over(&mut self, bodies: &[Place], to: EntityId, gvt: Tick, out: &mut Outbox<D>) {
        self.hand_out(&[(bodies.to_vec(), to)], gvt, out);
    }

    /// Hands over some of its bodies to each of several others. Ask [`Entity::can_hand_over`] first. Bodies are in
    /// ascending order.
    pub(super) fn hand_out(&mut self, parties: &[(Vec<Place>, EntityId)], gvt: Tick, out: &mut Outbox<D>) {
        debug_assert!(self.can_hand_over(gvt), "{} is not at {gvt}", self.id);
        let Present { crew: mut staying, memories, expectant } = self.present(gvt);
        let with = |side: &dyn Fn(&Place) -> bool| -> Vec<Remembered<D>> {
            memories.iter().filter(|known| concerns(known, side)).cloned().collect()
        };
        let mut joins = Vec::with_capacity(parties.len());
        for (bodies, to) in parties {
            let leaves = |place: &Place| bodies.binary_search(place).is_ok();
            let (leaving, rest) = staying.into_iter().partition(|(place, _)| leaves(place));
            staying = rest;
            let actions = self.take_actions_on(&leaves);
            joins.push((*to, Party { crew: leaving, memories: with(&leaves), expectant, actions }));
        }
        let left = with(&|place| staying.binary_search_by_key(place, |(own, _)| *own).is_ok());
        self.begin_anew(gvt, Present { crew: staying, memories: left, expectant }, out);
        for (to, party) in joins {
            for place in party.bodies() {
                self.given.insert(place, to);
            }
            self.stats.handovers += 1;
            let serial = self.owe(Debt { event: None });
            if self.has(Fault::HandoverNotOwed) {
                self.owed.remove(&serial);
            }
            out.messages.push((to, Message::Join { serial, tick: gvt, party: Box::new(party) }));
        }
    }

    /// Takes in bodies that somebody hands over.
    pub(super) fn on_join(&mut self, tick: Tick, party: Party<D>, out: &mut Outbox<D>) {
        self.cut(tick, out);
        let mut present = self.present(tick);
        for place in party.bodies() {
            self.given.remove(&place);
        }
        present.crew.extend(party.crew);
        present.crew.sort_by_key(|(place, _)| *place);
        present.memories.extend(party.memories);
        present.memories.sort_by_key(Remembered::key);
        present.expectant |= party.expectant;
        for (tick, number, action) in party.actions {
            let actions = self.actions.entry(tick).or_default();
            let at = actions.partition_point(|(other, _)| *other < number);
            actions.insert(at, (number, action));
        }
        self.begin_anew(tick, present, out);
    }

    /// The crew as it is at `tick`, where its timeline ends.
    fn present(&self, tick: Tick) -> Present<D> {
        let none = Present { crew: Crew::<D>::new(), memories: Vec::new(), expectant: false };
        match (self.history.latest(), &self.origin) {
            (Some(latest), _) if latest.last == tick => {
                // Pairs remember only if they touched at the tick before: then the segment is one tick long.
                let is_single = latest.first == tick;
                let memories =
                    latest.memories.as_deref().filter(|_| is_single).map_or(Vec::new(), <[_]>::to_vec);
                Present { crew: latest.crew().clone(), memories, expectant: is_single && latest.expectant }
            }
            (None, Some(origin)) if origin.first == tick => Present {
                crew: origin.crew.clone(),
                memories: origin.memories.clone(),
                expectant: origin.expectant,
            },
            _ => none,
        }
    }

    /// Begins anew at `tick` with another crew. What was known there is taken back; the table will say it again.
    fn begin_anew(&mut self, tick: Tick, present: Present<D>, out: &mut Outbox<D>) {
        self.settle(tick);
        let lost = self.history.clear(tick);
        self.withdraw(lost, out);
        self.version += u32::from(!self.has(Fault::JoinWithoutNewVersion));
        self.changes += 1;
        self.base = tick;
        self.members = present.crew.iter().map(|(place, _)| *place).collect();
        self.members.extend(self.actions.values().flatten().map(|(_, action)| D::subject(action)));
        self.members.sort_unstable();
        self.members.dedup();
        let Present { crew, memories, expectant } = present;
        self.origin = Some(Origin { first: tick, crew, memories, expectant });
        self.recount(out);
    }

    fn take_actions_on(&mut self, leaves: &dyn Fn(&Place) -> bool) -> Vec<(Tick, u64, D::Action)> {
        let mut taken = Vec::new();
        for (tick, actions) in &mut self.actions {
            actions.retain(|(number, action)| {
                let stays = !leaves(&D::subject(action));
                if !stays {
                    taken.push((*tick, *number, action.clone()));
                }
                stays
            });
        }
        self.actions.retain(|_, actions| !actions.is_empty());
        taken
    }
}

/// Whether a memory is about somebody of one side.
fn concerns<D: Dynamics>(known: &Remembered<D>, side: &dyn Fn(&Place) -> bool) -> bool {
    let partner = match &known.partner {
        PartnerKey::Body(place) => side(place),
        PartnerKey::Static(_) | PartnerKey::Company => false,
    };
    side(&known.own) || partner
}
