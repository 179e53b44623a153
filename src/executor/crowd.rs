//! All entities of a run with the table, the counters and the log they share: what every executor that speculates
//! needs, whatever carries its messages.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{RunError, Tally};
use crate::frame::Frame;
use crate::gvt::FlightLog;
use crate::physics::{Flight, World};
use crate::protocol::{Counters, Dynamics, Entity, EntityId, Grid, Limits, Outbox, Place, Stats};
use crate::time::Tick;
use crate::tvht::{Lane, SharedTable};

/// How a speculative run is carried out. None of this changes a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Most ticks an entity may be ahead of everybody else.
    pub window: u64,
    /// Most ticks ahead at which it may still respond to a contact; `None`: as far as proves worthwhile.
    pub contact_window: Option<u64>,
    /// Number of buckets of the table; 0 for as many as suit the scene.
    pub buckets: u32,
    /// Width of a cell in diameters of the typical body.
    pub cell_scale: f64,
    /// Bodies per entity.
    pub cluster: u32,
    /// Shorten the strides of bodies that are often rolled back.
    pub adaptive: bool,
    /// Where the buckets of the table are. The single-threaded drivers use shared memory always.
    pub lane: Lane,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            window: 61,
            contact_window: None,
            buckets: 0,
            cell_scale: 2.0,
            cluster: 1,
            adaptive: true,
            lane: Lane::Shared,
        }
    }
}

/// What all entities share.
pub struct Commons {
    /// The physics.
    pub world: Arc<World>,
    /// How space is divided.
    pub grid: Grid,
    /// The hash table in shared memory.
    pub table: SharedTable<World>,
    /// Who has come how far.
    pub counters: Counters,
    /// Flights for the frames.
    pub log: FlightLog,
    /// How far entities may run ahead.
    pub limits: Limits,
    /// The bodies of each entity.
    pub crews: Vec<Vec<Place>>,
}

impl Commons {
    /// Makes ready to run a world.
    pub fn new(world: Arc<World>, tuning: &Tuning) -> Self {
        let crews = crews(&world, tuning.cluster.max(1) as usize);
        let radii: Vec<f64> = (0..world.bodies.len() as Place).map(|place| world.radius(place)).collect();
        let most = if tuning.lane == Lane::Actors { 1 << 12 } else { 1 << 20 };
        let suited = (4 * radii.len()).next_power_of_two().clamp(64, most) as u32;
        let buckets = if tuning.buckets == 0 { suited } else { tuning.buckets };
        let window = tuning.window.max(1);
        let limits = Limits {
            window,
            contact_window: tuning.contact_window,
            stride_min: window.div_ceil(2),
            adaptive: tuning.adaptive,
            last_tick: world.time.last_tick,
        };
        let grid = Grid::new(&radii, tuning.cell_scale, buckets);
        Commons {
            table: SharedTable::new(grid.clone()),
            grid,
            counters: Counters::new(crews.len() as u32, window, world.time.last_tick),
            log: FlightLog::new(&world),
            limits,
            crews,
            world,
        }
    }

    /// The entities at the start of the run.
    pub fn entities(&self) -> Vec<Entity<World>> {
        let start = |place: &Place| {
            let origin = self.world.bodies[*place as usize].start;
            (*place, Flight { since: 0, origin })
        };
        let crews = self.crews.iter().enumerate();
        crews.map(|(at, crew)| Entity::new(EntityId(at as u32), crew.iter().map(start).collect())).collect()
    }

    /// Does what a handler wants done with the log and the counters; messages are the caller's. Says whether
    /// global virtual time may have moved.
    pub fn apply(&self, of: EntityId, out: &mut Outbox<World>) -> bool {
        if let Some(tick) = out.landed.take() {
            for body in &self.crews[of.0 as usize] {
                self.log.land(*body, tick);
            }
        }
        for (body, tick, flight) in out.took_off.drain(..) {
            self.log.take_off(body, tick, flight);
        }
        out.counted.take().is_some_and(|(from, to)| self.counters.shift(from, to))
    }
}

/// Neighbours along a space-filling order, in groups of `size`. Bodies of a crew are in ascending order.
fn crews(world: &World, size: usize) -> Vec<Vec<Place>> {
    let mut order: Vec<Place> = (0..world.bodies.len() as Place).collect();
    if size > 1 {
        order.sort_by_key(|place| (morton(world, *place), *place));
    }
    let mut crews: Vec<Vec<Place>> = order.chunks(size).map(<[Place]>::to_vec).collect();
    for crew in &mut crews {
        crew.sort_unstable();
    }
    crews
}

/// Position along a curve that keeps neighbours together: the bits of the three coordinates interleaved.
fn morton(world: &World, place: Place) -> u64 {
    let body = &world.bodies[place as usize];
    let cell = |c: f64| ((c / (4.0 * body.radius)).clamp(-1e6, 1e6) + 1_048_576.0) as u64;
    let (x, y, z) = (cell(body.start.x.x), cell(body.start.x.y), cell(body.start.x.z));
    let mut code = 0;
    for bit in 0..21 {
        code |=
            (x >> bit & 1) << (3 * bit) | (y >> bit & 1) << (3 * bit + 1) | (z >> bit & 1) << (3 * bit + 2);
    }
    code
}

/// Hands out frames as global virtual time passes them.
pub struct FrameFeed {
    next: Tick,
    /// The log was last cleared of what no frame needs at this tick.
    cleared: Tick,
    /// A body that is no longer finite ends the run.
    trouble: Option<RunError>,
}

/// If frames are rarer than this many ticks, the log is cleared between them.
const CLEAR_EVERY: Tick = 256;

impl FrameFeed {
    /// The first frame is that of tick 0.
    pub fn new() -> Self {
        FrameFeed { next: 0, cleared: 0, trouble: None }
    }

    /// Hands out every frame up to `gvt` that has not been handed out.
    pub fn emit(
        &mut self,
        commons: &Commons,
        gvt: Tick,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.next <= gvt.min(commons.limits.last_tick) {
            let frame = commons.log.frame(&commons.world, self.next);
            if let Some((body, _)) = frame.bodies.iter().find(|(_, state)| !state.is_finite()) {
                self.trouble = Some(RunError::not_finite(*body, frame.tick));
                return ControlFlow::Break(());
            }
            sink(frame)?;
            self.cleared = self.next;
            self.next += u64::from(commons.world.time.ticks_per_frame);
        }
        if gvt >= self.cleared + CLEAR_EVERY {
            commons.log.clear_before(gvt);
            self.cleared = gvt;
        }
        ControlFlow::Continue(())
    }

    /// Why it broke off by itself, if it did.
    pub fn trouble(self) -> Result<(), RunError> {
        self.trouble.map_or(Ok(()), Err)
    }
}

impl Default for FrameFeed {
    fn default() -> Self {
        Self::new()
    }
}

/// The tally of a finished run, from the statistics of all entities.
pub fn tally(stats: &Stats, ticks: Tick) -> Tally {
    Tally { contacts: stats.new_touches, contact_ticks: stats.touches, max_overlap_m: stats.overlap_m, ticks }
}
