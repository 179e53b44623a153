//! The protocol without rigid bodies: in every order, at random, and under the threads it runs on.

#[path = "../support/patience.rs"]
mod patience;

mod lvt_histogram;
mod model;
mod paper;
mod random_worlds;
mod schedules;
mod shells;
mod sync;

// `shells` compiles sources of the library a second time. They say `crate::`, so what they use is found here; and the
// locks and atomics of `sync` are not those of the library.
use anachron::internals::{base as library_base, protocol};

/// In the place of the library's `base`: everything of it but the locks and atomics.
mod base {
    pub use super::library_base::*;
    pub(crate) use super::sync;
}
