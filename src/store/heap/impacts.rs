//! Impacts, by rounds of mutual-best matching, as the local solver does them: only balls with an impact take part, and
//! those that they stir.

use crate::base::lanes::{LaneChoice, Lanes, Work};
use crate::base::math::Vec3;
use crate::physics::World;
use crate::physics::contact::{Velocity, on_disc};
use crate::physics::local_solver::decayed_restitution;
use crate::store::heap::HeapGear;
use crate::store::heap::find::{add_up, spun};
use crate::store::heap::part::{Contacts, Effect, NONE, Own, Part, Standing, flag, row, vector};

/// A ball that takes part in the rounds.
struct Stirred {
    slot: u32,
    part: u32,
    /// Velocities after the last round, and after the round before.
    now: Velocity,
    before: Velocity,
    /// The contact that it chooses, and the slot at its other side.
    chosen: (u32, u32),
}

/// Balls that take part in the rounds of a tick.
#[derive(Default)]
pub(super) struct Impacts {
    stirred: Vec<Stirred>,
    /// By slot: the index among those, or [`NONE`].
    index_of: Vec<u32>,
}

impl Impacts {
    fn get(&self, slot: u32) -> Option<&Stirred> {
        self.stirred.get(self.index_of[slot as usize] as usize)
    }

    /// Velocities of a side; those at the start, if nothing has stirred it.
    fn seen(&self, slot: u32, standings: &[Standing], of: impl Fn(&Stirred) -> Velocity) -> Velocity {
        self.get(slot).map_or_else(|| standings[slot as usize].velocity(), of)
    }

    fn enter(&mut self, slot: u32, ends: &[usize], standings: &[Standing]) {
        if self.index_of[slot as usize] != NONE {
            return;
        }
        self.index_of[slot as usize] = self.stirred.len() as u32;
        let part = ends.partition_point(|end| *end <= slot as usize) as u32;
        let now = standings[slot as usize].velocity();
        self.stirred.push(Stirred { slot, part, now, before: now, chosen: (NONE, NONE) });
    }
}

/// A contact outside of its four.
struct Single {
    normal: Vec3,
    gap_m: f64,
    restitution: f64,
}

impl Part {
    fn single(&self, contact: u32) -> Single {
        let (block, lane) = (&self.contacts.blocks[contact as usize / 4], contact as usize % 4);
        let known = self.known(self.contacts.pair[contact as usize]);
        let normal = Vec3::new(block.normal[0][lane], block.normal[1][lane], block.normal[2][lane]);
        let restitution = decayed_restitution(known.restitution, known.bounces);
        Single { normal, gap_m: block.gap_m[lane], restitution }
    }

    fn is_impact(&self, contact: u32, a: &Velocity, b: &Velocity, world: &World) -> bool {
        let single = self.single(contact);
        let speed = single.normal.dot(&(a.v - b.v));
        single.gap_m < world.rule.margin_m
            && speed < 0.0
            && single.restitution * -speed > world.rule.bounce_speed_mps
    }

    fn clear_impulses(&mut self, contact: u32) {
        let (block, lane) = (&mut self.contacts.blocks[contact as usize / 4], contact as usize % 4);
        block.normal_impulse[lane] = 0.0;
        block.tangents[0].impulse[lane] = 0.0;
        block.tangents[1].impulse[lane] = 0.0;
    }

    /// Velocities after a bounce. The first side has these masses; the second those, or none.
    fn bounce(
        &self,
        contact: u32,
        (a, b): (&Velocity, &Velocity),
        inv_mass: (f64, f64),
        inv_inertia: (f64, f64),
    ) -> (Velocity, Velocity) {
        let Single { normal, restitution, .. } = self.single(contact);
        let gain = inv_mass.0 * 1.0 + inv_mass.1 * 1.0;
        let push = (1.0 + restitution) * -normal.dot(&(a.v - b.v)) / gain;
        let mut a = Velocity { v: a.v + normal * (push * inv_mass.0 * 1.0), w: a.w };
        let mut b = Velocity { v: b.v - normal * (push * inv_mass.1 * 1.0), w: b.w };
        let (block, lane) = (&self.contacts.blocks[contact as usize / 4], contact as usize % 4);
        let friction = block.friction[lane];
        if friction > 0.0 {
            let of = |rows: &[[f64; 4]; 3]| Vec3::new(rows[0][lane], rows[1][lane], rows[2][lane]);
            let rows = block.tangents.each_ref().map(|row| (of(&row.dir), of(&row.arm_a), of(&row.arm_b)));
            let gains = block.tangents.each_ref().map(|row| row.k_a[lane] * 1.0 + row.k_b[lane] * 1.0);
            let gain = gains[0].max(gains[1]);
            let wanted = rows.map(|(dir, arm_a, arm_b)| {
                let speed = dir.dot(&(a.v - b.v)) + arm_a.dot(&a.w) - arm_b.dot(&b.w);
                -speed / gain
            });
            let impulses = on_disc(wanted, friction * push);
            for ((dir, arm_a, arm_b), impulse) in rows.iter().zip(impulses) {
                a.v += dir * (impulse * inv_mass.0);
                a.w += arm_a * inv_inertia.0 * impulse;
                b.v -= dir * (impulse * inv_mass.1);
                b.w -= arm_b * inv_inertia.1 * impulse;
            }
        }
        (a, b)
    }
}

impl HeapGear {
    /// Lets all impacts act. Balls that are stirred get new velocities to rest from.
    pub(super) fn solve_impacts(&mut self, world: &World) {
        let mut impacts = std::mem::take(&mut self.impacts);
        impacts.index_of.resize(self.flights.len() + 1, NONE);
        for part in &self.parts {
            part.hit.iter().for_each(|slot| impacts.enter(*slot, &self.ends, &self.standings));
        }
        if !impacts.stirred.is_empty() {
            let mut has_bounced = false;
            for round in 1..=world.rule.rounds {
                self.choose(world, &mut impacts, round);
                let is_chosen = impacts.stirred.iter().any(|ball| ball.chosen.0 != NONE);
                if !is_chosen && !has_bounced {
                    break;
                }
                has_bounced = self.bounce_chosen(world, &mut impacts, round);
            }
            self.settle(world, &impacts);
            for ball in impacts.stirred.drain(..) {
                impacts.index_of[ball.slot as usize] = NONE;
            }
        }
        self.impacts = impacts;
    }

    /// Lets every stirred ball choose its deepest impact: with its own present velocity and those of others of one round
    /// ago, but not the contact that has just bounced. Ties go to the first in order.
    fn choose(&self, world: &World, impacts: &mut Impacts, round: u32) {
        for at in 0..impacts.stirred.len() {
            let Stirred { slot, part, now, .. } = impacts.stirred[at];
            let part = &self.parts[part as usize];
            let mut best: Option<(f64, u32)> = None;
            for own in part.contacts.of(slot as usize - part.slots.start) {
                let contact = own.contact as usize;
                let gap_m = part.contacts.blocks[contact / 4].gap_m[contact % 4];
                let just_bounced = round > 1 && part.contacts.bounced_in[contact] == round - 1;
                if just_bounced || best.is_some_and(|(best_m, _)| best_m <= gap_m) {
                    continue;
                }
                let seen = |side: u32| match side == slot {
                    true => now,
                    false => impacts.seen(side, &self.standings, |ball| ball.before),
                };
                let is_impact = match round {
                    1 => part.contacts.flags[contact] & flag::IMPACT != 0,
                    _ => {
                        let (a, b) = (part.contacts.a[contact], part.contacts.b[contact]);
                        part.is_impact(own.contact, &seen(a), &seen(b), world)
                    }
                };
                if is_impact {
                    best = Some((gap_m, own.contact));
                }
            }
            impacts.stirred[at].chosen = best.map_or((NONE, NONE), |(_, contact)| {
                let (a, b) = (part.contacts.a[contact as usize], part.contacts.b[contact as usize]);
                (contact, if a == slot { b } else { a })
            });
        }
    }

    /// One round of bounces between balls that choose each other. Says whether there were any.
    fn bounce_chosen(&mut self, world: &World, impacts: &mut Impacts, round: u32) -> bool {
        impacts.stirred.iter_mut().for_each(|ball| ball.before = ball.now);
        let fixed = self.flights.len() as u32;
        let mut has_bounced = false;
        for at in 0..impacts.stirred.len() {
            let Stirred { slot, part, before, chosen: (contact, other), .. } = impacts.stirred[at];
            // A pair acts once, when its first side is visited.
            if contact == NONE || self.parts[part as usize].contacts.a[contact as usize] != slot {
                continue;
            }
            let partner = (other != fixed).then(|| impacts.index_of[other as usize] as usize);
            let mutual =
                |partner: usize| impacts.stirred.get(partner).is_some_and(|ball| ball.chosen.1 == slot);
            if partner.is_some_and(|partner| !mutual(partner)) {
                continue;
            }
            let before_b = partner.map_or(Velocity::ZERO, |partner| impacts.stirred[partner].before);
            let first = &self.parts[part as usize];
            if !first.is_impact(contact, &before, &before_b, world) {
                continue;
            }
            let mass = |slot: u32| (self.places[slot as usize].v[3], self.inv_inertias[slot as usize]);
            let (mass_a, mass_b) = (mass(slot), if other == fixed { (0.0, 0.0) } else { mass(other) });
            let after =
                first.bounce(contact, (&before, &before_b), (mass_a.0, mass_b.0), (mass_a.1, mass_b.1));
            has_bounced = true;
            impacts.stirred[at].now = after.0;
            self.note_bounce(part, contact, round);
            self.stir_around(part, slot, impacts);
            if let Some(partner) = partner {
                impacts.stirred[partner].now = after.1;
                let Stirred { part: part_b, chosen: (contact_b, _), .. } = impacts.stirred[partner];
                if part_b != part {
                    self.note_bounce(part_b, contact_b, round);
                }
                self.stir_around(part_b, other, impacts);
            }
        }
        has_bounced
    }

    /// A bounce ends a rest.
    fn note_bounce(&mut self, part: u32, contact: u32, round: u32) {
        let part = &mut self.parts[part as usize];
        let pair = part.contacts.pair[contact as usize];
        part.known_mut(pair).bounces += 1;
        part.contacts.bounced_in[contact as usize] = round;
        part.contacts.flags[contact as usize] |= flag::BOUNCED;
        part.clear_impulses(contact);
    }

    /// Lets those take part that a ball touches.
    fn stir_around(&self, part: u32, slot: u32, impacts: &mut Impacts) {
        let part = &self.parts[part as usize];
        for own in part.contacts.of(slot as usize - part.slots.start) {
            let (a, b) = (part.contacts.a[own.contact as usize], part.contacts.b[own.contact as usize]);
            let other = if a == slot { b } else { a };
            if other as usize != self.flights.len() {
                impacts.enter(other, &self.ends, &self.standings);
            }
        }
    }

    /// What is still an impact waits for the next tick. Adds up what contacts do to stirred balls.
    fn settle(&mut self, world: &World, impacts: &Impacts) {
        for Stirred { slot, part, .. } in &impacts.stirred {
            let part = &mut self.parts[*part as usize];
            for at in 0..part.contacts.of(*slot as usize - part.slots.start).len() {
                let contact = part.contacts.of(*slot as usize - part.slots.start)[at].contact;
                let seen = |side: u32| impacts.seen(side, &self.standings, |ball| ball.now);
                let (a, b) = (part.contacts.a[contact as usize], part.contacts.b[contact as usize]);
                if part.is_impact(contact, &seen(a), &seen(b), world) {
                    part.contacts.flags[contact as usize] |= flag::DEFERRED;
                    part.clear_impulses(contact);
                }
                if part.contacts.flags[contact as usize] & (flag::DEFERRED | flag::BOUNCED) != 0 {
                    part.contacts.effects[contact as usize] = Effect::NONE;
                }
            }
        }
        let falling = world.gravity * world.time.tick_s;
        for Stirred { slot, part, now, .. } in &impacts.stirred {
            let part = &self.parts[*part as usize];
            let own = part.contacts.of(*slot as usize - part.slots.start);
            let standing = &mut self.standings[*slot as usize];
            let (push, turn) = LaneChoice::plain().run(Sum { contacts: &part.contacts, slot: *slot, own });
            let (inv_mass, inv_inertia) = (standing.rested_w[3], standing.v[3]);
            standing.rested_v = row(now.v + falling + vector(&push) * inv_mass, standing.rested_v[3]);
            standing.rested_w = row(now.w + spun(inv_inertia, &turn), inv_mass);
            standing.v = row(now.v, inv_inertia);
            standing.w = row(now.w, 0.0);
        }
    }
}

/// What the contacts of one ball do to it.
struct Sum<'a> {
    contacts: &'a Contacts,
    slot: u32,
    own: &'a [Own],
}

impl Work for Sum<'_> {
    type Output = ([f64; 4], [f64; 4]);

    #[inline(always)]
    fn run<L: Lanes>(self) -> Self::Output {
        let (push, turn, _) = add_up::<L>(self.contacts, self.slot, self.own);
        (push.to_array(), turn.to_array())
    }
}
