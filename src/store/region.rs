//! A region of space as a logical process: its bodies, its local virtual time, its undo log.
//!
//! A region owns the bodies in its cells and knows those in the cells around them, as replicas. It computes the contacts
//! of its own bodies, and where those touch replicas, the whole set that responds together: the owners of the replicas
//! compute the same from the same numbers, so that both sides have the same bits and need no answer. A flight is told
//! once to the regions that watch its cell. A message about a tick that is over rolls the region back; ticks done again
//! are compared with what was sent the first time, and only differences are sent (lazy cancellation).
//!
//! A tick is: crossings of cells, contacts and their response, messages of the tick, a look ahead from the next tick. A
//! message of a tick acts from the next one, so nothing has to be waited for within a tick.

mod amend;
mod exchange;
mod fault;
mod fingerprint;
mod messages;
mod sets;
mod touches;

pub use fault::RegionFault;

use std::collections::VecDeque;

use crate::base::ids::BodyId;
use crate::base::lanes::LaneChoice;
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::contact::PairCache;
use crate::physics::{Flight, World};
use crate::store::calendar_gear::{CalendarGear, Due, Ownership};
use crate::store::cells::NONE;
use crate::store::flights::{Flights, Record};
use crate::store::message::{Message, Word};
use crate::store::partition::Partition;
use crate::store::region::amend::Amended;
use crate::store::region::exchange::{Parts, Underway};
use crate::store::region::sets::Sets;
use crate::store::response::{Counts, PairKey, Response};
use crate::store::states;

/// Most ticks that a region runs ahead of global virtual time, whatever it commits. Not tuned.
const REACH_TICKS: Tick = 64;

/// A body as it was before something changed at a tick.
#[derive(Clone)]
struct Undo {
    body: u32,
    record: Record,
    cell: u32,
}

/// What was told about a body at a tick, and to which regions, as bits.
#[derive(Clone)]
struct Told {
    body: u32,
    to: u64,
    word: Word,
}

/// The states of a region's own bodies at a frame tick.
#[derive(Clone)]
pub(crate) struct FramePart {
    pub tick: Tick,
    /// Indices of the bodies, and, in the same order, their states.
    pub bodies: Vec<u32>,
    pub states: Vec<(BodyId, BodyState)>,
}

/// Everything about one tick that is not committed yet.
#[derive(Clone, Default)]
struct TickLog {
    undo: Vec<Undo>,
    told: Vec<Told>,
    inbox: Vec<Message>,
    /// What pairs keep for the next tick, in order.
    caches: Vec<(PairKey, PairCache)>,
    counts: Counts,
    frame: Option<FramePart>,
    /// Replicas that respond together with own bodies in sets that are not known whole, with their owners, in order.
    hears: Vec<(u32, u8)>,
    /// What others have said for exchanges of the tick, and what they were told.
    heard: Vec<Parts>,
    spoken: Vec<Parts>,
}

/// How a region has fared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RegionStats {
    /// Ticks computed, and of them undone.
    pub ticks: u64,
    pub ticks_undone: u64,
    pub rollbacks: u64,
    /// Messages sent, and of them antimessages.
    pub sent: u64,
    pub cancelled: u64,
    /// Messages for ticks that were over, and of them those that said what was known.
    pub late: u64,
    pub known: u64,
    /// Messages for ticks that were over, which were taken without doing a tick again.
    pub amended: u64,
    /// Exchanges of the response with other regions.
    pub exchanges: u64,
}

impl RegionStats {
    /// Adds those of another region.
    pub fn add(&mut self, other: &RegionStats) {
        self.ticks += other.ticks;
        self.ticks_undone += other.ticks_undone;
        self.rollbacks += other.rollbacks;
        self.sent += other.sent;
        self.cancelled += other.cancelled;
        self.late += other.late;
        self.known += other.known;
        self.amended += other.amended;
        self.exchanges += other.exchanges;
    }
}

/// A region. See the module. Only where it is `FAULTY` can it have a deliberate fault.
pub(crate) struct Region<'w, const FAULTY: bool = false> {
    world: &'w World,
    pub me: u8,
    partition: Partition,
    flights: Flights,
    gear: CalendarGear,
    response: Response<'w>,
    /// The first tick that is not done.
    pub lvt: Tick,
    /// How far it runs ahead of global virtual time, ticks, at most. Every tick that it commits adds one, every tick that it
    /// undoes takes two.
    pub reach_ticks: Tick,
    /// The first tick that is not committed.
    floor: Tick,
    /// Logs of the ticks from `floor` on.
    logs: VecDeque<TickLog>,
    /// By body: the tick after the last at which something of it was changed; not lowered by rollbacks.
    changed_until: Vec<Tick>,
    /// Flights of replicas that were changed in the past.
    amended: Vec<Amended>,
    /// The tick that is being done, if it waits for other regions.
    underway: Option<Underway>,
    /// At this tick a body is too fast or not finite, too many touch, or the calendar is full.
    pub stuck: Option<Tick>,
    pub out: Vec<Message>,
    pub stats: RegionStats,
    /// Counts of committed ticks.
    pub counts: Counts,
    /// Committed parts of frames, in order.
    pub frames: Vec<FramePart>,
    due: Due,
    sets: Sets,
    /// Own bodies, and a region that has to know of them in every exchange of this tick, before them; in order.
    speaks: Vec<(u8, u32)>,
    crossings: Vec<(u32, u32)>,
    near_statics: Vec<u32>,
    tells: Vec<Told>,
    changed: Vec<u32>,
    fault: RegionFault,
    /// Flights that are not newer have been looked ahead for.
    looked_until: u64,
}

impl<'w, const FAULTY: bool> Region<'w, FAULTY> {
    /// One region of a partition at `now`, with what pairs keep of the tick before.
    pub fn new(
        world: &'w World,
        all: &Flights,
        caches: &[(PairKey, PairCache)],
        partition: &Partition,
        me: u8,
        now: Tick,
    ) -> Self {
        let mut flights = Flights::default();
        flights.make_room(all.len());
        let lattice = partition.scale.lattice;
        for body in all.present() {
            let cell = lattice.cell(all.hot(body).position_at(world, now));
            if partition.watchers(cell) >> me & 1 == 1 {
                flights.set(body, &all.flight(body));
            }
        }
        let ownership = Ownership { owner: partition.owner.clone(), me };
        let gear = CalendarGear::new(world, &flights, partition.scale, Some(ownership), now);
        let mut region = Region {
            world,
            me,
            partition: partition.clone(),
            changed_until: vec![0; flights.len()],
            flights,
            gear,
            response: Response::default(),
            lvt: now,
            reach_ticks: REACH_TICKS,
            floor: now,
            logs: VecDeque::new(),
            amended: Vec::new(),
            underway: None,
            stuck: None,
            out: Vec::new(),
            stats: RegionStats::default(),
            counts: Counts::default(),
            frames: Vec::new(),
            due: Due::default(),
            sets: Sets::default(),
            speaks: Vec::new(),
            crossings: Vec::new(),
            near_statics: Vec::new(),
            tells: Vec::new(),
            changed: Vec::new(),
            fault: RegionFault::None,
            looked_until: 0,
        };
        region.looked_until = region.flights.newest();
        if now > 0 {
            // The caches of the tick before have a log of their own.
            region.floor = now - 1;
            region.log(now - 1).caches = caches.to_vec();
        }
        region
    }

    /// The log of a tick that is not committed.
    fn log(&mut self, tick: Tick) -> &mut TickLog {
        assert!(tick >= self.floor, "region {}: tick {tick} is committed, up to {}", self.me, self.floor);
        let at = (tick - self.floor) as usize;
        while self.logs.len() <= at {
            self.logs.push_back(TickLog::default());
        }
        &mut self.logs[at]
    }

    fn owns(&self, cell: u32) -> bool {
        self.partition.owner[cell as usize] == self.me
    }

    /// The owner of a body that is known.
    fn owner_of(&self, body: u32) -> u8 {
        self.partition.owner[self.gear.cells.cell_of(body) as usize]
    }

    fn owns_body(&self, body: u32) -> bool {
        let cell = self.gear.cells.cell_of(body);
        cell != NONE && self.owns(cell)
    }

    fn knows(&self, cell: u32) -> bool {
        self.partition.watchers(cell) >> self.me & 1 == 1
    }

    /// Own bodies and their flights.
    pub fn own(&self) -> impl Iterator<Item = (u32, Flight)> + '_ {
        let own = self.flights.present().filter(|body| self.owns_body(*body));
        own.map(|body| (body, self.flights.flight(body)))
    }

    /// What pairs keep of the tick before the local virtual time.
    pub fn caches(&self) -> &[(PairKey, PairCache)] {
        match self.lvt.checked_sub(self.floor + 1) {
            Some(at) => self.logs.get(at as usize).map_or(&[], |log| &log.caches),
            None => &[],
        }
    }

    /// Does one tick, as far as it can without what other regions have to say; then it [waits](Region::is_waiting), and
    /// goes on when called again.
    pub fn step(&mut self) {
        let tick = self.lvt;
        if self.underway.is_none() {
            self.begin(tick);
        }
        if self.underway.is_some() {
            if !self.go_on(tick) {
                return;
            }
            self.finish_response(tick);
        }
        self.lvt = tick + 1;
        if self.stuck.is_some() {
            // The tick cannot be done here. It is as if it had not been tried.
            self.undo(tick);
            return;
        }
        if tick < self.world.time.last_tick {
            self.read_inbox(tick);
            self.look_ahead();
        }
        self.tell(tick);
    }

    /// Finds what touches at a tick, and responds to what needs no other region.
    fn begin(&mut self, tick: Tick) {
        self.stats.ticks += 1;
        let log = self.log(tick);
        (log.counts, log.frame) = (Counts::default(), None);
        log.caches.clear();
        log.hears.clear();
        self.tells.clear();
        self.speaks.clear();
        self.changed.clear();
        self.cross(tick);
        if self.gear.is_full {
            self.stuck = Some(tick);
        }
        if self.world.time.is_frame(tick) {
            let frame = self.frame(tick);
            self.log(tick).frame = Some(frame);
        }
        let honours_stale = self.has(RegionFault::StaleEntry);
        self.gear.due_touches(&self.flights, tick, honours_stale, &mut self.due);
        if !self.due.pairs.is_empty() || !self.due.at_statics.is_empty() {
            self.find(tick);
            self.respond(tick);
        }
    }

    /// Looks ahead from the next tick for everything that has changed.
    fn look_ahead(&mut self) {
        for at in 0..self.changed.len() {
            let body = self.changed[at];
            if self.flights.hot(body).stamp != 0 {
                // Of two that have changed, one finds the other.
                let flights = &self.flights;
                let counts = |other: u32| other < body || flights.hot(other).stamp <= self.looked_until;
                self.gear.look_around(self.world, flights, body, self.lvt, counts);
                self.gear.stay(self.world, flights, body, self.lvt);
            }
        }
        self.looked_until = self.flights.newest();
        self.changed.clear();
    }

    /// Keeps a body as it is now, before it changes at `tick`.
    fn keep(&mut self, tick: Tick, body: u32) {
        let until = &mut self.changed_until[body as usize];
        *until = (*until).max(tick + 1);
        let undo = Undo { body, record: self.flights.record(body), cell: self.gear.cells.cell_of(body) };
        self.log(tick).undo.push(undo);
    }

    fn cross(&mut self, tick: Tick) {
        let world = self.world;
        let mut crossings = std::mem::take(&mut self.crossings);
        self.gear.due_crossings(world, &self.flights, tick, &mut crossings);
        for &(body, new) in &crossings {
            let old = self.gear.cells.cell_of(body);
            if new == old {
                self.gear.stay(world, &self.flights, body, tick);
                continue;
            }
            let speed = self.flights.hot(body).velocity_at(world, tick);
            self.check_speed(speed, tick);
            if self.owns(old) {
                let to = self.partition.watchers(new) & !self.partition.watchers(old);
                if !self.has(RegionFault::EntryNotTold) {
                    self.tells.push(Told { body, to, word: Word::Entered(self.flights.flight(body)) });
                }
            }
            if !self.has(RegionFault::CrossingNotLogged) {
                self.keep(tick, body);
            }
            self.gear.cells.leave(body);
            if !self.knows(new) {
                self.flights.remove(body);
                continue;
            }
            self.gear.cells.enter(body, new);
            if self.owns(new) && !self.owns(old) && !self.has(RegionFault::OwnNotLookedAt) {
                self.gear.look_around(world, &self.flights, body, tick, |_| true);
            } else {
                self.gear.meet_new(world, &self.flights, body, (old, new), tick);
            }
            self.gear.stay(world, &self.flights, body, tick);
        }
        self.crossings = crossings;
    }

    /// A body must be known before it can touch, so it may not move too far in one tick.
    fn check_speed(&mut self, velocity: Vec3, tick: Tick) {
        if !self.is_slow(velocity) {
            self.stuck = Some(tick);
        }
    }

    /// The same for the way to the next tick on a new flight: contacts move bodies that overlap, whatever their speed.
    fn check_step(&mut self, body: u32, flight: &Flight, tick: Tick) {
        let from = self.flights.hot(body).position_at(self.world, tick);
        let step_m = (flight.position_at(self.world, tick + 1) - from).norm();
        // Not a comparison the other way round: a number that is not finite is too far.
        let is_near = step_m < self.partition.step_max_m;
        if !is_near && !self.has(RegionFault::CorrectionNotChecked) {
            self.stuck = Some(tick);
        }
    }

    /// Whether a body does not move too far in one tick. A number that is not finite is not below the limit either.
    fn is_slow(&self, velocity: Vec3) -> bool {
        let step_m =
            (velocity.norm() + self.world.gravity.norm() * self.world.time.tick_s) * self.world.time.tick_s;
        step_m < self.partition.step_max_m
    }

    fn frame(&self, tick: Tick) -> FramePart {
        let bodies: Vec<u32> = self.flights.present().filter(|body| self.owns_body(*body)).collect();
        let mut states = Vec::new();
        let flight = |at: usize| (bodies[at], self.flights.flight(bodies[at]));
        states::some(self.world, LaneChoice::best(), tick, 0..bodies.len(), flight, &mut states);
        FramePart { tick, bodies, states }
    }

    /// Counts contacts, solves them, and starts new flights.
    fn respond(&mut self, tick: Tick) {
        let world = self.world;
        let former = match tick.checked_sub(self.floor + 1) {
            Some(at) => self.logs.get(at as usize).map_or(&[][..], |log| &log.caches),
            None => &[],
        };
        self.response.remember(former, tick.saturating_sub(1));
        let owner = |body: u32| {
            let cell = self.gear.cells.cell_of(body);
            cell != NONE && self.partition.owner[cell as usize] == self.me
        };
        let mut counts = Counts::default();
        self.response.count_if(tick, &mut counts, |key| owner(key.a));
        self.log(tick).counts = counts;
        if tick == world.time.last_tick || self.response.found.is_empty() || self.stuck.is_some() {
            return;
        }
        let flights = &self.flights;
        let state = |body: u32| flights.state_at(world, body, tick);
        if self.speaks.is_empty() {
            self.response.respond(world, tick, flights.len(), state);
            self.start_flights(tick);
        } else {
            self.response.prepare(world, flights.len(), state);
            self.begin_exchanges(tick);
        }
    }

    /// Starts the flights that follow from contacts.
    fn start_flights(&mut self, tick: Tick) {
        let (bodies, new, _) = self.response.flights();
        let is_heard = |body: u32| self.logs[(tick - self.floor) as usize].hears_of(body);
        let new = bodies.iter().copied().zip(new.iter().copied()).filter(|(body, _)| !is_heard(*body));
        let new: Vec<(u32, Flight)> = new.collect();
        let caches = self.response.caches().to_vec();
        let mut told = Vec::new();
        for (body, flight) in &new {
            self.check_step(*body, flight, tick);
            self.check_speed(flight.origin.v, tick);
            self.keep(tick, *body);
            self.flights.set(*body, flight);
            self.changed.push(*body);
            let cell = self.gear.cells.cell_of(*body);
            let to = self.partition.watchers(cell);
            if self.owns(cell) && to & !(1 << self.me) != 0 {
                told.push(Told { body: *body, to, word: Word::Changed(*flight, Vec::new()) });
            }
        }
        // What the pairs of these bodies keep, in order.
        let are_sent = !self.has(RegionFault::CachesNotSent);
        for cache in caches.iter().filter(|_| are_sent) {
            let key = cache.0;
            for body in [Some(key.a), (!key.is_static).then_some(key.b)].into_iter().flatten() {
                let at = told.binary_search_by_key(&body, |told| told.body);
                if let Some(Told { word: Word::Changed(_, kept), .. }) = at.ok().map(|at| &mut told[at]) {
                    kept.push(cache.clone());
                }
            }
        }
        self.tells.append(&mut told);
        self.log(tick).caches = caches;
    }

    /// A body as it was after `tick`, which is over.
    fn after(&self, body: u32, tick: Tick) -> (Record, u32) {
        if self.changed_until[body as usize] > tick + 1 {
            for at in tick + 1..self.tried() {
                let log = &self.logs[(at - self.floor) as usize];
                if let Some(undo) = log.undo.iter().find(|undo| undo.body == body) {
                    return (undo.record, undo.cell);
                }
            }
        }
        (self.flights.record(body), self.gear.cells.cell_of(body))
    }

    /// The tick after the last of which something was done.
    fn tried(&self) -> Tick {
        self.lvt + Tick::from(self.underway.is_some())
    }

    /// Undoes `tick` and everything after it.
    pub fn rollback(&mut self, tick: Tick) {
        if tick < self.tried() {
            self.stats.rollbacks += 1;
            self.stats.ticks_undone += self.tried() - tick;
            self.reach_ticks = self.reach_ticks.saturating_sub(2 * (self.tried() - tick)).max(1);
            self.retreat(tick);
        }
    }

    /// Goes back to `tick` because the region ends there.
    pub fn retreat(&mut self, tick: Tick) {
        self.stuck = None;
        self.undo(tick);
    }

    fn undo(&mut self, tick: Tick) {
        let tried = self.tried();
        self.underway = None;
        for over in (tick..tried).rev() {
            if self.has(RegionFault::UndoShort) {
                let undo = &mut self.log(over).undo;
                undo.drain(..undo.len().min(1));
            }
            while let Some(Undo { body, record, cell }) = self.log(over).undo.pop() {
                if self.gear.cells.cell_of(body) != NONE {
                    self.gear.cells.leave(body);
                }
                self.flights.restore(body, &record);
                if cell != NONE {
                    self.gear.cells.enter(body, cell);
                }
            }
            let keeps_caches = self.has(RegionFault::CachesNotUndone);
            let log = self.log(over);
            (log.counts, log.frame) = (Counts::default(), None);
            if !keeps_caches {
                log.caches.clear();
            }
            log.hears.clear();
        }
        self.lvt = tick;
        self.look_ahead_for_amended();
    }

    /// Commits all ticks before `gvt`. The log of the tick before it stays: its caches are still needed.
    pub fn commit(&mut self, gvt: Tick) {
        let kept_ticks = Tick::from(!self.has(RegionFault::CommittedTooFar));
        while self.floor + kept_ticks < gvt && self.floor < self.lvt {
            let Some(log) = self.logs.pop_front() else { break };
            self.commit_log(log);
            self.floor += 1;
            self.reach_ticks = (self.reach_ticks + 1).min(REACH_TICKS);
        }
        self.gear.forget(self.floor);
        self.forget_amended();
    }

    /// Commits everything that is done, at the end.
    pub fn commit_all(&mut self) {
        while let Some(log) = self.logs.pop_front() {
            self.commit_log(log);
        }
    }

    fn commit_log(&mut self, log: TickLog) {
        self.counts.add(&log.counts);
        self.frames.extend(log.frame);
    }
}
