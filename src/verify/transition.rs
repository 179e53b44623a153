//! Making a move: what a shell does around the state machines, in one place.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use crate::base::panics::panic_message;
use crate::base::time::Tick;
use crate::protocol::{Entity, EntityId, Fault, Forward, Outbox, Plan, Step, TableWrite};
use crate::protocol::{Passed, TableRequest};
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig, ScriptedInput};
use crate::verify::property::{Property, Violation};
use crate::verify::state::{Action, Effect, Endpoint, Envelope, ModelState};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};
use crate::verify::trace::TraceLog;

thread_local! {
    static IS_PLAYING: Cell<bool> = const { Cell::new(false) };
}

/// Panics of handlers are findings, told with the way that leads to them: they are not printed as well.
fn hush() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_PLAYING.get() {
                hook(info);
            }
        }));
    });
}

/// Does something with the state machines. A panic breaks the property that there is none.
pub(super) fn guarded(act: impl FnOnce() -> Result<(), Violation>) -> Result<(), Violation> {
    hush();
    IS_PLAYING.set(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    IS_PLAYING.set(false);
    done.unwrap_or_else(|panic| {
        Err(Violation { property: Property::NoPanic, how: panic_message(&*panic).to_owned() })
    })
}

impl ModelState {
    /// Makes a move and checks every property. `notes` takes down what happens, for set_active.
    pub(super) fn make(&mut self, config: &ModelConfig, next: Action, notes: &mut TraceLog) {
        let before = self.lvt_histogram.gvt();
        let checked = guarded(|| {
            self.perform(config, next, notes);
            while config.prompt_answers
                && let Some(prompt) = self.prompt_answer()
            {
                self.perform(config, prompt, notes);
            }
            self.check(config, before)
        });
        self.violation = checked.err();
    }

    fn perform(&mut self, config: &ModelConfig, next: Action, notes: &mut TraceLog) {
        match next {
            Action::Deliver { from, to } => self.deliver(config, from, to, notes),
            Action::Step(id) => self.step(config, id, notes),
            Action::Write(id) => {
                let planned = self.plans[id.0 as usize].take().expect("invariant: it has planned");
                let (plan, gvt) = Arc::unwrap_or_clone(planned);
                self.write(config, plan, gvt, notes);
            }
            Action::Effect(id) => {
                let effect = self.effects[id.0 as usize].pop_front().expect("invariant: something is left");
                notes.effect(id, &effect);
                if self.take_effect(config, id, Arc::unwrap_or_clone(effect)) {
                    self.effects[id.0 as usize].push_back(Arc::new(Effect::Advance));
                }
            }
            Action::ScriptedInput => self.input_next(config, notes),
        }
    }

    fn deliver(&mut self, config: &ModelConfig, from: Endpoint, to: Endpoint, notes: &mut TraceLog) {
        let channel = self.channels.get_mut(&(from, to)).expect("invariant: the channel has mail");
        let mail = channel.pop_front().expect("invariant: the channel has mail");
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        notes.delivered(from, to, &mail);
        let mut out = Outbox::default();
        match (Arc::unwrap_or_clone(mail), to, from) {
            (Envelope::Message(message), Endpoint::Entity(id), Endpoint::Entity(sender)) => {
                self.entity(id).handle(sender, message, &mut out);
                self.ready[id.0 as usize] = true;
                notes.outcome(&out, self.entities[id.0 as usize].lvt());
                self.want(config, id, &mut out, None);
            }
            (Envelope::ToyInput { held, tick, number, act }, Endpoint::Entity(id), _) => {
                match self.entity(id).act(tick, number, act, &mut out) {
                    Some(Forward { to: next, action }) => {
                        let mail = Envelope::ToyInput { held, tick, number, act: action };
                        self.post(Endpoint::Entity(id), Endpoint::Entity(next), mail);
                    }
                    None => {
                        self.ready[id.0 as usize] = true;
                        notes.outcome(&out, self.entities[id.0 as usize].lvt());
                        let is_held = config.toy.fault != Fault::InputReleasedEarly;
                        self.want(config, id, &mut out, is_held.then_some(held));
                    }
                }
            }
            (Envelope::Answer(plan, written), Endpoint::Entity(id), _) => {
                self.entity(id).written(plan, written, &mut out);
                self.ready[id.0 as usize] = true;
                notes.outcome(&out, self.entities[id.0 as usize].lvt());
                self.want(config, id, &mut out, None);
            }
            (Envelope::Request(request), Endpoint::Bucket(number), _) => {
                let bucket_queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
                let passed = bucket_queue.arrive(request, &config.toy);
                self.passed(number, passed);
            }
            (Envelope::Unlock, Endpoint::Bucket(number), _) => {
                let bucket_queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
                let passed = bucket_queue.unlock(&config.toy);
                self.passed(number, passed);
            }
            (Envelope::Count(from, to), _, _) => {
                if let Some(to) = to {
                    self.lvt_histogram.add(to);
                }
                if from.is_some_and(|from| self.lvt_histogram.remove(from)) {
                    self.advance(config);
                }
            }
            _ => unreachable!("invariant: mail goes to those who can read it"),
        }
    }

    /// A request has passed a bucket, or none has.
    fn passed(&mut self, number: u32, passed: Option<Passed<ToyModel>>) {
        let here = Endpoint::Bucket(number);
        let keys = match passed {
            None => return,
            Some(Passed::On { request, keys }) => {
                let next = request.wants().expect("invariant: it wants to go on");
                self.post(here, Endpoint::Bucket(next), Envelope::Request(request));
                keys
            }
            Some(Passed::Home { plan, written, keys }) => {
                self.post(here, Endpoint::Entity(plan.entity), Envelope::Answer(plan, written));
                keys
            }
        };
        for key in keys {
            self.post(here, Endpoint::Bucket(key), Envelope::Unlock);
        }
    }

    fn step(&mut self, config: &ModelConfig, id: EntityId, notes: &mut TraceLog) {
        let at = id.0 as usize;
        self.ready[at] = false;
        self.waiting[at] = None;
        let now = self.lvt_histogram.times();
        let keeps_no_history = config.toy.fault == Fault::HistoryNotKept;
        let mut out = Outbox::default();
        let directory = self.directory.clone();
        let entity = self.entity(id);
        entity.fossil_collect(if keeps_no_history { now.lvt_min } else { now.gvt });
        if let Some(directory) = directory.as_deref() {
            entity.recluster(directory, &config.limits, now, &mut out);
        }
        let step = entity.step(&config.toy, &config.limits, now, &mut out);
        notes.stepped(id, &step);
        notes.outcome(&out, self.entities[at].lvt());
        match step {
            Step::Write(plan) if config.lane == Lane::Actors => {
                self.want(config, id, &mut out, None);
                let request = TableRequest::new(TableWrite::new(&config.grid, &config.toy, plan, now.gvt));
                match request.wants() {
                    Some(first) => {
                        self.post(Endpoint::Entity(id), Endpoint::Bucket(first), Envelope::Request(request))
                    }
                    None => {
                        // An entity without bodies passes no cell.
                        let (plan, written) = request.finish();
                        self.entity(id).written(plan, written, &mut out);
                        self.ready[at] = true;
                        self.want(config, id, &mut out, None);
                    }
                }
            }
            Step::Write(plan) if config.atomicity == Atomicity::Effects => {
                self.want(config, id, &mut out, None);
                self.plans[at] = Some(Arc::new((plan, now.gvt)));
            }
            Step::Write(plan) => {
                self.want(config, id, &mut out, None);
                self.write(config, plan, now.gvt, notes);
            }
            Step::AwaitLvtMin(tick) => {
                self.want(config, id, &mut out, None);
                // Time is read again after registering, as every shell must.
                self.waiting[at] = Some(tick);
                self.wake(config);
            }
            Step::AwaitAcks => self.want(config, id, &mut out, None),
            Step::Done => {
                if let Some(directory) = directory.as_deref() {
                    self.entity(id).publish_size(directory);
                }
                self.want(config, id, &mut out, None);
            }
        }
    }

    /// Writes a plan into the shared table, as one who has locked all its buckets.
    fn write(&mut self, config: &ModelConfig, plan: Plan<ToyModel>, gvt: Tick, notes: &mut TraceLog) {
        let id = plan.entity;
        let mut search = TableWrite::new(&config.grid, &config.toy, plan, gvt);
        for number in search.buckets() {
            let bucket_queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
            search.pass(&config.toy, &mut bucket_queue.bucket);
        }
        let (plan, written) = search.finish();
        notes.written(&written);
        let mut out = Outbox::default();
        self.entity(id).written(plan, written, &mut out);
        self.ready[id.0 as usize] = true;
        notes.outcome(&out, self.entities[id.0 as usize].lvt());
        self.want(config, id, &mut out, None);
    }

    fn input_next(&mut self, config: &ModelConfig, notes: &mut TraceLog) {
        let number = self.inputs_used;
        self.inputs_used += 1;
        match &config.script[number] {
            ScriptedInput::ToyInput { tick, act } => self.act(config, *tick, number, *act, notes),
            ScriptedInput::Migrate { from, bodies, to } => {
                let gvt = self.lvt_histogram.gvt();
                let mut out = Outbox::default();
                let giver = self.entity(*from);
                let some: Vec<u32> =
                    bodies.iter().copied().filter(|body| giver.members().contains(body)).collect();
                giver.migrate(&some, *to, gvt, &mut out);
                notes.migrated(*from, &some, *to);
                notes.outcome(&out, self.entities[from.0 as usize].lvt());
                self.ready[from.0 as usize] = true;
                self.want(config, *from, &mut out, None);
            }
        }
    }

    fn act(&mut self, config: &ModelConfig, tick: Tick, number: usize, act: ToyInput, notes: &mut TraceLog) {
        let held = self.lvt_histogram.pin(tick);
        notes.acted(tick, &act, held);
        self.advance(config);
        let is_spawn = matches!(act.deed, ToyInputKind::Spawn(_));
        if is_spawn && self.log.len() <= act.body as usize {
            // Who was rejected leaves its number unused.
            self.log.resize_with(act.body as usize + 1, Arc::default);
            self.home_entities.resize(act.body as usize + 1, EntityId(u32::MAX));
        }
        let Ok(held) = held else { return };
        let home_entity = self
            .home_entities
            .get(act.body as usize)
            .copied()
            .filter(|home_entity| home_entity.0 != u32::MAX);
        if !is_spawn && home_entity.is_none() {
            // Nobody ever had that body.
            self.lvt_histogram.remove(held);
            return;
        }
        self.let_in |= 1 << number;
        let number = number as u64;
        if is_spawn {
            let id = EntityId(self.entities.len() as u32);
            let spawned = Entity::spawning(id, held, (tick, number, act)).with_fault(config.toy.fault);
            self.entities.push(Arc::new(spawned));
            self.home_entities[act.body as usize] = id;
            self.ready.push(true);
            self.waiting.push(None);
            self.plans.push(None);
            self.effects.push(Default::default());
            return;
        }
        let home_entity = home_entity.expect("invariant: checked above");
        self.post(
            Endpoint::Outside,
            Endpoint::Entity(home_entity),
            Envelope::ToyInput { held, tick, number, act },
        );
        if config.toy.fault == Fault::InputReleasedEarly && self.lvt_histogram.remove(held) {
            self.advance(config);
        }
    }

    /// Does one thing. Says whether global virtual time may have moved.
    pub(super) fn take_effect(&mut self, config: &ModelConfig, id: EntityId, effect: Effect) -> bool {
        match effect {
            Effect::Enter(tick) => self.lvt_histogram.add(tick),
            Effect::Leave(tick) => return self.lvt_histogram.remove(tick),
            Effect::Send(to, mail) => self.post(Endpoint::Entity(id), to, *mail),
            Effect::Advance => self.advance(config),
        }
        false
    }

    /// Looks whether global virtual time can rise, and wakes those who waited for it.
    pub(super) fn advance(&mut self, config: &ModelConfig) {
        self.lvt_histogram.advance();
        self.wake(config);
    }

    /// Wakes those whose tick has come.
    fn wake(&mut self, config: &ModelConfig) {
        let late = u64::from(config.toy.fault == Fault::WokenLate);
        let lvt_min = self.lvt_histogram.times().lvt_min;
        for (ready, waiting) in self.ready.iter_mut().zip(&mut self.waiting) {
            if waiting.take_if(|tick| *tick + late <= lvt_min).is_some() {
                *ready = true;
            }
        }
    }

    fn entity(&mut self, id: EntityId) -> &mut Entity<ToyModel> {
        Arc::make_mut(&mut self.entities[id.0 as usize])
    }
}

/// What a handler wants done, in the order in which it must be done: lvt_histogram first, then messages, and only then
/// is let go what was held.
pub(super) fn in_order(fault: Fault, out: &mut Outbox<ToyModel>, held: Option<Tick>) -> Vec<Effect> {
    let mut counts = Vec::new();
    if let Some((from, to)) = out.counted.take() {
        if fault == Fault::CountByMessage {
            counts.push(Effect::Send(Endpoint::Counter, Box::new(Envelope::Count(from, to))));
        } else {
            counts.extend(to.map(Effect::Enter));
            counts.extend(from.map(Effect::Leave));
        }
    }
    if fault == Fault::LeaveBeforeEnter {
        counts.reverse();
    }
    let message = |(to, message)| Effect::Send(Endpoint::Entity(to), Box::new(Envelope::Message(message)));
    let messages: Vec<Effect> = out.messages.drain(..).map(message).collect();
    let (first, second) =
        if fault == Fault::AnswerBeforeCount { (messages, counts) } else { (counts, messages) };
    first.into_iter().chain(second).chain(held.map(Effect::Leave)).collect()
}
