//! One tick of the rule for any number of bodies: the plain loops that define the result.
//!
//! As a rule all bodies in contact take part and everything is computed here. A body may also take part with a ghost
//! that it has published: then the ghost is believed, and its other contacts need not be known.

use crate::base::ids::BodyId;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::contact::{
    Certainty, ContactModel, ContactPair, PairCache, PairInput, Partner, SolverBody, Velocity,
};
use crate::physics::flight::Flight;
use crate::physics::local_solver::ghost::{GhostPart, GhostState};
use crate::physics::local_solver::pair::{ContactPairs, PairRecord};
use crate::physics::world::World;

/// A body of the local solver.
pub(super) type Body<'a> = SolverBody<'a, GhostState>;

/// What is being computed for a body.
#[derive(Clone)]
pub(super) struct BodySums {
    /// Its pairs are `LocalSolver::order[first..first + count]`, in the order of sums: bodies by ascending id,
    /// then static geometry by ascending id.
    pub first: u32,
    pub count: u32,
    /// Number of contacts that the body is split among; those included that do not take part here.
    pub split: u32,
    /// Velocities at the start, after the last round of impacts, and after the round before.
    pub start: Velocity,
    pub now: Velocity,
    pub before: Velocity,
    /// Velocities with gravity and the impulses of resting contacts.
    pub resting: Velocity,
    /// Displacement and turn that undo overlaps.
    pub moved: Velocity,
}

impl BodySums {
    pub fn pairs<'a>(&self, order: &'a [u32]) -> &'a [u32] {
        &order[self.first as usize..(self.first + self.count) as usize]
    }
}

/// Solves the contacts of one tick: impacts by rounds of mutual-best matching, then Jacobi iterations over resting
/// contacts on split masses. Everything in it is scratch space.
#[derive(Clone, Default)]
pub struct LocalSolver {
    pub(super) pairs: ContactPairs,
    /// By body.
    pub(super) sums: Vec<BodySums>,
    /// The pairs of all bodies, body by body.
    pub(super) order: Vec<u32>,
    /// The sides of all pairs.
    sides: Vec<(u32, Option<u32>)>,
    /// Where the pairs of each body end in `order`, after a zero.
    ends: Vec<u32>,
    /// The pair that each body chooses for the next round.
    pub(super) chosen: Vec<Option<u32>>,
    /// Bodies for which something may have changed since the start: their own velocity, or that of a body they touch.
    pub(super) dirty: Vec<bool>,
    /// Bodies that publish a ghost, and the ghost as recorded so far.
    pub(super) recorded: Vec<(usize, GhostState)>,
    /// Exchanges of this tick that are over.
    pub(super) exchanged: u32,
}

impl ContactModel for LocalSolver {
    type Cache = PairCache;
    type Ghost = GhostState;
    type Part = GhostPart;

    fn prepare<'c>(
        &mut self,
        world: &World,
        bodies: &[Body],
        count: usize,
        pair: impl Fn(usize) -> ContactPair + Sync + Send,
        input: impl Fn(usize) -> PairInput<'c, PairCache> + Sync + Send,
    ) {
        self.pairs.prepare(world, bodies, count, pair, input);
    }

    fn solve(&mut self, world: &World, bodies: &[Body], ghost_owners: &[usize]) -> Vec<GhostState> {
        let mut pairs = std::mem::take(&mut self.pairs);
        self.recorded = ghost_owners.iter().map(|owner| (*owner, GhostState::default())).collect();
        self.find_order(bodies, pairs.records());
        debug_assert_eq!(self.validate(bodies, &pairs), Ok(()), "before a solve");
        self.solve_impacts(world, bodies, &mut pairs);
        self.solve_resting(world, bodies, &mut pairs);
        self.correct_positions(pairs.records());
        debug_assert_eq!(self.validate(bodies, &pairs), Ok(()), "after a solve");
        self.pairs = pairs;
        let recorded = std::mem::take(&mut self.recorded);
        recorded.into_iter().map(|(owner, ghost)| self.complete(owner, ghost)).collect()
    }

    fn exchanges(world: &World) -> u32 {
        world.rule.rounds + 1 + world.rule.iterations
    }

    fn begin(&mut self, world: &World, bodies: &[Body], open: &[usize]) {
        self.begin_exchanges(world, bodies, open);
    }

    fn part(&self, world: &World, index: usize, bodies: &[Body]) -> GhostPart {
        self.ghost_part(world, index, bodies)
    }

    fn exchange(&mut self, world: &World, bodies: &[Body], heard: &[(usize, GhostPart)]) {
        self.take_parts(world, bodies, heard);
    }

    fn pair_count(&self) -> usize {
        self.pairs.records().len()
    }

    #[inline]
    fn pair(&self, at: usize) -> &ContactPair {
        &self.pairs.records()[at].pair
    }

    #[inline]
    fn cache(&self, at: usize) -> PairCache {
        self.pairs.constraints()[at].cache()
    }

    fn flight(&self, world: &World, tick: Tick, index: usize, body: &Body) -> Flight {
        self.next_flight(world, tick, index, body)
    }

    fn pushed_state(&self, world: &World, index: usize, body: &Body) -> BodyState {
        self.state_before_gravity(world, index, body)
    }

    /// An iteration reads the velocities of neighbours before it. So an own ghost is final one iteration farther than
    /// the least final ghost that was heard. Rounds of impacts are always final.
    fn ghost_certainty<'g>(world: &World, heard: impl Iterator<Item = &'g GhostState>) -> Certainty {
        let iterations = world.rule.iterations as usize;
        let exchanges = heard.map(|ghost| ghost.resting.len()).min().unwrap_or(iterations);
        Certainty { exchanges, is_complete: exchanges >= iterations }
    }

    fn keep_certain(ghost: &mut GhostState, certainty: Certainty) {
        ghost.resting.truncate(certainty.exchanges + 1);
    }

    fn same_ghost(a: &GhostState, b: &GhostState) -> bool {
        a.same_bits(b)
    }
}

impl LocalSolver {
    /// Adds what is known at the end, and leaves out trailing rounds that only repeat, so that equal ghosts have equal
    /// bytes.
    fn complete(&self, owner: usize, mut ghost: GhostState) -> GhostState {
        let sums = &self.sums[owner];
        ghost.contact_count = sums.count;
        while let Some((chosen, velocity)) = ghost.rounds.last() {
            let before = ghost.rounds.len().checked_sub(2).map_or(sums.start, |at| ghost.rounds[at].1);
            if chosen.is_some() || velocity.to_bits() != before.to_bits() {
                break;
            }
            ghost.rounds.pop();
        }
        ghost
    }

    /// Finds the pairs of every body, in the order of sums.
    pub(super) fn find_order(&mut self, bodies: &[Body], pairs: &[PairRecord]) {
        parallel::par_fill(&mut self.sides, pairs.len(), |at| (pairs[at].pair.a, pairs[at].pair.b));
        let sides = |(a, b): &(u32, Option<u32>)| [Some(*a), *b].into_iter().flatten();
        self.ends.clear();
        self.ends.resize(bodies.len() + 1, 0);
        for body in self.sides.iter().flat_map(sides) {
            self.ends[body as usize + 1] += 1;
        }
        let mut end = 0;
        for count in &mut self.ends {
            end += std::mem::replace(count, end);
        }
        self.order.clear();
        self.order.resize(2 * pairs.len(), 0);
        // Shifted by one: what begins as the start of the pairs of a body is in the end that of the next.
        for (at, sides_of) in self.sides.iter().enumerate() {
            for body in sides(sides_of) {
                let end = &mut self.ends[body as usize + 1];
                self.order[*end as usize] = at as u32;
                *end += 1;
            }
        }
        let ends = &self.ends;
        parallel::par_fill(&mut self.sums, bodies.len(), |body| {
            let velocity = Velocity::of(&bodies[body].state);
            let count = ends[body + 1] - ends[body];
            BodySums {
                first: ends[body],
                count,
                split: bodies[body].ghost.map_or(count, |ghost| ghost.contact_count),
                start: velocity,
                now: velocity,
                before: velocity,
                resting: velocity,
                moved: Velocity::ZERO,
            }
        });
    }

    /// The pairs of a body in the order of sums.
    pub(super) fn pairs_of(&self, body: usize) -> &[u32] {
        self.sums[body].pairs(&self.order)
    }
}

/// What a body touches in a pair.
pub(super) fn partner_of(pair: &ContactPair, body: BodyId, bodies: &[Body]) -> Partner {
    let first = bodies[pair.a as usize].body.id;
    if first == body { pair.partner } else { Partner::Body(first) }
}
