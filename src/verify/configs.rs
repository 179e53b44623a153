//! Small worlds that are looked at in full, in families that have something in common.

use crate::protocol::{EntityId, Fault};
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig, ScriptedInput};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};

/// What comes from outside in a family of worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Nothing.
    Nothing,
    /// A body is pushed at tick 1.
    Push,
    /// A body comes into being at tick 1.
    Spawn,
    /// A body is taken away at tick 1.
    Remove,
    /// A body is pushed at tick 2, and another taken away at tick 1, whatever comes first.
    PushAndRemove,
    /// A body comes into being at tick 1, and another is taken away at tick 2.
    SpawnAndRemove,
    /// The first entity hands its first body over to the second.
    Migrate,
    /// The same, and the body is pushed at tick 1, and sent back later.
    MigrateAndPush,
}

/// Worlds that differ only in their seeds.
#[derive(Clone, Debug)]
pub struct Family {
    /// What they have in common, in words.
    pub name: &'static str,
    /// Number of bodies.
    pub bodies: u32,
    /// Bodies of each entity.
    pub cluster: usize,
    /// Last tick.
    pub ticks: u64,
    /// Window.
    pub window: u64,
    /// Contact window; none if each entity finds it by itself.
    pub contact_window: Option<u64>,
    /// Shortest stride that is worthwhile.
    pub stride_min: u64,
    /// Whether strides adapt.
    pub adaptive: bool,
    /// Number of buckets.
    pub buckets: u32,
    /// Width of a cell in diameters.
    pub cell_scale: f64,
    /// Where the buckets are.
    pub lane: Lane,
    /// What happens at once.
    pub atomicity: Atomicity,
    /// Ticks kept unsettled.
    pub history: u64,
    /// GvtStats of ghosts.
    pub rounds: u32,
    /// How far from the middle bodies may be.
    pub room: i64,
    /// Near bodies touch at one tick of so many.
    pub sparse: u64,
    /// What comes from outside.
    pub outside: Outside,
    /// Seeds.
    pub seeds: &'static [u64],
}

/// Two bodies that touch at every tick, each by itself, in shared memory: what all families are told unshared from.
pub(super) const PLAIN: Family = Family {
    name: "two bodies, window 2",
    bodies: 2,
    cluster: 1,
    ticks: 6,
    window: 2,
    contact_window: Some(u64::MAX),
    stride_min: 1,
    adaptive: false,
    buckets: 1,
    cell_scale: 1.0,
    lane: Lane::Shared,
    atomicity: Atomicity::Handlers,
    history: 0,
    rounds: 2,
    room: 2,
    sparse: 1,
    outside: Outside::Nothing,
    seeds: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
};

/// Three bodies of which not all touch all the time.
const THREE: Family =
    Family { name: "three bodies", bodies: 3, ticks: 3, room: 8, seeds: &[0, 2, 4, 7, 8], ..PLAIN };
/// Tickets from bucket to bucket.
const ACTORS: Family = Family { lane: Lane::Actors, buckets: 2, cell_scale: 0.5, ..PLAIN };

/// Bodies that are held by static geometry or by each other, and go on for several ticks before they look at the table.
const HELD: Family = Family {
    name: "two bodies, held",
    window: 4,
    contact_window: None,
    adaptive: true,
    sparse: 2,
    seeds: &[0, 1, 2, 3, 4, 5],
    ..PLAIN
};
const HELD_REQUESTS: Family = Family { lane: Lane::Actors, buckets: 2, cell_scale: 0.5, ..HELD };

/// The families that every test run looks at, in full.
pub const SMALL: &[Family] = &[
    Family { name: "two bodies, window 1", window: 1, ..PLAIN },
    PLAIN,
    Family { name: "two bodies, window 3", window: 3, ..PLAIN },
    Family { name: "two bodies, touching now and then", window: 3, sparse: 2, ..PLAIN },
    Family { name: "two bodies, contact gate", window: 3, contact_window: Some(0), ..PLAIN },
    Family { name: "two bodies, long strides only", window: 3, stride_min: 3, ..PLAIN },
    Family {
        name: "two bodies, adaptive",
        window: 3,
        contact_window: None,
        adaptive: true,
        ticks: 4,
        seeds: &[0, 1, 2, 3, 4, 5],
        ..PLAIN
    },
    Family { sparse: 3, ..HELD },
    Family { name: "two bodies, held, requests", sparse: 3, ticks: 4, seeds: &[0, 1, 2], ..HELD_REQUESTS },
    Family {
        name: "three bodies, held, clusters of two",
        bodies: 3,
        cluster: 2,
        seeds: &[0, 1, 2, 3],
        ..HELD
    },
    Family { name: "two bodies, many cores", atomicity: Atomicity::Effects, ticks: 4, ..PLAIN },
    Family { name: "two bodies, many cores, window 1", atomicity: Atomicity::Effects, window: 1, ..PLAIN },
    Family {
        name: "two bodies, requests, 1 bucket",
        buckets: 1,
        window: 3,
        seeds: &[0, 1, 2, 3, 4, 5],
        ..ACTORS
    },
    Family { name: "two bodies, requests, 2 buckets", ticks: 4, seeds: &[0, 1, 2, 3, 4], ..ACTORS },
    Family { name: "two bodies, requests, 3 buckets", buckets: 3, ticks: 4, seeds: &[0, 1, 2, 3], ..ACTORS },
    Family {
        name: "two bodies, requests, many cores",
        atomicity: Atomicity::Effects,
        ticks: 2,
        seeds: &[0, 1, 2, 3],
        ..ACTORS
    },
    THREE,
    Family { name: "three bodies, window 1", window: 1, seeds: &[0, 1, 2, 4, 7, 8], ..THREE },
    Family { name: "three bodies, window 3, 5 ticks", window: 3, ticks: 5, seeds: &[0, 2, 8], ..THREE },
    Family {
        name: "three bodies, many cores",
        atomicity: Atomicity::Effects,
        ticks: 2,
        seeds: &[0, 2],
        ..THREE
    },
    Family {
        name: "three bodies, requests, 2 buckets",
        lane: Lane::Actors,
        buckets: 2,
        cell_scale: 0.5,
        ticks: 2,
        seeds: &[0, 2],
        ..THREE
    },
    Family { name: "three bodies, all touching, 1 tick", rounds: 1, room: 2, ticks: 1, seeds: &[0], ..THREE },
    Family {
        name: "three bodies, all touching, gate",
        rounds: 1,
        room: 2,
        ticks: 2,
        contact_window: Some(0),
        seeds: &[0],
        ..THREE
    },
    Family {
        name: "clusters of two",
        bodies: 4,
        cluster: 2,
        ticks: 3,
        room: 4,
        seeds: &[0, 1, 2, 3],
        ..PLAIN
    },
    Family {
        name: "clusters of two, requests",
        bodies: 4,
        cluster: 2,
        ticks: 2,
        room: 8,
        seeds: &[0, 1, 2],
        ..ACTORS
    },
    Family { name: "a push", outside: Outside::Push, ticks: 4, ..PLAIN },
    Family {
        name: "a push, history kept",
        outside: Outside::Push,
        ticks: 4,
        history: 2,
        seeds: &[0, 1, 2, 3, 4, 5],
        ..PLAIN
    },
    Family {
        name: "a push, many cores",
        outside: Outside::Push,
        atomicity: Atomicity::Effects,
        ticks: 3,
        seeds: &[0, 1, 2, 3],
        ..PLAIN
    },
    Family { name: "a push, requests", outside: Outside::Push, ticks: 3, seeds: &[0, 1], ..ACTORS },
    Family { name: "a body is taken away", outside: Outside::Remove, ticks: 4, ..PLAIN },
    Family { name: "a push and a removal", outside: Outside::PushAndRemove, ticks: 3, ..PLAIN },
    Family {
        name: "a body comes",
        outside: Outside::Spawn,
        ticks: 3,
        room: 8,
        seeds: &[0, 1, 2, 4, 5, 7],
        ..PLAIN
    },
    Family {
        name: "a body comes, another goes",
        outside: Outside::SpawnAndRemove,
        ticks: 3,
        room: 8,
        seeds: &[0, 1, 2],
        ..PLAIN
    },
    Family { name: "a migration", outside: Outside::Migrate, ticks: 4, ..PLAIN },
    Family { name: "a migration and a push", outside: Outside::MigrateAndPush, ticks: 3, ..PLAIN },
    Family {
        name: "a migration, requests",
        outside: Outside::Migrate,
        ticks: 3,
        seeds: &[0, 1, 2, 3],
        ..ACTORS
    },
    Family {
        name: "a migration among three",
        outside: Outside::MigrateAndPush,
        bodies: 3,
        ticks: 2,
        room: 8,
        seeds: &[0, 2],
        ..PLAIN
    },
];

/// Larger families, for those who have more time.
pub const LARGER: &[Family] = &[
    Family { name: "two bodies, requests, 6 ticks, window 3", window: 3, ..ACTORS },
    Family {
        name: "two bodies, requests, many cores, 4 ticks",
        atomicity: Atomicity::Effects,
        ticks: 4,
        ..ACTORS
    },
    Family { name: "three bodies, nearer", seeds: &[1, 3, 5, 6, 9], ..THREE },
    Family { name: "three bodies, 6 ticks", ticks: 6, window: 3, ..THREE },
    Family { name: "three bodies, many cores, 4 ticks", atomicity: Atomicity::Effects, ticks: 4, ..THREE },
    Family {
        name: "three bodies, requests, 3 ticks",
        lane: Lane::Actors,
        buckets: 3,
        cell_scale: 0.5,
        ..THREE
    },
    Family {
        name: "three bodies, all touching, gate, 3 ticks",
        rounds: 1,
        room: 2,
        contact_window: Some(0),
        ..THREE
    },
    Family { name: "clusters of two among six", bodies: 6, cluster: 2, room: 12, ticks: 3, ..PLAIN },
    Family { name: "a push among three", outside: Outside::PushAndRemove, ..THREE },
    Family { name: "three bodies, all touching, two rounds, 1 tick", room: 2, ticks: 1, ..THREE },
];

impl Family {
    /// One of its worlds.
    pub fn config(&self, seed: u64, fault: Fault) -> ModelConfig {
        let toy = ToyModel {
            bodies: self.bodies,
            seed,
            rounds: self.rounds,
            room: self.room,
            sparse: self.sparse,
            sticky: 1000,
            bumpy: 1000,
            last_tick: self.ticks,
            fault: Fault::None,
        };
        let mut config = ModelConfig::new(toy, self.window, self.buckets).with_cells(self.cell_scale);
        config.cluster = self.cluster;
        config.limits.contact_window = self.contact_window;
        config.limits.stride_min = self.stride_min;
        config.limits.adaptive = self.adaptive;
        config.lane = self.lane;
        config.atomicity = self.atomicity;
        config.history = self.history;
        config.script = self.script(&config);
        config.with_fault(fault)
    }

    fn script(&self, config: &ModelConfig) -> Vec<ScriptedInput> {
        let act = |tick, body, deed| ScriptedInput::ToyInput { tick, act: ToyInput { body, deed } };
        let hand =
            |from, to| ScriptedInput::Migrate { from: EntityId(from), bodies: vec![0], to: EntityId(to) };
        match self.outside {
            Outside::Nothing => Vec::new(),
            Outside::Push => vec![act(1, 0, ToyInputKind::Mix(7))],
            Outside::Spawn => vec![config.newcomer(1, 0)],
            Outside::Remove => vec![act(1, 0, ToyInputKind::Despawn)],
            Outside::PushAndRemove => vec![act(2, 0, ToyInputKind::Mix(7)), act(1, 1, ToyInputKind::Despawn)],
            Outside::SpawnAndRemove => vec![config.newcomer(1, 0), act(2, 0, ToyInputKind::Despawn)],
            Outside::Migrate => vec![hand(0, 1)],
            Outside::MigrateAndPush => vec![hand(0, 1), act(1, 0, ToyInputKind::Mix(7)), hand(1, 0)],
        }
    }
}
