//! Ctrl-C: the first asks for an orderly end, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::failure::{Exit, Failure};

/// Whether the user wants to stop.
#[derive(Clone)]
pub(super) struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches for Ctrl-C from now on. Once per program.
    pub(super) fn watch() -> Result<Self, Failure> {
        let requested = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&requested);
        ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(Exit::Interrupted as i32);
            }
        })
        .map_err(|error| Failure::failed(format_args!("cannot watch for Ctrl-C: {error}")))?;
        Ok(Interrupt { requested })
    }

    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
}
