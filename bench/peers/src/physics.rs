//! What is computed from the states of any engine in the same way: energy, worst overlap.

use std::collections::HashMap;

use crate::scene::{Scene, Shape};

/// Position, rotation (x, y, z, w), velocity, angular velocity.
pub type State = [f32; 13];

fn squared(list: &[f32]) -> f64 {
    list.iter().map(|number| f64::from(*number).powi(2)).sum()
}

/// Kinetic and potential energy of all moving bodies, joules.
pub fn energies(scene: &Scene, states: &[State]) -> (f64, f64) {
    let (mut kinetic, mut potential) = (0.0, 0.0);
    for (body, state) in scene.moving().zip(states) {
        // Moments of inertia about any axis: shapes that move are balls or cubes.
        let (volume_m3, gyration_m2) = match body.shape {
            Shape::Sphere { radius_m } => {
                let r = f64::from(radius_m);
                (4.0 / 3.0 * std::f64::consts::PI * r.powi(3), 0.4 * r * r)
            }
            Shape::Box { half_m: [a, b, c] } => {
                (8.0 * f64::from(a) * f64::from(b) * f64::from(c), 2.0 / 3.0 * f64::from(a).powi(2))
            }
            Shape::Cylinder { .. } => (f64::NAN, f64::NAN),
        };
        let mass = volume_m3 * f64::from(scene.density);
        kinetic += 0.5 * mass * (squared(&state[7..10]) + gyration_m2 * squared(&state[10..13]));
        potential -= mass * f64::from(scene.gravity) * f64::from(state[1]);
    }
    (kinetic, potential)
}

/// The deepest overlap of two moving balls, or of a ball and a static box or cylinder, metres; nothing if other shapes move.
pub fn overlap_m(scene: &Scene, states: &[State]) -> Option<f64> {
    let mut radii = Vec::new();
    for body in scene.moving() {
        match body.shape {
            Shape::Sphere { radius_m } => radii.push(f64::from(radius_m)),
            Shape::Box { .. } | Shape::Cylinder { .. } => return None,
        }
    }
    let width = 2.0 * radii.iter().copied().fold(0.0, f64::max);
    let at = |state: &State| [0, 1, 2].map(|axis| f64::from(state[axis]));
    let cell = |x: [f64; 3]| x.map(|c| (c / width).floor() as i64);
    let mut cells: HashMap<[i64; 3], Vec<usize>> = HashMap::with_capacity(states.len());
    let mut worst = 0.0f64;
    for (body, state) in states.iter().enumerate() {
        let x = at(state);
        let [i, j, k] = cell(x);
        for near in (0..27).map(|n| [i + n % 3 - 1, j + n / 3 % 3 - 1, k + n / 9 - 1]) {
            for &other in cells.get(&near).into_iter().flatten() {
                let y = at(&states[other]);
                let distance = (0..3).map(|axis| (x[axis] - y[axis]).powi(2)).sum::<f64>().sqrt();
                worst = worst.max(radii[body] + radii[other] - distance);
            }
        }
        cells.entry([i, j, k]).or_default().push(body);
    }
    for fixed in scene.bodies.iter().filter(|body| !body.moves) {
        for (state, radius) in states.iter().zip(&radii) {
            worst = worst.max(radius - distance_to(fixed.shape, local(fixed.x, fixed.q, at(state))));
        }
    }
    Some(worst)
}

/// A point as a static body sees it.
fn local(x: [f32; 3], q: [f32; 4], point: [f64; 3]) -> [f64; 3] {
    let d = [0, 1, 2].map(|axis| point[axis] - f64::from(x[axis]));
    let [qx, qy, qz, w] = q.map(f64::from);
    // By the inverse of the rotation: d + 2 w (d x u) + 2 u x (u x d).
    let u = [qx, qy, qz];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let (once, twice) = (cross(d, u), cross(u, cross(u, d)));
    [0, 1, 2].map(|axis| d[axis] + 2.0 * w * once[axis] + 2.0 * twice[axis])
}

/// Signed distance from the surface of a static body at its own origin.
fn distance_to(shape: Shape, p: [f64; 3]) -> f64 {
    let of_gaps = |gaps: &[f64]| {
        let outside = gaps.iter().map(|gap| gap.max(0.0).powi(2)).sum::<f64>().sqrt();
        outside + gaps.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(0.0)
    };
    match shape {
        Shape::Sphere { radius_m } => p.iter().map(|c| c * c).sum::<f64>().sqrt() - f64::from(radius_m),
        Shape::Box { half_m } => of_gaps(&[0, 1, 2].map(|axis| p[axis].abs() - f64::from(half_m[axis]))),
        Shape::Cylinder { radius_m, half_height_m } => {
            of_gaps(&[p[0].hypot(p[2]) - f64::from(radius_m), p[1].abs() - f64::from(half_height_m)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Body;

    fn state(x: [f32; 3], v: [f32; 3]) -> State {
        let [a, b, c] = x;
        let [d, e, f] = v;
        [a, b, c, 0.0, 0.0, 0.0, 1.0, d, e, f, 0.0, 0.0, 0.0]
    }

    fn scene() -> Scene {
        let ball = Body {
            moves: true,
            shape: Shape::Sphere { radius_m: 0.5 },
            x: [0.0; 3],
            q: [0.0, 0.0, 0.0, 1.0],
            v: [0.0; 3],
        };
        let s = std::f32::consts::FRAC_1_SQRT_2;
        let pipe = Shape::Cylinder { radius_m: 1.0, half_height_m: 4.0 };
        let pipe = Body { moves: false, shape: pipe, x: [0.0, -10.0, 0.0], q: [s, 0.0, 0.0, s], ..ball };
        Scene {
            gravity: -10.0,
            friction: 0.0,
            restitution: 0.0,
            density: 1000.0,
            bodies: vec![pipe, ball, ball],
        }
    }

    #[test]
    fn overlaps_are_the_deepest() {
        let apart = [state([0.0; 3], [0.0; 3]), state([1.2, 0.0, 0.0], [0.0; 3])];
        assert_eq!(overlap_m(&scene(), &apart), Some(0.0));
        let touching = [state([0.0; 3], [0.0; 3]), state([0.9, 0.0, 0.0], [0.0; 3])];
        assert!((overlap_m(&scene(), &touching).unwrap() - 0.1).abs() < 1e-6);
        // The cylinder lies along z.
        let on_pipe = [state([0.0, -8.6, 3.0], [0.0; 3]), state([0.0; 3], [0.0; 3])];
        assert!((overlap_m(&scene(), &on_pipe).unwrap() - 0.1).abs() < 1e-5);
        let beside_pipe = [state([3.0, -10.0, 0.0], [0.0; 3]), state([0.0; 3], [0.0; 3])];
        assert_eq!(overlap_m(&scene(), &beside_pipe), Some(0.0));
    }

    #[test]
    fn energy_is_that_of_the_formula() {
        let (kinetic, potential) = energies(&scene(), &[state([0.0, 2.0, 0.0], [3.0, 0.0, 0.0]); 1]);
        let mass = 1000.0 * std::f64::consts::PI / 6.0;
        assert!(
            (kinetic / (4.5 * mass) - 1.0).abs() < 1e-9 && (potential / (20.0 * mass) - 1.0).abs() < 1e-9
        );
    }
}
