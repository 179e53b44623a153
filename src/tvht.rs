//! The temporal volumetric hash table: which entity passes which part of space, when.
//!
//! Two lanes, one meaning. In the **shared lane** the buckets lie in shared memory: a write locks all buckets it needs in
//! ascending order, so that no two writes wait for each other in a circle, searches them, and unlocks; no lock is held
//! across a message (`src/runtime/shared_tvht.rs`). In the **message lane** every bucket is an actor, and a request with
//! the plan travels from bucket to bucket in the same order, locking as it goes; the last bucket replies to the entity
//! and unlocks all of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;

use crate::base::panics::panic_message;
use crate::base::time::Tick;
use crate::protocol::{BodyIndex, BucketQueue, Passed, TableRequest};
use crate::rigid::RigidModel;
use crate::runtime::network::{Failure, Network};
use crate::runtime::shared::Shared;
pub use crate::runtime::shared_tvht::{Lane, SharedTable};
use crate::runtime::trace::Phase;

impl actix::Message for TableRequest<RigidModel> {
    type Result = ();
}

/// The request that held the bucket has been through all its buckets.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Unlock;

/// A bucket as an actor.
pub(crate) struct BucketActor {
    number: u32,
    queue: BucketQueue<RigidModel>,
    network: Arc<Network>,
    arbiter: usize,
}

impl BucketActor {
    pub fn new(number: u32, network: Arc<Network>, arbiter: usize) -> Self {
        BucketActor { number, queue: BucketQueue::new(number), network, arbiter }
    }

    /// Lets the queue do something, and sends on the request that passes. The last bucket of a request replies.
    fn serve(
        &mut self,
        served: Option<(BodyIndex, Tick)>,
        act: impl FnOnce(&mut BucketQueue<RigidModel>, &Shared) -> Option<Passed<RigidModel>>,
    ) {
        let network = self.network.clone();
        let (since, entries) = (network.trace_now(), self.queue.bucket.len());
        let passed = catch_unwind(AssertUnwindSafe(|| act(&mut self.queue, &network.shared)));
        network.counters(self.arbiter).entries(entries, self.queue.bucket.len());
        let served = match passed {
            Ok(None) => return,
            Ok(Some(Passed::Forward { request, .. })) => {
                let served = (Some(request.plan().version.entity), request.plan().first);
                let bucket = request.wants().expect("invariant: a request that goes on has a next bucket");
                network.sending(self.arbiter).request(bucket, request);
                served
            }
            Ok(Some(Passed::Done { plan, written, held })) => {
                let served = (Some(plan.version.entity), plan.first);
                network.sending(self.arbiter).reply(plan, written);
                held.into_iter().for_each(|bucket| network.sending(self.arbiter).unlock(bucket));
                served
            }
            Err(payload) => {
                let (body, tick) = served.unwrap_or((0, 0));
                let body = network.shared.model.world.bodies[body as usize].id;
                let text = format!("in bucket {}: {}", self.number, panic_message(&*payload));
                network.end(Some(Failure::Panic { body, tick, text }));
                (None, tick)
            }
        };
        if let Some(since) = since {
            network.trace(self.arbiter, Phase::Bucket, served, since);
        }
    }

    pub fn on_request(&mut self, request: TableRequest<RigidModel>) {
        self.network.counters(self.arbiter).table_requested();
        let served = Some((request.search.body(), request.plan().first));
        self.serve(served, |queue, shared| queue.arrive(request, &shared.model));
        self.network.counters(self.arbiter).has_handled();
    }

    pub fn on_unlock(&mut self) {
        self.network.counters(self.arbiter).unlock();
        let next = self.queue.queue().front().map(|request| (request.search.body(), request.plan().first));
        self.serve(next, |queue, shared| queue.unlock(&shared.model));
        self.network.counters(self.arbiter).has_handled();
    }
}

impl Actor for BucketActor {
    type Context = Context<Self>;
}

impl Handler<TableRequest<RigidModel>> for BucketActor {
    type Result = ();

    fn handle(&mut self, request: TableRequest<RigidModel>, _: &mut Context<Self>) {
        self.on_request(request);
    }
}

impl Handler<Unlock> for BucketActor {
    type Result = ();

    fn handle(&mut self, _: Unlock, _: &mut Context<Self>) {
        self.on_unlock();
    }
}
