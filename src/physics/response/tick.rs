//! One tick of the rule for any number of bodies: the plain loops that define the result.

use super::row::{Inertial, Twist};
use super::touch::Touch;
use crate::math::{Vec3, renormalised, rotation_exp};
use crate::physics::flight::Flight;
use crate::physics::mass::Inertia;
use crate::physics::tumble::Tumble;
use crate::physics::world::{BodyDef, World};
use crate::state::BodyState;
use crate::time::Tick;

/// A touch and who takes part in it, as places in the world's list of bodies.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The body with the smaller id, or the body that touches static geometry.
    pub a: u32,
    /// The body with the larger id; `None` for static geometry.
    pub b: Option<u32>,
    /// The touch itself.
    pub touch: Touch,
}

/// How a body that touched something goes on.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Which body, as its place in the world's list.
    pub body: u32,
    /// The flight it is in from the next tick on.
    pub flight: Flight,
}

/// A body that touches something.
struct Party {
    body: u32,
    /// Its meetings are `Responder::order[first..first + count]`, in the order of sums: bodies by ascending id,
    /// then static geometry by ascending id.
    first: u32,
    count: u32,
    inertial: Inertial,
    /// Velocities after the last round, and after the one before.
    now: Twist,
    before: Twist,
    /// The meeting it names for the next round.
    named: Option<u32>,
    /// Velocities with gravity and the impulses of resting touches.
    rested: Twist,
    /// Displacement and turn that undo overlaps.
    moved: Twist,
}

/// Solves the touches of one tick. Keeps its work space from tick to tick.
#[derive(Default)]
pub struct Responder {
    parties: Vec<Party>,
    /// Meetings of all parties, party by party.
    order: Vec<u32>,
    /// Places of both sides of each meeting among the parties.
    sides: Vec<(u32, Option<u32>)>,
    /// Meetings that are still hard after the last round: they act no more in this tick.
    waits: Vec<bool>,
    /// The round in which each meeting last bounced; 0 for none.
    bounced_in: Vec<u32>,
    /// What each meeting does to its first side: impulse, and turning moments about both centres of mass.
    impulses: Vec<(Vec3, Vec3, Vec3)>,
    /// Place of each body among the parties, valid for bodies with a meeting.
    place: Vec<u32>,
}

impl Responder {
    /// Lets everything that touches at `tick` act, and says how each body with a touch goes on.
    ///
    /// `states` are those of the world's bodies at `tick`. `meetings` are sorted: pairs of bodies by (a, b)
    /// first, then touches with static geometry by (body, static id).
    pub fn respond(
        &mut self,
        world: &World,
        tick: Tick,
        states: &[BodyState],
        meetings: &mut [Meeting],
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.clear();
        self.gather(world, states, meetings);
        self.bounce(world, meetings);
        self.rest(world, meetings);
        self.correct(world, meetings);
        for party in &self.parties {
            let body = &world.bodies[party.body as usize];
            let flight = self.onward(world, tick, body, &states[party.body as usize], party, meetings);
            outcomes.push(Outcome { body: party.body, flight });
        }
    }

    /// Finds the parties and the order of their meetings.
    fn gather(&mut self, world: &World, states: &[BodyState], meetings: &[Meeting]) {
        self.parties.clear();
        self.sides.clear();
        self.place.resize(states.len(), u32::MAX);
        for meeting in meetings {
            let a = self.party(world, states, meeting.a);
            let b = meeting.b.map(|b| self.party(world, states, b));
            self.sides.push((a, b));
        }
        let mut first = 0;
        for party in &mut self.parties {
            party.first = first;
            first += std::mem::take(&mut party.count);
            self.place[party.body as usize] = u32::MAX;
        }
        self.order.clear();
        self.order.resize(first as usize, 0);
        for (at, (a, b)) in self.sides.iter().enumerate() {
            for place in [Some(*a), *b].into_iter().flatten() {
                let party = &mut self.parties[place as usize];
                self.order[(party.first + party.count) as usize] = at as u32;
                party.count += 1;
            }
        }
        self.waits.clear();
        self.waits.resize(meetings.len(), false);
        self.bounced_in.clear();
        self.bounced_in.resize(meetings.len(), 0);
    }

    /// The party of a body, made at its first meeting; counts one more meeting.
    fn party(&mut self, world: &World, states: &[BodyState], body: u32) -> u32 {
        let place = &mut self.place[body as usize];
        if *place == u32::MAX {
            *place = self.parties.len() as u32;
            let state = &states[body as usize];
            let twist = Twist::of(state);
            self.parties.push(Party {
                body,
                first: 0,
                count: 0,
                inertial: Inertial::of(&world.bodies[body as usize], state),
                now: twist,
                before: twist,
                named: None,
                rested: twist,
                moved: Twist::ZERO,
            });
        }
        self.parties[*place as usize].count += 1;
        *place
    }

    /// Hard touches, by rounds of mutual-best matching. Each body names its deepest hard touch; a pair bounces
    /// if each names the other and it is still hard at their present velocities. Names see the other side's
    /// velocity of one round ago, so that name and velocity can travel in one message.
    fn bounce(&mut self, world: &World, meetings: &mut [Meeting]) {
        let rule = &world.rule;
        for round in 1..=rule.rounds {
            let mut anyone = false;
            for place in 0..self.parties.len() {
                let named = self.deepest_hard(place, round, world, meetings);
                self.parties[place].named = named;
                anyone |= named.is_some();
            }
            let settled = self.parties.iter().all(|party| party.now == party.before);
            if !anyone && settled {
                break;
            }
            for party in &mut self.parties {
                party.before = party.now;
            }
            for (at, meeting) in meetings.iter_mut().enumerate() {
                let (a, b) = self.sides[at];
                let named = |place: u32| self.parties[place as usize].named == Some(at as u32);
                if !named(a) || !b.is_none_or(named) {
                    continue;
                }
                let twist_a = self.parties[a as usize].before;
                let twist_b = b.map_or(Twist::ZERO, |b| self.parties[b as usize].before);
                if !meeting.touch.is_hard(&twist_a, &twist_b, rule) {
                    continue;
                }
                let (after_a, after_b) = meeting.touch.bounce(&twist_a, &twist_b, rule);
                self.parties[a as usize].now = after_a;
                if let Some(b) = b {
                    self.parties[b as usize].now = after_b;
                }
                meeting.touch.bounces += 1;
                meeting.touch.fired = true;
                meeting.touch.release();
                self.bounced_in[at] = round;
            }
        }
    }

    /// The meeting a party names for `round`: the deepest hard one, with its own present velocity and the
    /// others' of one round ago, but not the one that has just bounced. Ties go to the first in order.
    fn deepest_hard(&self, place: usize, round: u32, world: &World, meetings: &[Meeting]) -> Option<u32> {
        let party = &self.parties[place];
        let mut best: Option<(f64, u32)> = None;
        for &at in self.meetings_of(party) {
            let touch = &meetings[at as usize].touch;
            let just_bounced = round > 1 && self.bounced_in[at as usize] == round - 1;
            if just_bounced || best.is_some_and(|(gap, _)| gap <= touch.gap) {
                continue;
            }
            let (a, b) = self.sides[at as usize];
            let seen = |other: u32| {
                let other = &self.parties[other as usize];
                if other.body == party.body { other.now } else { other.before }
            };
            if touch.is_hard(&seen(a), &b.map_or(Twist::ZERO, seen), &world.rule) {
                best = Some((touch.gap, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Resting touches: every body is split evenly among its touches, each pair solved on its own, the results
    /// added up. Touches that are still hard wait for the next tick.
    fn rest(&mut self, world: &World, meetings: &mut [Meeting]) {
        for (at, meeting) in meetings.iter_mut().enumerate() {
            let (twist_a, twist_b) = self.twists(at, |party| party.now);
            self.waits[at] = meeting.touch.is_hard(&twist_a, &twist_b, &world.rule);
            if self.waits[at] {
                meeting.touch.release();
            }
        }
        self.add_up(world, meetings);
        for _ in 0..world.rule.iterations {
            for (at, meeting) in meetings.iter_mut().enumerate() {
                if !self.waits[at] {
                    let (twist_a, twist_b) = self.twists(at, |party| party.rested);
                    meeting.touch.relax(&twist_a, &twist_b, self.shares(at), world.time.tick_s);
                }
            }
            self.add_up(world, meetings);
        }
    }

    /// Velocities from scratch: after the bounces, with this tick's gravity and all impulses as they are now.
    fn add_up(&mut self, world: &World, meetings: &[Meeting]) {
        self.impulses.clear();
        self.impulses.extend(meetings.iter().map(|meeting| meeting.touch.impulse()));
        for place in 0..self.parties.len() {
            let (mut push, mut turn) = (Vec3::zeros(), Vec3::zeros());
            let party = &self.parties[place];
            for &at in self.meetings_of(party) {
                let (impulse, moment_a, moment_b) = self.impulses[at as usize];
                if self.sides[at as usize].0 as usize == place {
                    push += impulse;
                    turn += moment_a;
                } else {
                    push -= impulse;
                    turn -= moment_b;
                }
            }
            let party = &mut self.parties[place];
            let free = party.now.v + world.gravity * world.time.tick_s;
            party.rested.v = free + push * party.inertial.inv_mass;
            party.rested.w = party.now.w + party.inertial.inv_inertia * turn;
        }
    }

    /// Moves resting bodies apart where they overlap.
    fn correct(&mut self, world: &World, meetings: &[Meeting]) {
        for (at, meeting) in meetings.iter().enumerate().filter(|(at, _)| !self.waits[*at]) {
            let (twist_a, twist_b) = self.twists(at, |party| party.now);
            let (moved_a, moved_b) =
                meeting.touch.correction(&twist_a, &twist_b, self.shares(at), &world.rule);
            let (a, b) = self.sides[at];
            for (place, moved) in [Some((a, moved_a)), b.map(|b| (b, moved_b))].into_iter().flatten() {
                let party = &mut self.parties[place as usize];
                party.moved.v += moved.v;
                party.moved.w += moved.w;
            }
        }
    }

    /// The flight a party is in from the next tick on.
    fn onward(
        &self,
        world: &World,
        tick: Tick,
        body: &BodyDef,
        state: &BodyState,
        party: &Party,
        meetings: &[Meeting],
    ) -> Flight {
        let (mut collided, mut parts, mut held) = (false, true, false);
        for &at in self.meetings_of(party) {
            let touch = &meetings[at as usize].touch;
            let (twist_a, twist_b) = self.twists(at as usize, |party| party.now);
            collided |= touch.fired || self.waits[at as usize];
            parts &= touch.parts(&twist_a, &twist_b, &world.rule);
            held |= touch.is_held();
        }
        if (collided || parts) && !held {
            // A bounce is an instant change of velocity; what follows is free flight from this very tick. So is
            // what comes after it, even if the bodies need more than a tick to part.
            let q = renormalised(rotation_exp(party.moved.w) * state.q);
            let origin = BodyState { x: state.x + party.moved.v, q, v: party.now.v, w: party.now.w };
            return Flight { since: tick, origin };
        }
        let tick_s = world.time.tick_s;
        let Twist { v, w } = party.rested;
        let (q, w) = match &body.inertia {
            Inertia::Isotropic { .. } => (rotation_exp(w * tick_s) * state.q, w),
            Inertia::Principal { .. } if w == Vec3::zeros() => (state.q, w),
            Inertia::Principal { moments, frame } => {
                let mut tumble = Tumble::new(&state.q, w, moments, frame);
                tumble.advance(moments, tick_s);
                (tumble.q(frame), tumble.w(moments))
            }
        };
        let x = state.x + v * tick_s + party.moved.v;
        let q = renormalised(rotation_exp(party.moved.w) * q);
        Flight { since: tick + 1, origin: BodyState { x, q, v, w } }
    }

    fn meetings_of(&self, party: &Party) -> &[u32] {
        &self.order[party.first as usize..(party.first + party.count) as usize]
    }

    fn twists(&self, at: usize, which: impl Fn(&Party) -> Twist) -> (Twist, Twist) {
        let (a, b) = self.sides[at];
        let of = |place: u32| which(&self.parties[place as usize]);
        (of(a), b.map_or(Twist::ZERO, of))
    }

    /// Among how many touches each side is split.
    fn shares(&self, at: usize) -> (f64, f64) {
        let (a, b) = self.sides[at];
        let count = |place: u32| f64::from(self.parties[place as usize].count);
        (count(a), b.map_or(1.0, count))
    }
}
