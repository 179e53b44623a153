//! The `anachron` program: everything it does is in the library's `cli` module.

use std::alloc::{GlobalAlloc, Layout};
use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Actors allocate and free small objects all the time, often on another thread.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// mimalloc; where it has no memory left, the program ends with a message instead of being aborted.
struct Allocator;

impl Allocator {
    #[inline]
    fn checked(block: *mut u8, bytes: usize) -> *mut u8 {
        if block.is_null() {
            anachron::cli::no_memory(bytes);
        }
        block
    }
}

// SAFETY: every call is handed on, and every block comes from there.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::checked(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::checked(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        Self::checked(unsafe { MiMalloc.realloc(block, layout, bytes) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}

/// How long free memory is kept, in milliseconds: for good. Memory that goes back to the system is needed again at the
/// next tick, and then comes in pages that the system has to clear.
const KEEP_MS: std::ffi::c_long = -1;
/// The number of mimalloc's option for that.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    // SAFETY: sets an integer, before there is any other thread.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, KEEP_MS);
    }
    // Clearing a huge page takes longer than it saves, and most of a small run's memory would never be used. Where that
    // cannot be said, nothing but time is lost.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(true);
    anachron::cli::main()
}
