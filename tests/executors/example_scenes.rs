//! The scene files in `scenes/`: they load without a warning, run, and end as their first lines say.

use std::path::PathBuf;

use anachron::internals::base::frame::Frame;
use anachron::internals::base::math::Vec3;
use anachron::scene::{Scene, load};

use crate::scenes::run;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenes")
}

fn example(name: &str) -> Scene {
    load(&folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs an example and returns its last frame.
fn end_of(name: &str) -> Frame {
    let (report, last) = run(&example(name));
    assert!(
        !report.interrupted && report.tally.contacts > 0,
        "{name}: a run without contacts, or an interrupted one, proves little"
    );
    last
}

#[test]
fn every_example_loads_without_a_warning() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("the folder exists") {
        let name = entry.expect("the folder is readable").file_name().into_string().expect("names are UTF-8");
        if name.ends_with(".toml") {
            let warnings = example(&name).validate().expect("a loaded scene is valid");
            assert!(warnings.is_empty(), "{name}: {warnings:?}");
            names.push(name);
        }
    }
    names.sort();
    assert_eq!(names, ["dominoes.toml", "marbles.toml", "toys.toml"], "each has a test below");
}

#[test]
fn all_dominoes_fall() {
    for (id, state) in &end_of("dominoes.toml").bodies[1..] {
        let upright = (state.q * Vec3::y()).y;
        assert!(upright < 0.5, "{id} stands: {upright}");
        assert!(state.v.norm() < 0.05, "{id} still moves at {} m/s", state.v.norm());
    }
}

#[test]
fn marbles_stay_in_the_valley() {
    for (id, state) in &end_of("marbles.toml").bodies {
        assert!(state.x.x.abs() < 6.0 && state.x.z.abs() < 6.0 && state.x.y > -0.5, "{id}: {:?}", state.x);
    }
}

#[test]
fn toys_lie_on_the_table_or_on_the_ground() {
    let last = end_of("toys.toml");
    let heights: Vec<f64> = last.bodies.iter().map(|(_, state)| state.x.y).collect();
    assert!(heights.iter().all(|height| (0.09..1.5).contains(height)), "{heights:?}");
    let on_table = heights.iter().filter(|height| **height > 1.0).count();
    assert!((1..heights.len()).contains(&on_table), "{heights:?}");
}
