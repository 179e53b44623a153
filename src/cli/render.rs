//! `anachron render`: pictures of a recording, or of a scene that is run for them.

use std::path::PathBuf;

use clap::Args;

use crate::base::frame::Frame;
use crate::cli::console;
use crate::cli::count;
use crate::cli::failure::{Exit, Failure};
use crate::cli::frame_source::{FrameSource, Selection};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::{Output, format_of};
use crate::cli::progress::Progress;
use crate::cli::resources::start_helpers;
use crate::cli::source::Changes;
use crate::render::{Camera, ColorBy, GifWriter, Pace, RenderError, RenderOptions, Renderer};
use crate::scene::suggest::shown;

/// Width and height of a picture, pixels.
const PICTURE_SIZE: (u32, u32) = (960, 540);
/// Width and height of an animation, pixels; it has hundreds of pictures.
const ANIMATION_SIZE: (u32, u32) = (480, 270);

const EXAMPLES: &str = "\
Examples:
  anachron render bowl.anr --out bowl.png                  the last frame
  anachron render cylinders --frame 90 --out balls.png     runs the scenario that far
  anachron render gas --seconds 2 --color speed --out gas.gif
  anachron render bowl.anr --size 1920x1080 --camera 'eye=0,30,60;target=0,5,0' --out bowl.png";

/// Make a picture or an animation of a recording, a scenario or a scene file
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A recording; or a scenario or scene file, which is run
    #[arg(value_name = "RECORDING|SCENARIO|FILE")]
    source: PathBuf,
    /// The file to write; its name decides between a picture and an animation
    #[arg(long, value_name = "FILE.png|FILE.gif")]
    out: PathBuf,
    /// The frame to show, from 0; the last if not given. An animation starts there, or with the first
    #[arg(long, value_name = "N", value_parser = count::any::<u64>)]
    frame: Option<u64>,
    /// From where to look: `auto`, or any of `eye=x,y,z;target=x,y,z;fov=degrees`
    #[arg(long, value_name = "CAMERA", default_value = "auto")]
    camera: Camera,
    /// Width and height in pixels; 960x540 if not given, 480x270 for animations
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<(u32, u32)>,
    /// What colours show: `body` (which one it is) or `speed`
    #[arg(long, value_name = "WHAT", default_value = "body")]
    color: ColorBy,
    /// Show every Nth frame; as many as viewers can show if not given. Animations only
    #[arg(long, value_name = "N", value_parser = count::count::<u32>(1..=u64::MAX))]
    every: Option<u32>,
    /// Pictures per second; real time if not given. Animations only
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    fps: Option<f64>,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Clone, Copy)]
enum Format {
    Png,
    Gif,
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once(['x', 'X']);
    let numbers = sides.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    numbers.ok_or_else(|| "write width and height in pixels, as in `960x540`".to_owned())
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let format = format_of(&arguments.out, &[("png", Format::Png), ("gif", Format::Gif)])?;
    if let (Format::Png, Some(option)) = (format, arguments.only_animated()) {
        return Err(Failure::bad_input(format_args!(
            "{option}: a picture does not move; leave {option} out, or let --out end in `.gif`"
        )));
    }
    let mut source = FrameSource::open(&arguments.source, &arguments.changes)?;
    let interrupt = Interrupt::watch();
    start_helpers()?;
    let done = match format {
        Format::Png => picture(arguments, &mut source, &interrupt)?,
        Format::Gif => animation(arguments, &mut source, &interrupt)?,
    };
    match done {
        Some(what) => {
            console::tell(format_args!("{}: {what}", shown(&arguments.out)));
            Ok(Exit::Done)
        }
        None => {
            console::tell("interrupted: nothing was written");
            Ok(Interrupt::exit())
        }
    }
}

impl Arguments {
    fn output(&self) -> Result<Output, Failure> {
        Output::begin("--out", &self.out, &[("to read", &self.source)])
    }

    fn only_animated(&self) -> Option<&'static str> {
        if self.every.is_some() { Some("--every") } else { self.fps.map(|_| "--fps") }
    }

    fn renderer(&self, source: &FrameSource, (width, height): (u32, u32)) -> Result<Renderer, Failure> {
        let options = RenderOptions { width, height, camera: self.camera, colors: self.color };
        Ok(Renderer::new(source.scene(), &*source.world()?, options)?)
    }

    /// Which frames are shown, and how fast.
    fn pace(&self, frames_per_second: f64) -> Result<Pace, Failure> {
        let in_real_time = Pace::new(frames_per_second, self.every);
        let Some(fps) = self.fps else {
            let too_fast =
                |error| Failure::bad_input(format_args!("--every: {error}, or slow it down with --fps"));
            return in_real_time.map_err(too_fast);
        };
        let step = match self.every {
            Some(every) => every,
            None => in_real_time?.step(),
        };
        Pace::new(fps * f64::from(step), Some(step))
            .map_err(|error| Failure::bad_input(format_args!("--fps: {error}")))
    }
}

/// Makes a picture and says what it shows; nothing if the user interrupts.
fn picture(
    arguments: &Arguments,
    source: &mut FrameSource,
    interrupt: &Interrupt,
) -> Result<Option<String>, Failure> {
    let size = arguments.size.unwrap_or(PICTURE_SIZE);
    let renderer = arguments.renderer(source, size)?;
    let wanted = arguments.frame.unwrap_or(source.len().saturating_sub(1));
    let output = arguments.output()?;
    let selection = Selection { first: wanted, last: wanted, step: 1 };
    let Some(frames) = source.take(selection, interrupt)? else { return Ok(None) };
    let Some(frame) = frames.first() else { return Ok(None) };
    renderer.render(frame).write_png_to(output.writer()?, &arguments.out)?;
    output.keep()?;
    Ok(Some(format!("frame {wanted} ({:.3} s), {}x{}", frame.time_s, size.0, size.1)))
}

/// Makes an animation and says what it shows; nothing if the user interrupts.
fn animation(
    arguments: &Arguments,
    source: &mut FrameSource,
    interrupt: &Interrupt,
) -> Result<Option<String>, Failure> {
    let size = arguments.size.unwrap_or(ANIMATION_SIZE);
    let mut renderer = arguments.renderer(source, size)?;
    let scene = source.scene();
    let pace = arguments.pace(scene.ticks_per_second / f64::from(scene.ticks_per_frame))?;
    let first = arguments.frame.unwrap_or(0);
    let last = source.len().saturating_sub(1);
    let output = arguments.output()?;
    let gif = GifWriter::to_sink(output.writer()?, &arguments.out, size.0, size.1, pace)?;
    let selection = Selection { first, last, step: u64::from(pace.step()) };
    let Some(frames) = source.take(selection, interrupt)? else { return Ok(None) };
    renderer.fit_camera(&frames);
    if !draw_all(&renderer, &frames, gif, interrupt)? {
        return Ok(None);
    }
    output.keep()?;
    Ok(Some(format!("{} pictures, {}x{}", frames.len(), size.0, size.1)))
}

/// Draws frames until all are drawn or the user interrupts; whether all are.
fn draw_all(
    renderer: &Renderer,
    frames: &[Frame],
    mut gif: GifWriter,
    interrupt: &Interrupt,
) -> Result<bool, Failure> {
    let mut progress = Progress::start(false);
    for (index, frame) in frames.iter().enumerate() {
        if interrupt.is_requested() {
            return Ok(false);
        }
        gif.push(renderer.render(frame))?;
        let share = (index + 1) as f64 / frames.len() as f64;
        progress.show(share, |_| format!("drawing, {} of {}", index + 1, frames.len()));
    }
    progress.finish();
    gif.finish()?;
    Ok(true)
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            error @ RenderError::File { .. } => Failure::failed(error),
            error => Failure::bad_input(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_written() {
        assert_eq!(parse_size("960x540"), Ok((960, 540)));
        assert_eq!(parse_size("1X2"), Ok((1, 2)));
        for wrong in ["", "960", "960x", "x540", "-1x5", "1x2x3", "99999999999x1", "9.5x1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
