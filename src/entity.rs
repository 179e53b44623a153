//! The entity as an actor: mailbox, protocol, `do_send`. It decides nothing.
//!
//! Every handler runs to its end without waiting. A panic in one ends the run with an error that names body and
//! tick; it never leaves the others waiting for an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;

use crate::executor::timewarp::{Runtime, Trouble};
use crate::inputs::Entry;
use crate::physics::World;
use crate::protocol::{Entity, EntityId, Message as Letter, Outbox, Plan, Stats, Step, Written};
use crate::time::Tick;

/// A message from another entity.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deliver {
    pub from: EntityId,
    pub letter: Letter<World>,
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
    pub plan: Plan<World>,
    pub written: Written<World>,
}

/// Say what you have done, and what state you are in.
#[derive(Message)]
#[rtype(result = "(Stats, String)")]
pub(crate) struct GiveAccount {
    /// The run is over and complete: settle everything.
    pub finished: bool,
}

/// One entity as an actor.
pub(crate) struct EntityActor {
    entity: Entity<World>,
    runtime: Arc<Runtime>,
    arbiter: usize,
    out: Outbox<World>,
    /// A `StepNow` to itself is on its way.
    scheduled: bool,
    /// The tick it is registered to be woken at.
    waiting_for: Option<Tick>,
    /// Whether the runtime counts it among those that are done.
    done: bool,
}

impl EntityActor {
    pub fn new(entity: Entity<World>, runtime: Arc<Runtime>, arbiter: usize) -> Self {
        EntityActor {
            entity,
            runtime,
            arbiter,
            out: Outbox::default(),
            scheduled: false,
            waiting_for: None,
            done: false,
        }
    }

    /// Runs a handler unless the run is being ended; a panic ends it.
    fn guarded(&mut self, act: impl FnOnce(&mut Self)) {
        if self.runtime.is_ending() {
            return;
        }
        let caught = catch_unwind(AssertUnwindSafe(|| act(self)));
        if let Err(payload) = caught {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("unknown panic");
            let body = self.runtime.commons.world.bodies[self.entity.body() as usize].id;
            let tick = self.entity.lvt();
            self.runtime.end(Some(Trouble::Panic { body, tick, text: text.to_owned() }));
        }
    }

    /// Sends itself a `StepNow`, behind everything that is already in its mailbox.
    fn schedule(&mut self) {
        if !self.scheduled {
            self.scheduled = true;
            self.runtime.nudge(self.entity.id());
        }
    }

    fn step(&mut self) {
        let runtime = self.runtime.clone();
        let commons = &runtime.commons;
        let now = commons.counters.now();
        self.entity.settle(now.gvt);
        match self.entity.step(&commons.world, &commons.limits, now, &mut self.out) {
            Step::Write(plan) => {
                runtime.stepped(self.arbiter);
                match runtime.write(plan, now.gvt) {
                    Some((plan, written)) => {
                        self.entity.written(plan, written, &mut self.out);
                        self.carry_out();
                        self.schedule();
                    }
                    None => self.carry_out(),
                }
            }
            Step::WaitFor(tick) => {
                self.carry_out();
                let is_registered = self.waiting_for == Some(tick) && commons.counters.now().floor < tick;
                if is_registered || runtime.wait(self.arbiter, self.entity.id(), tick) {
                    self.waiting_for = Some(tick);
                } else {
                    self.waiting_for = None;
                    self.schedule();
                }
            }
            Step::Owes | Step::Done => self.carry_out(),
        }
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
        for (to, letter) in self.out.messages.drain(..) {
            self.runtime.send(to, Deliver { from: id, letter });
        }
        if gvt_may_move {
            self.runtime.advance();
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
        self.guarded(Self::step);
    }
}

impl Handler<WakeUp> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: WakeUp, _: &mut Context<Self>) {
        self.guarded(|this| {
            // The lowest local virtual time may have fallen again: then it must be registered anew.
            this.waiting_for = None;
            this.step();
        });
    }
}

impl Handler<Deliver> for EntityActor {
    type Result = ();

    fn handle(&mut self, message: Deliver, _: &mut Context<Self>) {
        self.guarded(|this| {
            this.entity.handle(message.from, message.letter, &mut this.out);
            this.carry_out();
            this.schedule();
        });
    }
}

impl Handler<Act> for EntityActor {
    type Result = ();

    fn handle(&mut self, message: Act, _: &mut Context<Self>) {
        self.guarded(|this| {
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
        self.guarded(|this| {
            this.entity.written(answer.plan, answer.written, &mut this.out);
            this.carry_out();
            this.schedule();
        });
    }
}

impl Handler<GiveAccount> for EntityActor {
    type Result = MessageResult<GiveAccount>;

    fn handle(&mut self, request: GiveAccount, _: &mut Context<Self>) -> Self::Result {
        let account = format!(
            "{} (body {}) at tick {}, phase {}, owes {} answers, keeps {} segments",
            self.entity.id(),
            self.runtime.commons.world.bodies[self.entity.body() as usize].id.0,
            self.entity.lvt(),
            self.entity.phase(),
            self.entity.owes(),
            self.entity.segments()
        );
        let world = self.runtime.commons.world.clone();
        let stats = if request.finished { self.entity.finish(&world) } else { *self.entity.stats() };
        MessageResult((stats, account))
    }
}
