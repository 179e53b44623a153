//! Carries the messages of entities in a toy world about, in an order that means no good, and checks everything
//! that is committed. The order of messages between each two entities is kept, nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anachron::internals::base::time::Tick;
use anachron::internals::executor::adversarial_schedule::{AdversarialSchedule, Choice};
use anachron::internals::protocol::{
    BodyIndex, Dynamics, Entity, EntityId, Forward, Grid, Limits, Message, Outbox, Stats, Step, VirtualTimes,
};
use anachron::internals::runtime::lvt_histogram::LvtHistogram;
use anachron::internals::tvht::SharedTable;
use anachron::verify::toy_model::{Reference, ToyInput, ToyInputKind, ToyModel, ToyPath, mix, speed};

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Way {
    pub window: u64,
    pub contact_window: u64,
    pub stride_min: u64,
    pub buckets: u32,
    pub cell_scale: f64,
    pub cluster: usize,
    /// Ticks kept unsettled.
    pub history: u64,
    /// Something is done from outside once in so many actions; never if zero.
    pub meddling: u64,
    /// Bodies are handed over once in so many actions; never if zero.
    pub restless: u64,
    /// Seed of the schedule.
    pub order: u64,
}

/// Who acts from outside, in the place of a sender.
const OUTSIDE: EntityId = EntityId(u32::MAX);

/// Something on its way.
enum Mail {
    Letter(Message<ToyModel>),
    ToyInput { held: Tick, tick: Tick, number: u64, act: ToyInput },
}

/// Runs a toy world and compares what it commits with the reference.
pub fn check(toy: &ToyModel, way: &Way) -> Result<Stats, String> {
    let mut reference = Reference::new(toy);
    let mut carrier = Carrier::new(toy, way);
    let mut actions = 0u64;
    carrier.compare(&reference)?;
    while let Some(action) = carrier.next_action() {
        let mut gvt = carrier.act(action)?;
        actions += 1;
        let chance = mix(&[way.order, actions]);
        // Who never stops meddling would never let it end.
        if way.meddling > 0 && actions < 800 && chance.is_multiple_of(way.meddling) {
            carrier.meddle(mix(&[chance, 1]));
        }
        if way.restless > 0 && actions < 800 && (chance >> 20).is_multiple_of(way.restless) {
            gvt = carrier.migrate(mix(&[chance, 2]))?;
        }
        while reference.tick < gvt {
            let acts = carrier.journal.get(&reference.tick).map_or(&[][..], Vec::as_slice);
            reference.advance(acts);
            carrier.compare(&reference)?;
        }
        if actions > 300_000 {
            return Err(format!("no end after {actions} actions, at {gvt}"));
        }
    }
    if carrier.lvt_histogram.gvt() != toy.last_tick {
        return Err(format!("nothing is left to do at {}", carrier.lvt_histogram.gvt()));
    }
    let mut stats = Stats::default();
    for entity in &mut carrier.entities {
        stats.add(&entity.finish(toy));
    }
    reference.advance(&[]);
    let (seen, expected) =
        ((stats.contact_ticks, stats.contacts), (reference.touches, reference.new_touches));
    if seen != expected {
        return Err(format!("touches and new touches {seen:?} instead of {expected:?}"));
    }
    Ok(stats)
}

struct Carrier<'a> {
    toy: &'a ToyModel,
    limits: Limits,
    table: SharedTable<ToyModel>,
    lvt_histogram: LvtHistogram,
    entities: Vec<Entity<ToyModel>>,
    /// The entity each body was born in.
    home_entities: Vec<EntityId>,
    channels: BTreeMap<(EntityId, EntityId), VecDeque<Mail>>,
    ready: BTreeSet<EntityId>,
    waiting: BTreeMap<Tick, Vec<EntityId>>,
    /// Courses of every body and when each begins; nothing from where it is no more.
    log: Vec<Vec<(Tick, Option<ToyPath>)>>,
    /// What has been done from outside.
    journal: BTreeMap<Tick, Vec<(u64, ToyInput)>>,
    schedule: AdversarialSchedule,
    out: Outbox<ToyModel>,
}

impl<'a> Carrier<'a> {
    fn new(toy: &'a ToyModel, way: &Way) -> Self {
        let start = toy.start();
        let radii: Vec<f64> = start.iter().map(|(body, _)| toy.radius(*body)).collect();
        let clusters: Vec<Vec<(BodyIndex, ToyPath)>> = start.chunks(way.cluster).map(<[_]>::to_vec).collect();
        let count = clusters.len() as u32;
        let last_tick = toy.last_tick;
        let Way { window, contact_window, stride_min, .. } = *way;
        let home_entities =
            clusters.iter().zip(0..).flat_map(|(cluster, id)| cluster.iter().map(move |_| EntityId(id)));
        Carrier {
            toy,
            limits: Limits {
                window,
                // Some choose by themselves.
                contact_window: (contact_window != 1).then_some(contact_window),
                stride_min,
                adaptive: window % 2 == 0,
                last_tick,
                alone_until: u64::MAX,
            },
            table: SharedTable::new(Grid::new(&radii, way.cell_scale, way.buckets)),
            lvt_histogram: LvtHistogram::new(count, window, way.history, last_tick),
            home_entities: home_entities.collect(),
            entities: (0..count)
                .zip(clusters)
                .map(|(id, cluster)| Entity::new(EntityId(id), cluster.into()))
                .collect(),
            channels: BTreeMap::new(),
            ready: (0..count).map(EntityId).collect(),
            waiting: BTreeMap::new(),
            log: start.iter().map(|(_, path)| vec![(0, Some(*path))]).collect(),
            journal: BTreeMap::new(),
            schedule: AdversarialSchedule::new(way.order),
            out: Outbox::default(),
        }
    }

    fn next_action(&mut self) -> Option<Choice> {
        let deliver = self.channels.iter().map(|(&(from, to), mail)| {
            let is_answer = matches!(mail.front(), Some(Mail::Letter(Message::Ack { .. })));
            Choice::Deliver { from, to, is_answer }
        });
        self.schedule.choose(deliver.chain(self.ready.iter().copied().map(Choice::Step)))
    }

    /// Lets it happen. Global virtual time after that, or the property that was violation.
    fn act(&mut self, action: Choice) -> Result<Tick, String> {
        match action {
            Choice::Deliver { from, to, .. } => self.deliver(from, to),
            Choice::Step(id) => {
                self.step(id);
                self.carry_out(id, None)
            }
        }
    }

    /// Does what a handler wanted done, and only then lets go of what is held.
    fn carry_out(&mut self, id: EntityId, held: Option<Tick>) -> Result<Tick, String> {
        let before = self.lvt_histogram.gvt();
        for (body, tick) in self.out.flights_retracted.drain(..) {
            self.log[body as usize].retain(|(from, _)| *from <= tick);
        }
        for (body, tick, path) in self.out.flights_started.drain(..) {
            self.log[body as usize].push((tick, path));
        }
        if let Some((from, to)) = self.out.counted.take() {
            if let Some(to) = to {
                self.lvt_histogram.add(to);
            }
            if let Some(from) = from {
                self.lvt_histogram.remove(from);
            }
        }
        for (to, message) in self.out.messages.drain(..) {
            self.channels.entry((id, to)).or_default().push_back(Mail::Letter(message));
        }
        if let Some(held) = held {
            self.lvt_histogram.remove(held);
        }
        let entity = &self.entities[id.0 as usize];
        if !entity.is_retired() && entity.lvt() < before {
            return Err(format!("{id} was cut back to {}, below {before}", entity.lvt()));
        }
        self.lvt_histogram.advance();
        let VirtualTimes { gvt, lvt_min } = self.lvt_histogram.times();
        let is_behind = |entity: &Entity<ToyModel>| !entity.is_retired() && entity.lvt() < gvt;
        if gvt < before || self.entities.iter().any(is_behind) {
            return Err(format!("global virtual time went from {before} to {gvt}, and not all are there"));
        }
        while let Some(waiting) = self.waiting.first_entry().filter(|waiting| *waiting.key() <= lvt_min) {
            self.ready.extend(waiting.remove());
        }
        Ok(gvt)
    }

    fn deliver(&mut self, from: EntityId, to: EntityId) -> Result<Tick, String> {
        let channel = self.channels.get_mut(&(from, to)).expect("the channel has mail");
        let mail = channel.pop_front().expect("the channel has mail");
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        self.ready.insert(to);
        let entity = &mut self.entities[to.0 as usize];
        match mail {
            Mail::Letter(message) => {
                entity.handle(from, message, &mut self.out);
                self.carry_out(to, None)
            }
            Mail::ToyInput { held, tick, number, act } => {
                match entity.act(tick, number, act, &mut self.out) {
                    Some(Forward { to: next, action: act }) => {
                        let mail = Mail::ToyInput { held, tick, number, act };
                        self.channels.entry((to, next)).or_default().push_back(mail);
                        Ok(self.lvt_histogram.gvt())
                    }
                    None => self.carry_out(to, Some(held)),
                }
            }
        }
    }

    fn step(&mut self, id: EntityId) {
        self.ready.remove(&id);
        let now = self.lvt_histogram.times();
        let entity = &mut self.entities[id.0 as usize];
        entity.fossil_collect(now.gvt);
        match entity.step(self.toy, &self.limits, now, &mut self.out) {
            Step::Write(plan) => {
                let (plan, written) = self.table.write(self.toy, plan, now.gvt);
                entity.written(plan, written, &mut self.out);
                self.ready.insert(id);
            }
            Step::AwaitLvtMin(tick) => self.waiting.entry(tick).or_default().push(id),
            Step::AwaitAcks | Step::Done => {}
        }
    }

    /// Somebody outside does something, at global virtual time or later.
    fn meddle(&mut self, chance: u64) {
        let tick = self.lvt_histogram.gvt() + (chance >> 8) % 12;
        let idle = self.channels.is_empty() && self.ready.is_empty();
        if tick >= self.toy.last_tick || idle {
            return;
        }
        let number = self.journal.values().map(|acts| acts.len() as u64).sum();
        let held = self.lvt_histogram.pin(tick).expect("the tick is not settled");
        let newcomer = self.log.len() as BodyIndex;
        let act = match chance % 5 {
            0 if newcomer < 24 => {
                let at = (chance >> 32) as i64 % self.toy.room.max(1);
                let path = ToyPath { since: tick, at, speed: speed(chance), number: chance };
                ToyInput { body: newcomer, deed: ToyInputKind::Spawn(path) }
            }
            1 => ToyInput { body: (chance >> 16) as BodyIndex % newcomer, deed: ToyInputKind::Despawn },
            _ => ToyInput { body: (chance >> 16) as BodyIndex % newcomer, deed: ToyInputKind::Mix(chance) },
        };
        self.journal.entry(tick).or_default().push((number, act));
        if let ToyInputKind::Spawn(_) = act.deed {
            let id = EntityId(self.entities.len() as u32);
            self.entities.push(Entity::spawning(id, held, (tick, number, act)));
            self.home_entities.push(id);
            self.log.push(Vec::new());
            self.ready.insert(id);
            return;
        }
        let home_entity = self.home_entities[act.body as usize];
        self.channels.entry((OUTSIDE, home_entity)).or_default().push_back(Mail::ToyInput {
            held,
            tick,
            number,
            act,
        });
    }

    /// Somebody who may hands over some of its bodies.
    fn migrate(&mut self, chance: u64) -> Result<Tick, String> {
        let gvt = self.lvt_histogram.gvt();
        let able: Vec<usize> =
            (0..self.entities.len()).filter(|at| self.entities[*at].can_migrate(gvt)).collect();
        let to = EntityId((chance >> 16) as u32 % self.entities.len() as u32);
        let Some(from) = able.get(chance as usize % able.len().max(1)).filter(|from| **from != to.0 as usize)
        else {
            return Ok(gvt);
        };
        let entity = &mut self.entities[*from];
        let some = entity.members().iter().copied().filter(|body| chance >> (32 + body % 24) & 1 == 1);
        let some: Vec<BodyIndex> = some.collect();
        entity.migrate(&some, to, gvt, &mut self.out);
        let from = entity.id();
        self.ready.insert(from);
        self.carry_out(from, None)
    }

    /// Compares a committed tick with the reference.
    fn compare(&self, reference: &Reference) -> Result<(), String> {
        let mut found = Vec::new();
        for (body, paths) in self.log.iter().enumerate() {
            let path = paths.iter().rfind(|(from, _)| *from <= reference.tick);
            if let Some((_, Some(path))) = path {
                found.push((body as BodyIndex, path.place_at(reference.tick), path.number));
            }
        }
        let expected = reference.places();
        if found == expected {
            return Ok(());
        }
        Err(format!("tick {}: {found:?}\ninstead of {expected:?}", reference.tick))
    }
}
