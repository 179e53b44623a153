//! Reads a recording: its scene at once, its frames chunk by chunk. Trusts nothing that a checksum does not
//! cover, and allocates nothing that the file's own length does not justify.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::chunk::{self, HEAD_BYTES, Head, Kind, PREAMBLE_BYTES};
use super::{Header, RecordError, Summary, frames};
use crate::base::digest::{Digest, Digester};
use crate::base::frame::Frame;
use crate::scene::suggest::excerpt;
use crate::scene::{Scene, counted};

/// How a recording ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run ended, or was interrupted, and the file is complete.
    Finished(Summary),
    /// The file stops before the run did: it was killed, or is still running.
    CutOff {
        /// Offset of the end of the last complete chunk, bytes.
        offset: u64,
    },
    /// Bytes that no writer has written; nothing behind them can be trusted.
    Damaged {
        /// Offset of the damaged chunk, bytes.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Finished(Summary { interrupted: false, .. }) => write!(f, "complete"),
            Ending::Finished(Summary { interrupted: true, .. }) => {
                write!(f, "complete up to where the run was interrupted")
            }
            Ending::CutOff { offset } => write!(f, "cut off after byte {offset}"),
            Ending::Damaged { offset, problem } => write!(f, "damaged at byte {offset}: {problem}"),
        }
    }
}

trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

/// A frames chunk and its offset.
struct FramesChunk {
    offset: u64,
    head: Head,
    first_frame: u64,
}

/// A recording that is open for reading.
pub struct Recording {
    path: PathBuf,
    source: Box<dyn Source>,
    header: Header<Scene>,
    chunks: Vec<FramesChunk>,
    frame_count: u64,
    ending: Ending,
    /// The chunk that [`Recording::frame`] unpacked last: neighbours are often wanted next.
    unpacked: Option<(usize, Vec<Frame>)>,
}

impl Recording {
    /// Opens a recording and finds its chunks. Frames are read, and their checksums checked, when asked for.
    pub fn open(path: impl AsRef<Path>) -> Result<Recording, RecordError> {
        let path = path.as_ref();
        let io_error = |action| move |source| RecordError::Io { path: path.to_owned(), action, source };
        // Checked before opening: opening a pipe would wait for its other end.
        if !std::fs::metadata(path).map_err(io_error("open"))?.is_file() {
            return Err(RecordError::NotAFile { path: path.to_owned() });
        }
        let file = File::open(path).map_err(io_error("open"))?;
        Self::from_source(Box::new(BufReader::new(file)), path)
    }

    /// Reads a recording from memory; errors call it by `name`.
    pub fn from_bytes(bytes: Vec<u8>, name: &str) -> Result<Recording, RecordError> {
        Self::from_source(Box::new(Cursor::new(bytes)), Path::new(name))
    }

    fn from_source(mut source: Box<dyn Source>, path: &Path) -> Result<Recording, RecordError> {
        let io_error = |source| RecordError::Io { path: path.to_owned(), action: "read", source };
        let length = source.seek(SeekFrom::End(0)).map_err(io_error)?;
        let start = read_at(&mut source, 0, length.min(PREAMBLE_BYTES as u64)).map_err(io_error)?;
        check_preamble(&start, path)?;
        let (header, header_end) = read_header(&mut source, length, path)?;
        let mut recording = Recording {
            path: path.to_owned(),
            source,
            header,
            chunks: Vec::new(),
            frame_count: 0,
            ending: Ending::CutOff { offset: header_end },
            unpacked: None,
        };
        recording.ending = recording.find_chunks(header_end, length).map_err(io_error)?;
        Ok(recording)
    }

    /// The scene that was run.
    pub fn scene(&self) -> &Scene {
        &self.header.scene
    }

    /// The scene, and nothing else.
    pub fn into_scene(self) -> Scene {
        self.header.scene
    }

    /// The program and version that wrote the recording.
    pub fn program(&self) -> &str {
        &self.header.program
    }

    /// Number of frames of a run to the end; [`len`](Self::len) is the number in the file.
    pub fn planned_frames(&self) -> u64 {
        self.header.planned_frames
    }

    /// The file, or the name of what was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of frames in the file.
    pub fn len(&self) -> u64 {
        self.frame_count
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.frame_count == 0
    }

    /// How the recording ends.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// The summary that was written when the run ended; nothing if the file is cut off or damaged.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.ending {
            Ending::Finished(summary) => Some(summary),
            Ending::CutOff { .. } | Ending::Damaged { .. } => None,
        }
    }

    /// Whether the file is complete. The recording of an interrupted run is complete too.
    pub fn is_complete(&self) -> bool {
        self.summary().is_some()
    }

    /// All frames in order, one chunk in memory at a time. Damage is an error after the last good frame; a file
    /// that is cut off just ends.
    pub fn frames(&mut self) -> Frames<'_> {
        Frames { recording: self, next_chunk: 0, unpacked: Vec::new().into_iter(), ended: false }
    }

    /// The frame at position `n`, from 0.
    pub fn frame(&mut self, n: u64) -> Result<Frame, RecordError> {
        if n >= self.frame_count {
            return Err(match &self.ending {
                Ending::Damaged { offset, problem } => self.damaged(*offset, problem, self.frame_count),
                _ => RecordError::NoSuchFrame { path: self.path.clone(), wanted: n, len: self.frame_count },
            });
        }
        let chunk = self.chunks.partition_point(|chunk| chunk.first_frame <= n) - 1;
        if self.unpacked.as_ref().is_none_or(|(unpacked, _)| *unpacked != chunk) {
            self.unpacked = None;
            self.unpacked = Some((chunk, self.read_chunk(chunk)?));
        }
        let (_, frames) = self.unpacked.as_ref().expect("invariant: just unpacked");
        Ok(frames[(n - self.chunks[chunk].first_frame) as usize].clone())
    }

    /// The offset of the first chunk with a payload that is not what was written. Reads all of them, and unpacks none.
    pub(super) fn find_damage(&mut self) -> Result<Option<u64>, RecordError> {
        for FramesChunk { offset, head, .. } in &self.chunks {
            let start = offset + HEAD_BYTES as u64;
            let payload = read_at(&mut self.source, start, u64::from(head.stored));
            let payload = payload.map_err(|source| RecordError::Io {
                path: self.path.clone(),
                action: "read",
                source,
            })?;
            if !head.is_intact(&payload, *offset) {
                return Ok(Some(*offset));
            }
        }
        Ok(None)
    }

    /// The digest of the frames as they are in the file. Reads them all.
    pub fn digest(&mut self) -> Result<Digest, RecordError> {
        let mut digester = Digester::new();
        for frame in self.frames() {
            digester.add(&frame?);
        }
        Ok(digester.digest())
    }

    /// Skips from chunk head to chunk head, and returns how the file ends.
    fn find_chunks(&mut self, start: u64, length: u64) -> io::Result<Ending> {
        let mut offset = start;
        loop {
            let damaged = |problem: &str| Ok(Ending::Damaged { offset, problem: problem.to_owned() });
            let Some(head) = read_head(&mut self.source, offset, length)? else {
                return Ok(Ending::CutOff { offset });
            };
            let head = match head {
                Ok(head) => head,
                Err(problem) => return damaged(problem),
            };
            let end = offset + (HEAD_BYTES as u64) + u64::from(head.stored);
            if end > length {
                return Ok(Ending::CutOff { offset });
            }
            match head.kind {
                Kind::Header => return damaged("a second header"),
                Kind::Frames => {
                    let frame_bytes = u64::from(head.frames) * frames::FRAME_HEAD_BYTES as u64;
                    if head.frames == 0 || frame_bytes > u64::from(head.raw) {
                        return damaged("the chunk claims an absurd number of frames");
                    }
                    // A writer puts several frames together up to this size.
                    if head.frames > 1 && head.raw as usize > Kind::Frames.free_bytes() {
                        return damaged("the chunk claims an absurd length");
                    }
                    self.chunks.push(FramesChunk { offset, head, first_frame: self.frame_count });
                    self.frame_count += u64::from(head.frames);
                }
                Kind::End => {
                    let raw = match read_payload(&mut self.source, &head, offset)? {
                        Ok(raw) => raw,
                        Err(problem) => return damaged(problem),
                    };
                    return match decode_end(&raw) {
                        _ if end != length => damaged("there is something behind the end"),
                        Some((summary, count)) if count == self.frame_count => Ok(Ending::Finished(summary)),
                        _ => damaged("the end does not fit the frames before it"),
                    };
                }
            }
            offset = end;
        }
    }

    fn read_chunk(&mut self, chunk: usize) -> Result<Vec<Frame>, RecordError> {
        let FramesChunk { offset, head, first_frame } = self.chunks[chunk];
        let unpacked = match read_payload(&mut self.source, &head, offset) {
            Ok(Ok(raw)) => frames::decode(&raw, head.frames),
            Ok(Err(problem)) => Err(problem),
            Err(source) => return Err(RecordError::Io { path: self.path.clone(), action: "read", source }),
        };
        unpacked.map_err(|problem| self.damaged(offset, problem, first_frame))
    }

    fn damaged(&self, offset: u64, problem: &str, good_frames: u64) -> RecordError {
        RecordError::Damaged { path: self.path.clone(), offset, problem: problem.to_owned(), good_frames }
    }
}

/// The frames of a recording, in order.
pub struct Frames<'a> {
    recording: &'a mut Recording,
    next_chunk: usize,
    unpacked: std::vec::IntoIter<Frame>,
    ended: bool,
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(frame) = self.unpacked.next() {
            return Some(Ok(frame));
        }
        if self.ended {
            return None;
        }
        if self.next_chunk < self.recording.chunks.len() {
            match self.recording.read_chunk(self.next_chunk) {
                Ok(frames) => self.unpacked = frames.into_iter(),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
            self.next_chunk += 1;
            return self.unpacked.next().map(Ok);
        }
        self.ended = true;
        match &self.recording.ending {
            Ending::Damaged { offset, problem } => {
                Some(Err(self.recording.damaged(*offset, problem, self.recording.frame_count)))
            }
            Ending::Finished(_) | Ending::CutOff { .. } => None,
        }
    }
}

/// Whether a regular file begins as recordings of every version do.
pub(crate) fn is_recording(path: &Path) -> bool {
    // Asked first: opening a pipe would wait for its other end.
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut start = [0; chunk::MAGIC.len()];
    is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == chunk::MAGIC
}

fn check_preamble(start: &[u8], path: &Path) -> Result<(), RecordError> {
    let path = path.to_owned();
    if start.is_empty() || !chunk::preamble().starts_with(&start[..start.len().min(chunk::MAGIC.len())]) {
        return Err(RecordError::NotARecording { path });
    }
    match start.get(chunk::MAGIC.len()..).map(<[u8; 4]>::try_from) {
        Some(Ok(version)) => match u32::from_le_bytes(version) {
            chunk::VERSION => Ok(()),
            found => Err(RecordError::Version { path, found, known: chunk::VERSION }),
        },
        _ => Err(RecordError::NoHeader { path, length: start.len() as u64 }),
    }
}

/// The header chunk and where it ends.
fn read_header(
    source: &mut Box<dyn Source>,
    length: u64,
    path: &Path,
) -> Result<(Header<Scene>, u64), RecordError> {
    let offset = PREAMBLE_BYTES as u64;
    let io_error = |source| RecordError::Io { path: path.to_owned(), action: "read", source };
    // What is wrong may be quoted from the file.
    let damaged = |problem: String| RecordError::Damaged {
        path: path.to_owned(),
        offset,
        problem: excerpt(&problem),
        good_frames: 0,
    };
    let cut = RecordError::NoHeader { path: path.to_owned(), length };
    let Some(head) = read_head(source, offset, length).map_err(io_error)? else {
        return Err(cut);
    };
    let head = head.map_err(|problem| damaged(problem.to_owned()))?;
    let end = offset + HEAD_BYTES as u64 + u64::from(head.stored);
    if end > length {
        return Err(cut);
    }
    if head.kind != Kind::Header {
        return Err(damaged("the first chunk is not a header".to_owned()));
    }
    let text = read_payload(source, &head, offset).map_err(io_error)?;
    let text = text.map_err(|problem| damaged(problem.to_owned()))?;
    let unreadable = |error: &dyn fmt::Display| damaged(format!("the header cannot be read: {error}"));
    let mut text = serde_json::Deserializer::from_slice(&text);
    let header: Header<Scene> = counted::limited(|| serde_path_to_error::deserialize(&mut text))
        .map_err(|error| unreadable(&format_args!("{}, at {}", error.inner(), error.path())))?;
    text.end().map_err(|error| unreadable(&error))?;
    header.scene.validate().map_err(|source| RecordError::Scene { path: path.to_owned(), source })?;
    Ok((header, end))
}

/// The chunk head at `offset`: nothing if the file ends before it does, or what is wrong with it.
fn read_head(
    source: &mut Box<dyn Source>,
    offset: u64,
    length: u64,
) -> io::Result<Option<Result<Head, &'static str>>> {
    if length - offset < HEAD_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = [0; HEAD_BYTES];
    source.seek(SeekFrom::Start(offset))?;
    source.read_exact(&mut bytes)?;
    Ok(Some(Head::from_bytes(&bytes, offset)))
}

/// The unpacked payload of the chunk at `offset`, or what is wrong with it.
fn read_payload(
    source: &mut Box<dyn Source>,
    head: &Head,
    offset: u64,
) -> io::Result<Result<Vec<u8>, &'static str>> {
    let payload = read_at(source, offset + HEAD_BYTES as u64, u64::from(head.stored))?;
    Ok(head.open(payload, offset))
}

fn read_at(source: &mut Box<dyn Source>, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(offset))?;
    // The caller has checked that the file is long enough, so the length can be trusted.
    let mut bytes = vec![0; length as usize];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn decode_end(raw: &[u8]) -> Option<(Summary, u64)> {
    let (count, rest) = raw.split_first_chunk()?;
    let (digest, rest) = rest.split_first_chunk()?;
    let interrupted = match rest {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    let summary = Summary { digest: Digest(u128::from_le_bytes(*digest)), interrupted };
    Some((summary, u64::from_le_bytes(*count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::BodyId;
    use crate::base::math::Vec3;
    use crate::base::state::BodyState;
    use crate::scene::{Body, Shape};

    /// A file with right checksums, whatever the content of its chunks.
    fn forged(chunks: &[(Kind, u32, Vec<u8>)]) -> Recording {
        let body = Body::new(Shape::Sphere { radius: 1.0 }, [0.0; 3]);
        let scene = Scene { bodies: vec![body], ..Scene::default() };
        let text = serde_json::to_vec(&Header::of(&scene)).unwrap();
        let mut bytes = chunk::preamble().to_vec();
        bytes.extend(chunk::seal(Kind::Header, 0, &text, bytes.len() as u64).unwrap());
        for (kind, frames, raw) in chunks {
            bytes.extend(chunk::seal(*kind, *frames, raw, bytes.len() as u64).unwrap());
        }
        Recording::from_bytes(bytes, "forged").unwrap()
    }

    fn batch(count: u64) -> Vec<u8> {
        let bodies = vec![(BodyId(0), BodyState::at_rest(Vec3::zeros()))];
        let frame = |index| Frame { index, tick: index, time_s: 0.0, bodies: bodies.clone() };
        frames::encode(&(0..count).map(frame).collect::<Vec<_>>())
    }

    fn end(count: u64, last: &[u8]) -> Vec<u8> {
        [&count.to_le_bytes(), [7; 16].as_slice(), last].concat()
    }

    #[test]
    fn forged_chunks_are_refused() {
        let good = || (Kind::Frames, 2, batch(2));
        let table = [
            ("complete", vec![good(), (Kind::End, 0, end(2, &[0]))], 2),
            ("does not fit", vec![good(), (Kind::End, 0, end(3, &[0]))], 2),
            ("does not fit", vec![good(), (Kind::End, 0, end(2, &[2]))], 2),
            ("does not fit", vec![good(), (Kind::End, 0, end(2, &[0, 0]))], 2),
            ("behind the end", vec![(Kind::End, 0, end(0, &[0])), good()], 0),
            ("second header", vec![good(), (Kind::Header, 0, Vec::new())], 2),
            ("number of frames", vec![good(), (Kind::Frames, 0, batch(2))], 2),
            ("number of frames", vec![good(), (Kind::Frames, u32::MAX, batch(2))], 2),
        ];
        for (ending, chunks, len) in table {
            let recording = forged(&chunks);
            assert!(recording.ending().to_string().contains(ending), "{}: {ending}", recording.ending());
            assert_eq!(recording.len(), len, "{ending}");
        }
    }

    #[test]
    fn a_forged_header_is_quoted_in_short_and_without_control_characters() {
        let mut bytes = chunk::preamble().to_vec();
        let text = format!("{{\"scene\": {{\"\\u001b[31m{}\": 1}}}}", "x".repeat(10_000));
        bytes.extend(chunk::seal(Kind::Header, 0, text.as_bytes(), bytes.len() as u64).unwrap());
        let Err(error) = Recording::from_bytes(bytes, "forged") else { panic!("it was taken") };
        let message = error.to_string();
        assert!(message.contains("unknown field `\u{fffd}[31mxxx"), "{message}");
        assert!(message.len() < 300 && !message.contains(char::is_control), "{message}");
    }

    #[test]
    fn a_batch_that_is_not_what_its_head_says_is_refused_when_read() {
        for (claimed, raw) in [(1, batch(2)), (3, batch(2)), (1, vec![0xff; 1000])] {
            let mut recording = forged(&[(Kind::Frames, 2, batch(2)), (Kind::Frames, claimed, raw)]);
            let frames: Vec<_> = recording.frames().collect();
            assert!(frames.len() == 3 && frames[1].is_ok());
            assert!(matches!(frames[2], Err(RecordError::Damaged { good_frames: 2, .. })));
            assert!(recording.frame(1).is_ok() && recording.frame(2).is_err());
        }
    }
}
