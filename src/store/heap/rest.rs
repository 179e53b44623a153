//! Resting contacts, four at a time; then the new flights of all balls, and where they are at the next tick.

use crate::base::lanes::{Lanes, Vec3Lanes, Work};
use crate::base::math::{Quat, Vec3, quat_raw, renormalised, rotation_exp};
use crate::base::parallel;
use crate::base::rotation;
use crate::base::time::Tick;
use crate::physics::World;
use crate::store::heap::HeapGear;
use crate::store::heap::build::Columns;
use crate::store::heap::find::{add_up, on_disc, spun};
use crate::store::heap::part::{
    Contacts, NONE, Own, Part, Place, STATIC, SlotFlight, Standing, flag, row, slices, vector,
};

/// One iteration over the resting contacts of a part. The last one finds how far balls are moved apart.
pub(super) struct Relax<'a> {
    pub world: &'a World,
    /// Of all balls, and of static geometry.
    pub standings: &'a [Standing],
    pub part: &'a mut Part,
    pub is_last: bool,
}

/// A mask of the contacts with one of some bits.
#[inline(always)]
fn with<L: Lanes>(flags: &[u8], bits: u8) -> L {
    let mask = |at: usize| f64::from_bits(if flags[at] & bits != 0 { u64::MAX } else { 0 });
    L::load(&[mask(0), mask(1), mask(2), mask(3)])
}

impl Work for Relax<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let contacts = self.part.contacts.a.len();
        for at in (0..contacts).step_by(4) {
            relax::<L>(self.world, self.standings, self.part, at, self.is_last);
        }
    }
}

/// Four contacts from number `at` on.
// Long: the steps of one iteration, in the order of the local solver, with their numbers in registers.
#[inline(always)]
fn relax<L: Lanes>(world: &World, standings: &[Standing], part: &mut Part, at: usize, is_last: bool) {
    let rule = &world.rule;
    let (zero, tick_s) = (L::splat(0.0), L::splat(world.time.tick_s));
    let Part { contacts, known, static_known, .. } = part;
    let Contacts { a, b, pair, flags, blocks, effects, .. } = contacts;
    let (a, b, pairs) = (&a[at..at + 4], &b[at..at + 4], &pair[at..at + 4]);
    let (flags, block) = (&mut flags[at..at + 4], &mut blocks[at / 4]);
    let side_a = [0, 1, 2, 3].map(|lane| &standings[a[lane] as usize]);
    let side_b = [0, 1, 2, 3].map(|lane| &standings[b[lane] as usize]);
    let (va, weight_a) = Vec3Lanes::<L>::gather(side_a.map(|side| &side.rested_v));
    let (vb, weight_b) = Vec3Lanes::<L>::gather(side_b.map(|side| &side.rested_v));
    let (wa, inv_mass_a) = Vec3Lanes::<L>::gather(side_a.map(|side| &side.rested_w));
    let (wb, inv_mass_b) = Vec3Lanes::<L>::gather(side_b.map(|side| &side.rested_w));
    let normal = Vec3Lanes::<L>::load(&block.normal);
    let (gap_m, before) = (L::load(&block.gap_m), L::load(&block.normal_impulse));
    let (is_deferred, was_loaded) = (with::<L>(flags, flag::DEFERRED), with::<L>(flags, flag::WAS_LOADED));
    // A gap may close within the tick; not if the contact carried load.
    let may_close = L::select(was_loaded, zero, zero.lt(gap_m));
    let allowed = L::select(may_close, gap_m.negated() / tick_s, zero);
    let gain = inv_mass_a * weight_a + inv_mass_b * weight_b;
    let missing = allowed - normal.dot(va.minus(vb));
    let pressed = (before + missing / gain).max(zero);
    let pressed = L::select(is_deferred, before, pressed);
    let mut push = normal.times(pressed);
    let (mut turn_a, mut turn_b, mut along) = (Vec3Lanes::zero(), Vec3Lanes::zero(), Vec3Lanes::zero());
    let friction = L::load(&block.friction);
    if zero.lt(friction).bits() != 0 {
        let change = pressed - before;
        let va = va.plus(normal.times(change * inv_mass_a * weight_a));
        let vb = vb.minus(normal.times(change * inv_mass_b * weight_b));
        let v = va.minus(vb);
        let most = friction * pressed;
        let [first, second] = &mut block.tangents;
        let dir = (Vec3Lanes::<L>::load(&first.dir), Vec3Lanes::<L>::load(&second.dir));
        let arm_a = (Vec3Lanes::<L>::load(&first.arm_a), Vec3Lanes::<L>::load(&second.arm_a));
        let arm_b = (Vec3Lanes::<L>::load(&first.arm_b), Vec3Lanes::<L>::load(&second.arm_b));
        let former = (L::load(&first.impulse), L::load(&second.impulse));
        let speed = (
            dir.0.dot(v) + arm_a.0.dot(wa) - arm_b.0.dot(wb),
            dir.1.dot(v) + arm_a.1.dot(wa) - arm_b.1.dot(wb),
        );
        let gain = (
            L::load(&first.k_a) * weight_a + L::load(&first.k_b) * weight_b,
            L::load(&second.k_a) * weight_a + L::load(&second.k_b) * weight_b,
        );
        let (i, j) = on_disc(former.0 - speed.0 / gain.0, former.1 - speed.1 / gain.1, most);
        let (i, j) = (L::select(is_deferred, former.0, i), L::select(is_deferred, former.1, j));
        push = push.plus(dir.0.times(i)).plus(dir.1.times(j));
        along = dir.0.times(i).plus(dir.1.times(j));
        turn_a = arm_a.0.times(i).plus(arm_a.1.times(j));
        turn_b = arm_b.0.times(i).plus(arm_b.1.times(j));
        if !is_last {
            i.store(&mut first.impulse);
            j.store(&mut second.impulse);
        }
    }
    let (mut shift_a, mut shift_b) = (zero, zero);
    if is_last {
        let (va, _) = Vec3Lanes::<L>::gather(side_a.map(|side| &side.v));
        let (vb, _) = Vec3Lanes::<L>::gather(side_b.map(|side| &side.v));
        let speed = normal.dot(va.minus(vb));
        let is_loaded = zero.lt(pressed);
        let is_separating = L::splat(rule.separation_speed_mps).le(speed).bits();
        let rests = is_loaded.or(speed.le(L::splat(rule.bounce_speed_mps)));
        let moves = gap_m.lt(zero).and(rests).or(zero.lt(gap_m).and(is_loaded));
        let moves = L::select(with::<L>(flags, flag::DEFERRED | flag::BOUNCED), zero, moves);
        let shift = L::splat(rule.correction) * gap_m.negated() / gain;
        shift_a = L::select(moves, shift * inv_mass_a, zero);
        shift_b = L::select(moves, shift * inv_mass_b, zero);
        let loaded = is_loaded.bits();
        let kept = along.rows(pressed);
        for lane in 0..4 {
            flags[lane] |= (is_separating >> lane & 1) as u8 * flag::SEPARATING
                + (loaded >> lane & 1) as u8 * flag::LOADED;
            let pair = pairs[lane];
            if pair == NONE {
                continue;
            }
            let known = match pair & STATIC {
                0 => &mut known[pair as usize],
                _ => &mut static_known[(pair ^ STATIC) as usize],
            };
            kept[lane].store(&mut known.impulse);
        }
    } else {
        pressed.store(&mut block.normal_impulse);
    }
    let (push, turn_a, turn_b) = (push.rows(zero), turn_a.rows(shift_a), turn_b.rows(shift_b));
    let normal = normal.rows(zero);
    for lane in 0..4 {
        let effect = &mut effects[at + lane];
        push[lane].store(&mut effect.push);
        turn_a[lane].store(&mut effect.turn_a);
        turn_b[lane].store(&mut effect.turn_b);
        normal[lane].store(&mut effect.normal);
    }
}

/// The velocities that all impulses as they are now lead to, before another iteration.
pub(super) struct AddUp<'a> {
    pub world: &'a World,
    pub part: &'a Part,
    pub standings: &'a mut [Standing],
}

impl Work for AddUp<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let falling = self.world.gravity * self.world.time.tick_s;
        for (ball, standing) in self.standings.iter_mut().enumerate() {
            let own = self.part.contacts.of(ball);
            if own.is_empty() {
                continue;
            }
            let slot = (self.part.slots.start + ball) as u32;
            let (push, turn, _) = add_up::<L>(&self.part.contacts, slot, own);
            let (inv_mass, inv_inertia) = (standing.rested_w[3], standing.v[3]);
            let free = vector(&standing.v) + falling;
            standing.rested_v = row(free + vector(&push.to_array()) * inv_mass, standing.rested_v[3]);
            standing.rested_w = row(vector(&standing.w) + spun(inv_inertia, &turn.to_array()), inv_mass);
        }
    }
}

/// The new flights of the balls of a part, and their places at the next tick.
pub(super) struct GoOn<'a> {
    pub world: &'a World,
    pub tick: Tick,
    pub made: Tick,
    pub skin_m: f64,
    pub columns: &'a Columns,
    pub standings: &'a [Standing],
    pub part: &'a mut Part,
    /// Of the balls of the part.
    pub flights: &'a mut [SlotFlight],
    pub places: &'a mut [Place],
}

impl Work for GoOn<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let GoOn { world, tick, part, standings, flights, places, columns, .. } = self;
        let first = part.slots.start;
        part.turning.clear();
        part.not_finite = None;
        let from_made_s = world.time.span_s(self.made, tick + 1);
        let fallen = world.gravity * (from_made_s * from_made_s * 0.5);
        let limit2 = 0.25 * self.skin_m * self.skin_m;
        let mut is_off = false;
        for (ball, (flight, place)) in flights.iter_mut().zip(places.iter_mut()).enumerate() {
            let slot = first + ball;
            let own = part.contacts.of(ball);
            if !own.is_empty() {
                let is_held =
                    respond::<L>(world, tick, &part.contacts, &standings[slot], own, slot, flight, place);
                if is_held {
                    part.turning.push(ball as u32);
                }
            }
            flight.place_at(world, tick + 1, place);
            let (x, v) = (vector(&place.x), vector(&place.v));
            if !(x.amax() + v.amax() + flight.w.amax()).is_finite() {
                part.not_finite = Some(part.not_finite.map_or(flight.body, |body| body.min(flight.body)));
            }
            if flight.has_changed {
                let expected = columns.x_at(slot) + columns.v_at(slot) * from_made_s + fallen;
                let off2 = (x - expected).norm_squared();
                is_off |= off2 >= limit2 || off2.is_nan();
            }
        }
        part.is_off |= is_off;
        for four in part.turning.chunks(4) {
            turn::<L>(world.time.tick_s, flights, four);
        }
    }
}

impl SlotFlight {
    /// Puts the ball to its place at a tick.
    #[inline(always)]
    pub fn place_at(&self, world: &World, tick: Tick, place: &mut Place) {
        let (radius, inv_mass) = (place.x[3], place.v[3]);
        if tick == self.since {
            (place.x, place.v) = (row(self.x, radius), row(self.v, inv_mass));
            return;
        }
        let tau = world.time.span_s(self.since, tick);
        place.x = row(self.x + self.v * tau + world.gravity * (tau * tau * 0.5), radius);
        place.v = row(self.v + world.gravity * tau, inv_mass);
    }

    /// Orientation at a tick.
    #[inline(always)]
    pub fn orientation_at(&self, world: &World, tick: Tick) -> Quat {
        match tick == self.since {
            true => self.q,
            false => rotation_exp(self.w * world.time.span_s(self.since, tick)) * self.q,
        }
    }
}

/// The new flight of a ball in contact. Says whether contacts hold it; then it has yet to be turned.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a loop body that must be compiled for each kind of lanes")]
fn respond<L: Lanes>(
    world: &World,
    tick: Tick,
    contacts: &Contacts,
    standing: &Standing,
    own: &[Own],
    slot: usize,
    flight: &mut SlotFlight,
    place: &Place,
) -> bool {
    let zero = L::splat(0.0);
    let (mut push, mut turn, mut moved) = (zero, zero, zero);
    let (mut any, mut every) = (0, u8::MAX);
    for Own { contact, .. } in own {
        let at = *contact as usize;
        let effect = &contacts.effects[at];
        let (effect_push, normal) = (L::load(&effect.push), L::load(&effect.normal));
        if contacts.a[at] == slot as u32 {
            push = push + effect_push;
            turn = turn + L::load(&effect.turn_a);
            moved = moved + normal * L::splat(effect.turn_a[3]);
        } else {
            push = push - effect_push;
            turn = turn - L::load(&effect.turn_b);
            moved = moved - normal * L::splat(effect.turn_b[3]);
        }
        any |= contacts.flags[at];
        every &= contacts.flags[at];
    }
    let x = L::load(&place.x);
    let q = flight.orientation_at(world, tick);
    flight.has_changed = true;
    let has_collided = any & (flag::BOUNCED | flag::DEFERRED) != 0;
    if (has_collided || every & flag::SEPARATING != 0) && any & flag::LOADED == 0 {
        // A bounce is an instant change of velocity; what follows is free flight from this very tick.
        flight.q = renormalised(rotation_exp(Vec3::zeros()) * q);
        flight.x = vector(&(x + moved).to_array());
        (flight.v, flight.w, flight.since) = (vector(&standing.v), vector(&standing.w), tick);
        return false;
    }
    let falling = world.gravity * world.time.tick_s;
    let (tick_s, inv_mass) = (L::splat(world.time.tick_s), L::splat(standing.rested_w[3]));
    let v = L::load(&standing.v) + L::load(&row(falling, 0.0)) + push * inv_mass;
    flight.v = vector(&v.to_array());
    flight.w = vector(&standing.w) + spun(standing.v[3], &turn.to_array());
    flight.x = vector(&(x + v * tick_s + moved).to_array());
    (flight.q, flight.since) = (q, tick + 1);
    true
}

/// Turns up to four balls by a tick.
#[inline(always)]
fn turn<L: Lanes>(tick_s: f64, flights: &mut [SlotFlight], four: &[u32]) {
    let at = |lane: usize| four[lane.min(four.len() - 1)] as usize;
    let of = |lane: usize| &flights[at(lane)];
    let (a, b, c, d) = (of(0), of(1), of(2), of(3));
    let (w, _) = Vec3Lanes::<L>::gather([&row(a.w, 0.0), &row(b.w, 0.0), &row(c.w, 0.0), &row(d.w, 0.0)]);
    let components = |flight: &SlotFlight| [flight.q.i, flight.q.j, flight.q.k, flight.q.w];
    let (xyz, real) =
        Vec3Lanes::<L>::gather([&components(a), &components(b), &components(c), &components(d)]);
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    match rotation::rotation_exp(w.times(L::splat(tick_s))) {
        Some(by) => {
            let turned = rotation::product(by, [xyz.0, xyz.1, xyz.2, real]);
            // Contacts between balls move them apart without turning them.
            let turned = rotation::product([zero, zero, zero, one], turned);
            let rows = L::transpose(rotation::renormalised(turned));
            for (lane, slot) in four.iter().enumerate() {
                let [x, y, z, w] = rows[lane].to_array();
                flights[*slot as usize].q = quat_raw(x, y, z, w);
            }
        }
        None => {
            for slot in four {
                let flight = &mut flights[*slot as usize];
                let q = rotation_exp(flight.w * tick_s) * flight.q;
                flight.q = renormalised(rotation_exp(Vec3::zeros()) * q);
            }
        }
    }
}

impl HeapGear {
    /// Solves the resting contacts, and lets all balls go on.
    pub(super) fn rest(&mut self, world: &World) {
        let lanes = self.lanes;
        for iteration in 1..=world.rule.iterations {
            let is_last = iteration == world.rule.iterations;
            let standings = &self.standings[..];
            parallel::par_parts(self.parts.iter_mut(), |part| {
                lanes.run(Relax { world, standings, part, is_last });
            });
            if !is_last {
                let (standings, ends) = (&mut self.standings[..], &self.ends);
                let rooms = self.parts.iter().zip(slices(standings, ends));
                parallel::par_parts(rooms, |(part, standings)| {
                    lanes.run(AddUp { world, part, standings });
                });
            }
        }
    }
}
