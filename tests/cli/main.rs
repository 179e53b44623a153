//! The program: output, files and exit codes.

// A test may fail by a panic.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod bench;
mod bridges;
mod documents;
mod equal_runs;
mod files;
mod forged;
mod interrupts;
mod json;
mod limits;
mod memory;
mod paths;
#[path = "../support/patience.rs"]
mod patience;
mod pictures;
mod program;
mod recordings;
mod running;
mod runs;
mod streams;
mod verify;
mod workers;
