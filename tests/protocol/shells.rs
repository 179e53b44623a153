//! What several threads share, under a scheduler that tries their interleavings: the LVT histogram, the locks of the shared
//! table, the waiting room at the bound; and a whole run with a thread for every entity.
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
use anachron::verify::toy_model::{Reference, ToyModel, ToyPath, mix};
use lvt_histogram::LvtHistogram;
use lvt_waiters::LvtWaiters;
use shared_tvht::SharedTable;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::sync::{Mutex, atomic};
use shuttle::thread;

/// Whether a body of code fails under some schedule: a deadlock, or an assertion. Where one thread at the wrong
/// input is enough, few schedules find it.
fn fails(body: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| shuttle::check_pct(body, 5_000, 2))).is_err()
}

/// Everybody walks to the end, and looks for the minimum only when told that it may have been the last there. No
/// rise of the minimum is lost, though a scan may be put off because another is under way; and the minimum never
/// overtakes anybody.
fn walk_to_the_end(walkers: u32, last: Tick) {
    let lvt_histogram = Arc::new(LvtHistogram::new(walkers, 3, 0, last));
    let places: Arc<Vec<atomic::AtomicU64>> =
        Arc::new((0..walkers).map(|_| atomic::AtomicU64::new(0)).collect());
    let walk = |me: usize| {
        let (lvt_histogram, places) = (lvt_histogram.clone(), places.clone());
        move || {
            let mut at = 0;
            while at < last {
                let lvt_min = lvt_histogram.times().lvt_min;
                if at - lvt_min >= 2 {
                    thread::yield_now();
                    continue;
                }
                places[me].store(at + 1, SeqCst);
                let is_last = lvt_histogram.shift(Some(at), Some(at + 1));
                at += 1;
                if is_last {
                    lvt_histogram.advance();
                }
                let gvt = lvt_histogram.gvt();
                assert!(places.iter().all(|place| place.load(SeqCst) >= gvt), "{gvt} overtakes somebody");
            }
        }
    };
    let walkers: Vec<_> = (0..walkers as usize).map(|me| thread::spawn(walk(me))).collect();
    walkers.into_iter().for_each(|walker| walker.join().unwrap());
    assert_eq!(lvt_histogram.gvt(), last, "the last rise was lost");
}

#[test]
fn no_rise_of_the_minimum_is_lost() {
    shuttle::check_random(|| walk_to_the_end(2, 4), 3_000);
    shuttle::check_random(|| walk_to_the_end(3, 3), 3_000);
    shuttle::check_pct(|| walk_to_the_end(3, 3), 2_000, 3);
}

/// Somebody outside is let in while another walks: from then on the minimum stays where he holds it. `looks`: he
/// looks for the minimum afterwards, because a search may have been put off while he was let in.
fn act_from_outside(looks: bool) {
    let lvt_histogram = Arc::new(LvtHistogram::new(1, 4, 0, 4));
    let walker = {
        let lvt_histogram = lvt_histogram.clone();
        thread::spawn(move || {
            for at in 0..4 {
                if lvt_histogram.shift(Some(at), Some(at + 1)) {
                    lvt_histogram.advance();
                }
            }
        })
    };
    let held = lvt_histogram.pin(2);
    if looks {
        lvt_histogram.advance();
    }
    match held {
        Ok(held) => {
            for _ in 0..3 {
                assert!(lvt_histogram.gvt() <= 2, "nobody waited");
                thread::yield_now();
            }
            if lvt_histogram.remove(held) {
                lvt_histogram.advance();
            }
        }
        Err(gvt) => assert!(gvt > 2),
    }
    walker.join().unwrap();
    assert_eq!(lvt_histogram.gvt(), 4, "the last rise was lost");
}

#[test]
fn who_acts_from_outside_holds_the_minimum() {
    shuttle::check_random(|| act_from_outside(true), 5_000);
    shuttle::check_pct(|| act_from_outside(true), 3_000, 3);
    assert!(fails(|| act_from_outside(false)), "a search that was put off can be lost");
}

/// One waits for the other to come to tick 1. `is_careful`: the time is read again after registering.
fn wait_for_the_other(is_careful: bool) {
    let lvt_histogram = Arc::new(LvtHistogram::new(2, 4, 0, 4));
    let room = Arc::new(LvtWaiters::default());
    let (wake, woken) = channel();
    lvt_histogram.shift(Some(0), Some(2));
    let other = {
        let (lvt_histogram, room) = (lvt_histogram.clone(), room.clone());
        thread::spawn(move || {
            if lvt_histogram.shift(Some(0), Some(1))
                && let Some(now) = lvt_histogram.advance()
            {
                room.reached(now.lvt_min).into_iter().for_each(|id| wake.send(id).unwrap());
            }
            // Kept until the end: who waits for a wake-up that never comes must not be told that nobody is left.
            wake
        })
    };
    let lvt_min = lvt_histogram.times().lvt_min;
    let waits = match is_careful {
        true => room.register(EntityId(0), 1, || lvt_histogram.times().lvt_min),
        false => room.register(EntityId(0), 1, move || lvt_min),
    };
    if waits {
        // The other side of the channel lives in the thread's result: nobody hangs up.
        assert_eq!(woken.recv().unwrap(), EntityId(0));
    }
    assert!(lvt_histogram.times().lvt_min >= 1);
    drop(other.join().unwrap());
}

#[test]
fn no_wake_up_at_the_bound_is_lost() {
    shuttle::check_dfs(|| wait_for_the_other(true), Some(50_000));
    shuttle::check_random(|| wait_for_the_other(true), 5_000);
    assert!(fails(|| wait_for_the_other(false)), "who does not look again can sleep for ever");
}

fn world(bodies: u32, seed: u64, fault: Fault) -> ToyModel {
    ToyModel { bodies, seed, rounds: 2, room: 6, sparse: 1, sticky: 1000, bumpy: 1000, last_tick: 3, fault }
}

fn limits(toy: &ToyModel) -> Limits {
    Limits {
        window: 2,
        contact_window: None,
        stride_min: 1,
        adaptive: true,
        last_tick: toy.last_tick,
        alone_until: Tick::MAX,
    }
}

fn table(toy: &ToyModel, buckets: u32) -> SharedTable<ToyModel> {
    let radii: Vec<f64> = (0..toy.bodies).map(|body| toy.radius(body)).collect();
    SharedTable::new(Grid::new(&radii, 0.5, buckets))
}

/// For an entity that has nothing to do but to plan.
struct NoEffects;

impl Shell<ToyModel> for NoEffects {
    fn retract_flights(&mut self, _: Drain<'_, (BodyIndex, Tick)>) {
        unreachable!("a plan leaves without effects");
    }

    fn start_flights(&mut self, _: Drain<'_, StartedFlight<ToyModel>>) {
        unreachable!("a plan leaves without effects");
    }

    fn move_lvt(&mut self, _: Option<Tick>, _: Option<Tick>) {
        unreachable!("a plan leaves without effects");
    }

    fn send(&mut self, _: EntityId, _: Message<ToyModel>) {
        unreachable!("a plan leaves without effects");
    }

    fn unpin(&mut self, _: Tick) {
        unreachable!("a plan leaves without effects");
    }
}

/// All entities write their first flight at the same time, each over several buckets. Whoever touches at the first tick
/// is told once, not twice and not never.
fn write_at_once(seed: u64, fault: Fault) {
    let toy = Arc::new(world(3, seed, fault));
    let table = Arc::new(table(&toy, 4));
    let write = |(id, start): (u32, (BodyIndex, ToyPath))| {
        let (toy, table) = (toy.clone(), table.clone());
        thread::spawn(move || {
            let mut driver = Driver::new(Entity::new(EntityId(id), vec![start].into()).with_fault(fault));
            let handled = driver.poll(&*toy, &Context::new(VirtualTimes::default(), limits(&toy)));
            let Next::Write(plan) = driver.perform(handled, &mut NoEffects) else {
                panic!("it may go on");
            };
            let (_, written) = table.write(&*toy, plan, 0);
            let met = written.found.iter().map(|found| (found.own, found.remote().0));
            met.filter(|_| written.last == 0).collect::<Vec<_>>()
        })
    };
    let start = toy.start();
    let writers: Vec<_> = (0..).zip(start.iter().copied()).map(write).collect();
    let mut told: Vec<(BodyIndex, BodyIndex)> = writers
        .into_iter()
        .flat_map(|writer| writer.join().unwrap())
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    told.sort_unstable();
    let mut expected = Vec::new();
    for a in 0..start.len() {
        for b in a + 1..start.len() {
            let (one, other) = ((start[a].0, &start[a].1), (start[b].0, &start[b].1));
            if toy.first_touch(one, other, 0, 0).is_some() {
                expected.push((start[a].0, start[b].0));
            }
        }
    }
    assert_eq!(told, expected);
}

#[test]
fn the_locks_of_the_table_neither_block_nor_lose() {
    for seed in 0..6 {
        shuttle::check_random(move || write_at_once(seed, Fault::None), 500);
    }
    shuttle::check_pct(|| write_at_once(1, Fault::None), 1_000, 3);
    let is_noticed = (0..20).any(|seed| fails(move || write_at_once(seed, Fault::LocksUnordered)));
    assert!(is_noticed, "locks in any order must block each other at some time");
}

/// Something on its way to an entity.
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
        flights
            .for_each(|(body, from, path)| log[body as usize].push((from, path.expect("no body vanishes"))));
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

    /// An entity's thread: handles what arrives, polls when nothing has, and sleeps when it may not go on.
    fn live(&self, entity: Entity<ToyModel>, mailbox: &Receiver<Delivery>) -> Stats {
        let mut driver = Driver::new(entity);
        let (mut is_ready, mut was_done) = (true, false);
        loop {
            let next = if is_ready { mailbox.try_recv().ok() } else { Some(mailbox.recv().unwrap()) };
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
                Next::AwaitAcks | Next::Done => false,
                Next::Forward { .. } => unreachable!("there are no inputs"),
            };
        }
    }
}

/// A run with a thread for every entity must commit the reference.
fn run(bodies: u32, seed: u64) {
    let toy = world(bodies, seed, Fault::None);
    let start = toy.start();
    let (mailboxes, mail): (Vec<_>, Vec<_>) = (0..bodies).map(|_| channel()).unzip();
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
    let live = |(id, (start, mail)): (u32, ((BodyIndex, ToyPath), Receiver<Delivery>))| {
        let threads = threads.clone();
        thread::spawn(move || threads.live(Entity::new(EntityId(id), vec![start].into()), &mail))
    };
    let lives: Vec<_> = (0..).zip(start.into_iter().zip(mail)).map(live).collect();
    let mut stats = Stats::default();
    lives.into_iter().for_each(|life| stats.add(&life.join().unwrap()));
    let log = threads.log.lock().unwrap();
    let mut reference = Reference::new(&toy);
    while reference.tick <= toy.last_tick {
        let path = |paths: &Vec<(Tick, ToyPath)>| {
            let (_, path) = paths.iter().rfind(|(from, _)| *from <= reference.tick).expect("all have begun");
            (path.place_at(reference.tick), path.number)
        };
        let found: Vec<_> = log.iter().map(path).collect();
        let expected: Vec<_> = reference.places().into_iter().map(|(_, at, number)| (at, number)).collect();
        assert_eq!(found, expected, "tick {}", reference.tick);
        reference.advance(&[]);
    }
    assert_eq!((stats.contact_ticks, stats.repeated_events), (reference.touches, 0));
}

#[test]
fn a_thread_for_every_entity_commits_the_reference() {
    for round in 0..120 {
        let seed = mix(&[round]);
        shuttle::check_random(move || run(2 + (round % 2) as u32, seed), 25);
        shuttle::check_pct(move || run(2 + (round % 2) as u32, seed), 10, 4);
    }
}
