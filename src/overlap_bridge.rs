//! The overlap bridge: advances a world by workers that share bodies and blends what they make of them.
//!
//! Every tick it has the workers look what touches, lets contacts move bodies between workers, weighs the copies of shared
//! bodies, has all workers advance by one tick, and blends. It knows no threads: a [`WorkerPool`] has the workers step,
//! one after the other or all at once, and the result is the same to the bit.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::overlap::balance::{Assignment, Case};
use crate::overlap::blend::blend;
use crate::overlap::cover::uncovered;
use crate::overlap::detect::{DetectTask, DetectWorker, share as share_of};
use crate::overlap::graph::{ConstraintGraph, Walk};
use crate::overlap::partition::{divide, share};
use crate::overlap::settings::{Chosen, OverlapSettings};
use crate::overlap::step::{STATE_BYTES, StepResult, StepTask};
use crate::overlap::weights::weigh;
use crate::overlap::{Engine, WorkerSet, engine::engine};
use crate::physics::World;
use crate::physics::island_solver::{
    CollisionFilter, Detector, Impulses, IslandContact, ManifoldLists, Residual, StepCounts, WarmStart,
};
use crate::scene::SceneError;

/// Has all workers look and carry out their orders; answers in the order of workers.
pub trait WorkerPool {
    /// Why it may fail.
    type Error;
    /// Every worker looks who are_near.
    fn look(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, Self::Error>;
    /// One tick of every worker.
    fn step(&mut self, orders: Vec<StepTask>) -> Result<Vec<StepResult>, Self::Error>;
}

/// What a worker saw.
#[derive(Clone, Default)]
pub struct Detected {
    /// Who are_near, ascending.
    pub meetings: Arc<Vec<IslandContact>>,
    /// Processor time of looking, seconds.
    pub cpu_s: f64,
}

/// What a worker is made of.
pub struct Worker {
    /// Finds out who are_near.
    pub detector_worker: DetectWorker,
    /// Advances its bodies.
    pub engine: Box<dyn Engine>,
}

/// Workers that step one after the other on the calling thread.
pub struct SerialPool {
    workers: Vec<Worker>,
}

impl WorkerPool for SerialPool {
    type Error = std::convert::Infallible;

    fn look(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, Self::Error> {
        let pairs = self.workers.iter_mut().zip(&tasks);
        let seen = pairs.map(|(worker, task)| worker.detector_worker.look(task));
        Ok(seen.map(|meetings| Detected { meetings, cpu_s: 0.0 }).collect())
    }

    fn step(&mut self, orders: Vec<StepTask>) -> Result<Vec<StepResult>, Self::Error> {
        let pairs = self.workers.iter_mut().zip(orders);
        Ok(pairs.map(|(worker, orders)| orders.carry_out(worker.engine.as_mut())).collect())
    }
}

/// What one tick was like.
#[derive(Clone, Debug, Default)]
pub struct TickReport {
    /// What each worker did.
    pub workers: Vec<StepCounts>,
    /// Processor time of each worker, seconds.
    pub cpu_s: Vec<f64>,
    /// Of that, for looking who are_near: all wait for the slowest before any of them goes on.
    pub look_s: Vec<f64>,
    /// Bodies that live in more than one worker, and all their copies.
    pub shared: u32,
    /// Copies of shared bodies.
    pub copies: u32,
    /// Bodies that came into a worker or left one.
    pub moved: u32,
    /// Constraints that no worker covered after contacts were treated, before that was mended.
    pub opened: u32,
    /// Bytes that were sent to workers and back.
    pub bytes: u64,
    /// How often each of the paper's cases applied: apart, released, bridge, together.
    pub cases: [u32; 4],
    /// What all workers together left unsolved, if that is measured.
    pub residual: Option<Residual>,
}

/// Advances a world by workers that share bodies.
pub struct OverlapCoordinator {
    world: Arc<World>,
    filter: Arc<CollisionFilter>,
    settings: OverlapSettings,
    chosen: Chosen,
    /// Blended states by place.
    states: Arc<Vec<BodyState>>,
    assignment: Assignment,
    /// Who lived where in the last tick; nobody before the first.
    before: Vec<WorkerSet>,
    /// Bodies of every worker, ascending.
    bodies: Vec<Arc<Vec<u32>>>,
    all: Vec<u32>,
    joints: Vec<(u32, u32)>,
    contacts: Vec<(u32, u32)>,
    graph: ConstraintGraph,
    detector: Detector,
    candidates: Arc<Vec<(u32, u32)>>,
    told: ManifoldLists,
    walk: Walk,
    /// Room for the states that each worker answers.
    rooms: Vec<Vec<BodyState>>,
    impulses: Vec<Option<Arc<Impulses>>>,
}

impl OverlapCoordinator {
    /// Divides the bodies of a world among workers.
    pub fn new(world: Arc<World>, settings: OverlapSettings) -> Result<Self, SceneError> {
        let chosen = settings.chosen(&world)?;
        let bodies = world.bodies.len();
        let joints: Vec<(u32, u32)> = world.joints.iter().filter_map(|joint| joint.pair()).collect();
        let graph = ConstraintGraph::new(bodies, joints.iter().copied());
        let worker_of = divide(&world, settings.partition, chosen.workers);
        let sets = share(&world, &worker_of, &graph, chosen.gamma);
        let has_joints = |place: u32| !graph.neighbours(place).is_empty();
        Ok(OverlapCoordinator {
            filter: Arc::new(CollisionFilter::new(&world)),
            states: Arc::new(world.bodies.iter().map(|body| body.start).collect()),
            assignment: Assignment::new(sets, chosen.workers, has_joints),
            before: vec![WorkerSet::EMPTY; bodies],
            bodies: vec![Arc::default(); chosen.workers as usize],
            all: (0..bodies as u32).collect(),
            joints,
            contacts: Vec::new(),
            graph,
            detector: Detector::default(),
            candidates: Arc::default(),
            told: Arc::default(),
            walk: Walk::default(),
            rooms: vec![Vec::new(); chosen.workers as usize],
            impulses: vec![None; chosen.workers as usize],
            world,
            settings,
            chosen,
        })
    }

    /// How many workers there are, and how deep they share.
    pub fn chosen(&self) -> Chosen {
        self.chosen
    }

    /// What every worker is made of.
    pub fn workers(&self) -> Vec<Worker> {
        let worker = |_| Worker {
            detector_worker: DetectWorker::new(&self.world, &self.filter),
            engine: engine(&self.world, &self.filter, &self.settings),
        };
        (0..self.chosen.workers).map(worker).collect()
    }

    /// Workers that step one after the other on the calling thread.
    pub fn serial_pool(&self) -> SerialPool {
        SerialPool { workers: self.workers() }
    }

    /// The blended states, by place.
    pub fn states(&self) -> &[BodyState] {
        &self.states
    }

    /// The workers of every body, by place.
    pub fn sets(&self) -> &[WorkerSet] {
        self.assignment.sets()
    }

    /// Pairs of bodies that find_contact at the last tick; unknown with one worker.
    pub fn contacts(&self) -> &[(u32, u32)] {
        &self.contacts
    }

    /// Advances everything by one tick.
    pub fn tick<C: WorkerPool>(&mut self, crew: &mut C) -> Result<TickReport, C::Error> {
        let mut report = TickReport::default();
        if self.chosen.workers > 1 {
            self.find_contacts(crew, &mut report)?;
            self.assign(&mut report);
        }
        let orders = self.orders(&mut report);
        let answers = crew.step(orders)?;
        self.take(answers, &mut report);
        Ok(report)
    }

    /// The constraint graph of this tick.
    fn find_contacts<C: WorkerPool>(
        &mut self,
        crew: &mut C,
        report: &mut TickReport,
    ) -> Result<(), C::Error> {
        let searches = self.detector.searches();
        let candidates = self.detector.candidates(&self.world, &self.all, &self.states).len();
        if self.detector.searches() != searches {
            let found = self.detector.candidates(&self.world, &self.all, &self.states);
            self.candidates = Arc::new(found.to_vec());
        }
        // Whoever found something has its room back.
        self.told = Arc::default();
        let workers = self.chosen.workers as usize;
        let task = |at| DetectTask {
            states: self.states.clone(),
            candidates: self.candidates.clone(),
            share: share_of(candidates, at, workers),
        };
        let seen = crew.look((0..workers).map(task).collect())?;
        report.look_s.extend(seen.iter().map(|seen| seen.cpu_s));
        self.told = Arc::new(seen.into_iter().map(|seen| seen.meetings).collect());
        self.contacts.clear();
        let meetings = self.told.iter().flat_map(|list| list.iter());
        self.contacts.extend(meetings.map(|meeting| (meeting.a, meeting.b)));
        let edges = self.joints.iter().chain(&self.contacts).copied();
        self.graph = ConstraintGraph::new(self.all.len(), edges);
        Ok(())
    }

    /// Lets contacts change who lives where, and makes sure that nothing is left out.
    fn assign(&mut self, report: &mut TickReport) {
        let OverlapCoordinator { assignment, graph, walk, contacts, joints, chosen, .. } = self;
        if let Some(load) = self.settings.load {
            assignment.weigh(load, graph);
            for &(a, b) in contacts.iter() {
                let case = match assignment.meet(a, b, chosen.gamma, graph, walk) {
                    Case::Settled => continue,
                    Case::Apart => 0,
                    Case::Released => 1,
                    Case::Bridge => 2,
                    Case::Together => 3,
                };
                report.cases[case] += 1;
            }
            assignment.settle_loners(graph);
        }
        let edges = joints.iter().chain(contacts.iter()).copied();
        report.opened = assignment.close_cover(edges.clone()) as u32;
        let open = uncovered(assignment.sets(), edges);
        assert_eq!(open, None, "invariant: every body and every constraint lives in a worker");
    }

    /// What every worker has to do. States that it knows already are not sent.
    fn orders(&mut self, report: &mut TickReport) -> Vec<StepTask> {
        let workers = self.chosen.workers as usize;
        let mut orders = vec![StepTask::default(); workers];
        let mut bodies: Vec<Vec<u32>> =
            self.bodies.iter().map(|list| Vec::with_capacity(list.len())).collect();
        // Who is new in which worker, and which worker knew it before.
        let mut newcomers: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new(); workers]; workers];
        for (place, (now, before)) in self.assignment.sets().iter().zip(&self.before).enumerate() {
            let (place, state) = (place as u32, &self.states[place]);
            for worker in now.without(*before).iter() {
                orders[worker as usize].activate.push((place, *state));
                if let Some(knower) = before.first() {
                    newcomers[worker as usize][knower as usize].push(place);
                    report.moved += 1;
                }
            }
            for worker in before.without(*now).iter() {
                orders[worker as usize].deactivate.push(place);
                report.moved += 1;
            }
            if before.len() > 1 {
                for worker in now.common(*before).iter() {
                    orders[worker as usize].reset.push((place, *state));
                }
            }
            for worker in now.iter() {
                bodies[worker as usize].push(place);
            }
            if now.len() > 1 {
                report.shared += 1;
                report.copies += now.len();
            }
        }
        for (worker, list) in bodies.into_iter().enumerate() {
            if *self.bodies[worker] != list {
                self.bodies[worker] = Arc::new(list);
            }
            orders[worker].bodies = self.bodies[worker].clone();
            orders[worker].room = std::mem::take(&mut self.rooms[worker]);
            orders[worker].told = (workers > 1).then(|| self.told.clone());
            for (knower, places) in newcomers[worker].iter_mut().enumerate() {
                if let Some(impulses) = self.impulses[knower].as_ref().filter(|_| !places.is_empty()) {
                    let places = std::mem::take(places);
                    orders[worker].shares.push(WarmStart { places, impulses: impulses.clone() });
                }
            }
            report.bytes += orders[worker].bytes();
        }
        self.before.copy_from_slice(self.assignment.sets());
        orders
    }

    /// Blends what the workers made of their bodies.
    fn take(&mut self, answers: Vec<StepResult>, report: &mut TickReport) {
        let mut at = vec![0; answers.len()];
        let (mut copies, mut weights) = (Vec::new(), Vec::new());
        // Nobody looks at the old states any more.
        let states = Arc::make_mut(&mut self.states);
        for (place, set) in self.assignment.sets().iter().enumerate() {
            copies.clear();
            for worker in set.iter().map(|worker| worker as usize) {
                copies.push(answers[worker].states[at[worker]]);
                at[worker] += 1;
            }
            states[place] = match copies.as_slice() {
                [only] => *only,
                several => {
                    let rule = self.settings.weights;
                    let (beta, walk) = (self.chosen.beta, &mut self.walk);
                    weigh(rule, &self.graph, self.assignment.sets(), place as u32, beta, walk, &mut weights);
                    blend(several, &weights)
                }
            };
        }
        let mut residual = Residual::default();
        for (worker, answer) in answers.into_iter().enumerate() {
            report.bytes += answer.states.len() as u64 * STATE_BYTES + answer.adopted_bytes;
            let look_s = report.look_s.get(worker).copied().unwrap_or(0.0);
            report.cpu_s.push(answer.cpu_s + look_s);
            report.workers.push(answer.counts);
            if let Some(of_worker) = &answer.counts.residual {
                residual.join(of_worker);
            }
            self.impulses[worker] = answer.impulses;
            self.rooms[worker] = answer.states;
        }
        report.residual = self.settings.measures.then_some(residual);
    }
}
