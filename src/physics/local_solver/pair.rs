//! The pairs in contact at one tick, each with its constraint.
//!
//! Constraints are large, and there may be more of them than a processor's cache holds. So every pass over them copies
//! what later steps need into the small record beside each.

use crate::base::math::Vec3;
use crate::base::parallel;
use crate::physics::contact::{ContactPair, PairCache, PairInput, SolverBody, SolverMass, Velocity};
use crate::physics::local_solver::contact::ContactConstraint;
use crate::physics::local_solver::ghost::GhostState;
use crate::physics::world::World;

/// A pair, and what there is to know of it without reading its constraint.
#[derive(Clone, Debug)]
pub(super) struct PairRecord {
    pub pair: ContactPair,
    /// Smallest gap of its points, metres.
    pub gap: f64,
    /// Whether it is an impact at the velocities at the start of the tick.
    pub was_impact: bool,
    /// Whether it is still an impact after the last round: it does not act in this tick any more.
    pub is_deferred: bool,
    /// Whether the two bodies separate.
    pub is_separating: bool,
    /// Whether a normal impulse holds it.
    pub is_loaded: bool,
    /// The round in which it last bounced; 0 for none.
    pub bounced_in: u32,
    /// What it does to its first side: impulse, and moments about both centres of mass.
    pub impulse: (Vec3, Vec3, Vec3),
    /// How far it moves its two sides; nothing if it is deferred.
    pub moved: Option<(Velocity, Velocity)>,
}

impl PairRecord {
    fn new(pair: ContactPair) -> Self {
        PairRecord {
            pair,
            gap: f64::INFINITY,
            was_impact: false,
            is_deferred: false,
            is_separating: false,
            is_loaded: false,
            bounced_in: 0,
            impulse: (Vec3::zeros(), Vec3::zeros(), Vec3::zeros()),
            moved: None,
        }
    }

    /// Copies what there is to know of the constraint at the start of the tick.
    fn note_start(
        &mut self,
        world: &World,
        bodies: &[SolverBody<GhostState>],
        constraint: &ContactConstraint,
    ) {
        let velocity = |body: u32| Velocity::of(&bodies[body as usize].state);
        let (a, b) = (velocity(self.pair.a), self.pair.b.map_or(Velocity::ZERO, velocity));
        self.gap = constraint.gap();
        self.was_impact = constraint.is_impact(&a, &b, &world.rule);
        self.impulse = constraint.impulse();
    }
}

/// All pairs of one tick, in order: pairs of bodies by ascending ids first, then contacts with static geometry by
/// ascending body and static id.
#[derive(Clone, Default)]
pub(super) struct ContactPairs {
    records: Vec<PairRecord>,
    constraints: Vec<ContactConstraint>,
}

impl ContactPairs {
    /// Replaces all pairs; see [`crate::physics::contact::ContactModel::prepare`].
    pub fn prepare<'c>(
        &mut self,
        world: &World,
        bodies: &[SolverBody<GhostState>],
        count: usize,
        pair: impl Fn(usize) -> ContactPair + Sync + Send,
        input: impl Fn(usize) -> PairInput<'c, PairCache> + Sync + Send,
    ) {
        let new_contact = PairCache::default();
        parallel::par_fill_two((&mut self.records, &mut self.constraints), count, |at| {
            let mut record = PairRecord::new(pair(at));
            let PairInput { manifold, fixed, cache } = input(at);
            let first = &bodies[record.pair.a as usize];
            let cache = cache.unwrap_or(&new_contact);
            let constraint = match (record.pair.b, fixed) {
                (Some(b), None) => {
                    let second = &bodies[b as usize];
                    let surface = first.body.surface.combined(&second.body.surface);
                    ContactConstraint::new(manifold, surface, &first.mass, &second.mass, cache, &world.rule)
                }
                (None, Some(object)) => {
                    let surface = first.body.surface.combined(&object.surface);
                    let mass = SolverMass::fixed(object.x);
                    ContactConstraint::new(manifold, surface, &first.mass, &mass, cache, &world.rule)
                }
                (Some(_), Some(_)) | (None, None) => {
                    unreachable!("the second side is either a body or static geometry")
                }
            };
            record.note_start(world, bodies, &constraint);
            (record, constraint)
        });
    }

    /// The records of all pairs.
    pub fn records(&self) -> &[PairRecord] {
        &self.records
    }

    /// The constraints of all pairs.
    pub fn constraints(&self) -> &[ContactConstraint] {
        &self.constraints
    }

    pub fn get_mut(&mut self, at: usize) -> (&mut PairRecord, &mut ContactConstraint) {
        (&mut self.records[at], &mut self.constraints[at])
    }

    /// Calls `act` for every pair, on any thread.
    pub fn each(&mut self, act: impl Fn(&mut PairRecord, &mut ContactConstraint) + Sync) {
        let (records, constraints) = (&mut self.records, &mut self.constraints);
        parallel::par_for_pairs(records, constraints, |_, record, constraint| act(record, constraint));
    }
}
