//! All entities of a run with the table, the lvt_histogram and the log they share: what every executor that speculates
//! needs, whatever carries its messages.

use crate::base::time::Tick;
use crate::physics::{Flight, InputKind, World};
use crate::protocol::{
    BodyIndex, ClusterDirectory, Context, Dynamics, Entity, EntityId, Grid, GvtService, Limits, Membership,
};
use crate::rigid::RigidModel;
use crate::runtime::density::{Density, WIDEST};
use crate::runtime::directory::EntityDirectory;
use crate::runtime::flight_log::FlightLog;
use crate::runtime::inputs::QueuedInput;
use crate::runtime::island_epochs::IslandEpochs;
use crate::runtime::lvt_histogram::LvtHistogram;
use crate::runtime::shared_tvht::{Lane, SharedTable};
use crate::runtime::throttle::Throttle;

/// How a speculative run is carried out. None of this changes a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Most ticks an entity may be ahead of everybody else.
    pub window: u64,
    /// Ticks kept unsettled behind the slowest entity, for those who act late. Frames come so much later.
    pub history: u64,
    /// Most ticks ahead at which it may still respond to a contact; `None`: as far as proves worthwhile.
    pub contact_window: Option<u64>,
    /// Number of buckets of the table; 0 for as many as suit the scene.
    pub buckets: u32,
    /// Width of a cell in diameters of the typical body; 0 for what suits the scene.
    pub cell_scale: f64,
    /// Bodies per entity; 0: each has its own, but those that keep touching come together, until they part.
    pub cluster: u32,
    /// Shorten the strides of bodies that are often rolled back.
    pub adaptive: bool,
    /// Histories may take about so many bytes; beyond that everybody runs ahead less far.
    pub history_bytes: u64,
    /// Where the buckets of the table are. The single-threaded drivers use shared memory always.
    pub lane: Lane,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            window: 245,
            history: 0,
            contact_window: None,
            buckets: 0,
            cell_scale: 0.0,
            cluster: 0,
            adaptive: true,
            history_bytes: 2 << 30,
            lane: Lane::Shared,
        }
    }
}

/// What all entities share.
pub struct Shared {
    /// The physics.
    pub model: RigidModel,
    /// How space is divided.
    pub grid: Grid,
    /// The hash table in shared memory.
    pub table: SharedTable<RigidModel>,
    /// Local virtual times and GVT.
    pub gvt: Box<dyn GvtService>,
    /// Flights for the frames.
    pub log: FlightLog,
    /// How far entities may run ahead at most.
    pub limits: Limits,
    /// How far they may at present.
    pub throttle: Throttle,
    /// On which arbiter each entity runs, and how many bodies it has.
    pub directory: EntityDirectory,
    /// Whether entities recluster by themselves.
    pub reclusters: bool,
    /// Who lives where from when on, if that is part of the result.
    pub epochs: Option<IslandEpochs>,
    /// The bodies of each entity at the start.
    pub clusters: Vec<Vec<BodyIndex>>,
    /// Those from here on are for groups.
    pub free: usize,
    /// The entity each body of the scene is born in.
    home_entities: Vec<EntityId>,
}

impl Shared {
    /// Makes ready to run a world on so many cores, and everybody who is in it or known to come.
    pub(crate) fn new(
        model: &RigidModel,
        tuning: &Tuning,
        cores: usize,
        known: &[QueuedInput],
    ) -> (Self, Vec<Entity<RigidModel>>) {
        let world = &model.world;
        let scene = world.bodies.at_start().len();
        let crowd = Density::of(world.bodies.at_start());
        // Crews that touch wait for each other at every tick, and once more for every iteration: that costs more than
        // several cores gain. A heap is one cluster, which all cores help.
        let is_heap = tuning.cluster == 0 && scene > 0 && crowd.is_dense(cores);
        let mut clusters = clusters(world, tuning, is_heap);
        let radii: Vec<f64> = (0..scene as BodyIndex).map(|place| model.radius(place)).collect();
        let most = if tuning.lane == Lane::Actors { 1 << 12 } else { 1 << 20 };
        let suited = (2 * radii.len()).next_power_of_two().clamp(64, most) as u32;
        let buckets = if tuning.buckets == 0 { suited } else { tuning.buckets };
        let window = tuning.window.max(1);
        let limits = Limits {
            window,
            contact_window: tuning.contact_window,
            stride_min: (3 * window).div_ceil(4),
            adaptive: tuning.adaptive,
            last_tick: world.time.last_tick,
            alone_until: Tick::MAX,
        };
        let directory =
            EntityDirectory::new(clusters.iter().map(|cluster| Some(cluster.len())), scene as u32);
        // Groups have entities of their own, which take no part in regrouping.
        let epochs = model.islands.as_deref().map(|islands| IslandEpochs::new(world, islands));
        let free = clusters.len();
        clusters.resize(free + epochs.as_ref().map_or(0, |epochs| epochs.membership.groups()), Vec::new());
        let mut home_entities = vec![EntityId(0); scene];
        for (at, cluster) in clusters.iter().enumerate() {
            for body in cluster {
                home_entities[*body as usize] = EntityId(at as u32);
            }
        }
        // What touches inside a cluster is not looked for in the table: a heap needs few and wide cells there.
        let suited_scale = if is_heap { WIDEST } else { crowd.cell_scale() };
        let scale = if tuning.cell_scale == 0.0 { suited_scale } else { tuning.cell_scale };
        let grid = Grid::new(&radii, scale, buckets);
        let late = known.iter().filter(|entry| is_spawn(entry)).count();
        let population = (clusters.len() + late) as u32;
        let shared = Shared {
            directory,
            reclusters: tuning.cluster == 0,
            epochs,
            table: SharedTable::new(grid.clone()),
            grid,
            gvt: Box::new(LvtHistogram::new(population, window, tuning.history, world.time.last_tick)),
            log: FlightLog::new(world),
            limits,
            throttle: Throttle::new(limits, tuning.history_bytes),
            clusters,
            free,
            home_entities,
            model: model.clone(),
        };
        shared.gvt.set_ceiling(shared.ceiling(world.time.last_tick));
        let entities = shared.entities(known);
        (shared, entities)
    }

    /// How far global virtual time may go if nothing but decisions about the next epoch holds it below `wanted`.
    pub(crate) fn ceiling(&self, wanted: Tick) -> Tick {
        self.epochs.as_ref().map_or(wanted, |epochs| wanted.min(epochs.membership.next()))
    }

    /// The entities at the start of the run, with everything that is known to be done to them.
    fn entities(&self, known: &[QueuedInput]) -> Vec<Entity<RigidModel>> {
        let start = |place: &BodyIndex| {
            let origin = self.model.world.bodies[*place as usize].start;
            (*place, Flight { since: 0, origin })
        };
        let clusters = self.clusters.iter().enumerate();
        let entity = |(at, cluster): (usize, &Vec<BodyIndex>)| {
            let entity = Entity::new(EntityId(at as u32), cluster.iter().map(start).collect());
            if at < self.free { entity } else { entity.of_island() }
        };
        let mut entities: Vec<Entity<RigidModel>> = clusters.map(entity).collect();
        for entry in known {
            if is_spawn(entry) {
                entities.push(self.spawned(0, entry));
                continue;
            }
            let home_entity = self.home_entity(entry.input.body).0 as usize;
            let entity = entities[home_entity].clone();
            entities[home_entity] = entity.with_input(entry.tick, entry.number, entry.input);
        }
        entities
    }

    /// The entity of a body that comes into being during the run, to be counted at `base`.
    pub(crate) fn spawned(&self, base: Tick, entry: &QueuedInput) -> Entity<RigidModel> {
        self.log.add_body();
        let home_entity = (entry.tick, entry.number, entry.input);
        Entity::spawning(self.home_entity(entry.input.body), base, home_entity)
    }

    /// The entity a body was born in: who knows where it is now. Bodies that come late have one of their own.
    pub fn home_entity(&self, body: BodyIndex) -> EntityId {
        let late = || EntityId((self.clusters.len() + body as usize - self.home_entities.len()) as u32);
        self.home_entities.get(body as usize).copied().unwrap_or_else(late)
    }

    /// What an entity may know when it is polled now.
    pub fn context(&self) -> Context<'_> {
        Context {
            times: self.gvt.times(),
            limits: self.throttle.limits(),
            directory: self.reclusters.then_some(&self.directory as &dyn ClusterDirectory),
            membership: self.epochs.as_ref().map(|epochs| &epochs.membership as &dyn Membership),
        }
    }
}

/// Whether an input brings a body into being.
pub(crate) fn is_spawn(entry: &QueuedInput) -> bool {
    matches!(entry.input.kind, InputKind::Spawn(_))
}

/// The clusters at the start, by entity, bodies in ascending order: a heap in the first, or neighbours along a
/// space-filling order.
fn clusters(world: &World, tuning: &Tuning, is_heap: bool) -> Vec<Vec<BodyIndex>> {
    let bodies = world.bodies.at_start().len();
    let mut order: Vec<BodyIndex> = (0..bodies as BodyIndex).collect();
    if is_heap {
        // There is an entity for every body that may once want to be alone.
        let mut clusters = vec![Vec::new(); bodies];
        clusters[0] = order;
        return clusters;
    }
    let size = tuning.cluster.max(1) as usize;
    if size > 1 {
        order.sort_by_key(|place| (morton(world, *place), *place));
    }
    let mut clusters: Vec<Vec<BodyIndex>> = order.chunks(size).map(<[BodyIndex]>::to_vec).collect();
    for cluster in &mut clusters {
        cluster.sort_unstable();
    }
    clusters
}

/// Position along a curve that keeps neighbours together: the bits of the three coordinates interleaved.
fn morton(world: &World, place: BodyIndex) -> u64 {
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
