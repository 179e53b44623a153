//! The program as its users meet it: what it prints, what it writes, and what it ends with.

// A test may fail by any means.
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
