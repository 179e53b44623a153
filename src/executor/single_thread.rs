//! The protocol driven by one thread without actors: in a sensible order, or in a seeded adversarial one.
//!
//! The sensible order is the honest lower bound of what speculation costs. The adversarial one delays, starves
//! and interleaves as it likes, keeping only the order of messages between each two entities, and must commit
//! the same frames.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::base::frame::Frame;
use crate::base::time::Tick;
use crate::executor::adversarial_schedule::{AdversarialSchedule, Choice};
use crate::executor::report::tally;
use crate::executor::{Job, RunError, Tally};
use crate::gvt::GvtAggregator;
use crate::physics::Flight;
use crate::protocol::{
    BodyIndex, Entity, EntityId, Forward, Message, Outbox, Stats, Step, Track, VirtualTimes,
};
use crate::rigid::RigidModel;
use crate::runtime::inputs::queue::InputQueue;
use crate::runtime::inputs::{self, Entry};
use crate::runtime::shared::{Shared, is_spawn};
use crate::runtime::stats::{CoreCounters, GvtStats, MemorySampler, RunStats};

/// Who acts from outside, in the place of a sender.
const OUTSIDE: EntityId = EntityId(u32::MAX);

/// How often to look again when nothing is left to do and somebody outside may be about to act.
const PATIENCE: u32 = 1_000_000;

/// The order in which things happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Messages first, then entities in turn.
    Sensible,
    /// Anything that may happen, chosen by a random number generator with this seed.
    Adversarial(u64),
    /// As the sensible order, but every step is taken back and done again, and must come out the same.
    Twice,
}

/// What can be seen from outside after each thing that has happened.
pub struct StepView<'a> {
    /// Who has just stepped or handled a message.
    pub acted: EntityId,
    /// Everybody.
    pub entities: &'a [Entity<RigidModel>],
    /// What they share.
    pub shared: &'a Shared,
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
    let flow = run.carry_on(&mut aggregator, watch, sink);
    run.input_queue.close();
    aggregator.failure()?;
    let mut stats = Stats::default();
    for entity in &mut run.entities {
        stats.add(&if flow.is_continue() { entity.finish(job.model) } else { *entity.stats() });
    }
    let ticks =
        if flow.is_continue() { job.model.world.time.last_tick } else { run.shared.lvt_histogram.gvt() };
    let core_counters = std::iter::once(&run.core_counters);
    run.memory_sampler.look_now(&run.shared, std::iter::once(&run.core_counters));
    let run_stats =
        RunStats::of(core_counters, &run.rounds, &run.memory_sampler, run.shared.limits.window, &[]);
    Ok((tally(&run.shared, &stats, ticks), stats, run_stats))
}

struct Run {
    shared: Arc<Shared>,
    entities: Vec<Entity<RigidModel>>,
    input_queue: Arc<InputQueue>,
    takes_inputs: bool,
    /// What is on its way between each two entities, in order.
    channels: BTreeMap<(EntityId, EntityId), VecDeque<Mail>>,
    /// The same in the order they were sent, for the sensible order.
    mail: VecDeque<(EntityId, EntityId)>,
    /// Entities that may be able to step.
    ready: VecDeque<EntityId>,
    is_ready: Vec<bool>,
    /// Entities that wait for global virtual time to reach a tick.
    waiting: BTreeMap<Tick, Vec<EntityId>>,
    out: Outbox<RigidModel>,
    schedule: Option<AdversarialSchedule>,
    /// What each entity did in the step that it is to do again, if steps are done twice.
    redo_checks: Option<Vec<Option<RedoCheck>>>,
    core_counters: CoreCounters,
    rounds: GvtStats,
    memory_sampler: MemorySampler,
}

/// Something on its way to an entity.
enum Mail {
    Letter(Message<RigidModel>),
    /// Somebody outside acts, and holds global virtual time at a tick until that has arrived.
    Act {
        held: Tick,
        entry: Entry,
    },
}

/// A step that has been taken back, to be compared with its repetition.
struct RedoCheck {
    first: Tick,
    last: Tick,
    track: Arc<Track<RigidModel>>,
    /// Somebody has told the entity something since: it may now do otherwise.
    is_disturbed: bool,
}

impl Run {
    fn new(job: Job, order: Order, known: &[Entry]) -> Self {
        let (shared, entities) = Shared::new(job.model, job.tuning, 1, known);
        let shared = Arc::new(shared);
        if job.inputs.is_some() {
            // Who watches the frames may act on what they show.
            shared.lvt_histogram.set_ceiling(0);
        }
        Run {
            ready: entities.iter().map(Entity::id).collect(),
            is_ready: vec![true; entities.len()],
            input_queue: Arc::new(InputQueue::new(shared.clone())),
            takes_inputs: job.inputs.is_some(),
            shared,
            redo_checks: (order == Order::Twice).then(|| entities.iter().map(|_| None).collect()),
            entities,
            channels: BTreeMap::new(),
            mail: VecDeque::new(),
            waiting: BTreeMap::new(),
            out: Outbox::default(),
            schedule: match order {
                Order::Sensible | Order::Twice => None,
                Order::Adversarial(seed) => Some(AdversarialSchedule::new(seed)),
            },
            core_counters: CoreCounters::default(),
            rounds: GvtStats::default(),
            memory_sampler: MemorySampler::new(),
        }
    }

    fn carry_on(
        &mut self,
        aggregator: &mut GvtAggregator,
        watch: &mut dyn FnMut(&StepView),
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.emit(aggregator, VirtualTimes::default(), sink)?;
        let mut patience = if self.takes_inputs { PATIENCE } else { 0 };
        loop {
            let what = self.next_action();
            if what.is_some() && self.takes_inputs {
                patience = PATIENCE;
            }
            let gvt_may_move = match what {
                Some(Choice::Deliver { from, to, .. }) => self.deliver(from, to),
                Some(Choice::Step(entity)) => self.step(entity),
                None if self.shared.lvt_histogram.gvt() == self.shared.limits.last_tick => break,
                None => {
                    // Another thread may be letting in an input: it holds time back, or has put off a search.
                    assert!(patience > 0, "nothing is left to do, and yet nobody is done: {}", self.dump());
                    patience -= 1;
                    std::thread::yield_now();
                    true
                }
            };
            let mut news = gvt_may_move.then(|| self.shared.lvt_histogram.advance()).flatten();
            while let Some(now) = news {
                news = self.emit(aggregator, now, sink)?;
            }
            if let Some(Choice::Deliver { to: acted, .. } | Choice::Step(acted)) = what {
                watch(&StepView { acted, entities: &self.entities, shared: &self.shared });
            }
        }
        ControlFlow::Continue(())
    }

    /// Hands out the frames that are settled, and wakes who waited for that. If that lets more be settled, how
    /// far.
    fn emit(
        &mut self,
        aggregator: &mut GvtAggregator,
        now: VirtualTimes,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<VirtualTimes>> {
        aggregator.emit(&self.shared, now.gvt, sink)?;
        self.count_round(now);
        self.wake(now.lvt_min);
        let lvt_histogram = &self.shared.lvt_histogram;
        lvt_histogram.set_ceiling(self.ceiling(aggregator));
        ControlFlow::Continue(lvt_histogram.advance())
    }

    /// What happens next; nothing if everything has happened.
    fn next_action(&mut self) -> Option<Choice> {
        self.take_letters();
        let Some(schedule) = &mut self.schedule else {
            // Messages in the order they were sent; what they are does not matter here.
            let mail = self.mail.pop_front().map(|(from, to)| Choice::Deliver { from, to, is_answer: false });
            return mail.or_else(|| self.ready.pop_front().map(Choice::Step));
        };
        let deliver = self.channels.iter().map(|(&(from, to), mail)| {
            let is_answer = matches!(mail.front(), Some(Mail::Letter(Message::Ack { .. })));
            Choice::Deliver { from, to, is_answer }
        });
        let chosen = schedule.choose(deliver.chain(self.ready.iter().copied().map(Choice::Step)))?;
        if let Choice::Step(id) = chosen {
            self.ready.retain(|ready| *ready != id);
        }
        Some(chosen)
    }

    /// Takes in what has been given from outside. Bodies that are to come get their entities at once.
    fn take_letters(&mut self) {
        for (held, entry) in self.input_queue.empty() {
            if !is_spawn(&entry) {
                let home_entity = self.shared.home_entity(entry.action.body);
                self.post(OUTSIDE, home_entity, Mail::Act { held, entry });
                continue;
            }
            let spawned = self.shared.spawned(held, &entry);
            self.is_ready.push(true);
            self.ready.push_back(spawned.id());
            self.entities.push(spawned);
            if let Some(redo_checks) = &mut self.redo_checks {
                redo_checks.push(None);
            }
        }
    }

    fn post(&mut self, from: EntityId, to: EntityId, mail: Mail) {
        self.channels.entry((from, to)).or_default().push_back(mail);
        if self.schedule.is_none() {
            self.mail.push_back((from, to));
        }
    }

    /// Hands over the oldest message of a channel.
    fn deliver(&mut self, from: EntityId, to: EntityId) -> bool {
        let channel = self.channels.get_mut(&(from, to)).expect("invariant: the channel has mail");
        let mail = channel.pop_front().expect("invariant: the channel has mail");
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        let is_news = !matches!(mail, Mail::Letter(Message::Ack { rejected: false, .. }));
        if let Some(redo_checks) = self.redo_checks.as_mut().filter(|_| is_news)
            && let Some(redo) = &mut redo_checks[to.0 as usize]
        {
            redo.is_disturbed = true;
        }
        self.make_ready(to);
        match mail {
            Mail::Letter(message) => {
                self.core_counters.heard(&message);
                let entity = &mut self.entities[to.0 as usize];
                let segments = entity.segments();
                entity.handle(from, message, &mut self.out);
                self.core_counters.kept(segments, entity.segments());
                self.carry_out(to)
            }
            Mail::Act { held, entry } => self.act(to, held, entry),
        }
    }

    /// Lets somebody outside act on an entity's body, or sends him on to where it is now.
    fn act(&mut self, to: EntityId, held: Tick, entry: Entry) -> bool {
        let entity = &mut self.entities[to.0 as usize];
        let segments = entity.segments();
        let forward = entity.act(entry.tick, entry.number, entry.action, &mut self.out);
        self.core_counters.kept(segments, entity.segments());
        match forward {
            Some(Forward { to: next, .. }) => {
                self.post(to, next, Mail::Act { held, entry });
                false
            }
            None => {
                let gvt_may_move = self.carry_out(to);
                // Only now, when what it did is counted, may global virtual time move on.
                self.shared.lvt_histogram.remove(held) | gvt_may_move
            }
        }
    }

    /// Lets an entity do what it may.
    fn step(&mut self, id: EntityId) -> bool {
        self.is_ready[id.0 as usize] = false;
        let Shared { model, throttle, lvt_histogram, table, directory, epochs, .. } = &*self.shared;
        let entity = &mut self.entities[id.0 as usize];
        let (now, segments) = (lvt_histogram.times(), entity.segments());
        entity.fossil_collect(now.gvt);
        if let Some(directory) = directory {
            let migrations = entity.stats().migrations;
            entity.recluster(directory, &throttle.limits(), now, &mut self.out);
            let has_changed = entity.stats().migrations > migrations;
            if let Some(redo_checks) = self.redo_checks.as_mut().filter(|_| has_changed) {
                // With another cluster it does not do the same again.
                redo_checks[id.0 as usize] = None;
            }
        }
        let (mut limits, migrations) = (throttle.limits(), entity.stats().migrations);
        let membership = epochs.as_ref().map(|epochs| &epochs.membership);
        let moved = membership
            .and_then(|membership| entity.apply_membership(membership, &mut limits, now, &mut self.out));
        if let Some(redo_checks) =
            self.redo_checks.as_mut().filter(|_| entity.stats().migrations > migrations)
        {
            redo_checks[id.0 as usize] = None;
        }
        match moved.unwrap_or_else(|| entity.step(model, &limits, now, &mut self.out)) {
            Step::Write(plan) => {
                let (plan, written) = table.write(model, plan, now.gvt);
                let (ticks, track) = ((plan.first, written.last), written.track.clone());
                entity.written(plan, written, &mut self.out);
                self.core_counters.stepped(entity.lvt().saturating_sub(now.lvt_min), entity);
                self.do_twice(id, ticks, track);
                self.make_ready(id);
            }
            Step::AwaitLvtMin(tick) => self.waiting.entry(tick).or_default().push(id),
            Step::AwaitAcks => {}
            Step::Done => {
                if let Some(directory) = directory {
                    entity.publish_size(directory);
                }
            }
        }
        self.core_counters.kept(segments, self.entities[id.0 as usize].segments());
        self.carry_out(id)
    }

    /// Takes back a step that was done for the first time; compares one that was done again.
    fn do_twice(&mut self, id: EntityId, (first, last): (Tick, Tick), track: Arc<Track<RigidModel>>) {
        let Some(redo_checks) = &mut self.redo_checks else { return };
        let redo = &mut redo_checks[id.0 as usize];
        match redo.take_if(|known| known.first == first) {
            Some(known) if known.is_disturbed => {}
            Some(known) => {
                let bits = |cluster: &[(BodyIndex, Flight)]| -> Vec<(BodyIndex, Tick, [u64; 13])> {
                    let of = |(body, flight): &(BodyIndex, Flight)| {
                        (*body, flight.since, flight.origin.to_array().map(f64::to_bits))
                    };
                    cluster.iter().map(of).collect()
                };
                let is_one_flight = known.track.is_one_flight() && track.is_one_flight();
                let to = if is_one_flight { first } else { known.last.min(last) };
                for tick in first..=to {
                    let (before, now) = (known.track.cluster_at(tick), track.cluster_at(tick));
                    assert_eq!(bits(before), bits(now), "{id} did not repeat its step to tick {tick}");
                }
            }
            None => {
                // Who begins, or begins anew, writes the tick at global virtual time itself: that is kept.
                let keep = first.saturating_sub(1).max(self.shared.lvt_histogram.gvt());
                let entity = &mut self.entities[id.0 as usize];
                if entity.lvt() > keep {
                    *redo = Some(RedoCheck { first: keep + 1, last, track, is_disturbed: false });
                    entity.force_rollback(keep, &mut self.out);
                }
            }
        }
    }

    /// Does what a handler of `id` wanted done.
    fn carry_out(&mut self, id: EntityId) -> bool {
        let gvt_may_move = self.shared.apply(&mut self.out);
        for (to, message) in std::mem::take(&mut self.out.messages) {
            self.post(id, to, Mail::Letter(message));
        }
        gvt_may_move
    }

    fn make_ready(&mut self, id: EntityId) {
        if !std::mem::replace(&mut self.is_ready[id.0 as usize], true) {
            self.ready.push_back(id);
        }
    }

    /// Global virtual time has risen.
    fn count_round(&mut self, now: VirtualTimes) {
        let Shared { lvt_histogram, limits, .. } = &*self.shared;
        self.rounds.note(lvt_histogram, limits.window, now.lvt_min, std::iter::once(&self.core_counters));
        self.shared.throttle.look(std::iter::once(&self.core_counters));
        self.memory_sampler.look(&self.shared, std::iter::once(&self.core_counters));
    }

    fn wake(&mut self, gvt: Tick) {
        while let Some(waiting) = self.waiting.first_entry().filter(|waiting| *waiting.key() <= gvt) {
            let woken = waiting.remove();
            self.rounds.woke(woken.len());
            for id in woken {
                self.make_ready(id);
            }
        }
    }

    /// How far global virtual time may go: to the next frame if somebody may act on what it shows.
    fn ceiling(&self, aggregator: &GvtAggregator) -> Tick {
        let last_tick = self.shared.limits.last_tick;
        self.shared.ceiling(if self.takes_inputs { aggregator.next().min(last_tick) } else { last_tick })
    }

    /// Where everybody stands, for the message of an impossible end.
    fn dump(&self) -> String {
        let behind = self.entities.iter().filter(|entity| entity.lvt() < self.shared.limits.last_tick);
        behind
            .take(8)
            .map(|e| format!("{} at tick {} pending_ack_count {}; ", e.id(), e.lvt(), e.pending_ack_count()))
            .collect()
    }
}
