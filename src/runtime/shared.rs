//! What the entities of a speculative run share: table, LVT histogram, flight log, limits. Every executor that speculates
//! needs it, whatever carries its messages.

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

/// How a speculative run is carried out. None of this changes a result, only speed and memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Most ticks that an entity may be ahead of the lowest LVT.
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
    /// Bodies per entity; 0 for automatic clustering: every body begins by itself, and bodies that stay in contact share
    /// an entity until they separate. A dense scene begins as one cluster.
    pub cluster: u32,
    /// Whether the strides of entities that are often rolled back are shortened.
    pub adaptive: bool,
    /// Histories may take about this many bytes; beyond that the window of all entities shrinks.
    pub history_bytes: u64,
    /// Where the buckets of the table are. Executors of one thread always use shared memory.
    pub lane: Lane,
}

/// The default window: 1,024 ms are 245.76 ticks at 240 ticks per second. The fraction is dropped here; the command line
/// rounds, and uses 246 ticks for such a scene. Measured (`anachron bench window`): of 1, 4, 16, 64, 256 and 1,024 ms, 1,024 ms was the fastest for
/// parallel and gas; cylinders and bouncing differ by less than the spread.
const WINDOW_TICKS: u64 = 245;

impl Default for Tuning {
    /// A window of 245 ticks (about one second at 240 ticks per second), no history, automatic clustering, adaptive
    /// strides, 2 GiB for histories (not tuned), the table in shared memory.
    fn default() -> Self {
        Tuning {
            window_ticks: WINDOW_TICKS,
            history_ticks: 0,
            contact_window_ticks: None,
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
    /// On which arbiter each entity runs, and how many bodies it has.
    pub directory: EntityDirectory,
    /// Whether entities recluster by themselves.
    pub reclusters: bool,
    /// Island membership per epoch, if it is part of the result.
    pub epochs: Option<IslandEpochs>,
    /// The bodies of each entity at the start.
    pub clusters: Vec<Vec<BodyIndex>>,
    /// Entities from this index on are for islands.
    pub first_island: usize,
    /// The entity that each body of the scene starts in.
    home_entities: Vec<EntityId>,
}

impl Shared {
    /// Prepares a run on `cores` cores: what is shared, and the entities of all bodies of the world and of all spawns among
    /// the `known` inputs.
    pub(crate) fn new(
        model: &RigidModel,
        tuning: &Tuning,
        cores: usize,
        known: &[QueuedInput],
    ) -> (Self, Vec<Entity<RigidModel>>) {
        let world = &model.world;
        let scene = world.bodies.at_start().len();
        let density = Density::of(world.bodies.at_start());
        // Clusters in contact wait for each other at every tick, and once more for every iteration: that costs more than
        // several cores gain. So a heap is one cluster, and all cores share its loops.
        let is_heap = tuning.cluster == 0 && scene > 0 && density.is_dense(cores);
        let mut clusters = clusters(world, tuning, is_heap);
        let radii: Vec<f64> = (0..scene as BodyIndex).map(|body| model.radius(body)).collect();
        let buckets = if tuning.buckets == 0 { suitable_buckets(scene, tuning.lane) } else { tuning.buckets };
        let window_ticks = tuning.window_ticks.max(1);
        let limits = Limits {
            window: window_ticks,
            contact_window: tuning.contact_window_ticks,
            // Not tuned.
            stride_min: (3 * window_ticks).div_ceil(4),
            adaptive: tuning.adaptive,
            last_tick: world.time.last_tick,
            alone_until: Tick::MAX,
        };
        let directory =
            EntityDirectory::new(clusters.iter().map(|cluster| Some(cluster.len())), scene as u32);
        // Islands have entities of their own, which take no part in clustering.
        let epochs = model.islands.as_deref().map(|islands| IslandEpochs::new(world, islands));
        let first_island = clusters.len();
        let islands_max = epochs.as_ref().map_or(0, |epochs| epochs.membership.islands_max());
        clusters.resize(first_island + islands_max, Vec::new());
        // Contacts within a cluster are not searched for in the table, so a heap needs few and wide cells there.
        let suitable_scale = if is_heap { WIDEST } else { density.cell_scale() };
        let scale = if tuning.cell_scale == 0.0 { suitable_scale } else { tuning.cell_scale };
        let grid = Grid::new(&radii, scale, buckets);
        let spawns = known.iter().filter(|entry| is_spawn(entry)).count();
        let entities = (clusters.len() + spawns) as u32;
        let shared = Shared {
            directory,
            reclusters: tuning.cluster == 0,
            epochs,
            table: SharedTable::new(grid.clone()),
            grid,
            gvt: Box::new(LvtHistogram::new(
                entities,
                window_ticks,
                tuning.history_ticks,
                world.time.last_tick,
            )),
            log: FlightLog::new(world),
            limits,
            throttle: Throttle::new(limits, tuning.history_bytes),
            home_entities: home_entities(scene, &clusters),
            clusters,
            first_island,
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
        let start = |body: &BodyIndex| {
            let origin = self.model.world.bodies[*body as usize].start;
            (*body, Flight { since: 0, origin })
        };
        let clusters = self.clusters.iter().enumerate();
        let entity = |(index, cluster): (usize, &Vec<BodyIndex>)| {
            let entity = Entity::new(EntityId(index as u32), cluster.iter().map(start).collect());
            if index < self.first_island { entity } else { entity.of_island() }
        };
        let mut entities: Vec<Entity<RigidModel>> = clusters.map(entity).collect();
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

    /// The entity that a body starts in, which forwards inputs to the entity that has the body at present. Every spawned
    /// body starts in an entity of its own.
    pub fn home_entity(&self, body: BodyIndex) -> EntityId {
        let spawned = || EntityId((self.clusters.len() + body as usize - self.home_entities.len()) as u32);
        self.home_entities.get(body as usize).copied().unwrap_or_else(spawned)
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

/// The number of buckets that suits a scene: two per body, within limits. Not tuned.
fn suitable_buckets(bodies: usize, lane: Lane) -> u32 {
    let most = if lane == Lane::Actors { 1 << 12 } else { 1 << 20 };
    (2 * bodies).next_power_of_two().clamp(64, most) as u32
}

/// The entity that each body of the scene starts in.
fn home_entities(bodies: usize, clusters: &[Vec<BodyIndex>]) -> Vec<EntityId> {
    let mut home_entities = vec![EntityId(0); bodies];
    for (index, cluster) in clusters.iter().enumerate() {
        for body in cluster {
            home_entities[*body as usize] = EntityId(index as u32);
        }
    }
    home_entities
}

/// Whether an input spawns a body.
pub(crate) fn is_spawn(entry: &QueuedInput) -> bool {
    matches!(entry.input.kind, InputKind::Spawn(_))
}

/// The clusters at the start, by entity, bodies in ascending order: all bodies of a heap in the first entity, otherwise
/// `tuning.cluster` neighbours along a space-filling curve in each.
fn clusters(world: &World, tuning: &Tuning, is_heap: bool) -> Vec<Vec<BodyIndex>> {
    let bodies = world.bodies.at_start().len();
    let mut order: Vec<BodyIndex> = (0..bodies as BodyIndex).collect();
    if is_heap {
        // Bodies may separate later, so there is an entity for each.
        let mut clusters = vec![Vec::new(); bodies];
        clusters[0] = order;
        return clusters;
    }
    let size = tuning.cluster.max(1) as usize;
    if size > 1 {
        order.sort_by_key(|body| (morton(world, *body), *body));
    }
    let mut clusters: Vec<Vec<BodyIndex>> = order.chunks(size).map(<[BodyIndex]>::to_vec).collect();
    for cluster in &mut clusters {
        cluster.sort_unstable();
    }
    clusters
}

/// Index along the Z-order curve, which keeps neighbours together: the bits of the three coordinates interleaved. Cells are
/// two diameters wide.
fn morton(world: &World, body: BodyIndex) -> u64 {
    let body = &world.bodies[body as usize];
    let cell = |c: f64| ((c / (4.0 * body.radius)).clamp(-1e6, 1e6) + 1_048_576.0) as u64;
    let (x, y, z) = (cell(body.start.x.x), cell(body.start.x.y), cell(body.start.x.z));
    let mut code = 0;
    for bit in 0..21 {
        code |=
            (x >> bit & 1) << (3 * bit) | (y >> bit & 1) << (3 * bit + 1) | (z >> bit & 1) << (3 * bit + 2);
    }
    code
}
