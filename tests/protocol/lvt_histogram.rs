//! The lvt_histogram under real threads: whoever is counted is seen at every instant, and the minimum never overtakes
//! anybody.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use anachron::internals::base::time::Tick;
use anachron::internals::protocol::{GvtService, VirtualTimes};
use anachron::internals::runtime::lvt_histogram::LvtHistogram;

const WINDOW: u64 = 6;

/// One walks up alone while another looks for the minimum all the time. If there were an instant at which the
/// walker is counted nowhere, the search would run on to the end.
#[test]
fn a_walker_is_counted_at_every_instant() {
    let last: Tick = 400_000;
    let lvt_histogram = LvtHistogram::new(1, WINDOW, 0, last);
    let arrived = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !arrived.load(SeqCst) {
                lvt_histogram.advance();
                thread::yield_now();
            }
        });
        let mut at = 0;
        while at < last {
            let gvt = lvt_histogram.gvt();
            assert!(gvt <= at, "the minimum is {gvt}, but the only walker is at {at}");
            if at - gvt < WINDOW {
                let to = (at + 1 + at % 3).min(gvt + WINDOW).min(last);
                lvt_histogram.shift(Some(at), Some(to));
                at = to;
            } else {
                lvt_histogram.advance();
            }
        }
        arrived.store(true, SeqCst);
    });
    lvt_histogram.advance();
    assert_eq!(lvt_histogram.gvt(), last);
}

/// Several walk up. The one behind may throw the others back to where it stands, as messages do; it waits until
/// they are there, as senders do. Nobody is ever thrown below the minimum, and the minimum never falls.
#[test]
fn being_thrown_back_never_goes_below_the_minimum() {
    const WALKERS: usize = 3;
    const NOTHING: u64 = u64::MAX;
    let last: Tick = 20_000;
    let lvt_histogram = LvtHistogram::new(WALKERS as u32, WINDOW, 0, last);
    // The tick each walker is asked to fall back to.
    let asked: [AtomicU64; WALKERS] = std::array::from_fn(|_| AtomicU64::new(NOTHING));
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for me in 0..WALKERS {
            let (lvt_histogram, asked, done) = (&lvt_histogram, &asked, &done);
            scope.spawn(move || {
                let (mut at, mut seen, mut random): (Tick, Tick, u64) = (0, 0, 17 + me as u64);
                let mut arrived = false;
                while done.load(SeqCst) < WALKERS as u64 || asked[me].load(SeqCst) != NOTHING {
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    let gvt = lvt_histogram.gvt();
                    assert!(gvt >= seen, "the minimum fell from {seen} to {gvt}");
                    assert!(gvt <= at, "the minimum is {gvt}, but walker {me} is at {at}");
                    seen = gvt;
                    let asked_to = asked[me].load(SeqCst);
                    if asked_to != NOTHING {
                        if asked_to < at {
                            lvt_histogram.shift(Some(at), Some(asked_to));
                            at = asked_to;
                        }
                        // Only now does the one who asked hear of it.
                        asked[me].store(NOTHING, SeqCst);
                        continue;
                    }
                    if at == last {
                        if !arrived && gvt == last {
                            arrived = true;
                            done.fetch_add(1, SeqCst);
                        }
                        lvt_histogram.advance();
                        thread::yield_now();
                        continue;
                    }
                    let other = (random >> 33) as usize % WALKERS;
                    if other != me && random >> 60 == 0 {
                        throw_back(lvt_histogram, asked, me, other, &mut at);
                    } else if at - gvt < WINDOW {
                        let to = (at + 1 + (random >> 50) % 3).min(gvt + WINDOW).min(last);
                        if lvt_histogram.shift(Some(at), Some(to)) {
                            lvt_histogram.advance();
                        }
                        at = to;
                    } else {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(lvt_histogram.gvt(), last);
}

/// Asks another to fall back to `at` and waits for its answer; meanwhile it may be thrown back itself.
fn throw_back(lvt_histogram: &LvtHistogram, asked: &[AtomicU64], me: usize, other: usize, at: &mut Tick) {
    if asked[other].compare_exchange(u64::MAX, *at, SeqCst, SeqCst).is_err() {
        return;
    }
    while asked[other].load(SeqCst) != u64::MAX {
        let asked_to = asked[me].load(SeqCst);
        if asked_to != u64::MAX {
            if asked_to < *at {
                lvt_histogram.shift(Some(*at), Some(asked_to));
                *at = asked_to;
            }
            asked[me].store(u64::MAX, SeqCst);
        }
        thread::yield_now();
    }
}

#[test]
fn the_minimum_follows_the_last() {
    let lvt_histogram = LvtHistogram::new(2, 8, 0, 100);
    assert!(!lvt_histogram.shift(Some(0), Some(5)));
    assert_eq!(lvt_histogram.advance(), None);
    assert!(lvt_histogram.shift(Some(0), Some(7)));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 5, lvt_min: 5 }));
    assert!(!lvt_histogram.shift(Some(7), Some(6)));
    assert!(lvt_histogram.shift(Some(5), Some(9)));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 6, lvt_min: 6 }));
    assert_eq!((lvt_histogram.farthest(8), lvt_histogram.farthest(2)), (9, 6));
    assert_eq!(lvt_histogram.gvt(), 6);
}

#[test]
fn who_acts_late_holds_time_back() {
    let lvt_histogram = LvtHistogram::new(1, 8, 4, 100);
    lvt_histogram.shift(Some(0), Some(7));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 3, lvt_min: 7 }));
    assert_eq!(lvt_histogram.pin(2), Err(3));
    assert_eq!(lvt_histogram.pin(5), Ok(5));
    assert_eq!(lvt_histogram.pin(50), Ok(11), "no farther than anybody may be counted");
    lvt_histogram.shift(Some(7), Some(15));
    assert_eq!(lvt_histogram.advance(), None);
    assert_eq!(lvt_histogram.times(), VirtualTimes { gvt: 3, lvt_min: 5 });
    assert!(lvt_histogram.remove(5));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 7, lvt_min: 11 }));
    assert!(lvt_histogram.remove(11));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 11, lvt_min: 15 }));
}
