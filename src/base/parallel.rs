//! Loops with independent iterations, shared among the threads of a pool.
//!
//! Outside a pool, and for few iterations, these are plain loops. The results are the same in both cases.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;

/// Least number of iterations for which another thread is worth its cost. Not tuned.
const CHUNK_MIN: usize = 64;
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

/// Whether a loop of `turns` iterations is to be shared among threads.
fn is_shared(turns: usize) -> bool {
    turns >= 2 * CHUNK_MIN && in_pool() && rayon::current_num_threads() > 1
}

/// Calls `act` for every item.
pub(crate) fn par_for<T: Send>(items: &mut [T], act: impl Fn(usize, &mut T) + Sync) {
    if is_shared(items.len()) {
        let items = items.par_iter_mut().with_min_len(CHUNK_MIN).enumerate();
        items.for_each(|(at, item)| act(at, item));
    } else {
        items.iter_mut().enumerate().for_each(|(at, item)| act(at, item));
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
    if is_shared(items.len()) {
        let pairs = items.par_iter_mut().zip(others.par_iter_mut()).with_min_len(CHUNK_MIN).enumerate();
        pairs.for_each(|(at, (item, other))| act(at, item, other));
    } else {
        items.iter_mut().zip(others).enumerate().for_each(|(at, (item, other))| act(at, item, other));
    }
}

/// Replaces the content of `list` by `count` items.
pub(crate) fn par_fill<T: Send>(list: &mut Vec<T>, count: usize, make: impl Fn(usize) -> T + Sync + Send) {
    list.clear();
    if is_shared(count) {
        (0..count).into_par_iter().with_min_len(CHUNK_MIN).map(make).collect_into_vec(list);
    } else {
        list.extend((0..count).map(make));
    }
}

/// Replaces the content of `list` by an item for each of `others`, which `make` may change.
pub(crate) fn par_zip_fill<T: Send, U: Send>(
    list: &mut Vec<T>,
    others: &mut [U],
    make: impl Fn(usize, &mut U) -> T + Sync + Send,
) {
    list.clear();
    if is_shared(others.len()) {
        let others = others.par_iter_mut().with_min_len(CHUNK_MIN).enumerate();
        others.map(|(at, other)| make(at, other)).collect_into_vec(list);
    } else {
        list.extend(others.iter_mut().enumerate().map(|(at, other)| make(at, other)));
    }
}

/// Replaces the content of `list` by everything that `look` finds in ranges of `0..count`, in order.
pub(crate) fn par_collect<T: Send>(
    list: &mut Vec<T>,
    count: usize,
    look: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) {
    list.clear();
    if !is_shared(count) {
        return look(0..count, list);
    }
    let parts = (4 * rayon::current_num_threads()).min(count / CHUNK_MIN);
    let found: Vec<Vec<T>> = (0..parts)
        .into_par_iter()
        .map(|part| {
            let mut found = Vec::new();
            look(part * count / parts..(part + 1) * count / parts, &mut found);
            found
        })
        .collect();
    list.extend(found.into_iter().flatten());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results are the same with and without a pool, for any number of iterations.
    #[test]
    fn a_pool_gives_the_results_of_a_plain_loop() {
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
            let (mut doubles, mut signs) = (Vec::new(), vec![false; count]);
            par_zip_fill(&mut doubles, &mut signs, |at, sign| {
                *sign = at % 2 == 0;
                2 * at
            });
            let sums = par_map_few(&mut halves, |at, half| *half + at);
            (squares, halves, odd, sums, doubles, signs)
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads can be started");
        for count in [0, 1, 63, 128, 129, 1000, 4097] {
            assert_eq!(pool.install(|| all(count)), all(count), "{count} iterations");
        }
    }
}
