//! What a region tells others, and what it believes of what it is told.

use super::{Region, RegionFault, Told};
use crate::base::time::Tick;
use crate::store::cells::NONE;
use crate::store::message::{Message, Word};

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// The message about a body that counts: a change counts more than an entry.
    fn effective<'m>(&self, inbox: &'m [Message], body: u32) -> Option<&'m Message> {
        let about = || inbox.iter().filter(|message| message.body == body);
        let is_change = |message: &&Message| matches!(message.word, Word::Changed(..));
        let are_equal = self.has(RegionFault::EntryBeatsChange);
        about().find(|message| are_equal || is_change(message)).or_else(|| about().next())
    }

    /// Takes in what other regions say about `tick`.
    pub(super) fn read_inbox(&mut self, tick: Tick) {
        let inbox = std::mem::take(&mut self.log(tick).inbox);
        for (at, message) in inbox.iter().enumerate() {
            if self.effective(&inbox, message.body).is_some_and(|chosen| std::ptr::eq(chosen, &inbox[at])) {
                self.accept(message);
            }
        }
        self.log(tick).inbox = inbox;
    }

    /// Believes a message, unless it is about an own body, or known.
    fn accept(&mut self, Message { tick, body, word, .. }: &Message) {
        let Some(flight) = word.flight() else { return };
        let cell = self.gear.cells.cell_of(*body);
        if cell != NONE && self.owns(cell) {
            return;
        }
        // A contact that changes nothing has a flight that is known, and caches that are not.
        if cell != NONE && self.has(RegionFault::ReplicaNotUpdated) {
            return;
        }
        if cell != NONE && self.is_same(&self.flights.flight(*body), flight) {
            return self.keep_caches(word, *tick);
        }
        let mut start = cell;
        if cell == NONE {
            let hot_tick = (*tick).max(flight.since);
            start = self.gear.lattice.cell(flight.position_at(self.world, hot_tick));
            if !self.knows(start) || self.owns(start) {
                return;
            }
        }
        self.keep(*tick, *body);
        self.flights.set(*body, flight);
        if cell == NONE {
            self.gear.cells.enter(*body, start);
        }
        self.changed.push(*body);
        self.keep_caches(word, *tick);
    }

    /// Adds what a message says that pairs keep, where that was not computed here.
    pub(super) fn keep_caches(&mut self, word: &Word, tick: Tick) {
        let Word::Changed(_, kept) = word else { return };
        let caches = &mut self.log(tick).caches;
        for (key, cache) in kept {
            if let Err(at) = caches.binary_search_by_key(key, |(key, _)| *key) {
                caches.insert(at, (*key, cache.clone()));
            }
        }
    }

    /// Whether something is kept here of every pair of a message.
    fn has_caches(&self, word: &Word, tick: Tick) -> bool {
        let Word::Changed(_, kept) = word else { return true };
        if self.has(RegionFault::CachesNotCompared) {
            return true;
        }
        let caches = &self.logs[(tick - self.floor) as usize].caches;
        kept.iter().all(|(key, _)| caches.binary_search_by_key(key, |(key, _)| *key).is_ok())
    }

    /// Tells other regions what is new; where the tick was done before, what is different from what they were told.
    pub(super) fn tell(&mut self, tick: Tick) {
        let me = 1u64 << self.me;
        let mut new: Vec<Told> = Vec::new();
        let mut tells = std::mem::take(&mut self.tells);
        // A change after a crossing goes to all that watch the new cell, the entry to those that are new to it.
        tells.sort_by_key(|told| (told.body, !matches!(told.word, Word::Changed(..))));
        for mut told in tells {
            told.to &= !me;
            if let Some(last) = new.last().filter(|last| last.body == told.body) {
                told.to &= !last.to;
            }
            if told.to != 0 {
                new.push(told);
            }
        }
        let old = std::mem::take(&mut self.log(tick).told);
        for told in &new {
            let mut to = told.to;
            for before in old.iter().filter(|before| before.body == told.body) {
                if before.word.same_bits(&told.word) || self.has(RegionFault::ChangeNotSentAgain) {
                    to &= !before.to;
                }
            }
            self.send(tick, told.body, to, &told.word);
        }
        for before in &old {
            let still = new.iter().filter(|told| told.body == before.body).fold(0, |all, told| all | told.to);
            if !self.has(RegionFault::NoCancel) {
                self.send(tick, before.body, before.to & !still, &Word::Cancelled);
            }
        }
        self.log(tick).told = new;
    }

    fn send(&mut self, tick: Tick, body: u32, mut to: u64, word: &Word) {
        while to != 0 {
            let region = to.trailing_zeros() as u8;
            to &= to - 1;
            self.stats.sent += 1;
            self.stats.cancelled += u64::from(matches!(word, Word::Cancelled));
            self.out.push(Message { to: region, from: self.me, tick, body, word: word.clone() });
        }
    }

    /// Takes a message. Rolls back if it changes a tick that is over, unless nothing here depends on that; if it is the
    /// last one, it is changed in place.
    pub fn receive(&mut self, message: Message) {
        let Message { tick, body, from, .. } = message;
        if let Word::Parts(exchange, parts) = message.word {
            return self.hear(from, tick, exchange, parts);
        }
        let is_over = tick < self.lvt;
        let mut inbox = std::mem::take(&mut self.log(tick).inbox);
        let before = self.effective(&inbox, body).map(|message| message.word.clone());
        let is_taken_back = matches!(message.word, Word::Cancelled);
        if !(is_taken_back && self.has(RegionFault::CancelIgnored)) {
            inbox.retain(|other| !(other.body == body && other.from == from));
        }
        if !is_taken_back {
            inbox.push(message);
        }
        let after = self.effective(&inbox, body).cloned();
        self.log(tick).inbox = inbox;
        if !is_over {
            return;
        }
        self.stats.late += 1;
        let (record, cell) = self.after(body, tick);
        let is_flight = |word: &Word| {
            let told = word.flight();
            cell != NONE && told.is_some_and(|flight| self.is_same(&record.flight(), flight))
        };
        let is_known = |word: &Word| is_flight(word) && self.has_caches(word, tick);
        let matters = match (&after, &before) {
            _ if cell != NONE && self.owns(cell) || self.has(RegionFault::LateIgnored) => false,
            // Another one counts, as before.
            (Some(after), Some(before)) if after.word.same_bits(before) => false,
            // The same flight with other caches matters only if it was not computed here.
            (Some(after), Some(before)) if is_known(&after.word) && is_flight(before) => {
                !after.word.same_bits(before) && self.has_believed(before, tick)
            }
            (Some(after), _) => !is_known(&after.word),
            // What is taken back may have been believed.
            (None, Some(before)) => is_flight(before),
            (None, None) => false,
        };
        let was_changed = matches!(before, Some(Word::Changed(..)));
        match after {
            _ if !matters => self.stats.known += 1,
            // An entry has left nothing behind that a change would not replace.
            Some(message) if !was_changed || self.has(RegionFault::AlwaysInPlace) => {
                // What has been begun of the next tick is void.
                self.rollback(self.lvt);
                if tick + 1 == self.lvt {
                    self.accept(&message);
                    self.look_ahead();
                } else if !self.amend(&message) {
                    return self.roll_back_to(tick);
                }
                self.stats.amended += 1;
            }
            Some(_) | None => self.roll_back_to(tick),
        }
    }

    fn roll_back_to(&mut self, tick: Tick) {
        self.rollback(tick + Tick::from(self.has(RegionFault::RollbackTooShort)));
    }

    /// Whether what a message says its pairs keep is what is kept here.
    fn has_believed(&self, word: &Word, tick: Tick) -> bool {
        let Word::Changed(_, kept) = word else { return false };
        let caches = &self.logs[(tick - self.floor) as usize].caches;
        kept.iter().any(|(key, cache)| {
            let at = caches.binary_search_by_key(key, |(key, _)| *key);
            at.is_ok_and(|at| caches[at].1.same_bits(cache))
        })
    }
}
