//! Models that are explored in full, in families that differ only in their seeds.

use crate::protocol::Fault;
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig, ScriptedInput};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};

/// The inputs of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFamily {
    /// There are no inputs.
    Nothing,
    /// A body is pushed at tick 1.
    Push,
    /// A body is spawned at tick 1.
    Spawn,
    /// A body is despawned at tick 1.
    Remove,
    /// A body is pushed at tick 2, and another despawned at tick 1; the input for the later tick comes first.
    PushAndRemove,
    /// A body is spawned at tick 1, and another is despawned at tick 2.
    SpawnAndRemove,
}

/// Models that differ only in their seeds.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name of the family in tables.
    pub name: &'static str,
    /// Number of bodies.
    pub bodies: u32,
    /// Length of an epoch, ticks, if bodies form islands.
    pub epoch_ticks: Option<u64>,
    /// The last tick.
    pub ticks: u64,
    /// How far an entity may run ahead of the lowest LVT, ticks.
    pub window_ticks: u64,
    /// How far ahead an entity may respond to a contact, ticks; `None` if each entity adapts it.
    pub contact_window_ticks: Option<u64>,
    /// The shortest stride of an entity that has not the lowest LVT, ticks.
    pub stride_min_ticks: u64,
    /// Whether strides of entities that are often rolled back are shortened.
    pub adaptive: bool,
    /// Number of buckets of the hash table.
    pub buckets: u32,
    /// Width of a cell, in diameters of the typical body.
    pub cell_scale: f64,
    /// Where the buckets are.
    pub lane: Lane,
    /// What is one action.
    pub atomicity: Atomicity,
    /// How far GVT stays behind the lowest LVT, ticks.
    pub history_ticks: u64,
    /// Number of rounds of ghost states.
    pub rounds: u32,
    /// Bodies turn back beyond this distance from the origin.
    pub extent: i64,
    /// Bodies near each other touch at one tick in `contact_odds`.
    pub contact_odds: u64,
    /// The inputs.
    pub inputs: InputFamily,
    /// Seeds of the toy models.
    pub seeds: &'static [u64],
}

/// Two bodies that touch at every tick, one per entity, table in shared memory: the other families are variations of it.
pub(super) const PLAIN: Family = Family {
    name: "two bodies, window 2",
    bodies: 2,
    epoch_ticks: None,
    ticks: 6,
    window_ticks: 2,
    contact_window_ticks: Some(u64::MAX),
    stride_min_ticks: 1,
    adaptive: false,
    buckets: 1,
    cell_scale: 1.0,
    lane: Lane::Shared,
    atomicity: Atomicity::Handlers,
    history_ticks: 0,
    rounds: 2,
    extent: 2,
    contact_odds: 1,
    inputs: InputFamily::Nothing,
    seeds: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
};

/// Three bodies, not all of which touch at every tick.
const THREE: Family =
    Family { name: "three bodies", bodies: 3, ticks: 3, extent: 8, seeds: &[0, 2, 4, 7, 8], ..PLAIN };
/// Table requests that pass from bucket to bucket.
const ACTORS: Family = Family { lane: Lane::Actors, buckets: 2, cell_scale: 0.5, ..PLAIN };

/// Bodies that touch now and then, and are an island in the epoch after the next if they touch when one begins.
const ISLANDS: Family = Family {
    name: "islands",
    epoch_ticks: Some(2),
    ticks: 7,
    contact_odds: 2,
    seeds: &[0, 1, 2, 3, 4, 5],
    ..PLAIN
};

/// Bodies that rest on static geometry or on each other.
const RESTING: Family = Family {
    name: "two bodies, held",
    window_ticks: 4,
    contact_window_ticks: None,
    adaptive: true,
    contact_odds: 2,
    seeds: &[0, 1, 2, 3, 4, 5],
    ..PLAIN
};
const RESTING_REQUESTS: Family = Family { lane: Lane::Actors, buckets: 2, cell_scale: 0.5, ..RESTING };

/// The families that every test run explores in full.
pub const SMALL: &[Family] = &[
    Family { name: "two bodies, window 1", window_ticks: 1, ..PLAIN },
    PLAIN,
    Family { name: "two bodies, window 3", window_ticks: 3, ..PLAIN },
    Family { name: "two bodies, touching now and then", window_ticks: 3, contact_odds: 2, ..PLAIN },
    Family { name: "two bodies, contact gate", window_ticks: 3, contact_window_ticks: Some(0), ..PLAIN },
    Family { name: "two bodies, long strides only", window_ticks: 3, stride_min_ticks: 3, ..PLAIN },
    Family {
        name: "two bodies, adaptive",
        window_ticks: 3,
        contact_window_ticks: None,
        adaptive: true,
        ticks: 4,
        seeds: &[0, 1, 2, 3, 4, 5],
        ..PLAIN
    },
    Family { contact_odds: 3, ..RESTING },
    Family {
        name: "two bodies, held, requests",
        contact_odds: 3,
        ticks: 4,
        seeds: &[0, 1, 2],
        ..RESTING_REQUESTS
    },
    Family { name: "two bodies, many cores", atomicity: Atomicity::Effects, ticks: 4, ..PLAIN },
    Family {
        name: "two bodies, many cores, window 1",
        atomicity: Atomicity::Effects,
        window_ticks: 1,
        ..PLAIN
    },
    Family {
        name: "two bodies, requests, 1 bucket",
        buckets: 1,
        window_ticks: 3,
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
    Family { name: "three bodies, window 1", window_ticks: 1, seeds: &[0, 1, 2, 4, 7, 8], ..THREE },
    Family { name: "three bodies, window 3, 5 ticks", window_ticks: 3, ticks: 5, seeds: &[0, 2, 8], ..THREE },
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
    Family {
        name: "three bodies, all touching, 1 tick",
        rounds: 1,
        extent: 2,
        ticks: 1,
        seeds: &[0],
        ..THREE
    },
    Family {
        name: "three bodies, all touching, gate",
        rounds: 1,
        extent: 2,
        ticks: 2,
        contact_window_ticks: Some(0),
        seeds: &[0],
        ..THREE
    },
    ISLANDS,
    Family { name: "islands, epochs of a tick", epoch_ticks: Some(1), window_ticks: 3, ticks: 4, ..ISLANDS },
    Family { name: "islands, adaptive", contact_window_ticks: None, adaptive: true, ..ISLANDS },
    Family { name: "islands, many cores", atomicity: Atomicity::Effects, ticks: 5, ..ISLANDS },
    Family { name: "islands, requests", lane: Lane::Actors, buckets: 2, cell_scale: 0.5, ..ISLANDS },
    Family { name: "islands among three", bodies: 3, ticks: 5, extent: 6, seeds: &[0], ..ISLANDS },
    Family { name: "a push", inputs: InputFamily::Push, ticks: 4, ..PLAIN },
    Family {
        name: "a push, history kept",
        inputs: InputFamily::Push,
        ticks: 4,
        history_ticks: 2,
        seeds: &[0, 1, 2, 3, 4, 5],
        ..PLAIN
    },
    Family {
        name: "a push, many cores",
        inputs: InputFamily::Push,
        atomicity: Atomicity::Effects,
        ticks: 3,
        seeds: &[0, 1, 2, 3],
        ..PLAIN
    },
    Family { name: "a push, requests", inputs: InputFamily::Push, ticks: 3, seeds: &[0, 1], ..ACTORS },
    Family { name: "a body is taken away", inputs: InputFamily::Remove, ticks: 4, ..PLAIN },
    Family { name: "a push and a removal", inputs: InputFamily::PushAndRemove, ticks: 3, ..PLAIN },
    Family {
        name: "a body comes",
        inputs: InputFamily::Spawn,
        ticks: 3,
        extent: 8,
        seeds: &[0, 1, 2, 4, 5, 7],
        ..PLAIN
    },
    Family {
        name: "a body comes, another goes",
        inputs: InputFamily::SpawnAndRemove,
        ticks: 3,
        extent: 8,
        seeds: &[0, 1, 2],
        ..PLAIN
    },
];

/// Larger families, which `anachron verify` explores after the small ones.
pub const LARGER: &[Family] = &[
    Family { name: "two bodies, requests, 6 ticks, window 3", window_ticks: 3, ..ACTORS },
    Family {
        name: "two bodies, requests, many cores, 4 ticks",
        atomicity: Atomicity::Effects,
        ticks: 4,
        ..ACTORS
    },
    Family { name: "three bodies, nearer", seeds: &[1, 3, 5, 6, 9], ..THREE },
    Family { name: "three bodies, 6 ticks", ticks: 6, window_ticks: 3, ..THREE },
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
        extent: 2,
        contact_window_ticks: Some(0),
        ..THREE
    },
    Family { name: "islands among four", bodies: 4, extent: 8, ticks: 5, ..ISLANDS },
    Family { name: "a push among three", inputs: InputFamily::PushAndRemove, ..THREE },
    Family { name: "three bodies, all touching, two rounds, 1 tick", extent: 2, ticks: 1, ..THREE },
];

impl Family {
    /// The model of one seed, with a deliberate fault or [`Fault::None`].
    pub fn config(&self, seed: u64, fault: Fault) -> ModelConfig {
        let toy = ToyModel {
            bodies: self.bodies,
            seed,
            rounds: self.rounds,
            extent: self.extent,
            contact_odds: self.contact_odds,
            sticky_odds: 1000,
            static_odds: 1000,
            last_tick: self.ticks,
            fault: Fault::None,
        };
        let mut config = ModelConfig::new(toy, self.window_ticks, self.buckets).with_cells(self.cell_scale);
        config.epoch_ticks = self.epoch_ticks;
        config.limits.contact_window = self.contact_window_ticks;
        config.limits.stride_min = self.stride_min_ticks;
        config.limits.adaptive = self.adaptive;
        config.lane = self.lane;
        config.atomicity = self.atomicity;
        config.history_ticks = self.history_ticks;
        config.script = self.script(&config);
        config.with_fault(fault)
    }

    fn script(&self, config: &ModelConfig) -> Vec<ScriptedInput> {
        let input = |tick, body, kind| ScriptedInput { tick, input: ToyInput { body, kind } };
        match self.inputs {
            InputFamily::Nothing => Vec::new(),
            InputFamily::Push => vec![input(1, 0, ToyInputKind::Mix(7))],
            InputFamily::Spawn => vec![config.spawn(1, 0)],
            InputFamily::Remove => vec![input(1, 0, ToyInputKind::Despawn)],
            InputFamily::PushAndRemove => {
                vec![input(2, 0, ToyInputKind::Mix(7)), input(1, 1, ToyInputKind::Despawn)]
            }
            InputFamily::SpawnAndRemove => vec![config.spawn(1, 0), input(2, 0, ToyInputKind::Despawn)],
        }
    }
}
