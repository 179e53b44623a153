//! The flights of all bodies, as flat arrays by index of the body: what a search reads next to each other, the rest apart.

use crate::base::math::{Quat, Vec3};
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::{Flight, FlightCursor, World};
use crate::store::response::NONE;

/// Position and velocity at the origin of a flight. One line of a processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Hot {
    pub x: Vec3,
    pub v: Vec3,
    pub since: Tick,
    /// Tells flights apart: every new one gets a number of its own. Zero: the body is not present.
    pub stamp: u64,
}

impl Hot {
    const ABSENT: Hot = Hot { x: Vec3::new(0.0, 0.0, 0.0), v: Vec3::new(0.0, 0.0, 0.0), since: 0, stamp: 0 };

    /// Position at `tick`, metres. The same bits as [`Flight::position_at`].
    #[inline]
    pub fn position_at(&self, world: &World, tick: Tick) -> Vec3 {
        if tick == self.since {
            return self.x;
        }
        let tau = world.time.span_s(self.since, tick);
        self.x + self.v * tau + world.gravity * (tau * tau * 0.5)
    }

    /// Velocity at `tick`, m/s. The same bits as [`Flight::velocity_at`].
    #[inline]
    pub fn velocity_at(&self, world: &World, tick: Tick) -> Vec3 {
        if tick == self.since { self.v } else { self.v + world.gravity * world.time.span_s(self.since, tick) }
    }
}

/// The flight of a body as it was, to be restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    hot: Hot,
    spin: Spin,
}

impl Record {
    /// The stamp of the flight; zero if the body was not present.
    pub fn stamp(&self) -> u64 {
        self.hot.stamp
    }

    /// Where the body flew.
    pub fn hot(&self) -> &Hot {
        &self.hot
    }

    /// The flight.
    pub fn flight(&self) -> Flight {
        let (Hot { x, v, since, .. }, Spin { q, w }) = (self.hot, self.spin);
        Flight { since, origin: BodyState { x, q, v, w } }
    }
}

/// Orientation and angular velocity at the origin of a flight.
#[derive(Clone, Copy, Debug)]
struct Spin {
    q: Quat,
    w: Vec3,
}

/// The flight of every body that is present, by index of the body.
#[derive(Clone, Default)]
pub(crate) struct Flights {
    hot: Vec<Hot>,
    spin: Vec<Spin>,
    stamps: u64,
}

impl Flights {
    /// The flights of a world at its start.
    pub fn new(world: &World) -> Self {
        let mut flights = Flights::default();
        for (body, def) in world.bodies.at_start().iter().enumerate() {
            flights.set(body as u32, &Flight { since: 0, origin: def.start });
        }
        flights
    }

    /// Number of bodies so far, those that are not present included.
    pub fn len(&self) -> usize {
        self.hot.len()
    }

    /// The largest number of a flight so far: what is larger is newer.
    pub fn newest(&self) -> u64 {
        self.stamps
    }

    /// Indices of the bodies that are present, ascending.
    pub fn present(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.hot.len() as u32).filter(|body| self.hot[*body as usize].stamp != 0)
    }

    /// Where a body flies.
    #[inline]
    pub fn hot(&self, body: u32) -> &Hot {
        &self.hot[body as usize]
    }

    /// Whether this is still the flight of the body.
    #[inline]
    pub fn is_current(&self, body: u32, stamp: u64) -> bool {
        self.hot[body as usize].stamp == stamp
    }

    /// The flight of a body that is present.
    #[inline]
    pub fn flight(&self, body: u32) -> Flight {
        self.record(body).flight()
    }

    /// The state of a body that is present.
    #[inline]
    pub fn state_at(&self, world: &World, body: u32, tick: Tick) -> BodyState {
        self.flight(body).state_at(world, &world.bodies[body as usize], tick)
    }

    /// A cursor along the flight of a body that is present.
    pub fn cursor(&self, body: u32) -> FlightCursor {
        FlightCursor::new(self.flight(body))
    }

    /// A new flight of a body, which may be a new body.
    #[inline]
    pub fn set(&mut self, body: u32, flight: &Flight) {
        let at = body as usize;
        self.make_room(at + 1);
        self.stamps += 1;
        let BodyState { x, q, v, w } = flight.origin;
        self.hot[at] = Hot { x, v, since: flight.since, stamp: self.stamps };
        self.spin[at] = Spin { q, w };
    }

    /// Makes room for so many bodies; new ones are not present.
    pub fn make_room(&mut self, bodies: usize) {
        if self.hot.len() < bodies {
            let spin = Spin { q: Quat::identity(), w: Vec3::zeros() };
            self.hot.resize(bodies, Hot::ABSENT);
            self.spin.resize(bodies, spin);
        }
    }

    /// A body as it is.
    pub fn record(&self, body: u32) -> Record {
        Record { hot: self.hot[body as usize], spin: self.spin[body as usize] }
    }

    /// A body as it was, with the stamp that it had: what was proposed about that flight counts again.
    pub fn restore(&mut self, body: u32, record: &Record) {
        self.hot[body as usize] = record.hot;
        self.spin[body as usize] = record.spin;
    }

    /// New flights of many bodies: `index_of` has the index of each body among them, or [`NONE`].
    pub fn set_all(&mut self, index_of: &[u32], flights: &[Flight]) {
        let stamps = self.stamps;
        parallel::par_for_pairs(&mut self.hot, &mut self.spin, |body, hot, spin| {
            let index = index_of[body];
            if index != NONE {
                let Flight { since, origin: BodyState { x, q, v, w } } = flights[index as usize];
                *hot = Hot { x, v, since, stamp: stamps + 1 + u64::from(index) };
                *spin = Spin { q, w };
            }
        });
        self.stamps += flights.len() as u64;
    }

    /// Removes a body.
    pub fn remove(&mut self, body: u32) {
        self.hot[body as usize].stamp = 0;
    }
}
