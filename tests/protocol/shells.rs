//! What several threads share, under a scheduler that tries their interleavings: counters, the locks of the shared
//! table, the waiting room at the bound; and a whole run with a thread for every entity.
//!
//! The source files are those of the library, compiled once more against shuttle's locks and atomics. A failure
//! prints the schedule, which `shuttle::replay` repeats.

// A test may fail by any means.
#![allow(clippy::unwrap_used)]

#[path = "../../src/protocol/counters.rs"]
#[allow(dead_code)]
mod counters;
#[path = "../../src/shared_table.rs"]
#[allow(dead_code)]
mod shared_table;
#[path = "../../src/waiting.rs"]
mod waiting;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use anachron::protocol::{
    self, Dynamics, Entity, EntityId, Fault, Grid, Limits, Message, Outbox, Place, Stats, Step,
};
use anachron::time::Tick;
use anachron::verify::tiny::{Course, Reference, Tiny, stir};
use counters::Counters;
use shared_table::SharedTable;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::sync::{Mutex, atomic};
use shuttle::thread;
use waiting::WaitingRoom;

/// Whether a body of code fails under some schedule: a deadlock, or an assertion. Where one thread at the wrong
/// moment is enough, few schedules find it.
fn fails(body: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| shuttle::check_pct(body, 5_000, 2))).is_err()
}

/// Everybody walks to the end, and looks for the minimum only when told that it may have been the last there. No
/// rise of the minimum is lost, though a scan may be put off because another is under way; and the minimum never
/// overtakes anybody.
fn walk_to_the_end(walkers: u32, last: Tick) {
    let counters = Arc::new(Counters::new(walkers, 3, 0, last));
    let places: Arc<Vec<atomic::AtomicU64>> =
        Arc::new((0..walkers).map(|_| atomic::AtomicU64::new(0)).collect());
    let walk = |me: usize| {
        let (counters, places) = (counters.clone(), places.clone());
        move || {
            let mut at = 0;
            while at < last {
                let floor = counters.now().floor;
                if at - floor >= 2 {
                    thread::yield_now();
                    continue;
                }
                places[me].store(at + 1, SeqCst);
                let is_last = counters.shift(at, at + 1);
                at += 1;
                if is_last {
                    counters.advance();
                }
                let gvt = counters.gvt();
                assert!(places.iter().all(|place| place.load(SeqCst) >= gvt), "{gvt} overtakes somebody");
            }
        }
    };
    let walkers: Vec<_> = (0..walkers as usize).map(|me| thread::spawn(walk(me))).collect();
    walkers.into_iter().for_each(|walker| walker.join().unwrap());
    assert_eq!(counters.gvt(), last, "the last rise was lost");
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
    let counters = Arc::new(Counters::new(1, 4, 0, 4));
    let walker = {
        let counters = counters.clone();
        thread::spawn(move || {
            for at in 0..4 {
                if counters.shift(at, at + 1) {
                    counters.advance();
                }
            }
        })
    };
    let held = counters.hold(2);
    if looks {
        counters.advance();
    }
    match held {
        Ok(held) => {
            for _ in 0..3 {
                assert!(counters.gvt() <= 2, "nobody waited");
                thread::yield_now();
            }
            if counters.leave(held) {
                counters.advance();
            }
        }
        Err(gvt) => assert!(gvt > 2),
    }
    walker.join().unwrap();
    assert_eq!(counters.gvt(), 4, "the last rise was lost");
}

#[test]
fn who_acts_from_outside_holds_the_minimum() {
    shuttle::check_random(|| act_from_outside(true), 5_000);
    shuttle::check_pct(|| act_from_outside(true), 3_000, 3);
    assert!(fails(|| act_from_outside(false)), "a search that was put off can be lost");
}

/// One waits for the other to come to tick 1. `is_careful`: the time is read again after registering.
fn wait_for_the_other(is_careful: bool) {
    let counters = Arc::new(Counters::new(2, 4, 0, 4));
    let room = Arc::new(WaitingRoom::default());
    let (wake, woken) = channel();
    counters.shift(0, 2);
    let other = {
        let (counters, room) = (counters.clone(), room.clone());
        thread::spawn(move || {
            if counters.shift(0, 1)
                && let Some(now) = counters.advance()
            {
                room.reached(now.floor).into_iter().for_each(|id| wake.send(id).unwrap());
            }
            // Kept until the end: who waits for a wake-up that never comes must not be told that nobody is left.
            wake
        })
    };
    let floor = counters.now().floor;
    let waits = match is_careful {
        true => room.register(EntityId(0), 1, || counters.now().floor),
        false => room.register(EntityId(0), 1, move || floor),
    };
    if waits {
        // The other side of the channel lives in the thread's result: nobody hangs up.
        assert_eq!(woken.recv().unwrap(), EntityId(0));
    }
    assert!(counters.now().floor >= 1);
    drop(other.join().unwrap());
}

#[test]
fn no_wake_up_at_the_bound_is_lost() {
    shuttle::check_dfs(|| wait_for_the_other(true), Some(50_000));
    shuttle::check_random(|| wait_for_the_other(true), 5_000);
    assert!(fails(|| wait_for_the_other(false)), "who does not look again can sleep for ever");
}

fn world(bodies: u32, seed: u64, fault: Fault) -> Tiny {
    Tiny { bodies, seed, rounds: 2, room: 6, sparse: 1, sticky: 1000, bumpy: 1000, last_tick: 3, fault }
}

fn limits(tiny: &Tiny) -> Limits {
    Limits {
        window: 2,
        contact_window: None,
        stride_min: 1,
        adaptive: true,
        last_tick: tiny.last_tick,
        alone_until: Tick::MAX,
    }
}

fn table(tiny: &Tiny, buckets: u32) -> SharedTable<Tiny> {
    let radii: Vec<f64> = (0..tiny.bodies).map(|body| tiny.radius(body)).collect();
    SharedTable::new(Grid::new(&radii, 0.5, buckets))
}

/// Everybody writes its first flight at the same time, each over several buckets. Whoever touches at the first tick
/// is told once, not twice and not never.
fn write_at_once(seed: u64, fault: Fault) {
    let tiny = Arc::new(world(3, seed, fault));
    let table = Arc::new(table(&tiny, 4));
    let write = |(id, start): (u32, (Place, Course))| {
        let (tiny, table) = (tiny.clone(), table.clone());
        thread::spawn(move || {
            let mut entity = Entity::new(EntityId(id), vec![start].into()).with_fault(fault);
            let now = protocol::Now { gvt: 0, floor: 0 };
            let Step::Write(plan) = entity.step(&*tiny, &limits(&tiny), now, &mut Outbox::default()) else {
                panic!("it may step");
            };
            let (_, written) = table.write(&*tiny, plan, 0);
            let met = written.found.iter().map(|found| (found.own, found.stranger().0));
            met.filter(|_| written.last == 0).collect::<Vec<_>>()
        })
    };
    let start = tiny.start();
    let writers: Vec<_> = (0..).zip(start.iter().copied()).map(write).collect();
    let mut told: Vec<(Place, Place)> = writers
        .into_iter()
        .flat_map(|writer| writer.join().unwrap())
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    told.sort_unstable();
    let mut expected = Vec::new();
    for a in 0..start.len() {
        for b in a + 1..start.len() {
            let (one, other) = ((start[a].0, &start[a].1), (start[b].0, &start[b].1));
            if tiny.first_touch(one, other, 0, 0).is_some() {
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
enum Mail {
    Letter(EntityId, Message<Tiny>),
    WakeUp,
    End,
}

/// What the threads of a run share.
struct Shell {
    tiny: Tiny,
    limits: Limits,
    counters: Counters,
    table: SharedTable<Tiny>,
    room: WaitingRoom,
    mailboxes: Vec<Sender<Mail>>,
    unfinished: atomic::AtomicU32,
    log: Mutex<Vec<Vec<(Tick, Course)>>>,
}

impl Shell {
    fn carry_out(&self, id: EntityId, out: &mut Outbox<Tiny>) {
        let mut log = self.log.lock().unwrap();
        for (body, tick) in out.landed.drain(..) {
            log[body as usize].retain(|(from, _)| *from <= tick);
        }
        for (body, tick, course) in out.took_off.drain(..) {
            log[body as usize].push((tick, course.expect("nobody vanishes")));
        }
        drop(log);
        let mut gvt_may_move = false;
        if let Some((from, to)) = out.counted.take() {
            self.counters.enter(to.expect("nobody vanishes"));
            gvt_may_move = self.counters.leave(from.expect("nobody appears"));
        }
        for (to, letter) in out.messages.drain(..) {
            let _ = self.mailboxes[to.0 as usize].send(Mail::Letter(id, letter));
        }
        if gvt_may_move && let Some(now) = self.counters.advance() {
            for woken in self.room.reached(now.floor) {
                let _ = self.mailboxes[woken.0 as usize].send(Mail::WakeUp);
            }
        }
    }

    /// An entity's thread: handles its mail, steps when there is none, and sleeps when it may not.
    fn live(&self, mut entity: Entity<Tiny>, mail: &Receiver<Mail>) -> Stats {
        let (id, mut out) = (entity.id(), Outbox::default());
        let (mut is_ready, mut was_done) = (true, false);
        loop {
            let next = if is_ready { mail.try_recv().ok() } else { Some(mail.recv().unwrap()) };
            match next {
                Some(Mail::End) => return entity.finish(&self.tiny),
                Some(Mail::Letter(from, letter)) => {
                    entity.handle(from, letter, &mut out);
                    is_ready = true;
                }
                Some(Mail::WakeUp) => is_ready = true,
                None => is_ready = self.step(&mut entity, &mut out),
            }
            let is_done = entity.is_done(&self.limits);
            if was_done && !is_done {
                self.unfinished.fetch_add(1, SeqCst);
            }
            self.carry_out(id, &mut out);
            if is_done && !was_done && self.unfinished.fetch_sub(1, SeqCst) == 1 {
                self.mailboxes.iter().for_each(|mailbox| mailbox.send(Mail::End).unwrap());
            }
            was_done = is_done;
        }
    }

    /// Steps. Says whether it should be tried again.
    fn step(&self, entity: &mut Entity<Tiny>, out: &mut Outbox<Tiny>) -> bool {
        let counters::Now { gvt, floor } = self.counters.now();
        entity.settle(gvt);
        match entity.step(&self.tiny, &self.limits, protocol::Now { gvt, floor }, out) {
            Step::Write(plan) => {
                let (plan, written) = self.table.write(&self.tiny, plan, gvt);
                entity.written(plan, written, out);
                true
            }
            Step::WaitFor(tick) => !self.room.register(entity.id(), tick, || self.counters.now().floor),
            Step::Owes | Step::Done => false,
        }
    }
}

/// A run with a thread for every entity must commit the reference.
fn run(bodies: u32, seed: u64) {
    let tiny = world(bodies, seed, Fault::None);
    let start = tiny.start();
    let (mailboxes, mail): (Vec<_>, Vec<_>) = (0..bodies).map(|_| channel()).unzip();
    let shell = Arc::new(Shell {
        limits: limits(&tiny),
        counters: Counters::new(bodies, 2, 0, tiny.last_tick),
        table: table(&tiny, 3),
        room: WaitingRoom::default(),
        mailboxes,
        unfinished: atomic::AtomicU32::new(bodies),
        log: Mutex::new(start.iter().map(|(_, course)| vec![(0, *course)]).collect()),
        tiny: tiny.clone(),
    });
    let live = |(id, (start, mail)): (u32, ((Place, Course), Receiver<Mail>))| {
        let shell = shell.clone();
        thread::spawn(move || shell.live(Entity::new(EntityId(id), vec![start].into()), &mail))
    };
    let lives: Vec<_> = (0..).zip(start.into_iter().zip(mail)).map(live).collect();
    let mut stats = Stats::default();
    lives.into_iter().for_each(|life| stats.add(&life.join().unwrap()));
    let log = shell.log.lock().unwrap();
    let mut reference = Reference::new(&tiny);
    while reference.tick <= tiny.last_tick {
        let course = |courses: &Vec<(Tick, Course)>| {
            let (_, course) =
                courses.iter().rfind(|(from, _)| *from <= reference.tick).expect("all have begun");
            (course.place_at(reference.tick), course.number)
        };
        let found: Vec<_> = log.iter().map(course).collect();
        let expected: Vec<_> = reference.places().into_iter().map(|(_, at, number)| (at, number)).collect();
        assert_eq!(found, expected, "tick {}", reference.tick);
        reference.advance(&[]);
    }
    assert_eq!((stats.touches, stats.repeated), (reference.touches, 0));
}

#[test]
fn a_thread_for_every_entity_commits_the_reference() {
    for round in 0..120 {
        let seed = stir(&[round]);
        shuttle::check_random(move || run(2 + (round % 2) as u32, seed), 25);
        shuttle::check_pct(move || run(2 + (round % 2) as u32, seed), 10, 4);
    }
}
