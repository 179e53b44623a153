//! The flight log: flights of all bodies, from which committed frames are evaluated in order, off the hot path.

use smallvec::SmallVec;

use crate::base::frame::Frame;
use crate::base::sync::{Mutex, MutexGuard, lock};
use crate::base::time::Tick;
use crate::physics::{BodyDef, Flight, World};
use crate::protocol::BodyIndex;

/// The flights of one body, with the tick each begins at, ascending; `None` from the tick on at which the body is
/// despawned. There is mostly one flight, which is stored in place, so that a frame reads memory in order.
type Flights = SmallVec<[(Tick, Option<Flight>); 1]>;

/// This many bodies share a lock, so that a frame need not take one for every body. Not tuned.
const BLOCK_BODIES: usize = 32;

/// The flights of every body that frames may still need.
pub struct FlightLog {
    /// Blocks of bodies; every block but the last is full.
    blocks: boxcar::Vec<Mutex<Vec<Flights>>>,
}

impl FlightLog {
    /// A log in which every body of the scene has a flight that begins at tick 0.
    pub fn new(world: &World) -> Self {
        let first_flight = |body: &BodyDef| -> Flights {
            SmallVec::from_buf([(0, Some(Flight { since: 0, origin: body.start }))])
        };
        let block = |bodies: &[BodyDef]| {
            let mut block = Vec::with_capacity(BLOCK_BODIES);
            block.extend(bodies.iter().map(first_flight));
            Mutex::new(block)
        };
        FlightLog { blocks: world.bodies.at_start().chunks(BLOCK_BODIES).map(block).collect() }
    }

    /// Adds one more body, without a flight. One caller at a time.
    pub fn add_body(&self) {
        let last = self.blocks.count().checked_sub(1).map(|last| &self.blocks[last]);
        if let Some(mut block) = last.map(lock).filter(|block| block.len() < BLOCK_BODIES) {
            return block.push(Flights::new());
        }
        let mut block = Vec::with_capacity(BLOCK_BODIES);
        block.push(Flights::new());
        self.blocks.push(Mutex::new(block));
    }

    /// Removes the flights of a body that begin after `tick`.
    pub fn retract(&self, body: BodyIndex, tick: Tick) {
        self.with(body, |flights| flights.retain(|(from, _)| *from <= tick));
    }

    /// Adds flights with the ticks they begin at; `None` where a body is despawned. Ascending bodies save locks.
    pub fn start(&self, flights: impl Iterator<Item = (BodyIndex, Tick, Option<Flight>)>) {
        let mut open: Option<(usize, MutexGuard<Vec<Flights>>)> = None;
        for (body, tick, flight) in flights {
            let (number, index) = (body as usize / BLOCK_BODIES, body as usize % BLOCK_BODIES);
            let (_, block) = match open.take().filter(|(known, _)| *known == number) {
                Some(known) => open.insert(known),
                None => open.insert((number, lock(&self.blocks[number]))),
            };
            block[index].push((tick, flight));
        }
    }

    /// The frame at a tick that GVT has reached. Frames must be taken in order: what only earlier ones need is dropped.
    pub fn frame(&self, world: &World, tick: Tick) -> Frame {
        let mut bodies = Vec::with_capacity(self.blocks.count() * BLOCK_BODIES);
        for (number, block) in self.blocks.iter() {
            for (index, flights) in lock(block).iter_mut().enumerate() {
                drop_superseded(flights, tick);
                let current = flights.first().filter(|(from, _)| *from <= tick);
                if let Some(flight) = current.and_then(|(_, flight)| flight.as_ref()) {
                    let body = &world.bodies[number * BLOCK_BODIES + index];
                    bodies.push((body.id, flight.state_at(world, body, tick)));
                }
            }
        }
        Frame::new(&world.time, tick, bodies)
    }

    /// Drops flights that no frame from `gvt` on needs.
    pub fn clear_before(&self, gvt: Tick) {
        for (_, block) in self.blocks.iter() {
            lock(block).iter_mut().for_each(|flights| drop_superseded(flights, gvt));
        }
    }

    /// Number of flights in the log, of all bodies together.
    pub fn len(&self) -> usize {
        self.blocks
            .iter()
            .map(|(_, block)| lock(block).iter().map(|flights| flights.len()).sum::<usize>())
            .sum()
    }

    /// Whether the log holds no flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with<T>(&self, body: BodyIndex, change: impl FnOnce(&mut Flights) -> T) -> T {
        let (block, index) = (body as usize / BLOCK_BODIES, body as usize % BLOCK_BODIES);
        change(&mut lock(&self.blocks[block])[index])
    }
}

/// Keeps the flight at `tick` and those that begin later.
fn drop_superseded(flights: &mut Flights, tick: Tick) {
    if flights.len() > 1 {
        let later = flights.partition_point(|(from, _)| *from <= tick);
        flights.drain(..later.saturating_sub(1));
    }
}
