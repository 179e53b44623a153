//! Carries the messages of entities in a tiny world about, in an order that means no good, and checks everything
//! that is committed. The order of messages between each two entities is kept, nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anachron::executor::adversary::{Action, Adversary};
use anachron::protocol::{
    Counters, Dynamics, Entity, EntityId, Forward, Grid, Limits, Message, Now, Outbox, Place, Stats, Step,
};
use anachron::time::Tick;
use anachron::tvht::SharedTable;
use anachron::verify::tiny::{Act, Course, Deed, Reference, Tiny, speed, stir};

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
    /// Seed of the adversary.
    pub order: u64,
}

/// Who acts from outside, in the place of a sender.
const OUTSIDE: EntityId = EntityId(u32::MAX);

/// Something on its way.
enum Mail {
    Letter(Message<Tiny>),
    Act { held: Tick, tick: Tick, number: u64, act: Act },
}

/// Runs a tiny world and compares what it commits with the reference.
pub fn check(tiny: &Tiny, way: &Way) -> Result<Stats, String> {
    let mut reference = Reference::new(tiny);
    let mut carrier = Carrier::new(tiny, way);
    let mut actions = 0u64;
    carrier.compare(&reference)?;
    while let Some(action) = carrier.next_action() {
        let mut gvt = carrier.act(action)?;
        actions += 1;
        let chance = stir(&[way.order, actions]);
        // Who never stops meddling would never let it end.
        if way.meddling > 0 && actions < 800 && chance.is_multiple_of(way.meddling) {
            carrier.meddle(stir(&[chance, 1]));
        }
        if way.restless > 0 && actions < 800 && (chance >> 20).is_multiple_of(way.restless) {
            gvt = carrier.hand_over(stir(&[chance, 2]))?;
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
    if carrier.counters.gvt() != tiny.last_tick {
        return Err(format!("nothing is left to do at {}", carrier.counters.gvt()));
    }
    let mut stats = Stats::default();
    for entity in &mut carrier.entities {
        stats.add(&entity.finish(tiny));
    }
    reference.advance(&[]);
    let (seen, expected) = ((stats.touches, stats.new_touches), (reference.touches, reference.new_touches));
    if seen != expected {
        return Err(format!("touches and new touches {seen:?} instead of {expected:?}"));
    }
    Ok(stats)
}

struct Carrier<'a> {
    tiny: &'a Tiny,
    limits: Limits,
    table: SharedTable<Tiny>,
    counters: Counters,
    entities: Vec<Entity<Tiny>>,
    /// The entity each body was born in.
    births: Vec<EntityId>,
    channels: BTreeMap<(EntityId, EntityId), VecDeque<Mail>>,
    ready: BTreeSet<EntityId>,
    waiting: BTreeMap<Tick, Vec<EntityId>>,
    /// Courses of every body and when each begins; nothing from where it is no more.
    log: Vec<Vec<(Tick, Option<Course>)>>,
    /// What has been done from outside.
    journal: BTreeMap<Tick, Vec<(u64, Act)>>,
    adversary: Adversary,
    out: Outbox<Tiny>,
}

impl<'a> Carrier<'a> {
    fn new(tiny: &'a Tiny, way: &Way) -> Self {
        let start = tiny.start();
        let radii: Vec<f64> = start.iter().map(|(body, _)| tiny.radius(*body)).collect();
        let crews: Vec<Vec<(Place, Course)>> = start.chunks(way.cluster).map(<[_]>::to_vec).collect();
        let count = crews.len() as u32;
        let last_tick = tiny.last_tick;
        let Way { window, contact_window, stride_min, .. } = *way;
        let births = crews.iter().zip(0..).flat_map(|(crew, id)| crew.iter().map(move |_| EntityId(id)));
        Carrier {
            tiny,
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
            counters: Counters::new(count, window, way.history, last_tick),
            births: births.collect(),
            entities: (0..count)
                .zip(crews)
                .map(|(id, crew)| Entity::new(EntityId(id), crew.into()))
                .collect(),
            channels: BTreeMap::new(),
            ready: (0..count).map(EntityId).collect(),
            waiting: BTreeMap::new(),
            log: start.iter().map(|(_, course)| vec![(0, Some(*course))]).collect(),
            journal: BTreeMap::new(),
            adversary: Adversary::new(way.order),
            out: Outbox::default(),
        }
    }

    fn next_action(&mut self) -> Option<Action> {
        let deliver = self.channels.iter().map(|(&(from, to), mail)| {
            let is_answer = matches!(mail.front(), Some(Mail::Letter(Message::Answer { .. })));
            Action::Deliver { from, to, is_answer }
        });
        self.adversary.choose(deliver.chain(self.ready.iter().copied().map(Action::Step)))
    }

    /// Lets it happen. Global virtual time after that, or the promise that was broken.
    fn act(&mut self, action: Action) -> Result<Tick, String> {
        match action {
            Action::Deliver { from, to, .. } => self.deliver(from, to),
            Action::Step(id) => {
                self.step(id);
                self.carry_out(id, None)
            }
        }
    }

    /// Does what a handler wanted done, and only then lets go of what is held.
    fn carry_out(&mut self, id: EntityId, held: Option<Tick>) -> Result<Tick, String> {
        let before = self.counters.gvt();
        for (body, tick) in self.out.landed.drain(..) {
            self.log[body as usize].retain(|(from, _)| *from <= tick);
        }
        for (body, tick, course) in self.out.took_off.drain(..) {
            self.log[body as usize].push((tick, course));
        }
        if let Some((from, to)) = self.out.counted.take() {
            if let Some(to) = to {
                self.counters.enter(to);
            }
            if let Some(from) = from {
                self.counters.leave(from);
            }
        }
        for (to, message) in self.out.messages.drain(..) {
            self.channels.entry((id, to)).or_default().push_back(Mail::Letter(message));
        }
        if let Some(held) = held {
            self.counters.leave(held);
        }
        let entity = &self.entities[id.0 as usize];
        if !entity.is_vacant() && entity.lvt() < before {
            return Err(format!("{id} was cut back to {}, below {before}", entity.lvt()));
        }
        self.counters.advance();
        let Now { gvt, floor } = self.counters.now();
        let is_behind = |entity: &Entity<Tiny>| !entity.is_vacant() && entity.lvt() < gvt;
        if gvt < before || self.entities.iter().any(is_behind) {
            return Err(format!("global virtual time went from {before} to {gvt}, and not all are there"));
        }
        while let Some(waiting) = self.waiting.first_entry().filter(|waiting| *waiting.key() <= floor) {
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
            Mail::Act { held, tick, number, act } => match entity.act(tick, number, act, &mut self.out) {
                Some(Forward { to: next, action: act }) => {
                    let mail = Mail::Act { held, tick, number, act };
                    self.channels.entry((to, next)).or_default().push_back(mail);
                    Ok(self.counters.gvt())
                }
                None => self.carry_out(to, Some(held)),
            },
        }
    }

    fn step(&mut self, id: EntityId) {
        self.ready.remove(&id);
        let now = self.counters.now();
        let entity = &mut self.entities[id.0 as usize];
        entity.settle(now.gvt);
        match entity.step(self.tiny, &self.limits, now, &mut self.out) {
            Step::Write(plan) => {
                let (plan, written) = self.table.write(self.tiny, plan, now.gvt);
                entity.written(plan, written, &mut self.out);
                self.ready.insert(id);
            }
            Step::WaitFor(tick) => self.waiting.entry(tick).or_default().push(id),
            Step::Owes | Step::Done => {}
        }
    }

    /// Somebody outside does something, at global virtual time or later.
    fn meddle(&mut self, chance: u64) {
        let tick = self.counters.gvt() + (chance >> 8) % 12;
        let idle = self.channels.is_empty() && self.ready.is_empty();
        if tick >= self.tiny.last_tick || idle {
            return;
        }
        let number = self.journal.values().map(|acts| acts.len() as u64).sum();
        let held = self.counters.hold(tick).expect("the tick is not settled");
        let newcomer = self.log.len() as Place;
        let act = match chance % 5 {
            0 if newcomer < 24 => {
                let at = (chance >> 32) as i64 % self.tiny.room.max(1);
                let course = Course { since: tick, at, speed: speed(chance), number: chance };
                Act { body: newcomer, deed: Deed::Appear(course) }
            }
            1 => Act { body: (chance >> 16) as Place % newcomer, deed: Deed::Vanish },
            _ => Act { body: (chance >> 16) as Place % newcomer, deed: Deed::Stir(chance) },
        };
        self.journal.entry(tick).or_default().push((number, act));
        if let Deed::Appear(_) = act.deed {
            let id = EntityId(self.entities.len() as u32);
            self.entities.push(Entity::unborn(id, held, (tick, number, act)));
            self.births.push(id);
            self.log.push(Vec::new());
            self.ready.insert(id);
            return;
        }
        let birth = self.births[act.body as usize];
        self.channels.entry((OUTSIDE, birth)).or_default().push_back(Mail::Act { held, tick, number, act });
    }

    /// Somebody who may hands over some of its bodies.
    fn hand_over(&mut self, chance: u64) -> Result<Tick, String> {
        let gvt = self.counters.gvt();
        let able: Vec<usize> =
            (0..self.entities.len()).filter(|at| self.entities[*at].can_hand_over(gvt)).collect();
        let to = EntityId((chance >> 16) as u32 % self.entities.len() as u32);
        let Some(from) = able.get(chance as usize % able.len().max(1)).filter(|from| **from != to.0 as usize)
        else {
            return Ok(gvt);
        };
        let entity = &mut self.entities[*from];
        let some = entity.members().iter().copied().filter(|body| chance >> (32 + body % 24) & 1 == 1);
        let some: Vec<Place> = some.collect();
        entity.hand_over(&some, to, gvt, &mut self.out);
        let from = entity.id();
        self.ready.insert(from);
        self.carry_out(from, None)
    }

    /// Compares a committed tick with the reference.
    fn compare(&self, reference: &Reference) -> Result<(), String> {
        let mut found = Vec::new();
        for (body, courses) in self.log.iter().enumerate() {
            let course = courses.iter().rfind(|(from, _)| *from <= reference.tick);
            if let Some((_, Some(course))) = course {
                found.push((body as Place, course.place_at(reference.tick), course.number));
            }
        }
        let expected = reference.places();
        if found == expected {
            return Ok(());
        }
        Err(format!("tick {}: {found:?}\ninstead of {expected:?}", reference.tick))
    }
}
