//! One tick of the rule exchange by exchange, where some bodies have contacts that are solved elsewhere.
//!
//! There are as many exchanges as rounds of impacts and iterations together, and one more: velocities before each round,
//! after the last, and before each iteration. The steps between two exchanges are those of
//! [`solve`](crate::physics::contact::ContactModel::solve), in its order.

use crate::physics::contact::ContactModel;
use crate::physics::local_solver::ghost::GhostPart;
use crate::physics::local_solver::solver::{Body, LocalSolver, partner_of};
use crate::physics::world::World;

impl LocalSolver {
    /// Everything up to the first exchange.
    pub(super) fn begin_exchanges(&mut self, world: &World, bodies: &[Body], open: &[usize]) {
        let pairs = std::mem::take(&mut self.pairs);
        self.recorded.clear();
        self.exchanged = 0;
        self.find_order(bodies, pairs.records());
        debug_assert_eq!(self.validate(bodies, &pairs), Ok(()), "before a solve");
        self.begin_impacts(bodies.len(), open.iter().copied(), pairs.records());
        if world.rule.rounds > 0 {
            self.choose(world, bodies, &pairs, 1);
        }
        self.pairs = pairs;
    }

    /// What a body publishes in the next exchange.
    pub(super) fn ghost_part(&self, world: &World, index: usize, bodies: &[Body]) -> GhostPart {
        let (sums, id) = (&self.sums[index], bodies[index].body.id);
        let partner = |at: u32| partner_of(&self.pairs.records()[at as usize].pair, id, bodies);
        let (rounds, exchanged) = (world.rule.rounds, self.exchanged);
        GhostPart {
            contact_count: sums.count,
            chosen: self.chosen[index].filter(|_| exchanged < rounds).map(partner),
            velocity: if exchanged <= rounds { sums.now } else { sums.resting },
        }
    }

    /// Believes what open bodies have published, and goes on to the next exchange.
    pub(super) fn take_parts(&mut self, world: &World, bodies: &[Body], heard: &[(usize, GhostPart)]) {
        let mut pairs = std::mem::take(&mut self.pairs);
        let (rounds, exchanged) = (world.rule.rounds, self.exchanged);
        for (body, part) in heard {
            let chosen = part.chosen.and_then(|with| self.pair_with(*body, with, bodies, pairs.records()));
            self.chosen[*body] = chosen;
            let sums = &mut self.sums[*body];
            sums.split = part.contact_count;
            *if exchanged <= rounds { &mut sums.now } else { &mut sums.resting } = part.velocity;
        }
        self.exchanged += 1;
        if exchanged < rounds {
            self.bounce_chosen(world, &mut pairs, exchanged + 1);
            if exchanged + 1 < rounds {
                self.choose(world, bodies, &pairs, exchanged + 2);
            }
        } else if exchanged == rounds {
            self.begin_resting(world, bodies, &mut pairs);
        } else {
            self.iterate(world, bodies, &mut pairs, exchanged - rounds);
        }
        if self.exchanged == Self::exchanges(world) {
            self.correct_positions(pairs.records());
            debug_assert_eq!(self.validate(bodies, &pairs), Ok(()), "after a solve");
        }
        self.pairs = pairs;
    }
}
