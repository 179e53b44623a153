//! The list of near pairs: balls are put into the order of their cells, and every part lists the pairs of its own.
//!
//! A list is made for a horizon of ticks. Every ball is expected to fly on freely, up to half a skin; a ball that strays
//! farther ends the list. Cells are as wide along each axis as a pair can come from, so that neighbouring cells suffice.
//! Balls that are much faster or larger than most are special: they are compared with all.

use crate::base::aabb::Aabb;
use crate::base::lanes::{Lanes, Vec3Lanes, Work};
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::time::Tick;
use crate::physics::World;
use crate::physics::collision::crowd::{near_balls_max, touching_max};
use crate::physics::collision::kernels::Placed;
use crate::store::heap::HeapGear;
use crate::store::heap::part::{Known, NONE, NearStatic, Part, Place, STATIC, SlotFlight, slices};
use crate::store::ways::{SLACK_M, SLACK_SHARE};

/// Longest horizon, ticks.
const HORIZON_MAX: Tick = 12;
/// Skin as a share of the typical radius, at least and at most.
const SKIN: (f64, f64) = (0.04, 0.3);
/// Balls by which bounds are chosen, and how many on either side are not regarded: they may be outliers. Not tuned.
const SAMPLE: usize = 256;
const OUTLIERS: usize = 3;
/// Share by which bounds are wider than those of the sample. Not tuned.
const WIDER: f64 = 0.25;
/// Balls are special if they are larger than so many times the median, and larger than all but a few.
const LARGE: f64 = 3.0;
/// Cells per ball, at most. Not tuned.
const CELLS_PER_BALL: usize = 4;
/// Speeds may widen cells by so many times the reach of a pair; else the horizon is shorter. Not tuned.
const SPREAD: f64 = 1.5;
/// A contact weighs as much as so many balls where parts are cut.
const CONTACT_WEIGHT: u64 = 2;

/// Position, velocity and radius of the balls when the list was made, component by component; padded by a four.
#[derive(Default)]
pub(super) struct Columns {
    pub x: [Vec<f64>; 3],
    pub v: [Vec<f64>; 3],
    pub radius: Vec<f64>,
    pub body: Vec<u32>,
}

impl Columns {
    fn resize(&mut self, count: usize) {
        for column in self.x.iter_mut().chain(&mut self.v) {
            column.resize(count, 0.0);
        }
        self.radius.resize(count, 0.0);
        self.body.resize(count, NONE);
    }

    #[inline(always)]
    pub fn x_at(&self, slot: usize) -> Vec3 {
        Vec3::new(self.x[0][slot], self.x[1][slot], self.x[2][slot])
    }

    #[inline(always)]
    pub fn v_at(&self, slot: usize) -> Vec3 {
        Vec3::new(self.v[0][slot], self.v[1][slot], self.v[2][slot])
    }
}

/// Cells of the list.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    low: Vec3,
    per_m: Vec3,
    counts: [usize; 3],
    /// Velocities and radius of balls that are not special.
    v_low: Vec3,
    v_high: Vec3,
    ordinary_m: f64,
}

impl Cells {
    pub const NONE: Cells = {
        let zero = Vec3::new(0.0, 0.0, 0.0);
        Cells { low: zero, per_m: zero, counts: [1; 3], v_low: zero, v_high: zero, ordinary_m: 0.0 }
    };

    /// Number of cells, without that of special balls, which comes last.
    fn len(&self) -> usize {
        self.counts[0] * self.counts[1] * self.counts[2]
    }

    #[inline(always)]
    fn of(&self, place: &Place) -> u32 {
        let mut is_ordinary = place.x[3] <= self.ordinary_m;
        let mut cell = 0;
        for axis in 0..3 {
            let v = place.v[axis];
            is_ordinary &= v >= self.v_low[axis] && v <= self.v_high[axis];
            // What lies outside is in the outermost cell: that brings nothing farther apart.
            let at = ((place.x[axis] - self.low[axis]) * self.per_m[axis]) as usize;
            cell = cell * self.counts[axis] + at.min(self.counts[axis] - 1);
        }
        if is_ordinary { cell as u32 } else { self.len() as u32 }
    }
}

/// The least and greatest of most of some numbers, and a bit more.
fn bounds(numbers: &mut [f64]) -> (f64, f64) {
    let left_out = if numbers.len() >= SAMPLE { OUTLIERS } else { 0 };
    let last = numbers.len() - 1 - left_out;
    let low = *numbers.select_nth_unstable_by(left_out, f64::total_cmp).1;
    let high = *numbers.select_nth_unstable_by(last, f64::total_cmp).1;
    let wider = WIDER * (high - low);
    (low - wider, high + wider)
}

impl HeapGear {
    /// Makes a new list at `tick`, at which all places are. If it would be too long even for that tick alone, nothing has
    /// changed but that there is none, and the answer is no.
    pub(super) fn make_list(&mut self, world: &World, tick: Tick) -> bool {
        self.adapt(tick);
        self.made = tick;
        self.is_off = false;
        self.slot_of.clear();
        self.choose_cells(world);
        self.sort();
        self.cut();
        self.move_balls();
        let mut parts = std::mem::take(&mut self.parts);
        self.find_pairs(world, &mut parts);
        if parts.iter().any(|part| part.is_cut) {
            // Too many come near each other; fewer may be near at this tick alone.
            (self.horizon, self.skin_m) = (0, 0.0);
            self.find_pairs(world, &mut parts);
            if parts.iter().any(|part| part.is_cut) {
                self.forget_list();
                return false;
            }
        }
        let former = std::mem::take(&mut self.former);
        let gear = &*self;
        parallel::par_parts(parts.iter_mut(), |part| {
            gear.recall(part, &former);
            gear.near_statics(world, part, &former);
        });
        (self.parts, self.former) = (parts, former);
        true
    }

    /// Takes back that balls were given new slots.
    fn forget_list(&mut self) {
        std::mem::swap(&mut self.flights, &mut self.spare_flights);
        std::mem::swap(&mut self.places, &mut self.spare_places);
        self.parts = std::mem::take(&mut self.former);
        std::mem::swap(&mut self.ends, &mut self.former_ends);
        self.is_off = true;
    }

    /// Lists the pairs of balls that come near each other.
    fn find_pairs(&self, world: &World, parts: &mut [Part]) {
        parallel::par_parts(parts.iter_mut(), |part| self.lanes.run(NearPairs { gear: self, world, part }));
    }

    /// Chooses skin and horizon of the next list by how the last one did: it should end with its horizon.
    fn adapt(&mut self, tick: Tick) {
        let held = tick.saturating_sub(self.made);
        let share = if self.is_off && held < self.horizon { 1.15 } else { 0.93 };
        self.skin_share = (self.skin_share * share).clamp(SKIN.0, SKIN.1);
        self.horizon = HORIZON_MAX;
    }

    /// Chooses cells by a sample of the balls.
    fn choose_cells(&mut self, world: &World) {
        let count = self.flights.len();
        let sample = count.clamp(1, SAMPLE);
        let mut numbers = Vec::with_capacity(sample);
        let mut of = |number: &dyn Fn(&Place) -> f64| {
            numbers.clear();
            numbers.extend(
                (0..sample.min(count)).map(|at| number(&self.places[(2 * at + 1) * count / (2 * sample)])),
            );
            if numbers.is_empty() { (0.0, 0.0) } else { bounds(&mut numbers) }
        };
        let x = [0, 1, 2].map(|axis| of(&|place| place.x[axis]));
        let v = [0, 1, 2].map(|axis| of(&|place| place.v[axis]));
        self.skin_m = self.skin_share * self.typical_m;
        let far = x.iter().chain(&v).fold(0.0f64, |far, (low, high)| far.max(low.abs()).max(high.abs()));
        let ordinary_m = self.ordinary_m.max(LARGE * self.typical_m).min(self.radius_max_m);
        let reach = 2.0 * ordinary_m + self.margin_m(world) + SLACK_SHARE * 4.0 * far;
        let spread = (0..3).fold(0.0f64, |most, axis| most.max(v[axis].1 - v[axis].0));
        let ticks = SPREAD * reach / (spread * world.time.tick_s);
        self.horizon = (ticks.clamp(1.0, HORIZON_MAX as f64) as Tick).min(self.horizon);
        let span_s = world.time.span_s(0, self.horizon);
        let mut width = [0, 1, 2].map(|axis| reach + (v[axis].1 - v[axis].0) * span_s);
        let side = |axis: usize, width: f64| ((x[axis].1 - x[axis].0) / width).clamp(1.0, 1e6) as usize + 1;
        let cells = |width: &[f64; 3]| (0..3).map(|axis| side(axis, width[axis])).product::<usize>();
        while cells(&width) > CELLS_PER_BALL * count + 64 {
            width = width.map(|width| width * 1.25);
        }
        self.cells = Cells {
            low: Vec3::new(x[0].0, x[1].0, x[2].0),
            per_m: Vec3::from(width.map(|width| 1.0 / width)),
            counts: [0, 1, 2].map(|axis| side(axis, width[axis])),
            v_low: Vec3::new(v[0].0, v[1].0, v[2].0),
            v_high: Vec3::new(v[0].1, v[1].1, v[2].1),
            ordinary_m,
        };
    }

    /// How much nearer than their radii two balls may come on their expected ways, metres.
    fn margin_m(&self, world: &World) -> f64 {
        world.rule.broad_margin_m + self.skin_m + SLACK_M
    }

    /// Finds the order of cells.
    fn sort(&mut self) {
        let cells = self.cells;
        let places = &self.places;
        parallel::par_fill(&mut self.cell_of, self.flights.len(), |slot| cells.of(&places[slot]));
        self.starts.clear();
        self.starts.resize(cells.len() + 2, 0);
        for cell in &self.cell_of {
            self.starts[*cell as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.order.resize(self.cell_of.len(), 0);
        // From the back: every start ends up right, and balls of a cell keep their order.
        for (slot, cell) in self.cell_of.iter().enumerate().rev() {
            let start = &mut self.starts[*cell as usize];
            *start -= 1;
            self.order[*start as usize] = slot as u32;
        }
    }

    /// Gives every part a range of slots of about the same weight, that is cost. What the parts were is kept.
    fn cut(&mut self) {
        std::mem::swap(&mut self.parts, &mut self.former);
        std::mem::swap(&mut self.ends, &mut self.former_ends);
        let count = self.flights.len();
        let parts = if self.parts_wanted == 0 { parallel::parts_for(count) } else { self.parts_wanted };
        self.parts.resize_with(parts, Part::default);
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        let weight = |slot: u32| 1 + CONTACT_WEIGHT * u64::from(self.contacts_of_slot(slot));
        let weight_of =
            |part: &Part| part.slots.len() as u64 + CONTACT_WEIGHT * part.contacts.order.len() as u64;
        let total =
            if self.former.is_empty() { count as u64 } else { self.former.iter().map(weight_of).sum() };
        let (mut sum, parts) = (0, parts as u64);
        if parts > 1 {
            for (slot, former) in self.order.iter().enumerate() {
                if sum * parts >= total * (ends.len() as u64 + 1) && (ends.len() as u64) < parts - 1 {
                    ends.push(slot);
                }
                sum += weight(*former);
            }
        }
        ends.resize(parts as usize, count);
        self.ends = ends;
        let mut begin = 0;
        for (part, end) in self.parts.iter_mut().zip(&self.ends) {
            part.slots = begin..*end;
            begin = *end;
        }
    }

    /// The part that a slot was in before, and its number there.
    fn former_ball(&self, slot: u32) -> (usize, usize) {
        let part = self.former_ends.partition_point(|end| *end <= slot as usize);
        let begin = if part == 0 { 0 } else { self.former_ends[part - 1] };
        (part, slot as usize - begin)
    }

    fn contacts_of_slot(&self, slot: u32) -> u32 {
        let (part, ball) = self.former_ball(slot);
        let of_ball = self.former.get(part).and_then(|part| part.contacts.of_ball.get(ball));
        of_ball.map_or(0, |(_, count)| *count)
    }

    /// Puts all balls into their new slots.
    fn move_balls(&mut self) {
        let count = self.flights.len();
        let (order, flights, places) = (&self.order, &self.flights, &self.places);
        parallel::par_fill_two((&mut self.spare_flights, &mut self.spare_places), count, |slot| {
            let former = order[slot] as usize;
            (SlotFlight { has_changed: false, ..flights[former] }, places[former])
        });
        self.spare_places.push(Place::NOWHERE);
        std::mem::swap(&mut self.flights, &mut self.spare_flights);
        std::mem::swap(&mut self.places, &mut self.spare_places);
        self.columns.resize(count + 4);
        let (flights, places, ends) = (&self.flights, &self.places, &self.ends);
        let Columns { x: [x, y, z], v: [u, v, w], radius, body } = &mut self.columns;
        let rooms = slices(&mut x[..count], ends)
            .zip(slices(&mut y[..count], ends))
            .zip(slices(&mut z[..count], ends))
            .zip(slices(&mut u[..count], ends))
            .zip(slices(&mut v[..count], ends))
            .zip(slices(&mut w[..count], ends))
            .zip(slices(&mut radius[..count], ends))
            .zip(slices(&mut body[..count], ends))
            .zip(self.parts.iter());
        parallel::par_parts(rooms, |((((((((x, y), z), u), v), w), radius), body), part)| {
            for (at, place) in places[part.slots.clone()].iter().enumerate() {
                (x[at], y[at], z[at]) = (place.x[0], place.x[1], place.x[2]);
                (u[at], v[at], w[at]) = (place.v[0], place.v[1], place.v[2]);
                radius[at] = place.x[3];
                body[at] = flights[part.slots.start + at].body;
            }
        });
    }

    /// Orders the pairs of every ball, and gives pairs that touched what they kept.
    fn recall(&self, part: &mut Part, former: &[Part]) {
        let slots = part.slots.clone();
        part.pairs_of_ball.clear();
        part.pairs_of_ball.resize(slots.len() + 2, 0);
        let own = |slot: u32| (slot as usize).wrapping_sub(slots.start);
        for side in part.a.iter().chain(&part.b).map(|slot| own(*slot)).filter(|ball| *ball < slots.len()) {
            part.pairs_of_ball[side + 2] += 1;
        }
        let mut end = 0;
        for count in &mut part.pairs_of_ball {
            end += *count;
            *count = end;
        }
        part.pair_order.clear();
        part.pair_order.resize(end as usize, (0, 0));
        for (pair, (a, b)) in part.a.iter().zip(&part.b).enumerate() {
            for (side, other) in [(*a, *b), (*b, *a)] {
                let ball = own(side);
                if ball < slots.len() {
                    // Shifted by one: what begins as the start of a ball ends as that of the next.
                    let at = &mut part.pairs_of_ball[ball + 1];
                    part.pair_order[*at as usize] = (pair as u32, self.columns.body[other as usize]);
                    *at += 1;
                }
            }
        }
        part.pairs_of_ball.pop();
        let pairs = part.a.len();
        part.contact.clear();
        part.contact.resize(pairs, NONE);
        part.known.resize(pairs, Known::NEW);
        for ball in 0..slots.len() {
            let range = part.pairs_of_ball[ball] as usize..part.pairs_of_ball[ball + 1] as usize;
            let list = &mut part.pair_order[range];
            list.sort_unstable_by_key(|(_, body)| *body);
            let (of, at) = self.former_ball(self.order[slots.start + ball]);
            let Some(former) = former.get(of).filter(|former| at < former.contacts.of_ball.len()) else {
                continue;
            };
            for touch in former.contacts.of(at).iter().filter(|touch| touch.partner & STATIC == 0) {
                if let Ok(found) = list.binary_search_by_key(&touch.partner, |(_, body)| *body) {
                    let pair = list[found].0 as usize;
                    part.contact[pair] = 0;
                    part.known[pair] = *former.known(former.contacts.pair[touch.contact as usize]);
                }
            }
        }
        // Padding touches nothing.
        let nowhere = self.flights.len() as u32;
        while !part.a.len().is_multiple_of(4) {
            part.a.push(nowhere);
            part.b.push(nowhere);
            part.radii_m.push(0.0);
            part.contact.push(NONE);
            part.known.push(Known::NEW);
        }
    }

    /// Lists the static objects that the balls of a part come near.
    fn near_statics(&self, world: &World, part: &mut Part, former: &[Part]) {
        let span_s = world.time.span_s(0, self.horizon);
        let fall = world.gravity * (span_s * span_s * 0.5);
        let bulge_m = world.gravity.amax() * span_s * span_s * 0.125;
        part.statics_of_ball.clear();
        part.statics.clear();
        part.static_known.clear();
        let mut near = std::mem::take(&mut part.spare);
        for slot in part.slots.clone() {
            part.statics_of_ball.push(part.statics.len() as u32);
            let (x, v) = (self.columns.x_at(slot), self.columns.v_at(slot));
            let end = x + v * span_s + fall;
            let slack = SLACK_SHARE * (x.amax() + v.amax() + end.amax());
            let pad = self.columns.radius[slot] + self.margin_m(world) + slack;
            let path = Aabb { min: x.inf(&end), max: x.sup(&end) };
            let bounds = path.grown(pad + bulge_m);
            if !self.hull.overlaps(&bounds) {
                continue;
            }
            world.static_bvh.near(&bounds, &mut near);
            if near.is_empty() {
                continue;
            }
            // Nothing on the way is farther from its beginning than this.
            let length = v.norm() * span_s + fall.norm();
            let (of, at) = self.former_ball(self.order[slot]);
            let former = former.get(of).filter(|former| at < former.contacts.of_ball.len());
            for object in near.iter().copied() {
                let def = &world.statics[object as usize];
                let placed = Placed { shape: &def.shape, x: def.x, q: def.q };
                let is_far = placed.signed_distance(x).1 > pad + length;
                if is_far {
                    continue;
                }
                let touched = former.and_then(|former| {
                    let touch =
                        former.contacts.of(at).iter().find(|touch| touch.partner == STATIC | object)?;
                    Some(*former.known(former.contacts.pair[touch.contact as usize]))
                });
                let contact = if touched.is_some() { 0 } else { NONE };
                part.statics.push(NearStatic { object, contact });
                part.static_known.push(touched.unwrap_or(Known::NEW));
            }
        }
        part.statics_of_ball.push(part.statics.len() as u32);
        part.spare = near;
    }
}

/// Lists the near pairs of a part.
struct NearPairs<'a> {
    gear: &'a HeapGear,
    world: &'a World,
    part: &'a mut Part,
}

/// Runs of slots to be searched.
#[derive(Default)]
struct Runs {
    runs: [(usize, usize); 32],
    count: usize,
}

impl Runs {
    #[inline(always)]
    fn add(&mut self, begin: usize, end: usize) {
        if begin < end {
            self.runs[self.count] = (begin, end);
            self.count += 1;
        }
    }

    /// The slots near a cell that are to be compared with the balls of it: those in other parts, and the later ones in the
    /// own part, which begins at `own`. The first ball of the cell in this part is in slot `first`.
    #[inline(always)]
    fn find(&mut self, gear: &HeapGear, cell: usize, own: usize, first: usize) {
        self.count = 0;
        let Cells { counts, .. } = gear.cells;
        let (starts, balls) = (&gear.starts, gear.flights.len());
        let special = starts[gear.cells.len()] as usize;
        if cell == gear.cells.len() {
            self.add(0, own);
            self.add(first, balls);
            return;
        }
        let (z, y, x) = (cell % counts[2], cell / counts[2] % counts[1], cell / counts[2] / counts[1]);
        for x in x.saturating_sub(1)..=(x + 1).min(counts[0] - 1) {
            for y in y.saturating_sub(1)..=(y + 1).min(counts[1] - 1) {
                let row = (x * counts[1] + y) * counts[2];
                let begin = starts[row + z.saturating_sub(1)] as usize;
                let end = starts[row + (z + 1).min(counts[2] - 1) + 1] as usize;
                self.add(begin, end.min(own));
                self.add(begin.max(first), end);
            }
        }
        self.add(special, own.min(balls));
        self.add(special.max(first), balls);
    }
}

impl Work for NearPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (gear, part) = (self.gear, self.part);
        let Columns { x: [xs, ys, zs], v: [us, vs, ws], radius, body: bodies } = &gear.columns;
        let (own, end) = (part.slots.start, part.slots.end);
        let span_s = self.world.time.span_s(0, gear.horizon);
        let margin_m = gear.margin_m(self.world);
        let (span, twice, zero) = (L::splat(span_s), L::splat(2.0), L::splat(0.0));
        part.a.clear();
        part.b.clear();
        part.radii_m.clear();
        part.is_cut = false;
        let (bodies_in_all, parts) = (gear.flights.len(), gear.ends.len());
        let most = (near_balls_max(bodies_in_all) / parts).max(touching_max(bodies_in_all));
        let (mut runs, mut last) = (Runs::default(), usize::MAX);
        for slot in own..end {
            if part.a.len() > most {
                part.is_cut = true;
                return;
            }
            let cell = gear.cell_of[gear.order[slot] as usize] as usize;
            if cell != last {
                runs.find(gear, cell, own, slot);
                last = cell;
            }
            let (x, v) = (gear.columns.x_at(slot), gear.columns.v_at(slot));
            let slack = SLACK_SHARE * (x.amax() + v.amax());
            let (own_x, own_v) = (Vec3Lanes::<L>::splat(x), Vec3Lanes::<L>::splat(v));
            let own_reach = L::splat(radius[slot] + margin_m + slack);
            let body = bodies[slot];
            for &(begin, run_end) in &runs.runs[..runs.count] {
                // Of two balls of a part, that in the lower slot looks.
                let mut at = if begin >= own && begin <= slot { slot + 1 } else { begin };
                while at < run_end {
                    let dx =
                        own_x.minus(Vec3Lanes(L::front(&xs[at..]), L::front(&ys[at..]), L::front(&zs[at..])));
                    let dv =
                        own_v.minus(Vec3Lanes(L::front(&us[at..]), L::front(&vs[at..]), L::front(&ws[at..])));
                    let reach = own_reach + L::front(&radius[at..]);
                    let reach2 = reach * reach;
                    // Near at the beginning, at the end, or at the closest approach between.
                    let (d2, approach, u2) = (dx.dot(dx), dx.dot(dv), dv.dot(dv));
                    let at_end = d2 + span * (twice * approach + u2 * span);
                    let is_between = approach
                        .lt(zero)
                        .and(zero.lt(approach + u2 * span))
                        .and(((d2 - reach2) * u2).lt(approach * approach));
                    let mut near = d2.lt(reach2).or(at_end.lt(reach2)).or(is_between).bits();
                    if run_end - at < 4 {
                        near &= (1 << (run_end - at)) - 1;
                    }
                    while near != 0 {
                        let other = at + near.trailing_zeros() as usize;
                        near &= near - 1;
                        let is_first = body < bodies[other];
                        let (a, b) = if is_first { (slot, other) } else { (other, slot) };
                        part.a.push(a as u32);
                        part.b.push(b as u32);
                        part.radii_m.push(radius[slot] + radius[other]);
                    }
                    at += 4;
                }
            }
        }
    }
}
