//! `cylinders`: layers of balls fall on a row of lying cylinders and roll off between them.

use std::f64::consts::FRAC_1_SQRT_2;

use super::parts::{EARTH, SplitMix64, ball, centred, material};
use super::settings::Settings;
use crate::scene::{Scene, SceneError, Shape, StaticObject};

const CYLINDER_RADIUS_M: f64 = 1.0;
const CYLINDER_PITCH_M: f64 = 3.5;
const BALL_PITCH_M: f64 = 1.1;
/// Balls of a layer across the cylinders' length.
const BALLS_ALONG_Z: usize = 8;
const LOWEST_LAYER_M: f64 = 3.0;
const JITTER_M: f64 = 0.02;
/// How far the cylinders stick out from under the balls on each side, metres.
const OVERHANG_M: f64 = 3.0;

/// One cylinder per 100 bodies, at least five, under layers of 14/5 balls per cylinder by eight.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let bodies = settings.bodies as usize;
    let cylinders = (bodies / 100).max(5);
    let balls_along_x = 14 * cylinders / 5;
    let mut scene = Scene { gravity: EARTH, ..Scene::default() };
    scene.materials.insert("ball".to_owned(), material(0.5, 0.3));
    scene.materials.insert("cylinder".to_owned(), material(0.5, 0.3));
    let half_height = BALLS_ALONG_Z as f64 * BALL_PITCH_M * 0.5 + OVERHANG_M;
    for index in 0..cylinders {
        let shape = Shape::Cylinder { radius: CYLINDER_RADIUS_M, half_height };
        let mut cylinder =
            StaticObject::new(shape, [centred(index, cylinders, CYLINDER_PITCH_M), 0.0, 0.0]).of("cylinder");
        // A quarter turn about X lays the axis along Z.
        cylinder.orientation = [FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2];
        scene.statics.push(cylinder);
    }
    let mut random = SplitMix64::new(settings.seed);
    scene.bodies.reserve_exact(bodies);
    for index in 0..bodies {
        let (x, z) = (index % balls_along_x, (index / balls_along_x) % BALLS_ALONG_Z);
        let layer = index / (balls_along_x * BALLS_ALONG_Z);
        let jitter = random.vector(JITTER_M);
        scene.bodies.push(ball([
            centred(x, balls_along_x, BALL_PITCH_M) + jitter[0],
            LOWEST_LAYER_M + layer as f64 * BALL_PITCH_M + jitter[1],
            centred(z, BALLS_ALONG_Z, BALL_PITCH_M) + jitter[2],
        ]));
    }
    Ok(scene)
}
