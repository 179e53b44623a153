//! What touches at a tick: near pairs are looked at and contacts are made four at a time, with what they kept from the
//! tick before.

use crate::base::lanes::{Lanes, Vec3Lanes, Work};
use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::physics::World;
use crate::physics::collision::kernels::{ContactPoint, Placed};
use crate::physics::collision::parting_speed;
use crate::physics::local_solver::decayed_restitution;
use crate::physics::{BodyDef, Shape, StaticDef, touching_static};
use crate::store::heap::HeapGear;
use crate::store::heap::part::{
    Block, Contacts, Effect, Known, NONE, Own, Part, PartCounts, Place, STATIC, SlotFlight, Standing,
    StaticTouch, flag, row, vector,
};

/// Finds the contacts of a part.
pub(super) struct Find<'a> {
    pub gear: &'a HeapGear,
    pub world: &'a World,
    pub part: &'a mut Part,
    /// Of the balls of the part.
    pub standings: &'a mut [Standing],
}

/// The two sides of four contacts, and what they kept.
struct Four<'a, L> {
    normal: Vec3Lanes<L>,
    gap_m: L,
    point: Vec3Lanes<L>,
    x: (Vec3Lanes<L>, Vec3Lanes<L>),
    v: (Vec3Lanes<L>, Vec3Lanes<L>),
    inv_mass: (L, L),
    inv_inertia: (L, L),
    known: [&'a Known; 4],
}

/// The impulse along the surface nearest to what is wanted that is not longer than `most`.
#[inline(always)]
pub(super) fn on_disc<L: Lanes>(x: L, y: L, most: L) -> (L, L) {
    let length2 = x * x + y * y;
    let is_within = length2.le(most * most);
    if is_within.bits() == 15 {
        return (x, y);
    }
    let scale = most / length2.sqrt();
    (L::select(is_within, x, x * scale), L::select(is_within, y, y * scale))
}

/// Rows of something of four bodies.
#[inline(always)]
fn rows<T>(list: &[T], at: [u32; 4]) -> [&T; 4] {
    [&list[at[0] as usize], &list[at[1] as usize], &list[at[2] as usize], &list[at[3] as usize]]
}

/// Four numbers of a list, from `at` on.
#[inline(always)]
fn four(list: &[u32], at: usize) -> [u32; 4] {
    match list[at..].first_chunk() {
        Some(four) => *four,
        None => unreachable!("lists are padded to whole fours"),
    }
}

impl Work for Find<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Find { gear, world, part, standings } = self;
        part.contacts.clear();
        part.hit.clear();
        part.counts = PartCounts::default();
        part.touches.clear();
        part.touches.resize(part.slots.len(), false);
        find_pairs::<L>(gear, world, part);
        find_at_statics(gear, world, part);
        let slots = gear.flights.len() as u32;
        let balls = part.contacts.a.len();
        for touch in &part.at_statics {
            part.contacts.push(touch.slot, slots, STATIC | touch.near);
        }
        part.contacts.pad(slots);
        let contacts = part.contacts.a.len();
        part.contacts.bounced_in.resize(contacts, 0);
        if part.contacts.blocks.len() < contacts / 4 {
            part.contacts.blocks.resize(contacts / 4, Block::EMPTY);
        }
        if part.contacts.effects.len() < contacts {
            part.contacts.effects.resize(contacts, Effect::NONE);
        }
        for at in (0..balls).step_by(4) {
            between_balls::<L>(gear, world, part, at);
        }
        for at in (balls..contacts).step_by(4) {
            at_statics::<L>(gear, world, part, at, balls);
        }
        first_sums::<L>(gear, world, part, standings);
    }
}

/// Looks which near pairs touch.
#[inline(always)]
fn find_pairs<L: Lanes>(gear: &HeapGear, world: &World, part: &mut Part) {
    let places = &gear.places[..];
    let rule = &world.rule;
    let (margin, zero) = (L::splat(rule.margin_m), L::splat(0.0));
    let (separation, rate) = (L::splat(rule.separation_speed_mps), L::splat(rule.overlap_rate_hz));
    let (own, slots) = (part.slots.start, gear.flights.len() as u32);
    for at in (0..part.a.len()).step_by(4) {
        let (a, b) = (four(&part.a, at), four(&part.b, at));
        let (pa, pb) = (rows(places, a), rows(places, b));
        let dx = differences::<L>(
            [&pa[0].x, &pa[1].x, &pa[2].x, &pa[3].x],
            [&pb[0].x, &pb[1].x, &pb[2].x, &pb[3].x],
        );
        let d2 = dx.dot(dx);
        let radii = L::front(&part.radii_m[at..]);
        let reach = radii + margin;
        let mut hits = d2.lt(reach * reach).bits();
        if hits != 0 {
            let dv = differences::<L>(
                [&pa[0].v, &pa[1].v, &pa[2].v, &pa[3].v],
                [&pb[0].v, &pb[1].v, &pb[2].v, &pb[3].v],
            );
            let distance = d2.sqrt();
            let parting = separation + rate * (distance - radii).negated().max(zero);
            hits &= d2.eq(zero).or(dv.dot(dx).lt(parting * distance)).bits();
        }
        if hits == 0 {
            part.contact[at..at + 4].fill(NONE);
            continue;
        }
        for lane in 0..4 {
            if hits >> lane & 1 == 0 {
                part.contact[at + lane] = NONE;
                continue;
            }
            let pair = at + lane;
            let (a, b) = (a[lane], b[lane]);
            let own_a = (a as usize).wrapping_sub(own);
            for ball in [own_a, (b as usize).wrapping_sub(own)] {
                if let Some(touches) = part.touches.get_mut(ball) {
                    *touches = true;
                }
            }
            let is_new = part.contact[pair] == NONE;
            if is_new {
                let def = |slot: u32| &world.bodies[gear.columns.body[slot as usize] as usize];
                let surface = def(a).surface.combined(&def(b).surface);
                let (friction, restitution) = (surface.friction, surface.restitution);
                part.known[pair] = Known { friction, restitution, ..Known::NEW };
            }
            if own_a < part.touches.len() {
                part.counts.new += u64::from(is_new);
                part.counts.pairs += 1;
            }
            part.contact[pair] = part.contacts.a.len() as u32;
            part.contacts.push(a, b, pair as u32);
        }
    }
    part.contacts.pad(slots);
}

/// Differences of four rows, component by component.
#[inline(always)]
fn differences<L: Lanes>(a: [&[f64; 4]; 4], b: [&[f64; 4]; 4]) -> Vec3Lanes<L> {
    let [x, y, z, _] = L::transpose([
        L::load(a[0]) - L::load(b[0]),
        L::load(a[1]) - L::load(b[1]),
        L::load(a[2]) - L::load(b[2]),
        L::load(a[3]) - L::load(b[3]),
    ]);
    Vec3Lanes(x, y, z)
}

/// Looks which balls touch static geometry.
fn find_at_statics(gear: &HeapGear, world: &World, part: &mut Part) {
    part.at_statics.clear();
    if part.statics.is_empty() {
        return;
    }
    for (ball, slot) in part.slots.clone().enumerate() {
        let near = part.statics_of_ball[ball] as usize..part.statics_of_ball[ball + 1] as usize;
        if near.is_empty() {
            continue;
        }
        let (place, flight) = (&gear.places[slot], &gear.flights[slot]);
        let def = &world.bodies[flight.body as usize];
        for at in near {
            let object = &world.statics[part.statics[at].object as usize];
            let Some(point) = touch_static(world, place, flight, def, object) else {
                part.statics[at].contact = NONE;
                continue;
            };
            let is_new = part.statics[at].contact == NONE;
            if is_new {
                let surface = def.surface.combined(&object.surface);
                let (friction, restitution) = (surface.friction, surface.restitution);
                part.static_known[at] = Known { friction, restitution, ..Known::NEW };
            }
            part.counts.new += u64::from(is_new);
            part.counts.at_statics += 1;
            part.touches[ball] = true;
            part.statics[at].contact = (part.contacts.a.len() + part.at_statics.len()) as u32;
            let (normal, gap_m, point) = (point.normal, point.gap, point.point);
            let (slot, near) = (slot as u32, at as u32);
            part.at_statics.push(StaticTouch { slot, near, normal, gap_m, point, centre: object.x });
        }
    }
}

/// Where a ball touches a static object: [`touching_static`], without making a manifold.
#[inline]
fn touch_static(
    world: &World,
    place: &Place,
    flight: &SlotFlight,
    def: &BodyDef,
    object: &StaticDef,
) -> Option<ContactPoint> {
    let (x, v, w) = (vector(&place.x), vector(&place.v), flight.w);
    if let Shape::Sphere(_) = object.shape {
        let found = touching_static(&world.rule, def, &BodyState { x, q: flight.q, v, w }, object);
        return found.and_then(|manifold| manifold.points().first().copied());
    }
    let (normal, distance) = Placed { shape: &object.shape, x: object.x, q: object.q }.signed_distance(x);
    let gap = distance - def.radius;
    if !(gap < world.rule.margin_m && gap < world.rule.speculative_m) {
        return None;
    }
    let point = x - normal * (def.radius + 0.5 * gap);
    let approach = v + w.cross(&(point - x));
    let touches = approach.dot(&normal) < parting_speed(&world.rule, gap);
    touches.then_some(ContactPoint { feature: 0, point, normal, gap })
}

static NOTHING: Known = Known::NEW;

/// Makes four contacts between balls.
#[inline(always)]
fn between_balls<L: Lanes>(gear: &HeapGear, world: &World, part: &mut Part, at: usize) {
    let (a, b) = (four(&part.contacts.a, at), four(&part.contacts.b, at));
    let pairs = four(&part.contacts.pair, at);
    let (pa, pb) = (rows(&gear.places, a), rows(&gear.places, b));
    let (xa, _) = Vec3Lanes::<L>::gather([&pa[0].x, &pa[1].x, &pa[2].x, &pa[3].x]);
    let (xb, radius_b) = Vec3Lanes::<L>::gather([&pb[0].x, &pb[1].x, &pb[2].x, &pb[3].x]);
    let (va, inv_mass_a) = Vec3Lanes::<L>::gather([&pa[0].v, &pa[1].v, &pa[2].v, &pa[3].v]);
    let (vb, inv_mass_b) = Vec3Lanes::<L>::gather([&pb[0].v, &pb[1].v, &pb[2].v, &pb[3].v]);
    let (mut radii, mut known) = ([0.0; 4], [&NOTHING; 4]);
    let (mut inertia_a, mut inertia_b) = ([0.0; 4], [0.0; 4]);
    for lane in 0..4 {
        if pairs[lane] != NONE {
            radii[lane] = part.radii_m[pairs[lane] as usize];
            known[lane] = &part.known[pairs[lane] as usize];
            inertia_a[lane] = gear.inv_inertias[a[lane] as usize];
            inertia_b[lane] = gear.inv_inertias[b[lane] as usize];
        }
    }
    let zero = L::splat(0.0);
    let d = xa.minus(xb);
    let distance = d.dot(d).sqrt();
    let is_apart = zero.lt(distance);
    let n = d.over(distance);
    let normal = Vec3Lanes(
        L::select(is_apart, n.0, zero),
        L::select(is_apart, n.1, L::splat(1.0)),
        L::select(is_apart, n.2, zero),
    );
    let gap_m = distance - L::load(&radii);
    let point = xb.plus(normal.times(radius_b + L::splat(0.5) * gap_m));
    let four = Four {
        normal,
        gap_m,
        point,
        x: (xa, xb),
        v: (va, vb),
        inv_mass: (inv_mass_a, inv_mass_b),
        inv_inertia: (L::load(&inertia_a), L::load(&inertia_b)),
        known,
    };
    make(world, four, &mut part.contacts, at);
    let gaps = part.contacts.blocks[at / 4].gap_m;
    for lane in 0..4 {
        if pairs[lane] != NONE {
            part.counts.max_overlap_m = part.counts.max_overlap_m.max(-gaps[lane]);
        }
    }
}

/// Makes four contacts with static geometry. `first` is the number of the first contact of that kind.
#[inline(always)]
fn at_statics<L: Lanes>(gear: &HeapGear, world: &World, part: &mut Part, at: usize, first: usize) {
    let mut normal = [[0.0; 4]; 3];
    let (mut point, mut centre, mut gap_m) = (normal, normal, [1.0; 4]);
    let mut places = [&Place::NOWHERE; 4];
    let (mut known, mut inertia) = ([&NOTHING; 4], [0.0; 4]);
    for lane in 0..4 {
        let Some(touch) = part.at_statics.get(at - first + lane) else { break };
        for axis in 0..3 {
            normal[axis][lane] = touch.normal[axis];
            point[axis][lane] = touch.point[axis];
            centre[axis][lane] = touch.centre[axis];
        }
        gap_m[lane] = touch.gap_m;
        places[lane] = &gear.places[touch.slot as usize];
        known[lane] = &part.static_known[touch.near as usize];
        inertia[lane] = gear.inv_inertias[touch.slot as usize];
        part.counts.max_overlap_m = part.counts.max_overlap_m.max(-touch.gap_m);
    }
    let [a, b, c, d] = places;
    let (x, _) = Vec3Lanes::<L>::gather([&a.x, &b.x, &c.x, &d.x]);
    let (v, inv_mass) = Vec3Lanes::<L>::gather([&a.v, &b.v, &c.v, &d.v]);
    let zero = L::splat(0.0);
    let four = Four {
        normal: Vec3Lanes::load(&normal),
        gap_m: L::load(&gap_m),
        point: Vec3Lanes::load(&point),
        x: (x, Vec3Lanes::load(&centre)),
        v: (v, Vec3Lanes::zero()),
        inv_mass: (inv_mass, zero),
        inv_inertia: (L::load(&inertia), zero),
        known,
    };
    make(world, four, &mut part.contacts, at);
}

/// Makes four contacts from number `at` on: their rows, and the impulses that they start with.
#[inline(always)]
fn make<L: Lanes>(world: &World, four: Four<L>, contacts: &mut Contacts, at: usize) {
    let Four { normal, gap_m, point, x, v, inv_mass, inv_inertia, known: [a, b, c, d] } = four;
    let rule = &world.rule;
    let zero = L::splat(0.0);
    let (mut along, mut pressed) = Vec3Lanes::<L>::gather([&a.impulse, &b.impulse, &c.impulse, &d.impulse]);
    if !rule.warm_start {
        (along, pressed) = (Vec3Lanes::zero(), zero);
    }
    let friction_of = [a.friction, b.friction, c.friction, d.friction];
    let faded = [
        decayed_restitution(a.restitution, a.bounces),
        decayed_restitution(b.restitution, b.bounces),
        decayed_restitution(c.restitution, c.bounces),
        decayed_restitution(d.restitution, d.bounces),
    ];
    let speed = normal.dot(v.0.minus(v.1));
    let is_impact = gap_m
        .lt(L::splat(rule.margin_m))
        .and(speed.lt(zero))
        .and(L::splat(rule.bounce_speed_mps).lt(L::load(&faded) * speed.negated()))
        .bits();
    let was_loaded = zero.lt(pressed).bits();
    for lane in 0..4 {
        let bits =
            (is_impact >> lane & 1) as u8 * flag::IMPACT + (was_loaded >> lane & 1) as u8 * flag::WAS_LOADED;
        contacts.flags.push(bits);
    }
    let block = &mut contacts.blocks[at / 4];
    normal.store(&mut block.normal);
    gap_m.store(&mut block.gap_m);
    pressed.store(&mut block.normal_impulse);
    block.friction = friction_of;
    let mut push = normal.times(pressed);
    let (mut turn_a, mut turn_b) = (Vec3Lanes::zero(), Vec3Lanes::zero());
    let friction = L::load(&friction_of);
    if zero.lt(friction).bits() != 0 {
        // The two directions of `across`, for every lane.
        let is_flat = normal.0.abs().lt(L::splat(0.7));
        let one = L::splat(1.0);
        let other = Vec3Lanes(L::select(is_flat, one, zero), L::select(is_flat, zero, one), zero);
        let across = normal.cross(other);
        let first = across.over(across.dot(across).sqrt());
        let second = normal.cross(first);
        let to = (point.minus(x.0), point.minus(x.1));
        let (wanted, most) = ((along.dot(first), along.dot(second)), friction * pressed);
        let impulse = on_disc(wanted.0, wanted.1, most);
        let [block_first, block_second] = &mut block.tangents;
        for (tangent, dir, impulse) in [(block_first, first, impulse.0), (block_second, second, impulse.1)] {
            let (arm_a, arm_b) = (to.0.cross(dir), to.1.cross(dir));
            dir.store(&mut tangent.dir);
            arm_a.store(&mut tangent.arm_a);
            arm_b.store(&mut tangent.arm_b);
            (inv_mass.0 + arm_a.dot(arm_a.times(inv_inertia.0))).store(&mut tangent.k_a);
            (inv_mass.1 + arm_b.dot(arm_b.times(inv_inertia.1))).store(&mut tangent.k_b);
            impulse.store(&mut tangent.impulse);
            push = push.plus(dir.times(impulse));
            turn_a = turn_a.plus(arm_a.times(impulse));
            turn_b = turn_b.plus(arm_b.times(impulse));
        }
    }
    let (push, turn_a, turn_b) = (push.rows(zero), turn_a.rows(zero), turn_b.rows(zero));
    for lane in 0..4 {
        let effect = &mut contacts.effects[at + lane];
        push[lane].store(&mut effect.push);
        turn_a[lane].store(&mut effect.turn_a);
        turn_b[lane].store(&mut effect.turn_b);
    }
}

/// What the contacts of a ball do to it, and what there is to know of any of them. In the order of sums.
#[inline(always)]
pub(super) fn add_up<L: Lanes>(contacts: &Contacts, slot: u32, own: &[Own]) -> (L, L, u8) {
    let (mut push, mut turn, mut flags) = (L::splat(0.0), L::splat(0.0), 0);
    for Own { contact, .. } in own {
        let at = *contact as usize;
        let effect = &contacts.effects[at];
        if contacts.a[at] == slot {
            push = push + L::load(&effect.push);
            turn = turn + L::load(&effect.turn_a);
        } else {
            push = push - L::load(&effect.push);
            turn = turn - L::load(&effect.turn_b);
        }
        flags |= contacts.flags[at];
    }
    (push, turn, flags)
}

/// The change of angular velocity, as the product with the matrix of a ball has it, to the sign of zero.
#[inline(always)]
pub(super) fn spun(inv_inertia: f64, turn: &[f64; 4]) -> Vec3 {
    let [x, y, z, _] = *turn;
    Vec3::new(
        inv_inertia * x + 0.0 * y + 0.0 * z,
        0.0 * x + inv_inertia * y + 0.0 * z,
        0.0 * x + 0.0 * y + inv_inertia * z,
    )
}

/// Lists the contacts of every ball, and adds up what they did at the tick before.
#[inline(always)]
fn first_sums<L: Lanes>(gear: &HeapGear, world: &World, part: &mut Part, standings: &mut [Standing]) {
    let falling = world.gravity * world.time.tick_s;
    let gravity = L::load(&row(falling, 0.0));
    for (ball, standing) in standings.iter_mut().enumerate() {
        let first = part.contacts.order.len() as u32;
        if !part.touches[ball] {
            part.contacts.of_ball.push((first, 0));
            continue;
        }
        let slot = part.slots.start + ball;
        let pairs = part.pairs_of_ball[ball] as usize..part.pairs_of_ball[ball + 1] as usize;
        for (pair, partner) in &part.pair_order[pairs] {
            let contact = part.contact[*pair as usize];
            if contact != NONE {
                part.contacts.order.push(Own { contact, partner: *partner });
            }
        }
        let near = part.statics_of_ball[ball] as usize..part.statics_of_ball[ball + 1] as usize;
        for near in &part.statics[near] {
            if near.contact != NONE {
                part.contacts.order.push(Own { contact: near.contact, partner: STATIC | near.object });
            }
        }
        let count = part.contacts.order.len() as u32 - first;
        part.contacts.of_ball.push((first, count));
        let (place, flight) = (&gear.places[slot], &gear.flights[slot]);
        let (push, turn, flags) = add_up::<L>(&part.contacts, slot as u32, part.contacts.of(ball));
        let (inv_mass, inv_inertia) = (place.v[3], gear.inv_inertias[slot]);
        let rested = L::load(&place.v) + gravity + push * L::splat(inv_mass);
        rested.store(&mut standing.rested_v);
        standing.rested_v[3] = f64::from(count);
        standing.rested_w = row(flight.w + spun(inv_inertia, &turn.to_array()), inv_mass);
        standing.v = [place.v[0], place.v[1], place.v[2], inv_inertia];
        standing.w = row(flight.w, 0.0);
        if flags & flag::IMPACT != 0 {
            part.hit.push(slot as u32);
        }
    }
}
