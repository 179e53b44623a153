//! Arbiters: the threads that actors run on, one per core.

use actix::prelude::*;

use crate::runtime::affinity::pin_briefly;

/// Starts `count` arbiters, each on a core of its own as far as there are enough.
pub(super) fn start(count: usize) -> Vec<Arbiter> {
    let arbiters: Vec<Arbiter> = (0..count).map(|_| Arbiter::new()).collect();
    for (number, arbiter) in arbiters.iter().enumerate() {
        arbiter.spawn_fn(move || pin_briefly(number));
    }
    arbiters
}

/// Stops arbiters. Waits for their threads only if `all_answer`: a handler that does not return keeps its thread, which
/// is left behind.
pub(super) fn stop(arbiters: Vec<Arbiter>, all_answer: bool) {
    for arbiter in &arbiters {
        arbiter.stop();
    }
    for arbiter in arbiters.into_iter().filter(|_| all_answer) {
        let _ = arbiter.join();
    }
}

/// How many of `count` actors each of `arbiters` arbiters gets; they are neighbours in the list.
pub(crate) fn actors_per_arbiter(count: usize, arbiters: usize) -> usize {
    count.div_ceil(arbiters.max(1)).max(1)
}
