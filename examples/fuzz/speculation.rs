//! Random runs by all executors with one result: the digest must be that of the sequential one.

use anachron::SyncMode;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::program::{Finding, Program};
use crate::scenes::write;

const SCENARIOS: &[(&str, usize)] = &[
    ("parallel", 200),
    ("cylinders", 150),
    ("bouncing", 120),
    ("gas", 300),
    ("bowl", 150),
    ("pyramid", 21),
    ("stack", 10),
    ("newton-cradle", 7),
    ("billiards", 16),
    ("building", 40),
];

pub fn random_run(dice: &mut Dice, program: &mut Program) -> Result<&'static str, Finding> {
    let seconds = *dice.pick(&["0.1", "0.5", "1", "2"]);
    let scene = if dice.once_in(2) {
        write(&program.folder.join("scene.json"), random_scene(dice).to_string().as_bytes())?;
        ["scene.json"].map(str::to_owned).to_vec()
    } else {
        let (scenario, most) = *dice.pick(SCENARIOS);
        let (bodies, seed) = ((1 + dice.below(most)).to_string(), dice.next().to_string());
        [scenario, "--bodies", &bodies, "--seed", &seed].map(str::to_owned).to_vec()
    };
    let scene: Vec<&str> = scene.iter().map(String::as_str).collect();
    let scene = [&["run"], &scene[..], &["--seconds", seconds, "--json", "--quiet"]].concat();
    // A scenario may not go with that number of bodies.
    let right = program.run(&[&scene[..], &["--sync", "sequential"]].concat(), &[0, 2])?;
    if right.code() != Some(0) {
        return Ok("rejected");
    }
    let syncs: Vec<_> = SyncMode::same_result().collect();
    let sync = if dice.once_in(3) { dice.pick(&syncs).0 } else { "timewarp" };
    let mut flags: Vec<String> = vec!["--sync".into(), sync.into()];
    let mut add = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
    add("--cores", (1 + dice.below(6)).to_string());
    if dice.once_in(2) {
        add("--window", dice.pick(&["1", "4.2", "20", "100", "1024", "100000"]).to_string());
    }
    // Regions by default, with messages and rollbacks where there are several.
    let is_by_body = sync != "timewarp" || dice.once_in(2);
    if is_by_body && sync == "timewarp" {
        add("--regions", "bodies".to_owned());
    } else if sync == "timewarp" && dice.once_in(2) {
        add("--regions", (1 + dice.below(9)).to_string());
    }
    if is_by_body && dice.once_in(3) {
        add("--buckets", dice.pick(&["1", "2", "17", "256"]).to_string());
    }
    if is_by_body && dice.once_in(3) {
        add("--tvht", "actors".to_owned());
    }
    if is_by_body && dice.once_in(4) {
        add("--history", dice.pick(&["10", "100"]).to_string());
    }
    if is_by_body && dice.once_in(4) {
        add("--memory", "1".to_owned());
    }
    add("--chaos-seed", dice.below(1000).to_string());
    if is_by_body && dice.once_in(4) {
        flags.push("--fixed-window".to_owned());
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let other = program.run(&[&scene[..], &flags[..]].concat(), &[0, 2])?;
    if other.code() != Some(0) {
        return Ok("rejected");
    }
    let (right, other) = (right.json()?, other.json()?);
    if right["digest"] != other["digest"] {
        return Err(format!(
            "the digest is {}, and {} by the sequential executor",
            other["digest"], right["digest"]
        ));
    }
    Ok("equal")
}

/// Bodies of all shapes, close enough to meet, over a floor and around a pillar.
fn random_scene(dice: &mut Dice) -> Value {
    let body = |dice: &mut Dice| {
        json!({
            "shape": random_shape(dice),
            "position": [between(dice, -3.0, 3.0), between(dice, 0.5, 6.0), between(dice, -3.0, 3.0)],
            "velocity": vector(dice, 4.0),
            "angular_velocity": vector(dice, 8.0),
            "material": dice.pick(&["default", "other"]),
        })
    };
    let bodies: Vec<Value> = (0..1 + dice.below(80)).map(|_| body(dice)).collect();
    json!({
        "ticks_per_second": dice.pick(&[60.0, 120.0, 240.0, 500.0]),
        "gravity": [0.0, *dice.pick(&[0.0, -1.6, -9.81]), 0.0],
        "response": { "iterations": 1 + dice.below(20) },
        "materials": { "other": { "friction": between(dice, 0.0, 1.0), "restitution": between(dice, 0.0, 1.0) } },
        "static": [
            { "shape": { "half_space": { "normal": [0, 1, 0] } } },
            { "shape": random_shape(dice), "position": [0, 1, 0] },
        ],
        "body": bodies,
    })
}

fn random_shape(dice: &mut Dice) -> Value {
    let (radius, half) = (between(dice, 0.1, 0.4), between(dice, 0.1, 0.4));
    match dice.below(6) {
        0 => json!({ "sphere": { "radius": radius } }),
        1 => json!({ "box": { "half_extents": [radius, half, between(dice, 0.1, 0.4)] } }),
        2 => json!({ "capsule": { "radius": radius, "half_height": half } }),
        3 => json!({ "cylinder": { "radius": radius, "half_height": half } }),
        4 => json!({ "ring": { "radius": radius, "tube": 0.3 * radius } }),
        _ => json!({ "hull": { "points":
            [[radius, 0.0, 0.0], [-radius, 0.0, 0.0], [0.0, half, 0.0], [0.0, -half, 0.1], [0.0, 0.0, 0.3]] } }),
    }
}

fn between(dice: &mut Dice, low: f64, high: f64) -> f64 {
    low + (high - low) * dice.below(1 << 20) as f64 / f64::from(1 << 20)
}

fn vector(dice: &mut Dice, most: f64) -> [f64; 3] {
    [(); 3].map(|()| between(dice, -most, most))
}
