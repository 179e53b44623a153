//! The `anachron` program: everything it does is in the library's `cli` module.

use std::process::ExitCode;

fn main() -> ExitCode {
    anachron::cli::main()
}
