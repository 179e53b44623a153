//! What a pair remembers while it touches tick after tick. Kept by both bodies, saved and rolled back with them.

use crate::math::Vec3;
use crate::physics::contact::POINTS_MAX;

/// The impulse that held one point last tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointMemory {
    /// Which point.
    pub feature: u64,
    /// Along the normal, N s.
    pub normal: f64,
    /// Along the surface, N s, in the world.
    pub tangent: Vec3,
}

/// Cached impulses and bounces of a pair that touched at the tick before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairMemory {
    /// Bounces since the pair began to touch; each makes the next one duller.
    pub bounces: u32,
    points: [PointMemory; POINTS_MAX],
    len: u8,
}

impl PairMemory {
    /// A pair that did not touch at the tick before.
    pub const NEW: PairMemory = PairMemory {
        bounces: 0,
        points: [PointMemory { feature: 0, normal: 0.0, tangent: Vec3::new(0.0, 0.0, 0.0) }; POINTS_MAX],
        len: 0,
    };

    pub(super) fn with_bounces(bounces: u32) -> Self {
        PairMemory { bounces, ..Self::NEW }
    }

    pub(super) fn push(&mut self, point: PointMemory) {
        self.points[usize::from(self.len)] = point;
        self.len += 1;
    }

    /// The remembered points.
    pub fn points(&self) -> &[PointMemory] {
        &self.points[..usize::from(self.len)]
    }

    pub(super) fn find(&self, feature: u64) -> Option<&PointMemory> {
        self.points().iter().find(|point| point.feature == feature)
    }
}
