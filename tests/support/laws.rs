//! More small scenes, and measurements, for tests of physical laws.

use anachron::internals::base::frame::Frame;
use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::World;
use anachron::internals::physics::energy::Totals;
use anachron::scenarios::{Request, build};
use anachron::scene::{Body, Scene, Shape, StaticObject};

pub use crate::scenes::{G, ball, floor, run, run_with, scene, walls};

/// The same without gravity.
pub fn weightless(friction: f64, restitution: f64) -> Scene {
    Scene { gravity: [0.0; 3], ..scene(friction, restitution) }
}

/// A scenario with another number of bodies (0 for its own), seconds and settings.
pub fn scenario(name: &str, bodies: u32, seconds: f64, sets: &[(&str, &str)]) -> Scene {
    let request = Request {
        bodies: (bodies > 0).then_some(bodies),
        seconds: Some(seconds),
        sets: sets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..Request::default()
    };
    build(name, &request).expect("the scenario exists")
}

/// A cube; half edge and position in metres.
pub fn cube(half: f64, position: [f64; 3]) -> Body {
    Body::new(Shape::Box { half_extents: [half; 3] }, position)
}

/// A body turned by the vector `turn` (axis times radians).
pub fn turned(mut body: Body, turn: Vec3) -> Body {
    body.orientation = orientation(turn);
    body
}

/// The quaternion of a rotation by the vector `turn` (axis times radians).
pub fn orientation(turn: Vec3) -> [f64; 4] {
    let q = rotation_exp(turn);
    [q.i, q.j, q.k, q.w]
}

/// The top of a broad static box, at height 0.
pub fn slab() -> StaticObject {
    StaticObject::new(Shape::Box { half_extents: [20.0, 0.5, 20.0] }, [0.0, -0.5, 0.0])
}

/// A flat square of `2 * cells * cells` triangles at height 0, with its middle at the origin.
pub fn flat_mesh(cells: u32, cell_m: f64) -> StaticObject {
    let middle = f64::from(cells) * cell_m * 0.5;
    let side = cells + 1;
    let vertices = (0..side * side)
        .map(|k| [f64::from(k % side) * cell_m - middle, 0.0, f64::from(k / side) * cell_m - middle])
        .collect();
    let triangles = (0..cells * cells)
        .flat_map(|k| {
            let a = k / cells * side + k % cells;
            let (b, c, d) = (a + 1, a + side, a + side + 1);
            [[a, c, b], [b, c, d]]
        })
        .collect();
    StaticObject::new(Shape::Mesh { file: None, vertices, triangles }, [0.0; 3])
}

/// Runs a scene and returns the states of all bodies at every tick.
pub fn every_tick(scene: &Scene) -> Vec<Vec<BodyState>> {
    let scene = Scene { ticks_per_frame: 1, ..scene.clone() };
    let mut ticks = Vec::new();
    run_with(&scene, |frame| ticks.push(states(frame)));
    ticks
}

/// Energy and momentum of every frame.
pub fn totals(scene: &Scene) -> Vec<Totals> {
    let world = World::new(scene).expect("the scene is valid");
    let mut totals = Vec::new();
    run_with(scene, |frame| totals.push(Totals::of_frame(&world, frame)));
    totals
}

/// The states of a frame, in ascending body id.
pub fn states(frame: &Frame) -> Vec<BodyState> {
    frame.bodies.iter().map(|(_, state)| *state).collect()
}

/// The fastest body of a frame, m/s.
pub fn top_speed(frame: &Frame) -> f64 {
    frame.bodies.iter().map(|(_, state)| state.v.norm()).fold(0.0, f64::max)
}

/// The largest overlap of any two of these balls, metres.
pub fn ball_overlap(frame: &Frame, radius: f64) -> f64 {
    let mut by_x: Vec<Vec3> = frame.bodies.iter().map(|(_, state)| state.x).collect();
    by_x.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut nearest = f64::INFINITY;
    for (index, a) in by_x.iter().enumerate() {
        let near = by_x[index + 1..].iter().take_while(|b| b.x - a.x < 2.0 * radius);
        nearest = near.map(|b| (a - b).norm()).fold(nearest, f64::min);
    }
    (2.0 * radius - nearest).max(0.0)
}

/// Random numbers from a seed. A test that fails prints its seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From `-size` to below `size`.
    pub fn about_zero(&mut self, size: f64) -> f64 {
        (2.0 * self.unit() - 1.0) * size
    }

    /// Three numbers from `-size` to below `size`.
    pub fn vector(&mut self, size: f64) -> Vec3 {
        Vec3::new(self.about_zero(size), self.about_zero(size), self.about_zero(size))
    }
}
