//! Late news that concerns nothing here: a replica gets another flight in the past, and no tick is done again.
//!
//! That is right where the replica has touched nothing that this region responds to, and does not come near anything it
//! knows on its new path, up to the local virtual time. The undo log is written as if the message had come in time, so
//! that a rollback finds what it would have found. Only the look ahead begins at the local virtual time: what it leaves out
//! is looked at again when a rollback leads into the time between.

use serde::Serialize;

use super::{Region, RegionFault, Undo};
use crate::base::time::Tick;
use crate::physics::Flight;
use crate::store::cells::NONE;
use crate::store::flights::{Hot, Record};
use crate::store::message::Message;

/// Distance by which the reach of a pair is widened against rounding, metres, and as a share of coordinates.
const SLACK_M: f64 = 1e-5;
const SLACK_SHARE: f64 = 1e-11;

/// A flight of a replica that has been looked ahead for from a later tick on than it counts.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Amended {
    pub body: u32,
    pub stamp: u64,
    /// The first tick at which the flight counts.
    since: Tick,
    /// The first tick from which everything was looked for.
    until: Tick,
}

/// The cells of a path that is over: the tick of each crossing, and the cells before and after it.
type Crossings = Vec<(Tick, u32, u32)>;

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// Takes a message about a tick that is over, without doing a tick again. Does nothing, and says no, if anything that
    /// was done here may depend on it.
    pub(super) fn amend(&mut self, message: &Message) -> bool {
        let Message { tick, body, ref word, .. } = *message;
        let Some(flight) = word.flight() else { return false };
        if self.lvt > self.world.time.last_tick {
            // The last tick counts contacts, and leaves no flights that would tell of them.
            return false;
        }
        let (record, cell) = self.after(body, tick);
        let is_known = cell != NONE && self.is_same(&record.flight(), flight);
        if is_known || !self.has_flown_alone(body, tick, &record, cell) {
            return false;
        }
        let start = match cell {
            NONE => self.gear.lattice.cell(flight.position_at(self.world, tick.max(flight.since))),
            cell => cell,
        };
        if cell == NONE && (!self.knows(start) || self.owns(start)) {
            return true;
        }
        let Some(crossings) = self.crossings_of(flight, start, tick) else { return false };
        if self.meets(body, flight, (start, &crossings), tick) && !self.has(RegionFault::AmendedThoughMet) {
            return false;
        }
        self.replace(message, (record, cell, start), &crossings);
        true
    }

    /// Whether a replica, as it was after `tick`, has kept its flight since then, was never an own body, and responded
    /// with none. `cell` is where it was after `tick`.
    fn has_flown_alone(&self, body: u32, tick: Tick, record: &Record, cell: u32) -> bool {
        let is_careless = self.has(RegionFault::AmendedThoughTouched);
        for over in tick + 1..self.lvt {
            let log = &self.logs[(over - self.floor) as usize];
            let mut undone = log.undo.iter().filter(|undo| undo.body == body);
            let has_changed = undone.any(|undo| {
                cell == NONE
                    || undo.cell == NONE
                    || self.owns(undo.cell)
                    || undo.record.stamp() != record.stamp() && !is_careless
            });
            if has_changed
                || log.hears_of(body) && !is_careless
                || log.inbox.iter().any(|message| message.body == body)
            {
                return false;
            }
        }
        // The record of the last change is that of the flight before it.
        let now = self.flights.hot(body).stamp;
        !self.owns_body(body) && (is_careless || now == 0 || now == record.stamp())
    }

    /// The crossings of a flight from `tick` on up to the local virtual time, if it stays out of the own cells and is not
    /// too fast.
    fn crossings_of(&self, flight: &Flight, start: u32, tick: Tick) -> Option<Crossings> {
        let (mut crossings, mut cell) = (Crossings::new(), start);
        for over in tick + 1..self.lvt {
            let next = self.gear.lattice.cell(flight.position_at(self.world, over));
            if next == cell {
                continue;
            }
            if self.owns(next) || !self.is_slow(flight.velocity_at(self.world, over)) {
                return None;
            }
            let to = if self.knows(next) { next } else { NONE };
            crossings.push((over, cell, to));
            cell = to;
            if to == NONE {
                break;
            }
        }
        Some(crossings)
    }

    /// Whether a body on a new path may come near another that is known here, between `tick` and the local virtual time.
    fn meets(&self, body: u32, flight: &Flight, (start, crossings): (u32, &Crossings), tick: Tick) -> bool {
        let until = crossings.last().filter(|last| last.2 == NONE).map_or(self.lvt, |last| last.0);
        let from = tick + 1;
        if from >= until {
            return false;
        }
        let near = |other: u32, hot: &Hot| {
            other != body
                && hot.stamp != 0
                && self.comes_near((body, flight), (other, hot), (from, until - 1))
        };
        // What has not changed since is in the cells around the path.
        let cells = std::iter::once(start).chain(crossings.iter().map(|crossing| crossing.2));
        for cell in cells.filter(|cell| *cell != NONE) {
            for around in self.gear.lattice.around(cell) {
                let mut other = self.gear.cells.first(around);
                while other != NONE {
                    if near(other, self.flights.hot(other)) {
                        return true;
                    }
                    other = self.gear.cells.next(other);
                }
            }
        }
        // What has changed is in the undo logs, and may be anywhere now.
        (from..self.lvt).any(|over| {
            let undone = &self.logs[(over - self.floor) as usize].undo;
            undone.iter().any(|undo| {
                near(undo.body, undo.record.hot()) || near(undo.body, self.flights.hot(undo.body))
            })
        })
    }

    /// Whether two bodies may come within reach of each other at ticks from `first` to `last`. Both fall alike, so their
    /// relative motion is a straight line.
    fn comes_near(
        &self,
        (body, flight): (u32, &Flight),
        (other, hot): (u32, &Hot),
        (first, last): (Tick, Tick),
    ) -> bool {
        let world = self.world;
        // Before it began, a flight says nothing.
        let first = first.max(hot.since);
        if first > last {
            return false;
        }
        let x = flight.position_at(world, first);
        let d = x - hot.position_at(world, first);
        let u = flight.velocity_at(world, first) - hot.velocity_at(world, first);
        let radii = world.bodies[body as usize].radius + world.bodies[other as usize].radius;
        let reach = radii + world.rule.margin_m + SLACK_M + SLACK_SHARE * x.amax();
        let span_s = world.time.span_s(first, last);
        let speed_squared = u.norm_squared();
        let nearest_s =
            if speed_squared > 0.0 { (-d.dot(&u) / speed_squared).clamp(0.0, span_s) } else { 0.0 };
        let is_apart = (d + u * nearest_s).norm_squared() > reach * reach;
        // A number that is not finite is not apart.
        !is_apart
    }

    /// Writes a new flight into the past. `start` is the cell in which it begins.
    fn replace(
        &mut self,
        message: &Message,
        (record, cell, start): (Record, u32, u32),
        crossings: &Crossings,
    ) {
        let Message { tick, body, ref word, .. } = *message;
        let Some(flight) = word.flight() else { return };
        for over in tick + 1..self.lvt {
            self.log(over).undo.retain(|undo| undo.body != body);
        }
        self.log(tick).undo.push(Undo { body, record, cell });
        if self.gear.cells.cell_of(body) != NONE {
            self.gear.cells.leave(body);
        }
        self.flights.set(body, flight);
        let record = self.flights.record(body);
        let mut last = start;
        for &(over, from, to) in crossings {
            self.log(over).undo.push(Undo { body, record, cell: from });
            last = to;
        }
        let changed_until = crossings.last().map_or(tick, |last| last.0) + 1;
        let until = &mut self.changed_until[body as usize];
        *until = (*until).max(changed_until);
        if last == NONE {
            self.flights.remove(body);
        } else {
            self.gear.cells.enter(body, last);
            self.changed.push(body);
        }
        self.keep_caches(word, tick);
        self.look_ahead();
        if tick + 1 < self.lvt {
            let (stamp, until) = (record.stamp(), self.lvt);
            self.amended.push(Amended { body, stamp, since: tick + 1, until });
        }
    }

    /// After a rollback: looks ahead once more for flights that count already and were looked ahead for from later ticks.
    pub(super) fn look_ahead_for_amended(&mut self) {
        let now = self.lvt;
        if self.has(RegionFault::AmendedNotLookedAt) {
            return;
        }
        let mut amended = std::mem::take(&mut self.amended);
        // Flights that are undone are told again.
        amended.retain(|entry| entry.since <= now);
        for entry in amended.iter_mut().filter(|entry| now < entry.until) {
            if self.flights.is_current(entry.body, entry.stamp) {
                self.gear.look_around(self.world, &self.flights, entry.body, now, |_| true);
                self.gear.stay(self.world, &self.flights, entry.body, now);
                entry.until = now;
            }
        }
        self.amended = amended;
    }

    /// Forgets what no rollback can lead to any more.
    pub(super) fn forget_amended(&mut self) {
        let floor = self.floor;
        self.amended.retain(|entry| entry.until > floor);
    }
}

impl Amended {
    /// The ticks that tell one from another.
    pub fn ticks(&self) -> [Tick; 2] {
        [self.since, self.until]
    }
}
