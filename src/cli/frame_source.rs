//! Frames to make pictures of: from a recording, or from a run that is made for them.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::state::BodyState;
use crate::cli::failure::Failure;
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Progress;
use crate::cli::source::{self, Changes, Source};
use crate::executor::Simulation;
use crate::physics::World;
use crate::record::Recording;
use crate::scene::Scene;

/// The most memory that the frames of an animation may take.
const BYTES_MAX: u64 = 2 << 30;

/// Where frames come from.
pub(super) enum FrameSource {
    Recorded(Box<Recording>),
    Live { scene: Box<Scene>, simulation: Box<Simulation> },
}

/// Every `step`th frame from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub first: u64,
    pub last: u64,
    pub step: u64,
}

impl Selection {
    fn has(&self, frame: u64) -> bool {
        (self.first..=self.last).contains(&frame) && (frame - self.first).is_multiple_of(self.step)
    }

    pub(super) fn frames(self) -> impl Iterator<Item = u64> {
        let next = move |frame: &u64| frame.checked_add(self.step).filter(|next| *next <= self.last);
        std::iter::successors((self.first <= self.last).then_some(self.first), next)
    }

    fn len(&self) -> u64 {
        if self.first <= self.last { (self.last - self.first) / self.step + 1 } else { 0 }
    }
}

impl FrameSource {
    /// A scenario or scene file is run, any other file is a recording.
    pub(super) fn open(name: &Path, changes: &Changes) -> Result<Self, Failure> {
        match Source::of(name) {
            Source::OtherFile(path) if path.exists() => {
                if let Some(option) = changes.first_given() {
                    return Err(Failure::bad_input(format_args!(
                        "{option}: a recording cannot be changed; leave {option} out, or name a scenario"
                    )));
                }
                Ok(FrameSource::Recorded(Box::new(Recording::open(path)?)))
            }
            Source::OtherFile(path) => Err(source::unknown(&path)),
            source => {
                let scene = Box::new(source.scene(changes)?);
                let simulation = Box::new(Simulation::new(&scene)?);
                Ok(FrameSource::Live { scene, simulation })
            }
        }
    }

    pub(super) fn scene(&self) -> &Scene {
        match self {
            FrameSource::Recorded(recording) => recording.scene(),
            FrameSource::Live { scene, .. } => scene,
        }
    }

    /// The scene made ready.
    pub(super) fn world(&self) -> Result<Arc<World>, Failure> {
        match self {
            FrameSource::Recorded(recording) => Ok(Arc::new(World::new(recording.scene())?)),
            FrameSource::Live { simulation, .. } => Ok(Arc::clone(simulation.world())),
        }
    }

    /// How many frames there are, or will be.
    pub(super) fn len(&self) -> u64 {
        match self {
            FrameSource::Recorded(recording) => recording.len(),
            FrameSource::Live { simulation, .. } => simulation.world().time.frame_count(),
        }
    }

    /// The selected frames, in order; nothing if the user interrupts.
    pub(super) fn take(
        &mut self,
        selection: Selection,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Frame>>, Failure> {
        self.check(selection)?;
        let mut frames = Vec::new();
        match self {
            FrameSource::Recorded(recording) => {
                for number in selection.frames().take_while(|_| !interrupt.is_requested()) {
                    frames.push(recording.frame(number)?);
                }
            }
            FrameSource::Live { simulation, .. } => shoot(simulation, selection, interrupt, &mut frames)?,
        }
        Ok((!interrupt.is_requested()).then_some(frames))
    }

    /// Refuses frames that do not exist, and more than memory may hold.
    fn check(&self, selection: Selection) -> Result<(), Failure> {
        let Selection { first, last, .. } = selection;
        let there_are = match self.len() {
            0 => "no frames".to_owned(),
            len => format!("frames 0 to {}", len - 1),
        };
        if first > last || last >= self.len() {
            return Err(Failure::bad_input(format_args!(
                "--frame: there is no frame {}; there are {there_are}",
                first.max(last)
            )));
        }
        let frame_bytes = self.scene().bodies.len() as u64 * size_of::<(BodyId, BodyState)>() as u64;
        let (bytes, bytes_max) = (selection.len().saturating_mul(frame_bytes), BYTES_MAX.max(frame_bytes));
        if bytes > bytes_max {
            let (mib, mib_max) = (bytes >> 20, bytes_max >> 20);
            return Err(Failure::bad_input(format_args!(
                "--every: the frames would take {mib} MiB of memory, and {mib_max} MiB are allowed; use a larger --every"
            )));
        }
        Ok(())
    }
}

/// Runs a simulation as far as the selection reaches.
fn shoot(
    simulation: &Simulation,
    selection: Selection,
    interrupt: &Interrupt,
    frames: &mut Vec<Frame>,
) -> Result<(), Failure> {
    let mut progress = Progress::start(false);
    let total = (selection.last + 1) as f64;
    let simulation = simulation.clone().stop_on(interrupt.stop());
    simulation.run(|frame| {
        if selection.has(frame.index) {
            frames.push(frame.clone());
        }
        progress.show((frame.index + 1) as f64 / total, |_| format!("running, {:.3} s", frame.time_s));
        if frame.index >= selection.last || interrupt.is_requested() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    progress.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_counts_what_it_has() {
        for (first, last, step) in [(0, 0, 1), (3, 20, 1), (3, 20, 4), (5, 5, 9), (7, 6, 1), (0, 9, u64::MAX)]
        {
            let selection = Selection { first, last, step };
            let frames: Vec<u64> = selection.frames().collect();
            assert_eq!(frames, (0..100).filter(|frame| selection.has(*frame)).collect::<Vec<_>>());
            assert_eq!(frames.len() as u64, selection.len());
        }
    }
}
