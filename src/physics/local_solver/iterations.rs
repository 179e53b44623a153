//! Resting contacts: Jacobi iterations on split masses.
//!
//! Every body is split evenly among its contacts, each pair is solved on its own, and the impulses are added up. Pairs
//! that are still impacts after the last round are deferred to the next tick. The number of iterations is a setting of
//! the scene (`response.iterations`).

use crate::base::math::Vec3;
use crate::base::parallel;
use crate::physics::contact::{ContactPair, Velocity};
use crate::physics::local_solver::pair::{ContactPairs, PairRecord};
use crate::physics::local_solver::solver::{Body, BodySums, LocalSolver};
use crate::physics::world::World;

impl LocalSolver {
    /// Finds the impulses of all resting contacts, and the velocities they lead to.
    pub(super) fn solve_resting(&mut self, world: &World, bodies: &[Body], pairs: &mut ContactPairs) {
        self.begin_resting(world, bodies, pairs);
        for iteration in 1..=world.rule.iterations {
            self.iterate(world, bodies, pairs, iteration);
        }
    }

    /// Defers what is still an impact, and finds the velocities that the cached impulses lead to.
    pub(super) fn begin_resting(&mut self, world: &World, bodies: &[Body], pairs: &mut ContactPairs) {
        pairs.each(|record, constraint| {
            record.is_deferred = self.is_impact(record, constraint, |sums, _| sums.now, world);
            if record.is_deferred {
                constraint.clear_impulses();
            }
            if record.is_deferred || record.bounced_in > 0 {
                record.impulse = constraint.impulse();
            }
        });
        self.add_up(world, bodies, pairs.records(), 0);
    }

    /// One iteration, which counts from 1.
    pub(super) fn iterate(
        &mut self,
        world: &World,
        bodies: &[Body],
        pairs: &mut ContactPairs,
        iteration: u32,
    ) {
        let is_last = iteration == world.rule.iterations;
        pairs.each(|record, constraint| {
            let weights = self.weights(&record.pair);
            if !record.is_deferred {
                let (velocity_a, velocity_b) = self.velocities(&record.pair, |sums| sums.resting);
                constraint.relax(&velocity_a, &velocity_b, weights, world.time.tick_s);
                record.impulse = constraint.impulse();
            }
            if is_last {
                let (velocity_a, velocity_b) = self.velocities(&record.pair, |sums| sums.now);
                let correction = || constraint.correction(&velocity_a, &velocity_b, weights, &world.rule);
                record.moved = (!record.is_deferred).then(correction);
                record.is_separating = constraint.is_separating(&velocity_a, &velocity_b, &world.rule);
                record.is_loaded = constraint.is_loaded();
            }
        });
        self.add_up(world, bodies, pairs.records(), iteration as usize);
    }

    /// Velocities from scratch: after the impacts, with this tick's gravity and all impulses as they are now.
    fn add_up(&mut self, world: &World, bodies: &[Body], pairs: &[PairRecord], iteration: usize) {
        let order = &self.order;
        parallel::par_for(&mut self.sums, |index, sums| {
            let body = &bodies[index];
            if let Some(velocity) = body.ghost.and_then(|ghost| ghost.resting.get(iteration)) {
                sums.resting = *velocity;
                return;
            }
            let (mut push, mut turn) = (Vec3::zeros(), Vec3::zeros());
            for &at in sums.pairs(order) {
                let record = &pairs[at as usize];
                let (impulse, moment_a, moment_b) = record.impulse;
                if record.pair.a as usize == index {
                    push += impulse;
                    turn += moment_a;
                } else {
                    push -= impulse;
                    turn -= moment_b;
                }
            }
            let free = sums.now.v + world.gravity * world.time.tick_s;
            sums.resting.v = free + push * body.mass.inv_mass;
            sums.resting.w = sums.now.w + body.mass.inv_inertia * turn;
        });
        if iteration < world.rule.iterations as usize {
            for (owner, ghost) in &mut self.recorded {
                ghost.resting.push(self.sums[*owner].resting);
            }
        }
    }

    /// Adds up how far resting contacts move each body apart from what it overlaps.
    pub(super) fn correct_positions(&mut self, pairs: &[PairRecord]) {
        let order = &self.order;
        parallel::par_for(&mut self.sums, |body, sums| {
            let mut total = Velocity::ZERO;
            for record in sums.pairs(order).iter().map(|at| &pairs[*at as usize]) {
                let Some((moved_a, moved_b)) = &record.moved else { continue };
                let moved = if record.pair.a as usize == body { moved_a } else { moved_b };
                total.v += moved.v;
                total.w += moved.w;
            }
            sums.moved = total;
        });
    }

    fn velocities(&self, pair: &ContactPair, which: impl Fn(&BodySums) -> Velocity) -> (Velocity, Velocity) {
        let of = |body: u32| which(&self.sums[body as usize]);
        (of(pair.a), pair.b.map_or(Velocity::ZERO, of))
    }

    /// Number of contacts that each side is split among.
    fn weights(&self, pair: &ContactPair) -> (f64, f64) {
        let count = |body: u32| f64::from(self.sums[body as usize].split);
        (count(pair.a), pair.b.map_or(1.0, count))
    }
}
