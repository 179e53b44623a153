//! `newton-cradle`: balls in a frictionless channel along an arc, instead of on strings.

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

/// Radius of the arc for up to [`BALLS_AT_BASE_RADIUS`] balls, metres.
const BASE_RADIUS_M: f64 = 20.0;
const BALLS_AT_BASE_RADIUS: f64 = 10.0;
const BALLS_MAX: u32 = 1000;
/// The arc is made of this many flat facets per ball. Even, so that each ball of a centred row, of odd or even
/// length, rests on the middle of a facet and touches it exactly.
const FACETS_PER_BALL: f64 = 30.0;
const CHANNEL_HALF_WIDTH_M: f64 = 0.75;
/// Room between a ball and the guides at its sides: more than the distance at which bodies count as touching.
const GUIDE_CLEARANCE_M: f64 = 1e-3;
/// The guides end a little above the balls' centres, so that the balls can be seen.
const GUIDE_HEIGHT_M: f64 = BALL_RADIUS_M + 0.05;
/// The arc ends this far above the highest ball, so that no swing leaves it.
const SPARE_DEG: f64 = 3.0;
const STEEL_DENSITY: f64 = 7800.0;

/// A row of touching balls at the bottom, and some more up the arc on the left.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    if settings.bodies > BALLS_MAX {
        let problem = format!("the arc has no room for {} balls", settings.bodies);
        return Err(SceneError::new("bodies", problem, format!("use at most {BALLS_MAX}")));
    }
    let pulled = settings.whole("pulled", 1..=settings.bodies)?;
    let resting = settings.bodies - pulled;
    let release = settings.number("release_deg", 1.0..=75.0)? * (PI / 180.0);
    let arc = Arc::for_balls(settings.bodies);
    // The foremost pulled ball must not start inside the row.
    let leftmost_resting = (f64::from(resting) - 1.0) * 0.5 * arc.ball_angle;
    if resting > 0 && release < leftmost_resting + arc.ball_angle {
        let degrees = (leftmost_resting + arc.ball_angle) * (180.0 / PI);
        let fix = format!("use at least {degrees:.2}, or fewer bodies");
        return Err(SceneError::new("release_deg", "the pulled balls would start inside the row", fix));
    }
    let highest = release + (f64::from(pulled) - 1.0) * arc.ball_angle;
    let half_angle = highest + 2.0 * arc.ball_angle + SPARE_DEG * (PI / 180.0);
    if half_angle > PI * 0.5 {
        let problem =
            format!("{pulled} balls do not fit on the arc above {:.0} degrees", release * (180.0 / PI));
        return Err(SceneError::new("pulled", problem, "use a smaller release_deg, or pull fewer balls"));
    }
    let mut scene = Scene { gravity: EARTH, statics: arc.channel(half_angle), ..Scene::default() };
    let slippery = |restitution| Material { density: STEEL_DENSITY, friction: 0.0, restitution, color: None };
    scene.materials.insert("steel".to_owned(), slippery(1.0));
    scene.materials.insert("channel".to_owned(), slippery(0.0));
    let pulled_angles = (0..pulled).rev().map(|index| -release - f64::from(index) * arc.ball_angle);
    let resting_angles = (0..resting).map(|index| f64::from(index) * arc.ball_angle - leftmost_resting);
    for angle in pulled_angles.chain(resting_angles) {
        let position = arc.point(arc.radius_m - BALL_RADIUS_M, angle, 0.0);
        scene.bodies.push(Body::new(Shape::Sphere { radius: BALL_RADIUS_M }, position).of("steel"));
    }
    Ok(scene)
}

/// An arc in the XY plane with its lowest point at the origin.
struct Arc {
    radius_m: f64,
    /// Angle from one of two touching balls on the arc to the other.
    ball_angle: f64,
}

impl Arc {
    fn for_balls(balls: u32) -> Self {
        let radius_m = BASE_RADIUS_M * (f64::from(balls) / BALLS_AT_BASE_RADIUS).max(1.0);
        Arc { radius_m, ball_angle: 2.0 * libm::asin(BALL_RADIUS_M / (radius_m - BALL_RADIUS_M)) }
    }

    /// The point at a distance from the arc's centre and an angle from straight down, positive towards +X.
    fn point(&self, distance: f64, angle: f64, z: f64) -> [f64; 3] {
        let (sin, cos) = libm::sincos(angle);
        [distance * sin, self.radius_m - distance * cos, z]
    }

    /// The floor of the channel and the guides at its sides, up to `half_angle` on either side.
    fn channel(&self, half_angle: f64) -> Vec<StaticObject> {
        let facet_angle = self.ball_angle / FACETS_PER_BALL;
        // The middle of every facet touches the arc from outside.
        let corner_m = self.radius_m / libm::cos(facet_angle * 0.5);
        let facets_per_side = (half_angle / facet_angle).ceil() as i32;
        let angles: Vec<f64> =
            (-facets_per_side..=facets_per_side + 1).map(|k| (f64::from(k) - 0.5) * facet_angle).collect();
        let strip = |name: &str, left: (f64, f64), right: (f64, f64)| {
            let rim = |(distance, z): (f64, f64)| move |angle: &f64| self.point(distance, *angle, z);
            let shape = strip_between(angles.iter().map(rim(left)), angles.iter().map(rim(right)));
            StaticObject { name: Some(name.to_owned()), ..StaticObject::new(shape, [0.0; 3]).of("channel") }
        };
        let guide_z = BALL_RADIUS_M + GUIDE_CLEARANCE_M;
        let guide_top = corner_m - GUIDE_HEIGHT_M;
        // Seen from the balls, travelling towards +X: first the left rim of each strip, then the right one.
        vec![
            strip("floor", (corner_m, -CHANNEL_HALF_WIDTH_M), (corner_m, CHANNEL_HALF_WIDTH_M)),
            strip("guide -z", (guide_top, -guide_z), (corner_m, -guide_z)),
            strip("guide +z", (corner_m, guide_z), (guide_top, guide_z)),
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
