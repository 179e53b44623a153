//! `billiards`: the break of a rack of balls on a pool table.

use std::f64::consts::PI;

use super::Parameter;
use super::parts::{EARTH, SplitMix64, fixed_box};
use super::settings::Settings;
use crate::scene::{Body, Material, Scene, SceneError, Shape, StaticObject};

pub(super) const PARAMETERS: &[Parameter] =
    &[Parameter { name: "cue_speed", default: "8", help: "speed of the cue ball in m/s, 0.1 to 20" }];

const RADIUS_M: f64 = 0.028575;
const BALL_KG: f64 = 0.17;
/// Half the inside length and width of the table, metres.
const TABLE_HALF_M: [f64; 2] = [1.27, 0.635];
/// A larger rack gets a larger table.
const ROWS_ON_TABLE: f64 = 10.0;
/// How far a ball may be off its position in the rack, so that no two breaks are alike, metres.
const JITTER_M: f64 = 1e-5;
/// Distance of positions in the rack beyond a ball's diameter; wide enough for the jitter of both neighbours.
const RACK_GAP_M: f64 = 4e-5;
/// Top of the cushions above the cloth, metres.
const CUSHION_TOP_M: f64 = 0.05;
const CUSHION_HALF_WIDTH_M: f64 = 0.1;
/// A ball may cross this share of its diameter in a tick.
const TRAVEL_SHARE: f64 = 0.2;
const FRAMES_PER_SECOND: f64 = 60.0;
const TICKS_PER_FRAME_MIN: f64 = 16.0;

/// Numbers of the balls in the rack, row by row: the 1 in front, the 8 in the middle, unlike corners.
const RACK: [usize; 15] = [1, 11, 5, 2, 8, 10, 9, 7, 14, 4, 6, 15, 13, 3, 12];
/// Colours of the balls by number; the cue ball is 0, and striped balls are lighter than plain ones.
const COLORS: [&str; 16] = [
    "#f4f1e4", "#f2b705", "#1846b5", "#c81d25", "#5b2a86", "#e8701a", "#14713d", "#7a1f2b", "#16161a",
    "#f7d774", "#7f9bdd", "#e58086", "#a98bc4", "#f3b583", "#79b896", "#b97d86",
];

/// The cue ball flies at a triangle of the remaining balls.
pub(super) fn build(settings: &Settings) -> Result<Scene, SceneError> {
    let cue_speed = settings.number("cue_speed", 0.1..=20.0)?;
    let racked = settings.bodies as usize - 1;
    let rows =
        (0..).find(|rows| rows * (rows + 1) / 2 >= racked).expect("invariant: some triangle is large enough");
    let scale = (rows as f64 / ROWS_ON_TABLE).max(1.0);
    let [half_length, half_width] = TABLE_HALF_M.map(|half| half * scale);
    let mut scene = Scene { gravity: EARTH, statics: table(half_length, half_width), ..Scene::default() };
    let ticks_per_frame = (cue_speed / (TRAVEL_SHARE * 2.0 * RADIUS_M) / FRAMES_PER_SECOND).ceil();
    scene.ticks_per_frame = ticks_per_frame.max(TICKS_PER_FRAME_MIN) as u32;
    scene.ticks_per_second = f64::from(scene.ticks_per_frame) * FRAMES_PER_SECOND;
    add_materials(&mut scene);
    let mut cue = ball(0, [-half_length * 0.5, RADIUS_M, 0.0]).moving([cue_speed, 0.0, 0.0]);
    cue.name = Some("cue".to_owned());
    scene.bodies.push(cue);
    let mut random = SplitMix64::new(settings.seed);
    let pitch = 2.0 * RADIUS_M + RACK_GAP_M;
    let positions = (0..rows).flat_map(|row| (0..=row).map(move |column| (row, column)));
    for (index, (row, column)) in positions.take(racked).enumerate() {
        let x = half_length * 0.5 + row as f64 * pitch * (0.75_f64).sqrt() + random.symmetric() * JITTER_M;
        let z = (column as f64 - row as f64 * 0.5) * pitch + random.symmetric() * JITTER_M;
        let number = RACK[index % RACK.len()];
        let mut ball = ball(number, [x, RADIUS_M, z]);
        ball.name = (racked <= RACK.len()).then(|| format!("ball {number}"));
        scene.bodies.push(ball);
    }
    Ok(scene)
}

fn ball(number: usize, position: [f64; 3]) -> Body {
    Body::new(Shape::Sphere { radius: RADIUS_M }, position).of(&material_name(number))
}

fn material_name(number: usize) -> String {
    if number == 0 { "ball-cue".to_owned() } else { format!("ball-{number:02}") }
}

/// Materials combine by the geometric mean: between balls 0.95 and 0.05, on the cloth a friction of 0.2, at a
/// cushion a restitution of 0.85.
fn add_materials(scene: &mut Scene) {
    let density = BALL_KG / (4.0 / 3.0 * PI * RADIUS_M * RADIUS_M * RADIUS_M);
    let mut add = |name: String, friction, restitution, color: &str| {
        scene
            .materials
            .insert(name, Material { density, friction, restitution, color: Some(color.to_owned()) });
    };
    for (number, color) in COLORS.iter().enumerate() {
        add(material_name(number), 0.05, 0.95, color);
    }
    add("cloth".to_owned(), 0.8, 0.3, "#1c7a4c");
    add("cushion".to_owned(), 0.4, 0.76, "#6b4226");
}

/// A cloth with its top at y = 0 and four cushions around it.
fn table(half_length: f64, half_width: f64) -> Vec<StaticObject> {
    let w = CUSHION_HALF_WIDTH_M;
    let cloth = [half_length + 2.0 * w, 0.05, half_width + 2.0 * w];
    let end = [w, CUSHION_TOP_M, half_width + 2.0 * w];
    let side = [half_length, CUSHION_TOP_M, w];
    vec![
        fixed_box("cloth", cloth, [0.0, -0.05, 0.0]).of("cloth"),
        fixed_box("cushion head", end, [-half_length - w, 0.0, 0.0]).of("cushion"),
        fixed_box("cushion foot", end, [half_length + w, 0.0, 0.0]).of("cushion"),
        fixed_box("cushion left", side, [0.0, 0.0, -half_width - w]).of("cushion"),
        fixed_box("cushion right", side, [0.0, 0.0, half_width + w]).of("cushion"),
    ]
}
