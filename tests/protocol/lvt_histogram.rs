//! The LVT histogram under real threads: every LVT is counted at every instant, and GVT never passes an LVT.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use anachron::internals::base::time::Tick;
use anachron::internals::protocol::{GvtService, VirtualTimes};
use anachron::internals::runtime::lvt_histogram::LvtHistogram;

/// Ticks that an LVT may be ahead of GVT.
const WINDOW: u64 = 6;
/// No request to roll back.
const NOTHING: u64 = u64::MAX;

/// Counts the turns of a loop that waits for another thread, which may have failed.
#[derive(Default)]
struct Turns(u64);

impl Turns {
    fn next(&mut self) {
        self.0 += 1;
        assert!(self.0 < 1 << 30, "no end after {} turns", self.0);
    }
}

/// One LVT rises while another thread scans all the time. If there were an instant at which the LVT is counted nowhere,
/// the scan would run on to the end.
#[test]
fn an_lvt_is_counted_at_every_instant() {
    let last: Tick = 400_000;
    let lvt_histogram = LvtHistogram::new(1, WINDOW, 0, last);
    let arrived = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut turns = Turns::default();
            while !arrived.load(SeqCst) {
                turns.next();
                lvt_histogram.advance();
                thread::yield_now();
            }
        });
        let (mut lvt, mut turns) = (0, Turns::default());
        while lvt < last {
            turns.next();
            let gvt = lvt_histogram.gvt();
            assert!(gvt <= lvt, "GVT is {gvt}, but the only LVT is {lvt}");
            if lvt - gvt < WINDOW {
                let to = (lvt + 1 + lvt % 3).min(gvt + WINDOW).min(last);
                lvt_histogram.shift(Some(lvt), Some(to));
                lvt = to;
            } else {
                lvt_histogram.advance();
            }
        }
        arrived.store(true, SeqCst);
    });
    lvt_histogram.advance();
    assert_eq!(lvt_histogram.gvt(), last);
}

/// Several LVTs rise. A thread may roll another one back to its own LVT, as a message does, and waits for that, as a
/// sender waits for its acknowledgement. No LVT is ever rolled back below GVT, and GVT never falls.
#[test]
fn rollbacks_never_go_below_gvt() {
    const ENTITIES: usize = 3;
    let last: Tick = 20_000;
    let lvt_histogram = LvtHistogram::new(ENTITIES as u32, WINDOW, 0, last);
    // The tick that each entity is to roll back to, or `NOTHING`.
    let requested: [AtomicU64; ENTITIES] = std::array::from_fn(|_| AtomicU64::new(NOTHING));
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for own in 0..ENTITIES {
            let (lvt_histogram, requested, done) = (&lvt_histogram, &requested, &done);
            scope.spawn(move || {
                let (mut lvt, mut last_gvt, mut random): (Tick, Tick, u64) = (0, 0, 17 + own as u64);
                let (mut arrived, mut turns) = (false, Turns::default());
                while done.load(SeqCst) < ENTITIES as u64 || requested[own].load(SeqCst) != NOTHING {
                    turns.next();
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    let gvt = lvt_histogram.gvt();
                    assert!(gvt >= last_gvt, "GVT fell from {last_gvt} to {gvt}");
                    assert!(gvt <= lvt, "GVT is {gvt}, but the LVT of entity {own} is {lvt}");
                    last_gvt = gvt;
                    if requested[own].load(SeqCst) != NOTHING {
                        follow_request(lvt_histogram, &requested[own], &mut lvt);
                        continue;
                    }
                    if lvt == last {
                        if !arrived && gvt == last {
                            arrived = true;
                            done.fetch_add(1, SeqCst);
                        }
                        lvt_histogram.advance();
                        thread::yield_now();
                        continue;
                    }
                    let other = (random >> 33) as usize % ENTITIES;
                    if other != own && random >> 60 == 0 {
                        roll_back_other(lvt_histogram, requested, own, other, &mut lvt);
                    } else if lvt - gvt < WINDOW {
                        let to = (lvt + 1 + (random >> 50) % 3).min(gvt + WINDOW).min(last);
                        if lvt_histogram.shift(Some(lvt), Some(to)) {
                            lvt_histogram.advance();
                        }
                        lvt = to;
                    } else {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(lvt_histogram.gvt(), last);
}

/// Rolls back to the requested tick, if the LVT is above it, and acknowledges the request afterwards.
fn follow_request(lvt_histogram: &LvtHistogram, request: &AtomicU64, lvt: &mut Tick) {
    let to = request.load(SeqCst);
    if to == NOTHING {
        return;
    }
    if to < *lvt {
        lvt_histogram.shift(Some(*lvt), Some(to));
        *lvt = to;
    }
    request.store(NOTHING, SeqCst);
}

/// Requests that another entity rolls back to this one's LVT, and waits for its acknowledgement. Meanwhile this entity
/// may be rolled back itself.
fn roll_back_other(
    lvt_histogram: &LvtHistogram,
    requested: &[AtomicU64],
    own: usize,
    other: usize,
    lvt: &mut Tick,
) {
    if requested[other].compare_exchange(NOTHING, *lvt, SeqCst, SeqCst).is_err() {
        return;
    }
    let mut turns = Turns::default();
    while requested[other].load(SeqCst) != NOTHING {
        turns.next();
        follow_request(lvt_histogram, &requested[own], lvt);
        thread::yield_now();
    }
}

#[test]
fn gvt_follows_the_lowest_lvt() {
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
fn a_late_input_holds_gvt_back() {
    let lvt_histogram = LvtHistogram::new(1, 8, 4, 100);
    lvt_histogram.shift(Some(0), Some(7));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 3, lvt_min: 7 }));
    assert_eq!(lvt_histogram.pin(2), Err(3));
    assert_eq!(lvt_histogram.pin(5), Ok(5));
    assert_eq!(lvt_histogram.pin(50), Ok(11), "no farther than an LVT may be");
    lvt_histogram.shift(Some(7), Some(15));
    assert_eq!(lvt_histogram.advance(), None);
    assert_eq!(lvt_histogram.times(), VirtualTimes { gvt: 3, lvt_min: 5 });
    assert!(lvt_histogram.remove(5));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 7, lvt_min: 11 }));
    assert!(lvt_histogram.remove(11));
    assert_eq!(lvt_histogram.advance(), Some(VirtualTimes { gvt: 11, lvt_min: 15 }));
}
