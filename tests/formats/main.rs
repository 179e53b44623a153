//! Files that are read and written: scenes, recordings, exports, pictures.

// A test may fail by a panic.
#![allow(clippy::unwrap_used)]

#[path = "../support/glb.rs"]
mod glb;
#[path = "../support/recordings.rs"]
mod recordings;

mod diff;
mod export;
mod recording;
mod render;
mod scene_checks;
mod scene_files;
mod scene_fuzz;
