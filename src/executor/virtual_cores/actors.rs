//! Entities on virtual cores: the actors of a Time Warp run, with their network, and a transport that delivers in virtual
//! time instead of actix.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use crossbeam::channel;

use super::agenda::Agenda;
use super::{Machine, SharedMachine};
use crate::base::frame::Frame;
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::entity::EntityActor;
use crate::executor::arbiters::actors_per_arbiter;
use crate::executor::report::tally;
use crate::executor::{Job, Tally};
use crate::gvt::GvtAggregator;
use crate::protocol::{Entity, EntityId, Message, Plan, Stats, TableRequest, WriteResult};
use crate::rigid::RigidModel;
use crate::runtime::error::RunError;
use crate::runtime::inputs::QueuedInput;
use crate::runtime::network::{Failure, Network, Notice, Transport};
use crate::runtime::shared::Shared;
use crate::runtime::stats::{MemorySampler, RunStats};
use crate::runtime::trace::Tracer;
use crate::tvht::{BucketActor, Lane};

/// A message to an actor.
enum Letter {
    Poll(EntityId),
    WakeUp(EntityId),
    Message { from: EntityId, to: EntityId, message: Message<RigidModel> },
    Request { bucket: u32, request: TableRequest<RigidModel> },
    Unlock(u32),
    Reply { plan: Plan<RigidModel>, reply: WriteResult<RigidModel> },
}

/// What a handler has sent, in order, until the handler has ended.
#[derive(Clone, Default)]
struct Outbox {
    letters: Arc<Mutex<Vec<Letter>>>,
    has_buckets: bool,
}

impl Outbox {
    fn add(&self, letter: Letter) {
        lock(&self.letters).push(letter);
    }
}

impl Transport for Outbox {
    fn deliver(&self, from: EntityId, to: EntityId, message: Message<RigidModel>) {
        self.add(Letter::Message { from, to, message });
    }

    fn deliver_input(&self, _: EntityId, _: Tick, _: QueuedInput) {
        unreachable!("invariant: virtual runs take no inputs");
    }

    fn poll(&self, entity: EntityId) {
        self.add(Letter::Poll(entity));
    }

    fn wake(&self, _: usize, entities: Vec<EntityId>) {
        entities.into_iter().for_each(|entity| self.add(Letter::WakeUp(entity)));
    }

    fn start(&self, _: Entity<RigidModel>, _: Arc<Network>) {
        unreachable!("invariant: virtual runs take no inputs");
    }

    fn request(&self, bucket: u32, request: TableRequest<RigidModel>) {
        self.add(Letter::Request { bucket, request });
    }

    fn unlock(&self, bucket: u32) {
        self.add(Letter::Unlock(bucket));
    }

    fn reply(&self, plan: Plan<RigidModel>, reply: WriteResult<RigidModel>) {
        self.add(Letter::Reply { plan, reply });
    }

    fn has_bucket_actors(&self) -> bool {
        self.has_buckets
    }
}

enum Happening {
    /// Messages reach a core.
    Arrives(usize, Vec<Letter>),
    /// A core ends a handler, which has sent these.
    Ends(usize, Vec<Letter>),
    /// The thread of the frames looks.
    Frames,
    /// It has done so, and what it woke hears of it.
    Looked(Vec<Letter>),
}

#[derive(Default)]
struct Core {
    mailbox: VecDeque<Letter>,
    is_busy: bool,
}

struct Run<'a> {
    machine: &'a mut Machine,
    network: &'a Network,
    outbox: Outbox,
    entities: Vec<EntityActor>,
    buckets: Vec<BucketActor>,
    agenda: Agenda<Happening>,
    cores: Vec<Core>,
    /// The thread of the frames is to look, or is looking.
    is_looking: bool,
    has_notice: bool,
}

/// Runs a job to its last tick, until `sink` breaks, or until a stop is requested.
pub(crate) fn run(
    job: Job,
    machine: &SharedMachine,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, RunStats), RunError> {
    let machine = &mut *machine.borrow_mut();
    let cores = machine.cores;
    let (notices, noticed) = channel::unbounded();
    let (shared, entities) = Shared::new(job.model, job.tuning, &[]);
    let tracer = Arc::new(Tracer::new(1));
    let bodies = &job.model.world.bodies;
    tracer.begin(cores, bodies.at_start().iter().map(|body| body.id));
    let unfinished = entities.len() as u32;
    let network = Arc::new(Network::new(shared, cores, unfinished, notices, Some(tracer.clone())));
    let has_buckets = job.tuning.lane == Lane::Actors;
    let outbox = Outbox { has_buckets, ..Outbox::default() };
    network.connect(Box::new(outbox.clone()));
    let core_of = |at: usize, count: usize| (at / actors_per_arbiter(count, cores)).min(cores - 1);
    let count = entities.len();
    let entities = entities.into_iter().enumerate();
    let entities = entities.map(|(at, entity)| EntityActor::new(entity, network.clone(), core_of(at, count)));
    let buckets = if has_buckets { network.shared.grid.buckets() } else { 0 };
    let bucket = |at| BucketActor::new(at, network.clone(), core_of(at as usize, buckets as usize));
    let mut run = Run {
        network: &network,
        outbox,
        entities: entities.collect(),
        buckets: (0..buckets).map(bucket).collect(),
        agenda: Agenda::new(),
        cores: (0..cores).map(|_| Core::default()).collect(),
        is_looking: false,
        has_notice: true,
        machine,
    };
    network.sending_from_outside(count);
    run.machine.serial();
    run.machine.started = run.machine.now;
    for at in 0..count {
        run.cores[core_of(at, count)].mailbox.push_back(Letter::Poll(EntityId(at as u32)));
    }
    network.start();
    let mut aggregator = GvtAggregator::new();
    let mut sampler = MemorySampler::new();
    let flow = run.carry_on(&mut aggregator, job, &noticed, &mut sampler, sink)?;
    match network.failure() {
        Some(Failure::Panic { body, tick, text }) => return Err(RunError::Panicked { body, tick, text }),
        Some(Failure::Crowded { tick, crowd }) => return Err(RunError::Crowded { tick, crowd }),
        None => aggregator.failure()?,
    }
    let finished = network.is_finished();
    run.entities.iter_mut().for_each(|entity| entity.report(finished));
    let mut stats = Stats::default();
    network.slots.iter().for_each(|slot| stats.add(&lock(&slot.report).stats));
    let shared = &network.shared;
    let ticks = if flow.is_continue() { shared.limits.last_tick } else { shared.gvt.gvt() };
    let counters = network.slots.iter().map(|slot| &slot.counters);
    sampler.sample_now(shared, counters.clone());
    let run_stats = RunStats::of(counters, &network.gvt_stats, &sampler, shared.limits.window, &[]);
    let totals = tracer.totals();
    run.machine.phases = totals.into_iter().take(cores).collect();
    Ok((tally(shared, &stats, ticks), stats, run_stats))
}

impl Run<'_> {
    fn carry_on(
        &mut self,
        aggregator: &mut GvtAggregator,
        job: Job,
        noticed: &channel::Receiver<Notice>,
        sampler: &mut MemorySampler,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RunError> {
        let begun = self.machine.now;
        self.look(begun);
        (0..self.cores.len()).for_each(|core| self.start(begun, core));
        let mut is_over = false;
        while let Some((at, happening)) = self.agenda.next() {
            self.machine.now = self.machine.now.max(at);
            if job.stop.is_requested() {
                return Ok(ControlFlow::Break(()));
            }
            match happening {
                Happening::Arrives(core, letters) => {
                    self.cores[core].mailbox.extend(letters);
                    if !self.cores[core].is_busy {
                        // A single core never sleeps: it waits for no other.
                        let wake = if self.cores.len() > 1 { self.machine.prices.wake } else { 0 };
                        self.start(at + wake, core);
                    }
                }
                Happening::Ends(core, letters) => {
                    self.cores[core].is_busy = false;
                    self.post(at, Some(core), letters);
                    self.start(at, core);
                }
                Happening::Frames => {
                    self.has_notice = false;
                    self.machine.clock.restart();
                    if aggregator.look(self.network, sink).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    sampler
                        .sample(&self.network.shared, self.network.slots.iter().map(|slot| &slot.counters));
                    let nanos = self.machine.clock.lap();
                    self.machine.frames += nanos;
                    let letters = std::mem::take(&mut *lock(&self.outbox.letters));
                    self.agenda.enter(at + nanos, Happening::Looked(letters));
                }
                Happening::Looked(letters) => {
                    self.is_looking = false;
                    self.post(at, None, letters);
                }
            }
            for notice in noticed.try_iter() {
                self.has_notice = true;
                is_over |= matches!(notice, Notice::Over);
            }
            if is_over {
                // Handlers that run come to their end.
                let ends = std::mem::replace(&mut self.agenda, Agenda::new());
                self.machine.now = self.machine.now.max(ends.last_of(|it| matches!(it, Happening::Ends(..))));
                self.machine.clock.restart();
                let flow = aggregator.drain(&self.network.shared, sink);
                self.machine.serial();
                return Ok(flow);
            }
            if self.has_notice {
                self.look(at);
            }
        }
        let behind = lock(&self.network.slots[0].report).behind.clone();
        let last_tick = self.network.shared.limits.last_tick;
        Err(RunError::stalled(last_tick, behind.iter().map(|(_, text)| text.as_str())))
    }

    /// The thread of the frames looks, if it does not do so already.
    fn look(&mut self, at: u64) {
        if !self.is_looking {
            self.is_looking = true;
            self.agenda.enter(at, Happening::Frames);
        }
    }

    /// Sends on what a handler has sent: at once on its own core, for the price of a message to another.
    fn post(&mut self, at: u64, from: Option<usize>, letters: Vec<Letter>) {
        let mut to_others: Vec<(usize, Vec<Letter>)> = Vec::new();
        for letter in letters {
            let core = self.core_of(&letter);
            match to_others.last_mut() {
                _ if from == Some(core) => self.cores[core].mailbox.push_back(letter),
                Some((last, letters)) if *last == core => letters.push(letter),
                _ => to_others.push((core, vec![letter])),
            }
        }
        for (core, letters) in to_others {
            self.agenda.enter(at + self.machine.prices.message, Happening::Arrives(core, letters));
        }
    }

    fn core_of(&self, letter: &Letter) -> usize {
        let (at, count) = match letter {
            Letter::Poll(id) | Letter::WakeUp(id) | Letter::Message { to: id, .. } => {
                (id.0, self.entities.len())
            }
            Letter::Reply { plan, .. } => (plan.version.entity.0, self.entities.len()),
            Letter::Request { bucket, .. } | Letter::Unlock(bucket) => (*bucket, self.buckets.len()),
        };
        (at as usize / actors_per_arbiter(count, self.cores.len())).min(self.cores.len() - 1)
    }

    /// Really runs the next handler of a core. What it sends leaves when it ends.
    fn start(&mut self, at: u64, core: usize) {
        let Some(letter) = self.cores[core].mailbox.pop_front() else { return };
        self.cores[core].is_busy = true;
        self.machine.clock.restart();
        match letter {
            Letter::Poll(id) => self.entities[id.0 as usize].on_poll(),
            Letter::WakeUp(id) => self.entities[id.0 as usize].on_wake_up(),
            Letter::Message { from, to, message } => self.entities[to.0 as usize].on_message(from, message),
            Letter::Request { bucket, request } => self.buckets[bucket as usize].on_request(request),
            Letter::Unlock(bucket) => self.buckets[bucket as usize].on_unlock(),
            Letter::Reply { plan, reply } => {
                self.entities[plan.version.entity.0 as usize].on_table_reply(plan, reply);
            }
        }
        let nanos = self.machine.clock.lap() + self.machine.prices.dispatch;
        self.machine.busy += nanos;
        self.machine.handlers += 1;
        let letters = std::mem::take(&mut *lock(&self.outbox.letters));
        self.agenda.enter(at + nanos, Happening::Ends(core, letters));
    }
}
