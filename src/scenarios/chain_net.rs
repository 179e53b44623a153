//! `chain-net`: a net of interlocked rings hangs between two rows of rings that do not move.
//!
//! Rings are linked as in mail: each holds two of the row before and two of the row after. Rows lean to and fro, and
//! every other row is half a ring to the side. The full net is 49 rows of 76.

use super::parts::{EARTH, centred, ground, material};
use super::settings::Settings;
use crate::base::math::{Vec3, rotation_exp};
use crate::scene::{Body, Material, Scene, SceneError, Shape, StaticObject};

const RADIUS_M: f64 = 0.1;
const TUBE_M: f64 = 0.02;
/// From ring to ring within a row, and from row to row: with this lean, no two rings touch at the start.
const PITCH_M: f64 = 0.25;
const ROW_M: f64 = 0.075;
const LEAN: f64 = std::f64::consts::FRAC_PI_6;
/// Rows and rings per row of the full net.
const SHAPE: (usize, usize) = (49, 76);
/// Depth of sharing that keeps rings from slipping through each other at the borders between workers.
const GAMMA: u32 = 3;

/// Rows and rings per row of the largest whole net of at most `links` rings with the proportions of the full one.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let mut scene = Scene { gravity: EARTH, ticks_per_second: 480.0, ticks_per_frame: 8, ..Scene::default() };
    scene.materials.insert("steel".to_owned(), Material { density: 7800.0, ..material(0.3, 0.0) });
    scene.materials.insert("ground".to_owned(), material(0.6, 0.0));
    scene.response.iterations = 16;
    scene.group.gamma = GAMMA;
    scene.group.iterations = 50;
    let asked = settings.bodies as usize;
    let across = (1..=asked).take_while(|across| across * across * SHAPE.0 <= asked * SHAPE.1).last();
    let across = across.unwrap_or(1);
    let rows = asked / across;
    let half_length = 0.5 * (rows + 1) as f64 * ROW_M;
    let height = half_length + 1.0;
    scene.statics.push(ground(PITCH_M * across as f64 + 2.0 * half_length + 10.0));
    // The first and the last row do not move.
    for row in 0..rows + 2 {
        let aside = if row % 2 == 0 { -0.25 * PITCH_M } else { 0.25 * PITCH_M };
        let lean = rotation_exp(Vec3::x() * if row % 2 == 0 { LEAN } else { -LEAN });
        for column in 0..across {
            let position =
                [centred(column, across, PITCH_M) + aside, height, row as f64 * ROW_M - half_length];
            let orientation = [lean.i, lean.j, lean.k, lean.w];
            let shape = Shape::Ring { radius: RADIUS_M, tube: TUBE_M };
            if (1..=rows).contains(&row) {
                scene.bodies.push(Body { orientation, ..Body::new(shape, position).of("steel") });
            } else {
                let hook = StaticObject::new(shape, position).of("steel");
                scene.statics.push(StaticObject { orientation, ..hook });
            }
        }
    }
    Ok(scene)
}
