//! `newton-cradle`: balls in a frictionless channel that turns up at both ends, instead of on strings.

use std::f64::consts::PI;

use super::Parameter;
use super::parts::{BALL_RADIUS_M, EARTH};
use super::settings::Settings;
use crate::scene::{Body, Material, Scene, SceneError, Shape, StaticObject};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "pulled", default: "1", help: "how many balls start up the arc" },
    Parameter {
        name: "release_deg",
        default: "25",
        help: "where the foremost of them starts, degrees from the bottom",
    },
];

/// Radius of the arcs that turn the balls around, metres.
const ARC_RADIUS_M: f64 = 10.0;
const BALLS_MAX: u32 = 1000;
/// Facets of the arcs. Fine enough that a ball passes a seam without a jolt.
const FACETS_PER_DEGREE: f64 = 8.0;
const CHANNEL_HALF_WIDTH_M: f64 = 0.75;
/// Margin between a ball and the guides at its sides: more than the distance at which bodies count as touching, metres.
const GUIDE_CLEARANCE_M: f64 = 1e-3;
/// The guides end a little above the balls' centres, so that the balls can be seen.
const GUIDE_HEIGHT_M: f64 = BALL_RADIUS_M + 0.05;
/// The arcs end this far above the highest ball, so that no swing leaves them.
const SPARE_DEG: f64 = 3.0;
const STEEL_DENSITY: f64 = 7800.0;

/// A row of touching balls on the level middle of the channel, and some more up the arc on the left.
///
/// On strings every ball has a lowest point of its own; on one arc the row would roll down to the middle. A level
/// stretch lets every ball stay where it is until it is hit, as in the toy.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    if settings.bodies > BALLS_MAX {
        let problem = format!("the channel is too short for {} balls", settings.bodies);
        return Err(SceneError::new("bodies", problem, format!("use at most {BALLS_MAX}")));
    }
    let pulled = settings.whole("pulled", 1..=settings.bodies)?;
    let resting = settings.bodies - pulled;
    let release = settings.number("release_deg", 1.0..=75.0)? * (PI / 180.0);
    let track = Track { half_level_m: (f64::from(resting) + 2.0 * f64::from(pulled)) * BALL_RADIUS_M };
    let ball_angle = 2.0 * libm::asin(BALL_RADIUS_M / (ARC_RADIUS_M - BALL_RADIUS_M));
    let highest = release + (f64::from(pulled) - 1.0) * ball_angle;
    let half_angle = highest + 2.0 * ball_angle + SPARE_DEG * (PI / 180.0);
    if half_angle > PI * 0.5 {
        let problem =
            format!("{pulled} balls do not fit on the arc above {:.0} degrees", release * (180.0 / PI));
        return Err(SceneError::new("pulled", problem, "use a smaller release_deg, or pull fewer balls"));
    }
    let mut scene = Scene { gravity: EARTH, statics: track.channel(half_angle), ..Scene::default() };
    let slippery = |restitution| Material { density: STEEL_DENSITY, friction: 0.0, restitution, color: None };
    scene.materials.insert("steel".to_owned(), slippery(1.0));
    scene.materials.insert("channel".to_owned(), slippery(0.0));
    let sphere = Shape::Sphere { radius: BALL_RADIUS_M };
    for index in (0..pulled).rev() {
        let position = track.point(BALL_RADIUS_M, (Side::Left, release + f64::from(index) * ball_angle), 0.0);
        scene.bodies.push(Body::new(sphere.clone(), position).of("steel"));
    }
    for index in 0..resting {
        let x = (2.0 * f64::from(index) - (f64::from(resting) - 1.0)) * BALL_RADIUS_M;
        scene.bodies.push(Body::new(sphere.clone(), [x, BALL_RADIUS_M, 0.0]).of("steel"));
    }
    Ok(scene)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// A channel in the XY plane: level about the origin, turning up into an arc at either end.
struct Track {
    half_level_m: f64,
}

impl Track {
    /// The point `above_m` over one of the arcs, at an angle up from its foot.
    fn point(&self, above_m: f64, (side, angle): (Side, f64), z: f64) -> [f64; 3] {
        let (sin, cos) = libm::sincos(angle);
        let distance = ARC_RADIUS_M - above_m;
        let out = self.half_level_m + distance * sin;
        [if side == Side::Left { -out } else { out }, ARC_RADIUS_M - distance * cos, z]
    }

    /// The floor of the channel and the guides at its sides, up to `half_angle` on either side.
    fn channel(&self, half_angle: f64) -> Vec<StaticObject> {
        let facets = (half_angle * (180.0 / PI) * FACETS_PER_DEGREE).ceil();
        let up = |k: i32| f64::from(k) * half_angle / facets;
        // Both feet of the arcs are seams; the quadrilateral between them is the level stretch.
        let left = (0..=facets as i32).rev().map(|k| (Side::Left, up(k)));
        let stations: Vec<(Side, f64)> =
            left.chain((0..=facets as i32).map(|k| (Side::Right, up(k)))).collect();
        let strip = |name: &str, left: (f64, f64), right: (f64, f64)| {
            let rim = |(above, z): (f64, f64)| move |at: &(Side, f64)| self.point(above, *at, z);
            let shape = strip_between(stations.iter().map(rim(left)), stations.iter().map(rim(right)));
            StaticObject { name: Some(name.to_owned()), ..StaticObject::new(shape, [0.0; 3]).of("channel") }
        };
        let guide_z = BALL_RADIUS_M + GUIDE_CLEARANCE_M;
        // Seen from the balls, travelling towards +X: first the left rim of each strip, then the right one.
        vec![
            strip("floor", (0.0, -CHANNEL_HALF_WIDTH_M), (0.0, CHANNEL_HALF_WIDTH_M)),
            strip("guide -z", (GUIDE_HEIGHT_M, -guide_z), (0.0, -guide_z)),
            strip("guide +z", (0.0, guide_z), (GUIDE_HEIGHT_M, guide_z)),
        ]
    }
}

/// A strip of quadrilaterals between two rims. Its front is where the left rim is on the left hand, walking along.
fn strip_between(left: impl Iterator<Item = [f64; 3]>, right: impl Iterator<Item = [f64; 3]>) -> Shape {
    let vertices: Vec<[f64; 3]> = left.zip(right).flat_map(|(left, right)| [left, right]).collect();
    let quadrilaterals = (vertices.len() / 2).saturating_sub(1) as u32;
    let triangles = (0..quadrilaterals)
        .flat_map(|k| {
            let [left, right, next_left, next_right] = [2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 3];
            [[left, right, next_left], [next_left, right, next_right]]
        })
        .collect();
    Shape::Mesh { file: None, vertices, triangles }
}
