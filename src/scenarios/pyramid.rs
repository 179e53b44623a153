//! `pyramid`: a flat pyramid of boxes, the classic test of whether piles stand.

use super::Parameter;
use super::parts::{EARTH, centred, ground, material};
use super::settings::Settings;
use crate::scene::{Body, Scene, SceneError, Shape};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "iterations",
        default: "16",
        help: "iterations of the contact solver per tick, 1 to 1000",
    },
    Parameter { name: "ticks_per_second", default: "240", help: "ticks per simulated second, 1 to 1000000" },
];

const HALF_EDGE_M: f64 = 0.5;
const PITCH_M: f64 = 1.1;
const FRAMES_PER_SECOND: f64 = 60.0;

/// Rows of `b`, `b - 1`, ... 1 boxes, with the largest `b` for which there are at most `bodies`.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let ticks_per_second = settings.number("ticks_per_second", 1.0..=1e6)?;
    let bottom_row = rows(settings.bodies as usize);
    let mut scene = Scene { gravity: EARTH, ticks_per_second, ..Scene::default() };
    scene.ticks_per_frame = (ticks_per_second / FRAMES_PER_SECOND).round().max(1.0) as u32;
    scene.response.iterations = settings.whole("iterations", 1..=1000)?;
    scene.materials.insert("box".to_owned(), material(0.6, 0.0));
    scene.materials.insert("ground".to_owned(), material(0.6, 0.0));
    scene.statics.push(ground(bottom_row as f64 + 20.0));
    for row in 0..bottom_row {
        let boxes = bottom_row - row;
        for index in 0..boxes {
            let position = [centred(index, boxes, PITCH_M), HALF_EDGE_M + row as f64, 0.0];
            scene.bodies.push(Body::new(Shape::Box { half_extents: [HALF_EDGE_M; 3] }, position).of("box"));
        }
    }
    Ok(scene)
}

/// The number of rows of the largest pyramid of at most `boxes`.
fn rows(boxes: usize) -> usize {
    (1..).take_while(|rows| rows * (rows + 1) / 2 <= boxes).last().unwrap_or(1)
}
