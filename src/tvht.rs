//! The temporal volumetric hash table: who passes which part of space, when.
//!
//! Two lanes, one meaning. In the **shared lane** the buckets lie in shared memory: a write locks all buckets it
//! needs in ascending order, so that nobody ever waits in a circle, searches them, and lets go; no lock is held
//! across a message. In the **message lane** every bucket is an actor, and a ticket with the plan travels from
//! bucket to bucket in the same order, locking as it goes; the last one answers and sends the keys back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;

use crate::base::panics::words_of;
use crate::base::time::Tick;
use crate::executor::timewarp::{Runtime, Trouble};
use crate::protocol::Place;
use crate::protocol::{Keeper, Passed, Ticket};
use crate::rigid::RigidModel;
use crate::runtime::shared::Commons;
pub use crate::runtime::shared_tvht::{Lane, SharedTable};
use crate::runtime::trace::Phase;

impl actix::Message for Ticket<RigidModel> {
    type Result = ();
}

/// The ticket that held the bucket has gone through.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct LetGo;

/// The keeper of a bucket as an actor.
pub(crate) struct BucketActor {
    number: u32,
    keeper: Keeper<RigidModel>,
    runtime: Arc<Runtime>,
    arbiter: usize,
}

impl BucketActor {
    pub fn new(number: u32, runtime: Arc<Runtime>, arbiter: usize) -> Self {
        BucketActor { number, keeper: Keeper::new(number), runtime, arbiter }
    }

    /// Lets the keeper do something, and sends on the ticket it lets pass; from the last bucket the answer goes out.
    fn keep(
        &mut self,
        served: Option<(Place, Tick)>,
        act: impl FnOnce(&mut Keeper<RigidModel>, &Commons) -> Option<Passed<RigidModel>>,
    ) {
        let runtime = self.runtime.clone();
        let (since, entries) = (runtime.trace_now(), self.keeper.bucket.len());
        let passed = catch_unwind(AssertUnwindSafe(|| act(&mut self.keeper, &runtime.commons)));
        runtime.meter(self.arbiter).entries(entries, self.keeper.bucket.len());
        let who = match passed {
            Ok(None) => return,
            Ok(Some(Passed::On { ticket, .. })) => {
                let who = (Some(ticket.plan().entity), ticket.plan().first);
                runtime.pass_on(ticket);
                who
            }
            Ok(Some(Passed::Home { plan, written, keys })) => {
                let who = (Some(plan.entity), plan.first);
                runtime.answer(plan, written);
                for number in keys {
                    runtime.let_go(number);
                }
                who
            }
            Err(payload) => {
                let (body, tick) = served.unwrap_or((0, 0));
                let body = runtime.commons.model.world.bodies[body as usize].id;
                let text = format!("in bucket {}: {}", self.number, words_of(&*payload));
                runtime.end(Some(Trouble::Panic { body, tick, text }));
                (None, tick)
            }
        };
        if let Some(since) = since {
            runtime.trace(self.arbiter, Phase::Bucket, who, since);
        }
    }
}

impl Actor for BucketActor {
    type Context = Context<Self>;
}

impl Handler<Ticket<RigidModel>> for BucketActor {
    type Result = ();

    fn handle(&mut self, ticket: Ticket<RigidModel>, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).ticket();
        let served = Some((ticket.search.body(), ticket.plan().first));
        self.keep(served, |keeper, commons| keeper.arrive(ticket, &commons.model));
    }
}

impl Handler<LetGo> for BucketActor {
    type Result = ();

    fn handle(&mut self, _: LetGo, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).let_go();
        let next = self.keeper.queue().front().map(|ticket| (ticket.search.body(), ticket.plan().first));
        self.keep(next, |keeper, commons| keeper.let_go(&commons.model));
    }
}
