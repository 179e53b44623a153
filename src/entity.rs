//! The entity as an actor: mailbox, protocol, `do_send`. It decides nothing.
//!
//! Every handler runs to its end without waiting. A panic in one ends the run with an error that names body and
//! tick; it never leaves the others waiting for an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;

use crate::base::panics::panic_message;
use crate::base::parallel;
use crate::base::time::Tick;
use crate::executor::timewarp::{Failure, Runtime};
use crate::protocol::{Entity, EntityId, Message as Letter, Outbox, Plan, Stats, Step, WriteResult};
use crate::rigid::RigidModel;
use crate::runtime::inputs::Entry;
use crate::runtime::task_graph::{Note, Occasion};
use crate::runtime::trace::Phase;

/// A message from another entity.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deliver {
    pub from: EntityId,
    pub message: Letter<RigidModel>,
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
    pub written: WriteResult<RigidModel>,
}

/// Say what you have done, and what state you are in.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ReportNow {
    /// The run is over and complete: fossil_collect everything.
    pub finished: bool,
}

/// So many of those who are farthest behind are told about when a run stalls.
const BEHIND_MAX: usize = 12;

/// What several entities have done, and where those stand that are farthest behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntityReport {
    pub entities: usize,
    pub stats: Stats,
    pub behind: Vec<(Tick, String)>,
}

impl EntityReport {
    pub fn note(&mut self, stats: &Stats, behind: Option<(Tick, String)>) {
        self.entities += 1;
        self.stats.add(stats);
        self.behind.extend(behind);
        if self.behind.len() > 2 * BEHIND_MAX {
            self.keep_farthest();
        }
    }

    pub fn add(&mut self, other: &EntityReport) {
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
            "{} (body {}) at tick {}, phase {}, pending_ack_count {} answers, keeps {} segments",
            self.entity.id(),
            self.runtime.shared.model.world.bodies[self.entity.body() as usize].id.0,
            self.entity.lvt(),
            self.entity.phase(),
            self.entity.pending_ack_count(),
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
        self.runtime.core_counters(self.arbiter).kept(segments, self.entity.segments());
        self.mark(Phase::Send);
        if let (Some(graph), Some(begun), Some(now)) = (self.runtime.graph(), begun, self.since) {
            let moved = (lvt, self.entity.lvt());
            graph.ran(self.entity.id(), &occasion, moved, now.saturating_sub(begun), &mut self.note);
            self.note = Note::default();
        }
        if let Err(payload) = caught {
            let text = panic_message(&*payload);
            let body = self.runtime.shared.model.world.bodies[self.entity.body() as usize].id;
            let tick = self.entity.lvt();
            self.runtime.end(Some(Failure::Panic { body, tick, text: text.to_owned() }));
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
            self.note.self_stepped = true;
            self.runtime.core_counters(self.arbiter).self_stepped();
            self.runtime.step_later(self.entity.id());
        }
    }

    fn step(&mut self) {
        let runtime = self.runtime.clone();
        let shared = &runtime.shared;
        let now = shared.lvt_histogram.times();
        self.entity.fossil_collect(now.gvt);
        if let Some(directory) = &shared.directory {
            self.entity.recluster(directory, &shared.limits, now, &mut self.out);
        }
        let responses = self.entity.stats().responses;
        let mut limits = shared.throttle.limits();
        let membership = shared.epochs.as_ref().map(|epochs| &epochs.membership);
        let moved = membership
            .and_then(|membership| self.entity.apply_membership(membership, &mut limits, now, &mut self.out));
        let step = match moved {
            Some(step) => step,
            None => parallel::install(self.entity.members().len(), || {
                self.entity.step(&shared.model, &limits, now, &mut self.out)
            }),
        };
        let has_responded = self.entity.stats().responses > responses;
        self.mark(if has_responded { Phase::Respond } else { Phase::Step });
        match step {
            Step::Write(plan) => match runtime.write(plan, now.gvt) {
                Some((plan, written)) => {
                    self.entity.written(plan, written, &mut self.out);
                    self.has_written(now.lvt_min);
                    self.mark(Phase::Write);
                    self.carry_out();
                    match self.entity.waits_for(&limits, now) {
                        Some(tick) => self.wait_for(tick),
                        None => self.schedule(),
                    }
                }
                None => self.carry_out(),
            },
            Step::AwaitLvtMin(tick) => {
                self.carry_out();
                self.wait_for(tick);
            }
            Step::AwaitAcks => self.carry_out(),
            Step::Done => {
                if let Some(directory) = &shared.directory {
                    self.entity.publish_size(directory);
                }
                self.carry_out();
            }
        }
    }

    /// Has itself woken when the lowest local virtual time ranges a tick.
    fn wait_for(&mut self, tick: Tick) {
        let is_registered =
            self.waiting_for == Some(tick) && self.runtime.shared.lvt_histogram.times().lvt_min < tick;
        self.note.waits_for = Some(tick);
        if is_registered || self.runtime.wait(self.arbiter, self.entity.id(), tick) {
            self.waiting_for = Some(tick);
        } else {
            self.waiting_for = None;
            self.schedule();
        }
    }

    fn has_written(&mut self, lvt_min: Tick) {
        let ahead = self.entity.lvt().saturating_sub(lvt_min);
        self.runtime.core_counters(self.arbiter).stepped(ahead, &self.entity);
    }

    /// Does what the last handler wanted done: lvt_histogram first, then messages.
    fn carry_out(&mut self) {
        let id = self.entity.id();
        let gvt_may_move = self.runtime.shared.apply(&mut self.out);
        let done = self.entity.is_done(&self.runtime.shared.limits);
        let was_done = std::mem::replace(&mut self.done, done);
        if was_done && !done {
            self.runtime.not_done();
        }
        if self.runtime.graph().is_some() {
            self.note.sent.extend(self.out.messages.iter().map(|(to, _)| *to));
        }
        for (to, message) in self.out.messages.drain(..) {
            self.runtime.send(to, Deliver { from: id, message });
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
        self.runtime.core_counters(self.arbiter).asked();
        self.guarded(Occasion::Asked, Self::step);
    }
}

impl Handler<WakeUp> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: WakeUp, _: &mut Context<Self>) {
        self.runtime.core_counters(self.arbiter).asked();
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
        self.runtime.core_counters(self.arbiter).heard(&message.message);
        self.guarded(Occasion::Mail(message.from), |this| {
            let phase = Phase::of(&message.message);
            this.entity.handle(message.from, message.message, &mut this.out);
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
        self.runtime.core_counters(self.arbiter).table_replied();
        self.guarded(Occasion::Asked, |this| {
            this.entity.written(answer.plan, answer.written, &mut this.out);
            this.has_written(this.runtime.shared.lvt_histogram.times().lvt_min);
            this.mark(Phase::Table);
            this.carry_out();
            this.schedule();
        });
    }
}

impl Handler<ReportNow> for EntityActor {
    type Result = ();

    fn handle(&mut self, request: ReportNow, _: &mut Context<Self>) {
        let behind = (!request.finished).then(|| (self.entity.lvt(), self.whereabouts()));
        let runtime = self.runtime.clone();
        let stats =
            if request.finished { self.entity.finish(&runtime.shared.model) } else { *self.entity.stats() };
        self.runtime.report(self.arbiter, &stats, behind);
    }
}
