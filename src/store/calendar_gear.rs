//! The gear for what flies: a calendar of crossings of cells and of contacts. A tick at which nothing is due costs
//! nothing.
//!
//! Everything in the calendar is a proposal to look: whether bodies touch, and whether a body is in another cell, is
//! decided by the exact predicates when the tick comes. A proposal may come too early, never too late. It carries the
//! stamps of the flights that it is about, and is void when one of them has changed.

use std::sync::Arc;

use crate::base::math::Vec3;
use crate::base::time::Tick;
use crate::physics::collision::crowd::near_balls_max;
use crate::physics::{World, first_static_touch, first_touch};
use crate::store::calendar::Calendar;
use crate::store::cells::{Cells, NONE};
use crate::store::flights::{Flights, Hot};
use crate::store::lattice::Lattice;

/// Bodies more than this many times larger than the median are compared with all others. Not tuned.
const LARGE: f64 = 4.0;
/// Cells per body, at most. Not tuned.
const CELLS_PER_BODY: usize = 4;
/// Bodies of a sample that decides how far cells reach, and one in so many of them that is left out at each end. Not tuned.
const SAMPLE: usize = 4096;
const OUTLIERS: usize = 24;
/// Ticks for which pairs that are not balls are examined at once; then again. Not tuned.
const SCAN_TICKS: Tick = 32;
/// Distance by which the reach of a pair is widened against rounding, metres, and as a share of coordinates.
const SLACK_M: f64 = 1e-5;
const SLACK_SHARE: f64 = 1e-11;

/// Two bodies, or a body and static geometry, may touch.
#[derive(Clone, Copy)]
struct Touch {
    a: u32,
    /// The larger body; [`NONE`]: static geometry.
    b: u32,
    stamp_a: u64,
    stamp_b: u64,
}

/// A body may be in another cell.
#[derive(Clone, Copy)]
struct Crossing {
    body: u32,
    stamp: u64,
}

/// Cells that suit a set of bodies.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub lattice: Lattice,
    /// Largest radius of a body that is not compared with all others, metres.
    pub ordinary_m: f64,
}

impl Scale {
    /// Cells for all bodies that are present, as they are at `now`, `widths` times as wide as suits them.
    pub fn of(world: &World, flights: &Flights, now: Tick, widths: f64) -> Self {
        let radius = |body: u32| world.bodies[body as usize].radius;
        let mut sorted: Vec<f64> = flights.present().map(radius).collect();
        let middle = sorted.len() / 2;
        let typical = match sorted.is_empty() {
            true => 1.0,
            false => *sorted.select_nth_unstable_by(middle, f64::total_cmp).1,
        };
        let ordinary = sorted.iter().copied().filter(|radius| *radius <= LARGE * typical);
        let ordinary_m = ordinary.fold(typical, f64::max);
        let positions: Vec<Vec3> =
            flights.present().map(|body| flights.hot(body).position_at(world, now)).collect();
        Scale { lattice: lattice(&positions, 2.0 * ordinary_m + world.rule.margin_m, widths), ordinary_m }
    }
}

/// Cells and calendar of the bodies of a store.
#[derive(Clone)]
pub(crate) struct CalendarGear {
    pub lattice: Lattice,
    pub cells: Cells,
    /// Radius of every body, metres.
    radii: Vec<f64>,
    /// Largest radius of a body that is in the cells, metres.
    ordinary_m: f64,
    /// Bodies that are compared with all others.
    large: Vec<u32>,
    crossings: Calendar<Crossing>,
    touches: Calendar<Touch>,
    due_crossings: Vec<Crossing>,
    due_touches: Vec<Touch>,
    /// Of which cells the bodies are predicted; all if there is nothing.
    pub ownership: Option<Ownership>,
    /// Whether so much would be in the calendar that something was left out. From then on the gear is of no use.
    pub is_full: bool,
}

/// The cells of one region among several.
#[derive(Clone)]
pub(crate) struct Ownership {
    /// The region of every cell.
    pub owner: Arc<Vec<u8>>,
    pub me: u8,
}

impl Ownership {
    /// Whether a cell belongs to the region.
    #[inline]
    pub fn has(&self, cell: u32) -> bool {
        self.owner[cell as usize] == self.me
    }
}

/// Pairs and bodies to look at, at one tick.
#[derive(Default)]
pub(crate) struct Due {
    /// Pairs of bodies in ascending order.
    pub pairs: Vec<(u32, u32)>,
    /// Bodies that may touch static geometry, ascending.
    pub at_statics: Vec<u32>,
}

impl CalendarGear {
    /// Puts all bodies into cells as they are at `now`, and looks ahead from there.
    pub fn new(
        world: &World,
        flights: &Flights,
        Scale { lattice, ordinary_m }: Scale,
        ownership: Option<Ownership>,
        now: Tick,
    ) -> Self {
        let present: Vec<u32> = flights.present().collect();
        let radii: Vec<f64> = (0..flights.len()).map(|body| world.bodies[body].radius).collect();
        let is_large = |body: &u32| radii[*body as usize] > ordinary_m;
        let mut gear = CalendarGear {
            lattice,
            cells: Cells::new(lattice.len(), flights.len()),
            large: present.iter().copied().filter(is_large).collect(),
            radii,
            ordinary_m,
            crossings: Calendar::new(now, world.time.last_tick),
            touches: Calendar::new(now, world.time.last_tick),
            due_crossings: Vec::new(),
            due_touches: Vec::new(),
            ownership,
            is_full: false,
        };
        for body in &present {
            gear.cells.enter(*body, lattice.cell(flights.hot(*body).position_at(world, now)));
        }
        for body in present {
            gear.look_around(world, flights, body, now, |other| other > body);
            gear.stay(world, flights, body, now);
        }
        gear
    }

    /// What to look at, at `tick`. Ticks come in order; those at which nothing is due may be left out.
    pub fn due(&mut self, world: &World, flights: &Flights, tick: Tick, due: &mut Due) {
        self.forget(tick);
        let mut crossings = std::mem::take(&mut self.due_crossings);
        self.crossings.read(tick, &mut crossings);
        for Crossing { body, .. } in crossings.iter().filter(|due| flights.is_current(due.body, due.stamp)) {
            self.cross(world, flights, *body, tick);
        }
        self.due_crossings = crossings;
        self.due_touches(flights, tick, false, due);
    }

    /// Forgets all ticks before `tick`.
    pub fn forget(&mut self, tick: Tick) {
        self.crossings.advance(tick);
        self.touches.advance(tick);
    }

    /// Bodies that may be in another cell at `tick`, each with the cell that it is in by then.
    pub fn due_crossings(&mut self, world: &World, flights: &Flights, tick: Tick, due: &mut Vec<(u32, u32)>) {
        self.crossings.read(tick, &mut self.due_crossings);
        let valid = self.due_crossings.iter().filter(|due| flights.is_current(due.body, due.stamp));
        let cell = |body: u32| self.lattice.cell(flights.hot(body).position_at(world, tick));
        due.clear();
        due.extend(valid.map(|crossing| (crossing.body, cell(crossing.body))));
        due.sort_unstable();
        due.dedup();
    }

    /// Contacts to look at, at `tick`, after the crossings; void ones as well if `honours_stale`, a deliberate fault.
    #[inline]
    pub fn due_touches(&mut self, flights: &Flights, tick: Tick, honours_stale: bool, due: &mut Due) {
        let is_current = |body: u32, stamp: u64| {
            flights.is_current(body, stamp) || honours_stale && flights.hot(body).stamp != 0
        };
        due.pairs.clear();
        due.at_statics.clear();
        let mut touches = std::mem::take(&mut self.due_touches);
        self.touches.read(tick, &mut touches);
        for touch in touches.iter().filter(|touch| is_current(touch.a, touch.stamp_a)) {
            match touch.b {
                NONE => due.at_statics.push(touch.a),
                b if is_current(b, touch.stamp_b) => due.pairs.push((touch.a, b)),
                _ => {}
            }
        }
        self.due_touches = touches;
        due.pairs.sort_unstable();
        due.pairs.dedup();
        due.at_statics.sort_unstable();
        due.at_statics.dedup();
    }

    /// A pair that was due at `tick` does not touch: looks on from the next.
    pub fn look_on(&mut self, world: &World, flights: &Flights, (a, b): (u32, u32), tick: Tick) {
        self.propose(world, flights, a, b, tick + 1);
    }

    /// A body that was due at `tick` does not touch static geometry: looks on from the next.
    pub fn look_on_at_statics(&mut self, world: &World, flights: &Flights, body: u32, tick: Tick) {
        // With a crossing of its own: the one in the calendar may come later than static geometry is looked at until.
        self.stay(world, flights, body, tick + 1);
    }

    /// A body has a new flight, or none any more, or is new; `from` is the first tick at which that counts.
    pub fn change(&mut self, world: &World, flights: &Flights, body: u32, from: Tick) {
        self.make_room(world, flights);
        if flights.hot(body).stamp == 0 {
            if self.cells.cell_of(body) != NONE {
                self.cells.leave(body);
                self.large.retain(|large| *large != body);
            }
            return;
        }
        if self.cells.cell_of(body) == NONE {
            self.admit(world, flights, body, from);
        }
        self.look_around(world, flights, body, from, |_| true);
        self.stay(world, flights, body, from);
    }

    /// Room for all bodies, those included that are new at this tick and come later.
    fn make_room(&mut self, world: &World, flights: &Flights) {
        while self.radii.len() < flights.len() {
            self.radii.push(world.bodies[self.radii.len()].radius);
        }
        self.cells.make_room(flights.len());
    }

    /// Takes in a new body.
    fn admit(&mut self, world: &World, flights: &Flights, body: u32, from: Tick) {
        if self.radii[body as usize] > self.ordinary_m {
            self.large.push(body);
        }
        self.cells.enter(body, self.lattice.cell(flights.hot(body).position_at(world, from)));
    }

    fn is_large(&self, body: u32) -> bool {
        self.radii[body as usize] > self.ordinary_m
    }

    /// Moves a body into the cell that it is in at `tick`, and looks at what is near it there and was not before.
    fn cross(&mut self, world: &World, flights: &Flights, body: u32, tick: Tick) {
        let (old, new) =
            (self.cells.cell_of(body), self.lattice.cell(flights.hot(body).position_at(world, tick)));
        if new != old {
            self.cells.leave(body);
            self.cells.enter(body, new);
            if !self.is_large(body) {
                self.meet_new(world, flights, body, (old, new), tick);
            }
        }
        self.stay(world, flights, body, tick);
    }

    /// Looks at what is near a body in its new cell and was not in its old one.
    pub fn meet_new(
        &mut self,
        world: &World,
        flights: &Flights,
        body: u32,
        (old, new): (u32, u32),
        tick: Tick,
    ) {
        for cell in self.lattice.around(new) {
            if !self.lattice.are_near(cell, old) && self.owns_one_of(new, cell) {
                self.meet(world, flights, body, cell, tick, &|_| true);
            }
        }
    }

    /// Whether one of two cells belongs to this region: contacts of other regions' bodies with each other are theirs.
    #[inline]
    fn owns_one_of(&self, a: u32, b: u32) -> bool {
        self.ownership.as_ref().is_none_or(|own| own.has(a) || own.has(b))
    }

    /// Looks for everything that a body may touch from `from` on, of those in `counts`.
    pub fn look_around(
        &mut self,
        world: &World,
        flights: &Flights,
        body: u32,
        from: Tick,
        counts: impl Fn(u32) -> bool,
    ) {
        if self.is_large(body) {
            for other in 0..flights.len() as u32 {
                if other != body && flights.hot(other).stamp != 0 && (self.is_large(other) || counts(other)) {
                    self.propose(world, flights, body, other, from);
                }
            }
            return;
        }
        let own = self.cells.cell_of(body);
        for cell in self.lattice.around(own) {
            if self.owns_one_of(own, cell) {
                self.meet(world, flights, body, cell, from, &counts);
            }
        }
        for at in 0..self.large.len() {
            self.propose(world, flights, body, self.large[at], from);
        }
    }

    /// Calls `act` for everything in the calendar about flights that `number` knows, in order: the tick, and the bodies
    /// and the numbers of their flights. A number stands for the body and the stamp of a flight.
    pub fn for_each_entry(
        &self,
        number: impl Fn(u32, u64) -> Option<u64>,
        mut act: impl FnMut(Tick, [u32; 2], [u64; 2]),
    ) {
        let mut entries = Vec::new();
        self.crossings.for_each(|tick, Crossing { body, stamp }| {
            entries.extend(number(*body, *stamp).map(|at| (tick, [*body, *body], [at, at])));
        });
        self.touches.for_each(|tick, Touch { a, b, stamp_a, stamp_b }| {
            let of_b = if *b == NONE { Some(0) } else { number(*b, *stamp_b) };
            entries.extend(number(*a, *stamp_a).zip(of_b).map(|(at, of_b)| (tick, [*a, *b], [at, of_b])));
        });
        entries.sort_unstable();
        entries.dedup();
        entries.into_iter().for_each(|(tick, bodies, numbers)| act(tick, bodies, numbers));
    }

    /// Looks for what a body may touch in a cell from `from` on.
    #[inline]
    fn meet(
        &mut self,
        world: &World,
        flights: &Flights,
        body: u32,
        cell: u32,
        from: Tick,
        counts: &impl Fn(u32) -> bool,
    ) {
        let mut other = self.cells.first(cell);
        if other == NONE || self.is_full {
            return;
        }
        let own = flights.hot(body);
        let (x, v) = (own.position_at(world, from), own.velocity_at(world, from));
        let radius = self.radii[body as usize] + world.rule.margin_m + SLACK_M + SLACK_SHARE * x.amax();
        while other != NONE {
            if other != body && counts(other) {
                let reach = radius + self.radii[other as usize];
                if may_meet(world, (x, v), flights.hot(other), reach, from) {
                    self.propose(world, flights, body, other, from);
                }
            }
            other = self.cells.next(other);
        }
    }

    /// Puts the first tick at which two bodies may touch into the calendar.
    fn propose(&mut self, world: &World, flights: &Flights, one: u32, other: u32, from: Tick) {
        let (a, b) = (one.min(other), one.max(other));
        let last = world.time.last_tick;
        self.is_full |= self.touches.len() >= near_balls_max(self.radii.len());
        if from > last || self.is_full {
            return;
        }
        let (def_a, def_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
        let (flight_a, flight_b) = (flights.flight(a), flights.flight(b));
        let are_balls = def_a.is_ball() && def_b.is_ball();
        let to = if are_balls { last } else { last.min(from + SCAN_TICKS) };
        let found = first_touch(world, (def_a, &flight_a), (def_b, &flight_b), from, to);
        let due = match found {
            Some(tick) => tick,
            None if to == last => return,
            None => {
                // Nothing to look for if the bounding balls will not be near each other again.
                let reach = def_a.radius + def_b.radius + world.rule.margin_m + SLACK_M;
                let hot = flights.hot(a);
                let (x, v) = (hot.position_at(world, to), hot.velocity_at(world, to));
                let reach = reach + SLACK_SHARE * x.amax();
                if !may_meet(world, (x, v), flights.hot(b), reach, to) {
                    return;
                }
                to + 1
            }
        };
        let (stamp_a, stamp_b) = (flights.hot(a).stamp, flights.hot(b).stamp);
        self.touches.put(due, Touch { a, b, stamp_a, stamp_b });
    }

    /// Looks when a body leaves its cell, and at static geometry until then.
    pub fn stay(&mut self, world: &World, flights: &Flights, body: u32, from: Tick) {
        let last = world.time.last_tick;
        if from > last {
            return;
        }
        let hot = flights.hot(body);
        let is_here = self.lattice.cell(hot.position_at(world, from)) == self.cells.cell_of(body);
        let due = if is_here { self.lattice.next_look(world, hot, from, last) } else { from };
        if due <= last {
            self.crossings.put(due, Crossing { body, stamp: hot.stamp });
        }
        self.look_at_statics(world, flights, body, from);
    }

    /// Looks at static geometry until the body leaves its cell.
    fn look_at_statics(&mut self, world: &World, flights: &Flights, body: u32, from: Tick) {
        let last = world.time.last_tick;
        let cell = self.cells.cell_of(body);
        if world.statics.is_empty() || from > last || !self.owns_one_of(cell, cell) {
            return;
        }
        let hot = flights.hot(body);
        let until = self.lattice.next_look(world, hot, from, last).min(last);
        let def = &world.bodies[body as usize];
        if let Some(tick) = first_static_touch(world, (def, &flights.flight(body)), from, until) {
            self.touches.put(tick, Touch { a: body, b: NONE, stamp_a: hot.stamp, stamp_b: 0 });
        }
    }
}

/// Whether a body (position and velocity at `from`) and another may come within reach from `from` on. Both fall alike, so
/// their relative motion is a straight line.
#[inline]
fn may_meet(world: &World, (x, v): (Vec3, Vec3), other: &Hot, reach: f64, from: Tick) -> bool {
    let d = x - other.position_at(world, from);
    let u = v - other.velocity_at(world, from);
    let (approach, excess) = (d.dot(&u), d.norm_squared() - reach * reach);
    excess < 0.0 || approach < 0.0 && approach * approach >= u.norm_squared() * excess * (1.0 - 1e-9)
}

/// How far bodies are spread along every axis, metres, without those few that are far from most: the lattice repeats
/// itself, so they need no cells of their own.
fn extent_of_most(positions: &[Vec3]) -> Vec3 {
    let step = positions.len().div_ceil(SAMPLE).max(1);
    Vec3::from_fn(|axis, _| {
        let sample = positions.iter().step_by(step).map(|x| x[axis]).filter(|x| x.is_finite());
        let mut sorted: Vec<f64> = sample.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let outliers = sorted.len() / OUTLIERS;
        let most = &sorted[outliers..sorted.len() - outliers];
        let (Some(low), Some(high)) = (most.first(), most.last()) else { return 0.0 };
        // What is left out at the ends of an even spread is as dense as the rest.
        (high - low) * sorted.len() as f64 / most.len() as f64
    })
}

/// Cells for bodies that are at these positions and must not reach beyond the neighbouring cell.
fn lattice(positions: &[Vec3], reach_m: f64, widths: f64) -> Lattice {
    let extent = extent_of_most(positions).map(|side| side + reach_m);
    let per_body = libm::cbrt(extent.x * extent.y * extent.z / positions.len().max(1) as f64);
    let width = (reach_m * (1.0 + 1e-6) + SLACK_M).max(if per_body.is_finite() { per_body } else { 0.0 });
    Lattice::new(width * widths, extent, CELLS_PER_BODY * positions.len())
}
