//! One direction at one contact point: how fast two bodies approach along it, and how an impulse changes that.

use crate::math::{Mat3, Vec3};
use crate::physics::shape::Shape;
use crate::physics::world::BodyDef;
use crate::state::BodyState;

/// Velocity and angular velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twist {
    /// m/s.
    pub v: Vec3,
    /// rad/s, in the world.
    pub w: Vec3,
}

impl Twist {
    /// At rest.
    pub const ZERO: Twist = Twist { v: Vec3::new(0.0, 0.0, 0.0), w: Vec3::new(0.0, 0.0, 0.0) };

    /// The velocities of a state.
    pub fn of(state: &BodyState) -> Self {
        Twist { v: state.v, w: state.w }
    }

    /// Velocity of the point at `r` from the centre of mass.
    #[inline]
    pub fn at(&self, r: Vec3) -> Vec3 {
        self.v + self.w.cross(&r)
    }
}

/// How one side of a touch resists impulses at this tick.
#[derive(Clone, Copy, Debug)]
pub struct Inertial {
    /// Centre of mass.
    pub x: Vec3,
    /// 1/kg; zero for static geometry.
    pub inv_mass: f64,
    /// Inverse inertia tensor in the world; zero for static geometry.
    pub inv_inertia: Mat3,
    /// A ball: impulses along contact normals cannot turn it, not even by rounding.
    pub is_ball: bool,
}

impl Inertial {
    /// A body at a state.
    pub fn of(body: &BodyDef, state: &BodyState) -> Self {
        Inertial {
            x: state.x,
            inv_mass: body.inv_mass,
            inv_inertia: body.inertia.world_inverse(&state.q),
            is_ball: matches!(body.shape, Shape::Sphere { .. }),
        }
    }

    /// Something that never moves, at `x`.
    pub fn fixed(x: Vec3) -> Self {
        Inertial { x, inv_mass: 0.0, inv_inertia: Mat3::zeros(), is_ball: true }
    }
}

/// A unit direction at a contact point, with the arms it works on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub dir: Vec3,
    arm_a: Vec3,
    arm_b: Vec3,
    spin_a: Vec3,
    spin_b: Vec3,
    /// Inverse of the mass each side shows along this direction.
    pub k_a: f64,
    pub k_b: f64,
}

impl Row {
    /// Along the contact normal.
    pub fn normal(dir: Vec3, ra: Vec3, rb: Vec3, a: &Inertial, b: &Inertial) -> Self {
        let arm = |side: &Inertial, r: Vec3| if side.is_ball { Vec3::zeros() } else { r.cross(&dir) };
        Self::with_arms(dir, arm(a, ra), arm(b, rb), a, b)
    }

    /// Along the surface.
    pub fn tangent(dir: Vec3, ra: Vec3, rb: Vec3, a: &Inertial, b: &Inertial) -> Self {
        Self::with_arms(dir, ra.cross(&dir), rb.cross(&dir), a, b)
    }

    fn with_arms(dir: Vec3, arm_a: Vec3, arm_b: Vec3, a: &Inertial, b: &Inertial) -> Self {
        let (spin_a, spin_b) = (a.inv_inertia * arm_a, b.inv_inertia * arm_b);
        let (k_a, k_b) = (a.inv_mass + arm_a.dot(&spin_a), b.inv_mass + arm_b.dot(&spin_b));
        Row { dir, arm_a, arm_b, spin_a, spin_b, k_a, k_b }
    }

    /// Speed at which the first body leaves the second along this direction.
    #[inline]
    pub fn speed(&self, a: &Twist, b: &Twist) -> f64 {
        self.dir.dot(&(a.v - b.v)) + self.arm_a.dot(&a.w) - self.arm_b.dot(&b.w)
    }

    /// Pushes the bodies apart by `impulse`. `weight_a` and `weight_b` multiply the inverse masses: one for
    /// whole bodies, the number of touches for a body split among them.
    #[inline]
    pub fn push(&self, impulse: f64, a: (&mut Twist, f64, f64), b: (&mut Twist, f64, f64)) {
        let (twist, inv_mass, weight) = a;
        twist.v += self.dir * (impulse * inv_mass * weight);
        twist.w += self.spin_a * (impulse * weight);
        let (twist, inv_mass, weight) = b;
        twist.v -= self.dir * (impulse * inv_mass * weight);
        twist.w -= self.spin_b * (impulse * weight);
    }

    /// Turning moment of a unit impulse about each centre of mass.
    #[inline]
    pub fn arms(&self) -> (Vec3, Vec3) {
        (self.arm_a, self.arm_b)
    }
}
