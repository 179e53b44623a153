//! `parallel`: two lines of balls that pass each other at arm's length and never touch.

use super::parts::{WEIGHTLESS, ball, centred, material};
use super::settings::Settings;
use crate::scene::{Scene, SceneError};

const PITCH_M: f64 = 1.5;
/// Half the distance between the lines, metres.
const LINE_Z_M: f64 = 1.0;
const SPEED: f64 = 5.0;

/// Two lines of `bodies / 2` balls along X; an odd one extends the second line.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let bodies = settings.bodies as usize;
    let per_line = bodies / 2;
    let mut scene = Scene { gravity: WEIGHTLESS, ..Scene::default() };
    scene.materials.insert("ball".to_owned(), material(0.0, 0.0));
    scene.bodies.reserve_exact(bodies);
    for index in 0..bodies {
        let (side, column) = if index < per_line { (-1.0, index) } else { (1.0, index - per_line) };
        let position = [centred(column, per_line, PITCH_M), 0.0, side * LINE_Z_M];
        scene.bodies.push(ball(position).moving([-side * SPEED, 0.0, 0.0]));
    }
    Ok(scene)
}
