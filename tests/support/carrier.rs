//! Carries the messages of entities in a tiny world about, in an order that means no good, and checks everything
//! that is committed. The order of messages between each two entities is kept, nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anachron::executor::adversary::{Action, Adversary};
use anachron::protocol::{
    Counters, Dynamics, Entity, EntityId, Grid, Limits, Message, Outbox, Place, Stats, Step,
};
use anachron::time::Tick;
use anachron::tvht::SharedTable;

use crate::tiny_world::{Course, Tiny};

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Way {
    pub window: u64,
    pub contact_window: u64,
    pub stride_min: u64,
    pub buckets: u32,
    pub cell_scale: f64,
    pub cluster: usize,
    /// Seed of the adversary.
    pub order: u64,
}

/// Runs a tiny world and compares what it commits with the reference.
pub fn check(tiny: &Tiny, way: &Way) -> Result<Stats, String> {
    let (expected, touches, new_touches) = tiny.reference();
    let mut carrier = Carrier::new(tiny, way);
    let (mut committed, mut actions) = (0, 0);
    carrier.compare(0, &expected[0])?;
    while let Some(action) = carrier.next_action() {
        let gvt = carrier.act(action)?;
        while committed < gvt {
            committed += 1;
            carrier.compare(committed, &expected[committed as usize])?;
        }
        actions += 1;
        if actions > 3_000_000 {
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
    let seen = (stats.touches, stats.new_touches);
    if seen != (touches, new_touches) {
        return Err(format!("touches and new touches {seen:?} instead of {:?}", (touches, new_touches)));
    }
    Ok(stats)
}

struct Carrier<'a> {
    tiny: &'a Tiny,
    limits: Limits,
    table: SharedTable<Tiny>,
    counters: Counters,
    crews: Vec<Vec<Place>>,
    entities: Vec<Entity<Tiny>>,
    channels: BTreeMap<(EntityId, EntityId), VecDeque<Message<Tiny>>>,
    ready: BTreeSet<EntityId>,
    waiting: BTreeMap<Tick, Vec<EntityId>>,
    /// Courses of every body and when each begins.
    log: Vec<Vec<(Tick, Course)>>,
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
        Carrier {
            tiny,
            limits: Limits {
                window,
                // Some choose by themselves.
                contact_window: (contact_window != 1).then_some(contact_window),
                stride_min,
                adaptive: window % 2 == 0,
                last_tick,
            },
            table: SharedTable::new(Grid::new(&radii, way.cell_scale, way.buckets)),
            counters: Counters::new(count, window, last_tick),
            crews: crews.iter().map(|crew| crew.iter().map(|(place, _)| *place).collect()).collect(),
            entities: (0..count).zip(crews).map(|(id, crew)| Entity::new(EntityId(id), crew)).collect(),
            channels: BTreeMap::new(),
            ready: (0..count).map(EntityId).collect(),
            waiting: BTreeMap::new(),
            log: start.iter().map(|(_, course)| vec![(0, *course)]).collect(),
            adversary: Adversary::new(way.order),
            out: Outbox::default(),
        }
    }

    fn next_action(&mut self) -> Option<Action> {
        let deliver = self.channels.iter().map(|(&(from, to), mail)| {
            let is_answer = matches!(mail.front(), Some(Message::Answer { .. }));
            Action::Deliver { from, to, is_answer }
        });
        self.adversary.choose(deliver.chain(self.ready.iter().copied().map(Action::Step)))
    }

    /// Lets it happen. Global virtual time after that, or the promise that was broken.
    fn act(&mut self, action: Action) -> Result<Tick, String> {
        let before = self.counters.gvt();
        let id = match action {
            Action::Deliver { from, to, .. } => {
                self.deliver(from, to);
                to
            }
            Action::Step(id) => {
                self.step(id);
                id
            }
        };
        if let Some(tick) = self.out.landed.take() {
            for body in &self.crews[id.0 as usize] {
                self.log[*body as usize].retain(|(from, _)| *from <= tick);
            }
        }
        for (body, tick, course) in self.out.took_off.drain(..) {
            self.log[body as usize].push((tick, course));
        }
        if let Some((from, to)) = self.out.counted.take() {
            self.counters.shift(from, to);
        }
        for (to, message) in self.out.messages.drain(..) {
            self.channels.entry((id, to)).or_default().push_back(message);
        }
        let entity = &self.entities[id.0 as usize];
        if entity.lvt() < before {
            return Err(format!("{id} was cut back to {}, below {before}", entity.lvt()));
        }
        if entity.segments() as u64 > self.limits.window + 2 {
            return Err(format!("{id} keeps {} segments", entity.segments()));
        }
        self.counters.advance();
        let gvt = self.counters.gvt();
        if gvt < before || self.entities.iter().any(|entity| entity.lvt() < gvt) {
            return Err(format!("global virtual time went from {before} to {gvt}, and not all are there"));
        }
        while let Some(waiting) = self.waiting.first_entry().filter(|waiting| *waiting.key() <= gvt) {
            self.ready.extend(waiting.remove());
        }
        Ok(gvt)
    }

    fn deliver(&mut self, from: EntityId, to: EntityId) {
        let mail = self.channels.get_mut(&(from, to)).expect("the channel has mail");
        let message = mail.pop_front().expect("the channel has mail");
        if mail.is_empty() {
            self.channels.remove(&(from, to));
        }
        self.entities[to.0 as usize].handle(from, message, &mut self.out);
        self.ready.insert(to);
    }

    fn step(&mut self, id: EntityId) {
        self.ready.remove(&id);
        let gvt = self.counters.gvt();
        let entity = &mut self.entities[id.0 as usize];
        entity.settle(gvt);
        match entity.step(self.tiny, &self.limits, gvt, &mut self.out) {
            Step::Write(plan) => {
                let (plan, written) = self.table.write(self.tiny, plan, gvt);
                entity.written(plan, written, &mut self.out);
                self.ready.insert(id);
            }
            Step::WaitFor(tick) => self.waiting.entry(tick).or_default().push(id),
            Step::Owes | Step::Done => {}
        }
    }

    /// Compares a committed tick with the reference.
    fn compare(&self, tick: Tick, expected: &[(i64, u64)]) -> Result<(), String> {
        for (body, (courses, expected)) in self.log.iter().zip(expected).enumerate() {
            let (_, course) =
                courses.iter().rfind(|(from, _)| *from <= tick).expect("every body has a course");
            let found = (course.place_at(tick), course.number);
            if found != *expected {
                return Err(format!("tick {tick}: body {body}: {found:?} instead of {expected:?}"));
            }
        }
        Ok(())
    }
}
