//! Locks and atomics for the code that several threads share, in one place: `tests/protocol/shells.rs` compiles the
//! same code against those of a scheduler that tries their interleavings.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks, though somebody may have panicked while he held it: a panic ends the run, and until then what is locked is
/// whole between any two of its changes.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
