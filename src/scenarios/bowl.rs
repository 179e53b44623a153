//! `bowl`: a tower of balls that collapses into a square bowl with slanted walls.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_8};

use super::parts::{EARTH, SplitMix64, ball, centred, fixed_box, material};
use super::settings::Settings;
use crate::scene::{Scene, SceneError, StaticObject};

/// Half the width of the flat part of the floor, metres.
const FLOOR_HALF_M: f64 = 8.0;
/// Half the length of a wall up the slope, metres.
const WALL_HALF_M: f64 = 10.0;
/// Half the thickness of floor and walls, metres.
const PLATE_HALF_M: f64 = 0.5;
/// Half the length of a wall along the floor's edge, metres.
const WALL_HALF_WIDTH_M: f64 = 23.0;
/// Balls along each side of a layer.
const BALLS_PER_SIDE: usize = 12;
const BALL_PITCH_M: f64 = 1.1;
const LOWEST_LAYER_M: f64 = 2.0;
const JITTER_M: f64 = 0.02;

/// Layers of 12 x 12 balls above the bowl.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let mut scene = Scene { gravity: EARTH, statics: bowl(), ..Scene::default() };
    scene.materials.insert("ball".to_owned(), material(0.3, 0.0));
    scene.materials.insert("bowl".to_owned(), material(0.3, 0.0));
    let mut random = SplitMix64::new(settings.seed);
    scene.bodies.reserve_exact(settings.bodies as usize);
    for index in 0..settings.bodies as usize {
        let (x, z) = (index % BALLS_PER_SIDE, (index / BALLS_PER_SIDE) % BALLS_PER_SIDE);
        let layer = index / (BALLS_PER_SIDE * BALLS_PER_SIDE);
        let jitter = random.vector(JITTER_M);
        scene.bodies.push(ball([
            centred(x, BALLS_PER_SIDE, BALL_PITCH_M) + jitter[0],
            LOWEST_LAYER_M + layer as f64 * BALL_PITCH_M + jitter[1],
            centred(z, BALLS_PER_SIDE, BALL_PITCH_M) + jitter[2],
        ]));
    }
    Ok(scene)
}

/// A floor and four walls that rise outwards at 45 degrees from its edges.
fn bowl() -> Vec<StaticObject> {
    let floor_half = FLOOR_HALF_M + 1.0;
    let floor = fixed_box("floor", [floor_half, PLATE_HALF_M, floor_half], [0.0, -PLATE_HALF_M, 0.0]);
    // A wall's centre: from the floor's edge half its length up the slope, then half its thickness outwards.
    let out = FLOOR_HALF_M + (WALL_HALF_M + PLATE_HALF_M) * FRAC_1_SQRT_2;
    let up = (WALL_HALF_M - PLATE_HALF_M) * FRAC_1_SQRT_2;
    let (sin, cos) = libm::sincos(FRAC_PI_8);
    let along_x = [WALL_HALF_M, PLATE_HALF_M, WALL_HALF_WIDTH_M];
    let along_z = [WALL_HALF_WIDTH_M, PLATE_HALF_M, WALL_HALF_M];
    let wall = |name, half_extents, position, orientation| StaticObject {
        orientation,
        ..fixed_box(name, half_extents, position)
    };
    [
        floor,
        wall("wall +x", along_x, [out, up, 0.0], [0.0, 0.0, sin, cos]),
        wall("wall -x", along_x, [-out, up, 0.0], [0.0, 0.0, -sin, cos]),
        wall("wall +z", along_z, [0.0, up, out], [-sin, 0.0, 0.0, cos]),
        wall("wall -z", along_z, [0.0, up, -out], [sin, 0.0, 0.0, cos]),
    ]
    .map(|plate| plate.of("bowl"))
    .into()
}
