//! The bodies of one process in flat arrays, advanced tick by tick with the result of the plain loop.
//!
//! Two gears do the same work. [`calendar_gear`] is for bodies that fly: it knows when something is due, and skips all
//! other ticks. [`near_gear`] is for bodies that touch: it visits all bodies at every tick, in loops that cores share. A
//! store changes gear by what it counts; the result is the same in both. Where all bodies are balls, [`heap`] takes the
//! place of the latter: it does the same with fewer steps, in the registers of four.

mod calendar;
mod calendar_gear;
mod cells;
mod cut;
mod flights;
mod heap;
mod lattice;
mod message;
mod near_gear;
mod partition;
mod region;
mod response;
mod states;
mod ways;

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::lanes::LaneChoice;
use crate::base::math::Vec3;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::collision::crowd::{Crowd, touching_max};
use crate::physics::{BodyInput, Flight, InputKind, World, touching, touching_static};
pub(crate) use crate::store::calendar_gear::Scale;
use crate::store::calendar_gear::{CalendarGear, Due};
pub(crate) use crate::store::cut::Cut;
use crate::store::flights::Flights;
use crate::store::heap::HeapGear;
pub(crate) use crate::store::lattice::Lattice;
pub(crate) use crate::store::message::{Message, Word};
use crate::store::near_gear::NearGear;
pub(crate) use crate::store::partition::{Partition, REGIONS_MAX};
pub use crate::store::region::RegionFault;
pub(crate) use crate::store::region::{FramePart, Region, RegionStats};
pub(crate) use crate::store::response::Counts;
use crate::store::response::{Found, PairKey, Response};

/// A store takes the gear for touching bodies if more than one body in this many touches something per tick, ... Not tuned.
pub(crate) const DENSE: u64 = 24;
/// ... and that for flying bodies if fewer than one in this many does. Not tuned.
const THIN: u64 = 64;
/// Ticks over which contacts are counted before a store takes the gear for touching bodies, and that for flying ones. The
/// former is the cheaper mistake. Not tuned.
const COUNTED_TICKS: (u64, u64) = (4, 32);

/// Most bodies that the gear for flying bodies may compare with all others, if it was not chosen. Not tuned.
const LARGE_MAX: usize = 64;

/// Ticks between two changes under [`GearChoice::Alternate`]. Not tuned.
const ALTERNATE_TICKS: Tick = 5;

/// The gear of [`SyncMode::Lockstep`](crate::SyncMode::Lockstep). The result stays the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GearChoice {
    /// Whichever suits the contacts counted lately. The default.
    #[default]
    Auto,
    /// Always the one for bodies that fly, a calendar that says when to look, unless it would take too much memory.
    Calendar,
    /// Always the one for bodies that touch: a list of near pairs, and all bodies at every tick.
    Near,
    /// The same, made for balls. As `Near` where there are bodies of other shapes, or static geometry that a ball may touch
    /// in several points.
    Heap,
    /// Changes every few ticks, to test that changing is right.
    Alternate,
}

/// How a store does its work. None of this changes a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub choice: GearChoice,
    pub lanes: LaneChoice,
    /// Parts of a heap; 0 for as many as threads.
    pub parts: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { choice: GearChoice::Auto, lanes: LaneChoice::best(), parts: 0 }
    }
}

/// Why a store cannot go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StoreError {
    /// The state of a body is not finite any more.
    NotFinite(BodyId),
    /// More bodies are in one place than there is memory for.
    Crowded(Crowd),
}

enum Gear {
    Calendar(Box<CalendarGear>),
    Near(Box<NearGear>),
    Heap(Box<HeapGear>),
}

/// What a gear is, without its content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GearKind {
    Calendar,
    Near,
    Heap,
}

impl Gear {
    fn kind(&self) -> GearKind {
        match self {
            Gear::Calendar(_) => GearKind::Calendar,
            Gear::Near(_) => GearKind::Near,
            Gear::Heap(_) => GearKind::Heap,
        }
    }
}

/// The bodies of one process.
pub(crate) struct Store<'w> {
    world: &'w World,
    flights: Flights,
    choice: GearChoice,
    gear: Gear,
    response: Response<'w>,
    lanes: LaneChoice,
    parts: usize,
    due: Due,
    near_statics: Vec<u32>,
    /// Bodies with a new flight at this tick.
    changed: Vec<u32>,
    counts: Counts,
    /// Contacts since the gear was last chosen, and the tick of that.
    counted: (u64, Tick),
}

impl<'w> Store<'w> {
    /// All bodies of a world at a cut.
    pub fn new(
        world: &'w World,
        Cut { tick, flights, caches }: Cut,
        Setup { choice, lanes, parts }: Setup,
    ) -> Self {
        let mut response = Response::default();
        response.remember(&caches, tick.saturating_sub(1));
        let mut store = Store {
            world,
            choice,
            gear: Gear::Near(Box::new(NearGear::new(world, &Flights::default()))),
            flights,
            response,
            lanes,
            parts,
            due: Due::default(),
            near_statics: Vec::new(),
            changed: Vec::new(),
            counts: Counts::default(),
            counted: (0, tick),
        };
        store.gear = store.make_gear(
            match choice {
                GearChoice::Auto | GearChoice::Calendar => GearKind::Calendar,
                GearChoice::Near => GearKind::Near,
                GearChoice::Heap | GearChoice::Alternate => GearKind::Heap,
            },
            tick,
        );
        store
    }

    /// A gear that begins with `tick`.
    fn make_gear(&self, kind: GearKind, tick: Tick) -> Gear {
        let (world, flights) = (self.world, &self.flights);
        match kind {
            GearKind::Calendar => {
                let scale = Scale::of(world, flights, tick, 1.0);
                let is_large = |body: &u32| world.bodies[*body as usize].radius > scale.ordinary_m;
                let large = flights.present().filter(is_large).count();
                if self.choice == GearChoice::Auto && large > LARGE_MAX {
                    return self.make_gear(GearKind::Heap, tick);
                }
                let gear = CalendarGear::new(world, flights, scale, None, tick);
                if gear.is_full {
                    self.make_gear(GearKind::Heap, tick)
                } else {
                    Gear::Calendar(Box::new(gear))
                }
            }
            GearKind::Heap if HeapGear::suits(world) => {
                let caches = tick.checked_sub(1).map_or(&[][..], |before| self.response.caches_of(before));
                Gear::Heap(Box::new(HeapGear::new(
                    world,
                    self.lanes,
                    self.parts,
                    flights,
                    caches.to_vec(),
                    tick,
                )))
            }
            GearKind::Heap | GearKind::Near => Gear::Near(Box::new(NearGear::new(world, flights))),
        }
    }

    /// Changes to a gear of a kind, which begins with `tick`.
    fn change_gear(&mut self, kind: GearKind, tick: Tick) {
        if let Gear::Heap(gear) = &self.gear {
            gear.export(&mut self.flights);
            self.response.remember(&gear.caches(), tick - 1);
        }
        self.gear = self.make_gear(kind, tick);
    }

    /// How many contacts there were so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The states of all bodies at a tick that has not been responded to.
    pub fn frame(&mut self, tick: Tick) -> Result<Frame, StoreError> {
        let (world, flights, lanes) = (self.world, &self.flights, self.lanes);
        let bodies = match &mut self.gear {
            Gear::Heap(gear) => gear.states(world, tick),
            Gear::Calendar(_) => {
                let present: Vec<u32> = flights.present().collect();
                states::all(world, lanes, tick, present.len(), |at| {
                    (present[at], flights.flight(present[at]))
                })
            }
            Gear::Near(gear) => {
                let present: Vec<u32> = flights.present().collect();
                let mut bodies = Vec::new();
                parallel::par_fill(&mut bodies, present.len(), |at| {
                    (world.bodies[present[at] as usize].id, gear.state(world, flights, present[at], tick))
                });
                bodies
            }
        };
        let mut not_finite = Vec::new();
        parallel::par_collect(&mut not_finite, bodies.len(), |range, found| {
            let is_bad = |(_, state): &&(BodyId, BodyState)| !state.is_finite();
            found.extend(bodies[range].iter().find(is_bad).map(|(id, _)| *id));
        });
        match not_finite.first() {
            Some(id) => Err(StoreError::NotFinite(*id)),
            None => Ok(Frame::new(&world.time, tick, bodies)),
        }
    }

    /// Goes on to `tick`. Ticks come one after the other.
    pub fn begin(&mut self, tick: Tick) -> Result<(), StoreError> {
        self.choose_gear(tick);
        self.evaluate(tick)
    }

    /// Brings the gear to `tick`.
    fn evaluate(&mut self, tick: Tick) -> Result<(), StoreError> {
        let not_finite = match &mut self.gear {
            Gear::Calendar(_) => return Ok(()),
            Gear::Near(gear) => {
                gear.evaluate(self.world, &self.flights, tick);
                gear.not_finite()
            }
            Gear::Heap(gear) => gear.not_finite(),
        };
        not_finite.map_or(Ok(()), |body| Err(StoreError::NotFinite(self.world.bodies[body as usize].id)))
    }

    /// Finds everything that touches at `tick`, which has begun.
    pub fn find(&mut self, tick: Tick) -> Result<(), StoreError> {
        let world = self.world;
        if let Gear::Calendar(gear) = &mut self.gear {
            gear.due(world, &self.flights, tick, &mut self.due);
            if gear.is_full {
                self.change_gear(GearKind::Heap, tick);
                self.check_near(tick)?;
                self.evaluate(tick)?;
            }
        }
        if let Gear::Heap(gear) = &mut self.gear {
            if gear.find(world, tick, &mut self.counts) {
                let (most, (pairs, all)) = (touching_max(self.flights.len()), gear.contacts());
                self.counted.0 += all;
                let crowd = || Crowd::of_pairs(world, gear.pairs().into_iter().take(most + 1));
                return if pairs > most as u64 { Err(StoreError::Crowded(crowd())) } else { Ok(()) };
            }
            // More are near each other than its lists hold: they touch and are too many, or another gear goes on.
            self.change_gear(GearKind::Near, tick);
            self.check_near(tick)?;
            self.evaluate(tick)?;
        }
        match &mut self.gear {
            Gear::Near(gear) => gear.find(world, &self.flights, tick, &mut self.response.found),
            Gear::Calendar(_) => self.find_due(tick),
            Gear::Heap(_) => unreachable!("heaps are done above"),
        }
        self.check_crowd()?;
        self.response.count(tick, &mut self.counts);
        self.counted.0 += self.response.found.len() as u64;
        Ok(())
    }

    /// Looks at what is due.
    fn find_due(&mut self, tick: Tick) {
        let Gear::Calendar(gear) = &mut self.gear else { return };
        let (world, flights, found) = (self.world, &self.flights, &mut self.response.found);
        found.clear();
        for &(a, b) in &self.due.pairs {
            let (def_a, def_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
            let at =
                |body: u32| flights.flight(body).touching_state_at(world, &world.bodies[body as usize], tick);
            match touching(&world.rule, def_a, &at(a), def_b, &at(b)) {
                Some(manifold) => found.push(Found { key: PairKey { is_static: false, a, b }, manifold }),
                None => gear.look_on(world, flights, (a, b), tick),
            }
        }
        for &body in &self.due.at_statics {
            let def = &world.bodies[body as usize];
            let state = flights.flight(body).touching_state_at(world, def, tick);
            let bounds = def.shape.aabb(state.x, &state.q).grown(world.rule.broad_margin_m);
            world.static_bvh.near(&bounds, &mut self.near_statics);
            let before = found.len();
            for &object in &self.near_statics {
                let key = PairKey { is_static: true, a: body, b: object };
                if let Some(manifold) =
                    touching_static(&world.rule, def, &state, &world.statics[object as usize])
                {
                    found.push(Found { key, manifold });
                }
            }
            if found.len() == before {
                gear.look_on_at_statics(world, flights, body, tick);
            }
        }
    }

    /// Solves what was found at `tick`, and starts new flights.
    pub fn respond(&mut self, tick: Tick) {
        self.changed.clear();
        if let Gear::Heap(gear) = &mut self.gear {
            return gear.respond(self.world, tick);
        }
        let (world, flights, gear) = (self.world, &self.flights, &self.gear);
        if self.response.found.is_empty() {
            return;
        }
        let state = |body: u32| match gear {
            Gear::Near(gear) => gear.state(world, flights, body, tick),
            Gear::Calendar(_) | Gear::Heap(_) => flights.state_at(world, body, tick),
        };
        self.response.respond(world, tick, flights.len(), state);
        let (bodies, flights, index_of) = self.response.flights();
        if let Gear::Near(_) = gear {
            return self.flights.set_all(index_of, flights);
        }
        for (body, flight) in bodies.iter().zip(flights) {
            self.flights.set(*body, flight);
        }
        self.changed.extend(bodies);
    }

    /// Applies the inputs of a tick, after what touches has been responded to.
    pub fn act<'i>(&mut self, tick: Tick, inputs: impl Iterator<Item = &'i BodyInput>) {
        let (mut is_census, mut is_heap) = (false, false);
        for BodyInput { body, kind } in inputs {
            let is_present = (*body as usize) < self.flights.len() && self.flights.hot(*body).stamp != 0;
            let flight = match (is_present, kind) {
                (true, kind) => {
                    let onward = match &mut self.gear {
                        Gear::Heap(gear) => gear.flight(*body),
                        Gear::Calendar(_) | Gear::Near(_) => self.flights.flight(*body),
                    };
                    self.world.acted_on(tick, *body, &onward, kind)
                }
                (false, InputKind::Spawn(state)) => Some(Flight { since: tick, origin: *state }),
                (false, InputKind::Push { .. } | InputKind::SetVelocity { .. } | InputKind::Despawn) => {
                    continue;
                }
            };
            if is_present == flight.is_none() || !is_present {
                // Bodies that come or go change what a gear is made of.
                if let (Gear::Heap(_), false) = (&self.gear, is_census) {
                    self.change_gear(GearKind::Near, tick + 1);
                    is_heap = true;
                }
            }
            match (&mut self.gear, flight) {
                (Gear::Heap(gear), Some(flight)) => gear.set_flight(self.world, *body, &flight, tick + 1),
                (_, Some(flight)) => self.flights.set(*body, &flight),
                (_, None) => self.flights.remove(*body),
            }
            is_census |= is_present == flight.is_none() || !is_present;
            self.changed.push(*body);
        }
        if let (Gear::Near(gear), true) = (&mut self.gear, is_census) {
            gear.census(self.world, &self.flights);
        }
        if is_heap {
            self.change_gear(GearKind::Heap, tick + 1);
        }
    }

    /// Ends a tick: looks ahead for what has changed.
    pub fn advance(&mut self, tick: Tick) -> Result<(), StoreError> {
        let (world, flights) = (self.world, &self.flights);
        if let Gear::Calendar(gear) = &mut self.gear {
            // Bodies that are gone leave first: no other may find them.
            self.changed.sort_by_key(|body| flights.hot(*body).stamp != 0);
            for &body in &self.changed {
                let hot = flights.hot(body);
                let (x, v) = (hot.position_at(world, (tick + 1).max(hot.since)), hot.v);
                if hot.stamp != 0 && !(x.amax() + v.amax()).is_finite() {
                    return Err(StoreError::NotFinite(world.bodies[body as usize].id));
                }
                gear.change(world, flights, body, tick + 1);
            }
        }
        self.changed.clear();
        Ok(())
    }

    /// Takes the gear that was chosen, or that suits the contacts counted lately.
    fn choose_gear(&mut self, tick: Tick) {
        match self.choice {
            GearChoice::Auto => self.suit_contacts(tick),
            GearChoice::Calendar | GearChoice::Near | GearChoice::Heap => {}
            GearChoice::Alternate if tick.is_multiple_of(ALTERNATE_TICKS) && tick > 0 => {
                let next = match self.gear.kind() {
                    GearKind::Near => GearKind::Calendar,
                    GearKind::Calendar => GearKind::Heap,
                    GearKind::Heap => GearKind::Near,
                };
                // Where it does not suit, it is near again.
                self.change_gear(next, tick);
            }
            GearChoice::Alternate => {}
        }
    }

    /// Takes the gear that suits the contacts counted lately.
    fn suit_contacts(&mut self, tick: Tick) {
        let (contacts, since) = self.counted;
        let ticks = tick - since;
        let enough = if self.gear.kind() == GearKind::Calendar { COUNTED_TICKS.0 } else { COUNTED_TICKS.1 };
        if ticks < enough {
            return;
        }
        self.counted = (0, tick);
        let bodies = self.flights.len() as u64;
        match &self.gear {
            Gear::Near(_) | Gear::Heap(_) if contacts * THIN < bodies * ticks => {
                self.change_gear(GearKind::Calendar, tick);
            }
            Gear::Calendar(_) if contacts * DENSE > bodies * ticks => self.change_gear(GearKind::Heap, tick),
            Gear::Near(_) | Gear::Heap(_) | Gear::Calendar(_) => {}
        }
    }

    /// The same before any list is made, for flights that no gear has changed.
    fn check_near(&self, tick: Tick) -> Result<(), StoreError> {
        let (world, flights) = (self.world, &self.flights);
        let present: Vec<u32> = flights.present().collect();
        let state =
            |body: &u32| flights.flight(*body).touching_state_at(world, &world.bodies[*body as usize], tick);
        let states: Vec<BodyState> = present.iter().map(state).collect();
        let positions: Vec<Vec3> = states.iter().map(|state| state.x).collect();
        let radii: Vec<f64> = present.iter().map(|body| world.bodies[*body as usize].radius).collect();
        let mut grid = Grid::default();
        let near = grid.limited_pairs(&positions, &radii, world.rule.broad_margin_m);
        let of = |at: u32| (present[at as usize], states[at as usize]);
        Crowd::among(world, near, present.len(), of).map_or(Ok(()), |crowd| Err(StoreError::Crowded(crowd)))
    }

    /// Refuses more contacts than a run can have.
    fn check_crowd(&self) -> Result<(), StoreError> {
        let (found, most) = (&self.response.found, touching_max(self.flights.len()));
        if found.len() <= most {
            return Ok(());
        }
        let pairs = found.iter().take_while(|found| !found.key.is_static).count();
        if pairs <= most {
            return Ok(());
        }
        // Not more than were needed to know.
        let pairs = found[..=most].iter().map(|found| (found.key.a, found.key.b));
        Err(StoreError::Crowded(Crowd::of_pairs(self.world, pairs)))
    }
}
