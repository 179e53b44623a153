//! Workers as actors: each advances its bodies when it is told to, all of them at once.
//!
//! The calling thread is the bridge between them; what it decides depends on states only, so the result depends on the
//! number of workers and never on the number of cores.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use actix::prelude::*;
use crossbeam::channel::{self, Receiver, Sender};

use super::census::thread_cpu;
use super::{RunError, Tally};
use crate::frame::Frame;
use crate::overlap::orders::{Answer, Orders};
use crate::overlap::{Engine, OverlapSettings, OverlapSummary, Violation};
use crate::overlap_bridge::{Bridge, Crew, TickReport};
use crate::panics::words_of;
use crate::physics::World;
use crate::time::Tick;

/// What is told about a tick as soon as it is over.
pub type OnTick<'a> = &'a mut dyn FnMut(Tick, &Bridge, &TickReport);

/// Runs the world to its last tick, or until `sink` breaks.
pub fn run(
    world: &Arc<World>,
    settings: OverlapSettings,
    cores: usize,
    on_tick: OnTick,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, OverlapSummary), RunError> {
    let mut bridge = Bridge::new(world.clone(), settings)?;
    let mut crew = ActorCrew::start(bridge.engines(), cores)?;
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

fn check_finite(world: &World, bridge: &Bridge, tick: Tick) -> Result<(), RunError> {
    match bridge.states().iter().position(|state| !state.is_finite()) {
        Some(place) => Err(RunError::not_finite(world.bodies[place].id, tick)),
        None => Ok(()),
    }
}

fn frame(world: &World, bridge: &Bridge, tick: Tick) -> Frame {
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
    orders: Orders,
}

/// An answer, or what a panic said.
type Told = (usize, Result<Answer, String>);

/// A worker: an engine and whom to answer.
struct WorkerActor {
    number: usize,
    engine: Box<dyn Engine>,
    answers: Sender<Told>,
}

impl Actor for WorkerActor {
    type Context = Context<Self>;
}

impl Handler<Step> for WorkerActor {
    type Result = ();

    fn handle(&mut self, step: Step, _: &mut Context<Self>) {
        let before = thread_cpu();
        let engine = self.engine.as_mut();
        let done = catch_unwind(AssertUnwindSafe(|| step.orders.carry_out(engine)));
        let spent = thread_cpu().zip(before).map_or(0.0, |(now, then)| (now - then).as_secs_f64());
        let told = done
            .map(|answer| Answer { cpu_s: spent, ..answer })
            .map_err(|payload| words_of(&*payload).to_owned());
        // Whoever no longer listens has ended the run.
        let _ = self.answers.send((self.number, told));
    }
}

/// Workers as actors, spread over arbiters.
struct ActorCrew {
    workers: Vec<Addr<WorkerActor>>,
    answers: Receiver<Told>,
    /// Dropped to end the actors.
    stop: Option<Sender<()>>,
    stage: Option<JoinHandle<()>>,
    tick: Tick,
}

impl ActorCrew {
    fn start(engines: Vec<Box<dyn Engine>>, cores: usize) -> Result<Self, RunError> {
        let (give_answers, answers) = channel::unbounded();
        let (give_workers, workers) = channel::bounded(1);
        let (stop, stopped) = channel::bounded::<()>(0);
        let arbiters = cores.clamp(1, engines.len());
        let stage = thread::Builder::new()
            .name("overlap".to_owned())
            .spawn(move || stage(engines, arbiters, &give_answers, &give_workers, &stopped))
            .map_err(|error| RunError::NoThread(error.to_string()))?;
        let workers = workers.recv().map_err(|_| RunError::Stalled("no worker could be started".into()))?;
        Ok(ActorCrew { workers, answers, stop: Some(stop), stage: Some(stage), tick: 0 })
    }
}

/// Starts the actors, hands out their addresses, and stays until they are no longer needed.
fn stage(
    engines: Vec<Box<dyn Engine>>,
    arbiters: usize,
    answers: &Sender<Told>,
    give: &Sender<Vec<Addr<WorkerActor>>>,
    stopped: &Receiver<()>,
) {
    System::new().block_on(async {
        let arbiters: Vec<Arbiter> = (0..arbiters).map(|_| Arbiter::new()).collect();
        let workers = engines.into_iter().enumerate().map(|(number, engine)| {
            let worker = WorkerActor { number, engine, answers: answers.clone() };
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

impl Crew for ActorCrew {
    type Error = RunError;

    fn step(&mut self, orders: Vec<Orders>) -> Result<Vec<Answer>, RunError> {
        let mut taken: Vec<Option<Answer>> = vec![None; orders.len()];
        for (worker, orders) in self.workers.iter().zip(orders) {
            worker.do_send(Step { orders });
        }
        for _ in 0..taken.len() {
            let gone = |_| RunError::Stalled("a worker no longer answers".into());
            let (number, told) = self.answers.recv().map_err(gone)?;
            let failed = |text| RunError::Worker { worker: number as u32, tick: self.tick, text };
            taken[number] = Some(told.map_err(failed)?);
        }
        Ok(taken.into_iter().flatten().collect())
    }
}

impl Drop for ActorCrew {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(stage) = self.stage.take() {
            let _ = stage.join();
        }
    }
}
