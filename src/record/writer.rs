//! Writes a recording, chunk by chunk. Knows no clock: the caller flushes when it wants frames to be safe.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::chunk::{self, CHUNK_BYTES_MAX, Kind};
use super::disk::sync_folder;
use super::{Header, RecordError, Recording, Summary, frames};
use crate::base::frame::Frame;
use crate::scene::{Scene, counted};

/// Most frames in one chunk: more hardly compress better, and make single frames slower to reach.
const FRAMES_PER_CHUNK_MAX: usize = 64;

/// Writes the frames of a run to a file.
///
/// Flushed frames are on disk: they survive the end of the process, and of the machine. Dropping the writer flushes the
/// frames it still has, but only [`finish`](Self::finish) marks the recording as complete. While the writer exists, its
/// file is locked, and no other writer can take it.
pub struct RecordingWriter {
    path: PathBuf,
    sink: Sink,
    /// Bytes written so far.
    offset: u64,
    frame_count: u64,
    /// Frames that are not written yet, and the most raw bytes they can take.
    pending: Vec<Frame>,
    pending_bytes: usize,
    /// A flush has ended a chunk before it was full.
    has_short_chunk: bool,
    /// Frames came after that, so where they are in the file depends on when the caller flushed.
    is_uneven: bool,
    /// Something was written that may not be on disk yet.
    is_unsynced: bool,
    /// A write has failed: the file may end inside a chunk, so nothing can follow.
    broken: bool,
}

/// A recording that is complete. Its file stays locked as long as this exists.
#[derive(Debug)]
pub struct Finished {
    /// Whether its bytes depend on when frames were flushed. Writing its frames anew, without a flush, gives the bytes that
    /// every recording of these frames has.
    pub is_uneven: bool,
    _lock: Option<File>,
}

/// Where a recording goes.
enum Sink {
    /// A file that is locked as long as it is open.
    File(File),
    Other(Box<dyn Write + Send>),
}

impl Sink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file) => file.write_all(bytes),
            Sink::Other(sink) => sink.write_all(bytes),
        }
    }

    /// Waits until what was written is on disk.
    fn sync(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.sync_data(),
            Sink::Other(sink) => sink.flush(),
        }
    }
}

impl RecordingWriter {
    /// Starts a recording. A complete recording at `path` is replaced as soon as the scene is known to be valid; any other
    /// file is an error, see [`replace`](Self::replace).
    pub fn create(path: impl AsRef<Path>, scene: &Scene) -> Result<Self, RecordError> {
        Self::open(path.as_ref(), scene, false)
    }

    /// The same, and replaces a regular file whatever it holds, unless another writer is at work on it.
    pub fn replace(path: impl AsRef<Path>, scene: &Scene) -> Result<Self, RecordError> {
        Self::open(path.as_ref(), scene, true)
    }

    fn open(path: &Path, scene: &Scene, by_force: bool) -> Result<Self, RecordError> {
        let start = encode_start(path, scene)?;
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        {
            return Err(RecordError::NoFolder { path: path.to_owned(), folder: folder.to_owned() });
        }
        // Checked before opening: opening a pipe would wait for its other end.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(RecordError::NotAFile { path: path.to_owned() });
        }
        let io_error = |source| RecordError::Io { path: path.to_owned(), action: "create", source };
        // A link that leads nowhere yet is there already.
        let is_new = std::fs::symlink_metadata(path).is_err();
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(io_error)?;
        let is_locked = lock_file(&file).map_err(io_error)?;
        // Between the two steps another writer may have put its file there.
        if !is_locked || !is_at(&file, path) {
            return Err(RecordError::Locked { path: path.to_owned() });
        }
        // Only now: what the file holds cannot change any more.
        let length = file.metadata().map_err(io_error)?.len();
        if !by_force && length > 0 {
            check_replaceable(path)?;
        }
        if length > 0
            && let Some((beside, place, new)) = beside(path)
        {
            return Self::begin_beside(path, &start, (&beside, &place, new));
        }
        file.set_len(0).map_err(io_error)?;
        let writer = Self::begin(Sink::File(file), path, &start);
        match &writer {
            // Nothing was there before, and half a header is of no use.
            Err(_) if is_new => drop(std::fs::remove_file(path)),
            // The name of the file has to last too.
            Ok(_) if is_new => sync_folder(path),
            _ => {}
        }
        writer
    }

    /// Begins in a new file, which then takes the place of an older one: that is lost only once the new one has begun.
    fn begin_beside(
        path: &Path,
        start: &[u8],
        (beside, place, new): (&Path, &Path, File),
    ) -> Result<Self, RecordError> {
        let begun = Self::begin(Sink::File(new), path, start).and_then(|mut writer| {
            writer.sync()?;
            std::fs::rename(beside, place).map_err(|source| writer.io_error(source))?;
            Ok(writer)
        });
        match &begun {
            Ok(_) => sync_folder(place),
            Err(_) => drop(std::fs::remove_file(beside)),
        }
        begun
    }

    /// Starts a recording anywhere; errors call it by `name`.
    pub fn to_sink(sink: Box<dyn Write + Send>, name: &str, scene: &Scene) -> Result<Self, RecordError> {
        let path = Path::new(name);
        Self::begin(Sink::Other(sink), path, &encode_start(path, scene)?)
    }

    fn begin(sink: Sink, path: &Path, start: &[u8]) -> Result<Self, RecordError> {
        let mut writer = RecordingWriter {
            path: path.to_owned(),
            sink,
            offset: 0,
            frame_count: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            has_short_chunk: false,
            is_uneven: false,
            is_unsynced: false,
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
            self.write_pending()?;
        }
        if self.broken {
            return Err(RecordError::Broken { path: self.path.clone() });
        }
        self.is_uneven |= self.has_short_chunk;
        self.pending.push(frame.clone());
        self.pending_bytes += bytes;
        Ok(())
    }

    /// Number of frames that a reader of the file finds in it.
    pub fn frames_written(&self) -> u64 {
        self.frame_count
    }

    /// Writes all pending frames and waits until they are on disk. Frames compress better together, so flush about once a
    /// second, not after every frame.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.has_short_chunk |= !self.pending.is_empty() && self.pending.len() < FRAMES_PER_CHUNK_MAX;
        self.write_pending()?;
        self.sync()
    }

    fn write_pending(&mut self) -> Result<(), RecordError> {
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
    pub fn finish(mut self, summary: Summary) -> Result<Finished, RecordError> {
        self.write_pending()?;
        let mut raw = Vec::with_capacity(25);
        raw.extend_from_slice(&self.frame_count.to_le_bytes());
        raw.extend_from_slice(&summary.digest.0.to_le_bytes());
        raw.push(u8::from(summary.interrupted));
        self.append_chunk(Kind::End, 0, &raw)?;
        self.sync()?;
        if let Sink::File(file) = &self.sink
            && !is_at(file, &self.path)
        {
            return Err(
                self.io_error(io::Error::other("its name was taken away or given to another file meanwhile"))
            );
        }
        let lock = match &self.sink {
            Sink::File(file) => file.try_clone().ok(),
            Sink::Other(_) => None,
        };
        Ok(Finished { is_uneven: self.is_uneven, _lock: lock })
    }

    /// Waits until what was written is on disk.
    fn sync(&mut self) -> Result<(), RecordError> {
        if self.broken || !self.is_unsynced {
            return Ok(());
        }
        self.is_unsynced = false;
        self.sink.sync().map_err(|source| {
            self.broken = true;
            self.io_error(source)
        })
    }

    fn append_chunk(&mut self, kind: Kind, frames: u32, raw: &[u8]) -> Result<(), RecordError> {
        let bytes = chunk::seal(kind, frames, raw, self.offset).map_err(|source| self.io_error(source))?;
        self.append(&bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        if self.broken {
            return Err(RecordError::Broken { path: self.path.clone() });
        }
        if let Err(source) = self.sink.write_all(bytes) {
            self.broken = true;
            if let Sink::File(file) = &self.sink {
                // Half a chunk is of no use; a reader copes with it if it cannot be cut off.
                let _ = file.set_len(self.offset);
            }
            return Err(self.io_error(source));
        }
        self.is_unsynced = true;
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

/// Locks a file; says no if another writer has it. Not every file system has locks.
fn lock_file(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a path leads to a file that is open.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |found: &std::fs::Metadata| (found.dev(), found.ino());
        matches!((file.metadata(), std::fs::metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// A new and locked file of a random name beside an older one, with the permissions of that, and where that really is.
/// Nothing where the folder takes no files.
fn beside(path: &Path) -> Option<(PathBuf, PathBuf, File)> {
    let place = std::fs::canonicalize(path).ok()?;
    let mut name = OsString::from(place.file_name()?);
    name.push(format!(".{:016x}.partial", RandomState::new().hash_one(std::process::id())));
    let beside = place.with_file_name(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&beside).ok()?;
    if let Ok(older) = std::fs::metadata(&place) {
        // As far as this user may set them.
        let _ = file.set_permissions(older.permissions());
    }
    match lock_file(&file) {
        Ok(true) => Some((beside, place, file)),
        Ok(false) | Err(_) => {
            let _ = std::fs::remove_file(&beside);
            None
        }
    }
}

/// Refuses to replace anything but a complete recording that this program can read.
fn check_replaceable(path: &Path) -> Result<(), RecordError> {
    let what = match Recording::open(path) {
        Ok(mut recording) if recording.is_complete() => match recording.find_damage()? {
            None => return Ok(()),
            Some(offset) => format!("a recording, damaged at byte {offset}"),
        },
        Ok(recording) => format!("a recording, {}", recording.ending()),
        Err(RecordError::NotARecording { .. }) => "not a recording".to_owned(),
        Err(RecordError::Version { found, .. }) => format!("a recording of format version {found}"),
        Err(RecordError::NoHeader { length, .. }) => format!("a recording, cut off after byte {length}"),
        Err(RecordError::Damaged { offset, .. }) => format!("a recording, damaged at byte {offset}"),
        Err(RecordError::Scene { .. }) => "a recording with a scene that is invalid".to_owned(),
        Err(other) => return Err(other),
    };
    Err(RecordError::Exists { path: path.to_owned(), what })
}

/// The preamble and the header chunk, checked so that they can be read again.
fn encode_start(path: &Path, scene: &Scene) -> Result<Vec<u8>, RecordError> {
    let io_error = |source| RecordError::Io { path: path.to_owned(), action: "write", source };
    scene
        .validate()
        .and_then(|_| counted::check(scene))
        .map_err(|source| RecordError::Scene { path: path.to_owned(), source })?;
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
