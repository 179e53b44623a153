//! Writes a recording, chunk by chunk. Knows no clock: the caller flushes when it wants frames to be safe.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::chunk::{self, CHUNK_BYTES_MAX, Kind};
use super::{Header, RecordError, Summary, frames};
use crate::base::frame::Frame;
use crate::scene::Scene;

/// Most frames in one chunk: more hardly compress better, and make single frames slower to reach.
const FRAMES_PER_CHUNK_MAX: usize = 64;

/// Writes the frames of a run to a file.
///
/// Flushed frames survive the end of the process. Dropping the writer flushes the frames it still has, but
/// only [`finish`](Self::finish) marks the recording as complete.
pub struct RecordingWriter {
    path: PathBuf,
    sink: Box<dyn Write + Send>,
    /// Bytes written so far.
    offset: u64,
    frame_count: u64,
    /// Frames that are not written yet, and the most raw bytes they can take.
    pending: Vec<Frame>,
    pending_bytes: usize,
    /// A write has failed: the file may end inside a chunk, so nothing can follow.
    broken: bool,
}

impl RecordingWriter {
    /// Starts a recording. An existing file is replaced as soon as the scene is known to be valid.
    pub fn create(path: impl AsRef<Path>, scene: &Scene) -> Result<Self, RecordError> {
        let path = path.as_ref();
        let start = encode_start(path, scene)?;
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        {
            return Err(RecordError::NoFolder { path: path.to_owned(), folder: folder.to_owned() });
        }
        let file = File::create(path).map_err(|source| RecordError::Io {
            path: path.to_owned(),
            action: "create",
            source,
        })?;
        Self::begin(Box::new(file), path, &start)
    }

    /// Starts a recording anywhere; errors call it by `name`.
    pub fn to_sink(sink: Box<dyn Write + Send>, name: &str, scene: &Scene) -> Result<Self, RecordError> {
        let path = Path::new(name);
        Self::begin(sink, path, &encode_start(path, scene)?)
    }

    fn begin(sink: Box<dyn Write + Send>, path: &Path, start: &[u8]) -> Result<Self, RecordError> {
        let mut writer = RecordingWriter {
            path: path.to_owned(),
            sink,
            offset: 0,
            frame_count: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            broken: false,
        };
        writer.append(start)?;
        Ok(writer)
    }

    /// Adds the next frame. It is written when enough have come together, or with the next
    /// [`flush`](Self::flush).
    pub fn write_frame(&mut self, frame: &Frame) -> Result<(), RecordError> {
        if !frame.bodies.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(RecordError::Order { path: self.path.clone(), index: frame.index });
        }
        let bytes = frames::frame_bytes_max(frame);
        if bytes > CHUNK_BYTES_MAX {
            return Err(too_large(&self.path, format!("frame {}", frame.index), bytes));
        }
        let batch_is_full = self.pending.len() == FRAMES_PER_CHUNK_MAX
            || self.pending_bytes + bytes > Kind::Frames.free_bytes();
        if batch_is_full {
            self.flush()?;
        }
        if self.broken {
            return Err(RecordError::Broken { path: self.path.clone() });
        }
        self.pending.push(frame.clone());
        self.pending_bytes += bytes;
        Ok(())
    }

    /// Writes all pending frames. Frames compress better together, so flush about once a second, not after every frame.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let raw = frames::encode(&self.pending);
        let count = self.pending.len();
        // Even if the write fails: the frames cannot be appended behind half a chunk.
        self.pending.clear();
        self.pending_bytes = 0;
        self.append_chunk(Kind::Frames, count as u32, &raw)?;
        self.frame_count += count as u64;
        Ok(())
    }

    /// Writes all pending frames and marks the recording as complete.
    pub fn finish(mut self, summary: Summary) -> Result<(), RecordError> {
        self.flush()?;
        let mut raw = Vec::with_capacity(25);
        raw.extend_from_slice(&self.frame_count.to_le_bytes());
        raw.extend_from_slice(&summary.digest.0.to_le_bytes());
        raw.push(u8::from(summary.interrupted));
        self.append_chunk(Kind::End, 0, &raw)
    }

    fn append_chunk(&mut self, kind: Kind, frames: u32, raw: &[u8]) -> Result<(), RecordError> {
        let bytes = chunk::seal(kind, frames, raw, self.offset).map_err(|source| self.io_error(source))?;
        self.append(&bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        if self.broken {
            return Err(RecordError::Broken { path: self.path.clone() });
        }
        if let Err(source) = self.sink.write_all(bytes).and_then(|()| self.sink.flush()) {
            self.broken = true;
            return Err(self.io_error(source));
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn io_error(&self, source: std::io::Error) -> RecordError {
        RecordError::Io { path: self.path.clone(), action: "write", source }
    }
}

impl Drop for RecordingWriter {
    fn drop(&mut self) {
        // A destructor cannot return an error; readers will find the recording cut off.
        let _ = self.flush();
    }
}

/// The preamble and the header chunk, checked so that they can be read again.
fn encode_start(path: &Path, scene: &Scene) -> Result<Vec<u8>, RecordError> {
    let io_error = |source| RecordError::Io { path: path.to_owned(), action: "write", source };
    scene.validate().map_err(|source| RecordError::Scene { path: path.to_owned(), source })?;
    let text = serde_json::to_vec(&Header::of(scene)).map_err(|error| io_error(error.into()))?;
    if text.len() > CHUNK_BYTES_MAX {
        return Err(too_large(path, "the scene".to_owned(), text.len()));
    }
    let mut bytes = chunk::preamble().to_vec();
    let header = chunk::seal(Kind::Header, 0, &text, bytes.len() as u64).map_err(io_error)?;
    bytes.extend_from_slice(&header);
    Ok(bytes)
}

fn too_large(path: &Path, what: String, bytes: usize) -> RecordError {
    RecordError::TooLarge { path: path.to_owned(), what, bytes: bytes as u64, max: CHUNK_BYTES_MAX as u64 }
}
