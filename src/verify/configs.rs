//! Small worlds that are looked at in full, in families that have something in common.

use crate::protocol::{EntityId, Fault};
use crate::tvht::Lane;
use crate::verify::config::{Cue, Grain, Setting};
use crate::verify::toy_model::{Act, Deed, Tiny};

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
    HandOver,
    /// The same, and the body is pushed at tick 1, and sent back later.
    HandOverAndPush,
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
    pub grain: Grain,
    /// Ticks kept unsettled.
    pub history: u64,
    /// Rounds of standings.
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

/// Two bodies that touch at every tick, each by itself, in shared memory: what all families are told apart from.
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
    grain: Grain::Handlers,
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
const HELD_TICKETS: Family = Family { lane: Lane::Actors, buckets: 2, cell_scale: 0.5, ..HELD };

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
    Family { name: "two bodies, held, tickets", sparse: 3, ticks: 4, seeds: &[0, 1, 2], ..HELD_TICKETS },
    Family { name: "three bodies, held, crews of two", bodies: 3, cluster: 2, seeds: &[0, 1, 2, 3], ..HELD },
    Family { name: "two bodies, many cores", grain: Grain::Effects, ticks: 4, ..PLAIN },
    Family { name: "two bodies, many cores, window 1", grain: Grain::Effects, window: 1, ..PLAIN },
    Family {
        name: "two bodies, tickets, 1 bucket",
        buckets: 1,
        window: 3,
        seeds: &[0, 1, 2, 3, 4, 5],
        ..ACTORS
    },
    Family { name: "two bodies, tickets, 2 buckets", ticks: 4, seeds: &[0, 1, 2, 3, 4], ..ACTORS },
    Family { name: "two bodies, tickets, 3 buckets", buckets: 3, ticks: 4, seeds: &[0, 1, 2, 3], ..ACTORS },
    Family {
        name: "two bodies, tickets, many cores",
        grain: Grain::Effects,
        ticks: 2,
        seeds: &[0, 1, 2, 3],
        ..ACTORS
    },
    THREE,
    Family { name: "three bodies, window 1", window: 1, seeds: &[0, 1, 2, 4, 7, 8], ..THREE },
    Family { name: "three bodies, window 3, 5 ticks", window: 3, ticks: 5, seeds: &[0, 2, 8], ..THREE },
    Family { name: "three bodies, many cores", grain: Grain::Effects, ticks: 2, seeds: &[0, 2], ..THREE },
    Family {
        name: "three bodies, tickets, 2 buckets",
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
    Family { name: "crews of two", bodies: 4, cluster: 2, ticks: 3, room: 4, seeds: &[0, 1, 2, 3], ..PLAIN },
    Family {
        name: "crews of two, tickets",
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
        grain: Grain::Effects,
        ticks: 3,
        seeds: &[0, 1, 2, 3],
        ..PLAIN
    },
    Family { name: "a push, tickets", outside: Outside::Push, ticks: 3, seeds: &[0, 1], ..ACTORS },
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
    Family { name: "a handover", outside: Outside::HandOver, ticks: 4, ..PLAIN },
    Family { name: "a handover and a push", outside: Outside::HandOverAndPush, ticks: 3, ..PLAIN },
    Family {
        name: "a handover, tickets",
        outside: Outside::HandOver,
        ticks: 3,
        seeds: &[0, 1, 2, 3],
        ..ACTORS
    },
    Family {
        name: "a handover among three",
        outside: Outside::HandOverAndPush,
        bodies: 3,
        ticks: 2,
        room: 8,
        seeds: &[0, 2],
        ..PLAIN
    },
];

/// Larger families, for those who have more time.
pub const LARGER: &[Family] = &[
    Family { name: "two bodies, tickets, 6 ticks, window 3", window: 3, ..ACTORS },
    Family { name: "two bodies, tickets, many cores, 4 ticks", grain: Grain::Effects, ticks: 4, ..ACTORS },
    Family { name: "three bodies, nearer", seeds: &[1, 3, 5, 6, 9], ..THREE },
    Family { name: "three bodies, 6 ticks", ticks: 6, window: 3, ..THREE },
    Family { name: "three bodies, many cores, 4 ticks", grain: Grain::Effects, ticks: 4, ..THREE },
    Family {
        name: "three bodies, tickets, 3 ticks",
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
    Family { name: "crews of two among six", bodies: 6, cluster: 2, room: 12, ticks: 3, ..PLAIN },
    Family { name: "a push among three", outside: Outside::PushAndRemove, ..THREE },
    Family { name: "three bodies, all touching, two rounds, 1 tick", room: 2, ticks: 1, ..THREE },
];

impl Family {
    /// One of its worlds.
    pub fn setting(&self, seed: u64, fault: Fault) -> Setting {
        let tiny = Tiny {
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
        let mut setting = Setting::new(tiny, self.window, self.buckets).with_cells(self.cell_scale);
        setting.cluster = self.cluster;
        setting.limits.contact_window = self.contact_window;
        setting.limits.stride_min = self.stride_min;
        setting.limits.adaptive = self.adaptive;
        setting.lane = self.lane;
        setting.grain = self.grain;
        setting.history = self.history;
        setting.script = self.script(&setting);
        setting.with_fault(fault)
    }

    fn script(&self, setting: &Setting) -> Vec<Cue> {
        let act = |tick, body, deed| Cue::Act { tick, act: Act { body, deed } };
        let hand = |from, to| Cue::HandOver { from: EntityId(from), bodies: vec![0], to: EntityId(to) };
        match self.outside {
            Outside::Nothing => Vec::new(),
            Outside::Push => vec![act(1, 0, Deed::Stir(7))],
            Outside::Spawn => vec![setting.newcomer(1, 0)],
            Outside::Remove => vec![act(1, 0, Deed::Vanish)],
            Outside::PushAndRemove => vec![act(2, 0, Deed::Stir(7)), act(1, 1, Deed::Vanish)],
            Outside::SpawnAndRemove => vec![setting.newcomer(1, 0), act(2, 0, Deed::Vanish)],
            Outside::HandOver => vec![hand(0, 1)],
            Outside::HandOverAndPush => vec![hand(0, 1), act(1, 0, Deed::Stir(7)), hand(1, 0)],
        }
    }
}
