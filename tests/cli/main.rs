//! The program: output, files and exit codes.

// A test may fail by a panic.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod bench;
mod bridges;
mod interrupts;
mod json;
mod pictures;
mod program;
mod recordings;
mod runs;
mod verify;
mod workers;
