//! Mass and moments of inertia.

use crate::base::math::{Mat3, Quat, Vec3, rotation_matrix};
use crate::physics::shape::Shape;

/// Moments of inertia about the centre of mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inertia {
    /// The same about every axis (balls, cubes): the body turns steadily in free flight.
    Isotropic {
        /// Moment about any axis through the centre of mass, kg m².
        moment: f64,
    },
    /// Different about different axes: the body tumbles.
    Principal {
        /// Moments about the principal axes, kg m².
        moments: Vec3,
        /// Turns principal axes into body axes.
        frame: Quat,
    },
}

impl Inertia {
    /// Isotropic if the three moments are the same number, else about the body's own axes.
    pub(super) fn about_body_axes(moments: Vec3) -> Self {
        Self::principal(moments, Quat::identity())
    }

    pub(super) fn principal(moments: Vec3, frame: Quat) -> Self {
        if moments.x == moments.y && moments.y == moments.z {
            Inertia::Isotropic { moment: moments.x }
        } else {
            Inertia::Principal { moments, frame }
        }
    }

    /// Inverse inertia tensor in world coordinates, 1/(kg m²).
    pub fn world_inverse(&self, q: &Quat) -> Mat3 {
        match self {
            Inertia::Isotropic { moment } => Mat3::from_diagonal_element(1.0 / moment),
            Inertia::Principal { moments, frame } => {
                let r = rotation_matrix(&(q * frame));
                r * Mat3::from_diagonal(&moments.map(|m| 1.0 / m)) * r.transpose()
            }
        }
    }

    /// Angular momentum in world coordinates, N m s, of a body with angular velocity `w`, rad/s.
    pub fn momentum(&self, q: &Quat, w: Vec3) -> Vec3 {
        match self {
            Inertia::Isotropic { moment } => w * *moment,
            Inertia::Principal { moments, frame } => {
                let principal = q * frame;
                principal * principal.inverse_transform_vector(&w).component_mul(moments)
            }
        }
    }
}

/// Mass properties of a shape, and the shape itself moved so that its centre of mass is the origin.
pub(crate) struct MassProperties {
    /// The shape about its centre of mass.
    pub shape: Shape,
    /// Mass, kg.
    pub mass: f64,
    /// Moments of inertia about the centre of mass.
    pub inertia: Inertia,
    /// The centre of mass in the coordinates in which the shape was given, metres.
    pub centre: Vec3,
}

impl MassProperties {
    /// For a shape that has its centre of mass at the origin.
    pub fn at_origin(shape: Shape, mass: f64, inertia: Inertia) -> Self {
        MassProperties { shape, mass, inertia, centre: Vec3::zeros() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parry3d::shape::ConvexPolyhedron;

    use super::*;
    use crate::base::math::{from_parry, to_parry};
    use crate::physics::shape::{Capsule, Cuboid, Cylinder, Hull, Sphere};

    fn moments(inertia: Inertia) -> Vec3 {
        match inertia {
            Inertia::Isotropic { moment } => Vec3::repeat(moment),
            Inertia::Principal { moments, .. } => moments,
        }
    }

    /// Our formulas against parry's, which were derived independently.
    #[test]
    fn formulas_agree_with_parry() {
        let shapes = [
            Shape::Sphere(Sphere { radius: 0.7 }),
            Shape::Box(Cuboid { half: Vec3::new(0.3, 0.5, 0.9) }),
            Shape::Cylinder(Cylinder { radius: 0.4, half_height: 0.8 }),
            Shape::Capsule(Capsule { radius: 0.4, half_height: 0.8 }),
        ];
        for shape in shapes {
            let theirs = shape.to_parry().mass_properties(3.0);
            let ours = shape.mass_properties(3.0).unwrap();
            assert!((ours.mass - theirs.mass()).abs() < 1e-12 * ours.mass);
            let mut a: Vec<f64> = moments(ours.inertia).iter().copied().collect();
            let mut b: Vec<f64> = from_parry(theirs.principal_inertia()).iter().copied().collect();
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
            for (a, b) in a.iter().zip(&b) {
                assert!((a - b).abs() < 1e-9 * a, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_hull_is_moved_to_its_centre_of_mass() {
        let corner = |i: u32| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64 * 2.0, (i >> 2) as f64 * 3.0);
        let points: Vec<_> = (0..8).map(|i| to_parry(corner(i))).collect();
        let hull = Hull(Arc::new(ConvexPolyhedron::from_convex_hull(&points).unwrap()));
        let ours = Shape::Hull(hull).mass_properties(2.0).unwrap();
        assert!((ours.centre - Vec3::new(0.5, 1.0, 1.5)).norm() < 1e-12);
        assert!((ours.mass - 12.0).abs() < 1e-12);
        let cuboid = Shape::Box(Cuboid { half: Vec3::new(0.5, 1.0, 1.5) });
        let as_box = cuboid.mass_properties(2.0).unwrap();
        let q = Quat::identity();
        let difference = ours.inertia.world_inverse(&q) - as_box.inertia.world_inverse(&q);
        assert!(difference.norm() < 1e-9, "{difference}");
    }
}
