//! `stack`: a column of boxes or balls, exactly one above the other and touching.

use super::Parameter;
use super::parts::{BALL_RADIUS_M, EARTH, ground, material};
use super::settings::Settings;
use crate::scene::{Body, Scene, SceneError, Shape};

pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "shape",
    default: "box",
    help: "what is stacked: box (edges of 1 m) or sphere (1 m across)",
}];

const GROUND_HALF_M: f64 = 20.0;

#[derive(Clone, Copy)]
enum Stacked {
    Box,
    Sphere,
}

/// A column of `bodies` boxes or balls on the ground.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let shape = match settings.choice("shape", &[("box", Stacked::Box), ("sphere", Stacked::Sphere)])? {
        Stacked::Box => Shape::Box { half_extents: [BALL_RADIUS_M; 3] },
        Stacked::Sphere => Shape::Sphere { radius: BALL_RADIUS_M },
    };
    let mut scene = Scene { gravity: EARTH, ..Scene::default() };
    scene.materials.insert("block".to_owned(), material(0.5, 0.0));
    scene.materials.insert("ground".to_owned(), material(0.5, 0.0));
    scene.statics.push(ground(GROUND_HALF_M));
    for index in 0..settings.bodies {
        let height = BALL_RADIUS_M + f64::from(index) * 2.0 * BALL_RADIUS_M;
        scene.bodies.push(Body::new(shape.clone(), [0.0, height, 0.0]).of("block"));
    }
    Ok(scene)
}
