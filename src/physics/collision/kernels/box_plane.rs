//! A box against a plane: the corners within reach of it.

use crate::base::math::{Vec3, rotation_matrix};
use crate::physics::collision::kernels::reduce::PointList;
use crate::physics::collision::kernels::{ContactPoint, Manifold, Placed};

/// Corners of the box within reach of the plane through `foot` with unit normal `normal`.
pub(super) fn contact(placed: &Placed, half: &Vec3, foot: Vec3, normal: Vec3, reach: f64) -> Manifold {
    let axes = rotation_matrix(&placed.q);
    let height = normal.dot(&(placed.x - foot));
    let slopes = axes.transpose() * normal;
    if height - slopes.abs().dot(half) >= reach {
        return Manifold::empty();
    }
    let mut points = PointList::new();
    for corner in 0..8u64 {
        let sign = |bit: u64| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
        let local = Vec3::new(sign(0) * half.x, sign(1) * half.y, sign(2) * half.z);
        let gap = height + slopes.dot(&local);
        if gap < reach {
            let point = placed.x + axes * local - normal * (0.5 * gap);
            points.push(ContactPoint { feature: corner, point, normal, gap });
        }
    }
    points.reduce()
}
