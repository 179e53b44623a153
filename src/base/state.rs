//! The state of a body at one tick: pose and velocities, and their one canonical byte order.

use serde::{Deserialize, Serialize};

use crate::base::math::{Quat, Vec3, quat_raw};

/// Where a body is and how it moves at one tick. SI units, +Y up; position and velocity are those of the
/// centre of mass. In messages it is its thirteen numbers in canonical order, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 13]", into = "[f64; 13]")]
pub struct BodyState {
    /// Position of the centre of mass, metres.
    pub x: Vec3,
    /// Orientation.
    pub q: Quat,
    /// Velocity, metres per second.
    pub v: Vec3,
    /// Angular velocity in world coordinates, radians per second.
    pub w: Vec3,
}

/// Names of the numbers of [`BodyState::to_array`], in its order.
pub const STATE_FIELDS: [&str; 13] =
    ["x.x", "x.y", "x.z", "q.x", "q.y", "q.z", "q.w", "v.x", "v.y", "v.z", "w.x", "w.y", "w.z"];

impl BodyState {
    /// At rest at `x`, not rotated.
    pub fn at_rest(x: Vec3) -> Self {
        BodyState { x, q: Quat::identity(), v: Vec3::zeros(), w: Vec3::zeros() }
    }

    /// All numbers in canonical order: the order of digests, recordings and messages.
    #[inline]
    pub fn to_array(&self) -> [f64; 13] {
        let (x, q, v, w) = (self.x, self.q, self.v, self.w);
        [x.x, x.y, x.z, q.i, q.j, q.k, q.w, v.x, v.y, v.z, w.x, w.y, w.z]
    }

    /// The inverse of [`BodyState::to_array`], bit for bit.
    #[inline]
    pub fn from_array(a: [f64; 13]) -> Self {
        BodyState {
            x: Vec3::new(a[0], a[1], a[2]),
            q: quat_raw(a[3], a[4], a[5], a[6]),
            v: Vec3::new(a[7], a[8], a[9]),
            w: Vec3::new(a[10], a[11], a[12]),
        }
    }

    /// Velocity of the point of the body that is at `x + r` in the world.
    #[inline]
    pub fn velocity_at(&self, r: Vec3) -> Vec3 {
        self.v + self.w.cross(&r)
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        // Zero times a number that is not finite is not zero. Without branches: this runs for every body of every frame.
        self.to_array().iter().map(|n| n * 0.0).sum::<f64>() == 0.0
    }
}

impl From<[f64; 13]> for BodyState {
    fn from(numbers: [f64; 13]) -> Self {
        BodyState::from_array(numbers)
    }
}

impl From<BodyState> for [f64; 13] {
    fn from(state: BodyState) -> Self {
        state.to_array()
    }
}
