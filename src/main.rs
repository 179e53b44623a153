//! The `anachron` program: everything it does is in the library's `cli` module.

use std::process::ExitCode;

/// Actors allocate and free small things all the time, often on another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    anachron::cli::main()
}
