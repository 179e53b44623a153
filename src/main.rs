//! The `anachron` program: everything it does is in the library's `cli` module.

use std::process::ExitCode;

/// Actors allocate and free small objects all the time, often on another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    anachron::cli::main()
}
