//! The protocol with a toy model in place of rigid bodies: in every order, at random, and under threads.

#[path = "../support/patience.rs"]
mod patience;

mod lvt_histogram;
mod model;
mod paper;
mod random_worlds;
mod regions;
mod schedules;
mod shells;
mod sync;

// `shells` compiles sources of the library a second time. Their `crate::` paths are resolved here, with the locks and
// atomics of `sync` in place of the library's.
use anachron::internals::{base as library_base, protocol};

/// Replaces the library's `base`: the same but for locks and atomics.
mod base {
    pub use super::library_base::*;
    pub(crate) use super::sync;
}
