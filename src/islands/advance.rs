//! One tick of a group: a pure function of who is in it, where they are and what they remember.
//!
//! Several workers share a group as they share a whole scene under `--sync overlap`: what are_near decides who lives
//! where, every worker advances its bodies by itself, and copies are blended. They are no actors here, for a handler
//! must not wait: they work one after the other, or on the threads that help with large crews.

use std::sync::Arc;

use crate::base::parallel;
use crate::base::state::BodyState;
use crate::islands::cache::IslandCache;
use crate::islands::settings::IslandSettings;
use crate::islands::workspace::{Workspace, Workspaces};
use crate::overlap::WorkerSet;
use crate::overlap::balance::Assignment;
use crate::overlap::blend::blend;
use crate::overlap::cover::uncovered;
use crate::overlap::graph::ConstraintGraph;
use crate::overlap::partition::by_bisection;
use crate::overlap::settings::{Chosen, OverlapSettings};
use crate::overlap::weights::weigh;
use crate::physics::World;
use crate::physics::island_solver::{
    CollisionFilter, Impulses, IslandSolver, StepCounts, WarmStart, find_contact,
};
use crate::scene::SceneError;

/// Advances groups of bodies of one world.
pub struct IslandModel {
    world: Arc<World>,
    filter: Arc<CollisionFilter>,
    settings: IslandSettings,
    shared: OverlapSettings,
    chosen: Chosen,
}

/// A group after a tick.
pub struct Advanced {
    /// The states of its bodies, in the order of their places.
    pub states: Vec<BodyState>,
    /// What it remembers.
    pub memory: Arc<IslandCache>,
    /// Pairs that find_contact.
    pub pairs: u32,
    /// Of these, pairs of which nothing was remembered.
    pub begun: u32,
    /// The deepest overlap, metres.
    pub deepest: f64,
}

impl IslandModel {
    /// Groups in a world; an error if the settings do not fit it.
    pub fn new(world: &Arc<World>, settings: IslandSettings) -> Result<Self, SceneError> {
        let shared = settings.shared(world)?;
        Ok(IslandModel {
            filter: Arc::new(CollisionFilter::new(world)),
            world: world.clone(),
            settings,
            shared,
            chosen: shared.chosen(world)?,
        })
    }

    /// Who is handed over when.
    pub fn settings(&self) -> &IslandSettings {
        &self.settings
    }

    /// How many workers share a group.
    pub fn workers(&self) -> u32 {
        self.chosen.workers
    }

    /// Most groups there can be.
    pub fn groups_max(&self) -> usize {
        (self.world.bodies.len() / self.settings.smallest as usize).next_power_of_two()
    }

    /// The world whose bodies it advances.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub(super) fn solver(&self) -> IslandSolver {
        IslandSolver::new(self.world.clone(), self.filter.clone())
    }

    /// Advances the bodies at `members` (ascending) by one tick, from states that already bear what others did to
    /// them in this tick.
    pub fn advance(
        &self,
        spaces: &mut Workspaces,
        members: &[u32],
        states: &[BodyState],
        memory: &IslandCache,
    ) -> Advanced {
        let workspace = spaces.of(self, members[0]);
        match self.chosen.workers {
            1 => one(workspace, members, states, memory),
            _ => self.several(workspace, members, states, memory),
        }
    }

    fn several(
        &self,
        workspace: &mut Workspace,
        members: &[u32],
        states: &[BodyState],
        memory: &IslandCache,
    ) -> Advanced {
        for (place, state) in members.iter().zip(states) {
            workspace.states[*place as usize] = *state;
        }
        let before = self.divided(members, states, memory);
        let contacts = self.contacts(workspace, members);
        let graph = ConstraintGraph::new(members.len(), contacts.iter().copied());
        let sets = self.assigned(workspace, before.clone(), &contacts, &graph);
        let stepped = parallel::par_map_few(&mut workspace.solvers, |worker, solver| {
            let lives_here = |set: &WorkerSet| set.contains(worker as u32);
            let here: Vec<usize> = (0..members.len()).filter(|at| lives_here(&sets[*at])).collect();
            let places: Vec<u32> = here.iter().map(|at| members[*at]).collect();
            set_active(solver, &places, |number| &states[here[number]]);
            solver.restore_warm_start(impulses_of_worker(memory, worker));
            // Who is new here brings what the worker knows that knew him before.
            let newcomers = here.iter().filter(|at| !lives_here(&before[**at]));
            for (knower, place) in newcomers.filter_map(|at| Some((before[*at].first()?, members[*at]))) {
                let impulses = impulses_of_worker(memory, knower as usize).clone();
                solver.import_warm_start(&WarmStart { places: vec![place], impulses });
            }
            let counts = if places.is_empty() { StepCounts::default() } else { solver.step() };
            (counts, solver.impulses().clone())
        });
        let (counts, impulses): (Vec<StepCounts>, Vec<Arc<Impulses>>) = stepped.into_iter().unzip();
        let blended = self.blended(workspace, members, &sets, &graph);
        let memory = IslandCache { members: members.to_vec(), sets, impulses };
        Advanced {
            states: blended,
            memory: Arc::new(memory),
            pairs: counts.iter().map(|counts| counts.pairs).sum(),
            begun: counts.iter().map(|counts| counts.begun).sum(),
            deepest: counts.iter().fold(0.0, |deepest, counts| deepest.max(counts.deepest)),
        }
    }

    /// Who lived where at the tick before; a group that has just come together is divided.
    fn divided(&self, members: &[u32], states: &[BodyState], memory: &IslandCache) -> Vec<WorkerSet> {
        if memory.sets.len() == members.len() {
            return memory.sets.clone();
        }
        let positions: Vec<_> = states.iter().map(|state| state.x).collect();
        let worker_of = by_bisection(&positions, self.chosen.workers, self.world.gravity);
        worker_of.into_iter().map(WorkerSet::one).collect()
    }

    /// Pairs of the group that meet, as numbers in the list of members, ascending.
    fn contacts(&self, workspace: &mut Workspace, members: &[u32]) -> Vec<(u32, u32)> {
        let Workspace { detector, bounds, states, .. } = workspace;
        let candidates = detector.candidates(&self.world, members, states);
        bounds.update(&self.world, members, states);
        let are_near =
            |pair: &&(u32, u32)| find_contact(&self.world, &self.filter, states, bounds, **pair).is_some();
        let number =
            |place: u32| members.binary_search(&place).expect("invariant: candidates are members") as u32;
        candidates.iter().filter(are_near).map(|(a, b)| (number(*a), number(*b))).collect()
    }

    /// Lets contacts change who lives where.
    fn assigned(
        &self,
        workspace: &mut Workspace,
        before: Vec<WorkerSet>,
        contacts: &[(u32, u32)],
        graph: &ConstraintGraph,
    ) -> Vec<WorkerSet> {
        let mut assignment = Assignment::new(before, self.chosen.workers, |_| false);
        if let Some(load) = self.shared.load {
            assignment.weigh(load, graph);
            for &(a, b) in contacts {
                assignment.meet(a, b, self.chosen.gamma, graph, &mut workspace.walk);
            }
            assignment.settle_loners(graph);
        }
        assignment.close_cover(contacts.iter().copied());
        let open = uncovered(assignment.sets(), contacts.iter().copied());
        assert_eq!(open, None, "invariant: every body and every contact lives in a worker");
        assignment.sets().to_vec()
    }

    fn blended(
        &self,
        workspace: &mut Workspace,
        members: &[u32],
        sets: &[WorkerSet],
        graph: &ConstraintGraph,
    ) -> Vec<BodyState> {
        let (mut copies, mut weights) = (Vec::new(), Vec::new());
        let mut blended = Vec::with_capacity(members.len());
        for (at, set) in sets.iter().enumerate() {
            copies.clear();
            copies.extend(set.iter().map(|worker| *workspace.solvers[worker as usize].state(members[at])));
            if copies.len() > 1 {
                let (rule, beta) = (self.shared.weights, self.chosen.beta);
                weigh(rule, graph, sets, at as u32, beta, &mut workspace.walk, &mut weights);
                blended.push(blend(&copies, &weights));
            } else {
                blended.push(copies[0]);
            }
        }
        blended
    }
}

/// One worker: the plain group solver.
fn one(workspace: &mut Workspace, members: &[u32], states: &[BodyState], memory: &IslandCache) -> Advanced {
    let solver = &mut workspace.solvers[0];
    set_active(solver, members, |number| &states[number]);
    solver.restore_warm_start(impulses_of_worker(memory, 0));
    let counts = solver.step();
    let impulses = vec![solver.impulses().clone()];
    Advanced {
        states: members.iter().map(|place| *solver.state(*place)).collect(),
        memory: Arc::new(IslandCache { members: members.to_vec(), sets: Vec::new(), impulses }),
        pairs: counts.pairs,
        begun: counts.begun,
        deepest: counts.deepest,
    }
}

/// The impulses of a worker; those of all if bodies have yet to be divided.
fn impulses_of_worker(memory: &IslandCache, worker: usize) -> &Arc<Impulses> {
    memory.impulses.get(worker).unwrap_or(&memory.impulses[0])
}

/// Lets exactly these bodies take part, from these states.
fn set_active<'a>(solver: &mut IslandSolver, places: &[u32], state: impl Fn(usize) -> &'a BodyState) {
    if solver.active() != places {
        for place in solver.active().to_vec() {
            solver.deactivate(place);
        }
    }
    for (number, place) in places.iter().enumerate() {
        solver.activate(*place, state(number));
    }
}
