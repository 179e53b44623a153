//! Errors of recordings; every message names the file, and the offset where there is one.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::scene::SceneError;

/// An error while reading or writing a recording.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The operating system reported an error.
    #[error("{}: cannot {action} the recording: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The action that failed: `create`, `write`, `open` or `read`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An earlier write failed, so nothing more can be appended.
    #[error("{}: an earlier write failed; the recording ends there", path.display())]
    Broken {
        /// Path of the file.
        path: PathBuf,
    },
    /// The folder of a new recording does not exist.
    #[error("{}: the folder {} does not exist; create it first", path.display(), folder.display())]
    NoFolder {
        /// Path of the file.
        path: PathBuf,
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// The file is not a recording.
    #[error("{}: not an anachron recording; `anachron run --record FILE.anr` makes one", path.display())]
    NotARecording {
        /// Path of the file.
        path: PathBuf,
    },
    /// A recording of a version this program does not know.
    #[error(
        "{}: recording format version {found}, but this program reads version {known}; use the anachron that wrote it",
        path.display()
    )]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The version this program reads.
        known: u32,
    },
    /// The file ends before its header does, so there is nothing to show.
    #[error("{}: cut off at byte {length}, inside its header; no frame can be read", path.display())]
    NoHeader {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file, bytes.
        length: u64,
    },
    /// The scene of the recording, or to be recorded, is wrong.
    #[error("{}: the recording's scene is invalid: {source}", path.display())]
    Scene {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        source: SceneError,
    },
    /// Bytes that no writer has written.
    #[error(
        "{}: damaged at byte {offset}: {problem}; the {good_frames} frames before are good",
        path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the damaged chunk, bytes.
        offset: u64,
        /// What is wrong with it.
        problem: String,
        /// Number of frames before it, which can be read.
        good_frames: u64,
    },
    /// There is no frame of that number.
    #[error("{}: there is no frame {wanted}; the recording has {}", path.display(), range(*len))]
    NoSuchFrame {
        /// Path of the file.
        path: PathBuf,
        /// Number of the frame that was asked for.
        wanted: u64,
        /// Number of frames in the recording.
        len: u64,
    },
    /// A scene or a frame that no chunk can hold.
    #[error("{}: {what} needs {bytes} bytes, and a chunk holds at most {max}", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// What is too large.
        what: String,
        /// Its size, bytes.
        bytes: u64,
        /// The largest size that is allowed, bytes.
        max: u64,
    },
    /// The bodies of a frame are not in ascending id.
    #[error("{}: the bodies of frame {index} are not in ascending id, each once", path.display())]
    Order {
        /// Path of the file.
        path: PathBuf,
        /// Number of the frame.
        index: u64,
    },
}

fn range(len: u64) -> String {
    match len {
        0 => "no frames".to_owned(),
        len => format!("frames 0 to {}", len - 1),
    }
}
