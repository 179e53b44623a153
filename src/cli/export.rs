//! `anachron export`: a recording as CSV or glTF.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;

use crate::base::frame::Frame;
use crate::cli::console;
use crate::cli::count::count;
use crate::cli::failure::{Exit, Failure};
use crate::cli::format::{counted, grouped};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::{Output, format_of, is_dash};
use crate::export::{ExportError, csv, gltf};
use crate::record::{Ending, RecordError, Recording};
use crate::scene::Scene;
use crate::scene::suggest::shown;

const EXAMPLES: &str = "\
Examples:
  anachron export bowl.anr --out bowl.csv              every number of every body and frame, to the bit
  anachron export bowl.anr --out bowl.glb --every 2    an animation for Blender and web viewers
  anachron export bowl.anr --out - | head              CSV on standard output";

/// Write a recording as CSV or as an animated glTF file
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A recording, as made by `anachron run --record`
    recording: PathBuf,
    /// The file to write; its name decides the format. `-` is CSV on standard output
    #[arg(long, value_name = "FILE.csv|FILE.glb|-")]
    out: PathBuf,
    /// Keep every Nth frame, and the last
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u64>(1..=u64::MAX))]
    every: u64,
}

#[derive(Clone, Copy)]
enum Format {
    Csv,
    Gltf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let format = if is_dash(&arguments.out) {
        Format::Csv
    } else {
        format_of(&arguments.out, &[("csv", Format::Csv), ("glb", Format::Gltf)])?
    };
    let mut recording = Recording::open(&arguments.recording)?;
    let interrupt = Interrupt::watch();
    let output = Output::begin("--out", &arguments.out, &[("to read", &arguments.recording)])?;
    let file = output.writer()?;
    let scene = recording.scene().clone();
    let last = recording.len().saturating_sub(1);
    let (mut damage, mut written) = (None, 0);
    let frames = (0..)
        .zip(recording.frames())
        .take_while(|_| !interrupt.is_requested())
        .filter(|(index, frame)| frame.is_err() || index % arguments.every == 0 || *index == last)
        .map(|(index, frame)| {
            let promised = |frame| as_promised(&scene, index, frame);
            frame.map_err(Failure::from).and_then(promised).map_err(|error| error.about(&arguments.recording))
        })
        .map_while(|frame| frame.inspect(|_| written += 1).map_err(|error| damage = Some(error)).ok());
    let done = write(format, &scene, frames, file);
    if interrupt.is_requested() {
        console::tell("interrupted: nothing was exported");
        return Ok(Interrupt::exit());
    }
    // Frames before a damage are good; an export of none of them is not.
    match (done, damage) {
        (Err(_), Some(damage)) => return Err(damage),
        // A reader that has seen enough (`| head`) is no failure.
        (Err(ExportError::Io(error)), None) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(Exit::Done);
        }
        (Err(error), None) => return Err(Failure::from(error).about(&arguments.out)),
        (Ok(()), damage) => {
            output.keep()?;
            let out =
                if is_dash(&arguments.out) { "standard output".to_owned() } else { shown(&arguments.out) };
            console::tell(format_args!("{out}: {}", counted(written, "frame", "frames")));
            if let Some(damage) = damage {
                return Err(damage.adding(format_args!("{out} has them")));
            }
        }
    }
    if let Ending::CutOff { .. } = recording.ending() {
        let (name, ending) = (shown(&arguments.recording), recording.ending());
        console::tell(format_args!("note: {name} is {ending}; what comes before was exported"));
    }
    Ok(Exit::Done)
}

/// A frame that the scene of a recording promises. A forged file of kilobytes may hold frames without end.
fn as_promised(scene: &Scene, position: u64, frame: Frame) -> Result<Frame, Failure> {
    let (frames, bodies) = (scene.time_base().frame_count(), scene.bodies.len());
    let problem = if position >= frames {
        format!("frame {position} is beyond the {}", counted(frames, "frame", "frames"))
    } else if frame.bodies.len() > bodies {
        let more = counted(frame.bodies.len() as u64, "body", "bodies");
        format!("frame {position} has {more}, more than the {}", grouped(bodies as u64))
    } else {
        return Ok(frame);
    };
    let good = counted(position, "frame before it is good", "frames before it are good");
    Err(Failure::bad_input(format!("{problem} that the recording's header promises; {good}")))
}

fn write(
    format: Format,
    scene: &Scene,
    frames: impl Iterator<Item = Frame>,
    file: Box<dyn Write + Send>,
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
