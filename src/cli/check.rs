//! `anachron check`: whether a scene file or a recording is right, and what is in it.

use std::path::PathBuf;

use clap::Args;

use crate::base::digest::Digester;
use crate::cli::console;
use crate::cli::describe::{recording_lines, scene_lines, text_of};
use crate::cli::failure::{Exit, Failure};
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Progress;
use crate::cli::source::{MeshPaths, Source, open_recording};
use crate::physics::World;
use crate::record::Recording;
use crate::scene::Warning;
use crate::scene::suggest::{excerpt, shown};

const EXAMPLES: &str = "\
Examples:
  anachron check tower.toml           a scene: is it right, and what is in it
  anachron check bowl.anr             a recording: is every frame there, and as it was written
  anachron scene stack | anachron check -";

/// Check a scene file or a recording, and describe it
///
/// Of a recording every frame is read, and their digest is compared with the one that the run has left.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A scene file, `.toml` or `.json`; a recording; `-` is a scene on standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    #[command(flatten)]
    meshes: MeshPaths,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match Source::of(&arguments.file) {
        Source::OtherFile(path) if path.exists() => check_recording(arguments, open_recording(&path)?),
        source => check_scene(&source, &arguments.meshes),
    }
}

fn check_scene(source: &Source, meshes: &MeshPaths) -> Result<Exit, Failure> {
    let name = source.name();
    let about = |error| Failure::from(error).about(name.as_ref());
    let scene = source.written_scene(meshes)?;
    let warnings = scene.validate().map_err(about)?;
    // Some shapes show only here that they cannot be built.
    let world = World::new(&scene).map_err(about)?;
    let mut lines = scene_lines(&scene, &world);
    lines
        .extend(warnings.iter().map(|Warning { field, message }| ("warning", format!("{field}: {message}"))));
    let called = excerpt(&scene.name);
    console::print(&format!("{name}: a good scene, `{called}`\n{}", text_of(&lines)))?;
    Ok(Exit::Done)
}

/// Reads every frame: checksums are checked on the way.
fn check_recording(arguments: &Arguments, mut recording: Recording) -> Result<Exit, Failure> {
    let interrupt = Interrupt::watch();
    let mut progress = Progress::start(false);
    let total = recording.len().max(1) as f64;
    let mut digester = Digester::new();
    for (read, frame) in (1_u64..).zip(recording.frames()) {
        digester.add(&frame?);
        progress.show(read as f64 / total, |_| format!("reading, frame {read}"));
        if interrupt.is_requested() {
            return Err(Interrupt::failure());
        }
    }
    progress.finish();
    let (name, digest) = (shown(&arguments.file), digester.digest());
    if let Some(summary) = recording.summary().filter(|summary| summary.digest != digest) {
        return Err(Failure::bad_input(format_args!(
            "{name}: its frames have the digest {digest}, and its end says {}; it was not written by one run",
            summary.digest
        )));
    }
    let world = World::new(recording.scene()).map_err(|error| Failure::from(error).about(&arguments.file))?;
    let mut lines = recording_lines(&recording);
    lines.extend(scene_lines(recording.scene(), &world));
    let what = if recording.is_complete() { "a good recording" } else { "a recording without an end" };
    let called = excerpt(&recording.scene().name);
    console::print(&format!("{name}: {what}, `{called}`\n{}", text_of(&lines)))?;
    Ok(Exit::Done)
}
