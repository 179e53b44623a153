//! The protocol driven by one thread without actors: in a sensible order, or in a seeded adversarial one.
//!
//! The sensible order is the honest lower bound of what speculation costs. The adversarial one delays, starves and
//! interleaves at will, keeping only the order of messages between each two entities, and must commit the same frames.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec::Drain;

use crate::base::frame::Frame;
use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::executor::adversarial_schedule::{AdversarialSchedule, Choice};
use crate::executor::report::tally;
use crate::executor::{Job, Tally};
use crate::gvt::GvtAggregator;
use crate::physics::Flight;
use crate::protocol::{
    BodyIndex, Driver, Entity, EntityId, Handled, Message, Next, Shell, StartedFlight, Stats, Track,
    VirtualTimes, codec,
};
use crate::rigid::RigidModel;
use crate::runtime::error::RunError;
use crate::runtime::inputs::queue::InputQueue;
use crate::runtime::inputs::{self, QueuedInput};
use crate::runtime::network::BEHIND_MAX;
use crate::runtime::shared::{Shared, is_spawn};
use crate::runtime::stats::{CoreCounters, GvtStats, MemorySampler, RunStats};

/// The sender of inputs.
const OUTSIDE: EntityId = EntityId(u32::MAX);

/// The order in which things happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Messages first, then entities in turn.
    Sensible,
    /// Anything that may happen, chosen by a random number generator with this seed.
    Adversarial(u64),
    /// As the sensible order, but every step is rolled back and done again, and must come out the same.
    Twice,
}

/// What can be seen from outside after each thing that has happened.
pub struct StepView<'a> {
    /// The entity that has just been polled or has handled a message.
    pub acted: EntityId,
    /// All entities, in the order of their ids.
    pub drivers: &'a [Driver<RigidModel>],
    /// What they share.
    pub shared: &'a Shared,
}

impl StepView<'_> {
    /// All entities, in the order of their ids.
    pub fn entities(&self) -> impl Iterator<Item = &Entity<RigidModel>> {
        self.drivers.iter().map(Driver::entity)
    }
}

/// Runs a job to its last tick, or until `sink` breaks.
pub fn run(
    job: Job,
    order: Order,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, RunStats), RunError> {
    run_counted(job, order, &mut |_| {}, sink)
}

/// The same, shown to `watch` after everything that happens.
pub fn run_watched(
    job: Job,
    order: Order,
    watch: &mut dyn FnMut(&StepView),
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats), RunError> {
    let (tally, stats, _) = run_counted(job, order, watch, sink)?;
    Ok((tally, stats))
}

fn run_counted(
    job: Job,
    order: Order,
    watch: &mut dyn FnMut(&StepView),
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, RunStats), RunError> {
    let (mut run, _opened) = inputs::open(job.inputs, |known| {
        let run = Run::new(job, order, known);
        (run.input_queue.clone(), run)
    })?;
    let mut aggregator = GvtAggregator::new();
    let flow = run.carry_on(&mut aggregator, job.stop, watch, sink);
    run.input_queue.close();
    aggregator.failure()?;
    let mut stats = Stats::default();
    for driver in &mut run.drivers {
        stats.add(&if flow.is_continue() { driver.finish(job.model) } else { *driver.entity().stats() });
    }
    let ticks = if flow.is_continue() { job.model.world.time.last_tick } else { run.links.shared.gvt.gvt() };
    let shared = &run.links.shared;
    run.memory_sampler.sample_now(shared, std::iter::once(&run.counters));
    let counters = std::iter::once(&run.counters);
    let run_stats = RunStats::of(counters, &run.gvt_stats, &run.memory_sampler, shared.limits.window, &[]);
    Ok((tally(shared, &stats, ticks), stats, run_stats))
}

/// What is on its way between entities, and what the effects of all of them act on.
struct Links {
    shared: Arc<Shared>,
    /// What is on its way between each two entities, in order.
    channels: BTreeMap<(EntityId, EntityId), VecDeque<Delivery>>,
    /// The same in the order of sending, unless the schedule is adversarial.
    in_order: Option<VecDeque<(EntityId, EntityId)>>,
    gvt_may_rise: bool,
}

impl Links {
    fn send(&mut self, from: EntityId, to: EntityId, delivery: Delivery) {
        self.channels.entry((from, to)).or_default().push_back(delivery);
        if let Some(in_order) = &mut self.in_order {
            in_order.push_back((from, to));
        }
    }

    fn receive(&mut self, from: EntityId, to: EntityId) -> Delivery {
        let channel = self.channels.get_mut(&(from, to)).expect("invariant: the channel is not empty");
        let delivery = channel.pop_front().expect("invariant: the channel is not empty");
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        match delivery {
            Delivery::Bytes { bytes, .. } => {
                let decoded = codec::decode(&self.shared.model, &bytes);
                Delivery::Message(decoded.expect("invariant: what was encoded can be decoded"))
            }
            other => other,
        }
    }
}

/// Performs the effects of one entity.
struct LinksShell<'a> {
    id: EntityId,
    links: &'a mut Links,
}

impl Shell<RigidModel> for LinksShell<'_> {
    fn retract_flights(&mut self, flights: Drain<'_, (BodyIndex, Tick)>) {
        flights.for_each(|(body, after)| self.links.shared.log.retract(body, after));
    }

    fn start_flights(&mut self, flights: Drain<'_, StartedFlight<RigidModel>>) {
        self.links.shared.log.start(flights);
    }

    fn move_lvt(&mut self, from: Option<Tick>, to: Option<Tick>) {
        self.links.gvt_may_rise |= self.links.shared.gvt.shift(from, to);
    }

    fn send(&mut self, to: EntityId, message: Message<RigidModel>) {
        // An adversarial schedule also checks that every message survives the wire.
        let delivery = match self.links.in_order {
            Some(_) => Delivery::Message(message),
            None => {
                let is_ack = matches!(message, Message::Ack { .. });
                Delivery::Bytes { bytes: codec::encode(&self.links.shared.model, &message), is_ack }
            }
        };
        self.links.send(self.id, to, delivery);
    }

    fn unpin(&mut self, pinned: Tick) {
        self.links.gvt_may_rise |= self.links.shared.gvt.remove(pinned);
    }
}

/// Something on its way to an entity.
enum Delivery {
    Message(Message<RigidModel>),
    /// A message as it would travel between processes. Whether it is an acknowledgement is known without decoding.
    Bytes {
        bytes: Vec<u8>,
        is_ack: bool,
    },
    /// An input, which pins GVT until it has taken effect.
    Input {
        pinned: Tick,
        entry: QueuedInput,
    },
}

/// A step that has been rolled back, to be compared with its repetition.
struct RedoCheck {
    first: Tick,
    track: Arc<Track<RigidModel>>,
    /// The entity has received something since: it may now do otherwise.
    is_disturbed: bool,
}

struct Run {
    links: Links,
    drivers: Vec<Driver<RigidModel>>,
    input_queue: Arc<InputQueue>,
    takes_inputs: bool,
    /// Entities that are to be polled.
    ready: VecDeque<EntityId>,
    is_ready: Vec<bool>,
    /// Entities that wait for the lowest LVT to reach a tick.
    waiting: BTreeMap<Tick, Vec<EntityId>>,
    schedule: Option<AdversarialSchedule>,
    /// What each entity did in the step that it is to do again, if steps are done twice.
    redo_checks: Option<Vec<Option<RedoCheck>>>,
    counters: CoreCounters,
    gvt_stats: GvtStats,
    memory_sampler: MemorySampler,
}

impl Run {
    fn new(job: Job, order: Order, known: &[QueuedInput]) -> Self {
        let (shared, entities) = Shared::new(job.model, job.tuning, known);
        let shared = Arc::new(shared);
        if job.inputs.is_some() {
            // A caller that watches the frames may act on what they show.
            shared.gvt.set_ceiling(0);
        }
        let schedule = match order {
            Order::Sensible | Order::Twice => None,
            Order::Adversarial(seed) => Some(AdversarialSchedule::new(seed)),
        };
        Run {
            ready: entities.iter().map(Entity::id).collect(),
            is_ready: vec![true; entities.len()],
            input_queue: Arc::new(InputQueue::new(shared.clone())),
            takes_inputs: job.inputs.is_some(),
            links: Links {
                shared,
                channels: BTreeMap::new(),
                in_order: schedule.is_none().then(VecDeque::new),
                gvt_may_rise: false,
            },
            redo_checks: (order == Order::Twice).then(|| entities.iter().map(|_| None).collect()),
            drivers: entities.into_iter().map(Driver::new).collect(),
            waiting: BTreeMap::new(),
            schedule,
            counters: CoreCounters::default(),
            gvt_stats: GvtStats::default(),
            memory_sampler: MemorySampler::new(),
        }
    }

    fn carry_on(
        &mut self,
        aggregator: &mut GvtAggregator,
        stop: &Stop,
        watch: &mut dyn FnMut(&StepView),
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.emit(aggregator, VirtualTimes::default(), sink)?;
        let mut was_quiet = false;
        loop {
            if stop.is_requested() {
                return ControlFlow::Break(());
            }
            let choice = self.next_choice();
            let mut is_quiet = false;
            match choice {
                Some(Choice::Deliver { from, to, .. }) => self.deliver(from, to),
                Some(Choice::Step(entity)) => self.poll(entity),
                None if self.links.shared.gvt.gvt() == self.links.shared.limits.last_tick => break,
                None => {
                    // Another thread may be giving an input: it pins GVT, or has put off a scan.
                    is_quiet = !self.input_queue.is_expecting();
                    if is_quiet && was_quiet {
                        return aggregator.fail(self.stalled());
                    }
                    std::thread::yield_now();
                    self.links.gvt_may_rise = true;
                }
            }
            if let Some((tick, crowd)) = self.links.shared.model.crowds.failure() {
                return aggregator.fail(RunError::Crowded { tick, crowd });
            }
            let may_rise = std::mem::take(&mut self.links.gvt_may_rise);
            let mut risen = may_rise.then(|| self.links.shared.gvt.advance()).flatten();
            while let Some(times) = risen {
                is_quiet = false;
                risen = self.emit(aggregator, times, sink)?;
            }
            was_quiet = is_quiet;
            if let Some(Choice::Deliver { to: acted, .. } | Choice::Step(acted)) = choice {
                watch(&StepView { acted, drivers: &self.drivers, shared: &self.links.shared });
            }
        }
        ControlFlow::Continue(())
    }

    /// Commits frames, and wakes the entities that waited. If that lets GVT rise again, the new times.
    fn emit(
        &mut self,
        aggregator: &mut GvtAggregator,
        times: VirtualTimes,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<VirtualTimes>> {
        aggregator.emit(&self.links.shared, times.gvt, sink)?;
        self.count_round(times);
        self.wake(times.lvt_min);
        let gvt = &self.links.shared.gvt;
        gvt.set_ceiling(self.ceiling(aggregator));
        ControlFlow::Continue(gvt.advance())
    }

    /// What happens next; `None` if everything has happened.
    fn next_choice(&mut self) -> Option<Choice> {
        self.take_inputs();
        let Some(schedule) = &mut self.schedule else {
            // Messages in the order they were sent; what they are does not matter here.
            let first = self.links.in_order.as_mut().and_then(VecDeque::pop_front);
            let deliver = first.map(|(from, to)| Choice::Deliver { from, to, is_ack: false });
            return deliver.or_else(|| self.ready.pop_front().map(Choice::Step));
        };
        let deliver = self.links.channels.iter().map(|(&(from, to), channel)| {
            let is_ack = matches!(channel.front(), Some(Delivery::Bytes { is_ack: true, .. }));
            Choice::Deliver { from, to, is_ack }
        });
        let chosen = schedule.choose(deliver.chain(self.ready.iter().copied().map(Choice::Step)))?;
        if let Choice::Step(id) = chosen {
            self.ready.retain(|ready| *ready != id);
        }
        Some(chosen)
    }

    /// Takes inputs that were given. Bodies that are spawned get their entities at once.
    fn take_inputs(&mut self) {
        for (pinned, entry) in self.input_queue.take_all() {
            let shared = &self.links.shared;
            if !is_spawn(&entry) {
                let home = shared.home_entity(entry.input.body);
                self.links.send(OUTSIDE, home, Delivery::Input { pinned, entry });
                continue;
            }
            let spawned = shared.spawned(pinned, &entry);
            self.is_ready.push(true);
            self.ready.push_back(spawned.id());
            self.drivers.push(Driver::new(spawned));
            if let Some(redo_checks) = &mut self.redo_checks {
                redo_checks.push(None);
            }
        }
    }

    /// Hands the oldest delivery of a channel to its entity.
    fn deliver(&mut self, from: EntityId, to: EntityId) {
        let delivery = self.links.receive(from, to);
        let changes_nothing = matches!(delivery, Delivery::Message(Message::Ack { rejected: false, .. }));
        if let Some(redo) = self.redo_checks.as_mut().and_then(|checks| checks[to.0 as usize].as_mut()) {
            redo.is_disturbed |= !changes_nothing;
        }
        let driver = &mut self.drivers[to.0 as usize];
        let segments = driver.entity().segments();
        match delivery {
            Delivery::Message(message) => {
                self.counters.message_arrived(&message);
                let handled = driver.on_message(from, message);
                let next = self.perform(to, handled);
                self.follow(to, next);
            }
            Delivery::Bytes { .. } => unreachable!("invariant: bytes are decoded when they are received"),
            Delivery::Input { pinned, entry } => {
                let handled = driver.on_input(entry.tick, entry.number, entry.input, Some(pinned));
                let next = self.perform(to, handled);
                self.follow(to, next);
            }
        }
        self.counters.segments_changed(segments, self.drivers[to.0 as usize].entity().segments());
    }

    /// Polls an entity.
    fn poll(&mut self, id: EntityId) {
        let at = id.0 as usize;
        self.is_ready[at] = false;
        let shared = self.links.shared.clone();
        let context = shared.context();
        let driver = &mut self.drivers[at];
        let (segments, migrations) = (driver.entity().segments(), driver.entity().stats().migrations);
        let handled = driver.poll(&shared.model, &context);
        if driver.entity().stats().migrations > migrations
            && let Some(redo_checks) = &mut self.redo_checks
        {
            // With other bodies it does not do the same again.
            redo_checks[at] = None;
        }
        match self.perform(id, handled) {
            Next::Write(plan) => {
                let (plan, reply) = shared.table.write(&shared.model, plan, context.times.gvt);
                let (first, track) = (plan.first, reply.track.clone());
                let handled = self.drivers[at].on_table_reply(plan, reply);
                let next = self.perform(id, handled);
                let entity = self.drivers[at].entity();
                self.counters.stepped(entity.lvt().saturating_sub(context.times.lvt_min), entity);
                self.follow(id, next);
                self.do_twice(id, first, track);
            }
            next => self.follow(id, next),
        }
        self.counters.segments_changed(segments, self.drivers[at].entity().segments());
    }

    /// Rolls back a step that was done for the first time; compares one that was done again.
    fn do_twice(&mut self, id: EntityId, first: Tick, track: Arc<Track<RigidModel>>) {
        let Some(redo_checks) = &mut self.redo_checks else { return };
        let redo = &mut redo_checks[id.0 as usize];
        match redo.take_if(|known| known.first == first) {
            Some(known) if known.is_disturbed => {}
            Some(known) => {
                let (before, now) = (bits(&known.track.cluster), bits(&track.cluster));
                assert_eq!(before, now, "{id} did not repeat its step from tick {first}");
            }
            None => {
                // An entity that begins, or begins anew, writes the tick at GVT itself: that is kept.
                let keep = first.saturating_sub(1).max(self.links.shared.gvt.gvt());
                let driver = &mut self.drivers[id.0 as usize];
                if driver.entity().lvt() > keep {
                    *redo = Some(RedoCheck { first: keep + 1, track, is_disturbed: false });
                    let handled = driver.force_rollback(keep);
                    let next = self.perform(id, handled);
                    self.follow(id, next);
                }
            }
        }
    }

    fn perform(&mut self, id: EntityId, handled: Handled<RigidModel>) -> Next<RigidModel> {
        let mut shell = LinksShell { id, links: &mut self.links };
        self.drivers[id.0 as usize].perform(handled, &mut shell)
    }

    /// Does what comes next after a handler.
    fn follow(&mut self, id: EntityId, next: Next<RigidModel>) {
        match next {
            Next::AwaitLvtMin(tick) => self.waiting.entry(tick).or_default().push(id),
            Next::Poll => self.make_ready(id),
            Next::AwaitAcks | Next::Done => {}
            Next::Write(_) => unreachable!("invariant: handled where it can come"),
        }
    }

    fn make_ready(&mut self, id: EntityId) {
        if !std::mem::replace(&mut self.is_ready[id.0 as usize], true) {
            self.ready.push_back(id);
        }
    }

    /// GVT has risen.
    fn count_round(&mut self, times: VirtualTimes) {
        let shared = &self.links.shared;
        let counters = || std::iter::once(&self.counters);
        self.gvt_stats.note(&*shared.gvt, shared.limits.window, times.lvt_min, counters());
        shared.throttle.adjust(counters());
        self.memory_sampler.sample(shared, counters());
    }

    fn wake(&mut self, lvt_min: Tick) {
        while let Some(waiting) = self.waiting.first_entry().filter(|waiting| *waiting.key() <= lvt_min) {
            let woken = waiting.remove();
            self.gvt_stats.woke(woken.len());
            for id in woken {
                self.make_ready(id);
            }
        }
    }

    /// How far GVT may rise: to the next frame if the caller may act on what it shows.
    fn ceiling(&self, aggregator: &GvtAggregator) -> Tick {
        let last_tick = self.links.shared.limits.last_tick;
        self.links.shared.ceiling(if self.takes_inputs {
            aggregator.next().min(last_tick)
        } else {
            last_tick
        })
    }

    /// Nothing is left to do before the last tick.
    fn stalled(&self) -> RunError {
        let Shared { limits, model, .. } = &*self.links.shared;
        let waits_at = |id: EntityId| {
            let mut waiting = self.waiting.iter();
            waiting.find(|(_, entities)| entities.contains(&id)).map(|(tick, _)| *tick)
        };
        let entities = self.drivers.iter().map(Driver::entity).filter(|entity| !entity.is_done(limits));
        let mut behind: Vec<_> = entities.map(|entity| (entity.lvt(), entity)).collect();
        behind.sort_by_key(|(lvt, _)| *lvt);
        behind.truncate(BEHIND_MAX);
        let described: Vec<String> =
            behind.iter().map(|(_, entity)| entity.describe(model, waits_at(entity.id()))).collect();
        RunError::stalled(limits.last_tick, described.iter().map(String::as_str))
    }
}

/// Flights to be compared to the bit.
fn bits(flights: &[(BodyIndex, Flight)]) -> Vec<(BodyIndex, Tick, [u64; 13])> {
    let of = |(body, flight): &(BodyIndex, Flight)| {
        (*body, flight.since, flight.origin.to_array().map(f64::to_bits))
    };
    flights.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Tuning;
    use crate::physics::World;
    use crate::scene::{Body, Scene, Shape};

    #[test]
    fn a_run_with_nothing_left_to_do_says_what_waits() {
        let mut scene = Scene { seconds: 1.0, ..Scene::default() };
        let ball = Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3]);
        scene.bodies.push(Body { id: Some(7), ..ball });
        let model = RigidModel::new(Arc::new(World::new(&scene).expect("the scene is valid")));
        let stop = Stop::default();
        let job = Job { model: &model, tuning: &Tuning::default(), inputs: None, stop: &stop };
        let mut run = Run::new(job, Order::Sensible, &[]);
        run.ready.clear();
        let mut aggregator = GvtAggregator::new();
        let flow = run.carry_on(&mut aggregator, &stop, &mut |_| {}, &mut |_| ControlFlow::Continue(()));
        assert!(flow.is_break());
        let error = aggregator.failure().expect_err("it has stalled").to_string();
        let expected = "the run has stalled: no message is on its way, and tick 240 is not reached: body 7 \
                        (entity 0) at tick 0 waits for a poll";
        assert_eq!(error, expected);
    }
}
