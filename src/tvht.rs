//! The temporal volumetric hash table: who passes which part of space, when.
//!
//! Two lanes, one meaning. In the **shared lane** the buckets lie in shared memory: a write locks all buckets it
//! needs in ascending order, so that nobody ever waits in a circle, searches them, and lets go; no lock is held
//! across a message. In the **message lane** every bucket is an actor, and a ticket with the plan travels from
//! bucket to bucket in the same order, locking as it goes; the last one answers and sends the keys back.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::prelude::*;
use smallvec::SmallVec;

use crate::executor::timewarp::{Runtime, Trouble};
use crate::executor::trace::Phase;
use crate::physics::World;
use crate::protocol::{Bucket, Dynamics, Grid, Plan, Search, Written};
use crate::time::Tick;

/// Where the buckets are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// In shared memory.
    #[default]
    Shared,
    /// Each in an actor of its own.
    Actors,
}

/// The buckets in shared memory.
pub struct SharedTable<D: Dynamics> {
    grid: Grid,
    buckets: Box<[Mutex<Bucket<D>>]>,
}

impl<D: Dynamics> SharedTable<D> {
    /// An empty table over a grid.
    pub fn new(grid: Grid) -> Self {
        let buckets = (0..grid.buckets()).map(|_| Mutex::default()).collect();
        SharedTable { grid, buckets }
    }

    /// Writes a plan, cut at the first tick at which it meets somebody. Everything it meets at that tick is
    /// reported.
    pub fn write(&self, dynamics: &D, plan: Plan<D>, gvt: Tick) -> (Plan<D>, Written<D>) {
        let mut search = Search::new(&self.grid, dynamics, plan, gvt);
        let mut locked: SmallVec<[MutexGuard<Bucket<D>>; 8]> =
            search.buckets().into_iter().map(|number| lock(&self.buckets[number as usize])).collect();
        for bucket in &mut locked {
            search.pass(dynamics, bucket);
        }
        // Cut before the locks are let go: nobody sees more of the track than is true.
        search.finish()
    }

    /// Entries in all buckets together.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(|bucket| lock(bucket).len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere ends the run; until then its buckets are as good as ever.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plan that travels from bucket to bucket, holding each it has passed.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Ticket {
    search: Search<World>,
}

impl Ticket {
    pub fn new(search: Search<World>) -> Self {
        Ticket { search }
    }

    /// It has been through all its buckets.
    pub fn finish(self) -> (Plan<World>, Written<World>) {
        self.search.finish()
    }

    /// The bucket it wants next; none if it has them all.
    pub fn wants(&self) -> Option<u32> {
        self.search.wants()
    }
}

/// The ticket that held the bucket has gone through.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct LetGo;

/// A bucket as an actor: one ticket at a time, the others in the order they came.
pub(crate) struct BucketActor {
    number: u32,
    bucket: Bucket<World>,
    is_held: bool,
    queue: VecDeque<Ticket>,
    runtime: Arc<Runtime>,
    arbiter: usize,
}

impl BucketActor {
    pub fn new(number: u32, runtime: Arc<Runtime>, arbiter: usize) -> Self {
        let (bucket, queue) = (Bucket::default(), VecDeque::new());
        BucketActor { number, bucket, is_held: false, queue, runtime, arbiter }
    }

    /// Takes a ticket and sends it on; from the last bucket the answer goes out.
    fn take(&mut self, mut ticket: Ticket) {
        self.is_held = true;
        let runtime = self.runtime.clone();
        let (since, entries) = (runtime.trace_now(), self.bucket.len());
        let who = (Some(ticket.search.plan().entity), ticket.search.plan().first);
        let passed = catch_unwind(AssertUnwindSafe(|| {
            ticket.search.pass(&runtime.commons.world, &mut self.bucket);
            ticket
        }));
        runtime.meter(self.arbiter).entries(entries, self.bucket.len());
        match passed {
            Ok(ticket) if ticket.wants().is_some() => runtime.pass_on(ticket),
            Ok(ticket) => {
                let numbers = ticket.search.buckets();
                let (plan, written) = ticket.finish();
                runtime.answer(plan, written);
                for number in numbers {
                    runtime.let_go(number);
                }
            }
            Err(_) => runtime.end(Some(Trouble::Bucket { number: self.number })),
        }
        if let Some(since) = since {
            runtime.trace(self.arbiter, Phase::Bucket, who, since);
        }
    }
}

impl Actor for BucketActor {
    type Context = Context<Self>;
}

impl Handler<Ticket> for BucketActor {
    type Result = ();

    fn handle(&mut self, ticket: Ticket, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).ticket();
        if self.is_held { self.queue.push_back(ticket) } else { self.take(ticket) }
    }
}

impl Handler<LetGo> for BucketActor {
    type Result = ();

    fn handle(&mut self, _: LetGo, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).let_go();
        self.is_held = false;
        if let Some(next) = self.queue.pop_front() {
            self.take(next);
        }
    }
}
