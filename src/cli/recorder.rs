//! Records a run while it goes on: frames are on disk about a second after they were committed.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::base::frame::Frame;
use crate::base::sync::lock;
use crate::cli::console;
use crate::cli::failure::Failure;
use crate::cli::interrupt::AtOnce;
use crate::cli::output::Output;
use crate::executor::Report;
use crate::record::{RecordError, Recording, RecordingWriter, Summary};
use crate::scene::Scene;
use crate::scene::suggest::shown;

const FLUSHED_EVERY: Duration = Duration::from_secs(1);
/// How long a signal that ends the program at once waits for a write that is under way.
const LAST_FLUSH_MAX: Duration = Duration::from_secs(5);

/// A recording that is being made. If it cannot be written, the run goes on without it.
pub(super) struct Recorder {
    path: PathBuf,
    recording: Arc<Mutex<State>>,
    timer: Option<(Sender<()>, JoinHandle<()>)>,
    _last_flush: AtOnce,
}

/// The recording, until it is finished or cannot be written.
struct State {
    writer: Option<RecordingWriter>,
    failure: Option<Failure>,
}

impl State {
    /// Does something to the recording. If that fails, nothing more is written.
    fn act(&mut self, act: impl FnOnce(&mut RecordingWriter) -> Result<(), RecordError>) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = act(writer) {
            let frames = writer.frames_written();
            self.writer = None;
            self.fail(error, frames);
            if let Some(failure) = &self.failure {
                console::tell(format_args!("warning: {failure}; the run goes on without a recording"));
            }
        }
    }

    fn fail(&mut self, error: RecordError, frames: u64) {
        let readable = match frames.checked_sub(1) {
            Some(last) => format!("it can be read up to frame {last}"),
            None => "no frame of it can be read".to_owned(),
        };
        self.failure = Some(Failure::failed(format_args!("--record: {error}; {readable}")));
    }
}

impl Recorder {
    /// Starts a recording. An older one is replaced, any other file only by force.
    pub(super) fn create(path: &Path, scene: &Scene, by_force: bool) -> Result<Self, Failure> {
        // A thread that cannot be had costs no older recording.
        let recording = Arc::new(Mutex::new(State { writer: None, failure: None }));
        let timer = start_timer(recording.clone())?;
        let writer = if by_force {
            RecordingWriter::replace(path, scene)
        } else {
            RecordingWriter::create(path, scene)
        };
        let writer = writer.map_err(|error| match error {
            RecordError::Exists { path, what } => Failure::bad_input(format_args!(
                "--record: {} exists and is {what}; choose another name, or replace it with --force",
                shown(&path)
            )),
            other => Failure::from(other).about("--record".as_ref()),
        })?;
        lock(&recording).writer = Some(writer);
        let at_once = recording.clone();
        let _last_flush = AtOnce::register(move || flush_last(&at_once));
        Ok(Recorder { path: path.to_owned(), recording, timer: Some(timer), _last_flush })
    }

    /// Adds a frame.
    pub(super) fn write(&self, frame: &Frame) {
        lock(&self.recording).act(|writer| writer.write_frame(frame));
    }

    /// Marks the recording as complete, or says why it is not.
    pub(super) fn finish(mut self, report: &Report) -> Result<(), Failure> {
        self.stop_timer();
        let mut state = lock(&self.recording);
        state.act(RecordingWriter::flush);
        let mut finished = None;
        if let Some(writer) = state.writer.take() {
            let frames = writer.frames_written();
            let summary = Summary { digest: report.digest, interrupted: report.interrupted };
            match writer.finish(summary) {
                Ok(file) => finished = Some((file, summary)),
                Err(error) => state.fail(error, frames),
            }
        }
        let failure = state.failure.take();
        // From here on nothing is left to flush, and a signal need not wait.
        drop(state);
        if let Some((file, summary)) = finished
            && file.is_uneven
            && let Err(failure) = repack(&self.path, summary)
        {
            let path = shown(&self.path);
            console::tell(format_args!(
                "warning: {failure}; {path} is complete, but its bytes differ from those of an equal run"
            ));
        }
        failure.map_or(Ok(()), Err)
    }

    /// The run has failed: the frames before are kept. Returns its failure, with what became of them.
    pub(super) fn give_up(mut self, failure: Failure) -> Failure {
        self.stop_timer();
        let mut state = lock(&self.recording);
        state.act(RecordingWriter::flush);
        match state.failure.take() {
            Some(unwritten) => failure.adding(unwritten),
            None => failure.adding(format_args!("{} has the frames before", shown(&self.path))),
        }
    }

    fn stop_timer(&mut self) {
        if let Some((stop, thread)) = self.timer.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop_timer();
    }
}

/// Writes a complete recording anew, and replaces it: how its frames are put together no longer depends on when they were
/// flushed, so that equal runs write equal bytes. The caller keeps it locked.
fn repack(path: &Path, summary: Summary) -> Result<(), Failure> {
    let output = Output::begin_recording("--record", path)?;
    let mut recording = Recording::open(path)?;
    let name = path.to_string_lossy();
    let mut writer =
        RecordingWriter::to_sink(Box::new(BufWriter::new(output.writer()?)), &name, recording.scene())?;
    for frame in recording.frames() {
        writer.write_frame(&frame?)?;
    }
    writer.finish(summary)?;
    output.keep()
}

/// Flushes now and then, also while no frame arrives.
fn start_timer(recording: Arc<Mutex<State>>) -> Result<(Sender<()>, JoinHandle<()>), Failure> {
    let (stop, stopped) = mpsc::channel();
    let flush = move || {
        while stopped.recv_timeout(FLUSHED_EVERY) == Err(RecvTimeoutError::Timeout) {
            lock(&recording).act(RecordingWriter::flush);
        }
    };
    let thread = thread::Builder::new().name("recorder".to_owned()).spawn(flush);
    let thread = thread.map_err(|error| {
        Failure::failed(format_args!("--record: there is no thread to write with: {error}"))
    })?;
    Ok((stop, thread))
}

/// Flushes before the program ends at once. Keeps the recording locked: nothing may follow.
fn flush_last(recording: &Mutex<State>) {
    let begun = Instant::now();
    loop {
        match recording.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < LAST_FLUSH_MAX => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return,
            Ok(state) => return flush_and_keep(state),
            Err(TryLockError::Poisoned(state)) => return flush_and_keep(state.into_inner()),
        }
    }
}

fn flush_and_keep(mut state: std::sync::MutexGuard<'_, State>) {
    state.act(RecordingWriter::flush);
    std::mem::forget(state);
}
