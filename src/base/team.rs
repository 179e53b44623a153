//! A leader and its helpers: threads that share loops too short for a pool.
//!
//! The leader publishes the parts of a loop as the bits of one word. Every thread takes a part by clearing its bit. The
//! leader takes parts as well, and waits for parts that were taken, never for threads: a helper that is off its core and
//! has taken nothing delays nothing. Helpers spin for a short time after a loop, then sleep.
#![allow(unsafe_code, reason = "helpers run a closure that the leader borrows")]

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};

use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, lock, spin_loop};

/// Most parts of a loop, and most threads of a team: a bit each.
pub(crate) const PARTS_MAX: usize = 64;
/// How often a helper looks for a part before it sleeps. Not tuned.
const HELPER_SPINS: u32 = 4096;
/// How often the leader looks whether its helpers are done before it lets other threads run in between. Not tuned.
const LEADER_SPINS: u32 = 1 << 14;

type Act<'a> = &'a (dyn Fn(usize) + Sync);

/// What does the parts of the loops of the thread that leads it.
pub(crate) trait Sharing {
    /// How many threads share a loop.
    fn threads(&self) -> usize;
    /// Whether another of them is awake.
    fn is_awake(&self) -> bool;
    /// Calls `act` for all of `0..parts`.
    fn share(&self, parts: usize, act: &(dyn Fn(usize) + Sync));
}

thread_local! {
    /// The team that this thread leads. Taken away while a loop is shared, so that loops within it are plain.
    static LED: Cell<Option<Rc<dyn Sharing>>> = const { Cell::new(None) };
}

/// A word that shares its line of the cache with no other.
#[derive(Default)]
#[repr(align(128))]
struct Alone<T>(T);

#[derive(Default)]
struct Helper {
    is_asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// What the threads of a team share.
struct Shared {
    /// A bit for every part of the present loop that has not been taken.
    free: Alone<AtomicU64>,
    /// Parts of the present loop that helpers have finished.
    finished: Alone<AtomicU32>,
    /// What to do with a part of the present loop. Valid as long as a part has been taken and is not finished.
    act: Alone<AtomicPtr<Act<'static>>>,
    /// Number of parts of the present loop; helpers only choose by it where they begin.
    parts: AtomicU32,
    /// The first panic of the present loop.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    is_over: AtomicBool,
    helpers: Vec<Alone<Helper>>,
}

impl Shared {
    fn new(threads: usize) -> Self {
        Shared {
            free: Alone::default(),
            finished: Alone::default(),
            act: Alone(AtomicPtr::new(ptr::null_mut())),
            parts: AtomicU32::new(0),
            panic: Mutex::new(None),
            is_over: AtomicBool::new(false),
            helpers: (1..threads).map(|_| Alone::default()).collect(),
        }
    }

    /// Takes a part, if there is one; the first at or after `from`, so that threads begin in different places.
    #[inline]
    fn take(&self, from: u32) -> Option<u32> {
        let mut free = self.free.0.load(Relaxed);
        while free != 0 {
            let part = (free.rotate_right(from).trailing_zeros() + from) % u64::BITS;
            let before = self.free.0.fetch_and(!(1 << part), AcqRel);
            if before & (1 << part) != 0 {
                return Some(part);
            }
            free = before;
        }
        None
    }

    /// Does a part that the calling thread has taken.
    fn act(&self, part: u32) {
        let act = self.act.0.load(Relaxed);
        // SAFETY: `share` stores a pointer to a closure before it publishes the parts, and neither returns nor stores
        // another one before all parts are finished. This part was taken and is not finished: what is taken are bits of
        // the loop that is present when they are taken, however old the word was that a thread looked at first.
        let act = unsafe { *act };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| act(part as usize))) {
            lock(&self.panic).get_or_insert(panic);
        }
    }

    /// Calls `act` for all of `0..parts`, on all threads.
    fn share(&self, parts: usize, act: Act) {
        assert!((1..=PARTS_MAX).contains(&parts), "{parts} parts");
        self.act.0.store(ptr::from_ref(&act).cast::<Act<'static>>().cast_mut(), Relaxed);
        self.parts.store(parts as u32, Relaxed);
        self.finished.0.store(0, Relaxed);
        self.free.0.store(u64::MAX >> (PARTS_MAX - parts), SeqCst);
        self.wake();
        let mut left = parts as u32;
        while let Some(part) = self.take(0) {
            self.act(part);
            left -= 1;
        }
        let mut spins = 0;
        while self.finished.0.load(Acquire) != left {
            spins += 1;
            if spins < LEADER_SPINS {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
        if let Some(panic) = lock(&self.panic).take() {
            resume_unwind(panic);
        }
    }

    /// Wakes helpers that sleep.
    fn wake(&self) {
        for Alone(helper) in &self.helpers {
            if helper.is_asleep.load(SeqCst)
                && helper.is_asleep.swap(false, SeqCst)
                && let Some(thread) = helper.thread.get()
            {
                thread.unpark();
            }
        }
    }

    /// What helper number `me` does until the team is over; the leader is number 0.
    fn help(&self, me: usize) {
        let Alone(helper) = &self.helpers[me - 1];
        let _ = helper.thread.set(thread::current());
        let threads = self.helpers.len() + 1;
        let mut spins = 0;
        while !self.is_over.load(Relaxed) {
            let first = self.parts.load(Relaxed) as usize * me / threads;
            if let Some(part) = self.take(first as u32) {
                self.act(part);
                self.finished.0.fetch_add(1, Release);
                spins = 0;
            } else if spins < HELPER_SPINS {
                spins += 1;
                spin_loop();
            } else {
                helper.is_asleep.store(true, SeqCst);
                // What is published from here on wakes this thread.
                if self.free.0.load(SeqCst) == 0 && !self.is_over.load(SeqCst) {
                    thread::park();
                }
                helper.is_asleep.store(false, SeqCst);
                spins = 0;
            }
        }
    }
}

/// A leader and its helpers. The helpers end with the team.
pub(crate) struct Team {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
}

impl Team {
    /// Starts the helpers of a team of `threads`, the leader included. Every thread calls `begin` with its number first.
    pub fn start(threads: usize, begin: fn(usize)) -> io::Result<Self> {
        let threads = threads.clamp(1, PARTS_MAX);
        let mut team = Team { shared: Arc::new(Shared::new(threads)), helpers: Vec::new() };
        for me in 1..threads {
            let shared = team.shared.clone();
            let helper = thread::Builder::new().name(format!("helper {me}"));
            let help = move || {
                begin(me);
                shared.help(me);
            };
            team.helpers.push(helper.spawn(help)?);
        }
        if threads > 1 {
            begin(0);
        }
        Ok(team)
    }

    /// Does some work. The helpers share its loops.
    pub fn lead<R>(&self, work: impl FnOnce() -> R) -> R {
        lead(Rc::new(self.shared.clone()), work)
    }
}

impl Sharing for Arc<Shared> {
    fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    fn is_awake(&self) -> bool {
        self.helpers.iter().any(|helper| !helper.0.is_asleep.load(Relaxed))
    }

    fn share(&self, parts: usize, act: &(dyn Fn(usize) + Sync)) {
        Shared::share(self, parts, act);
    }
}

/// Does some work. `team` does the parts of its loops.
pub(crate) fn lead<R>(team: Rc<dyn Sharing>, work: impl FnOnce() -> R) -> R {
    let _restored = Restored(LED.replace(Some(team)));
    work()
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.is_over.store(true, SeqCst);
        self.shared.wake();
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            // Panics in parts are caught: a helper cannot fail.
            let _ = helper.join();
        }
    }
}

/// Puts a team back, whatever happens.
struct Restored(Option<Rc<dyn Sharing>>);

impl Drop for Restored {
    fn drop(&mut self) {
        LED.set(self.0.take());
    }
}

/// How many threads the team has that the calling thread leads, and whether a helper is awake. One if there is no team,
/// and within a loop that is shared already.
pub(crate) fn threads() -> (usize, bool) {
    let led = LED.take();
    let threads = led.as_ref().map_or((1, false), |team| (team.threads(), team.is_awake()));
    LED.set(led);
    threads
}

/// Calls `act` for all of `0..parts`, which are at most [`PARTS_MAX`], on the threads of the team that the calling thread
/// leads. If it leads none, nothing is done, and the answer is no.
pub(crate) fn share(parts: usize, act: &(dyn Fn(usize) + Sync)) -> bool {
    let led = Restored(LED.take());
    match &led.0 {
        Some(team) => team.share(parts, act),
        None => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn started(threads: usize) -> Team {
        Team::start(threads, |_| ()).unwrap()
    }

    /// How often each part was done.
    fn counted(parts: usize, work: impl Fn(usize) + Sync) -> Vec<u32> {
        let counts: Vec<AtomicU32> = (0..parts).map(|_| AtomicU32::new(0)).collect();
        assert!(share(parts, &|part| {
            counts[part].fetch_add(1, Relaxed);
            work(part);
        }));
        counts.iter().map(|count| count.load(Relaxed)).collect()
    }

    #[test]
    fn every_part_is_done_once() {
        for threads in [1, 2, 3, 5] {
            started(threads).lead(|| {
                for parts in (1..=PARTS_MAX).cycle().take(2000) {
                    assert_eq!(counted(parts, |_| ()), vec![1; parts], "{parts} parts, {threads} threads");
                }
            });
        }
    }

    #[test]
    fn no_part_is_taken_twice() {
        let (shared, taken, start) = (Shared::new(1), AtomicU32::new(0), Barrier::new(3));
        thread::scope(|scope| {
            for me in 0..3 {
                let (shared, taken, start) = (&shared, &taken, &start);
                scope.spawn(move || {
                    for round in 1..=500 {
                        if me == 0 {
                            shared.free.0.store(u64::MAX, SeqCst);
                        }
                        start.wait();
                        while shared.take(0).is_some() {
                            taken.fetch_add(1, SeqCst);
                        }
                        start.wait();
                        assert_eq!(taken.load(SeqCst), round * u64::BITS);
                        start.wait();
                    }
                });
            }
        });
    }

    /// Loops follow each other so closely that helpers often come late.
    #[test]
    fn late_helpers_do_no_part_of_a_loop_that_is_over() {
        started(3).lead(|| {
            for turn in 0..20_000u64 {
                let seen: [AtomicU64; 4] = Default::default();
                assert!(share(4, &|part| {
                    seen[part].fetch_add(turn + 1, Relaxed);
                }));
                assert!(seen.iter().all(|seen| seen.load(Relaxed) == turn + 1), "loop {turn}");
            }
        });
    }

    #[test]
    fn helpers_that_sleep_are_woken() {
        let team = started(2);
        team.lead(|| {
            for _ in 0..3 {
                while threads().1 {
                    thread::yield_now();
                }
                // Two parts that wait for each other: both threads are needed.
                let begun = AtomicU32::new(0);
                assert!(share(2, &|_| {
                    begun.fetch_add(1, SeqCst);
                    while begun.load(SeqCst) < 2 {
                        thread::yield_now();
                    }
                }));
            }
        });
    }

    /// A team with helpers that never get a core.
    #[test]
    fn the_leader_needs_no_helper() {
        let team = Team { shared: Arc::new(Shared::new(4)), helpers: Vec::new() };
        team.lead(|| {
            assert_eq!(threads(), (4, true));
            assert_eq!(counted(16, |_| ()), vec![1; 16]);
        });
    }

    #[test]
    fn a_panic_reaches_the_leader_after_all_parts_are_done() {
        let team = started(3);
        for bad in [0, 7, 11] {
            let done = AtomicU32::new(0);
            let led = || {
                share(12, &|part| {
                    done.fetch_add(1, Relaxed);
                    assert!(part != bad, "part {part} is bad");
                })
            };
            let panic = catch_unwind(AssertUnwindSafe(|| team.lead(led))).expect_err("a part panics");
            assert_eq!(crate::base::panics::panic_message(&*panic), format!("part {bad} is bad"));
            assert_eq!(done.load(Relaxed), 12);
            assert_eq!(threads(), (1, false), "nothing is led any more");
        }
        assert_eq!(team.lead(|| counted(9, |_| ())), vec![1; 9]);
    }

    #[test]
    fn loops_within_loops_are_not_shared() {
        started(2).lead(|| {
            let shared_within = AtomicU32::new(0);
            assert!(share(8, &|_| {
                shared_within.fetch_add(u32::from(share(2, &|_| ()) || threads().0 > 1), Relaxed);
            }));
            assert_eq!(shared_within.load(Relaxed), 0);
            assert_eq!(threads().0, 2);
        });
        assert!(!share(1, &|_| ()));
    }
}
