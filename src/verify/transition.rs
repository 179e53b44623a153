//! Making a move: what a shell does around the state machines, in one place.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use crate::base::panics::words_of;
use crate::base::time::Tick;
use crate::protocol::{Entity, EntityId, Fault, Forward, Outbox, Plan, Search, Step};
use crate::protocol::{Passed, Ticket};
use crate::tvht::Lane;
use crate::verify::config::{Cue, Grain, Setting};
use crate::verify::property::{Broken, Promise};
use crate::verify::state::{Effect, Mail, Move, Play, Seat};
use crate::verify::toy_model::{Act, Deed, Tiny};
use crate::verify::trace::Notes;

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

/// Does something with the state machines. A panic breaks the promise that there is none.
pub(super) fn guarded(act: impl FnOnce() -> Result<(), Broken>) -> Result<(), Broken> {
    hush();
    IS_PLAYING.set(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    IS_PLAYING.set(false);
    done.unwrap_or_else(|panic| Err(Broken { promise: Promise::NoPanic, how: words_of(&*panic).to_owned() }))
}

impl Play {
    /// Makes a move and checks every promise. `notes` takes down what happens, for people.
    pub(super) fn make(&mut self, setting: &Setting, next: Move, notes: &mut Notes) {
        let before = self.counters.gvt();
        let checked = guarded(|| {
            self.perform(setting, next, notes);
            while setting.prompt_answers
                && let Some(prompt) = self.prompt_answer()
            {
                self.perform(setting, prompt, notes);
            }
            self.check(setting, before)
        });
        self.broken = checked.err();
    }

    fn perform(&mut self, setting: &Setting, next: Move, notes: &mut Notes) {
        match next {
            Move::Deliver { from, to } => self.deliver(setting, from, to, notes),
            Move::Step(id) => self.step(setting, id, notes),
            Move::Write(id) => {
                let planned = self.plans[id.0 as usize].take().expect("invariant: it has planned");
                let (plan, gvt) = Arc::unwrap_or_clone(planned);
                self.write(setting, plan, gvt, notes);
            }
            Move::Effect(id) => {
                let effect = self.effects[id.0 as usize].pop_front().expect("invariant: something is left");
                notes.effect(id, &effect);
                if self.take_effect(setting, id, Arc::unwrap_or_clone(effect)) {
                    self.effects[id.0 as usize].push_back(Arc::new(Effect::Advance));
                }
            }
            Move::Cue => self.cue(setting, notes),
        }
    }

    fn deliver(&mut self, setting: &Setting, from: Seat, to: Seat, notes: &mut Notes) {
        let channel = self.channels.get_mut(&(from, to)).expect("invariant: the channel has mail");
        let mail = channel.pop_front().expect("invariant: the channel has mail");
        if channel.is_empty() {
            self.channels.remove(&(from, to));
        }
        notes.delivered(from, to, &mail);
        let mut out = Outbox::default();
        match (Arc::unwrap_or_clone(mail), to, from) {
            (Mail::Letter(letter), Seat::Entity(id), Seat::Entity(sender)) => {
                self.entity(id).handle(sender, letter, &mut out);
                self.ready[id.0 as usize] = true;
                notes.outcome(&out, self.entities[id.0 as usize].lvt());
                self.want(setting, id, &mut out, None);
            }
            (Mail::Act { held, tick, number, act }, Seat::Entity(id), _) => {
                match self.entity(id).act(tick, number, act, &mut out) {
                    Some(Forward { to: next, action }) => {
                        let mail = Mail::Act { held, tick, number, act: action };
                        self.post(Seat::Entity(id), Seat::Entity(next), mail);
                    }
                    None => {
                        self.ready[id.0 as usize] = true;
                        notes.outcome(&out, self.entities[id.0 as usize].lvt());
                        let is_held = setting.tiny.fault != Fault::InputReleasedEarly;
                        self.want(setting, id, &mut out, is_held.then_some(held));
                    }
                }
            }
            (Mail::Answer(plan, written), Seat::Entity(id), _) => {
                self.entity(id).written(plan, written, &mut out);
                self.ready[id.0 as usize] = true;
                notes.outcome(&out, self.entities[id.0 as usize].lvt());
                self.want(setting, id, &mut out, None);
            }
            (Mail::Ticket(ticket), Seat::Bucket(number), _) => {
                let keeper = Arc::make_mut(&mut self.keepers[number as usize]);
                let passed = keeper.arrive(ticket, &setting.tiny);
                self.passed(number, passed);
            }
            (Mail::LetGo, Seat::Bucket(number), _) => {
                let keeper = Arc::make_mut(&mut self.keepers[number as usize]);
                let passed = keeper.let_go(&setting.tiny);
                self.passed(number, passed);
            }
            (Mail::Count(from, to), _, _) => {
                if let Some(to) = to {
                    self.counters.enter(to);
                }
                if from.is_some_and(|from| self.counters.leave(from)) {
                    self.advance(setting);
                }
            }
            _ => unreachable!("invariant: mail goes to those who can read it"),
        }
    }

    /// A ticket has passed a bucket, or none has.
    fn passed(&mut self, number: u32, passed: Option<Passed<Tiny>>) {
        let here = Seat::Bucket(number);
        let keys = match passed {
            None => return,
            Some(Passed::On { ticket, keys }) => {
                let next = ticket.wants().expect("invariant: it wants to go on");
                self.post(here, Seat::Bucket(next), Mail::Ticket(ticket));
                keys
            }
            Some(Passed::Home { plan, written, keys }) => {
                self.post(here, Seat::Entity(plan.entity), Mail::Answer(plan, written));
                keys
            }
        };
        for key in keys {
            self.post(here, Seat::Bucket(key), Mail::LetGo);
        }
    }

    fn step(&mut self, setting: &Setting, id: EntityId, notes: &mut Notes) {
        let at = id.0 as usize;
        self.ready[at] = false;
        self.waiting[at] = None;
        let now = self.counters.now();
        let keeps_no_history = setting.tiny.fault == Fault::HistoryNotKept;
        let mut out = Outbox::default();
        let circle = self.circle.clone();
        let entity = self.entity(id);
        entity.settle(if keeps_no_history { now.floor } else { now.gvt });
        if let Some(circle) = circle.as_deref() {
            entity.regroup(circle, &setting.limits, now, &mut out);
        }
        let step = entity.step(&setting.tiny, &setting.limits, now, &mut out);
        notes.stepped(id, &step);
        notes.outcome(&out, self.entities[at].lvt());
        match step {
            Step::Write(plan) if setting.lane == Lane::Actors => {
                self.want(setting, id, &mut out, None);
                let ticket = Ticket::new(Search::new(&setting.grid, &setting.tiny, plan, now.gvt));
                match ticket.wants() {
                    Some(first) => self.post(Seat::Entity(id), Seat::Bucket(first), Mail::Ticket(ticket)),
                    None => {
                        // An entity without bodies passes no cell.
                        let (plan, written) = ticket.finish();
                        self.entity(id).written(plan, written, &mut out);
                        self.ready[at] = true;
                        self.want(setting, id, &mut out, None);
                    }
                }
            }
            Step::Write(plan) if setting.grain == Grain::Effects => {
                self.want(setting, id, &mut out, None);
                self.plans[at] = Some(Arc::new((plan, now.gvt)));
            }
            Step::Write(plan) => {
                self.want(setting, id, &mut out, None);
                self.write(setting, plan, now.gvt, notes);
            }
            Step::WaitFor(tick) => {
                self.want(setting, id, &mut out, None);
                // Time is read again after registering, as every shell must.
                self.waiting[at] = Some(tick);
                self.wake(setting);
            }
            Step::Owes => self.want(setting, id, &mut out, None),
            Step::Done => {
                if let Some(circle) = circle.as_deref() {
                    self.entity(id).make_size_known(circle);
                }
                self.want(setting, id, &mut out, None);
            }
        }
    }

    /// Writes a plan into the shared table, as one who has locked all its buckets.
    fn write(&mut self, setting: &Setting, plan: Plan<Tiny>, gvt: Tick, notes: &mut Notes) {
        let id = plan.entity;
        let mut search = Search::new(&setting.grid, &setting.tiny, plan, gvt);
        for number in search.buckets() {
            let keeper = Arc::make_mut(&mut self.keepers[number as usize]);
            search.pass(&setting.tiny, &mut keeper.bucket);
        }
        let (plan, written) = search.finish();
        notes.written(&written);
        let mut out = Outbox::default();
        self.entity(id).written(plan, written, &mut out);
        self.ready[id.0 as usize] = true;
        notes.outcome(&out, self.entities[id.0 as usize].lvt());
        self.want(setting, id, &mut out, None);
    }

    fn cue(&mut self, setting: &Setting, notes: &mut Notes) {
        let number = self.cued;
        self.cued += 1;
        match &setting.script[number] {
            Cue::Act { tick, act } => self.act(setting, *tick, number, *act, notes),
            Cue::HandOver { from, bodies, to } => {
                let gvt = self.counters.gvt();
                let mut out = Outbox::default();
                let giver = self.entity(*from);
                let some: Vec<u32> =
                    bodies.iter().copied().filter(|body| giver.members().contains(body)).collect();
                giver.hand_over(&some, *to, gvt, &mut out);
                notes.handed_over(*from, &some, *to);
                notes.outcome(&out, self.entities[from.0 as usize].lvt());
                self.ready[from.0 as usize] = true;
                self.want(setting, *from, &mut out, None);
            }
        }
    }

    fn act(&mut self, setting: &Setting, tick: Tick, number: usize, act: Act, notes: &mut Notes) {
        let held = self.counters.hold(tick);
        notes.acted(tick, &act, held);
        self.advance(setting);
        let is_birth = matches!(act.deed, Deed::Appear(_));
        if is_birth && self.log.len() <= act.body as usize {
            // Who was refused leaves its number unused.
            self.log.resize_with(act.body as usize + 1, Arc::default);
            self.births.resize(act.body as usize + 1, EntityId(u32::MAX));
        }
        let Ok(held) = held else { return };
        let birth = self.births.get(act.body as usize).copied().filter(|birth| birth.0 != u32::MAX);
        if !is_birth && birth.is_none() {
            // Nobody ever had that body.
            self.counters.leave(held);
            return;
        }
        self.let_in |= 1 << number;
        let number = number as u64;
        if is_birth {
            let id = EntityId(self.entities.len() as u32);
            let newborn = Entity::unborn(id, held, (tick, number, act)).with_fault(setting.tiny.fault);
            self.entities.push(Arc::new(newborn));
            self.births[act.body as usize] = id;
            self.ready.push(true);
            self.waiting.push(None);
            self.plans.push(None);
            self.effects.push(Default::default());
            return;
        }
        let birth = birth.expect("invariant: checked above");
        self.post(Seat::Outside, Seat::Entity(birth), Mail::Act { held, tick, number, act });
        if setting.tiny.fault == Fault::InputReleasedEarly && self.counters.leave(held) {
            self.advance(setting);
        }
    }

    /// Does one thing. Says whether global virtual time may have moved.
    pub(super) fn take_effect(&mut self, setting: &Setting, id: EntityId, effect: Effect) -> bool {
        match effect {
            Effect::Enter(tick) => self.counters.enter(tick),
            Effect::Leave(tick) => return self.counters.leave(tick),
            Effect::Send(to, mail) => self.post(Seat::Entity(id), to, *mail),
            Effect::Advance => self.advance(setting),
        }
        false
    }

    /// Looks whether global virtual time can rise, and wakes those who waited for it.
    pub(super) fn advance(&mut self, setting: &Setting) {
        self.counters.advance();
        self.wake(setting);
    }

    /// Wakes those whose tick has come.
    fn wake(&mut self, setting: &Setting) {
        let late = u64::from(setting.tiny.fault == Fault::WokenLate);
        let floor = self.counters.now().floor;
        for (ready, waiting) in self.ready.iter_mut().zip(&mut self.waiting) {
            if waiting.take_if(|tick| *tick + late <= floor).is_some() {
                *ready = true;
            }
        }
    }

    fn entity(&mut self, id: EntityId) -> &mut Entity<Tiny> {
        Arc::make_mut(&mut self.entities[id.0 as usize])
    }
}

/// What a handler wants done, in the order in which it must be done: counters first, then messages, and only then
/// is let go what was held.
pub(super) fn in_order(fault: Fault, out: &mut Outbox<Tiny>, held: Option<Tick>) -> Vec<Effect> {
    let mut counts = Vec::new();
    if let Some((from, to)) = out.counted.take() {
        if fault == Fault::CountByMessage {
            counts.push(Effect::Send(Seat::Clerk, Box::new(Mail::Count(from, to))));
        } else {
            counts.extend(to.map(Effect::Enter));
            counts.extend(from.map(Effect::Leave));
        }
    }
    if fault == Fault::LeaveBeforeEnter {
        counts.reverse();
    }
    let letter = |(to, letter)| Effect::Send(Seat::Entity(to), Box::new(Mail::Letter(letter)));
    let letters: Vec<Effect> = out.messages.drain(..).map(letter).collect();
    let (first, second) =
        if fault == Fault::AnswerBeforeCount { (letters, counts) } else { (counts, letters) };
    first.into_iter().chain(second).chain(held.map(Effect::Leave)).collect()
}
