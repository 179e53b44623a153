//! `bouncing`: elastic balls in a closed box, dense enough that they collide all the time.

use super::Parameter;
use super::gas::{ElasticBox, cube_root_up};
use super::settings::Settings;
use crate::scene::{Scene, SceneError};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "density",
        default: "mid",
        help: "how full the box is: lo (10.5 % of its volume), mid (26.2 %) or hi (41.9 %)",
    },
    Parameter {
        name: "volume_m3",
        default: "",
        help: "instead of density: balls of radius 0.25 m in a cube of this volume; 100 to 400 suit 200 balls",
    },
];

const SHARES: &[(&str, f64)] = &[("lo", 0.105), ("mid", 0.262), ("hi", 0.419)];
const SMALL_RADIUS_M: f64 = 0.25;

/// A box that the balls fill to a share of its volume, or a cube of a volume.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let bodies = settings.bodies as usize;
    if !settings.is_given("volume_m3") {
        let share = settings.choice("density", SHARES)?;
        let room_for = |bodies| ElasticBox::filled(bodies, share);
        return fitting(room_for, bodies, "use a lower density")
            .map(|elastic_box| elastic_box.scene(bodies, settings.seed));
    }
    if settings.is_given("density") {
        let problem = "volume_m3 says how full the box is, too";
        return Err(SceneError::new("density", problem, "set either density or volume_m3"));
    }
    let volume_m3 = settings.number("volume_m3", 1.0..=1e9)?;
    let room_for = |bodies| ElasticBox::cube(bodies, volume_m3, SMALL_RADIUS_M);
    fitting(room_for, bodies, "use a larger volume_m3")
        .map(|elastic_box| elastic_box.scene(bodies, settings.seed))
}

/// The box for `bodies`. Some numbers of balls fit no cubic lattice without overlap; the nearest are then named.
fn fitting(
    room_for: impl Fn(usize) -> ElasticBox,
    bodies: usize,
    remedy: &str,
) -> Result<ElasticBox, SceneError> {
    let elastic_box = room_for(bodies);
    if elastic_box.has_room() {
        return Ok(elastic_box);
    }
    let fits = |n: &usize| room_for(*n).has_room();
    // Below, only whole cubes need a check: fewer balls in the same number of cells have no larger cells.
    let side = cube_root_up(bodies);
    let below = (1..side).rev().map(|side| side.pow(3)).find(fits);
    let above = (bodies + 1..=side.pow(3)).find(fits);
    let numbers: Vec<String> = below.into_iter().chain(above).map(|n| n.to_string()).collect();
    let fix = format!("use {} bodies, or {remedy}", numbers.join(" or "));
    Err(SceneError::new("bodies", format!("{bodies} balls do not fit in a lattice without overlap"), fix))
}
