//! The entity as an actor: mailbox, driver, effects. It decides nothing.
//!
//! Every handler runs to its end without waiting. A panic in one ends the run with an error that names body and tick; it
//! never leaves other entities waiting for an acknowledgement.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::vec::Drain;

use actix::prelude::*;
use crossbeam::channel::Sender;

use crate::base::panics::panic_message;
use crate::base::parallel;
use crate::base::time::Tick;
use crate::protocol::{
    BodyIndex, Driver, Entity, EntityId, Handled, Message as ProtocolMessage, Next, Plan, Shell,
    StartedFlight, VirtualTimes, WriteResult,
};
use crate::rigid::RigidModel;
use crate::runtime::inputs::QueuedInput;
use crate::runtime::network::{Failure, Network};
use crate::runtime::trace::Phase;

/// A message from another entity.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deliver {
    pub from: EntityId,
    pub message: ProtocolMessage<RigidModel>,
}

/// An input for a body of the entity. It pins GVT at a tick until it has taken effect.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct DeliverInput {
    pub pinned: Tick,
    pub entry: QueuedInput,
}

/// Poll, now that everything that arrived earlier has been handled.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Poll;

/// The lowest LVT has reached the tick the entity waited for.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct WakeUp;

/// The table's reply to a plan, where buckets are actors.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct TableReply {
    pub plan: Plan<RigidModel>,
    pub reply: WriteResult<RigidModel>,
}

/// Report what has been done, and in which state the entity is.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ReportNow {
    /// The run is over and complete: commit everything.
    pub finished: bool,
    /// Goes when the report is there, or never will be.
    pub _unanswered: Sender<()>,
}

/// One entity as an actor.
pub(crate) struct EntityActor {
    driver: Driver<RigidModel>,
    network: Arc<Network>,
    arbiter: usize,
    /// A [`Poll`] to itself is on its way.
    scheduled: bool,
    /// The tick it is registered to be woken at.
    waiting_for: Option<Tick>,
    /// Whether the network counts it among the entities that are done.
    done: bool,
    /// When the phase that runs began, if the run is traced.
    since: Option<u64>,
}

/// Performs effects: the log and virtual time in shared memory, messages through the network.
struct ActorShell<'a> {
    id: EntityId,
    arbiter: usize,
    network: &'a Network,
    gvt_may_rise: bool,
    unpinned: bool,
}

impl Shell<RigidModel> for ActorShell<'_> {
    fn retract_flights(&mut self, flights: Drain<'_, (BodyIndex, Tick)>) {
        flights.for_each(|(body, after)| self.network.shared.log.retract(body, after));
    }

    fn start_flights(&mut self, flights: Drain<'_, StartedFlight<RigidModel>>) {
        self.network.shared.log.start(flights);
    }

    fn move_lvt(&mut self, from: Option<Tick>, to: Option<Tick>) {
        self.gvt_may_rise |= self.network.shared.gvt.shift(from, to);
    }

    fn send(&mut self, to: EntityId, message: ProtocolMessage<RigidModel>) {
        self.network.sending(self.arbiter).deliver(self.id, to, message);
    }

    fn unpin(&mut self, pinned: Tick) {
        self.gvt_may_rise |= self.network.shared.gvt.remove(pinned);
        self.unpinned = true;
    }
}

impl EntityActor {
    pub fn new(entity: Entity<RigidModel>, network: Arc<Network>, arbiter: usize) -> Self {
        EntityActor {
            driver: Driver::new(entity),
            network,
            arbiter,
            scheduled: false,
            waiting_for: None,
            done: false,
            since: None,
        }
    }

    fn id(&self) -> EntityId {
        self.driver.entity().id()
    }

    /// Runs a handler unless the run is being ended; a panic ends it.
    fn guarded(&mut self, act: impl FnOnce(&mut Self)) {
        if !self.network.is_ending() {
            self.run_handler(act);
        }
        self.network.counters(self.arbiter).has_handled();
    }

    fn run_handler(&mut self, act: impl FnOnce(&mut Self)) {
        self.since = self.network.trace_now();
        let segments = self.driver.entity().segments();
        let caught = catch_unwind(AssertUnwindSafe(|| act(self)));
        self.network.counters(self.arbiter).segments_changed(segments, self.driver.entity().segments());
        self.mark(Phase::Send);
        if let Err(payload) = caught {
            self.has_panicked(&*payload);
        }
        if let Some((tick, crowd)) = self.network.shared.model.crowds.failure() {
            self.network.end(Some(Failure::Crowded { tick, crowd }));
        }
    }

    /// Ends the run with an error that names body and tick.
    fn has_panicked(&self, payload: &(dyn Any + Send)) {
        let entity = self.driver.entity();
        let body = self.network.shared.model.world.bodies[entity.body() as usize].id;
        let text = panic_message(payload).to_owned();
        self.network.end(Some(Failure::Panic { body, tick: entity.lvt(), text }));
    }

    /// What was done until now belongs to `phase`; another phase begins.
    fn mark(&mut self, phase: Phase) {
        if let Some(since) = self.since {
            let at = (Some(self.id()), self.driver.entity().lvt());
            self.since = self.network.trace(self.arbiter, phase, at, since);
        }
    }

    /// Sends itself a [`Poll`], behind everything that is already in its mailbox.
    fn schedule(&mut self) {
        if !self.scheduled {
            self.scheduled = true;
            self.network.counters(self.arbiter).self_stepped();
            self.network.sending(self.arbiter).poll(self.id());
        }
    }

    fn poll(&mut self) {
        let network = self.network.clone();
        let context = network.context();
        let responses = self.driver.entity().stats().responses;
        let bodies = self.driver.entity().members().len();
        let handled = parallel::install(bodies, || self.driver.poll(&network.shared.model, &context));
        let has_responded = self.driver.entity().stats().responses > responses;
        self.mark(if has_responded { Phase::Respond } else { Phase::Step });
        match self.perform(handled) {
            Next::Write(plan) => {
                let Some((plan, reply)) = network.write(self.arbiter, plan, context.times.gvt) else {
                    return;
                };
                let handled = self.driver.on_table_reply(plan, reply);
                self.has_written(context.times);
                self.mark(Phase::Write);
                let next = self.perform(handled);
                // Saves the poll that would only say so.
                match self.driver.awaits_lvt_min(&context) {
                    Some(tick) => self.wait_for(tick),
                    None => self.follow(next),
                }
            }
            next => self.follow(next),
        }
    }

    /// Does what comes next after a handler.
    fn follow(&mut self, next: Next<RigidModel>) {
        match next {
            Next::Poll => self.schedule(),
            Next::AwaitLvtMin(tick) => self.wait_for(tick),
            Next::AwaitAcks | Next::Done => {}
            Next::Write(_) => unreachable!("invariant: handled where it can come"),
        }
    }

    /// Has itself woken when the lowest LVT reaches a tick.
    fn wait_for(&mut self, tick: Tick) {
        let is_registered = self.waiting_for == Some(tick) && self.network.shared.gvt.times().lvt_min < tick;
        if is_registered || self.network.wait(self.arbiter, self.id(), tick) {
            self.waiting_for = Some(tick);
        } else {
            self.waiting_for = None;
            self.schedule();
        }
    }

    fn has_written(&mut self, times: VirtualTimes) {
        let ahead = self.driver.entity().lvt().saturating_sub(times.lvt_min);
        self.network.counters(self.arbiter).stepped(ahead, self.driver.entity());
    }

    /// Performs the effects of a handler, and keeps the count of entities that are not done.
    fn perform(&mut self, handled: Handled<RigidModel>) -> Next<RigidModel> {
        let done = self.driver.entity().is_done(&self.network.shared.limits);
        let was_done = std::mem::replace(&mut self.done, done);
        // Before its messages leave: the count must not reach zero while one is on its way.
        if was_done && !done {
            self.network.not_done();
        }
        let id = self.id();
        let mut shell = ActorShell {
            id,
            arbiter: self.arbiter,
            network: &self.network,
            gvt_may_rise: false,
            unpinned: false,
        };
        let next = self.driver.perform(handled, &mut shell);
        let ActorShell { gvt_may_rise, unpinned, .. } = shell;
        if gvt_may_rise {
            self.mark(Phase::Send);
            self.network.advance();
            self.mark(Phase::Gvt);
        }
        for _ in 0..u8::from(done && !was_done) + u8::from(unpinned) {
            self.network.one_done();
        }
        next
    }
}

/// What arrives at an entity, whatever carries it.
impl EntityActor {
    pub fn on_poll(&mut self) {
        self.scheduled = false;
        self.guarded(Self::poll);
    }

    pub fn on_wake_up(&mut self) {
        self.guarded(|this| {
            // The lowest LVT may have fallen again: then it must be registered anew.
            this.waiting_for = None;
            this.poll();
        });
    }

    pub fn on_message(&mut self, from: EntityId, message: ProtocolMessage<RigidModel>) {
        self.network.counters(self.arbiter).message_arrived(&message);
        self.guarded(|this| {
            let phase = Phase::of(&message);
            let handled = this.driver.on_message(from, message);
            this.mark(phase);
            let next = this.perform(handled);
            this.follow(next);
        });
    }

    pub fn on_table_reply(&mut self, plan: Plan<RigidModel>, reply: WriteResult<RigidModel>) {
        self.network.counters(self.arbiter).table_replied();
        self.guarded(|this| {
            let handled = this.driver.on_table_reply(plan, reply);
            this.has_written(this.network.shared.gvt.times());
            this.mark(Phase::TableReply);
            let next = this.perform(handled);
            this.follow(next);
        });
    }

    /// Gives a report; `finished`: the run is complete, and everything is committed.
    pub fn report(&mut self, finished: bool) {
        let network = self.network.clone();
        let caught = catch_unwind(AssertUnwindSafe(|| match finished {
            true => (self.driver.finish(&network.shared.model), None),
            false => {
                let entity = self.driver.entity();
                let is_behind = !entity.is_done(&network.shared.limits);
                let describe = || (entity.lvt(), entity.describe(&network.shared.model, self.waiting_for));
                (*entity.stats(), is_behind.then(describe))
            }
        }));
        match caught {
            Ok((stats, behind)) => network.report(self.arbiter, &stats, behind),
            Err(payload) => self.has_panicked(&*payload),
        }
    }
}

impl Actor for EntityActor {
    type Context = Context<Self>;
}

impl Handler<Poll> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: Poll, _: &mut Context<Self>) {
        self.on_poll();
    }
}

impl Handler<WakeUp> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: WakeUp, _: &mut Context<Self>) {
        self.on_wake_up();
    }
}

impl Handler<Deliver> for EntityActor {
    type Result = ();

    fn handle(&mut self, Deliver { from, message }: Deliver, _: &mut Context<Self>) {
        self.on_message(from, message);
    }
}

impl Handler<DeliverInput> for EntityActor {
    type Result = ();

    fn handle(&mut self, DeliverInput { pinned, entry }: DeliverInput, _: &mut Context<Self>) {
        self.guarded(|this| {
            let handled = this.driver.on_input(entry.tick, entry.number, entry.input, Some(pinned));
            let next = this.perform(handled);
            this.follow(next);
        });
    }
}

impl Handler<TableReply> for EntityActor {
    type Result = ();

    fn handle(&mut self, TableReply { plan, reply }: TableReply, _: &mut Context<Self>) {
        self.on_table_reply(plan, reply);
    }
}

impl Handler<ReportNow> for EntityActor {
    type Result = ();

    fn handle(&mut self, ReportNow { finished, .. }: ReportNow, _: &mut Context<Self>) {
        self.report(finished);
    }
}
