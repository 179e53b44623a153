//! The message lane of the hash table, without any actor: requests that carry plans from bucket to bucket, and the queue
//! of each bucket.
//!
//! A request goes through the buckets of its plan in ascending order (lexicographic locking) and holds each one it has
//! passed, so requests never wait for each other in a circle. When it has been through all, the reply goes to the
//! entity, and then the buckets are unlocked.

use std::collections::VecDeque;

use crate::protocol::{Bucket, Dynamics, Fault, Plan, TableWrite, WriteResult};

/// A plan that travels from bucket to bucket, holding each it has passed.
#[derive(Clone)]
pub(crate) struct TableRequest<D: Dynamics> {
    pub(crate) search: TableWrite<D>,
}

impl<D: Dynamics> TableRequest<D> {
    pub fn new(search: TableWrite<D>) -> Self {
        TableRequest { search }
    }

    /// The result, once it has been through all its buckets.
    pub fn finish(self) -> (Plan<D>, WriteResult<D>) {
        self.search.finish()
    }

    /// Its next bucket; `None` if it has been through all.
    pub fn wants(&self) -> Option<u32> {
        self.search.wants()
    }

    /// The plan it carries.
    pub fn plan(&self) -> &Plan<D> {
        self.search.plan()
    }
}

/// What becomes of a request that has passed a bucket.
pub(crate) enum Passed<D: Dynamics> {
    /// It goes on to its next bucket. `unlocked` is empty but for a deliberate fault.
    Forward { request: TableRequest<D>, unlocked: Vec<u32> },
    /// It has been through all: the reply goes to the entity, and then the buckets it held are unlocked.
    Done { plan: Plan<D>, written: WriteResult<D>, held: Vec<u32> },
}

/// A bucket and the requests that wait for it: one at a time, in the order they came.
#[derive(Clone)]
pub(crate) struct BucketQueue<D: Dynamics> {
    number: u32,
    pub(crate) bucket: Bucket<D>,
    is_held: bool,
    queue: VecDeque<TableRequest<D>>,
}

impl<D: Dynamics> BucketQueue<D> {
    pub fn new(number: u32) -> Self {
        BucketQueue { number, bucket: Bucket::default(), is_held: false, queue: VecDeque::new() }
    }

    /// A request arrives. `None` if it has to wait.
    pub fn arrive(&mut self, request: TableRequest<D>, dynamics: &D) -> Option<Passed<D>> {
        if self.is_held {
            self.queue.push_back(request);
            return None;
        }
        Some(self.take(request, dynamics))
    }

    /// The request that held the bucket has been through all its buckets: the next one takes its turn, if one waits.
    pub fn unlock(&mut self, dynamics: &D) -> Option<Passed<D>> {
        self.is_held = false;
        let next = self.queue.pop_front()?;
        Some(self.take(next, dynamics))
    }

    fn take(&mut self, mut request: TableRequest<D>, dynamics: &D) -> Passed<D> {
        let fault = if D::FAULTY { dynamics.fault() } else { Fault::None };
        self.is_held = true;
        request.search.pass(dynamics, &mut self.bucket);
        let lets_go = fault == Fault::LocksNotHeld;
        if request.wants().is_some() {
            let unlocked = if lets_go { vec![self.number] } else { Vec::new() };
            return Passed::Forward { request, unlocked };
        }
        let mut held = request.search.buckets().to_vec();
        if lets_go {
            held = vec![self.number];
        }
        if fault == Fault::UnlockLost {
            held.pop();
        }
        let (plan, written) = request.finish();
        Passed::Done { plan, written, held }
    }

    /// Whether a request holds it.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// The requests that wait for it.
    pub fn queue(&self) -> &VecDeque<TableRequest<D>> {
        &self.queue
    }

    /// The same, so that a model can give them copies of their tracks.
    pub fn queue_mut(&mut self) -> impl Iterator<Item = &mut TableRequest<D>> {
        self.queue.iter_mut()
    }
}
