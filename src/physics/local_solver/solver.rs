//! One tick of the rule for any number of bodies: the plain loops that define the result.
//!
//! Usually all bodies that touch take part and everything is worked out here. A body may also take part with a
//! standing it has told: then that is believed, and what lies behind it need not be known.

use crate::base::math::{Vec3, renormalised, rotation_exp};
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::flight::Flight;
use crate::physics::local_solver::contact::Touch;
use crate::physics::local_solver::ghost::{Partner, Standing};
use crate::physics::local_solver::pair::{Meeting, Meetings};
use crate::physics::local_solver::row::{Inertial, Twist};
use crate::physics::mass::Inertia;
use crate::physics::tumble::Tumble;
use crate::physics::world::{BodyDef, World};

/// A body that touches something at this tick.
pub struct Participant<'a> {
    /// Which body.
    pub body: &'a BodyDef,
    /// Its state at this tick.
    pub state: BodyState,
    /// How it resists impulses at this tick.
    pub inertial: Inertial,
    /// What it has told of itself, if it touches things that do not take part.
    pub standing: Option<&'a Standing>,
}

impl<'a> Participant<'a> {
    /// A body all of whose touches take part.
    pub fn new(body: &'a BodyDef, state: BodyState) -> Self {
        Participant { body, state, inertial: Inertial::of(body, &state), standing: None }
    }
}

/// What is being worked out about a participant.
struct Party {
    /// Its meetings are `Responder::order[first..first + count]`, in the order of sums: bodies by ascending id,
    /// then static geometry by ascending id.
    first: u32,
    count: u32,
    /// Velocities at the start, after the last round, and after the one before.
    start: Twist,
    now: Twist,
    before: Twist,
    /// Velocities with gravity and the impulses of resting touches.
    rested: Twist,
    /// Displacement and turn that undo overlaps.
    moved: Twist,
}

impl Party {
    fn meetings<'a>(&self, order: &'a [u32]) -> &'a [u32] {
        &order[self.first as usize..(self.first + self.count) as usize]
    }
}

/// Solves the touches of one tick. Keeps its work space from tick to tick.
#[derive(Default)]
pub struct Responder {
    parties: Vec<Party>,
    /// Meetings of all parties, party by party.
    order: Vec<u32>,
    /// The meeting that each party names for the next round.
    names: Vec<Option<u32>>,
    /// Parties for whom something may have changed since the start: their own velocity, or that of one they touch.
    stirred: Vec<bool>,
    /// Whose standings are being written down, and what they are so far.
    told: Vec<(usize, Standing)>,
}

impl Responder {
    /// Lets everything that touches act. Then [`Responder::onward`] says how each participant goes on.
    pub fn respond(&mut self, world: &World, participants: &[Participant], meetings: &mut Meetings) {
        self.gather(participants, meetings.list());
        self.bounce(world, participants, meetings);
        self.rest(world, participants, meetings);
        self.correct(meetings.list());
    }

    /// The same, and the standings of some participants for others to believe.
    pub fn respond_and_tell(
        &mut self,
        world: &World,
        participants: &[Participant],
        meetings: &mut Meetings,
        tellers: &[usize],
    ) -> Vec<Standing> {
        self.told = tellers.iter().map(|teller| (*teller, Standing::default())).collect();
        self.respond(world, participants, meetings);
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|(teller, standing)| self.complete(teller, standing)).collect()
    }

    /// Adds what is known at the end, and leaves out what only repeats, so that equal standings are written alike.
    fn complete(&self, teller: usize, mut standing: Standing) -> Standing {
        let party = &self.parties[teller];
        standing.touches = party.count;
        while let Some((named, twist)) = standing.rounds.last() {
            let before = standing.rounds.len().checked_sub(2).map_or(party.start, |at| standing.rounds[at].1);
            if named.is_some() || twist.to_bits() != before.to_bits() {
                break;
            }
            standing.rounds.pop();
        }
        standing
    }

    /// Finds the order of everybody's meetings.
    fn gather(&mut self, participants: &[Participant], meetings: &[Meeting]) {
        parallel::fill(&mut self.parties, participants.len(), |place| {
            let twist = Twist::of(&participants[place].state);
            Party {
                first: 0,
                count: 0,
                start: twist,
                now: twist,
                before: twist,
                rested: twist,
                moved: Twist::ZERO,
            }
        });
        for place in meetings.iter().flat_map(Meeting::sides) {
            self.parties[place as usize].count += 1;
        }
        let mut first = 0;
        for party in &mut self.parties {
            party.first = first;
            first += std::mem::take(&mut party.count);
        }
        self.order.clear();
        self.order.resize(first as usize, 0);
        for (at, meeting) in meetings.iter().enumerate() {
            for place in meeting.sides() {
                let party = &mut self.parties[place as usize];
                self.order[(party.first + party.count) as usize] = at as u32;
                party.count += 1;
            }
        }
    }

    /// Hard touches, by rounds of mutual-best matching. Each body names its deepest hard touch; a pair bounces
    /// if each names the other and it is still hard at their present velocities. Names see the other side's
    /// velocity of one round ago, so that name and velocity can travel in one message.
    fn bounce(&mut self, world: &World, participants: &[Participant], meetings: &mut Meetings) {
        self.names.clear();
        self.names.resize(participants.len(), None);
        self.stirred.clear();
        self.stirred.resize(participants.len(), false);
        for place in (0..participants.len()).filter(|place| participants[*place].standing.is_some()) {
            self.stir(place, meetings.list());
        }
        let mut has_bounced = false;
        for round in 1..=world.rule.rounds {
            let mut names = std::mem::take(&mut self.names);
            parallel::each(&mut names, |place, named| match participants[place].standing {
                Some(standing) => *named = self.told_name(place, standing, round, participants, meetings),
                // Nothing has changed for those who have not been stirred, nor do they change their minds.
                None if round > 1 && !self.stirred[place] => {}
                None => *named = self.deepest_hard(place, round, world, meetings),
            });
            self.names = names;
            let anyone = self.names.iter().any(Option::is_some);
            let stirred = || self.stirred.iter().zip(&self.parties).filter(|(stirred, _)| **stirred);
            let settled = stirred().all(|(_, party)| party.now == party.before);
            let told_more =
                |p: &Participant| p.standing.is_some_and(|told| told.rounds.len() >= round as usize);
            // Who has just bounced may name the same touch again in the next round, even if that changed no velocity:
            // it has become duller.
            if !anyone && settled && !has_bounced && !participants.iter().any(told_more) {
                break;
            }
            for (party, _) in self.parties.iter_mut().zip(&self.stirred).filter(|(_, stirred)| **stirred) {
                party.before = party.now;
            }
            has_bounced = self.bounce_named(world, meetings, round);
            for (party, participant) in self.parties.iter_mut().zip(participants) {
                if let Some(standing) = participant.standing {
                    party.now = standing.after_round(round, party.start);
                }
            }
            for (teller, standing) in &mut self.told {
                let (party, named) = (&self.parties[*teller], self.names[*teller]);
                let id = participants[*teller].body.id;
                let named = named.map(|at| other_side(&meetings.list()[at as usize], id, participants));
                standing.rounds.push((named, party.now));
            }
        }
    }

    /// A party may change its velocity: that matters to itself, and to those it touches.
    fn stir(&mut self, place: usize, meetings: &[Meeting]) {
        self.stirred[place] = true;
        for meeting in self.parties[place].meetings(&self.order).iter().map(|at| &meetings[*at as usize]) {
            for side in meeting.sides() {
                self.stirred[side as usize] = true;
            }
        }
    }

    /// One round of bounces between those who name each other. Says whether there were any.
    fn bounce_named(&mut self, world: &World, meetings: &mut Meetings, round: u32) -> bool {
        let mut has_bounced = false;
        for place in 0..self.names.len() {
            let Some(at) = self.names[place] else { continue };
            let (meeting, touch) = meetings.get_mut(at as usize);
            let Meeting { a, b, .. } = *meeting;
            // Of two that name each other the first lets both bounce.
            if a as usize != place || b.is_some_and(|b| self.names[b as usize] != Some(at)) {
                continue;
            }
            let twist_a = self.parties[place].before;
            let twist_b = b.map_or(Twist::ZERO, |b| self.parties[b as usize].before);
            if !touch.is_hard(&twist_a, &twist_b, &world.rule) {
                continue;
            }
            let (after_a, after_b) = touch.bounce(&twist_a, &twist_b, &world.rule);
            meeting.bounced_in = round;
            has_bounced = true;
            self.parties[place].now = after_a;
            self.stir(place, meetings.list());
            if let Some(b) = b {
                self.parties[b as usize].now = after_b;
                self.stir(b as usize, meetings.list());
            }
        }
        has_bounced
    }

    /// The meeting a party names for `round`: the deepest hard one, with its own present velocity and the
    /// others' of one round ago, but not the one that has just bounced. Ties go to the first in order.
    fn deepest_hard(&self, place: usize, round: u32, world: &World, meetings: &Meetings) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        for &at in self.meetings_of(place) {
            let meeting = &meetings.list()[at as usize];
            let just_bounced = round > 1 && meeting.bounced_in == round - 1;
            if just_bounced || best.is_some_and(|(gap, _)| gap <= meeting.gap) {
                continue;
            }
            let seen =
                |party: &Party, side: u32| if side as usize == place { party.now } else { party.before };
            if self.is_hard(meeting, meetings.touch(at as usize), seen, world) {
                best = Some((meeting.gap, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Whether a meeting is hard at certain velocities of its sides. Mostly those are still what they were at the
    /// start, and that has been looked at.
    fn is_hard(
        &self,
        meeting: &Meeting,
        touch: &Touch,
        velocities: impl Fn(&Party, u32) -> Twist,
        world: &World,
    ) -> bool {
        // Whoever changes its velocity stirs both sides of all its meetings.
        if !self.stirred[meeting.a as usize] {
            return meeting.was_hard;
        }
        let of = |side: u32| velocities(&self.parties[side as usize], side);
        touch.is_hard(&of(meeting.a), &meeting.b.map_or(Twist::ZERO, of), &world.rule)
    }

    /// The meeting that a participant has told it names, if that meeting takes part here.
    fn told_name(
        &self,
        place: usize,
        standing: &Standing,
        round: u32,
        participants: &[Participant],
        meetings: &Meetings,
    ) -> Option<u32> {
        let named = standing.named_in(round)?;
        let me = participants[place].body.id;
        let is_named = |at: &&u32| other_side(&meetings.list()[**at as usize], me, participants) == named;
        self.meetings_of(place).iter().find(is_named).copied()
    }

    /// Resting touches: every body is split evenly among its touches, each pair solved on its own, the results
    /// added up. Touches that are still hard wait for the next tick.
    fn rest(&mut self, world: &World, participants: &[Participant], meetings: &mut Meetings) {
        meetings.each(|meeting, touch| {
            meeting.waits = self.is_hard(meeting, touch, |party, _| party.now, world);
            if meeting.waits {
                touch.release();
            }
            if meeting.waits || meeting.bounced_in > 0 {
                meeting.impulse = touch.impulse();
            }
        });
        self.add_up(world, participants, meetings.list(), 0);
        for iteration in 1..=world.rule.iterations as usize {
            let is_last = iteration == world.rule.iterations as usize;
            meetings.each(|meeting, touch| {
                let shares = self.shares(meeting, participants);
                if !meeting.waits {
                    let (twist_a, twist_b) = self.twists(meeting, |party| party.rested);
                    touch.relax(&twist_a, &twist_b, shares, world.time.tick_s);
                    meeting.impulse = touch.impulse();
                }
                if is_last {
                    let (twist_a, twist_b) = self.twists(meeting, |party| party.now);
                    let correction = || touch.correction(&twist_a, &twist_b, shares, &world.rule);
                    meeting.moved = (!meeting.waits).then(correction);
                    meeting.parts = touch.parts(&twist_a, &twist_b, &world.rule);
                    meeting.is_held = touch.is_held();
                }
            });
            self.add_up(world, participants, meetings.list(), iteration);
        }
    }

    /// Velocities from scratch: after the bounces, with this tick's gravity and all impulses as they are now.
    fn add_up(
        &mut self,
        world: &World,
        participants: &[Participant],
        meetings: &[Meeting],
        iteration: usize,
    ) {
        let order = &self.order;
        parallel::each(&mut self.parties, |place, party| {
            let participant = &participants[place];
            if let Some(told) = participant.standing.and_then(|standing| standing.rested.get(iteration)) {
                party.rested = *told;
                return;
            }
            let (mut push, mut turn) = (Vec3::zeros(), Vec3::zeros());
            for &at in party.meetings(order) {
                let meeting = &meetings[at as usize];
                let (impulse, moment_a, moment_b) = meeting.impulse;
                if meeting.a as usize == place {
                    push += impulse;
                    turn += moment_a;
                } else {
                    push -= impulse;
                    turn -= moment_b;
                }
            }
            let free = party.now.v + world.gravity * world.time.tick_s;
            party.rested.v = free + push * participant.inertial.inv_mass;
            party.rested.w = party.now.w + participant.inertial.inv_inertia * turn;
        });
        if iteration < world.rule.iterations as usize {
            for (teller, standing) in &mut self.told {
                standing.rested.push(self.parties[*teller].rested);
            }
        }
    }

    /// Moves resting bodies apart where they overlap.
    fn correct(&mut self, meetings: &[Meeting]) {
        let order = &self.order;
        parallel::each(&mut self.parties, |place, party| {
            let mut total = Twist::ZERO;
            for meeting in party.meetings(order).iter().map(|at| &meetings[*at as usize]) {
                let Some((moved_a, moved_b)) = &meeting.moved else { continue };
                let moved = if meeting.a as usize == place { moved_a } else { moved_b };
                total.v += moved.v;
                total.w += moved.w;
            }
            party.moved = total;
        });
    }

    /// The flight a participant is in from the tick after `tick` on. Call after [`Responder::respond`], with the
    /// same lists.
    pub fn onward(
        &self,
        world: &World,
        tick: Tick,
        place: usize,
        of: &Participant,
        meetings: &Meetings,
    ) -> Flight {
        let (party, state) = (&self.parties[place], &of.state);
        let (mut collided, mut parts, mut held) = (false, true, false);
        for meeting in self.meetings_of(place).iter().map(|at| &meetings.list()[*at as usize]) {
            collided |= meeting.bounced_in > 0 || meeting.waits;
            parts &= meeting.parts;
            held |= meeting.is_held;
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
        let (q, w) = match &of.body.inertia {
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

    /// The state of a participant at this tick once everything that takes part has pushed it and moved it apart, and
    /// before gravity has. For those who have other contacts, which somebody else solves. Call after
    /// [`Responder::respond`], with the same lists.
    pub fn pushed(&self, world: &World, place: usize, of: &Participant) -> BodyState {
        let (party, state) = (&self.parties[place], &of.state);
        BodyState {
            x: state.x + party.moved.v,
            q: renormalised(rotation_exp(party.moved.w) * state.q),
            v: party.rested.v - world.gravity * world.time.tick_s,
            w: party.rested.w,
        }
    }

    fn meetings_of(&self, place: usize) -> &[u32] {
        self.parties[place].meetings(&self.order)
    }

    fn twists(&self, meeting: &Meeting, which: impl Fn(&Party) -> Twist) -> (Twist, Twist) {
        let of = |place: u32| which(&self.parties[place as usize]);
        (of(meeting.a), meeting.b.map_or(Twist::ZERO, of))
    }

    /// Among how many touches each side is split.
    fn shares(&self, meeting: &Meeting, participants: &[Participant]) -> (f64, f64) {
        let count = |place: u32| {
            let told = participants[place as usize].standing.map(|standing| standing.touches);
            f64::from(told.unwrap_or(self.parties[place as usize].count))
        };
        (count(meeting.a), meeting.b.map_or(1.0, count))
    }
}

/// Who is on the other side of a meeting.
fn other_side(meeting: &Meeting, me: crate::base::ids::BodyId, participants: &[Participant]) -> Partner {
    let first = participants[meeting.a as usize].body.id;
    if first == me { meeting.with } else { Partner::Body(first) }
}
