//! Locks and atomics for the code that several threads share. All come from here, so that `tests/protocol/shells.rs` can
//! compile the same code against a scheduler that tries interleavings.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks, ignoring poison: a panic ends the run, and every critical section leaves its data consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
