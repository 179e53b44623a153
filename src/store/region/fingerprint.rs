//! For the model checker: a copy of a region, and all of its state that decides what it does next.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Region, TickLog};
use crate::base::time::Tick;
use crate::store::calendar_gear::Due;
use crate::store::cells::NONE;
use crate::store::region::amend::Amended;
use crate::store::region::sets::Sets;
use crate::store::response::Response;

impl<const FAULTY: bool> Clone for Region<'_, FAULTY> {
    /// Room that is used within one tick only is not copied, unless the region is in the middle of one.
    fn clone(&self) -> Self {
        Region {
            world: self.world,
            me: self.me,
            partition: self.partition.clone(),
            flights: self.flights.clone(),
            gear: self.gear.clone(),
            response: self.underway.map_or_else(Response::default, |_| self.response.clone()),
            lvt: self.lvt,
            reach_ticks: self.reach_ticks,
            floor: self.floor,
            logs: self.logs.clone(),
            changed_until: self.changed_until.clone(),
            amended: self.amended.clone(),
            underway: self.underway,
            stuck: self.stuck,
            out: self.out.clone(),
            stats: self.stats,
            counts: self.counts,
            frames: self.frames.clone(),
            due: Due::default(),
            sets: Sets::default(),
            speaks: self.speaks.clone(),
            crossings: Vec::new(),
            near_statics: Vec::new(),
            tells: self.tells.clone(),
            changed: self.changed.clone(),
            looked_until: self.looked_until,
            fault: self.fault,
        }
    }
}

/// Numbers of stamps in the order in which they occur: stamps only tell flights apart.
#[derive(Default)]
struct Stamps(BTreeMap<u64, u64>);

impl Stamps {
    fn number(&mut self, stamp: u64) -> u64 {
        let next = self.0.len() as u64 + 1;
        if stamp == 0 { 0 } else { *self.0.entry(stamp).or_insert(next) }
    }
}

/// Writes values one after another.
struct Canonical<'b>(&'b mut Vec<u8>);

impl Canonical<'_> {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn add(&mut self, value: &(impl Serialize + ?Sized)) {
        let bytes = std::mem::take(self.0);
        *self.0 = postcard::to_extend(value, bytes).expect("invariant: writing to memory does not fail");
    }
}

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// Writes everything that decides what the region does next, so that regions that have the same future write the
    /// same: stamps are numbered anew, entries of the calendar that can never count again are left out, and so is what is
    /// only counted. Committed frames must have been taken.
    pub fn canonical(&self, bytes: &mut Vec<u8>) {
        let (mut stamps, mut out) = (Stamps::default(), Canonical(bytes));
        out.number(self.lvt);
        out.number(self.floor);
        out.number(self.stuck.map_or(0, |tick| tick + 1));
        // What the solver has done so far follows from what was heard.
        out.add(&self.underway);
        for (log, tick) in self.logs.iter().zip(self.floor..) {
            Self::canonical_log(log, tick, &mut stamps, &mut out);
        }
        for body in 0..self.flights.len() as u32 {
            let cell = self.gear.cells.cell_of(body);
            out.number(u64::from(cell));
            if cell != NONE {
                out.number(stamps.number(self.flights.hot(body).stamp));
                out.add(&self.flights.flight(body));
            }
        }
        let known = |_, stamp| stamps.0.get(&stamp).copied();
        let number = |entry: &Amended| Some((entry.body, entry.ticks(), known(entry.body, entry.stamp)?));
        let mut amended: Vec<_> = self.amended.iter().filter_map(number).collect();
        amended.sort_unstable();
        out.add(&amended);
        self.gear.for_each_entry(known, |tick, bodies, numbers| {
            out.number(tick);
            bodies.into_iter().for_each(|body| out.number(u64::from(body)));
            numbers.into_iter().for_each(|number| out.number(number));
        });
    }

    fn canonical_log(log: &TickLog, tick: Tick, stamps: &mut Stamps, out: &mut Canonical) {
        let TickLog { undo, told, inbox, caches, counts, frame, hears, heard, spoken } = log;
        let is_quiet = heard.is_empty() && spoken.is_empty() && caches.is_empty() && frame.is_none();
        if undo.is_empty() && told.is_empty() && inbox.is_empty() && is_quiet {
            return;
        }
        out.number(tick);
        out.number(undo.len() as u64);
        for undo in undo {
            out.number(u64::from(undo.body) << 32 | u64::from(undo.cell));
            out.number(stamps.number(undo.record.stamp()));
            out.add(&undo.record.flight());
        }
        out.number(told.len() as u64);
        for told in told {
            out.number(u64::from(told.body));
            out.number(told.to);
            out.add(&told.word);
        }
        // Messages about different bodies are independent.
        let mut ordered: Vec<_> = inbox.iter().collect();
        ordered.sort_by_key(|message| message.body);
        out.add(&ordered);
        out.add(caches);
        out.number(counts.contacts);
        out.number(counts.contact_ticks);
        out.number(counts.max_overlap_m.to_bits());
        out.add(hears);
        for parts in [heard, spoken] {
            let mut ordered: Vec<_> = parts.iter().collect();
            ordered.sort_by_key(|parts| parts.key());
            out.add(&ordered);
        }
        out.add(&frame.as_ref().map(|frame| (frame.tick, &frame.bodies)));
    }

    /// What was told to another region about uncommitted ticks from `from` on, and not taken back: tick, body and word.
    pub fn told_to(&self, region: u8, from: Tick) -> Vec<(Tick, u32, Vec<u8>)> {
        let logs = self.logs.iter().zip(self.floor..).filter(|(_, tick)| *tick >= from);
        let told = logs.flat_map(|(log, tick)| log.told.iter().map(move |told| (tick, told)));
        let to_it = told.filter(|(_, told)| told.to >> region & 1 == 1);
        let mut all: Vec<_> = to_it.map(|(tick, told)| (tick, told.body, bytes_of(&told.word))).collect();
        all.sort();
        all
    }

    /// The same, as this region believes it of another.
    pub fn heard_from(&self, region: u8, from: Tick) -> Vec<(Tick, u32, Vec<u8>)> {
        let logs = self.logs.iter().zip(self.floor..).filter(|(_, tick)| *tick >= from);
        let heard = logs.flat_map(|(log, tick)| log.inbox.iter().map(move |message| (tick, message)));
        let of_it = heard.filter(|(_, message)| message.from == region);
        let mut all: Vec<_> =
            of_it.map(|(tick, message)| (tick, message.body, bytes_of(&message.word))).collect();
        all.sort();
        all
    }

    /// The first tick that is not committed.
    pub fn floor(&self) -> Tick {
        self.floor
    }
}

fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("invariant: writing to memory does not fail")
}
