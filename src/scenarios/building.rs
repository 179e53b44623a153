//! `building`: storeys of columns, floor tiles and brick walls, and two cannon balls that bring it down.

use super::parts::{EARTH, ground, material};
use super::settings::Settings;
use crate::scene::{Body, Material, Scene, SceneError, Shape};

/// Bays along each side of a full building; smaller ones have fewer.
const BAYS_MAX: usize = 4;
const BAY_M: f64 = 2.0;
const STOREY_M: f64 = 3.0;
const TILE_M: f64 = 0.3;
const COLUMN_HALF_M: f64 = 0.2;
/// Brick layers of a storey.
const LAYERS: usize = 10;
const BRICK_M: [f64; 3] = [1.0, 0.3, 0.3];
/// Left between bricks and between tiles, so that neighbours do not touch from the start.
const JOINT_M: f64 = 4e-3;
const BALL_RADIUS_M: f64 = 0.8;
const BALL_DISTANCE_M: f64 = 15.0;
const BALL_SPEED: f64 = 25.0;

/// Boxes from the ground up until there are enough, and up to two cannon balls.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let mut scene = Scene { gravity: EARTH, ticks_per_second: 480.0, ticks_per_frame: 8, ..Scene::default() };
    scene.materials.insert("stone".to_owned(), Material { density: 2000.0, ..material(0.6, 0.0) });
    scene.materials.insert("iron".to_owned(), Material { density: 7800.0, ..material(0.4, 0.0) });
    scene.materials.insert("ground".to_owned(), material(0.6, 0.0));
    let asked = settings.bodies as usize;
    let balls = asked.saturating_sub(1).min(2);
    let boxes = asked - balls;
    let bays = (1..=BAYS_MAX).rev().find(|bays| boxes >= 2 * per_storey(*bays)).unwrap_or(1);
    scene.statics.push(ground(200.0));
    for storey in 0.. {
        if scene.bodies.len() >= boxes {
            break;
        }
        add_storey(&mut scene.bodies, bays, storey as f64 * STOREY_M);
    }
    scene.bodies.truncate(boxes);
    let reach = BALL_DISTANCE_M + bays as f64 * BAY_M;
    for (ball, side) in [-1.0, 1.0].into_iter().enumerate().take(balls) {
        let height = STOREY_M * (0.6 + ball as f64 * 0.8);
        let aside = 0.3 * side * bays as f64;
        let body = Body::new(Shape::Sphere { radius: BALL_RADIUS_M }, [side * reach, height, aside]);
        scene.bodies.push(body.moving([-side * BALL_SPEED, 3.0, 0.0]).of("iron"));
    }
    Ok(scene)
}

/// Columns, bricks and tiles of one storey: 401 for four bays.
fn per_storey(bays: usize) -> usize {
    (bays + 1) * (bays + 1) + LAYERS * 4 * (2 * bays + 1) + bays * bays
}

fn add_storey(bodies: &mut Vec<Body>, bays: usize, floor: f64) {
    let mut add = |half_extents: [f64; 3], position: [f64; 3]| {
        bodies.push(Body::new(Shape::Box { half_extents }, position).of("stone"));
    };
    let node = |at: usize| (at as f64 - bays as f64 * 0.5) * BAY_M;
    let column_half = 0.5 * (STOREY_M - TILE_M);
    for x in 0..=bays {
        for z in 0..=bays {
            let half = [COLUMN_HALF_M, column_half, COLUMN_HALF_M];
            add(half, [node(x), floor + column_half, node(z)]);
        }
    }
    for layer in 0..LAYERS {
        add_ring(&mut add, bays, floor + (layer as f64 + 0.5) * BRICK_M[1], layer % 2 == 1);
    }
    let tile_half = 0.5 * (BAY_M - JOINT_M);
    for x in 0..bays {
        for z in 0..bays {
            let half = [tile_half, 0.5 * TILE_M, tile_half];
            add(half, [node(x) + 0.5 * BAY_M, floor + STOREY_M - 0.5 * TILE_M, node(z) + 0.5 * BAY_M]);
        }
    }
}

/// A layer of bricks around the columns; every side begins behind the end of the one before. Layers alternate in which
/// way round, so that each brick rests on two.
fn add_ring(add: &mut impl FnMut([f64; 3], [f64; 3]), bays: usize, height: f64, mirrored: bool) {
    let bricks = 2 * bays + 1;
    let [length, thickness, depth] = BRICK_M;
    // The inside of the ring, so that a side and the depth of the next make whole bricks.
    let inside = 0.5 * (bricks as f64 * length - depth);
    for side in 0..4 {
        for brick in 0..bricks {
            let along = -inside - depth + (brick as f64 + 0.5) * length;
            let (along, across) = (if mirrored { -along } else { along }, inside + 0.5 * depth);
            let (x, z) = [(along, across), (across, -along), (-along, -across), (-across, along)][side];
            let half = [0.5 * (length - JOINT_M), 0.5 * thickness, 0.5 * (depth - JOINT_M)];
            let half = if side % 2 == 0 { half } else { [half[2], half[1], half[0]] };
            add(half, [x, height, z]);
        }
    }
}
