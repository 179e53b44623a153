//! The message lane of the hash table, without any actor: requests that carry plans from bucket to bucket, and the
//! bucket_queues of the buckets.
//!
//! A request goes through the buckets of its plan in ascending order and holds each it has passed, so nobody ever
//! waits in a directory. When it has been through all, the table's answer goes home, and then the keys go back.

use std::collections::VecDeque;

use crate::protocol::{Bucket, Dynamics, Fault, Painter, Plan, TableWrite, WriteResult};

/// A plan that travels from bucket to bucket, holding each it has passed.
#[derive(Clone)]
pub(crate) struct TableRequest<D: Dynamics> {
    pub(crate) search: TableWrite<D>,
}

impl<D: Dynamics> TableRequest<D> {
    pub fn new(search: TableWrite<D>) -> Self {
        TableRequest { search }
    }

    /// It has been through all its buckets.
    pub fn finish(self) -> (Plan<D>, WriteResult<D>) {
        self.search.finish()
    }

    /// The bucket it wants next; none if it has them all.
    pub fn wants(&self) -> Option<u32> {
        self.search.wants()
    }

    /// The plan it carries.
    pub fn plan(&self) -> &Plan<D> {
        self.search.plan()
    }

    /// Takes down everything but the plan, which its entity takes down.
    pub(crate) fn portray(&self, painter: &mut impl Painter<D>) {
        self.search.portray(painter);
    }
}

/// What becomes of a request that has passed a bucket.
pub(crate) enum Passed<D: Dynamics> {
    /// It goes on to the bucket it wants next. In members_in it lets go of `keys`, of which there should be none.
    On { request: TableRequest<D>, keys: Vec<u32> },
    /// It has been through all: the answer goes home, and then these buckets are let go.
    Home { plan: Plan<D>, written: WriteResult<D>, keys: Vec<u32> },
}

/// Keeps a bucket: one request at a time, the others in the order they came.
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

    /// A request has come. What becomes of it, unless it has to wait.
    pub fn arrive(&mut self, request: TableRequest<D>, dynamics: &D) -> Option<Passed<D>> {
        if self.is_held {
            self.queue.push_back(request);
            return None;
        }
        Some(self.take(request, dynamics))
    }

    /// The request that held the bucket has been through all. What becomes of the next, if one waits.
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
            let keys = if lets_go { vec![self.number] } else { Vec::new() };
            return Passed::On { request, keys };
        }
        let mut keys = request.search.buckets().to_vec();
        if lets_go {
            keys = vec![self.number];
        }
        if fault == Fault::KeyLost {
            keys.pop();
        }
        let (plan, written) = request.finish();
        Passed::Home { plan, written, keys }
    }

    /// Whether a request holds it.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// The requests that wait for it.
    pub fn queue(&self) -> &VecDeque<TableRequest<D>> {
        &self.queue
    }

    /// The same, to be given copies of their tracks.
    pub fn queue_mut(&mut self) -> impl Iterator<Item = &mut TableRequest<D>> {
        self.queue.iter_mut()
    }
}
