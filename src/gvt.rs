//! Committed frames: flights below global virtual time, evaluated off the hot path, in order.

use std::sync::{Mutex, PoisonError};

use crate::frame::Frame;
use crate::physics::{Flight, World};
use crate::protocol::Place;
use crate::state::BodyState;
use crate::time::Tick;

/// The flights of one body, with the tick each begins at, ascending.
type Flights = Vec<(Tick, Flight)>;

/// The flights of every body that frames may still need, with the tick each begins at.
pub struct FlightLog {
    bodies: Box<[Mutex<Flights>]>,
}

impl FlightLog {
    /// A log in which every body has begun to fly at tick 0.
    pub fn new(world: &World) -> Self {
        let begun = |start: &BodyState| Mutex::new(vec![(0, Flight { since: 0, origin: *start })]);
        FlightLog { bodies: world.bodies.iter().map(|body| begun(&body.start)).collect() }
    }

    /// Takes back the flights of a body that begin after `tick`.
    pub fn land(&self, body: Place, tick: Tick) {
        self.with(body, |flights| flights.retain(|(from, _)| *from <= tick));
    }

    /// A flight that begins at `tick`.
    pub fn take_off(&self, body: Place, tick: Tick, flight: Flight) {
        self.with(body, |flights| flights.push((tick, flight)));
    }

    /// The frame at a tick that global virtual time has reached. Frames must be asked for in order: what only
    /// earlier ones need is dropped.
    pub fn frame(&self, world: &World, tick: Tick) -> Frame {
        let mut bodies = Vec::with_capacity(world.bodies.len());
        for (place, body) in world.bodies.iter().enumerate() {
            let flight = self.with(place as Place, |flights| {
                drop_superseded(flights, tick);
                flights.first().map(|(_, flight)| *flight)
            });
            let flight = flight.expect("invariant: every body flies at every committed tick");
            bodies.push((body.id, flight.state_at(world, body, tick)));
        }
        let index = tick / u64::from(world.time.ticks_per_frame);
        Frame { index, tick, time_s: world.time.span_s(0, tick), bodies }
    }

    /// Drops what no frame from `gvt` on needs.
    pub fn clear_before(&self, gvt: Tick) {
        for body in 0..self.bodies.len() {
            self.with(body as Place, |flights| drop_superseded(flights, gvt));
        }
    }

    /// Number of flights kept, of all bodies together.
    pub fn len(&self) -> usize {
        (0..self.bodies.len()).map(|body| self.with(body as Place, |flights| flights.len())).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with<T>(&self, body: Place, act: impl FnOnce(&mut Flights) -> T) -> T {
        act(&mut self.bodies[body as usize].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keeps the flight at `tick` and those that begin later.
fn drop_superseded(flights: &mut Flights, tick: Tick) {
    let later = flights.partition_point(|(from, _)| *from <= tick);
    flights.drain(..later.saturating_sub(1));
}
