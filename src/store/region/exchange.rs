//! Sets that respond together and that no region knows whole: their owners solve them together, one exchange at a time.
//!
//! Every region solves the contacts of its own bodies. Before each step of the response it needs what the owners of the
//! replicas that touch its bodies have computed so far: the parts of their ghosts. It says the same of its own bodies, and
//! waits in the middle of the tick. Parts are kept with the tick: one that turns out to be another after it was used
//! makes the tick void, and when a tick is done again, only parts that are different are sent.

use serde::Serialize;

use super::{Region, RegionFault, TickLog};
use crate::base::time::Tick;
use crate::physics::local_solver::GhostPart;
use crate::store::cells::NONE;
use crate::store::message::{Message, Part, Word};

/// The parts of some bodies' ghosts, in one exchange with one region.
#[derive(Clone, Serialize)]
pub(super) struct Parts {
    with: u8,
    exchange: u32,
    /// In order of bodies.
    parts: Vec<Part>,
}

impl Parts {
    /// The other region, and the exchange.
    pub fn key(&self) -> (u8, u32) {
        (self.with, self.exchange)
    }

    fn of(&self, body: u32) -> Option<&GhostPart> {
        let at = self.parts.binary_search_by_key(&body, |(body, _)| *body).ok()?;
        Some(&self.parts[at].1)
    }

    fn find(all: &[Parts], with: u8, exchange: u32) -> Option<&Parts> {
        all.iter().find(|parts| (parts.with, parts.exchange) == (with, exchange))
    }

    /// Replaces what there is of the same exchange. Returns that.
    fn replace(self, all: &mut Vec<Parts>) -> Option<Parts> {
        match all.iter_mut().find(|parts| (parts.with, parts.exchange) == (self.with, self.exchange)) {
            Some(parts) => Some(std::mem::replace(parts, self)),
            None => {
                all.push(self);
                None
            }
        }
    }
}

/// A tick that is being done.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Underway {
    /// The exchange that it needs next.
    exchange: u32,
    /// Whether other regions have said all that it needs for that.
    is_ready: bool,
}

impl TickLog {
    /// The owner of a replica that is heard of.
    fn owner_of(&self, body: u32) -> Option<u8> {
        let at = self.hears.binary_search_by_key(&body, |(body, _)| *body).ok()?;
        Some(self.hears[at].1)
    }

    /// Whether a body is a replica that responds together with own bodies in a set that is not known whole.
    pub fn hears_of(&self, body: u32) -> bool {
        self.owner_of(body).is_some()
    }

    /// What was said of a replica for an exchange.
    fn part(&self, body: u32, exchange: u32) -> Option<&GhostPart> {
        Parts::find(&self.heard, self.owner_of(body)?, exchange)?.of(body)
    }
}

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// Whether it is in the middle of a tick, and waits for what others have to say. A message ends the wait.
    pub fn is_waiting(&self) -> bool {
        self.underway.is_some_and(|underway| !underway.is_ready)
    }

    /// Whether it has solved contacts together with other regions at the tick before: their flights will have changed,
    /// and it is of no use to go on before they are told.
    pub fn was_together(&self) -> bool {
        let at = self.lvt.checked_sub(self.floor + 1);
        at.and_then(|at| self.logs.get(at as usize)).is_some_and(|log| !log.hears.is_empty())
    }

    /// The response is over.
    pub(super) fn finish_response(&mut self, tick: Tick) {
        self.response.finish(self.world, tick);
        self.start_flights(tick);
    }

    /// Begins to solve what was found at `tick` exchange by exchange.
    pub(super) fn begin_exchanges(&mut self, tick: Tick) {
        let log = &self.logs[(tick - self.floor) as usize];
        self.response.begin_exchanges(self.world, |body| log.hears_of(body));
        self.speak(tick, 0);
        self.underway = Some(Underway { exchange: 0, is_ready: self.has_heard(tick, 0) });
    }

    /// Goes on with the exchanges of a tick as far as they are ready. Says whether all are over.
    pub(super) fn go_on(&mut self, tick: Tick) -> bool {
        while let Some(Underway { exchange, is_ready: true }) = self.underway {
            let log = &self.logs[(tick - self.floor) as usize];
            let of_exchange = exchange.saturating_sub(u32::from(self.has(RegionFault::PartOfExchangeBefore)));
            self.response.exchange(self.world, |body| log.part(body, of_exchange));
            let next = exchange + 1;
            self.stats.exchanges += u64::from(!log.hears.is_empty());
            if next == self.response.exchanges(self.world) {
                self.underway = None;
                return true;
            }
            self.speak(tick, next);
            self.underway = Some(Underway { exchange: next, is_ready: self.has_heard(tick, next) });
        }
        self.underway.is_none()
    }

    /// Whether all that is needed for an exchange has been said.
    fn has_heard(&self, tick: Tick, exchange: u32) -> bool {
        let log = &self.logs[(tick - self.floor) as usize];
        self.has(RegionFault::ExchangeSkipped)
            || log.hears.iter().all(|(body, _)| log.part(*body, exchange).is_some())
    }

    /// Says what others need for an exchange, unless that is what they were told before.
    fn speak(&mut self, tick: Tick, exchange: u32) {
        let speaks = std::mem::take(&mut self.speaks);
        for to_one in speaks.chunk_by(|a, b| a.0 == b.0) {
            let to = to_one[0].0;
            let part = |(_, body): &(u8, u32)| (*body, self.response.part(self.world, *body));
            let parts: Vec<Part> = to_one.iter().map(part).collect();
            let is_careless = self.has(RegionFault::PartsNotSentAgain);
            let log = self.log(tick);
            let is_told = Parts::find(&log.spoken, to, exchange).is_some_and(|told| {
                let same = |(a, b): (&Part, &Part)| a.0 == b.0 && a.1.same_bits(&b.1);
                is_careless || told.parts.len() == parts.len() && told.parts.iter().zip(&parts).all(same)
            });
            if !is_told {
                Parts { with: to, exchange, parts: parts.clone() }.replace(&mut log.spoken);
                self.stats.sent += 1;
                let word = Word::Parts(exchange, parts);
                self.out.push(Message { to, from: self.me, tick, body: NONE, word });
            }
        }
        self.speaks = speaks;
    }

    /// Takes in what another region says for an exchange. If something else was said before, and believed, the tick has
    /// to be done again.
    pub(super) fn hear(&mut self, from: u8, tick: Tick, exchange: u32, parts: Vec<Part>) {
        let new = Parts { with: from, exchange, parts };
        let log = self.log(tick);
        let old = new.clone().replace(&mut log.heard);
        let is_over = tick < self.lvt;
        self.stats.late += u64::from(is_over);
        let is_used = match self.underway {
            Some(underway) if tick == self.lvt => exchange < underway.exchange,
            Some(_) | None => is_over,
        };
        let log = &self.logs[(tick - self.floor) as usize];
        let is_other = |body: u32| match (old.as_ref().and_then(|old| old.of(body)), new.of(body)) {
            (Some(old), Some(new)) => !old.same_bits(new),
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        };
        let is_believed = !self.has(RegionFault::PartsNotCompared);
        let matters =
            is_believed && is_used && log.hears.iter().any(|(body, owner)| *owner == from && is_other(*body));
        if self.stuck == Some(tick) {
            // It may have followed from what was said before.
            self.stuck = None;
        }
        if matters {
            self.rollback(tick);
        } else if let Some(Underway { exchange, .. }) = self.underway {
            let is_ready = self.has_heard(self.lvt, exchange);
            self.underway = Some(Underway { exchange, is_ready });
        }
    }
}
