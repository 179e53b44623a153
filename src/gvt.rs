//! Committed frames: flights below global virtual time, evaluated off the hot path, in order.

use std::sync::{Mutex, PoisonError};

use crate::frame::Frame;
use crate::physics::{Flight, World};
use crate::protocol::Place;
use crate::state::BodyState;
use crate::time::Tick;

/// The flights of one body, with the tick each begins at, ascending; none from where it is no more.
type Flights = Vec<(Tick, Option<Flight>)>;

/// The flights of every body that frames may still need, with the tick each begins at.
pub struct FlightLog {
    bodies: boxcar::Vec<Mutex<Flights>>,
}

impl FlightLog {
    /// A log in which every body of the scene has begun to fly at tick 0.
    pub fn new(world: &World) -> Self {
        let begun = |start: &BodyState| Mutex::new(vec![(0, Some(Flight { since: 0, origin: *start }))]);
        FlightLog { bodies: world.bodies.at_start().iter().map(|body| begun(&body.start)).collect() }
    }

    /// Makes room for one more body, which has yet to take off.
    pub fn make_room(&self) {
        self.bodies.push(Mutex::default());
    }

    /// Takes back the flights of a body that begin after `tick`.
    pub fn land(&self, body: Place, tick: Tick) {
        self.with(body, |flights| flights.retain(|(from, _)| *from <= tick));
    }

    /// A flight that begins at `tick`; none if the body is no more from then on.
    pub fn take_off(&self, body: Place, tick: Tick, flight: Option<Flight>) {
        self.with(body, |flights| flights.push((tick, flight)));
    }

    /// The frame at a tick that global virtual time has reached. Frames must be asked for in order: what only
    /// earlier ones need is dropped.
    pub fn frame(&self, world: &World, tick: Tick) -> Frame {
        let count = self.bodies.count();
        let mut bodies = Vec::with_capacity(count);
        for place in 0..count {
            let flight = self.with(place as Place, |flights| {
                drop_superseded(flights, tick);
                flights.first().filter(|(from, _)| *from <= tick).and_then(|(_, flight)| *flight)
            });
            if let Some(flight) = flight {
                let body = &world.bodies[place];
                bodies.push((body.id, flight.state_at(world, body, tick)));
            }
        }
        let index = tick / u64::from(world.time.ticks_per_frame);
        Frame { index, tick, time_s: world.time.span_s(0, tick), bodies }
    }

    /// Drops what no frame from `gvt` on needs.
    pub fn clear_before(&self, gvt: Tick) {
        for body in 0..self.bodies.count() {
            self.with(body as Place, |flights| drop_superseded(flights, gvt));
        }
    }

    /// Number of flights kept, of all bodies together.
    pub fn len(&self) -> usize {
        (0..self.bodies.count()).map(|body| self.with(body as Place, |flights| flights.len())).sum()
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
