//! What touches at one tick, how it goes on, and what pairs keep for the next tick. Shared by both gears.

use serde::{Deserialize, Serialize};

use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::collision::kernels::Manifold;
use crate::physics::contact::{ContactModel, ContactPair, PairCache, PairInput, Partner, SolverBody};
use crate::physics::local_solver::{GhostPart, GhostState, LocalSolver};
use crate::physics::{Flight, World};

/// A pair in contact, in the order in which contacts are summed: pairs of bodies first, then bodies and static objects.
/// All are indices in the lists of the world, which ascend with ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct PairKey {
    pub is_static: bool,
    pub a: u32,
    /// The larger body, or the static object.
    pub b: u32,
}

/// A pair in contact at this tick.
#[derive(Clone)]
pub(crate) struct Found {
    pub key: PairKey,
    pub manifold: Manifold,
}

/// How many contacts there were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub contacts: u64,
    pub contact_ticks: u64,
    pub max_overlap_m: f64,
}

impl Counts {
    /// Adds those of another time or place.
    pub fn add(&mut self, other: &Counts) {
        self.contacts += other.contacts;
        self.contact_ticks += other.contact_ticks;
        self.max_overlap_m = self.max_overlap_m.max(other.max_overlap_m);
    }
}

/// The contacts of one tick and their solution.
#[derive(Clone, Default)]
pub(crate) struct Response<'w> {
    /// What touches at this tick, in order.
    pub found: Vec<Found>,
    /// The caches of the last tick with contacts, in order, and that tick.
    caches: Vec<(PairKey, PairCache)>,
    cached_at: Tick,
    /// Room for the caches of the next tick.
    new_caches: Vec<(PairKey, PairCache)>,
    /// By contact: the index of its cache of the tick before, or [`NONE`], and its gap, metres.
    known: Vec<(u32, f64)>,
    /// The bodies in contact, in order, and for every body its index among them or [`NONE`].
    bodies: Vec<u32>,
    index_of: Vec<u32>,
    solver_bodies: Vec<SolverBody<'w, GhostState>>,
    solver: LocalSolver,
    /// Indices of bodies of which some contacts are solved elsewhere, ascending.
    open: Vec<usize>,
    /// The new flights of the bodies in contact.
    flights: Vec<Flight>,
}

/// No index.
pub(crate) const NONE: u32 = u32::MAX;
/// If there are fewer contacts than one per this many bodies, bodies are listed by contact. Not tuned.
const FEW: usize = 8;

impl<'w> Response<'w> {
    /// Finds the caches of what was found, and counts.
    pub fn count(&mut self, tick: Tick, counts: &mut Counts) {
        self.count_if(tick, counts, |_| true);
    }

    /// The same, and counts some of it only.
    pub fn count_if(&mut self, tick: Tick, counts: &mut Counts, is_counted: impl Fn(&PairKey) -> bool) {
        let former: &[(PairKey, PairCache)] = if self.cached_at + 1 == tick { &self.caches } else { &[] };
        let found = &self.found;
        parallel::par_collect(&mut self.known, found.len(), |range, known| {
            let Some(first) = found.get(range.start) else { return };
            let mut at = former.partition_point(|(key, _)| *key < first.key);
            known.extend(found[range].iter().map(|found| {
                while at < former.len() && former[at].0 < found.key {
                    at += 1;
                }
                let is_known = former.get(at).is_some_and(|(key, _)| *key == found.key);
                (if is_known { at as u32 } else { NONE }, found.manifold.gap())
            }));
        });
        let counted = found.iter().zip(&self.known).filter(|(found, _)| is_counted(&found.key));
        for (_, (cache, gap_m)) in counted {
            counts.contacts += u64::from(*cache == NONE);
            counts.contact_ticks += 1;
            counts.max_overlap_m = counts.max_overlap_m.max(-gap_m);
        }
    }

    /// Solves what was found at `tick`, and finds the new flight of every body in contact.
    pub fn respond(
        &mut self,
        world: &'w World,
        tick: Tick,
        bodies: usize,
        state: impl Fn(u32) -> BodyState + Sync + Send,
    ) {
        self.prepare(world, bodies, state);
        self.solver.solve(world, &self.solver_bodies, &[]);
        self.finish(world, tick);
    }

    /// Lists the bodies in contact, and hands what was found to the solver. There are `bodies` in all.
    pub fn prepare(
        &mut self,
        world: &'w World,
        bodies: usize,
        state: impl Fn(u32) -> BodyState + Sync + Send,
    ) {
        self.list_bodies(bodies);
        let listed = &self.bodies;
        parallel::par_fill(&mut self.solver_bodies, listed.len(), |at| {
            SolverBody::new(&world.bodies[listed[at] as usize], state(listed[at]))
        });
        let (found, caches, known, index_of) = (&self.found, &self.caches, &self.known, &self.index_of);
        let pair = |at: usize| {
            let PairKey { is_static, a, b } = found[at].key;
            let a = index_of[a as usize];
            match is_static {
                true => ContactPair { a, b: None, partner: Partner::Static(world.statics[b as usize].id) },
                false => {
                    let partner = Partner::Body(world.bodies[b as usize].id);
                    ContactPair { a, b: Some(index_of[b as usize]), partner }
                }
            }
        };
        let input = |at: usize| {
            let Found { key, manifold } = &found[at];
            let fixed = key.is_static.then(|| &world.statics[key.b as usize]);
            let cache = (known[at].0 != NONE).then(|| &caches[known[at].0 as usize].1);
            PairInput { manifold, fixed, cache }
        };
        let solver_bodies = &self.solver_bodies;
        self.solver.prepare(world, solver_bodies, found.len(), pair, input);
    }

    /// Finds the new flight of every body in contact at `tick`, and what pairs keep, once all is solved.
    pub fn finish(&mut self, world: &World, tick: Tick) {
        let (found, solver_bodies, solver) = (&self.found, &self.solver_bodies, &self.solver);
        parallel::par_fill(&mut self.flights, solver_bodies.len(), |at| {
            solver.flight(world, tick, at, &solver_bodies[at])
        });
        parallel::par_fill(&mut self.new_caches, found.len(), |at| (found[at].key, solver.cache(at)));
        std::mem::swap(&mut self.caches, &mut self.new_caches);
        self.cached_at = tick;
    }

    /// Number of exchanges in a tick.
    pub fn exchanges(&self, world: &World) -> u32 {
        LocalSolver::exchanges(world)
    }

    /// Solves what was prepared up to the first exchange. Some contacts of open bodies are solved elsewhere.
    pub fn begin_exchanges(&mut self, world: &World, is_open: impl Fn(u32) -> bool) {
        self.open.clear();
        self.open.extend((0..self.bodies.len()).filter(|at| is_open(self.bodies[*at])));
        self.solver.begin(world, &self.solver_bodies, &self.open);
    }

    /// What a body in contact publishes in the next exchange.
    pub fn part(&self, world: &World, body: u32) -> GhostPart {
        self.solver.part(world, self.index_of[body as usize] as usize, &self.solver_bodies)
    }

    /// Goes on to the next exchange with what was published of open bodies.
    pub fn exchange<'p>(&mut self, world: &World, part: impl Fn(u32) -> Option<&'p GhostPart>) {
        let of = |at: &usize| Some((*at, part(self.bodies[*at])?.clone()));
        let heard: Vec<(usize, GhostPart)> = self.open.iter().filter_map(of).collect();
        self.solver.exchange(world, &self.solver_bodies, &heard);
    }

    /// What pairs keep of the last tick that was solved, in order.
    pub fn caches(&self) -> &[(PairKey, PairCache)] {
        &self.caches
    }

    /// What pairs keep of `tick`, in order; nothing if there were no contacts.
    pub fn caches_of(&self, tick: Tick) -> &[(PairKey, PairCache)] {
        if self.cached_at == tick { &self.caches } else { &[] }
    }

    /// Replaces what pairs keep, in order, of a tick.
    pub fn remember(&mut self, caches: &[(PairKey, PairCache)], tick: Tick) {
        self.caches.clear();
        self.caches.extend_from_slice(caches);
        self.cached_at = tick;
    }

    /// The bodies that were in contact, in order, their new flights, and for every body its index among them or [`NONE`].
    pub fn flights(&self) -> (&[u32], &[Flight], &[u32]) {
        (&self.bodies, &self.flights, &self.index_of)
    }

    /// Lists the bodies in contact in ascending order; there are `count` bodies in all.
    fn list_bodies(&mut self, count: usize) {
        for body in self.bodies.drain(..) {
            self.index_of[body as usize] = NONE;
        }
        if self.index_of.len() < count {
            self.index_of.resize(count, NONE);
        }
        let are_few = self.found.len() * FEW < count;
        for Found { key, .. } in &self.found {
            for body in [Some(key.a), (!key.is_static).then_some(key.b)].into_iter().flatten() {
                let index = &mut self.index_of[body as usize];
                if are_few && *index == NONE {
                    self.bodies.push(body);
                }
                *index = 0;
            }
        }
        if are_few {
            self.bodies.sort_unstable();
        } else {
            self.bodies.extend((0..count as u32).filter(|body| self.index_of[*body as usize] != NONE));
        }
        for (index, body) in self.bodies.iter().enumerate() {
            self.index_of[*body as usize] = index as u32;
        }
    }
}
