//! The temporal volumetric hash table: who passes which part of space, when.
//!
//! Two lanes, one meaning. In the **shared lane** the buckets lie in shared memory: a write locks all buckets it
//! needs in ascending order, so that nobody ever waits in a circle, searches them, and lets go; no lock is held
//! across a message. In the **message lane** every bucket is an actor, and a ticket with the plan travels from
//! bucket to bucket in the same order, locking as it goes; the last one answers and sends the keys back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::prelude::*;
use smallvec::SmallVec;

use crate::executor::crowd::Commons;
use crate::executor::timewarp::{Runtime, Trouble};
use crate::executor::trace::Phase;
use crate::physics::World;
use crate::protocol::{
    Bucket, Cell, Dynamics, EntityId, Fault, Found, Grid, Named, Painter, Place, Plan, Track, Version,
    Written, portray_found,
};
use crate::ticket::{Keeper, Passed, Ticket};
use crate::time::Tick;

/// A track covers at most about so many cells; faster bodies take shorter steps.
const CELLS_MAX: f64 = 64.0;

/// Where the buckets are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// In shared memory.
    #[default]
    Shared,
    /// Each in an actor of its own.
    Actors,
}

/// One body of a plan: its track, and the cells it passes.
#[derive(Clone)]
struct Path<D: Dynamics> {
    track: Arc<Track<D>>,
    cells: Vec<Cell>,
}

/// A plan on its way through the buckets.
#[derive(Clone)]
pub(crate) struct Search<D: Dynamics> {
    plan: Plan<D>,
    gvt: Tick,
    paths: SmallVec<[Path<D>; 1]>,
    /// The buckets of all its cells, ascending.
    numbers: SmallVec<[u32; 8]>,
    /// The first tick at which it meets somebody, as far as is known, and whom.
    last: Tick,
    found: Vec<Found<D>>,
    /// Pairs that have been compared: they may share several cells.
    compared: Vec<(Place, Place, Version, Tick)>,
    fault: Fault,
}

impl<D: Dynamics> Search<D> {
    pub fn new(grid: &Grid, dynamics: &D, plan: Plan<D>, gvt: Tick) -> Self {
        let mut last = plan.last;
        for (body, flight) in &plan.crew {
            let level = grid.level_of(dynamics.radius(*body));
            while last > plan.first
                && grid.coverage(&dynamics.bounds(*body, flight, plan.first, last), level) > CELLS_MAX
            {
                last = plan.first + (last - plan.first) / 2;
            }
        }
        let path = |(body, flight): &(Place, D::Flight)| {
            let level = grid.level_of(dynamics.radius(*body));
            let mut cells = Vec::new();
            grid.cells(&dynamics.bounds(*body, flight, plan.first, last), level, &mut cells);
            let owner = (plan.entity, plan.version);
            let track = Track::new(owner, (*body, level), (plan.first, last), flight.clone());
            Path { track: Arc::new(track), cells }
        };
        let paths: SmallVec<[Path<D>; 1]> = plan.crew.iter().map(path).collect();
        let mut numbers: SmallVec<[u32; 8]> =
            paths.iter().flat_map(|path| &path.cells).map(|cell| grid.bucket(cell)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let fault = if D::FAULTY { dynamics.fault() } else { Fault::None };
        if fault == Fault::LocksUnordered && plan.entity.0 % 2 == 1 {
            numbers.reverse();
        }
        let gvt = gvt + u64::from(fault == Fault::TableFossilAtGvt);
        Search { plan, gvt, paths, numbers, last, found: Vec::new(), compared: Vec::new(), fault }
    }

    /// Looks into one bucket for whoever it meets first, and leaves its tracks there.
    pub(crate) fn pass(&mut self, grid: &Grid, dynamics: &D, number: u32, bucket: &mut Bucket<D>) {
        let fault = self.fault();
        let Search { plan, gvt, paths, last, found, compared, .. } = self;
        for path in paths.iter() {
            let mine = &path.track;
            for cell in path.cells.iter().filter(|cell| grid.bucket(cell) == number) {
                bucket.visit(cell, mine.level, (plan.first, plan.last, *gvt), |other| {
                    let pair = (mine.body, other.body, other.version, other.first);
                    let is_known = compared.contains(&pair) && fault != Fault::NoOwnerCell;
                    if other.entity == plan.entity || is_known {
                        return;
                    }
                    compared.push(pair);
                    // Its owner may be cutting it at this moment; then this is an empty range.
                    let (from, to) =
                        (plan.first.max(other.first), (*last).min(other.end().saturating_sub(1)));
                    if from > to {
                        return;
                    }
                    let (a, b) = ((mine.body, &mine.flight), (other.body, &other.flight));
                    if let Some(tick) = dynamics.first_touch(a, b, from, to) {
                        if tick < *last {
                            *last = tick;
                            found.clear();
                        }
                        if fault == Fault::OneContactOnly && !found.is_empty() {
                            return;
                        }
                        found.push(Found { own: mine.body, other: other.clone() });
                    }
                });
                bucket.add(*cell, mine.clone());
            }
        }
    }

    /// All buckets have been passed: the tracks are cut where they meet somebody.
    pub(crate) fn finish(self) -> (Plan<D>, Written<D>) {
        for path in self.paths.iter().filter(|_| self.fault() != Fault::TrackNotCut) {
            path.track.cut(self.last + 1);
        }
        let tracks = self.paths.into_iter().map(|path| path.track).collect();
        (self.plan, Written { last: self.last, found: self.found, tracks })
    }
}

impl<D: Dynamics> Search<D> {
    /// The deliberate fault it has: none, where nothing may have one.
    #[inline]
    fn fault(&self) -> Fault {
        if D::FAULTY { self.fault } else { Fault::None }
    }

    /// The buckets of all its cells, in the order it goes through them.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// What is to be written.
    pub(crate) fn plan(&self) -> &Plan<D> {
        &self.plan
    }

    /// Its tracks, to be replaced by copies.
    pub(crate) fn tracks_mut(&mut self) -> impl Iterator<Item = &mut Arc<Track<D>>> {
        self.paths.iter_mut().map(|path| &mut path.track)
    }

    /// Takes down everything but the plan, which its entity takes down. `whose` says whose a track is, if it can
    /// still be met.
    pub(crate) fn portray(
        &self,
        whose: impl Fn(Place, Version, Tick) -> Option<EntityId>,
        painter: &mut impl Painter<D>,
    ) {
        painter.number(self.gvt);
        painter.number(self.last);
        painter.many(self.paths.len());
        self.paths.iter().for_each(|path| path.track.portray(painter));
        portray_found(&self.found, painter);
        let mut compared: Vec<(Place, Place, Tick, Named)> = Vec::new();
        for (own, body, version, first) in &self.compared {
            if let Some(entity) = whose(*body, *version, *first) {
                compared.push((*own, *body, *first, Named::Version(entity, *version)));
            }
        }
        compared.sort_unstable();
        painter.many(compared.len());
        for (own, body, first, version) in compared {
            painter.number(u64::from(own));
            painter.number(u64::from(body));
            painter.number(first);
            painter.named(version);
        }
    }
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
        let numbers = search.numbers.clone();
        let mut locked: SmallVec<[MutexGuard<Bucket<D>>; 8]> =
            numbers.iter().map(|number| lock(&self.buckets[*number as usize])).collect();
        for (number, bucket) in numbers.iter().zip(&mut locked) {
            search.pass(&self.grid, dynamics, *number, bucket);
        }
        // Cut before the locks are let go: nobody sees more of the tracks than is true.
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

impl actix::Message for Ticket<World> {
    type Result = ();
}

/// The ticket that held the bucket has gone through.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct LetGo;

/// The keeper of a bucket as an actor.
pub(crate) struct BucketActor {
    number: u32,
    keeper: Keeper<World>,
    runtime: Arc<Runtime>,
    arbiter: usize,
}

impl BucketActor {
    pub fn new(number: u32, runtime: Arc<Runtime>, arbiter: usize) -> Self {
        BucketActor { number, keeper: Keeper::new(number), runtime, arbiter }
    }

    /// Lets the keeper do something, and sends on the ticket it lets pass; from the last bucket the answer goes out.
    fn keep(&mut self, act: impl FnOnce(&mut Keeper<World>, &Commons) -> Option<Passed<World>>) {
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
            Err(_) => {
                runtime.end(Some(Trouble::Bucket { number: self.number }));
                (None, 0)
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

impl Handler<Ticket<World>> for BucketActor {
    type Result = ();

    fn handle(&mut self, ticket: Ticket<World>, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).ticket();
        self.keep(|keeper, commons| keeper.arrive(ticket, &commons.grid, &commons.world));
    }
}

impl Handler<LetGo> for BucketActor {
    type Result = ();

    fn handle(&mut self, _: LetGo, _: &mut Context<Self>) {
        self.runtime.meter(self.arbiter).let_go();
        self.keep(|keeper, commons| keeper.let_go(&commons.grid, &commons.world));
    }
}
