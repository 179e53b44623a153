//! The temporal volumetric hash table: who passes which part of space, when.
//!
//! Two lanes, one meaning. In the **shared lane** the buckets lie in shared memory: a write locks all buckets it
//! needs in ascending order, so that nobody ever waits in a directory, searches them, and lets go; no lock is held
//! across a message. In the **message lane** every bucket is an actor, and a request with the plan travels from
//! bucket to bucket in the same order, locking as it goes; the last one answers and sends the keys back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;

use crate::base::panics::panic_message;
use crate::base::time::Tick;
use crate::executor::timewarp::{Failure, Runtime};
use crate::protocol::BodyIndex;
use crate::protocol::{BucketQueue, Passed, TableRequest};
use crate::rigid::RigidModel;
use crate::runtime::shared::Shared;
pub use crate::runtime::shared_tvht::{Lane, SharedTable};
use crate::runtime::trace::Phase;

impl actix::Message for TableRequest<RigidModel> {
    type Result = ();
}

/// The request that held the bucket has gone through.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Unlock;

/// The bucket_queue of a bucket as an actor.
pub(crate) struct BucketActor {
    number: u32,
    bucket_queue: BucketQueue<RigidModel>,
    runtime: Arc<Runtime>,
    arbiter: usize,
}

impl BucketActor {
    pub fn new(number: u32, runtime: Arc<Runtime>, arbiter: usize) -> Self {
        BucketActor { number, bucket_queue: BucketQueue::new(number), runtime, arbiter }
    }

    /// Lets the bucket_queue do something, and sends on the request it lets pass; from the last bucket the answer goes out.
    fn keep(
        &mut self,
        served: Option<(BodyIndex, Tick)>,
        act: impl FnOnce(&mut BucketQueue<RigidModel>, &Shared) -> Option<Passed<RigidModel>>,
    ) {
        let runtime = self.runtime.clone();
        let (since, entries) = (runtime.trace_now(), self.bucket_queue.bucket.len());
        let passed = catch_unwind(AssertUnwindSafe(|| act(&mut self.bucket_queue, &runtime.shared)));
        runtime.core_counters(self.arbiter).entries(entries, self.bucket_queue.bucket.len());
        let who = match passed {
            Ok(None) => return,
            Ok(Some(Passed::On { request, .. })) => {
                let who = (Some(request.plan().entity), request.plan().first);
                runtime.pass_on(request);
                who
            }
            Ok(Some(Passed::Home { plan, written, keys })) => {
                let who = (Some(plan.entity), plan.first);
                runtime.answer(plan, written);
                for number in keys {
                    runtime.unlock(number);
                }
                who
            }
            Err(payload) => {
                let (body, tick) = served.unwrap_or((0, 0));
                let body = runtime.shared.model.world.bodies[body as usize].id;
                let text = format!("in bucket {}: {}", self.number, panic_message(&*payload));
                runtime.end(Some(Failure::Panic { body, tick, text }));
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

impl Handler<TableRequest<RigidModel>> for BucketActor {
    type Result = ();

    fn handle(&mut self, request: TableRequest<RigidModel>, _: &mut Context<Self>) {
        self.runtime.core_counters(self.arbiter).table_requested();
        let served = Some((request.search.body(), request.plan().first));
        self.keep(served, |bucket_queue, shared| bucket_queue.arrive(request, &shared.model));
    }
}

impl Handler<Unlock> for BucketActor {
    type Result = ();

    fn handle(&mut self, _: Unlock, _: &mut Context<Self>) {
        self.runtime.core_counters(self.arbiter).unlock();
        let next =
            self.bucket_queue.queue().front().map(|request| (request.search.body(), request.plan().first));
        self.keep(next, |bucket_queue, shared| bucket_queue.unlock(&shared.model));
    }
}
