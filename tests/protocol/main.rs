//! The protocol without rigid bodies: in every order, at random, and under the threads it runs on.

#[path = "../support/carrier.rs"]
mod carrier;
#[path = "../support/patience.rs"]
mod patience;

mod counters;
mod model;
mod paper;
mod schedules;
mod shells;
mod sync;
mod tiny_world;

// `shells` compiles sources of the library a second time. They say `crate::`, so what they use is found here; and the
// locks and atomics of `sync` are not those of the library.
use anachron::{protocol, time};
