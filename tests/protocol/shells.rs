//! What several threads share, under a scheduler that tries their interleavings: the LVT histogram, the locks of the
//! table in shared memory, the registry of waiting entities; and a whole run with a thread for every entity.
//!
//! The source files are those of the library, compiled once more against shuttle's locks and atomics. A failure
//! prints the schedule, which `shuttle::replay` repeats.

// A test may fail by any means.
#![allow(clippy::unwrap_used)]

#[path = "../../src/runtime/lvt_histogram.rs"]
#[allow(dead_code)]
mod lvt_histogram;
#[path = "../../src/runtime/lvt_waiters.rs"]
mod lvt_waiters;
#[path = "../../src/runtime/shared_tvht.rs"]
#[allow(dead_code)]
mod shared_tvht;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::vec::Drain;

use anachron::internals::base::time::Tick;
use anachron::internals::protocol::{
    BodyIndex, Context, Driver, Dynamics, Entity, EntityId, Fault, Grid, GvtService, Handled, Limits,
    Message, Next, Shell, StartedFlight, Stats, VirtualTimes,
};
use anachron::internals::verify::{Reference, mix, start};
use anachron::verify::toy_model::{ToyModel, ToyPath};
use lvt_histogram::LvtHistogram;
use lvt_waiters::LvtWaiters;
use shared_tvht::SharedTable;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::sync::{Mutex, atomic};
use shuttle::thread;

/// Whether code fails under some schedule, by a deadlock or an assertion. Failures that need only one switch of threads
/// at the wrong moment are found within few schedules of depth 2.
fn fails(code: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| shuttle::check_pct(code, 5_000, 2))).is_err()
}

/// Every LVT rises to the end, and a thread scans only if `shift` says that its LVT may have been the last one at the
/// minimum. No rise of GVT is lost, though a scan may be left out because another one runs; and GVT never passes an LVT.
fn raise_all_lvts(entities: u32, last: Tick) {
    let lvt_histogram = Arc::new(LvtHistogram::new(entities, 3, 0, last));
    let lvts: Arc<Vec<atomic::AtomicU64>> =
        Arc::new((0..entities).map(|_| atomic::AtomicU64::new(0)).collect());
    let raise = |index: usize| {
        let (lvt_histogram, lvts) = (lvt_histogram.clone(), lvts.clone());
        move || {
            let mut lvt = 0;
            while lvt < last {
                let lvt_min = lvt_histogram.times().lvt_min;
                if lvt - lvt_min >= 2 {
                    thread::yield_now();
                    continue;
                }
                lvts[index].store(lvt + 1, SeqCst);
                let is_last = lvt_histogram.shift(Some(lvt), Some(lvt + 1));
                lvt += 1;
                if is_last {
                    lvt_histogram.advance();
                }
                let gvt = lvt_histogram.gvt();
                assert!(lvts.iter().all(|lvt| lvt.load(SeqCst) >= gvt), "GVT {gvt} passes an LVT");
            }
        }
    };
    let threads: Vec<_> = (0..entities as usize).map(|index| thread::spawn(raise(index))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(lvt_histogram.gvt(), last, "the last rise was lost");
}

#[test]
fn no_rise_of_gvt_is_lost() {
    shuttle::check_random(|| raise_all_lvts(2, 4), 3_000);
    shuttle::check_random(|| raise_all_lvts(3, 3), 3_000);
    shuttle::check_pct(|| raise_all_lvts(3, 3), 2_000, 3);
}

/// An input pins GVT while an LVT rises: from then on GVT stays at the pinned tick. `scans`: a scan follows, because one
/// may have been left out while GVT was being pinned.
fn pin_while_an_lvt_rises(scans: bool) {
    let lvt_histogram = Arc::new(LvtHistogram::new(1, 4, 0, 4));
    let riser = {
        let lvt_histogram = lvt_histogram.clone();
        thread::spawn(move || {
            for lvt in 0..4 {
                if lvt_histogram.shift(Some(lvt), Some(lvt + 1)) {
                    lvt_histogram.advance();
                }
            }
        })
    };
    let pinned = lvt_histogram.pin(2);
    if scans {
        lvt_histogram.advance();
    }
    match pinned {
        Ok(pinned) => {
            for _ in 0..3 {
                assert!(lvt_histogram.gvt() <= 2, "GVT passes a pinned tick");
                thread::yield_now();
            }
            if lvt_histogram.remove(pinned) {
                lvt_histogram.advance();
            }
        }
        Err(gvt) => assert!(gvt > 2),
    }
    riser.join().unwrap();
    assert_eq!(lvt_histogram.gvt(), 4, "the last rise was lost");
}

#[test]
fn a_pin_holds_gvt() {
    shuttle::check_random(|| pin_while_an_lvt_rises(true), 5_000);
    shuttle::check_pct(|| pin_while_an_lvt_rises(true), 3_000, 3);
    assert!(
        fails(|| pin_while_an_lvt_rises(false)),
        "without a scan after the pin a rise of GVT can be lost"
    );
}

/// One entity waits for the LVT of the other to reach tick 1. `rereads`: the time is read again after registering.
fn wait_for_the_other(rereads: bool) {
    let lvt_histogram = Arc::new(LvtHistogram::new(2, 4, 0, 4));
    let waiters = Arc::new(LvtWaiters::default());
    let (wake, woken) = channel();
    lvt_histogram.shift(Some(0), Some(2));
    let other = {
        let (lvt_histogram, waiters) = (lvt_histogram.clone(), waiters.clone());
        thread::spawn(move || {
            if lvt_histogram.shift(Some(0), Some(1))
                && let Some(now) = lvt_histogram.advance()
            {
                waiters.reached(now.lvt_min).into_iter().for_each(|id| wake.send(id).unwrap());
            }
            // Kept until the end: a wake-up that never comes must show as a deadlock, not as a closed channel.
            wake
        })
    };
    let lvt_min = lvt_histogram.times().lvt_min;
    let waits = match rereads {
        true => waiters.register(EntityId(0), 1, || lvt_histogram.times().lvt_min),
        false => waiters.register(EntityId(0), 1, move || lvt_min),
    };
    if waits {
        // The sender is kept in the thread's result, so the channel stays open.
        assert_eq!(woken.recv().unwrap(), EntityId(0));
    }
    assert!(lvt_histogram.times().lvt_min >= 1);
    drop(other.join().unwrap());
}

#[test]
fn no_wake_up_is_lost() {
    shuttle::check_dfs(|| wait_for_the_other(true), Some(50_000));
    shuttle::check_random(|| wait_for_the_other(true), 5_000);
    assert!(fails(|| wait_for_the_other(false)), "without reading the time again a wake-up can be lost");
}

fn toy_model(bodies: u32, seed: u64, fault: Fault) -> ToyModel {
    ToyModel { bodies, seed, extent: 6, last_tick: 3, fault, ..ToyModel::default() }
}

fn limits(toy: &ToyModel) -> Limits {
    Limits { window: 2, contact_window: None, stride_min: 1, adaptive: true, last_tick: toy.last_tick }
}

fn table(toy: &ToyModel, buckets: u32) -> SharedTable<ToyModel> {
    let radii: Vec<f64> = (0..toy.bodies).map(|body| toy.radius(body)).collect();
    SharedTable::new(Grid::new(&radii, 0.5, buckets))
}

/// The shell of an entity that has nothing to do but to plan.
struct NoEffects;

impl Shell<ToyModel> for NoEffects {
    fn retract_flights(&mut self, _: Drain<'_, (BodyIndex, Tick)>) {
        unreachable!("a first plan has no effects");
    }

    fn start_flights(&mut self, _: Drain<'_, StartedFlight<ToyModel>>) {
        unreachable!("a first plan has no effects");
    }

    fn move_lvt(&mut self, _: Option<Tick>, _: Option<Tick>) {
        unreachable!("a first plan has no effects");
    }

    fn send(&mut self, _: EntityId, _: Message<ToyModel>) {
        unreachable!("a first plan has no effects");
    }

    fn unpin(&mut self, _: Tick) {
        unreachable!("a first plan has no effects");
    }
}

/// All entities write their first flight at the same time, each over several buckets. Every contact at the first tick is
/// found exactly once.
fn write_concurrently(seed: u64, fault: Fault) {
    let toy = Arc::new(toy_model(3, seed, fault));
    let table = Arc::new(table(&toy, 4));
    let write = |(id, start): (u32, (BodyIndex, ToyPath))| {
        let (toy, table) = (toy.clone(), table.clone());
        thread::spawn(move || {
            let mut driver = Driver::new(Entity::new(EntityId(id), vec![start].into()).with_fault(fault));
            let handled = driver.poll(&*toy, &Context::new(VirtualTimes::default(), limits(&toy)));
            let Next::Write(plan) = driver.perform(handled, &mut NoEffects) else {
                panic!("an entity at tick 0 may go on");
            };
            let (_, written) = table.write(&*toy, plan, 0);
            let contacts = written.found.iter().map(|found| (found.own, found.remote().0));
            contacts.filter(|_| written.last == 0).collect::<Vec<_>>()
        })
    };
    let start = start(&toy);
    let writers: Vec<_> = (0..).zip(start.iter().copied()).map(write).collect();
    let mut found: Vec<(BodyIndex, BodyIndex)> = writers
        .into_iter()
        .flat_map(|writer| writer.join().unwrap())
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    found.sort_unstable();
    let mut expected = Vec::new();
    for a in 0..start.len() {
        for b in a + 1..start.len() {
            let (one, other) = ((start[a].0, &start[a].1), (start[b].0, &start[b].1));
            if toy.first_touch(one, other, 0, 0).is_some() {
                expected.push((start[a].0, start[b].0));
            }
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn the_locks_of_the_table_neither_deadlock_nor_lose_contacts() {
    for seed in 0..6 {
        shuttle::check_random(move || write_concurrently(seed, Fault::None), 500);
    }
    shuttle::check_pct(|| write_concurrently(1, Fault::None), 1_000, 3);
    let is_noticed = (0..20).any(|seed| fails(move || write_concurrently(seed, Fault::LocksUnordered)));
    assert!(is_noticed, "locks taken in different orders deadlock at some time");
}

/// What an entity's thread receives.
enum Delivery {
    Message(EntityId, Message<ToyModel>),
    WakeUp,
    End,
}

/// What the threads of a run share.
struct Threads {
    toy: ToyModel,
    limits: Limits,
    lvt_histogram: LvtHistogram,
    table: SharedTable<ToyModel>,
    waiters: LvtWaiters,
    mailboxes: Vec<Sender<Delivery>>,
    unfinished: atomic::AtomicU32,
    log: Mutex<Vec<Vec<(Tick, ToyPath)>>>,
}

/// Performs the effects of one entity.
struct ThreadShell<'a> {
    id: EntityId,
    threads: &'a Threads,
    gvt_may_rise: bool,
}

impl Shell<ToyModel> for ThreadShell<'_> {
    fn retract_flights(&mut self, flights: Drain<'_, (BodyIndex, Tick)>) {
        let mut log = self.threads.log.lock().unwrap();
        flights.for_each(|(body, after)| log[body as usize].retain(|(from, _)| *from <= after));
    }

    fn start_flights(&mut self, flights: Drain<'_, StartedFlight<ToyModel>>) {
        let mut log = self.threads.log.lock().unwrap();
        flights.for_each(|(body, from, path)| {
            log[body as usize].push((from, path.expect("no body is despawned")))
        });
    }

    fn move_lvt(&mut self, from: Option<Tick>, to: Option<Tick>) {
        self.gvt_may_rise |= self.threads.lvt_histogram.shift(from, to);
    }

    fn send(&mut self, to: EntityId, message: Message<ToyModel>) {
        let _ = self.threads.mailboxes[to.0 as usize].send(Delivery::Message(self.id, message));
    }

    fn unpin(&mut self, _: Tick) {
        unreachable!("there are no inputs");
    }
}

impl Threads {
    /// Performs effects, and keeps the count of entities that are not done: up before messages leave, down afterwards.
    /// When it is zero no message is on its way, because every sender awaits its acknowledgement.
    fn perform(
        &self,
        driver: &mut Driver<ToyModel>,
        handled: Handled<ToyModel>,
        was_done: &mut bool,
    ) -> Next<ToyModel> {
        let is_done = driver.entity().is_done(&self.limits);
        if *was_done && !is_done {
            self.unfinished.fetch_add(1, SeqCst);
        }
        let mut shell = ThreadShell { id: driver.entity().id(), threads: self, gvt_may_rise: false };
        let next = driver.perform(handled, &mut shell);
        if shell.gvt_may_rise
            && let Some(times) = self.lvt_histogram.advance()
        {
            for woken in self.waiters.reached(times.lvt_min) {
                let _ = self.mailboxes[woken.0 as usize].send(Delivery::WakeUp);
            }
        }
        if is_done && !*was_done && self.unfinished.fetch_sub(1, SeqCst) == 1 {
            self.mailboxes.iter().for_each(|mailbox| mailbox.send(Delivery::End).unwrap());
        }
        *was_done = is_done;
        next
    }

    /// The thread of an entity: handles what arrives, polls when nothing has, and sleeps when it may not go on.
    fn run_entity(&self, entity: Entity<ToyModel>, mailbox: &Receiver<Delivery>) -> Stats {
        let mut driver = Driver::new(entity);
        let (mut is_ready, mut was_done) = (true, false);
        loop {
            let next = if is_ready { mailbox.try_recv().ok() } else { Some(mailbox.recv().unwrap()) };
            let is_message = next.is_some();
            let handled = match next {
                Some(Delivery::End) => return driver.finish(&self.toy),
                Some(Delivery::Message(from, message)) => driver.on_message(from, message),
                Some(Delivery::WakeUp) => {
                    is_ready = true;
                    continue;
                }
                None => driver.poll(&self.toy, &Context::new(self.lvt_histogram.times(), self.limits)),
            };
            is_ready = match self.perform(&mut driver, handled, &mut was_done) {
                Next::Poll => true,
                Next::Write(plan) => {
                    let (plan, reply) = self.table.write(&self.toy, plan, self.lvt_histogram.gvt());
                    let handled = driver.on_table_reply(plan, reply);
                    matches!(self.perform(&mut driver, handled, &mut was_done), Next::Poll)
                }
                Next::AwaitLvtMin(tick) => {
                    let lvt_min = || self.lvt_histogram.times().lvt_min;
                    !self.waiters.register(driver.entity().id(), tick, lvt_min)
                }
                // Nothing new: what was to be polled still is.
                Next::AwaitAcks | Next::Done => is_message && is_ready,
            };
        }
    }
}

/// A run with a thread for every entity must commit the reference.
fn run(bodies: u32, seed: u64) {
    let toy = toy_model(bodies, seed, Fault::None);
    let start = start(&toy);
    let (mailboxes, receivers): (Vec<_>, Vec<_>) = (0..bodies).map(|_| channel()).unzip();
    let threads = Arc::new(Threads {
        limits: limits(&toy),
        lvt_histogram: LvtHistogram::new(bodies, 2, 0, toy.last_tick),
        table: table(&toy, 3),
        waiters: LvtWaiters::default(),
        mailboxes,
        unfinished: atomic::AtomicU32::new(bodies),
        log: Mutex::new(start.iter().map(|(_, path)| vec![(0, *path)]).collect()),
        toy: toy.clone(),
    });
    let spawn = |(id, (start, mailbox)): (u32, ((BodyIndex, ToyPath), Receiver<Delivery>))| {
        let threads = threads.clone();
        thread::spawn(move || threads.run_entity(Entity::new(EntityId(id), vec![start].into()), &mailbox))
    };
    let handles: Vec<_> = (0..).zip(start.into_iter().zip(receivers)).map(spawn).collect();
    let mut stats = Stats::default();
    handles.into_iter().for_each(|handle| stats.add(&handle.join().unwrap()));
    let log = threads.log.lock().unwrap();
    let mut reference = Reference::new(&toy, None);
    while reference.tick <= toy.last_tick {
        let path = |paths: &Vec<(Tick, ToyPath)>| {
            let (_, path) =
                paths.iter().rfind(|(from, _)| *from <= reference.tick).expect("every body has a first path");
            (path.position_at(reference.tick), path.number)
        };
        let found: Vec<_> = log.iter().map(path).collect();
        let expected: Vec<_> =
            reference.positions().into_iter().map(|(_, position, number)| (position, number)).collect();
        assert_eq!(found, expected, "tick {}", reference.tick);
        reference.advance(&[]);
    }
    assert_eq!((stats.contact_ticks, stats.repeated_events), (reference.contacts, 0));
}

#[test]
fn a_thread_for_every_entity_commits_the_reference() {
    for round in 0..120 {
        let seed = mix(&[round]);
        shuttle::check_random(move || run(2 + (round % 2) as u32, seed), 25);
        shuttle::check_pct(move || run(2 + (round % 2) as u32, seed), 10, 4);
    }
}
