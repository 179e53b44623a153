//! Performing an action: the shell of the model around the state machines of production.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::vec::Drain;

use crate::base::panics::panic_message;
use crate::base::time::Tick;
use crate::protocol::{
    BodyIndex, Context, Driver, Entity, EntityId, Fault, GvtService, Handled, Membership, MembershipChange,
    Message, Next, Passed, Plan, Shell, StartedFlight, TableRequest, TableWrite,
};
use crate::tvht::Lane;
use crate::verify::config::{Atomicity, ModelConfig, ReferenceRun, ScriptedInput};
use crate::verify::property::{Property, Violation};
use crate::verify::state::{Action, Effect, Endpoint, Envelope, Log, ModelState};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};
use crate::verify::trace::TraceLog;

thread_local! {
    static IN_MODEL: Cell<bool> = const { Cell::new(false) };
}

/// Panics of handlers are violations, shown with the schedule that leads to them; they are not printed as well.
fn silence_panics() {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IN_MODEL.get() {
                hook(info);
            }
        }));
    });
}

/// Runs handlers of the protocol. A panic is a violation of [`Property::NoPanic`].
pub(super) fn guarded(handlers: impl FnOnce() -> Result<(), Violation>) -> Result<(), Violation> {
    silence_panics();
    IN_MODEL.set(true);
    let done = catch_unwind(AssertUnwindSafe(handlers));
    IN_MODEL.set(false);
    done.unwrap_or_else(|panic| {
        Err(Violation { property: Property::NoPanic, how: panic_message(&*panic).to_owned() })
    })
}

/// The decisions on islands that have been made.
struct Decided {
    epoch_ticks: u64,
    count: usize,
    run: Arc<ReferenceRun>,
}

impl Membership for Decided {
    fn epoch_ticks(&self) -> u64 {
        self.epoch_ticks
    }

    fn decision(&self, number: usize) -> Option<&MembershipChange> {
        self.run.decisions[..self.count].get(number)
    }
}

/// Performs the effects of one entity: the log and tracks at once, everything else as a list in order, so that each can
/// be an action of its own.
struct ModelShell<'a> {
    log: &'a mut Vec<Arc<Log>>,
    fault: Fault,
    effects: Vec<Effect>,
}

impl Shell<ToyModel> for ModelShell<'_> {
    fn retract_flights(&mut self, flights: Drain<'_, (BodyIndex, Tick)>) {
        for (body, after) in flights {
            Arc::make_mut(&mut self.log[body as usize]).retain(|(from, _)| *from <= after);
        }
    }

    fn start_flights(&mut self, flights: Drain<'_, StartedFlight<ToyModel>>) {
        for (body, from, path) in flights {
            Arc::make_mut(&mut self.log[body as usize]).push((from, path));
        }
    }

    fn move_lvt(&mut self, from: Option<Tick>, to: Option<Tick>) {
        if self.fault == Fault::LvtByMessage {
            return self.effects.push(Effect::Send(Endpoint::Counter, Box::new(Envelope::Count(from, to))));
        }
        let effects = [to.map(Effect::Enter), from.map(Effect::Leave)];
        match self.fault {
            Fault::RemoveBeforeAdd => self.effects.extend(effects.into_iter().rev().flatten()),
            _ => self.effects.extend(effects.into_iter().flatten()),
        }
    }

    fn send(&mut self, to: EntityId, message: Message<ToyModel>) {
        self.effects.push(Effect::Send(Endpoint::Entity(to), Box::new(Envelope::Message(message))));
    }

    fn unpin(&mut self, pinned: Tick) {
        self.effects.push(Effect::Leave(pinned));
    }
}

impl ModelState {
    /// Performs an action and checks every property. `notes` records what happens, in words.
    pub(super) fn perform(&mut self, config: &ModelConfig, next: Action, notes: &mut TraceLog) {
        let before = self.lvt_histogram.gvt();
        let checked = guarded(|| {
            self.take(config, next, notes);
            while config.prompt_acks
                && let Some(prompt) = self.prompt_ack()
            {
                self.take(config, prompt, notes);
            }
            self.check(config, before)
        });
        self.violation = checked.err();
    }

    fn take(&mut self, config: &ModelConfig, next: Action, notes: &mut TraceLog) {
        match next {
            Action::Deliver { from, to } => self.deliver(config, from, to, notes),
            Action::Step(id) => self.poll(config, id, notes),
            Action::Write(id) => {
                let planned = self.plans[id.0 as usize].take().expect("invariant: the entity has a plan");
                let (plan, gvt) = Arc::unwrap_or_clone(planned);
                self.write(config, plan, gvt, notes);
            }
            Action::Effect(id) => {
                let effect = self.effects[id.0 as usize].pop_front().expect("invariant: an effect is left");
                notes.effect(id, &effect);
                if self.perform_effect(config, id, Arc::unwrap_or_clone(effect)) {
                    self.effects[id.0 as usize].push_back(Arc::new(Effect::Advance));
                }
            }
            Action::ScriptedInput => self.take_input(config, notes),
            Action::Decide => self.decide(config, notes),
        }
    }

    fn deliver(&mut self, config: &ModelConfig, from: Endpoint, to: Endpoint, notes: &mut TraceLog) {
        let channel = self.channels.get_mut(&(from, to)).expect("invariant: the channel is not empty");
        let envelope = channel.pop_front().expect("invariant: the channel is not empty");
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        notes.delivered(from, to, &envelope);
        match (Arc::unwrap_or_clone(envelope), to, from) {
            (Envelope::Message(message), Endpoint::Entity(id), Endpoint::Entity(sender)) => {
                let handled = self.driver(id).on_message(sender, message);
                self.perform_and_poll(config, id, handled, notes);
            }
            (Envelope::Input { pinned, tick, number, input }, Endpoint::Entity(id), _) => {
                let pin = (config.toy.fault != Fault::InputUnpinnedEarly).then_some(pinned);
                let handled = self.driver(id).on_input(tick, number, input, pin);
                self.perform_and_poll(config, id, handled, notes);
            }
            (Envelope::Reply(plan, reply), Endpoint::Entity(id), _) => {
                let handled = self.driver(id).on_table_reply(plan, reply);
                self.perform_and_poll(config, id, handled, notes);
            }
            (Envelope::Request(request), Endpoint::Bucket(number), _) => {
                let queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
                let passed = queue.arrive(request, &config.toy);
                self.passed(number, passed);
            }
            (Envelope::Unlock, Endpoint::Bucket(number), _) => {
                let queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
                let passed = queue.unlock(&config.toy);
                self.passed(number, passed);
            }
            (Envelope::Count(from, to), _, _) => {
                if self.lvt_histogram.shift(from, to) {
                    self.advance(config);
                }
            }
            _ => unreachable!("invariant: the endpoint takes envelopes of this kind"),
        }
    }

    /// Sends on a request that has passed a bucket, if one has.
    fn passed(&mut self, number: u32, passed: Option<Passed<ToyModel>>) {
        let here = Endpoint::Bucket(number);
        let unlocked = match passed {
            None => return,
            Some(Passed::Forward { request, unlocked }) => {
                let next = request.wants().expect("invariant: a forwarded request has a next bucket");
                self.post(here, Endpoint::Bucket(next), Envelope::Request(request));
                unlocked
            }
            Some(Passed::Done { plan, written, held }) => {
                self.post(here, Endpoint::Entity(plan.version.entity), Envelope::Reply(plan, written));
                held
            }
        };
        for bucket in unlocked {
            self.post(here, Endpoint::Bucket(bucket), Envelope::Unlock);
        }
    }

    fn poll(&mut self, config: &ModelConfig, id: EntityId, notes: &mut TraceLog) {
        let index = id.0 as usize;
        self.ready[index] = false;
        self.waiting[index] = None;
        let times = self.lvt_histogram.times();
        let decided = config.epoch_ticks.map(|epoch_ticks| Decided {
            epoch_ticks,
            count: self.decided,
            run: config.reference_run(self.admitted),
        });
        let membership = decided.as_ref().map(|decided| decided as &dyn Membership);
        let context = Context { membership, ..Context::new(times, config.limits) };
        let handled = self.driver(id).poll(&config.toy, &context);
        notes.stepped(id, handled.next());
        match self.perform_effects(config, id, handled, notes) {
            Next::Write(plan) if config.lane == Lane::Actors => {
                let request = TableRequest::new(TableWrite::new(&config.grid, &config.toy, plan, times.gvt));
                match request.wants() {
                    Some(first) => {
                        self.post(Endpoint::Entity(id), Endpoint::Bucket(first), Envelope::Request(request));
                    }
                    None => {
                        // An entity without bodies passes no cell.
                        let (plan, reply) = request.finish();
                        let handled = self.driver(id).on_table_reply(plan, reply);
                        self.perform_and_poll(config, id, handled, &mut TraceLog::off());
                    }
                }
            }
            Next::Write(plan) if config.atomicity == Atomicity::Effects => {
                self.plans[index] = Some(Arc::new((plan, times.gvt)));
            }
            Next::Write(plan) => self.write(config, plan, times.gvt, notes),
            Next::AwaitLvtMin(tick) => {
                // Time is read again after registering, as every shell must.
                self.waiting[index] = Some(tick);
                self.wake(config);
            }
            Next::Poll | Next::AwaitAcks | Next::Done => {}
        }
    }

    /// Writes a plan into the shared table, with all its buckets locked.
    fn write(&mut self, config: &ModelConfig, plan: Plan<ToyModel>, gvt: Tick, notes: &mut TraceLog) {
        let id = plan.version.entity;
        let mut search = TableWrite::new(&config.grid, &config.toy, plan, gvt);
        for number in search.buckets() {
            let queue = Arc::make_mut(&mut self.bucket_queues[number as usize]);
            search.pass(&config.toy, &mut queue.bucket);
        }
        let (plan, reply) = search.finish();
        notes.written(&reply);
        let handled = self.driver(id).on_table_reply(plan, reply);
        self.perform_and_poll(config, id, handled, notes);
    }

    /// The next input of the script arrives.
    fn take_input(&mut self, config: &ModelConfig, notes: &mut TraceLog) {
        let number = self.inputs_used;
        self.inputs_used += 1;
        let ScriptedInput { tick, input } = config.script[number];
        self.admit(config, tick, number, input, notes);
    }

    /// Decides the islands of an epoch, and lets GVT rise to the next one.
    fn decide(&mut self, config: &ModelConfig, notes: &mut TraceLog) {
        notes.decided(&config.reference_run(self.admitted).decisions[self.decided]);
        self.decided += 1;
        let last_tick = config.limits.last_tick;
        self.lvt_histogram.set_ceiling(self.next_epoch(config).unwrap_or(last_tick));
        self.advance(config);
    }

    /// Pins GVT for an input and sends it to the home entity of its body; or rejects it, if its tick is committed.
    fn admit(
        &mut self,
        config: &ModelConfig,
        tick: Tick,
        number: usize,
        input: ToyInput,
        notes: &mut TraceLog,
    ) {
        let pinned = self.lvt_histogram.pin(tick);
        notes.input(tick, &input, pinned);
        self.advance(config);
        let is_spawn = matches!(input.kind, ToyInputKind::Spawn(_));
        if is_spawn && self.log.len() <= input.body as usize {
            // A rejected spawn leaves the index of its body unused.
            self.log.resize_with(input.body as usize + 1, Arc::default);
            self.home_entities.resize(input.body as usize + 1, EntityId(u32::MAX));
        }
        let Ok(pinned) = pinned else { return };
        let home = self.home_entities.get(input.body as usize).copied().filter(|home| home.0 != u32::MAX);
        if !is_spawn && home.is_none() {
            // The body never existed.
            if self.lvt_histogram.remove(pinned) {
                self.advance(config);
            }
            return;
        }
        self.admitted |= 1 << number;
        let number = number as u64;
        if is_spawn {
            let id = EntityId(self.drivers.len() as u32);
            let spawned = Entity::spawning(id, pinned, (tick, number, input)).with_fault(config.toy.fault);
            self.drivers.push(Arc::new(Driver::new(spawned)));
            self.home_entities[input.body as usize] = id;
            self.ready.push(true);
            self.waiting.push(None);
            self.plans.push(None);
            self.effects.push(Default::default());
            return;
        }
        let home = home.expect("invariant: checked above");
        let envelope = Envelope::Input { pinned, tick, number, input };
        self.post(Endpoint::Outside, Endpoint::Entity(home), envelope);
        if config.toy.fault == Fault::InputUnpinnedEarly && self.lvt_histogram.remove(pinned) {
            self.advance(config);
        }
    }

    /// Performs one effect. Returns whether GVT may rise.
    pub(super) fn perform_effect(&mut self, config: &ModelConfig, id: EntityId, effect: Effect) -> bool {
        match effect {
            Effect::Enter(tick) => self.lvt_histogram.add(tick),
            Effect::Leave(tick) => return self.lvt_histogram.remove(tick),
            Effect::Send(to, envelope) => self.post(Endpoint::Entity(id), to, *envelope),
            Effect::Advance => self.advance(config),
        }
        false
    }

    /// Raises GVT if it can rise, and wakes the entities that wait for it.
    pub(super) fn advance(&mut self, config: &ModelConfig) {
        self.lvt_histogram.advance();
        self.wake(config);
    }

    /// Wakes the entities that wait for a tick which the lowest LVT has reached.
    fn wake(&mut self, config: &ModelConfig) {
        let late = u64::from(config.toy.fault == Fault::WokenLate);
        let lvt_min = self.lvt_histogram.times().lvt_min;
        for (ready, waiting) in self.ready.iter_mut().zip(&mut self.waiting) {
            if waiting.take_if(|tick| *tick + late <= lvt_min).is_some() {
                *ready = true;
            }
        }
    }

    /// Performs the effects of a handler after which the entity may be polled again.
    fn perform_and_poll(
        &mut self,
        config: &ModelConfig,
        id: EntityId,
        handled: Handled<ToyModel>,
        notes: &mut TraceLog,
    ) {
        if let Next::Poll = self.perform_effects(config, id, handled, notes) {
            self.ready[id.0 as usize] = true;
        }
    }

    /// Performs the effects of a handler, at once or one after another.
    fn perform_effects(
        &mut self,
        config: &ModelConfig,
        id: EntityId,
        handled: Handled<ToyModel>,
        notes: &mut TraceLog,
    ) -> Next<ToyModel> {
        let driver = Arc::make_mut(&mut self.drivers[id.0 as usize]);
        notes.outcome(driver.effects(), driver.entity().lvt());
        let mut shell = ModelShell { log: &mut self.log, fault: config.toy.fault, effects: Vec::new() };
        let next = driver.perform(handled, &mut shell);
        let effects = shell.effects;
        match config.atomicity {
            Atomicity::Handlers => {
                let mut gvt_may_rise = false;
                for effect in effects {
                    gvt_may_rise |= self.perform_effect(config, id, effect);
                }
                if gvt_may_rise {
                    self.advance(config);
                }
            }
            Atomicity::Effects => self.effects[id.0 as usize].extend(effects.into_iter().map(Arc::new)),
        }
        next
    }

    fn driver(&mut self, id: EntityId) -> &mut Driver<ToyModel> {
        Arc::make_mut(&mut self.drivers[id.0 as usize])
    }
}
