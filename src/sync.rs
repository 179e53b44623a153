//! Locks and atomics for the code that several threads share, in one place: `tests/shells.rs` compiles the same
//! code against those of a scheduler that tries their interleavings.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(crate) use std::sync::{Mutex, MutexGuard};
