//! The gear for heaps of balls: contacts of one point, four at a time, in parts that threads share.
//!
//! Balls lie in slots, in the order of their cells, and a part is a range of slots. A tick is: find what touches and make
//! the contacts; impacts, if there are any; iterations over resting contacts, and new flights. In each of these phases a
//! part reads what others have written in the phase before and writes what is its own, so parts need no locks. A pair
//! across parts is computed by both, from the same numbers.
//!
//! The steps and the order of all sums are those of the local solver
//! ([`LocalSolver`](crate::physics::local_solver::LocalSolver)), so the bits are the same.

mod build;
mod find;
mod impacts;
mod part;
mod rest;

use smallvec::smallvec;

use crate::base::aabb::Aabb;
use crate::base::ids::BodyId;
use crate::base::lanes::LaneChoice;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::contact::{PairCache, PatchCache, PointCache};
use crate::physics::shape::Shape;
use crate::physics::{Flight, Inertia, World};
use crate::store::flights::Flights;
use crate::store::heap::build::{Cells, Columns};
use crate::store::heap::find::Find;
use crate::store::heap::impacts::Impacts;
use crate::store::heap::part::{Known, NONE, Part, Place, STATIC, SlotFlight, Standing, row, slices, vector};
use crate::store::heap::rest::GoOn;
use crate::store::response::{Counts, PairKey};
use crate::store::states;

/// One ball in so many may be larger than what cells are made for. Not tuned.
const FEW: usize = 64;
/// Skin of the first list, as a share of the typical radius. Later ones follow how long lists hold. Not tuned.
const SKIN_FIRST: f64 = 0.12;

/// A world of balls.
pub(crate) struct HeapGear {
    lanes: LaneChoice,
    /// How many parts there are; 0 for as many as threads.
    parts_wanted: usize,
    /// By slot.
    flights: Vec<SlotFlight>,
    inv_inertias: Vec<f64>,
    /// By slot, and then static geometry, or nothing.
    places: Vec<Place>,
    standings: Vec<Standing>,
    columns: Columns,
    parts: Vec<Part>,
    /// Where the slots of each part end.
    ends: Vec<usize>,
    /// The parts before the present list.
    former: Vec<Part>,
    former_ends: Vec<usize>,
    impacts: Impacts,
    /// By body: its slot, or [`NONE`]. Empty if that is not known.
    slot_of: Vec<u32>,
    /// The tick at which the list was made, and for how many ticks it holds.
    made: Tick,
    horizon: Tick,
    /// Whether a ball has left its expected way.
    is_off: bool,
    /// The first body that was not finite from the start.
    not_finite: Option<u32>,
    skin_m: f64,
    skin_share: f64,
    /// Median and largest radius, metres.
    typical_m: f64,
    radius_max_m: f64,
    /// Radius that only a few exceed, metres.
    ordinary_m: f64,
    cells: Cells,
    /// By former slot: its cell. By cell: where its slots start. By slot: the former one.
    cell_of: Vec<u32>,
    starts: Vec<u32>,
    order: Vec<u32>,
    /// Bounds of all static geometry.
    hull: Aabb,
    /// What pairs keep from before this gear, until there is a list.
    imported: Vec<(PairKey, PairCache)>,
    /// Room for the next order.
    spare_flights: Vec<SlotFlight>,
    spare_places: Vec<Place>,
}

impl HeapGear {
    /// Whether all bodies are balls, and all contacts of one point.
    pub fn suits(world: &World) -> bool {
        let is_simple = |shape: &Shape| !matches!(shape, Shape::Ring(_) | Shape::Mesh(_));
        world.bodies.iter().all(|body| body.is_ball() && matches!(body.inertia, Inertia::Isotropic { .. }))
            && world.statics.iter().all(|object| is_simple(&object.shape))
    }

    /// All bodies as they are at `now`, and what pairs keep of the tick before, in order.
    pub fn new(
        world: &World,
        lanes: LaneChoice,
        parts_wanted: usize,
        flights: &Flights,
        imported: Vec<(PairKey, PairCache)>,
        now: Tick,
    ) -> Self {
        let slot_flight = |body: u32| {
            let Flight { since, origin: BodyState { x, q, v, w } } = flights.flight(body);
            SlotFlight { x, v, w, q, since, body, has_changed: true }
        };
        let flights: Vec<SlotFlight> = flights.present().map(slot_flight).collect();
        let def = |flight: &SlotFlight| &world.bodies[flight.body as usize];
        let place = |flight: &SlotFlight| {
            let def = def(flight);
            let (x, v) = (row(Vec3::zeros(), def.radius), row(Vec3::zeros(), def.inv_mass));
            let mut place = Place { x, v };
            flight.place_at(world, now, &mut place);
            place
        };
        let mut places: Vec<Place> = flights.iter().map(place).collect();
        places.push(Place::NOWHERE);
        let is_finite = |(flight, place): &(&SlotFlight, &Place)| {
            (vector(&place.x).amax() + vector(&place.v).amax() + flight.w.amax()).is_finite()
        };
        let not_finite =
            flights.iter().zip(&places).find(|ball| !is_finite(ball)).map(|(flight, _)| flight.body);
        let mut radii: Vec<f64> = flights.iter().map(|flight| def(flight).radius).collect();
        radii.sort_unstable_by(f64::total_cmp);
        let radius = |rank: usize| radii.get(rank).copied().unwrap_or(1.0);
        let count = radii.len();
        HeapGear {
            lanes,
            parts_wanted,
            inv_inertias: Vec::new(),
            standings: vec![Standing::FIXED; flights.len() + 1],
            columns: Columns::default(),
            parts: Vec::new(),
            ends: Vec::new(),
            former: Vec::new(),
            former_ends: Vec::new(),
            impacts: Impacts::default(),
            slot_of: Vec::new(),
            made: now,
            horizon: 0,
            is_off: true,
            not_finite,
            skin_m: 0.0,
            skin_share: SKIN_FIRST,
            typical_m: radius(count / 2),
            radius_max_m: radius(count.saturating_sub(1)),
            ordinary_m: radius(count.saturating_sub(1 + count / FEW)),
            cells: Cells::NONE,
            cell_of: Vec::new(),
            starts: Vec::new(),
            order: Vec::new(),
            hull: hull(world),
            imported,
            spare_flights: Vec::with_capacity(flights.len()),
            spare_places: Vec::with_capacity(places.len()),
            flights,
            places,
        }
    }

    /// Finds what touches at `tick`, which follows the tick that was solved last. If too many pairs are near, nothing has
    /// changed, and the answer is no.
    pub fn find(&mut self, world: &World, tick: Tick, counts: &mut Counts) -> bool {
        if self.is_off || tick > self.made + self.horizon {
            if !self.make_list(world, tick) {
                return false;
            }
            self.take_inertias(world);
            self.import(world);
        }
        let mut parts = std::mem::take(&mut self.parts);
        let mut standings = std::mem::take(&mut self.standings);
        let gear = &*self;
        let rooms = parts.iter_mut().zip(slices(&mut standings, &gear.ends));
        parallel::par_parts(rooms, |(part, standings)| {
            gear.lanes.run(Find { gear, world, part, standings });
        });
        (self.parts, self.standings) = (parts, standings);
        for part in &self.parts {
            counts.contacts += part.counts.new;
            counts.contact_ticks += part.counts.pairs + part.counts.at_statics;
            counts.max_overlap_m = counts.max_overlap_m.max(part.counts.max_overlap_m);
        }
        true
    }

    /// Number of contacts at this tick: of pairs of balls, and all.
    pub fn contacts(&self) -> (u64, u64) {
        let pairs = self.parts.iter().map(|part| part.counts.pairs).sum();
        let at_statics: u64 = self.parts.iter().map(|part| part.counts.at_statics).sum();
        (pairs, pairs + at_statics)
    }

    /// The pairs of balls in contact at this tick, in order.
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        let body = |slot: u32| self.columns.body[slot as usize];
        let of_part = |part: &Part| {
            let contacts = part.contacts.a.iter().zip(&part.contacts.b);
            let pairs = contacts.filter(|(_, b)| **b as usize != self.flights.len());
            pairs.map(|(a, b)| (body(*a), body(*b))).collect::<Vec<_>>()
        };
        let mut pairs: Vec<(u32, u32)> = self.parts.iter().flat_map(of_part).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Solves the contacts of `tick`, and goes on to the next.
    pub fn respond(&mut self, world: &World, tick: Tick) {
        self.solve_impacts(world);
        self.rest(world);
        let (lanes, made, skin_m) = (self.lanes, self.made, self.skin_m);
        let (columns, standings, ends) = (&self.columns, &self.standings[..], &self.ends);
        let rooms =
            self.parts.iter_mut().zip(slices(&mut self.flights, ends)).zip(slices(&mut self.places, ends));
        parallel::par_parts(rooms, |((part, flights), places)| {
            lanes.run(GoOn { world, tick, made, skin_m, columns, standings, part, flights, places });
        });
        for part in &mut self.parts {
            self.is_off |= std::mem::take(&mut part.is_off);
        }
    }

    /// The first body with a state that is not finite at the present tick.
    pub fn not_finite(&self) -> Option<u32> {
        self.parts.iter().filter_map(|part| part.not_finite).chain(self.not_finite).min()
    }

    /// The flight of a body that is present.
    pub fn flight(&mut self, body: u32) -> Flight {
        let slot = self.slot(body);
        let SlotFlight { x, v, w, q, since, .. } = self.flights[slot];
        Flight { since, origin: BodyState { x, q, v, w } }
    }

    /// Gives a body that is present another flight, before `tick`.
    pub fn set_flight(&mut self, world: &World, body: u32, flight: &Flight, tick: Tick) {
        let slot = self.slot(body);
        let Flight { since, origin: BodyState { x, q, v, w } } = *flight;
        self.flights[slot] = SlotFlight { x, v, w, q, since, body, has_changed: true };
        self.flights[slot].place_at(world, tick, &mut self.places[slot]);
        // Mostly it leaves its way.
        self.is_off = true;
        if let Some(part) = self.parts.iter_mut().find(|part| part.slots.contains(&slot)) {
            let is_finite = (x.amax() + v.amax() + w.amax()).is_finite();
            if !is_finite {
                part.not_finite = Some(part.not_finite.map_or(body, |other| other.min(body)));
            }
        }
    }

    /// All flights.
    pub fn export(&self, flights: &mut Flights) {
        for SlotFlight { x, v, w, q, since, body, .. } in &self.flights {
            flights.set(*body, &Flight { since: *since, origin: BodyState { x: *x, q: *q, v: *v, w: *w } });
        }
    }

    /// What pairs keep of the tick that was solved last, in order.
    pub fn caches(&self) -> Vec<(PairKey, PairCache)> {
        // Nothing has been looked for yet: what came from before is still as it was.
        let mut caches = self.imported.clone();
        for part in &self.parts {
            for (ball, slot) in part.slots.clone().enumerate() {
                let body = self.flights[slot].body;
                let touches = part.contacts.of(ball).iter().filter(|touch| touch.partner > body);
                caches.extend(touches.map(|touch| {
                    let is_static = touch.partner & STATIC != 0;
                    let key = PairKey { is_static, a: body, b: touch.partner & !STATIC };
                    (key, part.known(part.contacts.pair[touch.contact as usize]).cache())
                }));
            }
        }
        caches.sort_by_key(|(key, _)| *key);
        caches
    }

    /// The bodies that are present, in order, and their states at a tick.
    pub fn states(&mut self, world: &World, tick: Tick) -> Vec<(BodyId, BodyState)> {
        self.know_slots();
        let bodies: Vec<u32> =
            (0..self.slot_of.len() as u32).filter(|body| self.slot_of[*body as usize] != NONE).collect();
        let (flights, slot_of) = (&self.flights, &self.slot_of);
        states::all(world, self.lanes, tick, bodies.len(), |at| {
            let SlotFlight { x, v, w, q, since, body, .. } = flights[slot_of[bodies[at] as usize] as usize];
            (body, Flight { since, origin: BodyState { x, q, v, w } })
        })
    }

    /// The slot of a body that is present.
    fn slot(&mut self, body: u32) -> usize {
        self.know_slots();
        self.slot_of[body as usize] as usize
    }

    /// Finds the slots of all bodies.
    fn know_slots(&mut self) {
        if !self.slot_of.is_empty() {
            return;
        }
        let bodies = self.flights.iter().map(|flight| flight.body as usize + 1).max().unwrap_or(0);
        self.slot_of.resize(bodies, NONE);
        for (slot, flight) in self.flights.iter().enumerate() {
            self.slot_of[flight.body as usize] = slot as u32;
        }
    }

    /// Moments of inertia in the order of slots.
    fn take_inertias(&mut self, world: &World) {
        let flights = &self.flights;
        parallel::par_fill(&mut self.inv_inertias, flights.len(), |slot| {
            match world.bodies[flights[slot].body as usize].inertia {
                Inertia::Isotropic { moment } => 1.0 / moment,
                Inertia::Principal { .. } => unreachable!("balls are the same about every axis"),
            }
        });
    }

    /// Gives pairs what they kept before this gear.
    fn import(&mut self, world: &World) {
        let imported = std::mem::take(&mut self.imported);
        if imported.is_empty() {
            return;
        }
        self.know_slots();
        for (PairKey { is_static, a, b }, cache) in &imported {
            let slot = |body: u32| self.slot_of.get(body as usize).copied().filter(|slot| *slot != NONE);
            let sides = if *is_static { [slot(*a), None] } else { [slot(*a), slot(*b)] };
            let partners = if *is_static { [STATIC | b, NONE] } else { [*b, *a] };
            let surface = match is_static {
                true => world.bodies[*a as usize].surface.combined(&world.statics[*b as usize].surface),
                false => world.bodies[*a as usize].surface.combined(&world.bodies[*b as usize].surface),
            };
            let known = Known::of(cache, surface.friction, surface.restitution);
            for (slot, partner) in sides.into_iter().zip(partners) {
                let Some(slot) = slot else { continue };
                let at = self.ends.partition_point(|end| *end <= slot as usize);
                self.parts[at].set_known(slot as usize, partner, known);
            }
        }
    }
}

/// Bounds of all static geometry.
fn hull(world: &World) -> Aabb {
    let nothing = Aabb { min: Vec3::repeat(f64::INFINITY), max: Vec3::repeat(f64::NEG_INFINITY) };
    world.statics.iter().fold(nothing, |hull, object| {
        let bounds = object.shape.aabb(object.x, &object.q);
        Aabb { min: hull.min.inf(&bounds.min), max: hull.max.sup(&bounds.max) }
    })
}

impl Known {
    fn of(cache: &PairCache, friction: f64, restitution: f64) -> Self {
        let normal_impulse = cache.points.iter().map(|point| point.normal_impulse).sum();
        let along = cache.patches.first().map_or(Vec3::zeros(), |patch| patch.tangent_impulse);
        Known { impulse: row(along, normal_impulse), friction, restitution, bounces: cache.bounces }
    }

    fn cache(&self) -> PairCache {
        let patch = PatchCache { tangent_impulse: vector(&self.impulse), spin_impulse: 0.0 };
        PairCache {
            bounces: self.bounces,
            points: smallvec![PointCache { feature: 0, normal_impulse: self.impulse[3] }],
            patches: if self.friction > 0.0 { smallvec![patch] } else { smallvec![] },
        }
    }
}

impl Part {
    /// Lets a near pair have touched at the tick before.
    fn set_known(&mut self, slot: usize, partner: u32, known: Known) {
        let ball = slot - self.slots.start;
        if partner & STATIC != 0 {
            let near = self.statics_of_ball[ball] as usize..self.statics_of_ball[ball + 1] as usize;
            for at in near {
                if self.statics[at].object | STATIC == partner {
                    (self.statics[at].contact, self.static_known[at]) = (0, known);
                }
            }
            return;
        }
        let pairs = self.pairs_of_ball[ball] as usize..self.pairs_of_ball[ball + 1] as usize;
        for (pair, _) in self.pair_order[pairs].iter().filter(|(_, body)| *body == partner) {
            (self.contact[*pair as usize], self.known[*pair as usize]) = (0, known);
        }
    }
}
