//! Loops with independent iterations, shared among the threads of a pool or a team.
//!
//! Outside both, and for few iterations, these are plain loops. The results are the same in all cases.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::base::sync::{Mutex, lock};
use crate::base::team;

/// Least number of iterations for which another thread is worth its cost. Not tuned.
const CHUNK_MIN: usize = 64;
/// Least number of iterations for which helpers that sleep are worth waking. With 1024, cylinders with 500 bodies lose
/// 6 % on two cores.
const WAKE_MIN: usize = 2048;
/// Parts of a loop per thread. More: threads wait less for each other at its end. Not tuned.
const PARTS_PER_THREAD: usize = 4;
/// Least number of bodies for which work is given to the pool. Not tuned.
pub(crate) const PARALLEL_BODIES_MIN: usize = 1024;

thread_local! {
    /// The pool that helps this thread.
    static POOL: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// Sets the pool that helps the calling thread from now on.
pub(crate) fn set_pool(helpers: Arc<ThreadPool>) {
    POOL.set(Some(helpers));
}

/// Does some work on `bodies` bodies: in the pool of this thread if it has one and there are enough bodies.
pub(crate) fn install<R: Send>(bodies: usize, work: impl FnOnce() -> R + Send) -> R {
    if bodies < PARALLEL_BODIES_MIN {
        return work();
    }
    let helpers = POOL.with_borrow(Clone::clone);
    match helpers {
        Some(helpers) => helpers.install(work),
        None => work(),
    }
}

/// Whether the calling thread is one of a pool.
pub(crate) fn in_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// How many parts a loop of `turns` iterations is cut into. One: it is a plain loop.
fn parts_of(turns: usize) -> usize {
    if turns < 2 * CHUNK_MIN {
        return 1;
    }
    let threads = match team::threads() {
        (1, _) if in_pool() => rayon::current_num_threads(),
        (threads, is_awake) if is_awake || turns >= WAKE_MIN => threads,
        _ => 1,
    };
    match threads {
        1 => 1,
        threads => (PARTS_PER_THREAD * threads).min(turns / CHUNK_MIN).min(team::PARTS_MAX),
    }
}

/// Calls `act` for every part, on any thread.
fn share<P: Send>(parts: impl Iterator<Item = P>, act: impl Fn(usize, P) + Sync) {
    let parts: SmallVec<[Mutex<Option<P>>; 8]> = parts.map(|part| Mutex::new(Some(part))).collect();
    let act = |at: usize| {
        let part = lock(&parts[at]).take();
        if let Some(part) = part {
            act(at, part);
        }
    };
    if !team::share(parts.len(), &act) {
        (0..parts.len()).into_par_iter().for_each(act);
    }
}

/// Into how many parts a loop over so many bodies is best cut if the parts are kept for many loops.
pub(crate) fn parts_for(bodies: usize) -> usize {
    let threads = match team::threads().0 {
        1 if in_pool() => rayon::current_num_threads(),
        threads => threads,
    };
    threads.min(bodies / CHUNK_MIN).clamp(1, team::PARTS_MAX)
}

/// Calls `act` for every part of something that has been cut already.
pub(crate) fn par_parts<P: Send>(parts: impl ExactSizeIterator<Item = P>, act: impl Fn(P) + Sync) {
    if parts.len() < 2 {
        parts.for_each(act);
    } else {
        share(parts, |_, part| act(part));
    }
}

/// The range of one of several parts of `0..count`.
fn range_of(part: usize, parts: usize, count: usize) -> Range<usize> {
    part * count / parts..(part + 1) * count / parts
}

/// Cuts a list into parts, each with the index of its first item.
fn cut<T>(mut items: &mut [T], parts: usize) -> impl Iterator<Item = (usize, &mut [T])> {
    let count = items.len();
    (0..parts).map(move |part| {
        let range = range_of(part, parts, count);
        let (head, tail) = std::mem::take(&mut items).split_at_mut(range.len());
        items = tail;
        (range.start, head)
    })
}

/// Calls `act` for every item.
pub(crate) fn par_for<T: Send>(items: &mut [T], act: impl Fn(usize, &mut T) + Sync) {
    let run = |first: usize, items: &mut [T]| {
        items.iter_mut().enumerate().for_each(|(at, item)| act(first + at, item));
    };
    match parts_of(items.len()) {
        1 => run(0, items),
        parts => share(cut(items, parts), |_, (first, items)| run(first, items)),
    }
}

/// Calls `act` for each of a few items, each of which is worth a thread, and collects the results in order.
pub(crate) fn par_map_few<T: Send, R: Send>(
    items: &mut [T],
    act: impl Fn(usize, &mut T) -> R + Sync,
) -> Vec<R> {
    if in_pool() {
        items.par_iter_mut().enumerate().map(|(at, item)| act(at, item)).collect()
    } else {
        items.iter_mut().enumerate().map(|(at, item)| act(at, item)).collect()
    }
}

/// Calls `act` for every pair of items with the same index in two lists.
pub(crate) fn par_for_pairs<T: Send, U: Send>(
    items: &mut [T],
    others: &mut [U],
    act: impl Fn(usize, &mut T, &mut U) + Sync,
) {
    let count = items.len().min(others.len());
    let (items, others) = (&mut items[..count], &mut others[..count]);
    let run = |first: usize, items: &mut [T], others: &mut [U]| {
        let pairs = items.iter_mut().zip(others).enumerate();
        pairs.for_each(|(at, (item, other))| act(first + at, item, other));
    };
    match parts_of(count) {
        1 => run(0, items, others),
        parts => share(cut(items, parts).zip(cut(others, parts)), |_, ((first, items), (_, others))| {
            run(first, items, others);
        }),
    }
}

/// Replaces the content of `list` by `count` items.
pub(crate) fn par_fill<T: Send>(list: &mut Vec<T>, count: usize, make: impl Fn(usize) -> T + Sync + Send) {
    list.clear();
    match parts_of(count) {
        1 => list.extend((0..count).map(make)),
        parts => fill(list, count, |room| {
            share(cut(room, parts), |_, (first, room)| write(room, (first..).map(&make)));
        }),
    }
}

/// Replaces the contents of two lists by `count` items each, made together.
pub(crate) fn par_fill_two<T: Send, U: Send>(
    (list, others): (&mut Vec<T>, &mut Vec<U>),
    count: usize,
    make: impl Fn(usize) -> (T, U) + Sync + Send,
) {
    list.clear();
    others.clear();
    let parts = parts_of(count);
    if parts == 1 {
        list.reserve(count);
        others.reserve(count);
        for (item, other) in (0..count).map(make) {
            list.push(item);
            others.push(other);
        }
        return;
    }
    fill(list, count, |room| {
        fill(others, count, |other_room| {
            share(cut(room, parts).zip(cut(other_room, parts)), |_, ((first, room), (_, others))| {
                for (at, (place, other)) in room.iter_mut().zip(others).enumerate() {
                    let made = make(first + at);
                    place.write(made.0);
                    other.write(made.1);
                }
            });
        });
    });
}

/// Replaces the content of `list` by everything that `look` finds in ranges of `0..count`, in order.
pub(crate) fn par_collect<T: Send>(
    list: &mut Vec<T>,
    count: usize,
    look: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) {
    list.clear();
    let parts = parts_of(count);
    if parts == 1 {
        return look(0..count, list);
    }
    // As much as there was room for before.
    let room = list.capacity() / parts;
    let mut found: SmallVec<[Vec<T>; 8]> = (0..parts).map(|_| Vec::new()).collect();
    share(found.iter_mut(), |part, found| {
        found.reserve(room);
        look(range_of(part, parts, count), found);
    });
    let total = found.iter().map(Vec::len).sum();
    if parts_of(total) == 1 {
        return list.extend(found.into_iter().flatten());
    }
    fill(list, total, |mut room| {
        let rooms = found.iter().map(|found| {
            let (head, tail) = std::mem::take(&mut room).split_at_mut(found.len());
            room = tail;
            head
        });
        let rooms: SmallVec<[_; 8]> = rooms.collect();
        share(found.into_iter().zip(rooms), |_, (found, room)| write(room, found.into_iter()));
    });
}

/// Writes an item into every place. There are at least as many items as places.
fn write<T>(room: &mut [MaybeUninit<T>], mut items: impl Iterator<Item = T>) {
    for place in room {
        place.write(items.next().expect("there are enough items"));
    }
}

/// Replaces the content of an empty `list` by `count` items. `fill_all` writes into every place that it is given, or panics.
#[allow(unsafe_code, reason = "items are written by several threads before the list may have them")]
fn fill<T>(list: &mut Vec<T>, count: usize, fill_all: impl FnOnce(&mut [MaybeUninit<T>])) {
    list.reserve(count);
    fill_all(&mut list.spare_capacity_mut()[..count]);
    // SAFETY: all callers are above, and write into every place or panic. A panic on another thread
    // goes on in this one before it gets here.
    unsafe { list.set_len(count) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results are the same with and without a pool or a team, for any number of iterations.
    #[test]
    fn pools_and_teams_give_the_results_of_a_plain_loop() {
        let all = |count: usize| {
            let (mut squares, mut odd) = (Vec::new(), Vec::new());
            par_fill(&mut squares, count, |at| at * at);
            par_for(&mut squares, |at, square| *square += at);
            let mut halves = vec![0; count];
            par_for_pairs(&mut squares, &mut halves, |at, square, half| {
                *half = *square / 2;
                *square += 3 * at;
            });
            par_collect(&mut odd, count, |range, found| found.extend(range.filter(|at| at % 3 == 1)));
            let (mut doubles, mut signs) = (vec![1, 2], vec![true]);
            par_fill_two((&mut doubles, &mut signs), count, |at| (2 * at, at % 2 == 0));
            let sums = par_map_few(&mut halves, |at, half| *half + at);
            (squares, halves, odd, sums, doubles, signs)
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads can be started");
        let team = team::Team::start(3, |_| ()).expect("threads can be started");
        for count in [0, 1, 63, 128, 129, 1000, 1023, 1024, 4097] {
            let plain = all(count);
            assert_eq!(pool.install(|| all(count)), plain, "{count} iterations in a pool");
            assert_eq!(team.lead(|| all(count)), plain, "{count} iterations in a team");
        }
    }
}
