//! Speculation commits exactly the frames and the tally of the sequential reference, whatever the scene, the tuning and
//! the schedule.
//!
//! A failure prints a recipe. `ANACHRON_RECIPE='...' cargo test --test executors speculation::replay` runs
//! it again. `ANACHRON_CASES=100 cargo test --test executors speculation::random` runs a hundred times as
//! many cases.

use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::Stop;
use anachron::internals::executor::Job;
use anachron::internals::executor::single_thread::{Order, StepView, run_watched};
use anachron::internals::physics::World;
use anachron::internals::rigid::RigidModel;
use anachron::internals::runtime::shared::Tuning;
use anachron::scene::{Body, Material, Scene, Shape, StaticObject};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::patience::patience;
use crate::recipe::Recipe;
use crate::same_bits::Reference;

#[test]
fn random_scenes_commit_the_reference() {
    let config = Config { cases: 400 * patience(), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner
        .run(&crate::recipe::any_recipe(), |recipe| recipe.check().map(|_| ()).map_err(TestCaseError::fail));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, recipe)) => panic!("{reason}\nANACHRON_RECIPE='{recipe}'"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn replay() {
    let Ok(text) = std::env::var("ANACHRON_RECIPE") else { return };
    let recipe: Recipe = text.parse().expect("a recipe, as a failure prints it");
    let stats = recipe.check().unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{stats:#?}");
}

/// Tunings and schedules that differ widely.
fn variants() -> Vec<(Tuning, Order)> {
    let tuning = |window_ticks| Tuning { window_ticks, contact_window_ticks: Some(2), ..Tuning::default() };
    let mut variants = vec![(tuning(1), Order::Sensible), (tuning(1024), Order::Sensible)];
    variants.extend((0..6).map(|seed| (tuning([3, 40][seed as usize % 2]), Order::Adversarial(seed))));
    variants
}

fn check_all_variants(scene: &Scene) {
    let reference = Reference::new(scene);
    for (tuning, order) in variants() {
        if let Err(wrong) = reference.compare(&tuning, order) {
            panic!("{wrong}\n{tuning:?} {order:?}");
        }
    }
}

fn floor() -> StaticObject {
    StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3])
}

/// Balls in a tight heap on the floor; `radius` in metres.
fn heap(radius: f64, bodies: u32) -> Scene {
    let mut scene = Scene { seconds: 0.25, statics: vec![floor()], ..Scene::default() };
    for body in 0..bodies {
        let site = [body % 3, body / 9, body / 3 % 3].map(|c| f64::from(c) * 2.0 * radius);
        scene.bodies.push(Body::new(Shape::Sphere { radius }, [site[0], site[1] + radius, site[2]]));
    }
    scene
}

#[test]
fn a_run_without_ticks_and_a_run_of_one_body() {
    check_all_variants(&Scene { seconds: 1e-4, ..heap(0.5, 4) });
    check_all_variants(&Scene { seconds: 1.0 / 240.0, ..heap(0.5, 4) });
    check_all_variants(&heap(0.5, 1));
}

/// A ring stuck in a mesh has impacts without effect, with less and less restitution. Whether it has another one must not
/// depend on impacts of bodies elsewhere.
#[test]
fn an_impact_without_effect_is_still_an_impact() {
    let recipe: Recipe = "Clutter 4782956025213766632 11 5 1 none 1 0.5 false sensible".parse().unwrap();
    recipe.check().unwrap();
}

/// Cells must not be smaller than the distance that gravity moves a body in a tick, however small the bodies are.
#[test]
fn tiny_bodies_and_long_ticks_do_not_flood_the_table() {
    check_all_variants(&heap(1e-5, 12));
    check_all_variants(&Scene { ticks_per_second: 1.0, seconds: 20.0, ..heap(0.1, 12) });
}

/// Far from the origin positions are rounded by more than the size of a small body.
#[test]
fn small_bodies_far_away_do_not_flood_the_table() {
    let mut scene = Scene { gravity: [0.0; 3], seconds: 0.2, ..Scene::default() };
    for number in 0..6 {
        let body = Body::new(Shape::Sphere { radius: 1e-4 }, [1e9, 3e-4 * f64::from(number), 0.0]);
        scene.bodies.push(body.moving([0.0, 0.01 * f64::from(3 - number), 0.0]));
    }
    check_all_variants(&scene);
}

/// Far more actions than any of these runs takes.
const ACTIONS_MAX: u64 = 100_000_000;

/// Balls that bounce along the floor, ever further: what lies behind them is collected.
#[test]
fn nothing_is_kept_of_where_bodies_were_many_windows_ago() {
    let tuning = Tuning { window_ticks: 64, buckets: 1 << 16, ..Tuning::default() };
    let mut scene =
        Scene { seconds: 16.0, ticks_per_frame: 1_000_000, statics: vec![floor()], ..Scene::default() };
    scene
        .materials
        .insert("default".to_owned(), Material { restitution: 1.0, friction: 0.0, ..Material::default() });
    for number in 0..12 {
        let (height, z) = (0.6 + 0.03 * f64::from(number), 3.0 * f64::from(number));
        let ball = Body::new(Shape::Sphere { radius: 0.5 }, [0.0, height, z]);
        scene.bodies.push(ball.moving([12.0 + f64::from(number), 0.0, 0.0]));
    }
    let model = RigidModel::new(Arc::new(World::new(&scene).expect("the scene is valid")));
    let last_tick = model.world.time.last_tick;
    // The most segments, entries and flights while GVT is in each quarter of the run.
    let (mut most, mut actions) = ([[0; 3]; 4], 0_u64);
    let mut watch = |view: &StepView| {
        actions += 1;
        assert!(actions < ACTIONS_MAX, "no end after {actions} actions");
        let quarter = (4 * view.shared.gvt.gvt() / (last_tick + 1)) as usize;
        let segments = view.entities().map(|entity| entity.segments()).sum();
        let now = [segments, view.shared.table.len(), view.shared.log.len()];
        most[quarter] = std::array::from_fn(|kind| most[quarter][kind].max(now[kind]));
    };
    let job = Job { model: &model, tuning: &tuning, inputs: None, stop: &Stop::default() };
    run_watched(job, Order::Sensible, &mut watch, &mut |_| ControlFlow::Continue(()))
        .expect("the run finishes");
    println!("segments, entries and flights in each quarter of {last_tick} ticks: {most:?}");
    for (kind, name) in ["segments", "entries of the table", "flights of the log"].iter().enumerate() {
        let [first, .., last] = most.map(|quarter| quarter[kind]);
        assert!(last <= 2 * first, "{last} {name} in the last quarter, {first} in the first");
    }
}

/// Histories, table and flight log are bounded by the window, not by the length of the run.
#[test]
fn memory_does_not_grow_with_time() {
    for ticks_per_frame in [4, 1_000_000] {
        let world = World::new(&Scene { seconds: 8.0, ticks_per_frame, ..heap(0.5, 30) });
        let model = RigidModel::new(Arc::new(world.expect("the scene is valid")));
        let (mut most, mut actions) = ([0usize; 3], 0u64);
        let mut watch = |view: &StepView| {
            actions += 1;
            assert!(actions < ACTIONS_MAX, "no end after {actions} actions");
            if actions.is_multiple_of(64) {
                let segments = view.entities().map(|entity| entity.segments()).sum();
                let now = [segments, view.shared.table.len(), view.shared.log.len()];
                most = std::array::from_fn(|kind| most[kind].max(now[kind]));
            }
        };
        let tuning = Tuning { window_ticks: 128, ..Tuning::default() };
        let job = Job { model: &model, tuning: &tuning, inputs: None, stop: &Stop::default() };
        let go_on = &mut |_| ControlFlow::Continue(());
        run_watched(job, Order::Sensible, &mut watch, go_on).expect("the run finishes");
        // At worst every body rests and runs a whole window ahead, tick by tick; a ball covers few cells; and flights may
        // wait for the next frame, or for the log to be cleared between frames.
        let segments = 30 * (tuning.window_ticks as usize + 4);
        let bounds = [segments, 27 * segments, segments + 30 * 256];
        println!("segments, entries and flights: {most:?} of {bounds:?}; the run has {} ticks", 8 * 240);
        assert!((0..3).all(|kind| most[kind] <= bounds[kind]), "{most:?} of {bounds:?}");
    }
}
