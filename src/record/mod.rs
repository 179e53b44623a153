//! Recordings: the frames of a run in a file that survives being cut off.
//!
//! A recording (`.anr`) is written front to back and never touched again, so a run that is killed leaves a
//! file that is whole up to its last complete chunk. All numbers are little-endian:
//!
//! ```text
//! file     magic (8 bytes)  version (u32)  header chunk  frames chunk ...  end chunk
//! chunk    kind  frames  stored length  raw length (u32 each)  checksum of the payload  checksum of
//!          this head (xxh3, 64 bits each, seeded with the chunk's offset)  payload
//! header   JSON: the program and version that wrote it, what was planned, and the whole scene
//! frames   a batch of frames, exact to the bit; see `frames.rs`
//! end      number of frames (u64), digest (u128), 1 if the run was interrupted (u8)
//! ```
//!
//! A payload is compressed with zstd where its stored and raw lengths differ. A file without an end chunk was
//! cut off, which [`Ending`] reports; a chunk with a wrong checksum ends reading with an error.
//!
//! A flush ends a chunk early, so the bytes of a recording depend on when it was flushed; [`Finished`] says whether they do.
//!
//! Other formats are in [`crate::export`]. There is no clock here: the caller decides when to
//! [`flush`](RecordingWriter::flush).

mod chunk;
mod diff;
pub(crate) mod disk;
mod error;
mod frames;
mod reader;
mod writer;

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::scene::Scene;

pub use diff::{DiffReport, Difference, FrameDifference, SceneDifference, diff};
pub use error::RecordError;
pub(crate) use reader::is_recording;
pub use reader::{Ending, Frames, Recording};
pub use writer::{Finished, RecordingWriter};

/// The end of a run, as its recording states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The digest of every frame of the recording.
    pub digest: Digest,
    /// Whether the run was ended before its last tick.
    pub interrupted: bool,
}

/// The header chunk. Readers of this version ignore fields that later programs may add.
#[derive(Serialize, Deserialize)]
struct Header<S> {
    /// Program and version that wrote the file.
    program: String,
    /// The last tick of the whole run.
    planned_ticks: u64,
    /// Number of frames of the whole run.
    planned_frames: u64,
    scene: S,
}

impl<'a> Header<&'a Scene> {
    fn of(scene: &'a Scene) -> Self {
        let time = scene.time_base();
        Header {
            program: concat!("anachron ", env!("CARGO_PKG_VERSION")).to_owned(),
            planned_ticks: time.last_tick,
            planned_frames: time.frame_count(),
            scene,
        }
    }
}
