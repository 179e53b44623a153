//! Errors of recordings; every message names the file, and the offset where there is one.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::scene::SceneError;
use crate::scene::suggest::shown;

/// An error while reading or writing a recording.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The operating system reported an error.
    #[error("{}: cannot {action} the recording: {source}", shown(path))]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The action that failed: `create`, `write`, `open` or `read`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An earlier write failed, so nothing more can be appended.
    #[error("{}: an earlier write failed; the recording ends there", shown(path))]
    Broken {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another writer is at work on the file.
    #[error(
        "{}: another run is recording into this file; wait for its end, or choose another name",
        shown(path)
    )]
    Locked {
        /// Path of the file.
        path: PathBuf,
    },
    /// A new recording would replace something else than a complete recording.
    #[error("{}: the file exists and is {what}; choose another name, or remove it first", shown(path))]
    Exists {
        /// Path of the file.
        path: PathBuf,
        /// What the file is.
        what: String,
    },
    /// A folder, a pipe or a device.
    #[error("{}: not a regular file; a recording needs one", shown(path))]
    NotAFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// The folder of a new recording does not exist.
    #[error("{}: the folder {} does not exist; create it first", shown(path), shown(folder))]
    NoFolder {
        /// Path of the file.
        path: PathBuf,
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// The file is not a recording.
    #[error("{}: not an anachron recording; `anachron run --record FILE.anr` makes one", shown(path))]
    NotARecording {
        /// Path of the file.
        path: PathBuf,
    },
    /// A recording of a version this program does not know.
    #[error(
        "{}: recording format version {found}, but this program reads version {known}; use the anachron that wrote it",
        shown(path)
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
    #[error("{}: cut off at byte {length}, inside its header; no frame can be read", shown(path))]
    NoHeader {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file, bytes.
        length: u64,
    },
    /// The scene of the recording, or to be recorded, is wrong.
    #[error("{}: the recording's scene is invalid: {source}", shown(path))]
    Scene {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        source: SceneError,
    },
    /// Bytes that no writer has written.
    #[error("{}: damaged at byte {offset}: {problem}; the {good_frames} frames before are good", shown(path))]
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
    #[error("{}: there is no frame {wanted}; the recording has {}", shown(path), range(*len))]
    NoSuchFrame {
        /// Path of the file.
        path: PathBuf,
        /// Number of the frame that was asked for.
        wanted: u64,
        /// Number of frames in the recording.
        len: u64,
    },
    /// A scene or a frame that no chunk can hold.
    #[error("{}: {what} needs {bytes} bytes, and a chunk holds at most {max}", shown(path))]
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
    #[error("{}: the bodies of frame {index} are not in ascending id, each once", shown(path))]
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
