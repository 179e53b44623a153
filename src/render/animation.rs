//! Animated GIF files, written frame by frame.
//!
//! Only pixels that have changed since the last frame are written. The palette stays as long as it suits the pictures:
//! a new one shifts all colours a little, so that everything has to be written anew. Nothing but the last
//! picture is kept in memory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use gif::{DisposalMethod, Encoder, Frame, Repeat};

use crate::base::color::Rgb;
use crate::render::image::Image;
use crate::render::palette::Palette;
use crate::render::{RenderError, image};

/// Viewers slow down animations with more frames per second than this.
const FASTEST: f64 = 50.0;
/// A frame can stay for 655 seconds at most.
const SLOWEST: f64 = 0.01;
/// Number of colours of a frame; one more means that a pixel keeps its colour.
const COLORS: usize = 255;
/// Misfit of what has changed that a palette is always allowed: two and a half steps in each channel, squared.
const TOLERATED: f64 = 20.0;
/// A new palette has to lower the misfit by this factor. Not tuned.
const CHUNK_MIN: f64 = 2.0;

/// Which frames of a run an animation shows, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    frames_per_second: f64,
    step: u32,
}

impl Pace {
    /// Shows every `step`th of `frames_per_second` frames in real time. Without a step, as many as viewers
    /// can show: 50 a second.
    pub fn new(frames_per_second: f64, step: Option<u32>) -> Result<Self, RenderError> {
        if !(frames_per_second > 0.0 && frames_per_second <= 1e9) {
            return Err(RenderError::Pace(format!(
                "{frames_per_second} frames per second cannot be shown; use more than 0, for example 30"
            )));
        }
        let least = (frames_per_second / FASTEST).ceil().max(1.0) as u32;
        let step = step.unwrap_or(least);
        if step < least {
            return Err(RenderError::Pace(format!(
                "step {step} would show {:.4} frames per second and viewers slow down above {FASTEST}; \
                 use a step of {least} or more",
                frames_per_second / f64::from(step.max(1)),
            )));
        }
        if frames_per_second / f64::from(step) < SLOWEST {
            return Err(RenderError::Pace(format!(
                "step {step} would show a frame for more than {:.0} seconds; use a smaller step",
                1.0 / SLOWEST
            )));
        }
        Ok(Pace { frames_per_second, step })
    }

    /// Frames of the run from one picture to the next.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Whether the frame of the run with this number is shown.
    pub fn shows(&self, frame: u64) -> bool {
        frame.is_multiple_of(u64::from(self.step))
    }

    /// How long the `shown`th frame of the animation stays, in hundredths of a second. Rounded so that the
    /// sum stays true.
    fn delay(&self, shown: u64) -> u16 {
        let start = |shown: u64| {
            (100.0 * shown as f64 * f64::from(self.step) / self.frames_per_second).round() as u64
        };
        (start(shown + 1) - start(shown)).clamp(1, u64::from(u16::MAX)) as u16
    }
}

/// Writes an animated GIF file that repeats for ever.
pub struct GifWriter {
    encoder: Encoder<BufWriter<Box<dyn Write + Send>>>,
    path: PathBuf,
    pace: Pace,
    width: u32,
    height: u32,
    /// The last picture, the palette it was written with, and the misfit that is tolerated of it.
    last: Option<(Image, Palette, f64)>,
    shown: u64,
}

/// A rectangle of pixels.
struct Area {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl GifWriter {
    /// Creates the file for pictures of one size.
    pub fn create(path: &Path, width: u32, height: u32, pace: Pace) -> Result<Self, RenderError> {
        image::check_size(width, height)?;
        let file = File::create(path).map_err(|error| RenderError::file(path, error))?;
        Self::to_sink(Box::new(file), path, width, height, pace)
    }

    /// Writes anywhere; errors call it by `path`.
    pub fn to_sink(
        sink: Box<dyn Write + Send>,
        path: &Path,
        width: u32,
        height: u32,
        pace: Pace,
    ) -> Result<Self, RenderError> {
        image::check_size(width, height)?;
        let mut encoder = Encoder::new(BufWriter::new(sink), width as u16, height as u16, &[])
            .map_err(|error| RenderError::file(path, error))?;
        encoder.set_repeat(Repeat::Infinite).map_err(|error| RenderError::file(path, error))?;
        Ok(GifWriter { encoder, path: path.to_owned(), pace, width, height, last: None, shown: 0 })
    }

    /// Appends a picture; [`Pace::shows`] decides which frames to take pictures of.
    pub fn push(&mut self, image: Image) -> Result<(), RenderError> {
        if (image.width(), image.height()) != (self.width, self.height) {
            let (width, height) = (image.width(), image.height());
            return Err(RenderError::file(
                &self.path,
                format!("a picture of {width}x{height} in an animation of {}x{}", self.width, self.height),
            ));
        }
        let (last, mut palette, tolerated) = match self.last.take() {
            Some((last, palette, tolerated)) => refreshed(last, palette, tolerated, &image),
            None => (None, Palette::new(colors(&image), COLORS), TOLERATED),
        };
        let frame = self.frame(last.as_ref(), &image, &mut palette);
        self.encoder.write_frame(&frame).map_err(|error| RenderError::file(&self.path, error))?;
        self.last = Some((image, palette, tolerated));
        self.shown += 1;
        Ok(())
    }

    /// Number of pictures so far.
    pub fn len(&self) -> u64 {
        self.shown
    }

    /// Whether there is no picture yet.
    pub fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Completes the file. Without this, it may lack its end.
    pub fn finish(self) -> Result<(), RenderError> {
        let GifWriter { encoder, path, .. } = self;
        let mut file = encoder.into_inner().map_err(|error| RenderError::file(&path, error))?;
        file.flush().map_err(|error| RenderError::file(&path, error))
    }

    /// The pixels that have changed since `last`, or all pixels.
    fn frame(&self, last: Option<&Image>, image: &Image, palette: &mut Palette) -> Frame<'static> {
        let area = last.map_or(Area { left: 0, top: 0, width: self.width, height: self.height }, |last| {
            changed_area(last, image)
        });
        let mut bytes = palette.bytes();
        let unchanged = (bytes.len() / 3) as u8;
        bytes.extend([0; 3]);
        let mut indices = Vec::with_capacity(area.width as usize * area.height as usize);
        for row in area.top..area.top + area.height {
            for column in area.left..area.left + area.width {
                let color = image.pixel(column, row);
                let is_new = last.is_none_or(|last| last.pixel(column, row) != color);
                indices.push(match color {
                    Some(color) if is_new => palette.index(color, column, row),
                    _ => unchanged,
                });
            }
        }
        Frame {
            delay: self.pace.delay(self.shown),
            dispose: DisposalMethod::Keep,
            transparent: Some(unchanged),
            left: area.left as u16,
            top: area.top as u16,
            width: area.width as u16,
            height: area.height as u16,
            buffer: indices.into(),
            palette: Some(bytes),
            ..Frame::default()
        }
    }
}

fn colors(image: &Image) -> impl Iterator<Item = Rgb> {
    image.bytes().chunks_exact(3).map(|c| [c[0], c[1], c[2]])
}

/// The palette for the next picture and the misfit to tolerate of it, and what of the last picture can stay:
/// all of it with the old palette, nothing with a new one.
fn refreshed(last: Image, mut old: Palette, tolerated: f64, image: &Image) -> (Option<Image>, Palette, f64) {
    let changed = || colors(&last).zip(colors(image)).filter(|(old, new)| old != new).map(|(_, new)| new);
    let misfit = old.misfit(changed());
    if misfit <= tolerated {
        return (Some(last), old, tolerated);
    }
    let mut new = Palette::new(colors(image), COLORS);
    if new.misfit(changed()) * CHUNK_MIN <= misfit {
        return (None, new, TOLERATED);
    }
    // No better palette was found: do not try again before the misfit grows.
    (Some(last), old, misfit * CHUNK_MIN)
}

/// The smallest rectangle around all pixels that differ between two pictures; one pixel if none does.
fn changed_area(last: &Image, image: &Image) -> Area {
    let line = image.width() as usize * 3;
    let (mut left, mut right, mut top, mut bottom) = (image.width(), 0, image.height(), 0);
    for (row, (new, old)) in (0..).zip(image.bytes().chunks(line).zip(last.bytes().chunks(line))) {
        let differs = |at: &usize| new[*at] != old[*at];
        let Some(first) = (0..line).find(differs) else { continue };
        let end = (0..line).rev().find(differs).unwrap_or(first);
        left = left.min(first as u32 / 3);
        right = right.max(end as u32 / 3 + 1);
        top = top.min(row);
        bottom = row + 1;
    }
    if right == 0 {
        return Area { left: 0, top: 0, width: 1, height: 1 };
    }
    Area { left, top, width: right - left, height: bottom - top }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_shows_what_viewers_can_show() {
        assert_eq!(Pace::new(240.0, None).unwrap().step(), 5);
        assert_eq!(Pace::new(50.0, None).unwrap().step(), 1);
        let pace = Pace::new(60.0, Some(3)).unwrap();
        assert_eq!((0..7).filter(|frame| pace.shows(*frame)).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(pace.delay(0), 5);
    }

    #[test]
    fn delays_add_up_to_the_true_time() {
        let pace = Pace::new(30.0, None).unwrap();
        assert_eq!((0..300).map(|shown| u64::from(pace.delay(shown))).sum::<u64>(), 1000);
        assert!((0..300).all(|shown| (3..=4).contains(&pace.delay(shown))));
    }

    #[test]
    fn paces_that_cannot_be_shown_are_refused_with_the_fix() {
        for (frames_per_second, step, fix) in [
            (0.0, None, "more than 0"),
            (f64::NAN, None, "more than 0"),
            (120.0, Some(2), "step of 3"),
            (120.0, Some(0), "step of 3"),
            (1.0, Some(1000), "smaller step"),
        ] {
            let message = Pace::new(frames_per_second, step).unwrap_err().to_string();
            assert!(message.contains(fix), "{message}");
        }
    }
}
