//! Vectors and rotations with fixed bits: nalgebra types, transcendental functions from `libm` only.
//!
//! Conversions to parry's math types live here too, and go one way: nalgebra to parry is exact, the way back
//! would renormalise quaternions and change bits.

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};
use parry3d::math::{Pose, Rotation, Vector};

/// A vector in three dimensions.
pub type Vec3 = Vector3<f64>;
/// An orientation.
pub type Quat = UnitQuaternion<f64>;
/// A three by three matrix.
pub type Mat3 = Matrix3<f64>;

/// A quaternion from its components, without normalisation.
#[inline]
pub fn quat_raw(x: f64, y: f64, z: f64, w: f64) -> Quat {
    UnitQuaternion::new_unchecked(Quaternion::new(w, x, y, z))
}

/// The rotation by the vector `angle` (axis times radians). Exactly the identity for the zero vector.
#[inline]
pub fn rotation_exp(angle: Vec3) -> Quat {
    let theta2 = angle.norm_squared();
    if theta2 == 0.0 {
        return UnitQuaternion::identity();
    }
    let theta = theta2.sqrt();
    let (sin, cos) = libm::sincos(theta * 0.5);
    let s = sin / theta;
    quat_raw(angle.x * s, angle.y * s, angle.z * s, cos)
}

/// `q` scaled to unit length; a quaternion that is already exact stays exact.
#[inline]
pub fn renormalised(q: Quat) -> Quat {
    let c = q.coords;
    let n2 = c.norm_squared();
    if n2 == 1.0 {
        return q;
    }
    UnitQuaternion::new_unchecked(Quaternion::from(c / n2.sqrt()))
}

/// Rotation matrix of a quaternion; columns are the body's axes in the world.
#[inline]
pub fn rotation_matrix(q: &Quat) -> Mat3 {
    let (x, y, z, w) = (q.i, q.j, q.k, q.w);
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (xy, xz, yz) = (x * y, x * z, y * z);
    let (wx, wy, wz) = (w * x, w * y, w * z);
    Matrix3::new(
        1.0 - 2.0 * (yy + zz),
        2.0 * (xy - wz),
        2.0 * (xz + wy),
        2.0 * (xy + wz),
        1.0 - 2.0 * (xx + zz),
        2.0 * (yz - wx),
        2.0 * (xz - wy),
        2.0 * (yz + wx),
        1.0 - 2.0 * (xx + yy),
    )
}

/// Some unit vector at right angles to the unit vector `n`; a continuous choice except at one pole.
#[inline]
pub fn any_perpendicular(n: Vec3) -> Vec3 {
    let other = if n.x.abs() < 0.7 { Vec3::x() } else { Vec3::y() };
    let t = n.cross(&other);
    t / t.norm()
}

/// To parry's vector type, bit for bit.
#[inline]
pub fn to_parry(v: Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

/// From parry's vector type, bit for bit.
#[inline]
pub fn from_parry(v: Vector) -> Vec3 {
    Vec3::new(v.x, v.y, v.z)
}

/// To parry's pose type, bit for bit.
#[inline]
pub fn to_parry_pose(x: Vec3, q: &Quat) -> Pose {
    Pose { rotation: Rotation::from_xyzw(q.i, q.j, q.k, q.w), translation: to_parry(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_of_zero_is_exactly_one() {
        assert_eq!(rotation_exp(Vec3::zeros()), Quat::identity());
    }

    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y() {
        let q = rotation_exp(Vec3::z() * std::f64::consts::FRAC_PI_2);
        assert!((q * Vec3::x() - Vec3::y()).norm() < 1e-15);
        assert!((rotation_matrix(&q) * Vec3::x() - Vec3::y()).norm() < 1e-15);
    }
}
