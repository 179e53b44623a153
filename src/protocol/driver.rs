//! The driver: the only legal way to use an entity.
//!
//! An executor calls one of four handlers: [`Driver::poll`] when the entity may go on, [`Driver::on_message`],
//! [`Driver::on_table_reply`] and [`Driver::on_input`] when something has arrived. Each returns a [`Handled`], which must
//! be given to [`Driver::perform`] before anything else happens to the entity: that performs the effects in the only
//! legal order and says what comes next. The actix shell, the single-thread executor, the model checker and the random
//! schedules all use this driver, so that what is checked is what runs.

use std::sync::Arc;

use super::dynamics::Dynamics;
use super::effects::{Effects, Shell};
use super::entity::{Entity, Limits, Plan, WriteResult};
use super::fault::Fault;
use super::gvt::VirtualTimes;
use super::membership::Membership;
use super::message::{EntityId, Message};
use super::stats::Stats;
use super::tvht::Track;
use crate::base::time::Tick;

/// What an entity may know of the rest of the run when it is polled.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// GVT and the lowest LVT.
    pub times: VirtualTimes,
    /// How far the entity may run ahead.
    pub limits: Limits,
    /// Island membership, if that is part of the result.
    pub membership: Option<&'a dyn Membership>,
}

impl Context<'_> {
    /// A context without islands.
    pub fn new(times: VirtualTimes, limits: Limits) -> Self {
        Context { times, limits, membership: None }
    }
}

/// What comes next for an entity.
#[must_use]
pub enum Next<D: Dynamics> {
    /// Write this plan into the table, and give the reply to [`Driver::on_table_reply`].
    Write(Plan<D>),
    /// Poll it again, after what has already arrived for it.
    Poll,
    /// Nothing to do until a message arrives or the lowest LVT has risen: acknowledgements or ghost updates are missing, or
    /// nothing has changed.
    AwaitAcks,
    /// Poll it again when the lowest LVT reaches this tick.
    AwaitLvtMin(Tick),
    /// It has reached the last tick, or has retired. A message may still wake it.
    Done,
}

/// A handler has run. Its effects are waiting to be performed.
#[must_use = "the effects of a handler must be performed before anything else happens to the entity"]
pub struct Handled<D: Dynamics> {
    next: Next<D>,
    pinned: Option<Tick>,
}

impl<D: Dynamics> Handled<D> {
    /// What will come next, once the effects are performed.
    pub fn next(&self) -> &Next<D> {
        &self.next
    }
}

/// An entity and the effects of its last handler.
#[derive(Clone)]
pub struct Driver<D: Dynamics> {
    entity: Entity<D>,
    effects: Effects<D>,
}

impl<D: Dynamics> Driver<D> {
    /// Drives an entity from now on.
    pub fn new(entity: Entity<D>) -> Self {
        Driver { entity, effects: Effects::default() }
    }

    /// The entity, to be looked at.
    pub fn entity(&self) -> &Entity<D> {
        &self.entity
    }

    /// Effects that have not been performed yet, to be looked at.
    pub fn effects(&self) -> &Effects<D> {
        &self.effects
    }

    /// Lets the entity go on: collects fossils, changes its island where that is due, responds to contacts, and plans its
    /// next flight.
    pub fn poll(&mut self, dynamics: &D, context: &Context<'_>) -> Handled<D> {
        self.begin();
        let Driver { entity, effects } = self;
        let Context { times, mut limits, membership } = *context;
        let keeps_no_history = entity.has(Fault::HistoryNotKept);
        entity.fossil_collect(if keeps_no_history { times.lvt_min } else { times.gvt });
        let moved = membership
            .and_then(|membership| entity.apply_membership(membership, &mut limits, times, effects));
        let next = match moved {
            Some(next) => next,
            None => entity.step(dynamics, &limits, times, effects),
        };
        // The write may happen before or after the effects because they are ghost states at most.
        let may_write = !matches!(next, Next::Write(_)) || effects.is_messages() || entity.is_faulty();
        assert!(may_write, "invariant: a plan leaves with messages at most");
        Handled { next, pinned: None }
    }

    /// Handles a message from another entity in full.
    pub fn on_message(&mut self, from: EntityId, message: Message<D>) -> Handled<D> {
        self.begin();
        let before = self.entity.knowledge();
        self.entity.handle(from, message, &mut self.effects);
        Handled { next: self.entity.next_after(before), pinned: None }
    }

    /// Handles the table's reply to a plan.
    pub fn on_table_reply(&mut self, plan: Plan<D>, reply: WriteResult<D>) -> Handled<D> {
        self.begin();
        let before = self.entity.knowledge();
        self.entity.written(plan, reply, &mut self.effects);
        Handled { next: self.entity.next_after(before), pinned: None }
    }

    /// Handles an input for `tick`, which must not lie below GVT: GVT is pinned until the effects are performed. Inputs
    /// for one tick act in the order of `number`.
    pub fn on_input(&mut self, tick: Tick, number: u64, input: D::Input, pinned: Option<Tick>) -> Handled<D> {
        self.begin();
        let before = self.entity.knowledge();
        self.entity.on_input(tick, number, input, &mut self.effects);
        Handled { next: self.entity.next_after(before), pinned }
    }

    /// Rolls back everything after `tick` although nothing calls for it, to see that the same comes out again. The tick
    /// must not lie below GVT.
    pub fn force_rollback(&mut self, tick: Tick) -> Handled<D> {
        self.begin();
        self.entity.force_rollback(tick, &mut self.effects);
        Handled { next: Next::Poll, pinned: None }
    }

    /// Every track it has in the table, so that a model can give it copies.
    pub(crate) fn tracks_mut(&mut self) -> impl Iterator<Item = &mut Arc<Track<D>>> {
        self.entity.tracks_mut()
    }

    /// Performs the effects of a handler: first the log, then the tracks, then the LVT, then messages, and only then is
    /// the pin of an input released. An acknowledgement must not leave before the LVT has moved, and GVT must not move
    /// before what an input did is counted.
    pub fn perform(&mut self, handled: Handled<D>, shell: &mut impl Shell<D>) -> Next<D> {
        let acks_first = self.entity.has(Fault::AckBeforeLvt);
        let Effects { flights_retracted, flights_started, tracks_retracted, lvt_change, messages } =
            &mut self.effects;
        if !flights_retracted.is_empty() {
            shell.retract_flights(flights_retracted.drain(..));
        }
        if !flights_started.is_empty() {
            shell.start_flights(flights_started.drain(..));
        }
        for (track, end) in tracks_retracted.drain(..) {
            shell.retract_track(&track, end);
        }
        let change = lvt_change.take();
        let mut send_all =
            |shell: &mut _| messages.drain(..).for_each(|(to, message)| Shell::send(shell, to, message));
        if acks_first {
            send_all(shell);
        }
        if let Some((from, to)) = change {
            shell.move_lvt(from, to);
        }
        send_all(shell);
        if let Some(pinned) = handled.pinned {
            shell.unpin(pinned);
        }
        handled.next
    }

    /// The tick it has to wait for, if a poll would only say so: an executor may ask this to save itself the poll.
    pub fn awaits_lvt_min(&self, context: &Context<'_>) -> Option<Tick> {
        // With islands a poll lowers the limits to the next boundary, so only a poll can say.
        if context.membership.is_some() {
            return None;
        }
        self.entity.waits_for(&context.limits, context.times)
    }

    /// At the end of the run: commits everything, and returns the statistics.
    pub fn finish(&mut self, dynamics: &D) -> Stats {
        self.entity.finish(dynamics)
    }

    /// A handler begins. The effects of the one before must have been performed.
    fn begin(&mut self) {
        assert!(self.effects.is_empty(), "invariant: effects are performed before the next handler runs");
        debug_assert_eq!(self.entity.validate(), Ok(()));
    }
}
