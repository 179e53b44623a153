//! Entities of the published algorithm, the table they write to, and everything that can happen next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::verify::toy_model::mix;

/// Before tick 0 there is -1.
pub type Tick = i64;

/// How the text is read, and in which world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Number of bodies.
    pub bodies: u32,
    /// Decides where they are.
    pub seed: u64,
    /// Last tick.
    pub ticks: Tick,
    /// How far they may run ahead.
    pub window: Tick,
    /// Whether who detects a contact responds to it, which the text forgets.
    pub detector_applies: bool,
}

/// A point on a line that carries a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    at: i64,
    number: u64,
}

/// A contact, as the text names it: by pair and tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Contact {
    tick: Tick,
    a: u32,
    b: u32,
}

impl Contact {
    fn new(tick: Tick, i: u32, j: u32) -> Self {
        Contact { tick, a: i.min(j), b: i.max(j) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Event {
    id: Contact,
    from: u32,
    state: State,
    /// Found by itself rather than told: nobody waits for an acknowledgement.
    is_own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Message {
    Event(Event),
    EventAck(Contact),
    Antievent(Contact),
    AntieventAck(Contact),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Step,
    Resolve,
    Rollback,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entity {
    lvt: Tick,
    phase: Phase,
    phys: BTreeMap<Tick, State>,
    input: BTreeSet<Event>,
    done: BTreeSet<Event>,
    /// What must be acknowledged: antievents or events.
    pending: BTreeSet<(bool, Contact)>,
    /// Antievents to acknowledge when the rollback is through, innermost first.
    later: Vec<(u32, Contact)>,
}

/// Something wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// A committed state is not the reference's.
    WrongCommit {
        /// Where.
        tick: Tick,
        /// Whose.
        body: u32,
    },
    /// An entity was set to a tick it has no state for.
    JumpedAhead {
        /// Who.
        body: u32,
        /// Where to.
        tick: Tick,
    },
}

/// Something that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The oldest message between two is received.
    Deliver(u32, u32),
    /// An entity finds its mailbox empty.
    Timeout(u32),
}

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    entities: Vec<Entity>,
    channels: BTreeMap<(u32, u32), VecDeque<Message>>,
    /// The table: states by tick and body, and the contacts it has reported.
    table: BTreeMap<Tick, BTreeMap<u32, State>>,
    contacts: BTreeSet<Contact>,
    gvt: Tick,
    /// The first thing that went wrong.
    pub flaw: Option<Flaw>,
}

fn start(reading: &Reading, body: u32) -> State {
    let number = mix(&[reading.seed, u64::from(body)]);
    State { at: (number >> 20) as i64 % 4, number }
}

/// The way to the next tick: every contact, in ascending order, is stirred into the number, which decides the rest.
fn integrate(state: &State, contacts: &[(u32, State)]) -> State {
    if contacts.is_empty() {
        return State { at: state.at + drift(state.number), number: state.number };
    }
    let mut numbers = vec![state.number];
    for (body, other) in contacts {
        numbers.extend([u64::from(*body), other.number, other.at as u64]);
    }
    let number = mix(&numbers);
    State { at: state.at + drift(number), number }
}

fn drift(number: u64) -> i64 {
    [-1, 0, 1][(number >> 30) as usize % 3]
}

fn touch(a: &State, b: &State) -> bool {
    (a.at - b.at).abs() <= 1
}

/// Where everybody should be at every tick.
pub(super) fn reference(reading: &Reading) -> Vec<Vec<(i64, u64)>> {
    let mut states: Vec<State> = (0..reading.bodies).map(|body| start(reading, body)).collect();
    let mut ticks = Vec::new();
    for _ in 0..=reading.ticks {
        ticks.push(states.iter().map(|state| (state.at, state.number)).collect());
        let next = |(i, state): (usize, &State)| {
            let others = states.iter().enumerate().filter(|(j, other)| *j != i && touch(state, other));
            let contacts: Vec<(u32, State)> = others.map(|(j, other)| (j as u32, *other)).collect();
            integrate(state, &contacts)
        };
        states = states.iter().enumerate().map(next).collect();
    }
    ticks
}

impl Machine {
    /// The beginning: nobody has written anything.
    pub fn new(reading: &Reading) -> Self {
        let entity = Entity {
            lvt: -1,
            phase: Phase::Step,
            phys: BTreeMap::new(),
            input: BTreeSet::new(),
            done: BTreeSet::new(),
            pending: BTreeSet::new(),
            later: Vec::new(),
        };
        Machine {
            entities: vec![entity; reading.bodies as usize],
            channels: BTreeMap::new(),
            table: BTreeMap::new(),
            contacts: BTreeSet::new(),
            gvt: -1,
            flaw: None,
        }
    }

    /// Everything that can happen next.
    pub fn moves(&self, reading: &Reading) -> Vec<Move> {
        let deliver = self.channels.keys().map(|(from, to)| Move::Deliver(*from, *to));
        let timeout = (0..reading.bodies).filter(|id| self.can_step(reading, *id)).map(Move::Timeout);
        deliver.chain(timeout).collect()
    }

    fn can_step(&self, reading: &Reading, id: u32) -> bool {
        let entity = &self.entities[id as usize];
        let is_past = entity.input.first().is_some_and(|event| event.id.tick < entity.lvt);
        let may_go_on = entity.lvt < (self.gvt + reading.window).min(reading.ticks);
        entity.phase == Phase::Step && (is_past || may_go_on)
    }

    /// Whether everybody has come to the end.
    pub fn is_over(&self, reading: &Reading) -> bool {
        self.gvt == reading.ticks
    }

    /// Who waits, for what.
    pub fn waiting(&self) -> Vec<String> {
        let line = |(id, entity): (usize, &Entity)| {
            let pending = entity.pending.iter().map(|(is_anti, contact)| {
                let kind = if *is_anti { "antievent" } else { "event" };
                let other = if contact.a == id as u32 { contact.b } else { contact.a };
                format!("body {other} to acknowledge the {kind} of tick {}", contact.tick)
            });
            let pending: Vec<String> = pending.collect();
            match pending.is_empty() {
                true => format!("body {id} is at tick {} and may not go further", entity.lvt),
                false => {
                    format!("body {id} is in {} and waits for {}", name(entity.phase), pending.join(", "))
                }
            }
        };
        self.entities.iter().enumerate().map(line).collect()
    }

    /// Makes a move; what happens is told to `notes`.
    pub fn make(
        &mut self,
        reading: &Reading,
        truth: &[Vec<(i64, u64)>],
        next: Move,
        notes: &mut Vec<String>,
    ) {
        match next {
            Move::Timeout(id) => self.timeout(reading, id, notes),
            Move::Deliver(from, to) => {
                let channel = self.channels.get_mut(&(from, to)).expect("invariant: the channel has mail");
                let message = channel.pop_front().expect("invariant: the channel has mail");
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                notes.push(format!("body {to} receives from body {from}: {}", words(&message)));
                self.receive(from, to, message, notes);
            }
        }
        self.count(truth, notes);
    }

    fn send(&mut self, from: u32, to: u32, message: Message, notes: &mut Vec<String>) {
        notes.push(format!("  sends to body {to}: {}", words(&message)));
        self.channels.entry((from, to)).or_default().push_back(message);
    }

    /// Algorithm 2, when no message is there; then algorithms 5 and 6 for one tick.
    fn timeout(&mut self, reading: &Reading, id: u32, notes: &mut Vec<String>) {
        let entity = &mut self.entities[id as usize];
        let lvt = entity.lvt;
        if let Some(event) = entity.input.first().filter(|event| event.id.tick < lvt) {
            let tick = event.id.tick;
            notes.push(format!("body {id} finds an event of tick {tick} in its past"));
            return self.rollback(id, tick, None, notes);
        }
        let applied: Vec<Event> = entity.input.iter().copied().filter(|e| e.id.tick == lvt).collect();
        entity.input.retain(|event| event.id.tick != lvt);
        entity.done.extend(applied.iter().copied());
        let state = match entity.phys.get(&lvt) {
            None => start(reading, id),
            Some(state) => {
                let mut contacts: Vec<(u32, State)> = applied.iter().map(|e| (e.from, e.state)).collect();
                contacts.sort();
                integrate(state, &contacts)
            }
        };
        let tick = lvt + 1;
        entity.lvt = tick;
        entity.phys.insert(tick, state);
        notes.push(format!("body {id} writes tick {tick}"));
        for event in applied.into_iter().filter(|event| !event.is_own) {
            self.send(id, event.from, Message::EventAck(event.id), notes);
        }
        self.write(reading, id, tick, state, notes);
    }

    fn write(&mut self, reading: &Reading, id: u32, tick: Tick, state: State, notes: &mut Vec<String>) {
        let there = self.table.entry(tick).or_default();
        let met: Vec<(u32, State)> =
            there.iter().filter(|(_, other)| touch(&state, other)).map(|(j, other)| (*j, *other)).collect();
        there.insert(id, state);
        for (other, theirs) in &met {
            let contact = Contact::new(tick, id, *other);
            self.contacts.insert(contact);
            let entity = &mut self.entities[id as usize];
            entity.pending.insert((false, contact));
            if reading.detector_applies {
                entity.input.insert(Event { id: contact, from: *other, state: *theirs, is_own: true });
            }
            entity.phase = Phase::Resolve;
            let event = Event { id: contact, from: id, state, is_own: false };
            self.send(id, *other, Message::Event(event), notes);
        }
    }

    /// Algorithms 2, 3 and 4: what is done with a message depends on the phase.
    fn receive(&mut self, from: u32, id: u32, message: Message, notes: &mut Vec<String>) {
        let entity = &mut self.entities[id as usize];
        match (message, entity.phase) {
            (Message::EventAck(contact), Phase::Resolve) => {
                entity.pending.remove(&(false, contact));
                self.settle(id, notes);
            }
            (Message::AntieventAck(contact), Phase::Rollback) => {
                entity.pending.remove(&(true, contact));
                self.settle(id, notes);
            }
            (Message::EventAck(_) | Message::AntieventAck(_), _) => {}
            (Message::Event(event), phase) => {
                entity.input.insert(event);
                if phase != Phase::Step && event.id.tick < entity.lvt {
                    if phase == Phase::Resolve {
                        entity.pending.clear();
                    }
                    self.rollback(id, event.id.tick, None, notes);
                }
            }
            (Message::Antievent(contact), Phase::Resolve) if entity.pending.contains(&(false, contact)) => {
                // No acknowledgement here: that is how the text has it.
                entity.pending.remove(&(false, contact));
                entity.input.retain(|event| event.id != contact || event.from != from);
                self.settle(id, notes);
            }
            (Message::Antievent(contact), Phase::Rollback)
                if entity.input.iter().any(|event| event.id == contact) =>
            {
                entity.input.retain(|event| event.id != contact);
                self.send(id, from, Message::AntieventAck(contact), notes);
            }
            (Message::Antievent(contact), phase) => {
                if phase == Phase::Resolve {
                    entity.pending.clear();
                }
                entity.done.retain(|event| event.id != contact);
                self.rollback(id, contact.tick, Some((from, contact)), notes);
            }
        }
    }

    /// Algorithm 7, and the beginning of algorithm 4.
    fn rollback(&mut self, id: u32, to: Tick, then_ack: Option<(u32, Contact)>, notes: &mut Vec<String>) {
        notes.push(format!("  rolls back to tick {to}"));
        let entity = &mut self.entities[id as usize];
        let gone: Vec<Tick> = entity.phys.range(to + 1..).map(|(tick, _)| *tick).collect();
        let mut bad = Vec::new();
        for tick in gone {
            entity.phys.remove(&tick);
            if let Some(there) = self.table.get_mut(&tick) {
                there.remove(&id);
            }
            bad.extend(self.contacts.iter().copied().filter(|c| c.tick == tick && (c.a == id || c.b == id)));
        }
        if to > entity.lvt {
            self.flaw.get_or_insert(Flaw::JumpedAhead { body: id, tick: to });
        }
        entity.lvt = to;
        entity.phase = Phase::Rollback;
        entity.later.extend(then_ack);
        let replay: Vec<Event> = entity.done.iter().copied().filter(|event| event.id.tick > to).collect();
        entity.input.extend(replay);
        entity.done.retain(|event| event.id.tick <= to);
        entity.input.retain(|event| !bad.contains(&event.id));
        for contact in bad {
            self.contacts.remove(&contact);
            let other = if contact.a == id { contact.b } else { contact.a };
            self.entities[id as usize].pending.insert((true, contact));
            self.send(id, other, Message::Antievent(contact), notes);
        }
        self.settle(id, notes);
    }

    /// Goes back to stepping when nothing is pending, and acknowledges what was put off.
    fn settle(&mut self, id: u32, notes: &mut Vec<String>) {
        let entity = &mut self.entities[id as usize];
        if !entity.pending.is_empty() {
            return;
        }
        entity.phase = Phase::Step;
        for (to, contact) in std::mem::take(&mut entity.later).into_iter().rev() {
            self.send(id, to, Message::AntieventAck(contact), notes);
        }
    }

    /// A tick counts for an entity when it has written it and is not waiting there. What all have counted is
    /// committed.
    fn count(&mut self, truth: &[Vec<(i64, u64)>], notes: &mut Vec<String>) {
        let counted = self.entities.iter().map(|entity| match entity.phase {
            Phase::Step | Phase::Rollback => entity.lvt,
            Phase::Resolve => entity.lvt - 1,
        });
        let lowest = counted.min().unwrap_or(-1);
        while self.gvt < lowest && self.flaw.is_none() {
            self.gvt += 1;
            notes.push(format!("  global virtual time is {} now", self.gvt));
            for (body, entity) in self.entities.iter().enumerate() {
                let state = entity.phys.get(&self.gvt).map(|state| (state.at, state.number));
                if state != Some(truth[self.gvt as usize][body]) {
                    self.flaw = Some(Flaw::WrongCommit { tick: self.gvt, body: body as u32 });
                    return;
                }
            }
        }
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Step => "step",
        Phase::Resolve => "resolve",
        Phase::Rollback => "rollback",
    }
}

fn words(message: &Message) -> String {
    match message {
        Message::Event(event) => format!("event: contact at tick {}", event.id.tick),
        Message::EventAck(contact) => format!("acknowledgement of the event of tick {}", contact.tick),
        Message::Antievent(contact) => format!("antievent: no contact at tick {}", contact.tick),
        Message::AntieventAck(contact) => {
            format!("acknowledgement of the antievent of tick {}", contact.tick)
        }
    }
}
