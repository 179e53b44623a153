//! Committed frames: flights below global virtual time, evaluated off the hot path, in order.

use smallvec::SmallVec;

use crate::base::frame::Frame;
use crate::base::sync::{Mutex, MutexGuard, lock};
use crate::base::time::Tick;
use crate::physics::{BodyDef, Flight, World};
use crate::protocol::BodyIndex;

/// The flights of one body, with the tick each begins at, ascending; none from where it is no more. Mostly one:
/// those lie next to each other, and a frame is one walk through memory.
type Flights = SmallVec<[(Tick, Option<Flight>); 1]>;

/// Neighbours in the list share a lock, so that a frame need not take one for every body.
const SHELF: usize = 32;

/// The flights of every body that frames may still need, with the tick each begins at.
pub struct FlightLog {
    /// Every shelf but the last is full.
    shelves: boxcar::Vec<Mutex<Vec<Flights>>>,
}

impl FlightLog {
    /// A log in which every body of the scene has begun to fly at tick 0.
    pub fn new(world: &World) -> Self {
        let begun = |body: &BodyDef| -> Flights {
            SmallVec::from_buf([(0, Some(Flight { since: 0, origin: body.start }))])
        };
        let shelf = |bodies: &[BodyDef]| {
            let mut shelf = Vec::with_capacity(SHELF);
            shelf.extend(bodies.iter().map(begun));
            Mutex::new(shelf)
        };
        FlightLog { shelves: world.bodies.at_start().chunks(SHELF).map(shelf).collect() }
    }

    /// Makes room for one more body, which has yet to take off. One caller at a time.
    pub fn add_body(&self) {
        let last = self.shelves.count().checked_sub(1).map(|last| &self.shelves[last]);
        if let Some(mut shelf) = last.map(lock).filter(|shelf| shelf.len() < SHELF) {
            return shelf.push(Flights::new());
        }
        let mut shelf = Vec::with_capacity(SHELF);
        shelf.push(Flights::new());
        self.shelves.push(Mutex::new(shelf));
    }

    /// Removes the flights of a body that begin after `tick`.
    pub fn retract(&self, body: BodyIndex, tick: Tick) {
        self.with(body, |flights| flights.retain(|(from, _)| *from <= tick));
    }

    /// Flights that begin at certain ticks; none where a body is no more from then on. Neighbours in the list of bodies
    /// should come one after the other.
    pub fn start(&self, departures: impl Iterator<Item = (BodyIndex, Tick, Option<Flight>)>) {
        let mut open: Option<(usize, MutexGuard<Vec<Flights>>)> = None;
        for (body, tick, flight) in departures {
            let (number, at) = (body as usize / SHELF, body as usize % SHELF);
            let (_, shelf) = match open.take().filter(|(known, _)| *known == number) {
                Some(known) => open.insert(known),
                None => open.insert((number, lock(&self.shelves[number]))),
            };
            shelf[at].push((tick, flight));
        }
    }

    /// The frame at a tick that global virtual time has reached. Frames must be asked for in order: what only
    /// earlier ones need is dropped.
    pub fn frame(&self, world: &World, tick: Tick) -> Frame {
        let mut bodies = Vec::with_capacity(self.shelves.count() * SHELF);
        for (number, shelf) in self.shelves.iter() {
            for (at, flights) in lock(shelf).iter_mut().enumerate() {
                drop_superseded(flights, tick);
                let current = flights.first().filter(|(from, _)| *from <= tick);
                if let Some(flight) = current.and_then(|(_, flight)| flight.as_ref()) {
                    let body = &world.bodies[number * SHELF + at];
                    bodies.push((body.id, flight.state_at(world, body, tick)));
                }
            }
        }
        let index = tick / u64::from(world.time.ticks_per_frame);
        Frame { index, tick, time_s: world.time.span_s(0, tick), bodies }
    }

    /// Drops what no frame from `gvt` on needs.
    pub fn clear_before(&self, gvt: Tick) {
        for (_, shelf) in self.shelves.iter() {
            lock(shelf).iter_mut().for_each(|flights| drop_superseded(flights, gvt));
        }
    }

    /// Number of flights kept, of all bodies together.
    pub fn len(&self) -> usize {
        self.shelves
            .iter()
            .map(|(_, shelf)| lock(shelf).iter().map(|flights| flights.len()).sum::<usize>())
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with<T>(&self, body: BodyIndex, act: impl FnOnce(&mut Flights) -> T) -> T {
        let (shelf, at) = (body as usize / SHELF, body as usize % SHELF);
        act(&mut lock(&self.shelves[shelf])[at])
    }
}

/// Keeps the flight at `tick` and those that begin later.
fn drop_superseded(flights: &mut Flights, tick: Tick) {
    if flights.len() > 1 {
        let later = flights.partition_point(|(from, _)| *from <= tick);
        flights.drain(..later.saturating_sub(1));
    }
}
