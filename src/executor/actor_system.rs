//! The actors of a Time Warp run: starts arbiters, entities and buckets, connects them, waits for the end of the run, and
//! collects their reports.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use crossbeam::channel;
use rayon::ThreadPoolBuilder;

use crate::base::parallel::{PARALLEL_BODIES_MIN, set_pool};
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::entity::{Deliver, DeliverInput, EntityActor, Poll, ReportNow, TableReply, WakeUp};
use crate::executor::arbiters::{self, actors_per_arbiter};
use crate::protocol::{Entity, EntityId, Message as ProtocolMessage, Plan, TableRequest, WriteResult};
use crate::rigid::{RigidModel, clear_pool_workspaces};
use crate::runtime::affinity::pin_briefly;
use crate::runtime::error::RunError;
use crate::runtime::inputs::QueuedInput;
use crate::runtime::network::{EntityReport, Network, Transport};
use crate::runtime::stats::thread_cpu;
use crate::tvht::{BucketActor, Lane, Unlock};

/// Addresses of all actors. Entities may be added while the run goes on.
struct Addresses {
    /// In the order of their ids.
    entities: Arc<boxcar::Vec<Addr<EntityActor>>>,
    /// Empty if the table is in shared memory.
    buckets: Box<[Addr<BucketActor>]>,
    arbiters: Vec<ArbiterHandle>,
}

impl Addresses {
    fn entity(&self, id: EntityId) -> &Addr<EntityActor> {
        &self.entities[id.0 as usize]
    }

    /// Sends a message to every entity, from its own arbiter so that no thread wakes the entities of another.
    fn broadcast<M>(&self, message: impl Fn() -> M + Clone + Send + 'static)
    where
        M: Message<Result = ()> + Send + 'static,
        EntityActor: Handler<M>,
    {
        let count = self.entities.count();
        let share = actors_per_arbiter(count, self.arbiters.len());
        for (at, arbiter) in self.arbiters.iter().enumerate() {
            let range = (at * share).min(count)..((at + 1) * share).min(count);
            let addresses: Vec<Addr<EntityActor>> = range.map(|id| self.entities[id].clone()).collect();
            let message = message.clone();
            arbiter.spawn_fn(move || addresses.iter().for_each(|address| address.do_send(message())));
        }
    }
}

/// Delivers through actix. Mailboxes keep the order of messages between two actors.
struct ActixTransport(Arc<Addresses>);

impl Transport for ActixTransport {
    fn deliver(&self, from: EntityId, to: EntityId, message: ProtocolMessage<RigidModel>) {
        self.0.entity(to).do_send(Deliver { from, message });
    }

    fn deliver_input(&self, to: EntityId, pinned: Tick, entry: QueuedInput) {
        self.0.entity(to).do_send(DeliverInput { pinned, entry });
    }

    fn poll(&self, entity: EntityId) {
        self.0.entity(entity).do_send(Poll);
    }

    fn wake(&self, arbiter: usize, entities: Vec<EntityId>) {
        // One message to the arbiter, which then wakes its own.
        let addresses = self.0.entities.clone();
        self.0.arbiters[arbiter].spawn_fn(move || {
            entities.into_iter().for_each(|id| addresses[id.0 as usize].do_send(WakeUp));
        });
    }

    fn start(&self, entity: Entity<RigidModel>, network: Arc<Network>) {
        let id = entity.id();
        let arbiter = id.0 as usize % self.0.arbiters.len();
        let actor = move |_: &mut Context<EntityActor>| EntityActor::new(entity, network, arbiter);
        self.0.entities.push(EntityActor::start_in_arbiter(&self.0.arbiters[arbiter], actor));
        self.poll(id);
    }

    fn request(&self, bucket: u32, request: TableRequest<RigidModel>) {
        self.0.buckets[bucket as usize].do_send(request);
    }

    fn unlock(&self, bucket: u32) {
        self.0.buckets[bucket as usize].do_send(Unlock);
    }

    fn reply(&self, plan: Plan<RigidModel>, reply: WriteResult<RigidModel>) {
        self.0.entity(plan.version.entity).do_send(TableReply { plan, reply });
    }

    fn has_bucket_actors(&self) -> bool {
        !self.0.buckets.is_empty()
    }
}

/// Ends the run on every exit path, so that no thread waits for dead actors.
struct EndOnDrop(Arc<Network>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// What is left when the actors have stopped.
pub(super) struct ActorsReport {
    /// What all entities have done, and a description of some of them.
    pub report: EntityReport,
    /// Processor time of every arbiter, in seconds and as a share of wall time.
    pub busy: Vec<Option<(f64, f64)>>,
    /// Wall time between the first poll and the end.
    pub acted: Duration,
}

/// Puts something between the actors and what carries their messages: tests lose and delay some.
pub(super) type Between = Box<dyn FnOnce(&Arc<Network>, Box<dyn Transport>) -> Box<dyn Transport> + Send>;

/// The thread that owns the actor system: starts arbiters and actors, waits for the end, and collects reports.
pub(super) fn run_actors(
    network: &Arc<Network>,
    entities: Vec<Entity<RigidModel>>,
    cores: usize,
    lane: Lane,
    between: Between,
) -> Result<ActorsReport, RunError> {
    let _on_every_path = EndOnDrop(network.clone());
    arbiters::system()?.block_on(async {
        let arbiters = arbiters::start(cores)?;
        let buckets = match lane {
            Lane::Shared => Box::default(),
            Lane::Actors => start_buckets(network, &arbiters).await,
        };
        let addresses = Arc::new(Addresses {
            entities: Arc::new(start_entities(network, entities, &arbiters).await),
            buckets,
            arbiters: arbiters.iter().map(Arbiter::handle).collect(),
        });
        network.connect(between(network, Box::new(ActixTransport(addresses.clone()))));
        if cores > 1 && network.shared.model.world.bodies.at_start().len() >= PARALLEL_BODIES_MIN {
            let pool = ThreadPoolBuilder::new()
                .num_threads(cores)
                .thread_name(|number| format!("helper-{number}"))
                .start_handler(pin_briefly);
            let pool = match pool.build() {
                Ok(pool) => Arc::new(pool),
                Err(error) => {
                    arbiters::stop(arbiters);
                    return Err(RunError::no_thread(error));
                }
            };
            for arbiter in &arbiters {
                let pool = pool.clone();
                arbiter.spawn_fn(move || set_pool(pool));
            }
        }
        let before = (processor_times(&arbiters).await, Instant::now());
        network.sending_from_outside(addresses.entities.count());
        addresses.broadcast(|| Poll);
        network.start();
        while !network.is_ending() {
            actix::clock::sleep(Duration::from_millis(1)).await;
        }
        let acted = before.1.elapsed();
        let busy = busy_shares(&before.0, &processor_times(&arbiters).await, acted);
        let report = reports(network, &addresses).await;
        arbiters::stop(arbiters);
        clear_pool_workspaces();
        Ok(ActorsReport { report, busy, acted })
    })
}

/// Asks every entity for a report, each on its own arbiter, and waits for all of them: a handler that still runs comes to
/// its end first.
async fn reports(network: &Arc<Network>, addresses: &Addresses) -> EntityReport {
    let finished = network.is_finished();
    let (unanswered, answered) = channel::bounded(0);
    addresses.broadcast(move || ReportNow { finished, _unanswered: unanswered.clone() });
    while answered.try_recv() != Err(channel::TryRecvError::Disconnected) {
        actix::clock::sleep(Duration::from_micros(200)).await;
    }
    let mut all = EntityReport::default();
    for slot in &network.slots {
        all.add(&lock(&slot.report));
    }
    all
}

/// Processor time of the thread of every arbiter so far; `None` where the operating system does not say.
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
    while missing > 0 {
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
    let share = |(before, after): (&Option<Duration>, &Option<Duration>)| {
        let spent = after.as_ref()?.saturating_sub(*before.as_ref()?).as_secs_f64();
        // Two clocks may disagree by a little.
        Some((spent, (spent / wall.as_secs_f64().max(1e-9)).min(1.0)))
    };
    before.iter().zip(after).map(share).collect()
}

/// Starts every entity on its arbiter, neighbours together. Returns addresses in the order of ids.
async fn start_entities(
    network: &Arc<Network>,
    entities: Vec<Entity<RigidModel>>,
    arbiters: &[Arbiter],
) -> boxcar::Vec<Addr<EntityActor>> {
    let mut entities: Vec<_> = entities.into_iter().enumerate().collect();
    let shared = network.clone();
    let actor = move |entity, arbiter| EntityActor::new(entity, shared.clone(), arbiter);
    // Entities of islands are spread by themselves: most of them will have nothing to do.
    let of_islands = entities.split_off((network.shared.first_island as usize).min(entities.len()));
    let addresses = boxcar::Vec::new();
    for entities in [entities, of_islands] {
        for address in start_all(entities, arbiters, actor.clone()).await {
            addresses.push(address);
        }
    }
    addresses
}

/// Starts the buckets as actors.
async fn start_buckets(network: &Arc<Network>, arbiters: &[Arbiter]) -> Box<[Addr<BucketActor>]> {
    let numbers: Vec<_> =
        (0..network.shared.grid.buckets()).map(|number| (number as usize, number)).collect();
    let shared = network.clone();
    let actor = move |number, arbiter| BucketActor::new(number, shared.clone(), arbiter);
    start_all(numbers, arbiters, actor).await
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
    let share = actors_per_arbiter(count, arbiters.len());
    let (give, take) = channel::unbounded();
    let mut parts = parts.into_iter();
    for (at, arbiter) in arbiters.iter().enumerate() {
        let part: Vec<_> = parts.by_ref().take(share).collect();
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
