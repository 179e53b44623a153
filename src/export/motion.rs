//! The motion of bodies for animations: one time line for all, single precision, no gaps.

use crate::base::aabb::Aabb;
use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::math::Vec3;
use crate::base::state::{BodyState, STATE_FIELDS};
use crate::export::ExportError;
use crate::export::models::{BodyModel, Models};
use crate::record::RecordError;

/// Bytes of one key of one body in the export: translation and rotation.
const KEY_BYTES: u64 = 28;

/// The motion of all bodies.
pub(super) struct Motion {
    /// Seconds from the first frame, strictly increasing.
    pub times: Vec<f32>,
    /// Motion of each body, in the order of the models.
    pub tracks: Vec<Track>,
    /// Bounds of the paths of all bodies.
    pub bounds: Option<Aabb>,
    start_s: f64,
}

/// The motion of one body, with one key for each time.
#[derive(Default)]
pub(super) struct Track {
    pub translations: Vec<[f32; 3]>,
    /// Unit quaternions (x, y, z, w); neighbours lie on the same half of the sphere, so that going straight
    /// from one to the next is the short way round.
    pub rotations: Vec<[f32; 4]>,
    /// Whether the body exists. Where it does not, the other numbers keep their last values.
    pub exists: Vec<bool>,
}

impl Motion {
    /// Collects every `every`th frame and the last; what is collected may take up to `bytes_max`.
    pub fn collect(
        models: &Models,
        frames: impl IntoIterator<Item = Result<Frame, RecordError>>,
        every: usize,
        bytes_max: u64,
    ) -> Result<Motion, ExportError> {
        let tracks = models.bodies.iter().map(|_| Track::default()).collect();
        let mut motion = Motion { times: Vec::new(), tracks, bounds: None, start_s: 0.0 };
        let mut skipped = None;
        for (position, frame) in frames.into_iter().enumerate() {
            let frame = frame?;
            if position.is_multiple_of(every.max(1)) {
                motion.add(&frame, &models.bodies)?;
                skipped = None;
            } else {
                skipped = Some(frame);
            }
            if motion.times.len() as u64 * models.bodies.len() as u64 * KEY_BYTES > bytes_max {
                return Err(ExportError::TooLarge { max: bytes_max });
            }
        }
        if let Some(last) = skipped {
            motion.add(&last, &models.bodies)?;
        }
        if motion.times.is_empty() {
            return Err(ExportError::NoFrames);
        }
        Ok(motion)
    }

    fn add(&mut self, frame: &Frame, models: &[BodyModel]) -> Result<(), ExportError> {
        let time = if self.times.is_empty() {
            self.start_s = frame.time_s;
            0.0
        } else {
            (frame.time_s - self.start_s) as f32
        };
        // Frames closer together than single precision can tell are one.
        if !time.is_finite() || self.times.last().is_some_and(|last| *last >= time) {
            return Ok(());
        }
        self.times.push(time);
        let mut found = 0;
        for (model, track) in models.iter().zip(&mut self.tracks) {
            let Some(state) = frame.state(model.id) else {
                track.hold();
                continue;
            };
            found += 1;
            track.push(state).map_err(|(field, value)| {
                let (frame, body) = (frame.index, model.id);
                ExportError::NotShowable { frame, body, field, value }
            })?;
            let bounds = Aabb::about(state.x, Vec3::repeat(model.shape.bounding_radius()));
            self.bounds = Some(self.bounds.map_or(bounds, |all| all.union(&bounds)));
        }
        if found < frame.bodies.len() {
            let is_unknown = |id: &BodyId| models.iter().all(|model| model.id != *id);
            if let Some(body) = frame.bodies.iter().map(|(id, _)| *id).find(is_unknown) {
                return Err(ExportError::UnknownBody { frame: frame.index, body });
            }
        }
        Ok(())
    }
}

impl Track {
    /// Adds a key, or returns name and value of the number that single precision cannot hold.
    fn push(&mut self, state: &BodyState) -> Result<(), (&'static str, f64)> {
        let numbers = state.to_array();
        if let Some(field) = numbers[..7].iter().position(|number| !(*number as f32).is_finite()) {
            return Err((STATE_FIELDS[field], numbers[field]));
        }
        let mut rotation = state.q.coords;
        let length = rotation.norm();
        if !length.is_normal() {
            return Err(("the length of q", length));
        }
        rotation /= length;
        let mut rotation = [rotation.x, rotation.y, rotation.z, rotation.w].map(|n| n as f32);
        if let Some(last) = self.rotations.last()
            && last.iter().zip(rotation).map(|(a, b)| a * b).sum::<f32>() < 0.0
        {
            rotation = rotation.map(|n| -n);
        }
        let translation = [numbers[0], numbers[1], numbers[2]].map(|n| n as f32);
        if self.exists.last() == Some(&false) && !self.exists.contains(&true) {
            // The body has not existed before: the earlier keys get the position at which it appears.
            self.translations.fill(translation);
            self.rotations.fill(rotation);
        }
        self.translations.push(translation);
        self.rotations.push(rotation);
        self.exists.push(true);
        Ok(())
    }

    /// Adds a key at which the body does not exist.
    fn hold(&mut self) {
        self.translations.push(self.translations.last().copied().unwrap_or_default());
        self.rotations.push(self.rotations.last().copied().unwrap_or([0.0, 0.0, 0.0, 1.0]));
        self.exists.push(false);
    }
}
