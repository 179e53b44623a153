//! What must not change a bit of the result: the order in which bodies are listed, names, the file format, a second run.

use std::ops::ControlFlow;

use anachron::scenarios::{Request, build};
use anachron::scene::{Scene, SceneFormat, parse};
use anachron::{Regions, Report, Simulation, SyncMode, Tuning};
use proptest::prelude::*;

fn report(scene: &Scene) -> Report {
    let simulation = Simulation::new(scene).expect("the scene is valid").sync(SyncMode::Sequential);
    simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes")
}

/// Short runs of scenarios with many contacts.
fn busy_scene(which: usize) -> Scene {
    let (name, bodies, seconds) = [
        ("cylinders", 120, 1.0),
        ("bouncing", 60, 0.5),
        ("bowl", 100, 1.2),
        ("pyramid", 28, 0.2),
        ("billiards", 16, 0.4),
    ][which];
    let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
    build(name, &request).expect("the scenario is valid")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// The same ids in another order of the list.
    #[test]
    fn the_order_of_the_list_does_not_matter(which in 0usize..5, seed: u64) {
        let scene = busy_scene(which);
        let mut shuffled = scene.clone();
        for (at, body) in shuffled.bodies.iter_mut().enumerate() {
            body.id = Some(at as u32);
        }
        for (at, object) in shuffled.statics.iter_mut().enumerate() {
            object.id = Some(at as u32);
        }
        let mut random = seed | 1;
        let mut below = |n: usize| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) as usize % n
        };
        for at in (1..shuffled.bodies.len()).rev() {
            shuffled.bodies.swap(at, below(at + 1));
        }
        for at in (1..shuffled.statics.len()).rev() {
            shuffled.statics.swap(at, below(at + 1));
        }
        prop_assert_eq!(report(&shuffled).digest, report(&scene).digest);
    }
}

#[test]
fn ids_do_matter() {
    let scene = busy_scene(1);
    let mut renamed = scene.clone();
    let count = renamed.bodies.len() as u32;
    for (at, body) in renamed.bodies.iter_mut().enumerate() {
        body.id = Some(count - at as u32);
    }
    // Another order of sums gives another result; if it did not, the test above would prove nothing.
    assert_ne!(report(&renamed).digest, report(&scene).digest);
}

#[test]
fn neither_names_nor_file_formats_nor_a_second_run_matter() {
    for which in 0..5 {
        let scene = busy_scene(which);
        let expected = report(&scene);
        assert!(expected.tally.contacts > 0);
        let mut named = scene.clone();
        for (at, body) in named.bodies.iter_mut().enumerate() {
            body.name = Some(format!("body number {at}"));
        }
        let toml = parse(&scene.to_toml(), SceneFormat::Toml).expect("a written scene can be read");
        let json = parse(&scene.to_json(), SceneFormat::Json).expect("a written scene can be read");
        for other in [scene, named, toml, json] {
            assert_eq!(report(&other), expected);
        }
    }
}

/// Ids need not be indices: messages name bodies by their ids, and every adversarial run sends them as bytes.
#[test]
fn sparse_ids_survive_the_wire() {
    for which in 0..5 {
        let mut scene = busy_scene(which);
        for (at, body) in scene.bodies.iter_mut().enumerate() {
            body.id = Some(7 * at as u32 + 3);
        }
        scene.seconds = scene.seconds.min(0.4);
        let simulation = Simulation::new(&scene).expect("the scene is valid");
        let digest = |sync: SyncMode| {
            let tuning = Tuning { regions: Regions::Bodies, ..Tuning::default() };
            let run = simulation.clone().sync(sync).tuning(tuning).run(|_| ControlFlow::Continue(()));
            run.expect("the run finishes").digest
        };
        let expected = digest(SyncMode::Sequential);
        for sync in [SyncMode::Chaos, SyncMode::Timewarp] {
            assert_eq!(digest(sync), expected, "scene {which}, {sync:?}");
        }
    }
}
