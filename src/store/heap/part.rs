//! What a heap of balls is stored in: arrays by slot, and parts of them, each worked on by one thread at a time.

use std::ops::Range;

use crate::base::math::{Quat, Vec3};
use crate::base::time::Tick;
use crate::physics::contact::Velocity;

/// No index.
pub(super) const NONE: u32 = u32::MAX;
/// Added to the index of a static object, to distinguish it from that of a body.
pub(super) const STATIC: u32 = 1 << 31;

/// The flight of the ball in a slot. Read by other slots' threads only while nothing is written.
#[derive(Clone, Copy)]
pub(super) struct SlotFlight {
    pub x: Vec3,
    pub v: Vec3,
    pub w: Vec3,
    pub q: Quat,
    pub since: Tick,
    /// Index of the body.
    pub body: u32,
    /// Whether it has changed since the list was made.
    pub has_changed: bool,
}

/// Where a ball is at the present tick. One line of a processor's cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Place {
    /// Position, metres, and radius.
    pub x: [f64; 4],
    /// Velocity, m/s, and inverse mass, 1/kg.
    pub v: [f64; 4],
}

impl Place {
    /// Near nothing: what lists are padded with.
    pub const NOWHERE: Place = Place { x: [f64::INFINITY, 0.0, 0.0, 0.0], v: [0.0; 4] };
}

/// What the contacts of a ball need to know of it, while they are solved.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Standing {
    /// Velocity with gravity and impulses of resting contacts, m/s, and the number of its contacts.
    pub rested_v: [f64; 4],
    /// Angular velocity with them, rad/s, and inverse mass, 1/kg.
    pub rested_w: [f64; 4],
    /// Velocity after the impacts, and the inverse moment of inertia, 1/(kg m²).
    pub v: [f64; 4],
    /// Angular velocity after them.
    pub w: [f64; 4],
}

impl Standing {
    /// Static geometry: it has one contact, and nothing moves it.
    pub const FIXED: Standing =
        Standing { rested_v: [0.0, 0.0, 0.0, 1.0], rested_w: [0.0; 4], v: [0.0; 4], w: [0.0; 4] };

    /// Velocities after the impacts.
    pub fn velocity(&self) -> Velocity {
        Velocity { v: vector(&self.v), w: vector(&self.w) }
    }
}

/// What a near pair keeps while it touches: impulses of the tick before, its surface, and its bounces.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Known {
    /// Impulse along the surface in world coordinates, and along the normal, N s.
    pub impulse: [f64; 4],
    pub friction: f64,
    pub restitution: f64,
    /// Number of bounces since the contact began.
    pub bounces: u32,
}

impl Known {
    pub const NEW: Known = Known { impulse: [0.0; 4], friction: 0.0, restitution: 0.0, bounces: 0 };
}

/// Four contacts, component by component.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Block {
    pub normal: [[f64; 4]; 3],
    pub gap_m: [f64; 4],
    pub normal_impulse: [f64; 4],
    pub friction: [f64; 4],
    /// Two directions along the surface, with their arms, and inverses of the effective masses of both sides.
    pub tangents: [TangentBlock; 2],
}

/// One direction along the surface of four contacts.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct TangentBlock {
    pub dir: [[f64; 4]; 3],
    pub arm_a: [[f64; 4]; 3],
    pub arm_b: [[f64; 4]; 3],
    pub k_a: [f64; 4],
    pub k_b: [f64; 4],
    pub impulse: [f64; 4],
}

impl Block {
    pub const EMPTY: Block = {
        let none = TangentBlock {
            dir: [[0.0; 4]; 3],
            arm_a: [[0.0; 4]; 3],
            arm_b: [[0.0; 4]; 3],
            k_a: [0.0; 4],
            k_b: [0.0; 4],
            impulse: [0.0; 4],
        };
        Block {
            normal: [[0.0; 4]; 3],
            gap_m: [0.0; 4],
            normal_impulse: [0.0; 4],
            friction: [0.0; 4],
            tangents: [none; 2],
        }
    };
}

/// What a contact does to its sides, in rows that bodies add up.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Effect {
    /// Impulse on the first side, N s.
    pub push: [f64; 4],
    /// Moments about both centres, N m s, and how far both sides are moved along the normal, metres.
    pub turn_a: [f64; 4],
    pub turn_b: [f64; 4],
    pub normal: [f64; 4],
}

impl Effect {
    pub const NONE: Effect = Effect { push: [0.0; 4], turn_a: [0.0; 4], turn_b: [0.0; 4], normal: [0.0; 4] };
}

/// What there is to know of a contact, as bits.
pub(super) mod flag {
    /// An impact at the velocities at the start of the tick.
    pub const IMPACT: u8 = 1;
    /// Still an impact after the last round.
    pub const DEFERRED: u8 = 2;
    pub const BOUNCED: u8 = 4;
    /// Carried load at the tick before.
    pub const WAS_LOADED: u8 = 8;
    pub const SEPARATING: u8 = 16;
    /// Carries load.
    pub const LOADED: u8 = 32;
}

/// A contact of a ball: the number of the contact, and the body or static object at its other side.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub contact: u32,
    pub partner: u32,
}

/// The contacts of a part at one tick: those between balls, in the order of pairs, then those with static geometry. Each
/// of both kinds is padded to whole fours.
#[derive(Default)]
pub(super) struct Contacts {
    /// Slots of both sides. The first is the body with the smaller id; the second is the number of slots for static
    /// geometry, and both are in padding.
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    /// The near pair, or with [`STATIC`] the pair of ball and static object; [`NONE`] in padding.
    pub pair: Vec<u32>,
    pub flags: Vec<u8>,
    /// The round in which it last bounced; 0 for none.
    pub bounced_in: Vec<u32>,
    pub blocks: Vec<Block>,
    pub effects: Vec<Effect>,
    /// The contacts of all balls of the part, ball by ball, in the order of sums.
    pub order: Vec<Own>,
    /// By ball of the part: where its contacts are in `order`.
    pub of_ball: Vec<(u32, u32)>,
}

impl Contacts {
    pub fn clear(&mut self) {
        self.a.clear();
        self.b.clear();
        self.pair.clear();
        self.flags.clear();
        self.bounced_in.clear();
        self.order.clear();
        self.of_ball.clear();
    }

    /// Adds a contact.
    #[inline(always)]
    pub fn push(&mut self, a: u32, b: u32, pair: u32) {
        self.a.push(a);
        self.b.push(b);
        self.pair.push(pair);
    }

    /// Fills the last four up with contacts of nothing.
    pub fn pad(&mut self, slots: u32) {
        while !self.a.len().is_multiple_of(4) {
            self.push(slots, slots, NONE);
        }
    }

    /// The contacts of a ball, by its number in the part.
    #[inline(always)]
    pub fn of(&self, ball: usize) -> &[Own] {
        let (first, count) = self.of_ball[ball];
        &self.order[first as usize..(first + count) as usize]
    }
}

/// A ball and a static object that it may come near.
#[derive(Clone, Copy)]
pub(super) struct NearStatic {
    pub object: u32,
    /// Its contact at the tick before, or [`NONE`]; from the search on, at this tick.
    pub contact: u32,
}

/// Consecutive slots, the near pairs of their balls, and their contacts. Pairs across parts are in both, and both compute
/// the same.
#[derive(Default)]
pub(super) struct Part {
    pub slots: Range<usize>,
    /// Near pairs, that with the smaller id first; the slots are padded to whole fours.
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    /// Sums of radii, metres.
    pub radii_m: Vec<f64>,
    /// Whether there were more than a run can have, so that the rest is missing.
    pub is_cut: bool,
    /// By pair: its contact at the tick before, or [`NONE`]; from the search on, at this tick.
    pub contact: Vec<u32>,
    /// By pair. Means something where it has a contact.
    pub known: Vec<Known>,
    /// Pairs by ball of the part, with the other body, by ascending bodies.
    pub pairs_of_ball: Vec<u32>,
    pub pair_order: Vec<(u32, u32)>,
    /// Static objects near each ball, by ascending object.
    pub statics_of_ball: Vec<u32>,
    pub statics: Vec<NearStatic>,
    pub static_known: Vec<Known>,
    pub contacts: Contacts,
    /// By ball: whether it touches something.
    pub touches: Vec<bool>,
    /// Slots of balls with an impact.
    pub hit: Vec<u32>,
    /// Slots of balls that turn, in this tick.
    pub turning: Vec<u32>,
    /// Whether a ball has left the way that the list expects.
    pub is_off: bool,
    /// The first body of the part with a state that is not finite.
    pub not_finite: Option<u32>,
    pub counts: PartCounts,
    /// Room for what is found.
    pub spare: Vec<u32>,
    pub at_statics: Vec<StaticTouch>,
}

/// How many contacts a part had at this tick, each counted once.
#[derive(Clone, Copy, Default)]
pub(super) struct PartCounts {
    pub new: u64,
    pub pairs: u64,
    pub at_statics: u64,
    pub max_overlap_m: f64,
}

/// A ball that touches static geometry.
#[derive(Clone, Copy)]
pub(super) struct StaticTouch {
    pub slot: u32,
    pub near: u32,
    pub normal: Vec3,
    pub gap_m: f64,
    pub point: Vec3,
    pub centre: Vec3,
}

impl Part {
    /// What a contact keeps.
    #[inline(always)]
    pub fn known(&self, pair: u32) -> &Known {
        if pair & STATIC == 0 {
            &self.known[pair as usize]
        } else {
            &self.static_known[(pair ^ STATIC) as usize]
        }
    }

    #[inline(always)]
    pub fn known_mut(&mut self, pair: u32) -> &mut Known {
        if pair & STATIC == 0 {
            &mut self.known[pair as usize]
        } else {
            &mut self.static_known[(pair ^ STATIC) as usize]
        }
    }
}

#[inline(always)]
pub(super) fn vector(row: &[f64; 4]) -> Vec3 {
    Vec3::new(row[0], row[1], row[2])
}

/// A row of three components and something else.
#[inline(always)]
pub(super) fn row(v: Vec3, rest: f64) -> [f64; 4] {
    [v.x, v.y, v.z, rest]
}

/// The slices of a list that belong to parts with these ends; the first begins at zero.
pub(super) fn slices<'a, T>(
    mut items: &'a mut [T],
    ends: &'a [usize],
) -> impl ExactSizeIterator<Item = &'a mut [T]> {
    let mut begin = 0;
    ends.iter().map(move |end| {
        let (head, tail) = std::mem::take(&mut items).split_at_mut(end - begin);
        (begin, items) = (*end, tail);
        head
    })
}
