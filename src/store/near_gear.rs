//! The gear for what touches: a list of near pairs that holds for some ticks, and all bodies evaluated at every tick.
//!
//! A list is made for a horizon of ticks. Every body is expected to go on as it does when the list is made, up to a skin;
//! a pair is listed if it comes near on its expected ways. A body that leaves its expected way gets a new one, and its
//! pairs are looked for anew. The length of the horizon follows how often that happens. None of this changes a result:
//! a list may have too many pairs, never too few, and the exact predicate decides.

use crate::base::aabb::Aabb;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::{FlightCursor, World, touching, touching_static};
use crate::store::flights::Flights;
use crate::store::lattice::Lattice;
use crate::store::response::{Found, NONE, PairKey};
use crate::store::ways::{Extent, Holds, Nearness, SLACK_M, SLACK_SHARE, Way, merge};

/// Longest horizon, ticks. 8 to 24 are within the spread on cylinders, bowl and bouncing.
const HORIZON_MAX: Tick = 16;
/// Skin as a share of the typical radius, per tick of the horizon, and at most. On the same scenes 0.15 to 0.3 at most are
/// within the spread.
const SKIN: (f64, f64) = (0.02, 0.2);
/// If more than one body in this many leaves its expected way per tick, the horizon is halved; ... Not tuned.
const OFTEN: usize = 8;
/// ... if fewer than one in this many does, it is doubled. Not tuned.
const SELDOM: usize = 32;
/// A new list is made when more than one body in this many has left its way. Not tuned.
const MANY: usize = 2;
/// Bodies are fast if they move, within the horizon, farther than this many times the typical reach of a pair; ... Not
/// tuned.
const FAST: f64 = 0.5;
/// ... twice as far, and so on, if more than one in this many does. Not tuned.
const SPECIAL: usize = 64;
/// Bodies more than this many times larger than the median are compared with all others. Not tuned.
const LARGE: f64 = 4.0;
/// A body that has left its way, and the next in its cell.
#[derive(Clone, Copy)]
struct Deviant {
    body: u32,
    next: u32,
}

/// Near pairs, and the states of all bodies at the present tick.
pub(crate) struct NearGear {
    /// Bodies that are present, ascending.
    present: Vec<u32>,
    /// States by body; balls have the orientation of their origin.
    states: Vec<BodyState>,
    /// Cursors by body, of bodies that are not balls, and the stamps of their flights.
    cursors: Vec<Option<(u64, FlightCursor)>>,
    ways: Vec<Way>,
    /// Median of the radii, metres.
    typical_m: f64,
    /// The list holds for the ticks from the first to the second.
    holds: Option<(Tick, Tick)>,
    horizon: Tick,
    skin_m: f64,
    /// Farthest that a body in the cells moves within the horizon, the most that it may, and the largest radius in the
    /// cells, metres.
    drift_m: f64,
    drift_max_m: f64,
    ordinary_m: f64,
    /// Mean velocity when the list was made: cells move with it.
    mean: Vec3,
    lattice: Lattice,
    starts: Vec<u32>,
    /// Ways in the order of cells.
    balls: Vec<Way>,
    /// Bodies that are compared with all others: fast or large. In order.
    special: Vec<u32>,
    /// Bodies that have left their ways since, by cell where they did, and the farthest that one of them still moves.
    deviants: Vec<Deviant>,
    heads: Vec<u32>,
    deviant_drift_m: f64,
    /// Those of them that are compared with all that leave their ways later.
    special_deviants: Vec<u32>,
    pairs: Vec<(u32, u32)>,
    /// Pairs of bodies that have left their ways since, in order, without those in `pairs`.
    more: Vec<(u32, u32)>,
    at_statics: Vec<(u32, u32)>,
    escaped: Vec<u32>,
    escapes: usize,
    new: Vec<(u32, u32)>,
    hits: Vec<(u32, u32)>,
    static_hits: Vec<Option<Found>>,
}

impl NearGear {
    /// All bodies as they are at `now`.
    pub fn new(world: &World, flights: &Flights) -> Self {
        let mut gear = NearGear {
            present: Vec::new(),
            states: Vec::new(),
            cursors: Vec::new(),
            ways: Vec::new(),
            typical_m: 1.0,
            holds: None,
            horizon: HORIZON_MAX / 2,
            skin_m: 0.0,
            drift_m: 0.0,
            drift_max_m: 0.0,
            ordinary_m: 0.0,
            mean: Vec3::zeros(),
            lattice: Lattice::new(1.0, Vec3::zeros(), 1),
            starts: Vec::new(),
            balls: Vec::new(),
            special: Vec::new(),
            deviants: Vec::new(),
            heads: Vec::new(),
            deviant_drift_m: 0.0,
            special_deviants: Vec::new(),
            pairs: Vec::new(),
            more: Vec::new(),
            at_statics: Vec::new(),
            escaped: Vec::new(),
            escapes: 0,
            new: Vec::new(),
            hits: Vec::new(),
            static_hits: Vec::new(),
        };
        gear.census(world, flights);
        gear
    }

    /// Bodies have been added or removed.
    pub fn census(&mut self, world: &World, flights: &Flights) {
        self.present = flights.present().collect();
        self.states.resize(flights.len(), BodyState::at_rest(Vec3::zeros()));
        self.cursors.resize(flights.len(), None);
        self.ways.resize(flights.len(), Way::NOWHERE);
        for (body, way) in self.ways.iter_mut().enumerate() {
            (way.body, way.radius) = (body as u32, world.bodies[body].radius);
        }
        let mut radii: Vec<f64> = self.present.iter().map(|body| self.ways[*body as usize].radius).collect();
        if !radii.is_empty() {
            let middle = radii.len() / 2;
            self.typical_m = *radii.select_nth_unstable_by(middle, f64::total_cmp).1;
        }
        self.holds = None;
    }

    /// The state of a body at the present tick.
    #[inline]
    pub fn state(&self, world: &World, flights: &Flights, body: u32, tick: Tick) -> BodyState {
        if world.bodies[body as usize].is_ball() {
            flights.state_at(world, body, tick)
        } else {
            self.states[body as usize]
        }
    }

    /// The first body with a state that is not finite.
    pub fn not_finite(&mut self) -> Option<u32> {
        let (present, states) = (&self.present, &self.states);
        parallel::par_collect(&mut self.escaped, present.len(), |range, found| {
            let is_finite = |body: &&u32| {
                let state = &states[**body as usize];
                (state.x.amax() + state.v.amax() + state.w.amax()).is_finite()
            };
            found.extend(present[range].iter().find(|body| !is_finite(body)));
        });
        self.escaped.first().copied()
    }

    /// Finds everything that touches at `tick`, to which all bodies have been evaluated.
    pub fn find(&mut self, world: &World, flights: &Flights, tick: Tick, found: &mut Vec<Found>) {
        let is_over = self.holds.is_none_or(|(_, last)| tick > last);
        if is_over || !self.keep_up(world, flights, tick) {
            self.make_list(world, flights, tick);
        }
        self.find_pairs(world);
        let (states, hits) = (&self.states, &self.hits);
        found.clear();
        parallel::par_collect(found, hits.len(), |range, found| {
            for &(a, b) in &hits[range] {
                let (def_a, def_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
                let (state_a, state_b) = (&states[a as usize], &states[b as usize]);
                if let Some(manifold) = touching(&world.rule, def_a, state_a, def_b, state_b) {
                    found.push(Found { key: PairKey { is_static: false, a, b }, manifold });
                }
            }
        });
        self.find_with_statics(world, found);
    }

    fn find_with_statics(&mut self, world: &World, found: &mut Vec<Found>) {
        let (states, near) = (&self.states, &self.at_statics);
        parallel::par_collect(&mut self.static_hits, near.len(), |range, found| {
            for &(a, b) in &near[range] {
                let (def, object) = (&world.bodies[a as usize], &world.statics[b as usize]);
                if let Some(manifold) = touching_static(&world.rule, def, &states[a as usize], object) {
                    found.push(Some(Found { key: PairKey { is_static: true, a, b }, manifold }));
                }
            }
        });
        found.extend(self.static_hits.drain(..).flatten());
    }

    /// Evaluates all bodies at `tick`.
    pub fn evaluate(&mut self, world: &World, flights: &Flights, tick: Tick) {
        parallel::par_for_pairs(&mut self.states, &mut self.cursors, |body, state, cursor| {
            let body = body as u32;
            let hot = flights.hot(body);
            if hot.stamp == 0 {
                return;
            }
            let def = &world.bodies[body as usize];
            if def.is_ball() {
                let flight = flights.flight(body);
                *state = flight.touching_state_at(world, def, tick);
                return;
            }
            let (_, cursor) = match cursor {
                Some(known) if known.0 == hot.stamp => known,
                _ => cursor.insert((hot.stamp, flights.cursor(body))),
            };
            *state = cursor.state_at(world, def, tick);
        });
    }

    /// Pairs near enough to touch, in order.
    fn find_pairs(&mut self, world: &World) {
        let (states, ways, margin) = (&self.states, &self.ways, world.rule.margin_m);
        let is_near = |a: u32, b: u32| {
            let reach = ways[a as usize].radius + ways[b as usize].radius + margin;
            let d2 = (states[a as usize].x - states[b as usize].x).norm_squared();
            d2 < reach * reach * (1.0 + 1e-9)
        };
        let pairs = &self.pairs;
        parallel::par_collect(&mut self.hits, pairs.len(), |range, hits| {
            hits.extend(pairs[range].iter().filter(|(a, b)| is_near(*a, *b)));
        });
        self.new.clear();
        self.new.extend(self.more.iter().filter(|(a, b)| is_near(*a, *b)));
        merge(&mut self.hits, &self.new);
    }

    /// Gives bodies that have left their ways new ones. Says no if there are so many that a new list is cheaper.
    fn keep_up(&mut self, world: &World, flights: &Flights, tick: Tick) -> bool {
        let Some((made, last)) = self.holds else { return false };
        let (present, states, ways, skin2) =
            (&self.present, &self.states, &self.ways, self.skin_m * self.skin_m);
        let tau = world.time.span_s(made, tick);
        let fallen = world.gravity * (tau * tau * 0.5);
        parallel::par_collect(&mut self.escaped, present.len(), |range, escaped| {
            for body in &present[range] {
                let (way, x) = (&ways[*body as usize], states[*body as usize].x);
                // Not a comparison the other way round: what is not a number has left its way.
                let is_on_way = (x - fallen - way.x - way.v * tau).norm_squared() < skin2;
                if !is_on_way {
                    escaped.push(*body);
                }
            }
        });
        self.escapes += self.escaped.len();
        if self.escaped.is_empty() {
            return true;
        }
        if self.escapes > self.present.len() / MANY || self.horizon == 1 {
            return false;
        }
        for at in 0..self.escaped.len() {
            self.deviate(world, flights, self.escaped[at], (made, tick, last));
        }
        let (mut new, gear) = (std::mem::take(&mut self.new), &*self);
        parallel::par_collect(&mut new, gear.escaped.len(), |range, new| {
            for body in &gear.escaped[range] {
                gear.look_around(world, *body, (made, tick, last), new);
            }
        });
        new.sort_unstable();
        merge(&mut self.more, &new);
        parallel::par_collect(&mut new, self.escaped.len(), |range, new| {
            let mut near = Vec::new();
            for body in &self.escaped[range] {
                self.near_statics(world, *body, (made, tick, last), &mut near);
                new.extend(near.iter().map(|object| (*body, *object)));
            }
        });
        merge(&mut self.at_statics, &new);
        self.new = new;
        true
    }

    /// Gives a body a new way, and a place among those that have left theirs.
    fn deviate(&mut self, world: &World, flights: &Flights, body: u32, holds: Holds) {
        let way = self.ways[body as usize].from(world, flights, &self.states[body as usize], holds);
        self.ways[body as usize] = way;
        let (here, drift_m) = self.in_cells(world, &way, holds);
        if drift_m <= self.drift_max_m && way.radius <= self.ordinary_m {
            self.deviant_drift_m = self.deviant_drift_m.max(drift_m);
            let head = &mut self.heads[self.lattice.cell(here) as usize];
            self.deviants.push(Deviant { body, next: *head });
            *head = self.deviants.len() as u32 - 1;
        } else {
            self.special_deviants.push(body);
        }
    }

    /// Where a way is at a tick as seen from the cells, which move with the mean, and how far it goes from there.
    fn in_cells(&self, world: &World, way: &Way, (made, tick, last): Holds) -> (Vec3, f64) {
        let u = way.v - self.mean;
        (way.x + u * world.time.span_s(made, tick), u.norm() * world.time.span_s(tick, last))
    }

    /// Lists what comes near a body on its new way.
    fn look_around(&self, world: &World, body: u32, holds: Holds, pairs: &mut Vec<(u32, u32)>) {
        let way = &self.ways[body as usize];
        let (here, own_m) = self.in_cells(world, way, holds);
        let reach_m = way.radius + self.ordinary_m + self.margin_m(world, way);
        let nearness = Nearness::new(world, way, self.margin_m(world, way), holds);
        let mut look = |other: &Way| {
            if other.body != body && nearness.is_near(other) {
                pairs.push((body.min(other.body), body.max(other.body)));
            }
        };
        self.lattice.for_each_run_within(here, reach_m + self.drift_m + own_m, |first, last| {
            let (start, end) = (self.starts[first as usize], self.starts[last as usize + 1]);
            self.balls[start as usize..end as usize].iter().for_each(&mut look);
        });
        self.lattice.for_each_run_within(here, reach_m + self.deviant_drift_m + own_m, |first, last| {
            for mut at in self.heads[first as usize..=last as usize].iter().copied() {
                while let Some(deviant) = self.deviants.get(at as usize) {
                    look(&self.ways[deviant.body as usize]);
                    at = deviant.next;
                }
            }
        });
        let special = self.special.iter().chain(&self.special_deviants);
        special.for_each(|other| look(&self.ways[*other as usize]));
    }

    /// How much nearer than their radii and expected ways two bodies may come, metres.
    fn margin_m(&self, world: &World, way: &Way) -> f64 {
        world.rule.broad_margin_m + 2.0 * self.skin_m + SLACK_M + SLACK_SHARE * (way.x.amax() + way.v.amax())
    }

    fn near_statics(&self, world: &World, body: u32, (made, from, to): Holds, near: &mut Vec<u32>) {
        let way = &self.ways[body as usize];
        let at = |tick: Tick| {
            let tau = world.time.span_s(made, tick);
            way.x + way.v * tau + world.gravity * (tau * tau * 0.5)
        };
        let (a, b) = (at(from), at(to));
        // The ends of a parabola, and how far it can leave the line between them.
        let span = world.time.span_s(from, to);
        let bulge = world.gravity.amax() * span * span * 0.125;
        let slack = SLACK_SHARE * a.amax().max(b.amax());
        let margin = way.radius + self.margin_m(world, way) - self.skin_m + bulge + slack;
        world.static_bvh.near(&Aabb { min: a.inf(&b), max: a.sup(&b) }.grown(margin), near);
    }

    /// Makes a new list at `tick`.
    fn make_list(&mut self, world: &World, flights: &Flights, tick: Tick) {
        self.adapt(tick);
        let last = tick + self.horizon - 1;
        let holds = (tick, tick, last);
        self.holds = Some((tick, last));
        self.escapes = 0;
        self.more.clear();
        let states = &self.states;
        parallel::par_for(&mut self.ways, |body, way| *way = way.from(world, flights, &states[body], holds));
        self.fill_cells(world);
        let mut pairs = std::mem::take(&mut self.pairs);
        let gear = &*self;
        parallel::par_collect(&mut pairs, gear.present.len(), |range, pairs| {
            for body in &gear.present[range] {
                gear.near_pairs(world, *body, holds, pairs);
            }
        });
        pairs.sort_unstable();
        let mut at_statics = std::mem::take(&mut self.at_statics);
        let gear = &*self;
        parallel::par_collect(&mut at_statics, gear.present.len(), |range, at_statics| {
            let mut near = Vec::new();
            for body in &gear.present[range] {
                gear.near_statics(world, *body, holds, &mut near);
                at_statics.extend(near.iter().map(|object| (*body, *object)));
            }
        });
        (self.pairs, self.at_statics) = (pairs, at_statics);
    }

    /// Chooses the horizon of the next list by how the last one did.
    fn adapt(&mut self, tick: Tick) {
        if let Some((made, _)) = self.holds {
            let held = (tick - made).max(1) as usize;
            if self.escapes * OFTEN > self.present.len() * held {
                self.horizon = (self.horizon / 2).max(1);
            } else if self.escapes * SELDOM < self.present.len() * held {
                self.horizon = (self.horizon * 2).min(HORIZON_MAX);
            }
        }
    }

    /// Puts the bodies into the order of their cells.
    fn fill_cells(&mut self, world: &World) {
        let (count, typical, ways) = (self.present.len().max(1), self.typical_m, &self.ways);
        self.skin_m = typical * (SKIN.0 * self.horizon as f64).min(SKIN.1);
        let present = || self.present.iter().map(|body| &ways[*body as usize]);
        self.mean = present().fold(Vec3::zeros(), |sum, way| sum + way.v) / count as f64;
        let (mean, span) = (self.mean, world.time.span_s(0, self.horizon));
        let drift = |way: &Way| (way.v - mean).norm() * span;
        let mut limit = FAST * (2.0 * typical + world.rule.broad_margin_m);
        while present().filter(|way| drift(way) > limit).count() * SPECIAL > count {
            limit *= 2.0;
        }
        self.drift_max_m = limit;
        let is_special = |way: &Way| drift(way) > self.drift_max_m || way.radius > LARGE * typical;
        self.special.clear();
        self.special.extend(present().filter(|way| is_special(way)).map(|way| way.body));
        let mut all = Extent::default();
        let special = &self.special;
        let is_ordinary = |way: &&Way| special.is_empty() || special.binary_search(&way.body).is_err();
        present().filter(is_ordinary).for_each(|way| all.add(way, drift(way)));
        (self.drift_m, self.ordinary_m) = (all.drift_m, all.radius_m);
        let reach = 2.0 * self.ordinary_m + world.rule.broad_margin_m + 2.0 * self.skin_m;
        let width = reach + SLACK_M + SLACK_SHARE * all.far_m;
        let extent = (all.high - all.low).map(|side| if side.is_finite() { side } else { 0.0 });
        let ordinary = self.present.len() - self.special.len();
        self.lattice = Lattice::new(width, extent, 2 * ordinary.max(1));
        let lattice = self.lattice;
        let cells: Vec<(u32, u32)> =
            present().filter(is_ordinary).map(|way| (lattice.cell(way.x), way.body)).collect();
        self.starts.clear();
        self.starts.resize(lattice.len() + 1, 0);
        for (cell, _) in &cells {
            self.starts[*cell as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.balls.clear();
        self.balls.resize(ordinary, Way::NOWHERE);
        // From the back, so that the start of every cell ends up right, and bodies of a cell keep their order.
        for (cell, body) in cells.iter().rev() {
            let start = &mut self.starts[*cell as usize];
            *start -= 1;
            self.balls[*start as usize] = ways[*body as usize];
        }
        self.deviants.clear();
        self.special_deviants.clear();
        self.deviant_drift_m = 0.0;
        self.heads.clear();
        self.heads.resize(lattice.len(), NONE);
    }

    /// Pairs of a body with those that come near it and are slower. Of two, the faster one looks farther.
    fn near_pairs(&self, world: &World, body: u32, holds: Holds, pairs: &mut Vec<(u32, u32)>) {
        let way = &self.ways[body as usize];
        let nearness = Nearness::new(world, way, self.margin_m(world, way), holds);
        let speed2 = |way: &Way| (way.v - self.mean).norm_squared();
        let (own2, (here, own_m)) = (speed2(way), self.in_cells(world, way, holds));
        let is_special = !self.special.is_empty() && self.special.binary_search(&body).is_ok();
        let reach_m = way.radius + self.ordinary_m + self.margin_m(world, way);
        let others_m = if is_special { self.drift_m } else { own_m };
        self.lattice.for_each_run_within(here, reach_m + own_m + others_m, |first, last| {
            let (start, end) = (self.starts[first as usize], self.starts[last as usize + 1]);
            for other in &self.balls[start as usize..end as usize] {
                if nearness.is_near(other) && (is_special || (speed2(other), other.body) < (own2, body)) {
                    pairs.push((body.min(other.body), body.max(other.body)));
                }
            }
        });
        if is_special {
            let larger = self.special.iter().filter(|other| **other > body);
            let near = larger.filter(|other| nearness.is_near(&self.ways[**other as usize]));
            pairs.extend(near.map(|other| (body, *other)));
        }
    }
}
