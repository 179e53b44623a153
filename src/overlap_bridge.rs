//! The coordinator: an overlap-partition layer groups actors into workers for blended contact coupling.
//!
//! Every tick it divides contact detection among the workers, lets contacts change the assignment of bodies to workers,
//! has all workers advance by one tick, and blends the copies of shared bodies ([`crate::overlap::tick`]). It knows no
//! threads: a [`WorkerPool`] runs the workers one after the other or all at once, with the same result to the bit.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::overlap::balance::Assignment;
use crate::overlap::detect::{DetectTask, DetectWorker, range_of};
use crate::overlap::engine::{Engine, engine};
use crate::overlap::graph::ConstraintGraph;
use crate::overlap::partition::{divide, share_across_joints};
use crate::overlap::step::{STATE_BYTES, StepResult, StepTask};
use crate::overlap::tick::{OverlapTick, TickWorkers};
use crate::overlap::{OverlapParameters, OverlapSettings, TickReport, WorkerSet};
use crate::physics::World;
use crate::physics::island_solver::{
    CollisionFilter, Detector, Impulses, IslandContact, ManifoldLists, Residual, WarmStart,
};
use crate::scene::SceneError;

/// Runs all workers; results are in the order of workers.
pub trait WorkerPool {
    /// Why a worker may fail.
    type Error;
    /// Lets every worker test its range of candidate pairs.
    fn detect(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, Self::Error>;
    /// Lets every worker advance its bodies by one tick.
    fn step(&mut self, tasks: Vec<StepTask>) -> Result<Vec<StepResult>, Self::Error>;
}

/// The contacts that one worker found.
#[derive(Clone, Default)]
pub struct Detected {
    /// Contacts between bodies, ascending.
    pub contacts: Arc<Vec<IslandContact>>,
    /// Processor time of finding them, seconds.
    pub cpu_s: f64,
}

/// The parts of one worker.
pub struct Worker {
    /// Finds contacts before a tick.
    pub detector: DetectWorker,
    /// Advances the worker's bodies.
    pub engine: Box<dyn Engine>,
}

/// Workers that run one after the other on the calling thread.
pub struct SerialPool {
    workers: Vec<Worker>,
}

impl WorkerPool for SerialPool {
    type Error = std::convert::Infallible;

    fn detect(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, Self::Error> {
        let pairs = self.workers.iter_mut().zip(&tasks);
        let found = pairs.map(|(worker, task)| worker.detector.detect(task));
        Ok(found.map(|contacts| Detected { contacts, cpu_s: 0.0 }).collect())
    }

    fn step(&mut self, tasks: Vec<StepTask>) -> Result<Vec<StepResult>, Self::Error> {
        let pairs = self.workers.iter_mut().zip(tasks);
        Ok(pairs.map(|(worker, task)| task.run(worker.engine.as_mut())).collect())
    }
}

/// Advances a world by workers that share bodies.
pub struct OverlapCoordinator {
    parameters: OverlapParameters,
    filter: Arc<CollisionFilter>,
    assignment: Assignment,
    tick: OverlapTick,
    scene: SceneState,
    /// Memory for the next blended states.
    blended: Vec<BodyState>,
}

impl OverlapCoordinator {
    /// Divides the bodies of a world among workers.
    pub fn new(world: Arc<World>, settings: OverlapSettings) -> Result<Self, SceneError> {
        let parameters = settings.resolve(&world)?;
        let OverlapParameters { workers, gamma, partition, .. } = parameters;
        let joints: Vec<(u32, u32)> = world.joints.iter().filter_map(|joint| joint.pair()).collect();
        let graph = ConstraintGraph::new(world.bodies.len(), joints.iter().copied());
        let worker_of = divide(&world, partition, workers);
        let sets = share_across_joints(&world, &worker_of, &graph, gamma);
        let has_joints = |body: u32| !graph.neighbours(body).is_empty();
        Ok(OverlapCoordinator {
            parameters,
            filter: Arc::new(CollisionFilter::new(&world)),
            assignment: Assignment::new(sets, workers, has_joints),
            tick: OverlapTick::new(joints),
            scene: SceneState::new(world, workers as usize),
            blended: Vec::new(),
        })
    }

    /// The settings, with defaults filled in.
    pub fn parameters(&self) -> &OverlapParameters {
        &self.parameters
    }

    /// The parts of all workers, for a pool to run.
    pub fn workers(&self) -> Vec<Worker> {
        let world = &self.scene.world;
        let worker = |_| Worker {
            detector: DetectWorker::new(world, &self.filter),
            engine: engine(world, &self.filter, &self.parameters),
        };
        (0..self.parameters.workers).map(worker).collect()
    }

    /// Workers that run one after the other on the calling thread.
    pub fn serial_pool(&self) -> SerialPool {
        SerialPool { workers: self.workers() }
    }

    /// The blended states of all bodies.
    pub fn states(&self) -> &[BodyState] {
        &self.scene.states
    }

    /// The workers of every body.
    pub fn sets(&self) -> &[WorkerSet] {
        self.assignment.sets()
    }

    /// Pairs of bodies in contact when the last tick began; empty with one worker, which finds its contacts itself.
    pub fn contacts(&self) -> &[(u32, u32)] {
        self.tick.contacts()
    }

    /// Advances all bodies by one tick.
    pub fn tick<P: WorkerPool>(&mut self, pool: &mut P) -> Result<TickReport, P::Error> {
        let mut workers = PoolWorkers {
            scene: &mut self.scene,
            pool,
            report: TickReport::default(),
            results: Vec::new(),
            next_copy: Vec::new(),
        };
        let assignment =
            self.tick.advance(&self.parameters, &mut self.assignment, &mut workers, &mut self.blended)?;
        let PoolWorkers { mut report, results, .. } = workers;
        report.assignment = assignment;
        let residual = self.scene.finish(results, &mut report);
        report.residual = self.parameters.measures.then_some(residual);
        // The tasks that shared the old states are gone.
        std::mem::swap(Arc::make_mut(&mut self.scene.states), &mut self.blended);
        Ok(report)
    }
}

/// The bodies of a scene, and what the coordinator knows about its workers.
struct SceneState {
    world: Arc<World>,
    /// The blended states of all bodies.
    states: Arc<Vec<BodyState>>,
    /// The workers of every body at the last tick; empty sets before the first.
    previous_sets: Vec<WorkerSet>,
    /// The bodies of every worker, ascending.
    bodies: Vec<Arc<Vec<u32>>>,
    all_bodies: Vec<u32>,
    detector: Detector,
    candidates: Arc<Vec<(u32, u32)>>,
    contacts: ManifoldLists,
    /// Memory for the states that each worker returns.
    buffers: Vec<Vec<BodyState>>,
    /// The impulses that each worker ended the last tick with.
    impulses: Vec<Option<Arc<Impulses>>>,
}

impl SceneState {
    fn new(world: Arc<World>, workers: usize) -> Self {
        let bodies = world.bodies.len();
        SceneState {
            states: Arc::new(world.bodies.iter().map(|body| body.start).collect()),
            previous_sets: vec![WorkerSet::EMPTY; bodies],
            bodies: vec![Arc::default(); workers],
            all_bodies: (0..bodies as u32).collect(),
            detector: Detector::default(),
            candidates: Arc::default(),
            contacts: Arc::default(),
            buffers: vec![Vec::new(); workers],
            impulses: vec![None; workers],
            world,
        }
    }

    /// The candidate pairs of this tick, divided among the workers.
    fn detect_tasks(&mut self) -> Vec<DetectTask> {
        let searches = self.detector.searches();
        let candidates = self.detector.candidates(&self.world, &self.all_bodies, &self.states).len();
        if self.detector.searches() != searches {
            let found = self.detector.candidates(&self.world, &self.all_bodies, &self.states);
            self.candidates = Arc::new(found.to_vec());
        }
        // Drops the references to the last contacts, so that the workers can use that memory again.
        self.contacts = Arc::default();
        let workers = self.bodies.len();
        let task = |worker| DetectTask {
            states: self.states.clone(),
            candidates: self.candidates.clone(),
            range: range_of(candidates, worker, workers),
        };
        (0..workers).map(task).collect()
    }

    /// What every worker has to do. States that a worker already has are not sent.
    fn step_tasks(&mut self, sets: &[WorkerSet], report: &mut TickReport) -> Vec<StepTask> {
        let workers = self.bodies.len();
        let mut tasks = vec![StepTask::default(); workers];
        let mut bodies: Vec<Vec<u32>> =
            self.bodies.iter().map(|list| Vec::with_capacity(list.len())).collect();
        // For every worker and every previous worker, the bodies that come from there.
        let mut arrivals: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new(); workers]; workers];
        for (index, (now, before)) in sets.iter().zip(&self.previous_sets).enumerate() {
            let (body, state) = (index as u32, &self.states[index]);
            for worker in now.without(*before).iter() {
                tasks[worker as usize].activate.push((body, *state));
                if let Some(previous) = before.first() {
                    arrivals[worker as usize][previous as usize].push(body);
                    report.moved += 1;
                }
            }
            for worker in before.without(*now).iter() {
                tasks[worker as usize].deactivate.push(body);
                report.moved += 1;
            }
            if before.len() > 1 {
                for worker in now.common(*before).iter() {
                    tasks[worker as usize].reset.push((body, *state));
                }
            }
            for worker in now.iter() {
                bodies[worker as usize].push(body);
            }
            if now.len() > 1 {
                report.shared += 1;
                report.copies += now.len();
            }
        }
        for (worker, (task, list)) in tasks.iter_mut().zip(bodies).enumerate() {
            if *self.bodies[worker] != list {
                self.bodies[worker] = Arc::new(list);
            }
            task.bodies = self.bodies[worker].clone();
            task.buffer = std::mem::take(&mut self.buffers[worker]);
            task.contacts = (workers > 1).then(|| self.contacts.clone());
            task.warm_starts = self.warm_starts(std::mem::take(&mut arrivals[worker]));
            report.bytes += task.bytes();
        }
        self.previous_sets.copy_from_slice(sets);
        tasks
    }

    /// The impulses of bodies that come from other workers; `arrivals` are the bodies by previous worker.
    fn warm_starts(&self, arrivals: Vec<Vec<u32>>) -> Vec<WarmStart> {
        let known = arrivals.into_iter().zip(&self.impulses).filter(|(bodies, _)| !bodies.is_empty());
        let warm_start = |(places, impulses): (Vec<u32>, &Option<Arc<Impulses>>)| {
            Some(WarmStart { places, impulses: impulses.clone()? })
        };
        known.filter_map(warm_start).collect()
    }

    /// Adds the results of all workers to the report and keeps their impulses. Returns the joint residual.
    fn finish(&mut self, results: Vec<StepResult>, report: &mut TickReport) -> Residual {
        let mut residual = Residual::default();
        for (worker, result) in results.into_iter().enumerate() {
            report.bytes += result.states.len() as u64 * STATE_BYTES + result.imported_bytes;
            let detect_cpu_s = report.detect_cpu_s.get(worker).copied().unwrap_or(0.0);
            report.cpu_s.push(result.cpu_s + detect_cpu_s);
            report.workers.push(result.counts);
            if let Some(of_worker) = &result.counts.residual {
                residual.join(of_worker);
            }
            self.impulses[worker] = result.impulses;
            self.buffers[worker] = result.states;
        }
        residual
    }
}

/// A worker pool during one tick of a scene.
struct PoolWorkers<'a, P> {
    scene: &'a mut SceneState,
    pool: &'a mut P,
    report: TickReport,
    results: Vec<StepResult>,
    /// For every worker, the index of its next copy in the result's states.
    next_copy: Vec<usize>,
}

impl<P: WorkerPool> TickWorkers for PoolWorkers<'_, P> {
    type Error = P::Error;

    fn find_contacts(&mut self, contacts: &mut Vec<(u32, u32)>) -> Result<(), P::Error> {
        let found = self.pool.detect(self.scene.detect_tasks())?;
        self.report.detect_cpu_s.extend(found.iter().map(|found| found.cpu_s));
        self.scene.contacts = Arc::new(found.into_iter().map(|found| found.contacts).collect());
        let found = self.scene.contacts.iter().flat_map(|list| list.iter());
        contacts.extend(found.map(|contact| (contact.a, contact.b)));
        Ok(())
    }

    fn step(&mut self, sets: &[WorkerSet]) -> Result<(), P::Error> {
        self.results = self.pool.step(self.scene.step_tasks(sets, &mut self.report))?;
        self.next_copy = vec![0; self.results.len()];
        Ok(())
    }

    fn copies(&mut self, _: u32, set: WorkerSet, copies: &mut Vec<BodyState>) {
        for worker in set.iter().map(|worker| worker as usize) {
            copies.push(self.results[worker].states[self.next_copy[worker]]);
            self.next_copy[worker] += 1;
        }
    }
}
