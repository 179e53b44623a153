//! The entity as an actor: mailbox, driver, effects. It decides nothing.
//!
//! Every handler runs to its end without waiting. A panic in one ends the run with an error that names body and tick; it
//! never leaves other entities waiting for an acknowledgement.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::vec::Drain;

use actix::prelude::*;

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
use crate::runtime::task_graph::{Note, Occasion};
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
    /// What the handler that runs has done, if the task graph is recorded.
    note: Note,
}

/// Performs effects: the log and virtual time in shared memory, messages through the network.
struct ActorShell<'a> {
    id: EntityId,
    network: &'a Network,
    note: &'a mut Note,
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
        if self.network.graph().is_some() {
            self.note.sent.push(to);
        }
        self.network.transport().deliver(self.id, to, message);
    }

    fn unpin(&mut self, pinned: Tick) {
        self.gvt_may_rise |= self.network.shared.gvt.remove(pinned);
        self.unpinned = true;
    }
}

impl EntityActor {
    pub fn new(entity: Entity<RigidModel>, network: Arc<Network>, arbiter: usize) -> Self {
        network.shared.directory.assign(entity.id(), arbiter);
        EntityActor {
            driver: Driver::new(entity),
            network,
            arbiter,
            scheduled: false,
            waiting_for: None,
            done: false,
            since: None,
            note: Note::default(),
        }
    }

    fn id(&self) -> EntityId {
        self.driver.entity().id()
    }

    /// Its state in words, for the message about a stall.
    fn describe(&self) -> String {
        let entity = self.driver.entity();
        let waits = match (entity.pending_ack_count(), self.waiting_for) {
            (0, None) => "nothing".to_owned(),
            (0, Some(tick)) => format!("the lowest LVT to reach tick {tick}"),
            (acks, _) => format!("{acks} acknowledgements"),
        };
        format!(
            "{} ({}) on arbiter {} at tick {}, phase {}, waits for {waits}, keeps {} segments",
            entity.id(),
            self.network.shared.model.world.bodies[entity.body() as usize].id,
            self.network.shared.directory.arbiter(entity.id()).unwrap_or(self.arbiter),
            entity.lvt(),
            entity.phase(),
            entity.segments()
        )
    }

    /// Runs a handler unless the run is being ended; a panic ends it.
    fn guarded(&mut self, occasion: Occasion, act: impl FnOnce(&mut Self)) {
        if self.network.is_ending() {
            return;
        }
        let begun = self.network.trace_now();
        let lvt = self.driver.entity().lvt();
        self.since = begun;
        let segments = self.driver.entity().segments();
        let caught = catch_unwind(AssertUnwindSafe(|| act(self)));
        self.network.counters(self.arbiter).segments_changed(segments, self.driver.entity().segments());
        self.mark(Phase::Send);
        if let (Some(graph), Some(begun), Some(now)) = (self.network.graph(), begun, self.since) {
            let moved = (lvt, self.driver.entity().lvt());
            graph.ran(self.id(), &occasion, moved, now.saturating_sub(begun), &mut self.note);
            self.note = Note::default();
        }
        if let Err(payload) = caught {
            let entity = self.driver.entity();
            let body = self.network.shared.model.world.bodies[entity.body() as usize].id;
            let text = panic_message(&*payload).to_owned();
            self.network.end(Some(Failure::Panic { body, tick: entity.lvt(), text }));
        }
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
            self.note.self_stepped = true;
            self.network.counters(self.arbiter).self_stepped();
            self.network.transport().poll(self.id());
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
                let Some((plan, reply)) = network.write(plan, context.times.gvt) else { return };
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
            Next::Write(_) | Next::Forward { .. } => unreachable!("invariant: handled where it can come"),
        }
    }

    /// Has itself woken when the lowest LVT reaches a tick.
    fn wait_for(&mut self, tick: Tick) {
        let is_registered = self.waiting_for == Some(tick) && self.network.shared.gvt.times().lvt_min < tick;
        self.note.waits_for = Some(tick);
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
            network: &self.network,
            note: &mut self.note,
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

impl Actor for EntityActor {
    type Context = Context<Self>;
}

impl Handler<Poll> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: Poll, _: &mut Context<Self>) {
        self.scheduled = false;
        self.network.counters(self.arbiter).poll_handled();
        self.guarded(Occasion::Poll, Self::poll);
    }
}

impl Handler<WakeUp> for EntityActor {
    type Result = ();

    fn handle(&mut self, _: WakeUp, _: &mut Context<Self>) {
        self.network.counters(self.arbiter).poll_handled();
        self.guarded(Occasion::Poll, |this| {
            // The lowest LVT may have fallen again: then it must be registered anew.
            this.waiting_for = None;
            this.poll();
        });
    }
}

impl Handler<Deliver> for EntityActor {
    type Result = ();

    fn handle(&mut self, Deliver { from, message }: Deliver, _: &mut Context<Self>) {
        self.network.counters(self.arbiter).message_handled(&message);
        self.guarded(Occasion::Message(from), |this| {
            let phase = Phase::of(&message);
            let handled = this.driver.on_message(from, message);
            this.mark(phase);
            let next = this.perform(handled);
            this.follow(next);
        });
    }
}

impl Handler<DeliverInput> for EntityActor {
    type Result = ();

    fn handle(&mut self, DeliverInput { pinned, entry }: DeliverInput, _: &mut Context<Self>) {
        self.guarded(Occasion::Poll, |this| {
            let handled = this.driver.on_input(entry.tick, entry.number, entry.input, Some(pinned));
            match this.perform(handled) {
                Next::Forward { to, .. } => this.network.transport().deliver_input(to, pinned, entry),
                next => this.follow(next),
            }
        });
    }
}

impl Handler<TableReply> for EntityActor {
    type Result = ();

    fn handle(&mut self, TableReply { plan, reply }: TableReply, _: &mut Context<Self>) {
        self.network.counters(self.arbiter).table_replied();
        self.guarded(Occasion::Poll, |this| {
            let handled = this.driver.on_table_reply(plan, reply);
            this.has_written(this.network.shared.gvt.times());
            this.mark(Phase::TableReply);
            let next = this.perform(handled);
            this.follow(next);
        });
    }
}

impl Handler<ReportNow> for EntityActor {
    type Result = ();

    fn handle(&mut self, ReportNow { finished }: ReportNow, _: &mut Context<Self>) {
        let behind = (!finished).then(|| (self.driver.entity().lvt(), self.describe()));
        let network = self.network.clone();
        let stats = match finished {
            true => self.driver.finish(&network.shared.model),
            false => *self.driver.entity().stats(),
        };
        network.report(self.arbiter, &stats, behind);
    }
}
