//! The actor_system: arbiters and actors are started here, and asked for an report when the run is over.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use actix::prelude::*;
use crossbeam::channel;
use rayon::ThreadPoolBuilder;

use crate::base::parallel::{PARALLEL_BODIES_MIN, set_pool};
use crate::base::sync::lock;
use crate::entity::{EntityActor, EntityReport, ReportNow, StepNow};
use crate::executor::timewarp::{ArbiterSlot, Runtime, actors_per_arbiter};
use crate::protocol::Entity;
use crate::rigid::RigidModel;
use crate::rigid::clear_pool_workspaces;
use crate::runtime::affinity::pin_briefly;
use crate::runtime::stats::thread_cpu;
use crate::tvht::{BucketActor, Lane};

/// How long an actor may take to give report of itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends the run when the actor_system is left, by whatever door: nobody is to wait for actors that are gone.
struct EndOnDrop(Arc<Runtime>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// What is left when the actors have gone home.
pub(super) struct ActorsReport {
    /// What all entities have done, and where some of them stood.
    pub report: EntityReport,
    /// Processor time of every arbiter, in seconds and as a actors_per_arbiter of wall time.
    pub busy: Vec<Option<(f64, f64)>>,
    /// Wall time between the first step and the end.
    pub acted: Duration,
}

/// The thread that owns the actor system: starts arbiters and actors, waits for the end, and collects reports.
pub(super) fn actor_system(
    runtime: &Arc<Runtime>,
    entities: Vec<Entity<RigidModel>>,
    cores: usize,
    lane: Lane,
) -> ActorsReport {
    let _whatever_happens = EndOnDrop(runtime.clone());
    let system = System::new();
    system.block_on(async {
        let arbiters: Vec<Arbiter> = (0..cores).map(|_| Arbiter::new()).collect();
        for (number, arbiter) in arbiters.iter().enumerate() {
            arbiter.spawn_fn(move || pin_briefly(number));
        }
        let _ =
            runtime.slots.set(arbiters.iter().map(|arbiter| ArbiterSlot::new(arbiter.handle())).collect());
        if lane == Lane::Actors {
            start_buckets(runtime, &arbiters).await;
        }
        start_entities(runtime, entities, &arbiters).await;
        if cores > 1 && runtime.shared.model.world.bodies.at_start().len() >= PARALLEL_BODIES_MIN {
            let pool = ThreadPoolBuilder::new()
                .num_threads(cores)
                .thread_name(|number| format!("helper-{number}"))
                .start_handler(pin_briefly);
            // Without helpers it takes longer, and that is all.
            for (arbiter, pool) in arbiters.iter().zip(std::iter::repeat(pool.build().ok().map(Arc::new))) {
                arbiter.spawn_fn(move || pool.into_iter().for_each(set_pool));
            }
        }
        let before = (processor_times(&arbiters).await, Instant::now());
        set_going(runtime);
        while !runtime.is_ending() {
            actix::clock::sleep(Duration::from_millis(1)).await;
        }
        let acted = before.1.elapsed();
        let busy = busy_shares(&before.0, &processor_times(&arbiters).await, acted);
        let finished = lock(&runtime.failure).is_none() && runtime.unfinished.load(SeqCst) == 0;
        let (report, all_answer) = reports(runtime, finished).await;
        for arbiter in &arbiters {
            arbiter.stop();
        }
        for arbiter in arbiters.into_iter().filter(|_| all_answer) {
            let _ = arbiter.join();
        }
        clear_pool_workspaces();
        ActorsReport { report, busy, acted }
    })
}

/// Asks everybody for an report, each on its own arbiter. Says also whether all have answered.
async fn reports(runtime: &Arc<Runtime>, finished: bool) -> (EntityReport, bool) {
    let expected = runtime.tell_all(move || ReportNow { finished });
    let asked = Instant::now();
    loop {
        let mut all = EntityReport::default();
        for seat in runtime.slots() {
            all.add(&lock(&seat.report));
        }
        // A handler that does not return: neither does its arbiter. It is left behind.
        if all.entities >= expected || asked.elapsed() > PATIENCE {
            let all_answer = all.entities >= expected;
            return (all, all_answer);
        }
        actix::clock::sleep(Duration::from_micros(200)).await;
    }
}

/// Sets everybody going, now that all have an address.
fn set_going(runtime: &Arc<Runtime>) {
    runtime.tell_all(|| StepNow);
    runtime.started.store(true, SeqCst);
}

/// Processor time of the thread of every arbiter so far. An arbiter that does not answer has none.
async fn processor_times(arbiters: &[Arbiter]) -> Vec<Option<Duration>> {
    let (give, take) = channel::unbounded();
    for (at, arbiter) in arbiters.iter().enumerate() {
        let give = give.clone();
        arbiter.spawn_fn(move || {
            let _ = give.send((at, thread_cpu()));
        });
    }
    drop(give);
    let (mut times, mut missing) = (vec![None; arbiters.len()], arbiters.len());
    let asked = Instant::now();
    while missing > 0 && asked.elapsed() < PATIENCE {
        match take.try_recv() {
            Ok((at, time)) => {
                times[at] = time;
                missing -= 1;
            }
            Err(channel::TryRecvError::Empty) => actix::clock::sleep(Duration::from_micros(100)).await,
            Err(channel::TryRecvError::Disconnected) => break,
        }
    }
    times
}

fn busy_shares(
    before: &[Option<Duration>],
    after: &[Option<Duration>],
    wall: Duration,
) -> Vec<Option<(f64, f64)>> {
    let actors_per_arbiter = |(before, after): (&Option<Duration>, &Option<Duration>)| {
        let spent = after.as_ref()?.saturating_sub(*before.as_ref()?).as_secs_f64();
        // Two clocks may disagree by a little.
        Some((spent, (spent / wall.as_secs_f64().max(1e-9)).min(1.0)))
    };
    before.iter().zip(after).map(actors_per_arbiter).collect()
}

/// Starts every entity on its arbiter, neighbours together.
async fn start_entities(runtime: &Arc<Runtime>, entities: Vec<Entity<RigidModel>>, arbiters: &[Arbiter]) {
    let mut entities: Vec<_> = entities.into_iter().enumerate().collect();
    let shared = runtime.clone();
    let actor = move |entity, arbiter| EntityActor::new(entity, shared.clone(), arbiter);
    // Those for groups are shared out by themselves: most of them will have nothing to do.
    let of_groups = entities.split_off(runtime.shared.free.min(entities.len()));
    for entities in [entities, of_groups] {
        for address in start_all(entities, arbiters, actor.clone()).await {
            runtime.addresses.push(address);
        }
    }
}

/// Starts the buckets as actors.
async fn start_buckets(runtime: &Arc<Runtime>, arbiters: &[Arbiter]) {
    let numbers: Vec<_> =
        (0..runtime.shared.grid.buckets()).map(|number| (number as usize, number)).collect();
    let shared = runtime.clone();
    let actor = move |number, arbiter| BucketActor::new(number, shared.clone(), arbiter);
    let _ = runtime.buckets.set(start_all(numbers, arbiters, actor).await);
}

/// Starts actors in equal shares on the arbiters, and returns their addresses in order.
async fn start_all<T, A>(
    parts: Vec<(usize, T)>,
    arbiters: &[Arbiter],
    actor: impl Fn(T, usize) -> A + Clone + Send + 'static,
) -> Box<[Addr<A>]>
where
    T: Send + 'static,
    A: Actor<Context = Context<A>>,
{
    let count = parts.len();
    let actors_per_arbiter = actors_per_arbiter(count, arbiters.len());
    let (give, take) = channel::unbounded();
    let mut parts = parts.into_iter();
    for (at, arbiter) in arbiters.iter().enumerate() {
        let part: Vec<_> = parts.by_ref().take(actors_per_arbiter).collect();
        let (give, actor) = (give.clone(), actor.clone());
        arbiter.spawn_fn(move || {
            for (number, what) in part {
                let _ = give.send((number, actor(what, at).start()));
            }
        });
    }
    drop(give);
    let mut addresses: Vec<(usize, Addr<A>)> = Vec::with_capacity(count);
    while addresses.len() < count {
        match take.try_recv() {
            Ok(address) => addresses.push(address),
            Err(channel::TryRecvError::Empty) => actix::clock::sleep(Duration::from_micros(200)).await,
            Err(channel::TryRecvError::Disconnected) => break,
        }
    }
    addresses.sort_by_key(|(number, _)| *number);
    addresses.into_iter().map(|(_, address)| address).collect()
}
