//! The entity as an actor: mailbox, protocol, `do_send`. It decides nothing.
//!
//! Every handler runs to its end without waiting. A panic in one ends the run with an error that names body and
//! tick; it never leaves the others waiting for an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;

use crate::base::panics::words_of;
use crate::base::parallel;
use crate::base::time::Tick;
use crate::executor::timewarp::{Runtime, Trouble};
use crate::protocol::{Entity, EntityId, Message as Letter, Outbox, Plan, Stats, Step, Written};
use crate::rigid::RigidModel;
use crate::runtime::inputs::Entry;
use crate::runtime::task_graph::{Note, Occasion};
use crate::runtime::trace::Phase;

/// A message from another entity.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deliver {
    pub from: EntityId,
    pub letter: Letter<RigidModel>,
}

/// Somebody outside acts on a body of yours, and holds global virtual time at a tick until that has arrived.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Act {
    pub held: Tick,
    pub entry: Entry,
}

/// Do what you may do.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct StepNow;

/// What you waited for has happened.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct WakeUp;

/// The table's answer to a plan, when its buckets are actors.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct TableAnswer {
    pub plan: Plan<RigidModel>,
    pub written: Written<RigidModel>,
}

/// Say what you have done, and what state you are in.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct GiveAccount {
    /// The run is over and complete: settle everything.
    pub finished: bool,
}

/// So many of those who are farthest behind are told about when a run stalls.
const BEHIND_MAX: usize = 12;

/// What several entities have done, and where those stand that are farthest behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub entities: usize,
    pub stats: Stats,
    pub behind: Vec<(Tick, String)>,
}

impl Account {
    pub fn note(&mut self, stats: &Stats, behind: Option<(Tick, String)>) {
        self.entities += 1;
        self.stats.add(stats);
        self.behind.extend(behind);
        if self.behind.len() > 2 * BEHIND_MAX {
            self.keep_farthest();
        }
    }

    pub fn add(&mut self, other: &Account) {
        self.entities += other.entities;
        self.stats.add(&other.stats);
        self.behind.extend(other.behind.iter().cloned());
        self.keep_farthest();
    }

    fn keep_farthest(&mut self) {
        self.behind.sort();
        self.behind.truncate(BEHIND_MAX);
    }
}

/// One entity as an actor.
pub(crate) struct EntityActor {
    entity: Entity<RigidModel>,
    runtime: Arc<Runtime>,
    arbiter: usize,
    out: Outbox<RigidModel>,
    /// A `StepNow` to itself is on its way.
    scheduled: bool,
    /// The tick it is registered to be woken at.
    waiting_for: Option<Tick>,
    /// Whether the runtime counts it among those that are done.
    done: bool,
    /// Since when it has been doing what it is doing; nothing if nobody wants to know.
    since: Option<u64>,
    /// What the handler that runs has done, if the task graph is recorded.
    note: Note,
}

impl EntityActor {
    pub fn new(entity: Entity<RigidModel>, runtime: Arc<Runtime>, arbiter: usize) -> Self {
        EntityActor {
            entity,
            runtime,
            arbiter,
            out: Outbox::default(),
            scheduled: false,
            waiting_for: None,
            done: false,
            since: None,
            note: Note::default(),
        }
    }

    /// Where it stands, in words.
    fn whereabouts(&self) -> String {
        format!(
            "{} (body {}) at tick {}, phase {}, owes {} answers, keeps {} segments",
            self.entity.id(),
            self.runtime.commons.model.world.bodies[self.entity.body() as usize].id.0,
            self.entity.lvt(),
            self.entity.phase(),
            self.entity.owes(),
            self.entity.segments()
        )
    }

    /// Runs a handler unless the run is being ended; a panic ends it.
    fn guarded(&mut self, occasion: Occasion, act: impl FnOnce(&mut Self)) {
        if self.runtime.is_ending() {
            return;
        }
        let begun = self.runtime.trace_now();
        let lvt = self.entity.lvt();
        self.since = begun;
        let segments = self.entity.segments();
        let caught = catch_unwind(AssertUnwindSafe(|| act(self)));
        self.runtime.meter(self.arbiter).kept(segments, self.entity.segments());
        self.mark(Phase::Send);
        if let (Some(graph), Some(begun), Some(now)) = (self.runtime.graph(), begun, self.since) {
            let moved = (lvt, self.entity.lvt());
            graph.ran(self.entity.id(), &occasion, moved, now.saturating_sub(begun), &mut self.note);
            self.note = Note::default();
        }
        if let Err(payload) = caught {
            let text = words_of(&*payload);
            let body = self.runtime.commons.model.world.bodies[self.entity.body() as usize].id;
            let tick = self.entity.lvt();
            self.runtime.end(Some(Trouble::Panic { body, tick, text: text.to_owned() }));
        }
    }

    /// What it did until now was `phase`; something else begins.
    fn mark(&mut self, phase: Phase) {
        if let Some(since) = self.since {
            let who = (Some(self.entity.id()), self.entity.lvt());
            self.since = self.runtime.trace(self.arbiter, phase, who, since);
        }
    }

    /// Sends itself a `StepNow`, behind everything that is already in its mailbox.
    fn schedule(&mut self) {
        if !self.scheduled {
            self.scheduled = true;
            self.note.nudged = true;
            self.runtime.meter(self.arbiter).nudged();
            self.runtime.nudge(self.entity.id());
        }
    }

    fn step(&mut self) {
        let runtime = self.runtime.clone();
        let commons = &runtime.commons;
        let now = commons.counters.now();
        self.entity.settle(now.gvt);
        if let Some(circle) = &commons.circle {
            self.entity.regroup(circle, &commons.limits, now, &mut self.out);
        }
        let responses = self.entity.stats().responses;
        let mut limits = commons.throttle.limits();
        let homes = commons.epochs.as_ref().map(|epochs| &epochs.homes);
        let moved = homes.and_then(|homes| self.entity.move_house(homes, &mut limits, now, &mut self.out));
        let step = match moved {
            Some(step) => step,
            None => parallel::with_help(self.entity.members().len(), || {
                self.entity.step(&commons.model, &limits, now, &mut self.out)
            }),
        };
        let has_responded = self.entity.stats().responses > responses;
        self.mark(if has_responded { Phase::Respond } else { Phase::Step });
        match step {
            Step::Write(plan) => match runtime.write(plan, now.gvt) {
                Some((plan, written)) => {
                    self.entity.written(plan, written, &mut self.out);
                    self.has_written(now.floor);
                    self.mark(Phase::Write);
                    self.carry_out();
                    match self.entity.waits_for(&limits, now) {
                        Some(tick) => self.wait_for(tick),
                        None => self.schedule(),
                    }
                }
                None => self.carry_out(),
            },
            Step::WaitFor(tick) => {
                self.carry_out();
                self.wait_for(tick);
            }
            Step::Owes => self.carry_out(),
            Step::Done => {
                if let Some(circle) = &commons.circle {
                    self.entity.make_size_known(circle);
                }
                self.carry_out();
            }
        }
    }

    /// Has itself woken when the lowest local virtual time reaches a tick.
    fn wait_for(&mut self, tick: Tick) {
        let is_registered =
            self.waiting_for == Some(tick) && self.runtime.commons.counters.now().floor < tick;
        self.note.waits_for = Some(tick);
        if is_registered || self.runtime.wait(self.arbiter, self.entity.id(), tick) {
            self.waiting_for = Some(tick);
        } else {
            self.waiting_for = None;
            self.schedule();
        }
    }

    fn has_written(&mut self, floor: Tick) {
        let ahead = self.entity.lvt().saturating_sub(floor);
        self.runtime.meter(self.arbiter).stepped(ahead, &self.entity);
    }

    /// Does what the last handler wanted done: counters first, then messages.
    fn carry_out(&mut self) {
        let id = self.entity.id();
        let gvt_may_move = self.runtime.commons.apply(&mut self.out);
        let done = self.entity.is_done(&self.runtime.commons.limits);
        let was_done = std::mem::replace(&mut self.done, done);
        if was_done && !done {
            self.runtime.not_done();
        }
        if self.runtime.graph().is_some() {
            self.note.sent.extend(self.out.messages.iter().map(|(to, _)| *to));
        }
        for (to, letter) in self.out.messages.drain(..) {
            self.runtime.send(to, Deliver { from: id, letter });
        }
        if gvt_may_move {
            self.mark(Phase::Send);
            self.runtime.advance();
            self.mark(Phase::Gvt);
        }
        if done && !was_done {
            self.runtime.one_done();
        }
    }
}

impl Actor for EntityActor {
    type Context = Context<Self>;
}

impl Handler<StepNow> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: StepNow, _: &mut Context<Self>) {
        self.scheduled = false;
        self.runtime.meter(self.arbiter).asked();
        self.guarded(Occasion::Asked, Self::step);
    }
}

impl Handler<WakeUp> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: WakeUp, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).asked();
        self.guarded(Occasion::Asked, |this| {
            // The lowest local virtual time may have fallen again: then it must be registered anew.
            this.waiting_for = None;
            this.step();
        });
    }
}

impl Handler<Deliver> for EntityActor {
    type Result = ();

    fn handle(&mut self, message: Deliver, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).heard(&message.letter);
        self.guarded(Occasion::Mail(message.from), |this| {
            let phase = Phase::of(&message.letter);
            this.entity.handle(message.from, message.letter, &mut this.out);
            this.mark(phase);
            this.carry_out();
            this.schedule();
        });
    }
}

impl Handler<Act> for EntityActor {
    type Result = ();

    fn handle(&mut self, message: Act, _: &mut Context<Self>) {
        self.guarded(Occasion::Asked, |this| {
            let Act { held, entry } = message;
            match this.entity.act(entry.tick, entry.number, entry.action, &mut this.out) {
                Some(forward) => this.runtime.send_on(forward.to, Act { held, entry }),
                None => {
                    this.carry_out();
                    // Only now, when what it did is counted, may global virtual time move on.
                    this.runtime.release(held);
                    this.schedule();
                }
            }
        });
    }
}

impl Handler<TableAnswer> for EntityActor {
    type Result = ();

    fn handle(&mut self, answer: TableAnswer, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).table_answered();
        self.guarded(Occasion::Asked, |this| {
            this.entity.written(answer.plan, answer.written, &mut this.out);
            this.has_written(this.runtime.commons.counters.now().floor);
            this.mark(Phase::Table);
            this.carry_out();
            this.schedule();
        });
    }
}

impl Handler<GiveAccount> for EntityActor {
    type Result = ();

    fn handle(&mut self, request: GiveAccount, _: &mut Context<Self>) {
        let behind = (!request.finished).then(|| (self.entity.lvt(), self.whereabouts()));
        let runtime = self.runtime.clone();
        let stats =
            if request.finished { self.entity.finish(&runtime.commons.model) } else { *self.entity.stats() };
        self.runtime.account(self.arbiter, &stats, behind);
    }
}
