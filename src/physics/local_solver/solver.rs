//! One tick of the rule for any number of bodies: the plain loops that define the result.
//!
//! Usually all bodies that touch take part and everything is worked out here. A body may also take part with a
//! ghost it has told: then that is believed, and what lies behind it need not be known.

use crate::base::math::{Vec3, renormalised, rotation_exp};
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::contact::{SolverMass, Velocity};
use crate::physics::flight::Flight;
use crate::physics::local_solver::contact::ContactConstraint;
use crate::physics::local_solver::ghost::{GhostState, Partner};
use crate::physics::local_solver::pair::{ContactPair, ContactPairs};
use crate::physics::mass::Inertia;
use crate::physics::tumble::Tumble;
use crate::physics::world::{BodyDef, World};

/// A body that touches something at this tick.
pub struct SolverBody<'a> {
    /// Which body.
    pub body: &'a BodyDef,
    /// Its state at this tick.
    pub state: BodyState,
    /// How it resists impulses at this tick.
    pub mass: SolverMass,
    /// What it has told of itself, if it touches things that do not take part.
    pub ghost: Option<&'a GhostState>,
}

impl<'a> SolverBody<'a> {
    /// A body all of whose touches take part.
    pub fn new(body: &'a BodyDef, state: BodyState) -> Self {
        SolverBody { body, state, mass: SolverMass::of(body, &state), ghost: None }
    }
}

/// What is being worked out about a solver_body.
struct BodySums {
    /// Its pairs are `LocalSolver::order[first..first + count]`, in the order of sums: bodies by ascending id,
    /// then static geometry by ascending id.
    first: u32,
    count: u32,
    /// Velocities at the start, after the last round, and after the one before.
    start: Velocity,
    now: Velocity,
    before: Velocity,
    /// Velocities with gravity and the impulses of resting touches.
    rested: Velocity,
    /// Displacement and turn that undo overlaps.
    moved: Velocity,
}

impl BodySums {
    fn pairs<'a>(&self, order: &'a [u32]) -> &'a [u32] {
        &order[self.first as usize..(self.first + self.count) as usize]
    }
}

/// Solves the touches of one tick. Keeps its work space from tick to tick.
#[derive(Default)]
pub struct LocalSolver {
    all_sums: Vec<BodySums>,
    /// ContactPairs of all all_sums, sums by sums.
    order: Vec<u32>,
    /// The pair that each sums names for the next round.
    names: Vec<Option<u32>>,
    /// Parties for whom something may have changed since the start: their own velocity, or that of one they touch.
    dirty: Vec<bool>,
    /// Whose ghosts are being written down, and what they are so far.
    told: Vec<(usize, GhostState)>,
}

impl LocalSolver {
    /// Lets everything that touches act. Then [`LocalSolver::onward`] says how each solver_body goes on.
    pub fn respond(&mut self, world: &World, bodies: &[SolverBody], pairs: &mut ContactPairs) {
        self.gather(bodies, pairs.list());
        self.bounce(world, bodies, pairs);
        self.rest(world, bodies, pairs);
        self.correct(pairs.list());
    }

    /// The same, and the ghosts of some bodies for others to believe.
    pub fn solve_with_ghosts(
        &mut self,
        world: &World,
        bodies: &[SolverBody],
        pairs: &mut ContactPairs,
        ghost_owners: &[usize],
    ) -> Vec<GhostState> {
        self.told = ghost_owners.iter().map(|ghost_owner| (*ghost_owner, GhostState::default())).collect();
        self.respond(world, bodies, pairs);
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|(ghost_owner, ghost)| self.complete(ghost_owner, ghost)).collect()
    }

    /// Adds what is known at the end, and leaves out what only repeats, so that equal ghosts are written alike.
    fn complete(&self, ghost_owner: usize, mut ghost: GhostState) -> GhostState {
        let sums = &self.all_sums[ghost_owner];
        ghost.touches = sums.count;
        while let Some((named, twist)) = ghost.rounds.last() {
            let before = ghost.rounds.len().checked_sub(2).map_or(sums.start, |at| ghost.rounds[at].1);
            if named.is_some() || twist.to_bits() != before.to_bits() {
                break;
            }
            ghost.rounds.pop();
        }
        ghost
    }

    /// Finds the order of everybody's pairs.
    fn gather(&mut self, bodies: &[SolverBody], pairs: &[ContactPair]) {
        parallel::par_fill(&mut self.all_sums, bodies.len(), |place| {
            let twist = Velocity::of(&bodies[place].state);
            BodySums {
                first: 0,
                count: 0,
                start: twist,
                now: twist,
                before: twist,
                rested: twist,
                moved: Velocity::ZERO,
            }
        });
        for place in pairs.iter().flat_map(ContactPair::sides) {
            self.all_sums[place as usize].count += 1;
        }
        let mut first = 0;
        for sums in &mut self.all_sums {
            sums.first = first;
            first += std::mem::take(&mut sums.count);
        }
        self.order.clear();
        self.order.resize(first as usize, 0);
        for (at, pair) in pairs.iter().enumerate() {
            for place in pair.sides() {
                let sums = &mut self.all_sums[place as usize];
                self.order[(sums.first + sums.count) as usize] = at as u32;
                sums.count += 1;
            }
        }
    }

    /// Hard touches, by rounds of mutual-best matching. Each body names its deepest hard touch; a pair bounces
    /// if each names the other and it is still hard at their present velocities. Names see the other side's
    /// velocity of one round ago, so that name and velocity can travel in one message.
    fn bounce(&mut self, world: &World, bodies: &[SolverBody], pairs: &mut ContactPairs) {
        self.names.clear();
        self.names.resize(bodies.len(), None);
        self.dirty.clear();
        self.dirty.resize(bodies.len(), false);
        for place in (0..bodies.len()).filter(|place| bodies[*place].ghost.is_some()) {
            self.stir(place, pairs.list());
        }
        let mut has_bounced = false;
        for round in 1..=world.rule.rounds {
            let mut names = std::mem::take(&mut self.names);
            parallel::par_for(&mut names, |place, named| match bodies[place].ghost {
                Some(ghost) => *named = self.told_name(place, ghost, round, bodies, pairs),
                // Nothing has changed for those who have not been dirty, nor do they change their minds.
                None if round > 1 && !self.dirty[place] => {}
                None => *named = self.deepest_impact(place, round, world, pairs),
            });
            self.names = names;
            let anyone = self.names.iter().any(Option::is_some);
            let dirty = || self.dirty.iter().zip(&self.all_sums).filter(|(dirty, _)| **dirty);
            let settled = dirty().all(|(_, sums)| sums.now == sums.before);
            let told_more = |p: &SolverBody| p.ghost.is_some_and(|told| told.rounds.len() >= round as usize);
            // Who has just bounced may name the same touch again in the next round, even if that changed no velocity:
            // it has become duller.
            if !anyone && settled && !has_bounced && !bodies.iter().any(told_more) {
                break;
            }
            for (sums, _) in self.all_sums.iter_mut().zip(&self.dirty).filter(|(_, dirty)| **dirty) {
                sums.before = sums.now;
            }
            has_bounced = self.bounce_named(world, pairs, round);
            for (sums, solver_body) in self.all_sums.iter_mut().zip(bodies) {
                if let Some(ghost) = solver_body.ghost {
                    sums.now = ghost.after_round(round, sums.start);
                }
            }
            for (ghost_owner, ghost) in &mut self.told {
                let (sums, named) = (&self.all_sums[*ghost_owner], self.names[*ghost_owner]);
                let id = bodies[*ghost_owner].body.id;
                let named = named.map(|at| other_side(&pairs.list()[at as usize], id, bodies));
                ghost.rounds.push((named, sums.now));
            }
        }
    }

    /// A sums may change its velocity: that matters to itself, and to those it touches.
    fn stir(&mut self, place: usize, pairs: &[ContactPair]) {
        self.dirty[place] = true;
        for pair in self.all_sums[place].pairs(&self.order).iter().map(|at| &pairs[*at as usize]) {
            for side in pair.sides() {
                self.dirty[side as usize] = true;
            }
        }
    }

    /// One round of bounces between those who name each other. Says whether there were any.
    fn bounce_named(&mut self, world: &World, pairs: &mut ContactPairs, round: u32) -> bool {
        let mut has_bounced = false;
        for place in 0..self.names.len() {
            let Some(at) = self.names[place] else { continue };
            let (pair, touch) = pairs.get_mut(at as usize);
            let ContactPair { a, b, .. } = *pair;
            // Of two that name each other the first lets both bounce.
            if a as usize != place || b.is_some_and(|b| self.names[b as usize] != Some(at)) {
                continue;
            }
            let velocity_a = self.all_sums[place].before;
            let velocity_b = b.map_or(Velocity::ZERO, |b| self.all_sums[b as usize].before);
            if !touch.is_impact(&velocity_a, &velocity_b, &world.rule) {
                continue;
            }
            let (after_a, after_b) = touch.bounce(&velocity_a, &velocity_b, &world.rule);
            pair.bounced_in = round;
            has_bounced = true;
            self.all_sums[place].now = after_a;
            self.stir(place, pairs.list());
            if let Some(b) = b {
                self.all_sums[b as usize].now = after_b;
                self.stir(b as usize, pairs.list());
            }
        }
        has_bounced
    }

    /// The pair a sums names for `round`: the deepest hard one, with its own present velocity and the
    /// others' of one round ago, but not the one that has just bounced. Ties go to the first in order.
    fn deepest_impact(&self, place: usize, round: u32, world: &World, pairs: &ContactPairs) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        for &at in self.meetings_of(place) {
            let pair = &pairs.list()[at as usize];
            let just_bounced = round > 1 && pair.bounced_in == round - 1;
            if just_bounced || best.is_some_and(|(gap, _)| gap <= pair.gap) {
                continue;
            }
            let seen =
                |sums: &BodySums, side: u32| if side as usize == place { sums.now } else { sums.before };
            if self.is_impact(pair, pairs.touch(at as usize), seen, world) {
                best = Some((pair.gap, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Whether a pair is hard at certain velocities of its sides. Mostly those are still what they were at the
    /// start, and that has been looked at.
    fn is_impact(
        &self,
        pair: &ContactPair,
        touch: &ContactConstraint,
        velocities: impl Fn(&BodySums, u32) -> Velocity,
        world: &World,
    ) -> bool {
        // Whoever changes its velocity stirs both sides of all its pairs.
        if !self.dirty[pair.a as usize] {
            return pair.was_impact;
        }
        let of = |side: u32| velocities(&self.all_sums[side as usize], side);
        touch.is_impact(&of(pair.a), &pair.b.map_or(Velocity::ZERO, of), &world.rule)
    }

    /// The pair that a solver_body has told it names, if that pair takes part here.
    fn told_name(
        &self,
        place: usize,
        ghost: &GhostState,
        round: u32,
        bodies: &[SolverBody],
        pairs: &ContactPairs,
    ) -> Option<u32> {
        let named = ghost.named_in(round)?;
        let me = bodies[place].body.id;
        let is_named = |at: &&u32| other_side(&pairs.list()[**at as usize], me, bodies) == named;
        self.meetings_of(place).iter().find(is_named).copied()
    }

    /// Resting touches: every body is split evenly among its touches, each pair solved on its own, the results
    /// added up. Touches that are still hard wait for the next tick.
    fn rest(&mut self, world: &World, bodies: &[SolverBody], pairs: &mut ContactPairs) {
        pairs.each(|pair, touch| {
            pair.waits = self.is_impact(pair, touch, |sums, _| sums.now, world);
            if pair.waits {
                touch.release();
            }
            if pair.waits || pair.bounced_in > 0 {
                pair.impulse = touch.impulse();
            }
        });
        self.add_up(world, bodies, pairs.list(), 0);
        for iteration in 1..=world.rule.iterations as usize {
            let is_last = iteration == world.rule.iterations as usize;
            pairs.each(|pair, touch| {
                let shares = self.shares(pair, bodies);
                if !pair.waits {
                    let (velocity_a, velocity_b) = self.twists(pair, |sums| sums.rested);
                    touch.relax(&velocity_a, &velocity_b, shares, world.time.tick_s);
                    pair.impulse = touch.impulse();
                }
                if is_last {
                    let (velocity_a, velocity_b) = self.twists(pair, |sums| sums.now);
                    let correction = || touch.correction(&velocity_a, &velocity_b, shares, &world.rule);
                    pair.moved = (!pair.waits).then(correction);
                    pair.parts = touch.parts(&velocity_a, &velocity_b, &world.rule);
                    pair.is_held = touch.is_held();
                }
            });
            self.add_up(world, bodies, pairs.list(), iteration);
        }
    }

    /// Velocities from scratch: after the bounces, with this tick's gravity and all impulses as they are now.
    fn add_up(&mut self, world: &World, bodies: &[SolverBody], pairs: &[ContactPair], iteration: usize) {
        let order = &self.order;
        parallel::par_for(&mut self.all_sums, |place, sums| {
            let solver_body = &bodies[place];
            if let Some(told) = solver_body.ghost.and_then(|ghost| ghost.rested.get(iteration)) {
                sums.rested = *told;
                return;
            }
            let (mut push, mut turn) = (Vec3::zeros(), Vec3::zeros());
            for &at in sums.pairs(order) {
                let pair = &pairs[at as usize];
                let (impulse, moment_a, moment_b) = pair.impulse;
                if pair.a as usize == place {
                    push += impulse;
                    turn += moment_a;
                } else {
                    push -= impulse;
                    turn -= moment_b;
                }
            }
            let free = sums.now.v + world.gravity * world.time.tick_s;
            sums.rested.v = free + push * solver_body.mass.inv_mass;
            sums.rested.w = sums.now.w + solver_body.mass.inv_inertia * turn;
        });
        if iteration < world.rule.iterations as usize {
            for (ghost_owner, ghost) in &mut self.told {
                ghost.rested.push(self.all_sums[*ghost_owner].rested);
            }
        }
    }

    /// Moves resting bodies apart where they overlap.
    fn correct(&mut self, pairs: &[ContactPair]) {
        let order = &self.order;
        parallel::par_for(&mut self.all_sums, |place, sums| {
            let mut total = Velocity::ZERO;
            for pair in sums.pairs(order).iter().map(|at| &pairs[*at as usize]) {
                let Some((moved_a, moved_b)) = &pair.moved else { continue };
                let moved = if pair.a as usize == place { moved_a } else { moved_b };
                total.v += moved.v;
                total.w += moved.w;
            }
            sums.moved = total;
        });
    }

    /// The flight a solver_body is in from the tick after `tick` on. Call after [`LocalSolver::respond`], with the
    /// same lists.
    pub fn onward(
        &self,
        world: &World,
        tick: Tick,
        place: usize,
        of: &SolverBody,
        pairs: &ContactPairs,
    ) -> Flight {
        let (sums, state) = (&self.all_sums[place], &of.state);
        let (mut collided, mut parts, mut held) = (false, true, false);
        for pair in self.meetings_of(place).iter().map(|at| &pairs.list()[*at as usize]) {
            collided |= pair.bounced_in > 0 || pair.waits;
            parts &= pair.parts;
            held |= pair.is_held;
        }
        if (collided || parts) && !held {
            // A bounce is an instant change of velocity; what follows is free flight from this very tick. So is
            // what comes after it, even if the bodies need more than a tick to part.
            let q = renormalised(rotation_exp(sums.moved.w) * state.q);
            let origin = BodyState { x: state.x + sums.moved.v, q, v: sums.now.v, w: sums.now.w };
            return Flight { since: tick, origin };
        }
        let tick_s = world.time.tick_s;
        let Velocity { v, w } = sums.rested;
        let (q, w) = match &of.body.inertia {
            Inertia::Isotropic { .. } => (rotation_exp(w * tick_s) * state.q, w),
            Inertia::Principal { .. } if w == Vec3::zeros() => (state.q, w),
            Inertia::Principal { moments, frame } => {
                let mut tumble = Tumble::new(&state.q, w, moments, frame);
                tumble.advance(moments, tick_s);
                (tumble.q(frame), tumble.w(moments))
            }
        };
        let x = state.x + v * tick_s + sums.moved.v;
        let q = renormalised(rotation_exp(sums.moved.w) * q);
        Flight { since: tick + 1, origin: BodyState { x, q, v, w } }
    }

    /// The state of a solver_body at this tick once everything that takes part has pushed it and moved it apart, and
    /// before gravity has. For those who have other contacts, which somebody else solves. Call after
    /// [`LocalSolver::respond`], with the same lists.
    pub fn pushed(&self, world: &World, place: usize, of: &SolverBody) -> BodyState {
        let (sums, state) = (&self.all_sums[place], &of.state);
        BodyState {
            x: state.x + sums.moved.v,
            q: renormalised(rotation_exp(sums.moved.w) * state.q),
            v: sums.rested.v - world.gravity * world.time.tick_s,
            w: sums.rested.w,
        }
    }

    fn meetings_of(&self, place: usize) -> &[u32] {
        self.all_sums[place].pairs(&self.order)
    }

    fn twists(&self, pair: &ContactPair, which: impl Fn(&BodySums) -> Velocity) -> (Velocity, Velocity) {
        let of = |place: u32| which(&self.all_sums[place as usize]);
        (of(pair.a), pair.b.map_or(Velocity::ZERO, of))
    }

    /// Among how many touches each side is split.
    fn shares(&self, pair: &ContactPair, bodies: &[SolverBody]) -> (f64, f64) {
        let count = |place: u32| {
            let told = bodies[place as usize].ghost.map(|ghost| ghost.touches);
            f64::from(told.unwrap_or(self.all_sums[place as usize].count))
        };
        (count(pair.a), pair.b.map_or(1.0, count))
    }
}

/// Who is on the other side of a pair.
fn other_side(pair: &ContactPair, me: crate::base::ids::BodyId, bodies: &[SolverBody]) -> Partner {
    let first = bodies[pair.a as usize].body.id;
    if first == me { pair.with } else { Partner::Body(first) }
}
