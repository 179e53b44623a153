//! Mass and inertia: how a body resists pushes and turns.

use std::f64::consts::PI;
use std::sync::Arc;

use parry3d::shape::{ConvexPolyhedron, Shape as _};

use crate::base::math::{Mat3, Quat, Vec3, from_parry, quat_raw, rotation_matrix};
use crate::physics::shape::Shape;

/// Moments of inertia about the centre of mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inertia {
    /// The same about every axis (balls, cubes): the body turns steadily in free flight.
    Isotropic {
        /// kg m².
        moment: f64,
    },
    /// Different about different axes: the body tumbles.
    Principal {
        /// kg m² about the principal axes.
        moments: Vec3,
        /// Turns principal axes into body axes.
        frame: Quat,
    },
}

impl Inertia {
    /// Isotropic if the three moments are the same number, else about the body's own axes.
    fn about_body_axes(moments: Vec3) -> Self {
        Self::principal(moments, Quat::identity())
    }

    fn principal(moments: Vec3, frame: Quat) -> Self {
        if moments.x == moments.y && moments.y == moments.z {
            Inertia::Isotropic { moment: moments.x }
        } else {
            Inertia::Principal { moments, frame }
        }
    }

    /// Inverse inertia tensor in world coordinates.
    pub fn world_inverse(&self, q: &Quat) -> Mat3 {
        match self {
            Inertia::Isotropic { moment } => Mat3::from_diagonal_element(1.0 / moment),
            Inertia::Principal { moments, frame } => {
                let r = rotation_matrix(&(q * frame));
                r * Mat3::from_diagonal(&moments.map(|m| 1.0 / m)) * r.transpose()
            }
        }
    }

    /// Angular momentum in world coordinates of a body turning with `w`.
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
    pub shape: Shape,
    pub mass: f64,
    pub inertia: Inertia,
    /// Where the centre of mass was in the coordinates the shape was given in.
    pub centre: Vec3,
}

/// Mass properties of a solid of uniform density. `None` for shapes without volume.
pub(crate) fn mass_properties(shape: Shape, density: f64) -> Option<MassProperties> {
    let at_origin =
        |shape, mass, inertia| Some(MassProperties { shape, mass, inertia, centre: Vec3::zeros() });
    match shape {
        Shape::Sphere { radius: r } => {
            let mass = density * (4.0 / 3.0 * PI * r * r * r);
            at_origin(shape, mass, Inertia::Isotropic { moment: 0.4 * mass * r * r })
        }
        Shape::Box { half } => {
            let mass = density * (8.0 * half.x * half.y * half.z);
            let s = half.component_mul(&half);
            let moments = Vec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (mass / 3.0);
            at_origin(shape, mass, Inertia::about_body_axes(moments))
        }
        Shape::Cylinder { radius: r, half_height: l } => {
            let mass = density * (PI * r * r * 2.0 * l);
            let across = mass * (r * r / 4.0 + l * l / 3.0);
            at_origin(shape, mass, Inertia::about_body_axes(Vec3::new(across, 0.5 * mass * r * r, across)))
        }
        Shape::Capsule { radius: r, half_height: l } => {
            let tube = density * (PI * r * r * 2.0 * l);
            let caps = density * (4.0 / 3.0 * PI * r * r * r);
            let along = 0.5 * tube * r * r + 0.4 * caps * r * r;
            // Each cap is a half-ball whose own centre lies 3r/8 beyond the end of the tube.
            let across = tube * (r * r / 4.0 + l * l / 3.0) + caps * (0.4 * r * r + l * l + 0.75 * l * r);
            at_origin(shape, tube + caps, Inertia::about_body_axes(Vec3::new(across, along, across)))
        }
        Shape::Ring { radius, tube } => {
            let (r2, t2) = (radius * radius, tube * tube);
            let mass = density * (2.0 * PI * PI * radius * t2);
            let (along, across) = (mass * (r2 + 0.75 * t2), mass * (0.5 * r2 + 0.625 * t2));
            at_origin(shape, mass, Inertia::about_body_axes(Vec3::new(across, along, across)))
        }
        Shape::Hull(hull) => massive_hull(&hull, density),
        Shape::HalfSpace { .. } | Shape::Mesh(_) => None,
    }
}

fn massive_hull(hull: &ConvexPolyhedron, density: f64) -> Option<MassProperties> {
    let given = hull.mass_properties(density);
    let centre = given.local_com;
    let points: Vec<_> = hull.points().iter().map(|p| *p - centre).collect();
    let shape = Shape::Hull(Arc::new(ConvexPolyhedron::from_convex_hull(&points)?));
    let moments = from_parry(given.principal_inertia());
    let f = given.principal_inertia_local_frame;
    let inertia = Inertia::principal(moments, quat_raw(f.x, f.y, f.z, f.w));
    let mass = given.mass();
    let sound = mass > 0.0 && mass.is_finite() && moments.iter().all(|m| *m > 0.0 && m.is_finite());
    sound.then(|| MassProperties { shape, mass, inertia, centre: from_parry(centre) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::to_parry;

    fn moments(inertia: Inertia) -> Vec3 {
        match inertia {
            Inertia::Isotropic { moment } => Vec3::repeat(moment),
            Inertia::Principal { moments, .. } => moments,
        }
    }

    /// Our formulas against parry's, which were derived by others.
    #[test]
    fn formulas_agree_with_parry() {
        let shapes = [
            Shape::Sphere { radius: 0.7 },
            Shape::Box { half: Vec3::new(0.3, 0.5, 0.9) },
            Shape::Cylinder { radius: 0.4, half_height: 0.8 },
            Shape::Capsule { radius: 0.4, half_height: 0.8 },
        ];
        for shape in shapes {
            let theirs = shape.to_parry().mass_properties(3.0);
            let ours = mass_properties(shape, 3.0).unwrap();
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
        let hull = Shape::Hull(Arc::new(ConvexPolyhedron::from_convex_hull(&points).unwrap()));
        let ours = mass_properties(hull, 2.0).unwrap();
        assert!((ours.centre - Vec3::new(0.5, 1.0, 1.5)).norm() < 1e-12);
        assert!((ours.mass - 12.0).abs() < 1e-12);
        let as_box = mass_properties(Shape::Box { half: Vec3::new(0.5, 1.0, 1.5) }, 2.0).unwrap();
        let q = Quat::identity();
        let difference = ours.inertia.world_inverse(&q) - as_box.inertia.world_inverse(&q);
        assert!(difference.norm() < 1e-9, "{difference}");
    }
}
