//! A request to end a run early. Executors look for it between ticks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::sync::AtomicBool;

/// Ends a run at the next tick, from any thread. Clones share one request.
///
/// Frames that are committed stay committed, and the [report](crate::Report) says that the run was interrupted.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
