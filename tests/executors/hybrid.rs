//! A ball dives into a pile at rest while others fly high above it. The pile ends alike with islands and without, and the
//! flying balls still take long steps.

use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::base::frame::Frame;
use anachron::internals::base::state::BodyState;
use anachron::internals::executor::single_thread::{Order, StepView, run_watched};
use anachron::internals::executor::{Job, Tuning};
use anachron::internals::islands::{IslandModel, IslandSettings};
use anachron::internals::physics::World;
use anachron::internals::protocol::Stats;
use anachron::internals::rigid::RigidModel;
use anachron::scene::{Scene, Shape, StaticObject};
use anachron::{Simulation, Stop, SyncMode};

use crate::scenes::ball;

/// Balls of the pile, the diving one included.
const PILE: usize = 28;
/// Balls that fly above the pile.
const FLYERS: usize = 6;

/// An open pit, balls that come to rest in it, one that dives in after two seconds, and some that fly above the pit for the
/// whole scene. `aim` moves the diving ball and perturbs the pile.
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

/// The pile at the end.
#[derive(Debug, Default)]
struct Pile {
    /// Height of the centre of mass, metres.
    centre: f64,
    /// Height of the highest ball, metres.
    top: f64,
    /// Mean speed, m/s.
    speed: f64,
    /// Energy per ball relative to rest on the floor, in units of the energy that lifts a ball by its radius.
    energy: f64,
    /// The deepest overlap of the whole run, metres.
    overlap: f64,
}

fn outcome(scene: &Scene, bridge: Option<IslandSettings>) -> Pile {
    let simulation =
        Simulation::new(scene).expect("the scene is valid").sync(SyncMode::Sequential).bridge(bridge);
    let mut pile = Pile::default();
    let mut sink = |frame: &Frame| {
        let states: Vec<_> = frame.bodies[..PILE].iter().map(|(_, state)| state).collect();
        let mean =
            |of: &dyn Fn(&BodyState) -> f64| states.iter().map(|state| of(state)).sum::<f64>() / PILE as f64;
        pile.centre = mean(&|state| state.x.y);
        pile.top = states.iter().map(|state| state.x.y).fold(0.0, f64::max);
        pile.speed = mean(&|state| state.v.norm());
        // The moment of inertia of a ball is two fifths of m r².
        let energy = |state: &BodyState| {
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

/// Piles are chaotic, so means over twelve of them are compared. With and without islands, the centre of mass and the energy
/// differ by no more than 4 %, the height by no more than half a radius.
#[test]
fn a_pile_ends_alike_with_islands_and_without() {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for aim in 0..12 {
        without.push(outcome(&pit(aim), None));
        with.push(outcome(&pit(aim), Some(IslandSettings::default())));
    }
    let both = |of: fn(&Pile) -> f64| (mean(&without, of), mean(&with, of));
    let close = |(a, b): (f64, f64), band: f64, what: &str| {
        println!("{what}: {a:.4} without, {b:.4} with islands");
        assert!((a - b).abs() < band, "{what}: {a} without, {b} with islands, {band} allowed");
    };
    close(both(|pile| pile.centre), 0.04 * mean(&without, |pile| pile.centre), "centre of mass");
    close(both(|pile| pile.energy), 0.04 * mean(&without, |pile| pile.energy), "energy");
    close(both(|pile| pile.top), 0.25, "height");
    for pile in without.iter().chain(&with) {
        assert!(pile.speed < 0.2, "at rest, or nearly: {pile:?}");
        assert!(pile.overlap < 0.15, "overlaps stay shallow: {pile:?}");
    }
}

/// While the island of the pile advances tick by tick, the flying balls take steps as long as without it.
#[test]
fn islands_do_not_shorten_the_steps_of_flying_bodies() {
    let scene = pit(0);
    let world = Arc::new(World::new(&scene).unwrap());
    let islands = IslandModel::new(&world, IslandSettings::default()).unwrap();
    let with_islands = RigidModel::new(world.clone()).with_islands(Some(Arc::new(islands)));
    // Entities and bodies have the same numbers.
    let tuning = Tuning::default();
    let stats_of = |model: &RigidModel| {
        let mut stats: Vec<Stats> = Vec::new();
        let job = Job { model, tuning: &tuning, inputs: None, stop: &Stop::default() };
        let mut watch = |view: &StepView| {
            stats.resize(view.drivers.len(), Stats::default());
            let entity = view.acted.0 as usize;
            stats[entity] = *view.drivers[entity].entity().stats();
        };
        let (tally, _) =
            run_watched(job, Order::Sensible, &mut watch, &mut |_| ControlFlow::Continue(())).unwrap();
        (stats, tally)
    };
    let ((free, _), (stats, tally)) = (stats_of(&RigidModel::new(world)), stats_of(&with_islands));
    let ticks_per_step = |stats: &[Stats]| {
        let flyers = &stats[PILE..PILE + FLYERS];
        let (ticks, steps) = flyers.iter().fold((0, 0), |sum, one| (sum.0 + one.ticks, sum.1 + one.steps));
        ticks as f64 / steps as f64
    };
    let (without, with) = (ticks_per_step(&free), ticks_per_step(&stats));
    println!("{without:.1} ticks a step without, {with:.1} with islands");
    assert!(with > 30.0 && with > 0.8 * without, "{with} ticks a step, {without} without islands");
    // The entities of islands, which are numbered after those of all bodies, respond at every tick.
    let islands = &stats[PILE + FLYERS..];
    let (ticks, responses) =
        islands.iter().fold((0, 0), |sum, one| (sum.0 + one.ticks, sum.1 + one.responses));
    let summary = tally.bridge.expect("there are islands");
    println!("{ticks} ticks and {responses} responses of islands, {summary:?}");
    assert!(responses >= ticks && ticks > 900, "{ticks} ticks, {responses} responses");
    assert!(summary.bodies as usize >= PILE && summary.bodies_freed <= 3, "{summary:?}");
}
