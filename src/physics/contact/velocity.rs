//! How a body moves and how it resists being moved, as both solvers see it.

use serde::{Deserialize, Serialize};

use crate::base::math::{Mat3, Vec3};
use crate::base::state::BodyState;
use crate::physics::world::BodyDef;

/// Linear and angular velocity of a body. Also a displacement and a turn, where overlaps are undone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Velocity {
    /// Velocity of the centre of mass, m/s.
    pub v: Vec3,
    /// Angular velocity in world coordinates, rad/s.
    pub w: Vec3,
}

impl Velocity {
    /// No motion.
    pub const ZERO: Velocity = Velocity { v: Vec3::new(0.0, 0.0, 0.0), w: Vec3::new(0.0, 0.0, 0.0) };

    /// The velocities of a state.
    pub fn of(state: &BodyState) -> Self {
        Velocity { v: state.v, w: state.w }
    }

    /// The raw bits of all six numbers.
    pub fn to_bits(&self) -> [u64; 6] {
        let (v, w) = (self.v, self.w);
        [v.x, v.y, v.z, w.x, w.y, w.z].map(f64::to_bits)
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.v.iter().chain(self.w.iter()).all(|n| n.is_finite())
    }
}

/// How one side of a constraint resists impulses at one tick.
#[derive(Clone, Copy, Debug)]
pub struct SolverMass {
    /// Centre of mass, metres.
    pub x: Vec3,
    /// Inverse mass, 1/kg; zero for static geometry.
    pub inv_mass: f64,
    /// Inverse inertia tensor in world coordinates, 1/(kg m²); zero for static geometry.
    pub inv_inertia: Mat3,
    /// Whether impulses along contact normals cannot turn it, not even by rounding. Read by the local solver alone.
    pub is_ball: bool,
}

impl SolverMass {
    /// The mass and inertia of a body in a state.
    pub fn of(body: &BodyDef, state: &BodyState) -> Self {
        SolverMass {
            x: state.x,
            inv_mass: body.inv_mass,
            inv_inertia: body.inertia.world_inverse(&state.q),
            is_ball: body.is_ball(),
        }
    }

    /// Static geometry at `x`: no impulse moves it.
    pub fn fixed(x: Vec3) -> Self {
        SolverMass { x, inv_mass: 0.0, inv_inertia: Mat3::zeros(), is_ball: true }
    }
}

/// Normal speed at which two surfaces with a positive gap touch exactly at the end of the tick; negative, m/s.
#[inline]
pub(in crate::physics) fn closing_speed(gap: f64, tick_s: f64) -> f64 {
    -gap / tick_s
}
