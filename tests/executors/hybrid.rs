//! A ball dives into a pile at rest while others fly high above it: with a bridge and without one the pile ends the
//! same, and those who fly are not held up by it.

use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::executor::single_thread::{Order, run_watched};
use anachron::internals::executor::{Job, Tuning};
use anachron::internals::islands::{IslandModel, IslandSettings};
use anachron::internals::physics::World;
use anachron::internals::protocol::Stats;
use anachron::internals::rigid::RigidModel;
use anachron::scene::{Scene, Shape, StaticObject};
use anachron::{Simulation, SyncMode};

use crate::scenes::ball;

/// Balls of the pile, and of those that fly.
const PILE: usize = 28;
const FLYERS: usize = 6;

/// A pit that is open above, balls that fossil_collect in it, one that dives in after two seconds, and some that fly above the
/// pit for as long as the scene lasts. `aim` moves the diver and shakes the pile.
fn pit(aim: u32) -> Scene {
    let mut scene = crate::scenes::scene(0.4, 0.2);
    (scene.name, scene.seconds) = ("pit".into(), 5.0);
    let wall = |normal, position| StaticObject::new(Shape::HalfSpace { normal }, position);
    scene.statics = vec![
        crate::scenes::floor(),
        wall([1.0, 0.0, 0.0], [-1.7, 0.0, 0.0]),
        wall([-1.0, 0.0, 0.0], [1.7, 0.0, 0.0]),
        wall([0.0, 0.0, 1.0], [0.0, 0.0, -1.7]),
        wall([0.0, 0.0, -1.0], [0.0, 0.0, 1.7]),
    ];
    for k in 0..PILE as u32 - 1 {
        let (layer, row, column) = (k / 9, k % 9 / 3, k % 3);
        let jitter = 0.02 * f64::from((k * 31 + aim * 17) % 11) - 0.1;
        let along = |number: u32| 1.05 * (f64::from(number) - 1.0) + jitter;
        scene.bodies.push(ball(0.5, [along(row), 0.55 + 1.05 * f64::from(layer), along(column)]));
    }
    let diver = ball(0.5, [0.3 * f64::from(aim % 3) - 0.3, 23.0, 0.25 * f64::from(aim % 4) - 0.4]);
    scene.bodies.push(diver);
    for k in 0..FLYERS {
        let mut flyer = ball(0.3, [-1.0 + 0.4 * k as f64, 40.0 + 2.0 * k as f64, 0.0]);
        flyer.velocity = [0.0, 24.0 + k as f64, 0.0];
        scene.bodies.push(flyer);
    }
    scene
}

/// What a pile is like in the end.
#[derive(Debug, Default)]
struct Pile {
    /// Height of the centre of mass, and of the highest ball, metres.
    centre: f64,
    top: f64,
    /// Mean speed, m/s.
    speed: f64,
    /// Energy against the floor, per ball, in units of what lifts a ball by its radius.
    energy: f64,
    /// The deepest overlap of the whole run, metres.
    overlap: f64,
}

fn outcome(scene: &Scene, bridge: Option<IslandSettings>) -> Pile {
    let simulation =
        Simulation::new(scene).expect("the scene is valid").sync(SyncMode::Sequential).bridge(bridge);
    let mut pile = Pile::default();
    let mut sink = |frame: &anachron::internals::base::frame::Frame| {
        let states: Vec<_> = frame.bodies[..PILE].iter().map(|(_, state)| state).collect();
        let mean = |of: &dyn Fn(&anachron::internals::base::state::BodyState) -> f64| {
            states.iter().map(|state| of(state)).sum::<f64>() / PILE as f64
        };
        pile.centre = mean(&|state| state.x.y);
        pile.top = states.iter().map(|state| state.x.y).fold(0.0, f64::max);
        pile.speed = mean(&|state| state.v.norm());
        // Two fifths of m r² is what a ball resists turning with.
        let energy = |state: &anachron::internals::base::state::BodyState| {
            crate::scenes::G * state.x.y
                + 0.5 * state.v.norm_squared()
                + 0.5 * 0.4 * 0.25 * state.w.norm_squared()
        };
        pile.energy = mean(&energy) / (crate::scenes::G * 0.5);
        ControlFlow::Continue(())
    };
    let report = simulation.run(&mut sink).expect("the run finishes");
    pile.overlap = report.tally.max_overlap_m;
    pile
}

/// The mean over many aims.
fn mean(piles: &[Pile], of: impl Fn(&Pile) -> f64) -> f64 {
    piles.iter().map(of).sum::<f64>() / piles.len() as f64
}

/// Each pile is one of many that might have been; on average over twelve of them, the centre of mass and the energy
/// with and without a bridge differ by no more than 4 %, the height by no more than half a radius.
#[test]
fn a_pile_ends_the_same_with_a_bridge_and_without() {
    let (mut plain, mut bridged) = (Vec::new(), Vec::new());
    for aim in 0..12 {
        plain.push(outcome(&pit(aim), None));
        bridged.push(outcome(&pit(aim), Some(IslandSettings::default())));
    }
    let both = |of: fn(&Pile) -> f64| (mean(&plain, of), mean(&bridged, of));
    let close = |(a, b): (f64, f64), band: f64, what: &str| {
        println!("{what}: {a:.4} without, {b:.4} with a bridge");
        assert!((a - b).abs() < band, "{what}: {a} without, {b} with a bridge, {band} allowed");
    };
    close(both(|pile| pile.centre), 0.04 * mean(&plain, |pile| pile.centre), "centre of mass");
    close(both(|pile| pile.energy), 0.04 * mean(&plain, |pile| pile.energy), "energy");
    close(both(|pile| pile.top), 0.25, "height");
    for pile in plain.iter().chain(&bridged) {
        assert!(pile.speed < 0.2, "at rest, or nearly: {pile:?}");
        assert!(pile.overlap < 0.15, "never deep in each other: {pile:?}");
    }
}

/// While the pile is advanced tick by tick, those above it fly on as if it were not there.
#[test]
fn who_flies_is_not_held_up_by_groups() {
    let scene = pit(0);
    let world = Arc::new(World::new(&scene).unwrap());
    let islands = IslandModel::new(&world, IslandSettings::default()).unwrap();
    let bridged = RigidModel { world: world.clone(), islands: Some(Arc::new(islands)) };
    // Everybody begins alone, so that entities and bodies have the same numbers.
    let tuning = Tuning { cluster: 1, ..Tuning::default() };
    let strides = |model: &RigidModel| {
        let mut stats: Vec<Stats> = Vec::new();
        let job = Job { model, tuning: &tuning, inputs: None };
        let mut watch = |glimpse: &anachron::internals::executor::single_thread::StepView| {
            stats.resize(glimpse.entities.len(), Stats::default());
            let at = glimpse.acted.0 as usize;
            stats[at] = *glimpse.entities[at].stats();
        };
        let (tally, _) =
            run_watched(job, Order::Sensible, &mut watch, &mut |_| ControlFlow::Continue(())).unwrap();
        (stats, tally)
    };
    let ((alone, _), (stats, tally)) = (strides(&RigidModel::new(world)), strides(&bridged));
    let stride = |stats: &[Stats]| {
        let flyers = &stats[PILE..PILE + FLYERS];
        let (ticks, steps) = flyers.iter().fold((0, 0), |sum, one| (sum.0 + one.ticks, sum.1 + one.steps));
        ticks as f64 / steps as f64
    };
    let (without, with) = (stride(&alone), stride(&stats));
    println!("{without:.1} ticks a step without, {with:.1} with a bridge");
    assert!(with > 30.0 && with > 0.8 * without, "{with} ticks a step, {without} without a bridge");
    // The groups, which have the numbers after all bodies, respond at every tick.
    let groups = &stats[PILE + FLYERS..];
    let (ticks, responses) =
        groups.iter().fold((0, 0), |sum, one| (sum.0 + one.ticks, sum.1 + one.responses));
    let summary = tally.bridge.expect("there is a bridge");
    println!("{ticks} ticks and {responses} responses of groups, {summary:?}");
    assert!(responses >= ticks && ticks > 900, "{ticks} ticks, {responses} responses");
    assert!(summary.bodies as usize >= PILE && summary.freed <= 3, "{summary:?}");
}
