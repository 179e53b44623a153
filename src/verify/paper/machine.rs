//! The published algorithm as a state machine: entities, channels, the table, and the transitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::verify::toy_dynamics::mix;

/// A tick; -1 before the first write.
pub type Tick = i64;

/// How the text is read, and the model it is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Number of bodies.
    pub bodies: u32,
    /// Seed of positions and numbers.
    pub seed: u64,
    /// The last tick.
    pub ticks: Tick,
    /// How far an entity may run ahead of GVT, ticks.
    pub window: Tick,
    /// Whether the entity that detects a contact responds to it, which the text leaves out.
    pub detector_applies: bool,
}

/// State of a body: a point on a line that carries a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    position: i64,
    number: u64,
}

/// A contact, identified as in the text: by pair and tick.
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
    /// The receiver detected the contact itself, so no acknowledgement is sent.
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
    /// Messages that have to be acknowledged: whether it is an antievent, and the contact.
    pending: BTreeSet<(bool, Contact)>,
    /// Antievents to acknowledge when the rollback is complete, in the order of their arrival.
    deferred_acks: Vec<(u32, Contact)>,
}

/// What the algorithm did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// A committed state is not the reference's.
    WrongCommit {
        /// The committed tick.
        tick: Tick,
        /// The body with the differing state.
        body: u32,
    },
    /// A rollback set the LVT of an entity to a tick that it has no state for.
    JumpedAhead {
        /// The body of the entity.
        body: u32,
        /// The tick of the rollback.
        tick: Tick,
    },
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The oldest message from one entity to another is received.
    Deliver(u32, u32),
    /// An entity finds its mailbox empty.
    Timeout(u32),
}

/// One state of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    entities: Vec<Entity>,
    channels: BTreeMap<(u32, u32), VecDeque<Message>>,
    /// The table: states by tick and body, and the contacts it has reported.
    table: BTreeMap<Tick, BTreeMap<u32, State>>,
    contacts: BTreeSet<Contact>,
    gvt: Tick,
    /// The first flaw that showed.
    pub flaw: Option<Flaw>,
}

fn start(reading: &Reading, body: u32) -> State {
    let number = mix(&[reading.seed, u64::from(body)]);
    State { position: (number >> 20) as i64 % 4, number }
}

/// The state at the next tick: every contact, in ascending order, is mixed into the number, which decides the motion.
fn integrate(state: &State, contacts: &[(u32, State)]) -> State {
    if contacts.is_empty() {
        return State { position: state.position + drift(state.number), number: state.number };
    }
    let mut numbers = vec![state.number];
    for (body, other) in contacts {
        numbers.extend([u64::from(*body), other.number, other.position as u64]);
    }
    let number = mix(&numbers);
    State { position: state.position + drift(number), number }
}

fn drift(number: u64) -> i64 {
    [-1, 0, 1][(number >> 30) as usize % 3]
}

fn touch(a: &State, b: &State) -> bool {
    (a.position - b.position).abs() <= 1
}

/// The states that should be committed: position and number of every body at every tick.
pub(super) fn reference(reading: &Reading) -> Vec<Vec<(i64, u64)>> {
    let mut states: Vec<State> = (0..reading.bodies).map(|body| start(reading, body)).collect();
    let mut ticks = Vec::new();
    for _ in 0..=reading.ticks {
        ticks.push(states.iter().map(|state| (state.position, state.number)).collect());
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
    /// The initial state: nothing has been written.
    pub fn new(reading: &Reading) -> Self {
        let entity = Entity {
            lvt: -1,
            phase: Phase::Step,
            phys: BTreeMap::new(),
            input: BTreeSet::new(),
            done: BTreeSet::new(),
            pending: BTreeSet::new(),
            deferred_acks: Vec::new(),
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
    pub fn transitions(&self, reading: &Reading) -> Vec<Transition> {
        let deliver = self.channels.keys().map(|(from, to)| Transition::Deliver(*from, *to));
        let timeout = (0..reading.bodies).filter(|id| self.can_step(reading, *id)).map(Transition::Timeout);
        deliver.chain(timeout).collect()
    }

    fn can_step(&self, reading: &Reading, id: u32) -> bool {
        let entity = &self.entities[id as usize];
        let is_past = entity.input.first().is_some_and(|event| event.id.tick < entity.lvt);
        let may_go_on = entity.lvt < (self.gvt + reading.window).min(reading.ticks);
        entity.phase == Phase::Step && (is_past || may_go_on)
    }

    /// Whether GVT has reached the last tick.
    pub fn is_over(&self, reading: &Reading) -> bool {
        self.gvt == reading.ticks
    }

    /// What each entity waits for, in words.
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

    /// Performs a transition. `notes` gets a line for each thing that happens.
    pub fn perform(
        &mut self,
        reading: &Reading,
        expected: &[Vec<(i64, u64)>],
        next: Transition,
        notes: &mut Vec<String>,
    ) {
        match next {
            Transition::Timeout(id) => self.timeout(reading, id, notes),
            Transition::Deliver(from, to) => {
                let channel =
                    self.channels.get_mut(&(from, to)).expect("invariant: the channel is not empty");
                let message = channel.pop_front().expect("invariant: the channel is not empty");
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                notes.push(format!("body {to} receives from body {from}: {}", text(&message)));
                self.receive(from, to, message, notes);
            }
        }
        self.raise_gvt(expected, notes);
    }

    fn send(&mut self, from: u32, to: u32, message: Message, notes: &mut Vec<String>) {
        notes.push(format!("  sends to body {to}: {}", text(&message)));
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
        let written = self.table.entry(tick).or_default();
        let touched: Vec<(u32, State)> =
            written.iter().filter(|(_, other)| touch(&state, other)).map(|(j, other)| (*j, *other)).collect();
        written.insert(id, state);
        for (other, other_state) in &touched {
            let contact = Contact::new(tick, id, *other);
            self.contacts.insert(contact);
            let entity = &mut self.entities[id as usize];
            entity.pending.insert((false, contact));
            if reading.detector_applies {
                entity.input.insert(Event { id: contact, from: *other, state: *other_state, is_own: true });
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
                self.leave_phase(id, notes);
            }
            (Message::AntieventAck(contact), Phase::Rollback) => {
                entity.pending.remove(&(true, contact));
                self.leave_phase(id, notes);
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
                // The text sends no acknowledgement here.
                entity.pending.remove(&(false, contact));
                entity.input.retain(|event| event.id != contact || event.from != from);
                self.leave_phase(id, notes);
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
        let undone: Vec<Tick> = entity.phys.range(to + 1..).map(|(tick, _)| *tick).collect();
        let mut undone_contacts = Vec::new();
        for tick in undone {
            entity.phys.remove(&tick);
            if let Some(written) = self.table.get_mut(&tick) {
                written.remove(&id);
            }
            undone_contacts
                .extend(self.contacts.iter().copied().filter(|c| c.tick == tick && (c.a == id || c.b == id)));
        }
        if to > entity.lvt {
            self.flaw.get_or_insert(Flaw::JumpedAhead { body: id, tick: to });
        }
        entity.lvt = to;
        entity.phase = Phase::Rollback;
        entity.deferred_acks.extend(then_ack);
        let replay: Vec<Event> = entity.done.iter().copied().filter(|event| event.id.tick > to).collect();
        entity.input.extend(replay);
        entity.done.retain(|event| event.id.tick <= to);
        entity.input.retain(|event| !undone_contacts.contains(&event.id));
        for contact in undone_contacts {
            self.contacts.remove(&contact);
            let other = if contact.a == id { contact.b } else { contact.a };
            self.entities[id as usize].pending.insert((true, contact));
            self.send(id, other, Message::Antievent(contact), notes);
        }
        self.leave_phase(id, notes);
    }

    /// Returns to phase step when nothing is pending, and sends the deferred acknowledgements.
    fn leave_phase(&mut self, id: u32, notes: &mut Vec<String>) {
        let entity = &mut self.entities[id as usize];
        if !entity.pending.is_empty() {
            return;
        }
        entity.phase = Phase::Step;
        for (to, contact) in std::mem::take(&mut entity.deferred_acks).into_iter().rev() {
            self.send(id, to, Message::AntieventAck(contact), notes);
        }
    }

    /// Commits every tick that all entities have written, unless an entity still resolves a contact there.
    fn raise_gvt(&mut self, expected: &[Vec<(i64, u64)>], notes: &mut Vec<String>) {
        let counted = self.entities.iter().map(|entity| match entity.phase {
            Phase::Step | Phase::Rollback => entity.lvt,
            Phase::Resolve => entity.lvt - 1,
        });
        let lowest = counted.min().unwrap_or(-1);
        while self.gvt < lowest && self.flaw.is_none() {
            self.gvt += 1;
            notes.push(format!("  GVT rises to {}", self.gvt));
            for (body, entity) in self.entities.iter().enumerate() {
                let state = entity.phys.get(&self.gvt).map(|state| (state.position, state.number));
                if state != Some(expected[self.gvt as usize][body]) {
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

fn text(message: &Message) -> String {
    match message {
        Message::Event(event) => format!("event: contact at tick {}", event.id.tick),
        Message::EventAck(contact) => format!("acknowledgement of the event of tick {}", contact.tick),
        Message::Antievent(contact) => format!("antievent: no contact at tick {}", contact.tick),
        Message::AntieventAck(contact) => {
            format!("acknowledgement of the antievent of tick {}", contact.tick)
        }
    }
}
