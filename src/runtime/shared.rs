//! What the entities of a speculative run share: table, LVT histogram, flight log, limits. Every executor that speculates
//! needs it, whatever carries its messages.

use smallvec::smallvec;

use crate::base::time::Tick;
use crate::physics::{Flight, InputKind};
use crate::protocol::{
    BodyIndex, Cluster, Context, Dynamics, Entity, EntityId, Grid, GvtService, Limits, Membership,
};
use crate::rigid::RigidModel;
use crate::runtime::density::Density;
use crate::runtime::flight_log::FlightLog;
use crate::runtime::inputs::QueuedInput;
use crate::runtime::island_epochs::IslandEpochs;
use crate::runtime::lvt_histogram::LvtHistogram;
use crate::runtime::shared_tvht::{Lane, SharedTable};
use crate::runtime::throttle::Throttle;
use crate::store::GearChoice;

/// How bodies are divided among processes, each with a local virtual time of its own. The result stays the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Regions {
    /// [`SyncMode::Timewarp`](crate::SyncMode::Timewarp) and [`SyncMode::Lockstep`](crate::SyncMode::Lockstep): regions of
    /// space, one per core, of 4,096 bodies at least, where a scene is thin, and one process with all bodies elsewhere. Other
    /// executors that speculate, and any with [`Simulation::bridge`](crate::Simulation::bridge) or a history: as [`Regions::Bodies`]. The
    /// default.
    #[default]
    Auto,
    /// As many regions of space, 64 at most, where a scene is thin; 1: one process with all bodies.
    Count(u32),
    /// A process per body.
    Bodies,
}

/// How a run is carried out, mostly a speculative one. None of this changes a result, only speed and memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Most ticks that a process may be ahead of the lowest LVT; 0 for what suits: 245 for bodies, 16 for regions.
    pub window_ticks: u64,
    /// Ticks that GVT stays behind the lowest LVT, so that late inputs are admitted. Frames come later by as much.
    pub history_ticks: u64,
    /// Most ticks ahead of the lowest LVT at which an entity may respond to a contact; `None`: each entity learns how far
    /// is worthwhile.
    pub contact_window_ticks: Option<u64>,
    /// Number of buckets of the table; 0 for as many as suit the scene.
    pub buckets: u32,
    /// Width of a cell of the table, in diameters of the typical body; 0 for what suits the scene.
    pub cell_scale: f64,
    /// How bodies are divided among processes.
    pub regions: Regions,
    /// Whether the strides of entities that are often rolled back are shortened.
    pub adaptive: bool,
    /// Histories may take about this many bytes; beyond that the window of all entities shrinks.
    pub history_bytes: u64,
    /// Where the buckets of the table are. Executors of one thread always use shared memory.
    pub lane: Lane,
    /// The gear of [`SyncMode::Lockstep`](crate::SyncMode::Lockstep), which does not speculate.
    pub gear: GearChoice,
    /// Whether vector registers are left alone, to test that they change nothing.
    #[doc(hidden)]
    pub plain_lanes: bool,
    /// Parts of a heap, at most 64; 0 for as many as threads.
    #[doc(hidden)]
    pub heap_parts: u32,
    /// If no number of regions was asked for, there are at least so many bodies for each.
    #[doc(hidden)]
    pub region_bodies: u32,
}

/// Two regions on two threads were level with one store on one at 10,000 bodies of the gas (4 s, one frame), six times
/// slower at 200, and 1.4 times faster at 65,536.
const REGION_BODIES: u32 = 4096;

/// The window that suits bodies: 1,024 ms are 245.76 ticks at 240 ticks per second. The fraction is dropped. Measured (`anachron bench paper --figures 10`): of 1, 4, 16, 64, 256 and 1,024 ms, 1,024 ms was the fastest for
/// parallel and gas; cylinders and bouncing differ by less than the spread.
const WINDOW_TICKS: u64 = 245;

impl Default for Tuning {
    /// The window that suits, no history, adaptive strides, 2 GiB for histories (not tuned), the table in shared memory, any
    /// gear.
    fn default() -> Self {
        Tuning {
            window_ticks: 0,
            history_ticks: 0,
            contact_window_ticks: None,
            buckets: 0,
            cell_scale: 0.0,
            regions: Regions::Auto,
            adaptive: true,
            history_bytes: 2 << 30,
            lane: Lane::Shared,
            gear: GearChoice::Auto,
            plain_lanes: false,
            heap_parts: 0,
            region_bodies: REGION_BODIES,
        }
    }
}

impl Tuning {
    /// The window of processes that are bodies.
    pub fn window_of_bodies(&self) -> u64 {
        if self.window_ticks == 0 { WINDOW_TICKS } else { self.window_ticks }
    }
}

/// What all entities share.
pub struct Shared {
    /// The physics.
    pub model: RigidModel,
    /// The cells of the table.
    pub grid: Grid,
    /// The hash table in shared memory.
    pub table: SharedTable<RigidModel>,
    /// LVTs of all entities, and GVT.
    pub gvt: Box<dyn GvtService>,
    /// Flights of all bodies, for the frames.
    pub log: FlightLog,
    /// How far entities may run ahead if histories fit into memory.
    pub limits: Limits,
    /// How far they may run ahead at present.
    pub throttle: Throttle,
    /// Island membership per epoch, if it is part of the result.
    pub epochs: Option<IslandEpochs>,
    /// Number of bodies at the start: each is the entity of its own index. Entities from this one on are for islands.
    pub first_island: u32,
    /// Number of entities at the start; spawned bodies come after them.
    entities: u32,
}

impl Shared {
    /// Prepares a run: what is shared, and the entities of all bodies of the world and of all spawns among
    /// the `known` inputs.
    pub(crate) fn new(
        model: &RigidModel,
        tuning: &Tuning,
        known: &[QueuedInput],
    ) -> (Self, Vec<Entity<RigidModel>>) {
        let world = &model.world;
        let scene = world.bodies.at_start().len();
        let density = Density::of(world.bodies.at_start());
        let radii: Vec<f64> = (0..scene as BodyIndex).map(|body| model.radius(body)).collect();
        let buckets = if tuning.buckets == 0 { suitable_buckets(scene, tuning.lane) } else { tuning.buckets };
        let window_ticks = tuning.window_of_bodies();
        let limits = Limits {
            window: window_ticks,
            contact_window: tuning.contact_window_ticks,
            // Not tuned.
            stride_min: (3 * window_ticks).div_ceil(4),
            adaptive: tuning.adaptive,
            last_tick: world.time.last_tick,
        };
        let epochs = model.islands.as_deref().map(|islands| IslandEpochs::new(world, islands));
        let islands_max = epochs.as_ref().map_or(0, |epochs| epochs.membership.islands_max());
        let scale = if tuning.cell_scale == 0.0 { density.cell_scale() } else { tuning.cell_scale };
        let grid = Grid::new(&radii, scale, buckets);
        let spawns = known.iter().filter(|entry| is_spawn(entry)).count();
        let entities = (scene + islands_max) as u32;
        let shared = Shared {
            epochs,
            table: SharedTable::new(grid.clone()),
            grid,
            gvt: Box::new(LvtHistogram::new(
                entities + spawns as u32,
                window_ticks,
                tuning.history_ticks,
                world.time.last_tick,
            )),
            log: FlightLog::new(world),
            limits,
            throttle: Throttle::new(limits, tuning.history_bytes),
            first_island: scene as u32,
            entities,
            model: model.clone(),
        };
        shared.gvt.set_ceiling(shared.ceiling(world.time.last_tick));
        let entities = shared.entities(known);
        (shared, entities)
    }

    /// The ceiling of GVT: `wanted`, or the tick of the next decision on membership, if that is lower.
    pub(crate) fn ceiling(&self, wanted: Tick) -> Tick {
        self.epochs.as_ref().map_or(wanted, |epochs| wanted.min(epochs.membership.next()))
    }

    /// The entities at the start of the run, with all inputs that are known.
    fn entities(&self, known: &[QueuedInput]) -> Vec<Entity<RigidModel>> {
        let entity = |index: u32| {
            if index >= self.first_island {
                return Entity::new(EntityId(index), Cluster::<RigidModel>::new()).of_island();
            }
            let origin = self.model.world.bodies[index as usize].start;
            Entity::new(EntityId(index), smallvec![(index, Flight { since: 0, origin })])
        };
        let mut entities: Vec<Entity<RigidModel>> = (0..self.entities).map(entity).collect();
        for entry in known {
            if is_spawn(entry) {
                entities.push(self.spawned(0, entry));
                continue;
            }
            let home_entity = self.home_entity(entry.input.body).0 as usize;
            entities[home_entity].add_known_input(entry.tick, entry.number, entry.input);
        }
        entities
    }

    /// The entity of a body that is spawned during the run; its LVT is `base` until then.
    pub(crate) fn spawned(&self, base: Tick, entry: &QueuedInput) -> Entity<RigidModel> {
        self.log.add_body();
        let spawn = (entry.tick, entry.number, entry.input);
        Entity::spawning(self.home_entity(entry.input.body), base, spawn)
    }

    /// The entity of a body, outside islands. Those of spawned bodies come after those for islands.
    pub fn home_entity(&self, body: BodyIndex) -> EntityId {
        EntityId(if body < self.first_island { body } else { self.entities + body - self.first_island })
    }

    /// What an entity may know when it is polled now.
    pub fn context(&self) -> Context<'_> {
        Context {
            times: self.gvt.times(),
            limits: self.throttle.limits(),
            membership: self.epochs.as_ref().map(|epochs| &epochs.membership as &dyn Membership),
        }
    }
}

/// The number of buckets that suits a scene: two per body, within limits. Not tuned.
fn suitable_buckets(bodies: usize, lane: Lane) -> u32 {
    let most = if lane == Lane::Actors { 1 << 12 } else { 1 << 20 };
    (2 * bodies).next_power_of_two().clamp(64, most) as u32
}

/// Whether an input spawns a body.
pub(crate) fn is_spawn(entry: &QueuedInput) -> bool {
    matches!(entry.input.kind, InputKind::Spawn(_))
}
