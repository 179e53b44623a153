//! Recordings in other formats: CSV for numbers, glTF for 3D viewers.
//!
//! Exporters take frames from anywhere (a [`Recording`](crate::record::Recording), or a run that is still
//! going) and write to anything. glTF is lossy (single precision); only
//! recordings and CSV have every bit.

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

/// An error while exporting.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The frames cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The scene cannot be compiled.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The export cannot be written.
    #[error("cannot write the export: {0}")]
    Io(#[from] io::Error),
    /// There are no frames to show.
    #[error("there are no frames to export; record at least one")]
    NoFrames,
    /// A frame has a body that the scene does not.
    #[error("frame {frame} has {body}, which the scene does not; export it with the scene it was made with")]
    UnknownBody {
        /// Number of the frame.
        frame: u64,
        /// Id of the body.
        body: BodyId,
    },
    /// A number that the format cannot hold.
    #[error(
        "frame {frame}, {body}: {field} is {value:?}, which glTF cannot show; export fewer frames, or CSV"
    )]
    NotShowable {
        /// Number of the frame.
        frame: u64,
        /// Id of the body.
        body: BodyId,
        /// Name of the number, such as one of [`STATE_FIELDS`](crate::base::state::STATE_FIELDS).
        field: &'static str,
        /// Value of the number.
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

/// For the project's own tests: exports of objects that belong to no scene.
pub(crate) mod internals {
    use std::io::Write;

    use super::{ExportError, gltf};
    use crate::base::frame::Frame;
    use crate::record::RecordError;

    pub use super::models::{BodyModel, Models, StaticModel};

    /// The same as [`gltf::write`] with models that need not come from a scene.
    pub fn write_models(
        models: &Models,
        frames: impl IntoIterator<Item = Result<Frame, RecordError>>,
        options: gltf::GltfOptions,
        out: impl Write,
    ) -> Result<(), ExportError> {
        gltf::write_models(models, frames, options, out)
    }
}
