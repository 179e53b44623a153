//! Arbiters: the threads that actors run on, one per core.

use actix::prelude::*;

use crate::runtime::affinity::pin_briefly;
use crate::runtime::error::RunError;

/// The actor system of the calling thread.
pub(super) fn system() -> Result<SystemRunner, RunError> {
    let runtime = actix_rt::Runtime::new().map_err(RunError::no_thread)?;
    Ok(System::with_tokio_rt(|| runtime))
}

/// Starts `count` arbiters, each on a core of its own as far as there are enough: all of them or none.
pub(super) fn start(count: usize) -> Result<Vec<Arbiter>, RunError> {
    let mut arbiters = Vec::new();
    for number in 0..count {
        match Arbiter::try_new() {
            Ok(arbiter) => {
                arbiter.spawn_fn(move || pin_briefly(number));
                arbiters.push(arbiter);
            }
            Err(error) => {
                stop(arbiters);
                return Err(RunError::no_thread(error));
            }
        }
    }
    Ok(arbiters)
}

/// Stops arbiters, and waits for their threads.
pub(super) fn stop(arbiters: Vec<Arbiter>) {
    for arbiter in &arbiters {
        arbiter.stop();
    }
    for arbiter in arbiters {
        let _ = arbiter.join();
    }
}

/// How many of `count` actors each of `arbiters` arbiters gets; they are neighbours in the list.
pub(crate) fn actors_per_arbiter(count: usize, arbiters: usize) -> usize {
    count.div_ceil(arbiters.max(1)).max(1)
}
