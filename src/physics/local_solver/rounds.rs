//! Impacts, by rounds of mutual-best matching.
//!
//! In every round each body chooses its deepest impact; a pair bounces if each side chooses the other and it is still an
//! impact at their present velocities. A choice sees the velocity of the other side of one round ago, so that choice and
//! velocity can travel in one message. The number of rounds is a setting of the scene (`response.rounds`).

use crate::base::parallel;
use crate::physics::contact::{Partner, Velocity};
use crate::physics::local_solver::contact::ContactConstraint;
use crate::physics::local_solver::ghost::GhostState;
use crate::physics::local_solver::pair::{ContactPairs, PairRecord};
use crate::physics::local_solver::solver::{Body, BodySums, LocalSolver, partner_of};
use crate::physics::world::World;

impl LocalSolver {
    /// Lets all impacts act.
    pub(super) fn solve_impacts(&mut self, world: &World, bodies: &[Body], pairs: &mut ContactPairs) {
        let with_ghosts = (0..bodies.len()).filter(|body| bodies[*body].ghost.is_some());
        self.begin_impacts(bodies.len(), with_ghosts, pairs.records());
        let mut has_bounced = false;
        for round in 1..=world.rule.rounds {
            self.choose(world, bodies, pairs, round);
            let is_chosen = self.chosen.iter().any(Option::is_some);
            let dirty = || self.dirty.iter().zip(&self.sums).filter(|(dirty, _)| **dirty);
            let is_settled = dirty().all(|(_, sums)| sums.now == sums.before);
            let goes_on = |body: &Body| body.ghost.is_some_and(|ghost| ghost.rounds.len() >= round as usize);
            // A pair that has just bounced may be chosen again in the next round, even if the bounce changed no
            // velocity: its restitution is lower now.
            if !is_chosen && is_settled && !has_bounced && !bodies.iter().any(goes_on) {
                break;
            }
            has_bounced = self.bounce_chosen(world, pairs, round);
            for (sums, body) in self.sums.iter_mut().zip(bodies) {
                if let Some(ghost) = body.ghost {
                    sums.now = ghost.after_round(round, sums.start);
                }
            }
            self.record_round(bodies, pairs.records());
        }
    }

    /// Nothing is chosen yet, and nothing has changed but what may change out of sight: at `open` bodies.
    pub(super) fn begin_impacts(
        &mut self,
        bodies: usize,
        open: impl Iterator<Item = usize>,
        pairs: &[PairRecord],
    ) {
        self.chosen.clear();
        self.chosen.resize(bodies, None);
        self.dirty.clear();
        self.dirty.resize(bodies, false);
        open.for_each(|body| self.mark_dirty(body, pairs));
    }

    /// Lets every body choose a pair.
    pub(super) fn choose(&mut self, world: &World, bodies: &[Body], pairs: &ContactPairs, round: u32) {
        let mut all_chosen = std::mem::take(&mut self.chosen);
        parallel::par_for(&mut all_chosen, |body, chosen| match bodies[body].ghost {
            Some(ghost) => *chosen = self.chosen_by_ghost(body, ghost, round, bodies, pairs.records()),
            // Where nothing has changed, neither does the choice.
            None if round > 1 && !self.dirty[body] => {}
            None => *chosen = self.deepest_impact(body, round, world, pairs),
        });
        self.chosen = all_chosen;
    }

    /// Adds a round to the ghosts that are recorded.
    fn record_round(&mut self, bodies: &[Body], pairs: &[PairRecord]) {
        for (owner, ghost) in &mut self.recorded {
            let (sums, chosen) = (&self.sums[*owner], self.chosen[*owner]);
            let id = bodies[*owner].body.id;
            let chosen = chosen.map(|at| partner_of(&pairs[at as usize].pair, id, bodies));
            ghost.rounds.push((chosen, sums.now));
        }
    }

    /// Marks a body of changing velocity, and the bodies it touches.
    fn mark_dirty(&mut self, body: usize, pairs: &[PairRecord]) {
        self.dirty[body] = true;
        for record in self.sums[body].pairs(&self.order).iter().map(|at| &pairs[*at as usize]) {
            for side in record.pair.sides() {
                self.dirty[side as usize] = true;
            }
        }
    }

    /// One round of bounces between bodies that choose each other. Says whether there were any.
    pub(super) fn bounce_chosen(&mut self, world: &World, pairs: &mut ContactPairs, round: u32) -> bool {
        for (sums, _) in self.sums.iter_mut().zip(&self.dirty).filter(|(_, dirty)| **dirty) {
            sums.before = sums.now;
        }
        let mut has_bounced = false;
        for body in 0..self.chosen.len() {
            let Some(at) = self.chosen[body] else { continue };
            let (record, constraint) = pairs.get_mut(at as usize);
            let (a, b) = (record.pair.a, record.pair.b);
            // A pair acts once, when its first side is visited.
            if a as usize != body || b.is_some_and(|b| self.chosen[b as usize] != Some(at)) {
                continue;
            }
            let velocity_a = self.sums[body].before;
            let velocity_b = b.map_or(Velocity::ZERO, |b| self.sums[b as usize].before);
            if !constraint.is_impact(&velocity_a, &velocity_b, &world.rule) {
                continue;
            }
            let (after_a, after_b) = constraint.bounce(&velocity_a, &velocity_b, &world.rule);
            record.bounced_in = round;
            has_bounced = true;
            self.sums[body].now = after_a;
            self.mark_dirty(body, pairs.records());
            if let Some(b) = b {
                self.sums[b as usize].now = after_b;
                self.mark_dirty(b as usize, pairs.records());
            }
        }
        has_bounced
    }

    /// The pair that a body chooses for `round`: its deepest impact, with its own present velocity and those of the
    /// others of one round ago, but not the pair that has just bounced. Ties go to the first in order.
    fn deepest_impact(&self, body: usize, round: u32, world: &World, pairs: &ContactPairs) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        for &at in self.pairs_of(body) {
            let record = &pairs.records()[at as usize];
            let just_bounced = round > 1 && record.bounced_in == round - 1;
            if just_bounced || best.is_some_and(|(gap, _)| gap <= record.gap) {
                continue;
            }
            let seen =
                |sums: &BodySums, side: u32| if side as usize == body { sums.now } else { sums.before };
            if self.is_impact(record, &pairs.constraints()[at as usize], seen, world) {
                best = Some((record.gap, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Whether a pair is an impact at certain velocities of its sides. Mostly those are still what they were at the
    /// start, for which the answer is recorded.
    pub(super) fn is_impact(
        &self,
        record: &PairRecord,
        constraint: &ContactConstraint,
        velocities: impl Fn(&BodySums, u32) -> Velocity,
        world: &World,
    ) -> bool {
        // Where a velocity changes, both sides of all pairs of that body are marked.
        if !self.dirty[record.pair.a as usize] {
            return record.was_impact;
        }
        let of = |side: u32| velocities(&self.sums[side as usize], side);
        constraint.is_impact(&of(record.pair.a), &record.pair.b.map_or(Velocity::ZERO, of), &world.rule)
    }

    /// The pair that a body chooses according to its ghost, if that pair takes part here.
    fn chosen_by_ghost(
        &self,
        body: usize,
        ghost: &GhostState,
        round: u32,
        bodies: &[Body],
        pairs: &[PairRecord],
    ) -> Option<u32> {
        self.pair_with(body, ghost.chosen_in(round)?, bodies, pairs)
    }

    /// The pair of a body with a partner, if it takes part here.
    pub(super) fn pair_with(
        &self,
        body: usize,
        partner: Partner,
        bodies: &[Body],
        pairs: &[PairRecord],
    ) -> Option<u32> {
        let id = bodies[body].body.id;
        let is_chosen = |at: &&u32| partner_of(&pairs[**at as usize].pair, id, bodies) == partner;
        self.pairs_of(body).iter().find(is_chosen).copied()
    }
}
