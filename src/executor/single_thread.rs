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
use crate::executor::adversarial_schedule::{Action, Adversary};
use crate::executor::report::tally;
use crate::executor::{Job, RunError, Tally};
use crate::gvt::FrameFeed;
use crate::physics::Flight;
use crate::protocol::{Entity, EntityId, Forward, Message, Now, Outbox, Place, Stats, Step, Track};
use crate::rigid::RigidModel;
use crate::runtime::inputs::queue::Letterbox;
use crate::runtime::inputs::{self, Entry};
use crate::runtime::shared::{Commons, is_birth};
use crate::runtime::stats::{Census, Meter, Rounds, Stocktaking};

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
pub struct Glimpse<'a> {
    /// Who has just stepped or handled a message.
    pub acted: EntityId,
    /// Everybody.
    pub entities: &'a [Entity<RigidModel>],
    /// What they share.
    pub commons: &'a Commons,
}

/// Runs a job to its last tick, or until `sink` breaks.
pub fn run(
    job: Job,
    order: Order,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, Census), RunError> {
    run_counted(job, order, &mut |_| {}, sink)
}

/// The same, shown to `watch` after everything that happens.
pub fn run_watched(
    job: Job,
    order: Order,
    watch: &mut dyn FnMut(&Glimpse),
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats), RunError> {
    let (tally, stats, _) = run_counted(job, order, watch, sink)?;
    Ok((tally, stats))
}

fn run_counted(
    job: Job,
    order: Order,
    watch: &mut dyn FnMut(&Glimpse),
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats, Census), RunError> {
    let (mut run, _opened) = inputs::open(job.inputs, |known| {
        let run = Run::new(job, order, known);
        (run.letterbox.clone(), run)
    })?;
    let mut feed = FrameFeed::new();
    let flow = run.carry_on(&mut feed, watch, sink);
    run.letterbox.close();
    feed.trouble()?;
    let mut stats = Stats::default();
    for entity in &mut run.entities {
        stats.add(&if flow.is_continue() { entity.finish(job.model) } else { *entity.stats() });
    }
    let ticks = if flow.is_continue() { job.model.world.time.last_tick } else { run.commons.counters.gvt() };
    let meters = std::iter::once(&run.meter);
    run.stock.look_now(&run.commons, std::iter::once(&run.meter));
    let census = Census::of(meters, &run.rounds, &run.stock, run.commons.limits.window, &[]);
    Ok((tally(&run.commons, &stats, ticks), stats, census))
}

struct Run {
    commons: Arc<Commons>,
    entities: Vec<Entity<RigidModel>>,
    letterbox: Arc<Letterbox>,
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
    adversary: Option<Adversary>,
    /// What each entity did in the step that it is to do again, if steps are done twice.
    rehearsals: Option<Vec<Option<Rehearsal>>>,
    meter: Meter,
    rounds: Rounds,
    stock: Stocktaking,
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
struct Rehearsal {
    first: Tick,
    last: Tick,
    track: Arc<Track<RigidModel>>,
    /// Somebody has told the entity something since: it may now do otherwise.
    is_disturbed: bool,
}

impl Run {
    fn new(job: Job, order: Order, known: &[Entry]) -> Self {
        let (commons, entities) = Commons::new(job.model, job.tuning, 1, known);
        let commons = Arc::new(commons);
        if job.inputs.is_some() {
            // Who watches the frames may act on what they show.
            commons.counters.set_ceiling(0);
        }
        Run {
            ready: entities.iter().map(Entity::id).collect(),
            is_ready: vec![true; entities.len()],
            letterbox: Arc::new(Letterbox::new(commons.clone())),
            takes_inputs: job.inputs.is_some(),
            commons,
            rehearsals: (order == Order::Twice).then(|| entities.iter().map(|_| None).collect()),
            entities,
            channels: BTreeMap::new(),
            mail: VecDeque::new(),
            waiting: BTreeMap::new(),
            out: Outbox::default(),
            adversary: match order {
                Order::Sensible | Order::Twice => None,
                Order::Adversarial(seed) => Some(Adversary::new(seed)),
            },
            meter: Meter::default(),
            rounds: Rounds::default(),
            stock: Stocktaking::new(),
        }
    }

    fn carry_on(
        &mut self,
        feed: &mut FrameFeed,
        watch: &mut dyn FnMut(&Glimpse),
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.emit(feed, Now::default(), sink)?;
        let mut patience = if self.takes_inputs { PATIENCE } else { 0 };
        loop {
            let what = self.next_action();
            if what.is_some() && self.takes_inputs {
                patience = PATIENCE;
            }
            let gvt_may_move = match what {
                Some(Action::Deliver { from, to, .. }) => self.deliver(from, to),
                Some(Action::Step(entity)) => self.step(entity),
                None if self.commons.counters.gvt() == self.commons.limits.last_tick => break,
                None => {
                    // Another thread may be letting in an input: it holds time back, or has put off a search.
                    assert!(patience > 0, "nothing is left to do, and yet nobody is done: {}", self.dump());
                    patience -= 1;
                    std::thread::yield_now();
                    true
                }
            };
            let mut news = gvt_may_move.then(|| self.commons.counters.advance()).flatten();
            while let Some(now) = news {
                news = self.emit(feed, now, sink)?;
            }
            if let Some(Action::Deliver { to: acted, .. } | Action::Step(acted)) = what {
                watch(&Glimpse { acted, entities: &self.entities, commons: &self.commons });
            }
        }
        ControlFlow::Continue(())
    }

    /// Hands out the frames that are settled, and wakes who waited for that. If that lets more be settled, how
    /// far.
    fn emit(
        &mut self,
        feed: &mut FrameFeed,
        now: Now,
        sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<Now>> {
        feed.emit(&self.commons, now.gvt, sink)?;
        self.count_round(now);
        self.wake(now.floor);
        let counters = &self.commons.counters;
        counters.set_ceiling(self.ceiling(feed));
        ControlFlow::Continue(counters.advance())
    }

    /// What happens next; nothing if everything has happened.
    fn next_action(&mut self) -> Option<Action> {
        self.take_letters();
        let Some(adversary) = &mut self.adversary else {
            // Messages in the order they were sent; what they are does not matter here.
            let mail = self.mail.pop_front().map(|(from, to)| Action::Deliver { from, to, is_answer: false });
            return mail.or_else(|| self.ready.pop_front().map(Action::Step));
        };
        let deliver = self.channels.iter().map(|(&(from, to), mail)| {
            let is_answer = matches!(mail.front(), Some(Mail::Letter(Message::Answer { .. })));
            Action::Deliver { from, to, is_answer }
        });
        let chosen = adversary.choose(deliver.chain(self.ready.iter().copied().map(Action::Step)))?;
        if let Action::Step(id) = chosen {
            self.ready.retain(|ready| *ready != id);
        }
        Some(chosen)
    }

    /// Takes in what has been given from outside. Bodies that are to come get their entities at once.
    fn take_letters(&mut self) {
        for (held, entry) in self.letterbox.empty() {
            if !is_birth(&entry) {
                let birth = self.commons.birth(entry.action.body);
                self.post(OUTSIDE, birth, Mail::Act { held, entry });
                continue;
            }
            let newborn = self.commons.newborn(held, &entry);
            self.is_ready.push(true);
            self.ready.push_back(newborn.id());
            self.entities.push(newborn);
            if let Some(rehearsals) = &mut self.rehearsals {
                rehearsals.push(None);
            }
        }
    }

    fn post(&mut self, from: EntityId, to: EntityId, mail: Mail) {
        self.channels.entry((from, to)).or_default().push_back(mail);
        if self.adversary.is_none() {
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
        let is_news = !matches!(mail, Mail::Letter(Message::Answer { refused: false, .. }));
        if let Some(rehearsals) = self.rehearsals.as_mut().filter(|_| is_news)
            && let Some(rehearsal) = &mut rehearsals[to.0 as usize]
        {
            rehearsal.is_disturbed = true;
        }
        self.make_ready(to);
        match mail {
            Mail::Letter(message) => {
                self.meter.heard(&message);
                let entity = &mut self.entities[to.0 as usize];
                let segments = entity.segments();
                entity.handle(from, message, &mut self.out);
                self.meter.kept(segments, entity.segments());
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
        self.meter.kept(segments, entity.segments());
        match forward {
            Some(Forward { to: next, .. }) => {
                self.post(to, next, Mail::Act { held, entry });
                false
            }
            None => {
                let gvt_may_move = self.carry_out(to);
                // Only now, when what it did is counted, may global virtual time move on.
                self.commons.counters.leave(held) | gvt_may_move
            }
        }
    }

    /// Lets an entity do what it may.
    fn step(&mut self, id: EntityId) -> bool {
        self.is_ready[id.0 as usize] = false;
        let Commons { model, throttle, counters, table, circle, epochs, .. } = &*self.commons;
        let entity = &mut self.entities[id.0 as usize];
        let (now, segments) = (counters.now(), entity.segments());
        entity.settle(now.gvt);
        if let Some(circle) = circle {
            let handovers = entity.stats().handovers;
            entity.regroup(circle, &throttle.limits(), now, &mut self.out);
            let has_changed = entity.stats().handovers > handovers;
            if let Some(rehearsals) = self.rehearsals.as_mut().filter(|_| has_changed) {
                // With another crew it does not do the same again.
                rehearsals[id.0 as usize] = None;
            }
        }
        let (mut limits, handovers) = (throttle.limits(), entity.stats().handovers);
        let homes = epochs.as_ref().map(|epochs| &epochs.homes);
        let moved = homes.and_then(|homes| entity.move_house(homes, &mut limits, now, &mut self.out));
        if let Some(rehearsals) = self.rehearsals.as_mut().filter(|_| entity.stats().handovers > handovers) {
            rehearsals[id.0 as usize] = None;
        }
        match moved.unwrap_or_else(|| entity.step(model, &limits, now, &mut self.out)) {
            Step::Write(plan) => {
                let (plan, written) = table.write(model, plan, now.gvt);
                let (ticks, track) = ((plan.first, written.last), written.track.clone());
                entity.written(plan, written, &mut self.out);
                self.meter.stepped(entity.lvt().saturating_sub(now.floor), entity);
                self.do_twice(id, ticks, track);
                self.make_ready(id);
            }
            Step::WaitFor(tick) => self.waiting.entry(tick).or_default().push(id),
            Step::Owes => {}
            Step::Done => {
                if let Some(circle) = circle {
                    entity.make_size_known(circle);
                }
            }
        }
        self.meter.kept(segments, self.entities[id.0 as usize].segments());
        self.carry_out(id)
    }

    /// Takes back a step that was done for the first time; compares one that was done again.
    fn do_twice(&mut self, id: EntityId, (first, last): (Tick, Tick), track: Arc<Track<RigidModel>>) {
        let Some(rehearsals) = &mut self.rehearsals else { return };
        let rehearsal = &mut rehearsals[id.0 as usize];
        match rehearsal.take_if(|known| known.first == first) {
            Some(known) if known.is_disturbed => {}
            Some(known) => {
                let bits = |crew: &[(Place, Flight)]| -> Vec<(Place, Tick, [u64; 13])> {
                    let of = |(body, flight): &(Place, Flight)| {
                        (*body, flight.since, flight.origin.to_array().map(f64::to_bits))
                    };
                    crew.iter().map(of).collect()
                };
                let is_one_flight = known.track.is_one_flight() && track.is_one_flight();
                let to = if is_one_flight { first } else { known.last.min(last) };
                for tick in first..=to {
                    let (before, now) = (known.track.crew_at(tick), track.crew_at(tick));
                    assert_eq!(bits(before), bits(now), "{id} did not repeat its step to tick {tick}");
                }
            }
            None => {
                // Who begins, or begins anew, writes the tick at global virtual time itself: that is kept.
                let keep = first.saturating_sub(1).max(self.commons.counters.gvt());
                let entity = &mut self.entities[id.0 as usize];
                if entity.lvt() > keep {
                    *rehearsal = Some(Rehearsal { first: keep + 1, last, track, is_disturbed: false });
                    entity.take_back(keep, &mut self.out);
                }
            }
        }
    }

    /// Does what a handler of `id` wanted done.
    fn carry_out(&mut self, id: EntityId) -> bool {
        let gvt_may_move = self.commons.apply(&mut self.out);
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
    fn count_round(&mut self, now: Now) {
        let Commons { counters, limits, .. } = &*self.commons;
        self.rounds.note(counters, limits.window, now.floor, std::iter::once(&self.meter));
        self.commons.throttle.look(std::iter::once(&self.meter));
        self.stock.look(&self.commons, std::iter::once(&self.meter));
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
    fn ceiling(&self, feed: &FrameFeed) -> Tick {
        let last_tick = self.commons.limits.last_tick;
        self.commons.ceiling(if self.takes_inputs { feed.next().min(last_tick) } else { last_tick })
    }

    /// Where everybody stands, for the message of an impossible end.
    fn dump(&self) -> String {
        let behind = self.entities.iter().filter(|entity| entity.lvt() < self.commons.limits.last_tick);
        behind.take(8).map(|e| format!("{} at tick {} owes {}; ", e.id(), e.lvt(), e.owes())).collect()
    }
}
