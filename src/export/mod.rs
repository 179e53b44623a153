//! Recordings in other set_active's formats: CSV for numbers, glTF for pictures that move.
//!
//! Exporters take frames from anywhere (a [`Recording`](crate::record::Recording), or a run that is still
//! going) and write to anything. They are lossy where their format is: only a recording has every bit.

pub mod csv;
mod glb;
pub mod gltf;
mod mesh;
mod models;
mod motion;

use std::io;

use thiserror::Error;

use crate::base::ids::BodyId;
use crate::record::RecordError;
use crate::scene::SceneError;

/// What can go wrong with an export.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The frames cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The scene cannot be made ready.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The export cannot be written.
    #[error("cannot write the export: {0}")]
    Io(#[from] io::Error),
    /// There is nothing to show.
    #[error("there are no frames to export; record at least one")]
    NoFrames,
    /// A frame has a body that the scene does not.
    #[error("frame {frame} has {body}, which the scene does not; export it with the scene it was made with")]
    UnknownBody {
        /// Number of the frame.
        frame: u64,
        /// The body.
        body: BodyId,
    },
    /// A number that the format cannot hold.
    #[error(
        "frame {frame}, {body}: {field} is {value:?}, which glTF cannot show; export fewer frames, or CSV"
    )]
    NotShowable {
        /// Number of the frame.
        frame: u64,
        /// The body.
        body: BodyId,
        /// Name of the number, such as one of [`STATE_FIELDS`](crate::base::state::STATE_FIELDS).
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// More bytes than the format allows.
    #[error(
        "the export needs more than {max} bytes, which glTF does not allow; export only every few frames"
    )]
    TooLarge {
        /// How many bytes are allowed.
        max: u64,
    },
}
