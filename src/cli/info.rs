//! `anachron info`: what a file is, without running or reading all of it.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::describe::{recording_lines, scene_lines, text_of};
use crate::cli::failure::{Exit, Failure};
use crate::cli::source::{MeshPaths, Source, open_recording};
use crate::cli::{console, json};
use crate::physics::World;
use crate::record::{Ending, Recording};
use crate::scene::Scene;
use crate::scene::suggest::excerpt;

const EXAMPLES: &str = "\
Examples:
  anachron info bowl.anr            what was run, how many frames there are, how it ended
  anachron info bowl.anr --json     the same for programs
  anachron info tower.toml          a scene: the same as `anachron check`";

/// Describe a recording or a scene file
///
/// Of a recording only the header and the heads of its chunks are read; `anachron check` reads every frame.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A recording or a scene file; `-` is a scene on standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    #[command(flatten)]
    meshes: MeshPaths,
    /// Write one JSON object
    #[arg(long)]
    json: bool,
}

/// The JSON object. Keys of recordings are null for a scene.
#[derive(Serialize)]
struct FileInfo {
    file: String,
    /// `scene` or `recording`.
    kind: &'static str,
    scenario: String,
    seed: u64,
    bodies: usize,
    static_objects: usize,
    joints: usize,
    seconds: f64,
    ticks_per_second: f64,
    ticks: u64,
    /// Frames of a run to the end.
    frames_planned: u64,
    recording: Option<RecordingInfo>,
}

#[derive(Serialize)]
struct RecordingInfo {
    program: String,
    /// Frames in the file.
    frames: u64,
    /// `complete`, `interrupted`, `cut off` or `damaged`.
    ending: &'static str,
    /// The first byte that is missing or damaged.
    offset: Option<u64>,
    digest: Option<String>,
}

impl FileInfo {
    fn of(file: String, scene: &Scene, recording: Option<&Recording>) -> Self {
        let time = scene.time_base();
        FileInfo {
            file,
            kind: if recording.is_some() { "recording" } else { "scene" },
            scenario: scene.name.clone(),
            seed: scene.seed,
            bodies: scene.bodies.len(),
            static_objects: scene.statics.len(),
            joints: scene.joints.len(),
            seconds: scene.seconds,
            ticks_per_second: scene.ticks_per_second,
            ticks: time.last_tick,
            frames_planned: time.frame_count(),
            recording: recording.map(RecordingInfo::of),
        }
    }
}

impl RecordingInfo {
    fn of(recording: &Recording) -> Self {
        let (ending, offset) = match recording.ending() {
            Ending::Finished(summary) if summary.interrupted => ("interrupted", None),
            Ending::Finished(_) => ("complete", None),
            Ending::CutOff { offset } => ("cut off", Some(*offset)),
            Ending::Damaged { offset, .. } => ("damaged", Some(*offset)),
        };
        RecordingInfo {
            program: recording.program().to_owned(),
            frames: recording.len(),
            ending,
            offset,
            digest: recording.summary().map(|summary| summary.digest.to_string()),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let source = Source::of(&arguments.file);
    let name = source.name();
    match &source {
        Source::OtherFile(path) if path.exists() => {
            let recording = open_recording(path)?;
            arguments.print(&name, recording.scene(), Some(&recording))
        }
        source => arguments.print(&name, &source.written_scene(&arguments.meshes)?, None),
    }
}

impl Arguments {
    fn print(&self, name: &str, scene: &Scene, recording: Option<&Recording>) -> Result<Exit, Failure> {
        if self.json {
            console::print(&json::line(&FileInfo::of(name.to_owned(), scene, recording)))?;
            return Ok(Exit::Done);
        }
        let world = World::new(scene).map_err(|error| Failure::from(error).about(name.as_ref()))?;
        let mut lines = recording.map(recording_lines).unwrap_or_default();
        lines.extend(scene_lines(scene, &world));
        let kind = if recording.is_some() { "recording" } else { "scene" };
        console::print(&format!("{name}: a {kind}, `{}`\n{}", excerpt(&scene.name), text_of(&lines)))?;
        Ok(Exit::Done)
    }
}
