//! Records a run while it goes on: frames are safe on disk about a second after they were committed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::base::frame::Frame;
use crate::cli::failure::Failure;
use crate::executor::Report;
use crate::record::{RecordError, Recording, RecordingWriter, Summary};
use crate::scene::Scene;

const FLUSHED_EVERY: Duration = Duration::from_secs(1);

/// A recording that is being made.
pub(super) struct Recorder {
    path: PathBuf,
    writer: RecordingWriter,
    flushed: Instant,
}

impl Recorder {
    /// Starts a recording and replaces an older one. Any other file is left alone.
    pub(super) fn create(path: &Path, scene: &Scene) -> Result<Self, Failure> {
        if is_other_file(path) {
            let name = path.display();
            return Err(Failure::bad_input(format_args!(
                "--record: {name} exists and is not a recording; choose another name, or remove it first"
            )));
        }
        let writer = RecordingWriter::create(path, scene)?;
        Ok(Recorder { path: path.to_owned(), writer, flushed: Instant::now() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a frame.
    pub(super) fn write(&mut self, frame: &Frame) -> Result<(), RecordError> {
        self.writer.write_frame(frame)?;
        if self.flushed.elapsed() >= FLUSHED_EVERY {
            self.writer.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    /// Marks the recording as complete.
    pub(super) fn finish(self, report: &Report) -> Result<(), RecordError> {
        self.writer.finish(Summary { digest: report.digest, interrupted: report.interrupted })
    }
}

/// Whether there is a file at `path` that must not be replaced.
fn is_other_file(path: &Path) -> bool {
    let holds_something = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0);
    holds_something && matches!(Recording::open(path), Err(RecordError::NotARecording { .. }))
}
