//! Workers as actors: all of them advance their bodies at the same time.
//!
//! The calling thread is the coordinator. Its decisions depend on states only, so the result depends on the number of
//! workers and never on the number of cores.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use actix::prelude::*;
use crossbeam::channel::{self, Receiver, Sender};

use crate::base::frame::Frame;
use crate::base::panics::panic_message;
use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::executor::arbiters;
use crate::executor::{RunError, Tally};
use crate::overlap::detect::DetectTask;
use crate::overlap::step::{StepResult, StepTask};
use crate::overlap::{JointGaps, OverlapSettings, OverlapSummary, TickReport};
use crate::overlap_bridge::{Detected, OverlapCoordinator, Worker, WorkerPool};
use crate::physics::World;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::collision::crowd::Crowd;
use crate::runtime::stats::thread_cpu;

/// How long a worker polls for its next task before it goes to sleep: being woken takes longer than the coordinator's
/// share of a tick. Not tuned.
const POLLING: Duration = Duration::from_micros(300);

/// Is called after every tick.
pub type OnTick<'a> = &'a mut dyn FnMut(Tick, &OverlapCoordinator, &TickReport);

/// Runs the world to its last tick, until `sink` breaks, or until a stop is requested.
pub fn run(
    world: &Arc<World>,
    settings: OverlapSettings,
    cores: usize,
    stop: &Stop,
    on_tick: OnTick,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, OverlapSummary), RunError> {
    let mut coordinator = OverlapCoordinator::new(world.clone(), settings)?;
    let mut pool = ActorPool::start(coordinator.workers(), cores)?;
    let parameters = coordinator.parameters();
    let mut summary = OverlapSummary::new(parameters.workers, parameters.gamma);
    let mut tally = Tally::default();
    let (mut grid, all) = (Grid::default(), (0..world.bodies.len() as u32).collect::<Vec<_>>());
    for tick in 0..=world.time.last_tick {
        if stop.is_requested() && tick > 0 {
            break;
        }
        check_finite(world, &coordinator, tick)?;
        if world.time.is_frame(tick) && sink(frame(world, &coordinator, tick)).is_break() {
            break;
        }
        tally.ticks = tick;
        if tick == world.time.last_tick {
            break;
        }
        check_crowd(world, &mut grid, &all, &coordinator, tick)?;
        pool.tick = tick;
        // Processor time: waiting for the workers does not count.
        let before = thread_cpu();
        let report = coordinator.tick(&mut pool)?;
        summary.coordinator_cpu_s += seconds_since(before);
        for counts in &report.workers {
            tally.contacts += u64::from(counts.begun);
            tally.contact_ticks += u64::from(counts.pairs);
            tally.max_overlap_m = tally.max_overlap_m.max(counts.deepest);
        }
        summary.add(&report);
        on_tick(tick, &coordinator, &report);
    }
    summary.joint_gaps = JointGaps::of(world, coordinator.states());
    Ok((tally, summary))
}

/// Processor time of this thread since `before`, seconds; zero if the operating system does not report it.
fn seconds_since(before: Option<Duration>) -> f64 {
    thread_cpu().zip(before).map_or(0.0, |(now, before)| (now - before).as_secs_f64())
}

fn check_finite(world: &World, coordinator: &OverlapCoordinator, tick: Tick) -> Result<(), RunError> {
    match coordinator.states().iter().position(|state| !state.is_finite()) {
        Some(body) => Err(RunError::not_finite(world.bodies[body].id, tick)),
        None => Ok(()),
    }
}

fn check_crowd(
    world: &World,
    grid: &mut Grid,
    bodies: &[u32],
    coordinator: &OverlapCoordinator,
    tick: Tick,
) -> Result<(), RunError> {
    match Crowd::of_bodies(world, grid, bodies, coordinator.states()) {
        Some(crowd) => Err(RunError::Crowded { tick, crowd }),
        None => Ok(()),
    }
}

fn frame(world: &World, coordinator: &OverlapCoordinator, tick: Tick) -> Frame {
    let states = world.bodies.iter().zip(coordinator.states());
    Frame::new(&world.time, tick, states.map(|(body, state)| (body.id, *state)).collect())
}

/// Advance by one tick.
#[derive(Message)]
#[rtype(result = "()")]
struct Step(StepTask);

/// Test candidate pairs.
#[derive(Message)]
#[rtype(result = "()")]
struct Detect(DetectTask);

/// A message of a worker to itself: as long as it has one, its thread does not sleep.
#[derive(Message)]
#[rtype(result = "()")]
struct Poll;

/// The result of a task.
enum Reply {
    Detected(Detected),
    Stepped(StepResult),
}

/// The number of a worker, and its reply or the message of a panic.
type WorkerReply = (usize, Result<Reply, String>);

/// A worker and its channel to the coordinator.
struct WorkerActor {
    number: usize,
    worker: Worker,
    replies: Sender<WorkerReply>,
    /// Whether its thread belongs to no other worker.
    has_own_thread: bool,
    /// When it stops polling; `None` while it does not poll.
    polling_until: Option<Instant>,
}

impl WorkerActor {
    /// Does a task and sends the result with its processor time.
    fn reply(&mut self, work: impl FnOnce(&mut Worker) -> Reply) {
        let before = thread_cpu();
        let worker = &mut self.worker;
        let done = catch_unwind(AssertUnwindSafe(|| work(worker)));
        let cpu_s = seconds_since(before);
        let reply = done.map_err(|payload| panic_message(&*payload).to_owned()).map(|reply| match reply {
            Reply::Detected(detected) => Reply::Detected(Detected { cpu_s, ..detected }),
            Reply::Stepped(result) => Reply::Stepped(StepResult { cpu_s, ..result }),
        });
        // Fails if the run has ended.
        let _ = self.replies.send((self.number, reply));
    }

    /// Polls for a while: the next task comes soon, and being woken takes long.
    fn poll(&mut self, context: &mut Context<Self>) {
        if self.has_own_thread && self.polling_until.replace(Instant::now() + POLLING).is_none() {
            context.notify(Poll);
        }
    }
}

impl Actor for WorkerActor {
    type Context = Context<Self>;
}

impl Handler<Poll> for WorkerActor {
    type Result = ();

    fn handle(&mut self, _: Poll, context: &mut Context<Self>) {
        if self.polling_until.is_some_and(|until| Instant::now() < until) {
            // Another thread may need the core.
            thread::yield_now();
            context.notify(Poll);
        } else {
            self.polling_until = None;
        }
    }
}

impl Handler<Step> for WorkerActor {
    type Result = ();

    fn handle(&mut self, step: Step, context: &mut Context<Self>) {
        self.reply(move |worker| Reply::Stepped(step.0.run(worker.engine.as_mut())));
        self.poll(context);
    }
}

impl Handler<Detect> for WorkerActor {
    type Result = ();

    fn handle(&mut self, detect: Detect, context: &mut Context<Self>) {
        self.reply(move |worker| {
            Reply::Detected(Detected { contacts: worker.detector.detect(&detect.0), cpu_s: 0.0 })
        });
        self.poll(context);
    }
}

/// Workers as actors, spread over arbiters.
struct ActorPool {
    workers: Vec<Addr<WorkerActor>>,
    replies: Receiver<WorkerReply>,
    /// Dropped to end the actors.
    stop: Option<Sender<()>>,
    /// The thread of the actor system.
    system: Option<JoinHandle<()>>,
    /// The current tick, for error messages.
    tick: Tick,
}

impl ActorPool {
    fn start(workers: Vec<Worker>, cores: usize) -> Result<Self, RunError> {
        let (reply_sender, replies) = channel::unbounded();
        let (started_sender, started) = channel::bounded(1);
        let (stop, stopped) = channel::bounded::<()>(0);
        let arbiters = cores.clamp(1, workers.len());
        let system = thread::Builder::new()
            .name("overlap".to_owned())
            .spawn(move || run_system(workers, arbiters, reply_sender, &started_sender, &stopped))
            .map_err(RunError::no_thread)?;
        let workers =
            started.recv().map_err(|_| RunError::Stalled("no worker could be started".into()))??;
        Ok(ActorPool { workers, replies, stop: Some(stop), system: Some(system), tick: 0 })
    }
}

impl ActorPool {
    /// One reply of every worker, in the order of workers.
    fn all_replies(&self) -> Result<Vec<Reply>, RunError> {
        let mut replies: Vec<Option<Reply>> = self.workers.iter().map(|_| None).collect();
        for _ in 0..replies.len() {
            // However long a worker takes. An error means that none of the missing ones exists any more.
            let gone = |_| replies.iter().position(Option::is_none).unwrap_or(0);
            let failed =
                |worker: usize, text| RunError::Worker { worker: worker as u32, tick: self.tick, text };
            let received = self.replies.recv().map_err(gone);
            let (number, reply) = received.map_err(|worker| failed(worker, "it no longer answers".into()))?;
            replies[number] = Some(reply.map_err(|text| failed(number, text))?);
        }
        Ok(replies.into_iter().flatten().collect())
    }
}

/// Starts the actors, sends their addresses to `started`, and runs them until the other end of `stopped` is dropped.
fn run_system(
    workers: Vec<Worker>,
    arbiters: usize,
    replies: Sender<WorkerReply>,
    started: &Sender<Result<Vec<Addr<WorkerActor>>, RunError>>,
    stopped: &Receiver<()>,
) {
    let system = match arbiters::system() {
        Ok(system) => system,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    system.block_on(async {
        let arbiters = match arbiters::start(arbiters) {
            Ok(arbiters) => arbiters,
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        let has_own_thread = arbiters.len() > 1 && arbiters.len() == workers.len();
        let workers = workers.into_iter().enumerate().map(|(number, worker)| {
            let replies = replies.clone();
            let worker = WorkerActor { number, worker, replies, has_own_thread, polling_until: None };
            WorkerActor::start_in_arbiter(&arbiters[number % arbiters.len()].handle(), |_| worker)
        });
        let _ = started.send(Ok(workers.collect()));
        // Now only the workers can send one.
        drop(replies);
        // Returns an error when the other end is dropped.
        let _ = stopped.recv();
        arbiters::stop(arbiters);
    });
}

impl WorkerPool for ActorPool {
    type Error = RunError;

    fn detect(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, RunError> {
        for (worker, task) in self.workers.iter().zip(tasks) {
            worker.do_send(Detect(task));
        }
        let detected = |reply| if let Reply::Detected(detected) = reply { Some(detected) } else { None };
        Ok(self.all_replies()?.into_iter().filter_map(detected).collect())
    }

    fn step(&mut self, tasks: Vec<StepTask>) -> Result<Vec<StepResult>, RunError> {
        for (worker, task) in self.workers.iter().zip(tasks) {
            worker.do_send(Step(task));
        }
        let stepped = |reply| if let Reply::Stepped(result) = reply { Some(result) } else { None };
        Ok(self.all_replies()?.into_iter().filter_map(stepped).collect())
    }
}

impl Drop for ActorPool {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(system) = self.system.take() {
            let _ = system.join();
        }
    }
}
