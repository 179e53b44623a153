//! One tick of an island: a pure function of its members, their states and their contact cache.
//!
//! Several workers share an island as they share a whole scene under `--sync overlap` ([`crate::overlap::tick`]). They are
//! no actors here, because the handler of an entity must not wait: they run one after the other, or on the threads that
//! help with large clusters.

use std::convert::Infallible;
use std::sync::Arc;

use crate::base::parallel;
use crate::base::state::BodyState;
use crate::islands::cache::IslandCache;
use crate::islands::settings::IslandSettings;
use crate::islands::workspace::{Workspace, Workspaces};
use crate::overlap::balance::Assignment;
use crate::overlap::partition::by_bisection;
use crate::overlap::tick::TickWorkers;
use crate::overlap::{OverlapParameters, WorkerSet};
use crate::physics::World;
use crate::physics::island_solver::{
    Bounds, CollisionFilter, Detector, Impulses, IslandSolver, StepCounts, WarmStart, find_contact,
};
use crate::scene::SceneError;

/// Advances islands of one world.
pub struct IslandModel {
    world: Arc<World>,
    filter: Arc<CollisionFilter>,
    settings: IslandSettings,
    overlap: OverlapParameters,
}

/// An island after a tick.
pub struct Advanced {
    /// The states of its bodies, in the order of its members.
    pub states: Vec<BodyState>,
    /// The contact cache that the next tick starts from.
    pub cache: Arc<IslandCache>,
    /// Pairs in contact, static geometry included.
    pub pairs: u32,
    /// The pairs among them that the contact cache did not know before.
    pub begun: u32,
    /// The deepest overlap, metres.
    pub deepest: f64,
}

impl IslandModel {
    /// Islands of a world; an error if the settings do not fit it.
    pub fn new(world: &Arc<World>, settings: IslandSettings) -> Result<Self, SceneError> {
        Ok(IslandModel {
            filter: Arc::new(CollisionFilter::new(world)),
            world: world.clone(),
            settings,
            overlap: settings.resolve(world)?,
        })
    }

    /// When bodies join and leave islands.
    pub fn settings(&self) -> &IslandSettings {
        &self.settings
    }

    /// The number of workers that share an island.
    pub fn workers(&self) -> u32 {
        self.overlap.workers
    }

    /// An upper bound of the number of islands at a time; a power of two.
    pub fn islands_max(&self) -> usize {
        (self.world.bodies.len() / self.settings.bodies_min as usize).next_power_of_two()
    }

    /// The world of the islands.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub(super) fn solver(&self) -> IslandSolver {
        IslandSolver::new(self.world.clone(), self.filter.clone())
    }

    /// Advances the bodies `members` (ascending) by one tick. `states` already contain the impulses of bodies outside the
    /// island at this tick.
    pub fn advance(
        &self,
        workspaces: &mut Workspaces,
        members: &[u32],
        states: &[BodyState],
        cache: &IslandCache,
    ) -> Advanced {
        let workspace = workspaces.of(self, members[0]);
        match self.overlap.workers {
            1 => advance_by_one(workspace, members, states, cache),
            _ => self.advance_by_several(workspace, members, states, cache),
        }
    }

    fn advance_by_several(
        &self,
        workspace: &mut Workspace,
        members: &[u32],
        states: &[BodyState],
        cache: &IslandCache,
    ) -> Advanced {
        let Workspace { solvers, detector, bounds, states: states_by_body, tick } = workspace;
        for (body, state) in members.iter().zip(states) {
            states_by_body[*body as usize] = *state;
        }
        let previous_sets = self.previous_sets(states, cache);
        let mut assignment = Assignment::new(previous_sets.clone(), self.overlap.workers, |_| false);
        let mut workers = IslandWorkers {
            model: self,
            members,
            states,
            cache,
            previous_sets: &previous_sets,
            solvers,
            detector,
            bounds,
            states_by_body,
            counts: Vec::new(),
            impulses: Vec::new(),
        };
        let mut blended = Vec::new();
        let Ok(_) = tick.advance(&self.overlap, &mut assignment, &mut workers, &mut blended);
        let IslandWorkers { counts, impulses, .. } = workers;
        Advanced {
            states: blended,
            cache: Arc::new(IslandCache {
                members: members.to_vec(),
                sets: assignment.into_sets(),
                impulses,
            }),
            pairs: counts.iter().map(|counts| counts.pairs).sum(),
            begun: counts.iter().map(|counts| counts.begun).sum(),
            deepest: counts.iter().fold(0.0, |deepest, counts| deepest.max(counts.deepest)),
        }
    }

    /// The workers of every member at the tick before; an island with new members is divided anew.
    fn previous_sets(&self, states: &[BodyState], cache: &IslandCache) -> Vec<WorkerSet> {
        if cache.sets.len() == states.len() {
            return cache.sets.clone();
        }
        let positions: Vec<_> = states.iter().map(|state| state.x).collect();
        let worker_of = by_bisection(&positions, self.overlap.workers, self.world.gravity);
        worker_of.into_iter().map(WorkerSet::one).collect()
    }
}

/// The workers of one island during a tick. Bodies are numbered by their index in `members`.
struct IslandWorkers<'a> {
    model: &'a IslandModel,
    members: &'a [u32],
    states: &'a [BodyState],
    cache: &'a IslandCache,
    previous_sets: &'a [WorkerSet],
    solvers: &'a mut [IslandSolver],
    detector: &'a mut Detector,
    bounds: &'a mut Bounds,
    /// The states of all bodies of the world; only those of the members are valid.
    states_by_body: &'a [BodyState],
    /// The counts of every worker, after it has stepped.
    counts: Vec<StepCounts>,
    /// The impulses of every worker, after it has stepped.
    impulses: Vec<Arc<Impulses>>,
}

impl TickWorkers for IslandWorkers<'_> {
    type Error = Infallible;

    fn find_contacts(&mut self, contacts: &mut Vec<(u32, u32)>) -> Result<(), Infallible> {
        let IslandModel { world, filter, .. } = self.model;
        let (members, states) = (self.members, self.states_by_body);
        let candidates = self.detector.candidates(world, members, states);
        self.bounds.update(world, members, states);
        let touch = |pair: &&(u32, u32)| find_contact(world, filter, states, self.bounds, **pair).is_some();
        let index =
            |body: u32| members.binary_search(&body).expect("invariant: candidates are members") as u32;
        contacts.extend(candidates.iter().filter(touch).map(|(a, b)| (index(*a), index(*b))));
        Ok(())
    }

    fn step(&mut self, sets: &[WorkerSet]) -> Result<(), Infallible> {
        let (members, states, cache, previous_sets) =
            (self.members, self.states, self.cache, self.previous_sets);
        let stepped = parallel::par_map_few(self.solvers, |worker, solver| {
            let lives_here = |set: &WorkerSet| set.contains(worker as u32);
            let here: Vec<usize> = (0..members.len()).filter(|index| lives_here(&sets[*index])).collect();
            let bodies: Vec<u32> = here.iter().map(|index| members[*index]).collect();
            set_active(solver, &bodies, |at| &states[here[at]]);
            solver.restore_warm_start(impulses_of_worker(cache, worker));
            // Imports warm-start impulses from the previous workers of bodies that are new here.
            for index in here.iter().filter(|index| !lives_here(&previous_sets[**index])) {
                let Some(previous) = previous_sets[*index].first() else { continue };
                let impulses = impulses_of_worker(cache, previous as usize).clone();
                solver.import_warm_start(&WarmStart { places: vec![members[*index]], impulses });
            }
            let counts = if bodies.is_empty() { StepCounts::default() } else { solver.step() };
            (counts, solver.impulses().clone())
        });
        (self.counts, self.impulses) = stepped.into_iter().unzip();
        Ok(())
    }

    fn copies(&mut self, index: u32, set: WorkerSet, copies: &mut Vec<BodyState>) {
        let body = self.members[index as usize];
        copies.extend(set.iter().map(|worker| *self.solvers[worker as usize].state(body)));
    }
}

/// One worker: the island solver alone.
fn advance_by_one(
    workspace: &mut Workspace,
    members: &[u32],
    states: &[BodyState],
    cache: &IslandCache,
) -> Advanced {
    let solver = &mut workspace.solvers[0];
    set_active(solver, members, |at| &states[at]);
    solver.restore_warm_start(impulses_of_worker(cache, 0));
    let counts = solver.step();
    let impulses = vec![solver.impulses().clone()];
    Advanced {
        states: members.iter().map(|body| *solver.state(*body)).collect(),
        cache: Arc::new(IslandCache { members: members.to_vec(), sets: Vec::new(), impulses }),
        pairs: counts.pairs,
        begun: counts.begun,
        deepest: counts.deepest,
    }
}

/// The impulses of a worker; those of the whole island if it has not been divided yet.
fn impulses_of_worker(cache: &IslandCache, worker: usize) -> &Arc<Impulses> {
    cache.impulses.get(worker).unwrap_or(&cache.impulses[0])
}

/// Makes exactly these bodies active, in these states.
fn set_active<'a>(solver: &mut IslandSolver, bodies: &[u32], state: impl Fn(usize) -> &'a BodyState) {
    if solver.active() != bodies {
        for body in solver.active().to_vec() {
            solver.deactivate(body);
        }
    }
    for (at, body) in bodies.iter().enumerate() {
        solver.activate(*body, state(at));
    }
}
