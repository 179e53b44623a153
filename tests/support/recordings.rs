//! Small recordings in memory, for tests of everything that reads recordings.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use anachron::internals::base::digest::Digest;
use anachron::internals::base::frame::Frame;
use anachron::internals::base::ids::BodyId;
use anachron::internals::base::state::BodyState;
use anachron::record::{RecordError, Recording, RecordingWriter, Summary};
use anachron::scene::{Body, Scene, Shape};

/// The summary of every recording made here.
pub const DONE: Summary = Summary { digest: Digest(0x0123_4567_89ab_cdef), interrupted: false };

/// A file in memory that a test can read while it is written, and that is full after `capacity` bytes.
#[derive(Clone)]
pub struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    capacity: usize,
}

impl Disk {
    pub fn with_capacity(capacity: usize) -> Self {
        Disk { bytes: Arc::default(), capacity }
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    pub fn recorder(&self, scene: &Scene) -> Result<RecordingWriter, RecordError> {
        RecordingWriter::to_sink(Box::new(self.clone()), "disk", scene)
    }
}

impl Write for Disk {
    fn write(&mut self, new: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        let fits = new.len().min(self.capacity - bytes.len());
        bytes.extend_from_slice(&new[..fits]);
        if fits == 0 && !new.is_empty() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"));
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two balls, one of them with a name.
pub fn scene() -> Scene {
    let ball = |x: f64| Body::new(Shape::Sphere { radius: 0.5 }, [x, 1.0, 0.0]);
    let mut cue = ball(0.1);
    cue.name = Some("cue".to_owned());
    Scene { name: "two balls".to_owned(), bodies: vec![cue, ball(2.2)], ..Scene::default() }
}

/// A frame in which every number is different and has many digits.
pub fn frame(index: u64, ids: &[u32]) -> Frame {
    let bodies = ids.iter().map(|id| {
        let numbers = std::array::from_fn(|n| (index as f64 + 1.0) / (f64::from(*id) + n as f64 + 3.0));
        (BodyId(*id), BodyState::from_array(numbers))
    });
    Frame { index, tick: index * 4, time_s: index as f64 / 60.0, bodies: bodies.collect() }
}

/// Nine frames in which bodies are spawned and despawned.
pub fn some_frames() -> Vec<Frame> {
    let lists: [&[u32]; 9] = [&[0, 1], &[0, 1], &[0, 1], &[0], &[], &[0, 1, 7], &[0, 1, 7], &[0, 1], &[0, 1]];
    (0..).zip(lists).map(|(index, ids)| frame(index, ids)).collect()
}

/// A finished recording.
pub fn record(scene: &Scene, frames: &[Frame], frames_per_chunk: usize) -> Vec<u8> {
    let disk = Disk::with_capacity(usize::MAX);
    let mut writer = disk.recorder(scene).unwrap();
    for batch in frames.chunks(frames_per_chunk) {
        batch.iter().for_each(|frame| writer.write_frame(frame).unwrap());
        writer.flush().unwrap();
    }
    writer.finish(DONE).unwrap();
    disk.bytes()
}

/// Opens bytes under the name `memory`.
pub fn open(bytes: &[u8]) -> Result<Recording, RecordError> {
    Recording::from_bytes(bytes.to_vec(), "memory")
}
