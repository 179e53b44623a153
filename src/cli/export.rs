//! `anachron export`: a recording as CSV or glTF.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;

use crate::base::frame::Frame;
use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::cli::format::counted;
use crate::cli::interrupt::Interrupt;
use crate::cli::output::{Output, format_of};
use crate::export::{ExportError, csv, gltf};
use crate::record::{Ending, RecordError, Recording};
use crate::scene::Scene;

const EXAMPLES: &str = "\
Examples:
  anachron export bowl.anr --out bowl.csv              every number of every body and frame, to the bit
  anachron export bowl.anr --out bowl.glb --every 2    an animation for Blender and web viewers";

/// Write a recording as CSV or as an animated glTF file
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A recording, as made by `anachron run --record`
    recording: PathBuf,
    /// The file to write; its name decides the format
    #[arg(long, value_name = "FILE.csv|FILE.glb")]
    out: PathBuf,
    /// Keep every Nth frame, and the last
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
}

#[derive(Clone, Copy)]
enum Format {
    Csv,
    Gltf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let format = format_of(&arguments.out, &[("csv", Format::Csv), ("glb", Format::Gltf)])?;
    let mut recording = Recording::open(&arguments.recording)?;
    let interrupt = Interrupt::watch()?;
    let output = Output::begin(&arguments.out, &arguments.recording)?;
    let file =
        File::create(output.writable()).map_err(|error| Failure::failed(error).about(&arguments.out))?;
    let scene = recording.scene().clone();
    let last = recording.len().saturating_sub(1);
    let (mut damage, mut written) = (None, 0);
    let frames = (0..)
        .zip(recording.frames())
        .take_while(|_| !interrupt.is_requested())
        .filter(|(index, frame)| frame.is_err() || index % arguments.every == 0 || *index == last)
        .map_while(|(_, frame)| frame.inspect(|_| written += 1).map_err(|error| damage = Some(error)).ok());
    let done = write(format, &scene, frames, file);
    if interrupt.is_requested() {
        console::tell("interrupted: nothing was exported");
        return Ok(Exit::Interrupted);
    }
    // Frames before a damage are good; an export of none of them is not.
    let damage = damage.map(Failure::from);
    match (done, damage) {
        (Err(_), Some(damage)) => return Err(damage),
        (Err(error), None) => return Err(Failure::from(error).about(&arguments.out)),
        (Ok(()), damage) => {
            output.keep()?;
            let out = arguments.out.display();
            console::tell(format_args!("{out}: {}", counted(written, "frame", "frames")));
            if let Some(damage) = damage {
                return Err(damage.adding(format_args!("{out} has them")));
            }
        }
    }
    if let Ending::CutOff { .. } = recording.ending() {
        let (name, ending) = (arguments.recording.display(), recording.ending());
        console::tell(format_args!("note: {name} is {ending}; what comes before was exported"));
    }
    Ok(Exit::Done)
}

fn write(
    format: Format,
    scene: &Scene,
    frames: impl Iterator<Item = Frame>,
    file: File,
) -> Result<(), ExportError> {
    let frames = frames.map(Ok::<Frame, RecordError>);
    match format {
        Format::Csv => csv::write(scene, frames, file).map(|_| ()),
        Format::Gltf => gltf::write(scene, frames, gltf::GltfOptions::default(), file),
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Record(error) => error.into(),
            ExportError::Scene(error) => error.into(),
            error @ ExportError::Io(_) => Failure::failed(error),
            error => Failure::bad_input(error),
        }
    }
}
