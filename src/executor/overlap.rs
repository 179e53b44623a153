//! Workers as actors: each advances its bodies when it is told to, all of them at once.
//!
//! The calling thread is the bridge between them; what it decides depends on states only, so the result depends on the
//! number of workers and never on the number of cores.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use actix::prelude::*;
use crossbeam::channel::{self, Receiver, Sender};

use crate::base::frame::Frame;
use crate::base::panics::panic_message;
use crate::base::time::Tick;
use crate::executor::{RunError, Tally};
use crate::overlap::detect::DetectTask;
use crate::overlap::step::{StepResult, StepTask};
use crate::overlap::{OverlapSettings, OverlapSummary, Violation};
use crate::overlap_bridge::{Detected, OverlapCoordinator, TickReport, Worker, WorkerPool};
use crate::physics::World;
use crate::runtime::affinity::pin_briefly;
use crate::runtime::stats::thread_cpu;

/// How long a worker waits for its next orders without going to sleep.
const WATCHFUL: Duration = Duration::from_micros(300);

/// What is told about a tick as soon as it is over.
pub type OnTick<'a> = &'a mut dyn FnMut(Tick, &OverlapCoordinator, &TickReport);

/// Runs the world to its last tick, or until `sink` breaks.
pub fn run(
    world: &Arc<World>,
    settings: OverlapSettings,
    cores: usize,
    on_tick: OnTick,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, OverlapSummary), RunError> {
    let mut bridge = OverlapCoordinator::new(world.clone(), settings)?;
    let mut crew = ActorPool::start(bridge.workers(), cores)?;
    let mut summary = OverlapSummary::new(bridge.chosen());
    let mut tally = Tally::default();
    for tick in 0..=world.time.last_tick {
        check_finite(world, &bridge, tick)?;
        if world.time.is_frame(tick) && sink(frame(world, &bridge, tick)).is_break() {
            break;
        }
        tally.ticks = tick;
        if tick == world.time.last_tick {
            break;
        }
        crew.tick = tick;
        // Time of the processor: workers that wait for each other are not the bridge's fault.
        let before = thread_cpu();
        let report = bridge.tick(&mut crew)?;
        summary.bridge_s += thread_cpu().zip(before).map_or(0.0, |(now, then)| (now - then).as_secs_f64());
        for counts in &report.workers {
            tally.contacts += u64::from(counts.begun);
            tally.contact_ticks += u64::from(counts.pairs);
            tally.max_overlap_m = tally.max_overlap_m.max(counts.deepest);
        }
        summary.add(&report);
        on_tick(tick, &bridge, &report);
    }
    summary.violation = Violation::of(world, bridge.states());
    Ok((tally, summary))
}

fn check_finite(world: &World, bridge: &OverlapCoordinator, tick: Tick) -> Result<(), RunError> {
    match bridge.states().iter().position(|state| !state.is_finite()) {
        Some(place) => Err(RunError::not_finite(world.bodies[place].id, tick)),
        None => Ok(()),
    }
}

fn frame(world: &World, bridge: &OverlapCoordinator, tick: Tick) -> Frame {
    let states = world.bodies.iter().zip(bridge.states());
    Frame {
        index: tick / u64::from(world.time.ticks_per_frame),
        tick,
        time_s: world.time.span_s(0, tick),
        bodies: states.map(|(body, state)| (body.id, *state)).collect(),
    }
}

/// Advance by one tick.
#[derive(Message)]
#[rtype(result = "()")]
struct Step {
    orders: StepTask,
}

/// Look who meets.
#[derive(Message)]
#[rtype(result = "()")]
struct Look {
    task: DetectTask,
}

/// Look whether there is anything to do, rather than go to sleep.
#[derive(Message)]
#[rtype(result = "()")]
struct StayAwake;

/// What a worker answers.
enum Reply {
    Detected(Detected),
    Done(StepResult),
}

/// A reply, or what a panic said.
type WorkerReply = (usize, Result<Reply, String>);

/// A worker and whom to answer.
struct WorkerActor {
    number: usize,
    worker: Worker,
    answers: Sender<WorkerReply>,
    /// Whether no other worker needs its thread.
    alone: bool,
    /// Until when it stays awake; nothing if it sleeps.
    awake_until: Option<Instant>,
}

impl WorkerActor {
    /// Does something, and tells the result with the processor time it took.
    fn answer(&mut self, work: impl FnOnce(&mut Worker) -> Reply) {
        let before = thread_cpu();
        let worker = &mut self.worker;
        let done = catch_unwind(AssertUnwindSafe(|| work(worker)));
        let cpu_s = thread_cpu().zip(before).map_or(0.0, |(now, then)| (now - then).as_secs_f64());
        let said = done.map_err(|payload| panic_message(&*payload).to_owned()).map(|reply| match reply {
            Reply::Detected(seen) => Reply::Detected(Detected { cpu_s, ..seen }),
            Reply::Done(answer) => Reply::Done(StepResult { cpu_s, ..answer }),
        });
        // Whoever no longer listens has ended the run.
        let _ = self.answers.send((self.number, said));
    }

    /// The next orders come soon, and being woken takes long: stays awake for a while.
    fn stay_awake(&mut self, context: &mut Context<Self>) {
        if self.alone && self.awake_until.replace(Instant::now() + WATCHFUL).is_none() {
            context.notify(StayAwake);
        }
    }
}

impl Actor for WorkerActor {
    type Context = Context<Self>;
}

impl Handler<StayAwake> for WorkerActor {
    type Result = ();

    fn handle(&mut self, _: StayAwake, context: &mut Context<Self>) {
        if self.awake_until.is_some_and(|until| Instant::now() < until) {
            // Others may need the core.
            thread::yield_now();
            context.notify(StayAwake);
        } else {
            self.awake_until = None;
        }
    }
}

impl Handler<Step> for WorkerActor {
    type Result = ();

    fn handle(&mut self, step: Step, context: &mut Context<Self>) {
        self.answer(move |worker| Reply::Done(step.orders.carry_out(worker.engine.as_mut())));
        self.stay_awake(context);
    }
}

impl Handler<Look> for WorkerActor {
    type Result = ();

    fn handle(&mut self, look: Look, context: &mut Context<Self>) {
        self.answer(move |worker| {
            Reply::Detected(Detected { meetings: worker.detector_worker.look(&look.task), cpu_s: 0.0 })
        });
        self.stay_awake(context);
    }
}

/// Workers as actors, spread over arbiters.
struct ActorPool {
    workers: Vec<Addr<WorkerActor>>,
    answers: Receiver<WorkerReply>,
    /// Dropped to end the actors.
    stop: Option<Sender<()>>,
    stage: Option<JoinHandle<()>>,
    tick: Tick,
}

impl ActorPool {
    fn start(workers: Vec<Worker>, cores: usize) -> Result<Self, RunError> {
        let (give_answers, answers) = channel::unbounded();
        let (give_workers, started) = channel::bounded(1);
        let (stop, stopped) = channel::bounded::<()>(0);
        let arbiters = cores.clamp(1, workers.len());
        let stage = thread::Builder::new()
            .name("overlap".to_owned())
            .spawn(move || stage(workers, arbiters, &give_answers, &give_workers, &stopped))
            .map_err(|error| RunError::NoThread(error.to_string()))?;
        let workers = started.recv().map_err(|_| RunError::Stalled("no worker could be started".into()))?;
        Ok(ActorPool { workers, answers, stop: Some(stop), stage: Some(stage), tick: 0 })
    }
}

impl ActorPool {
    /// One reply of every worker, in the order of workers.
    fn replies(&self) -> Result<Vec<Reply>, RunError> {
        let mut replies: Vec<Option<Reply>> = self.workers.iter().map(|_| None).collect();
        for _ in 0..replies.len() {
            let gone = |_| RunError::Stalled("a worker no longer answers".into());
            let (number, said) = self.answers.recv().map_err(gone)?;
            let failed = |text| RunError::Worker { worker: number as u32, tick: self.tick, text };
            replies[number] = Some(said.map_err(failed)?);
        }
        Ok(replies.into_iter().flatten().collect())
    }
}

/// Starts the actors, hands out their addresses, and stays until they are no longer needed.
fn stage(
    workers: Vec<Worker>,
    arbiters: usize,
    answers: &Sender<WorkerReply>,
    give: &Sender<Vec<Addr<WorkerActor>>>,
    stopped: &Receiver<()>,
) {
    System::new().block_on(async {
        let arbiters: Vec<Arbiter> = (0..arbiters).map(|_| Arbiter::new()).collect();
        for (number, arbiter) in arbiters.iter().enumerate() {
            arbiter.spawn_fn(move || pin_briefly(number));
        }
        let alone = arbiters.len() > 1 && arbiters.len() == workers.len();
        let workers = workers.into_iter().enumerate().map(|(number, worker)| {
            let answers = answers.clone();
            let worker = WorkerActor { number, worker, answers, alone, awake_until: None };
            WorkerActor::start_in_arbiter(&arbiters[number % arbiters.len()].handle(), |_| worker)
        });
        let _ = give.send(workers.collect());
        // Ends with an error when the other end is dropped, which is the sign to stop.
        let _ = stopped.recv();
        for arbiter in &arbiters {
            arbiter.stop();
        }
        for arbiter in arbiters {
            let _ = arbiter.join();
        }
    });
}

impl WorkerPool for ActorPool {
    type Error = RunError;

    fn look(&mut self, tasks: Vec<DetectTask>) -> Result<Vec<Detected>, RunError> {
        for (worker, task) in self.workers.iter().zip(tasks) {
            worker.do_send(Look { task });
        }
        let seen = |reply| if let Reply::Detected(seen) = reply { Some(seen) } else { None };
        Ok(self.replies()?.into_iter().filter_map(seen).collect())
    }

    fn step(&mut self, orders: Vec<StepTask>) -> Result<Vec<StepResult>, RunError> {
        for (worker, orders) in self.workers.iter().zip(orders) {
            worker.do_send(Step { orders });
        }
        let done = |reply| if let Reply::Done(answer) = reply { Some(answer) } else { None };
        Ok(self.replies()?.into_iter().filter_map(done).collect())
    }
}

impl Drop for ActorPool {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(stage) = self.stage.take() {
            let _ = stage.join();
        }
    }
}
