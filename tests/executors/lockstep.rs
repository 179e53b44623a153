//! Lockstep commits exactly the frames and the tally of the sequential reference, in either gear and while gears change.
//!
//! A failure prints a case. `ANACHRON_LOCKSTEP='Heap 7 40 60' cargo test --test executors lockstep::replay` runs it again:
//! kind, seed, bodies, ticks. `ANACHRON_CASES=100 cargo test --test executors lockstep::random` runs a hundred times as
//! many cases.

use std::ops::ControlFlow;

use anachron::internals::base::ids::BodyId;
use anachron::internals::executor::Tuning;
use anachron::scenarios::{GOLDEN, Golden, Request, build};
use anachron::scene::{Body, Scene, Shape, StaticObject};
use anachron::{Digest, GearChoice, Input, InputError, RunError, Simulation, SyncMode, Tally};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::patience::patience;
use crate::random_scenes::{KINDS, Kind, scene};
use crate::scenes::{self, ball, floor, walls};

const GEARS: [GearChoice; 5] =
    [GearChoice::Calendar, GearChoice::Near, GearChoice::Heap, GearChoice::Alternate, GearChoice::Auto];
/// Kinds in which bodies touch at most ticks come twice.
const OFTEN: [Kind; 4] = [Kind::Heap, Kind::Columns, Kind::Lattice, Kind::Clutter];

/// What a run commits: digest, tally and number of frames, or why it ended.
type Outcome = Result<(Digest, Tally, u64), RunError>;

fn outcome(simulation: &Simulation) -> Outcome {
    let report = simulation.run(|_| ControlFlow::Continue(()))?;
    Ok((report.digest, report.tally, report.frames))
}

fn in_gear(simulation: &Simulation, gear: GearChoice, cores: usize) -> Simulation {
    let usual = Tuning { gear, ..Tuning::default() };
    // On one core by plain arrays and in many parts, on several as it is by default.
    let is_odd = gear == GearChoice::Heap && cores == 1;
    let tuning = if is_odd { Tuning { plain_lanes: true, heap_parts: 3, ..usual } } else { usual };
    simulation.clone().sync(SyncMode::Lockstep).tuning(tuning).cores(cores)
}

/// The first frame that differs, for the message of a failure.
fn first_difference(scene: &Scene, gear: GearChoice) -> Option<u64> {
    let frames = |simulation: &Simulation| {
        let mut frames = Vec::new();
        let _ = simulation.run(|frame| {
            frames.push(frame.clone());
            ControlFlow::Continue(())
        });
        frames
    };
    let simulation = Simulation::new(scene).ok()?.sync(SyncMode::Sequential);
    let (expected, found) = (frames(&simulation), frames(&in_gear(&simulation, gear, 1)));
    expected.iter().zip(&found).find(|(expected, found)| expected != found).map(|(frame, _)| frame.tick)
}

/// Compares all gears, on these numbers of cores, with the reference. The error says what differs.
fn compare(scene: &Scene, cores: &[usize]) -> Result<Tally, String> {
    let simulation = Simulation::new(scene).map_err(|error| error.to_string())?.sync(SyncMode::Sequential);
    let expected = outcome(&simulation);
    for gear in GEARS {
        for cores in cores {
            let found = outcome(&in_gear(&simulation, gear, *cores));
            if found != expected {
                let tick = first_difference(scene, gear);
                return Err(format!(
                    "{}, {gear:?}, {cores} cores: {found:?} instead of {expected:?}, frames differ from tick {tick:?}",
                    scene.name
                ));
            }
        }
    }
    Ok(expected.map_or_else(|_| Tally::default(), |(_, tally, _)| tally))
}

#[track_caller]
fn assert_same(scene: &Scene) -> Tally {
    compare(scene, &[1, 2]).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// A random scene in one line.
#[derive(Clone, Debug)]
struct Case {
    kind: Kind,
    seed: u64,
    bodies: u32,
    ticks: u32,
}

impl Case {
    fn scene(&self) -> Scene {
        scene(self.kind, self.seed, self.bodies, self.ticks)
    }

    fn line(&self) -> String {
        format!("{:?} {} {} {}", self.kind, self.seed, self.bodies, self.ticks)
    }
}

fn any_case(bodies: std::ops::RangeInclusive<u32>, ticks_max: u32) -> impl Strategy<Value = Case> {
    let kinds: Vec<Kind> = KINDS.into_iter().chain(OFTEN).collect();
    (prop::sample::select(kinds), any::<u64>().no_shrink(), bodies, 1..=ticks_max)
        .prop_map(|(kind, seed, bodies, ticks)| Case { kind, seed, bodies, ticks })
}

fn run_cases(cases: u32, strategy: impl Strategy<Value = Case>) {
    let config = Config { cases: cases * patience(), failure_persistence: None, ..Config::default() };
    let check = |case: Case| compare(&case.scene(), &[1, 2]).map(|_| ()).map_err(TestCaseError::fail);
    match TestRunner::new(config).run(&strategy, check) {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("{reason}\nANACHRON_LOCKSTEP='{}'", case.line()),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn random_scenes_commit_the_reference() {
    run_cases(160, any_case(2..=60, 100));
}

/// Few bodies fly far: most ticks have nothing due, and gears change by themselves.
#[test]
fn random_scenes_of_few_bodies_commit_the_reference() {
    run_cases(80, any_case(2..=8, 500));
}

#[test]
fn replay() {
    let Ok(text) = std::env::var("ANACHRON_LOCKSTEP") else { return };
    let words: Vec<&str> = text.split_whitespace().collect();
    let [kind, seed, bodies, ticks] = words[..] else { panic!("kind, seed, bodies, ticks") };
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let case = Case {
        kind: *KINDS.iter().find(|known| format!("{known:?}") == kind).expect("a kind"),
        seed: number(seed),
        bodies: number(bodies) as u32,
        ticks: number(ticks) as u32,
    };
    println!("{:?}", assert_same(&case.scene()));
}

fn scene_of(golden: &Golden) -> Scene {
    let set = golden.set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let most = if patience() == 1 { 400 } else { u32::MAX };
    let seconds = f64::from(golden.milliseconds.min(most)) / 1000.0;
    let sets = set.into_iter().collect();
    let request = Request { bodies: Some(golden.bodies), seed: None, seconds: Some(seconds), sets };
    build(golden.scenario, &request).expect("golden runs are valid")
}

#[test]
fn every_scenario_commits_the_reference() {
    let scenes = GOLDEN.iter().map(scene_of).filter(|scene| scene.joints.is_empty());
    for (case, scene) in scenes.enumerate() {
        // Both numbers of cores with every scenario are left to `./test long`.
        let cores = [1, 2];
        let cores = if patience() == 1 { &cores[case % 2..][..1] } else { &cores };
        compare(&scene, cores).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// Enough bodies for loops that cores share.
#[test]
fn many_bodies_commit_the_reference() {
    for (scenario, bodies) in [("bowl", 1500), ("gas", 1500), ("cylinders", 1200)] {
        let request = Request { bodies: Some(bodies), seconds: Some(0.15), ..Request::default() };
        assert_same(&build(scenario, &request).expect("the scenario is valid"));
    }
}

/// Contacts and crossings of cells that are thousands of ticks ahead.
#[test]
fn what_is_due_much_later_is_not_forgotten() {
    let mut scene =
        Scene { seconds: 40.0, gravity: [0.0; 3], statics: walls(4.0), ..scenes::scene(0.0, 1.0) };
    for number in 0..6 {
        let at = f64::from(number);
        let body = ball(0.3, [at - 2.5, 0.9 * at - 2.0, 0.4 * at - 1.0]);
        scene.bodies.push(body.moving([0.31 - 0.09 * at, 0.02 * at, 0.11 - 0.05 * at]));
    }
    let tally = assert_same(&scene);
    assert!(tally.contacts >= 6, "{tally:?}");
    // Two balls that meet once, after five thousand ticks, and a wall that one of them reaches before.
    let mut scene =
        Scene { seconds: 30.0, gravity: [0.0; 3], statics: vec![floor()], ..scenes::scene(0.0, 1.0) };
    scene.bodies.push(ball(0.1, [0.0, 5.0, 0.0]).moving([0.5, -0.4, 0.0]));
    scene.bodies.push(ball(0.1, [21.0, 3.4, 0.0]).moving([-0.5, 0.0, 0.0]));
    let tally = assert_same(&scene);
    assert!(tally.contacts >= 2, "{tally:?}");
}

/// Balls thrown up by different speeds, side by side: parabolas turn back anywhere in a cell.
#[test]
fn thrown_balls_commit_the_reference() {
    let mut scene = Scene { seconds: 3.0, statics: vec![floor()], ..scenes::scene(0.3, 0.8) };
    for number in 0..24 {
        let at = f64::from(number);
        let body = ball(0.25, [0.7 * f64::from(number % 5), 0.3 + 0.02 * at, 0.7 * f64::from(number / 5)]);
        scene.bodies.push(body.moving([0.4 - 0.05 * at, 4.0 + 0.3 * at, 0.03 * at]));
    }
    let tally = assert_same(&scene);
    assert!(tally.contacts > 40, "{tally:?}");
}

/// Bodies of very different sizes, some of them beyond what cells are made for.
#[test]
fn sizes_that_differ_commit_the_reference() {
    let mut scene = Scene { seconds: 1.5, statics: vec![floor()], ..scenes::scene(0.3, 0.5) };
    for number in 0..40 {
        let at = f64::from(number);
        let radius = [0.05, 0.05, 0.08, 0.04, 0.6][number as usize % 5];
        let body = ball(radius, [0.21 * f64::from(number % 7), 0.7 + 0.3 * at, 0.17 * f64::from(number % 3)]);
        scene.bodies.push(body.moving([0.0, 0.0, 0.2 - 0.01 * at]));
    }
    scene.bodies.push(ball(3.0, [0.0, 18.0, 0.0]));
    let tally = assert_same(&scene);
    assert!(tally.contacts > 50, "{tally:?}");
}

/// A ball that is struck flies far from where the list of near pairs was made, and meets another that was struck later.
#[test]
fn bodies_that_left_their_ways_at_different_ticks_meet() {
    let tick_s = 1.0 / 240.0;
    let mut scene = Scene { seconds: 0.1, gravity: [0.0; 3], ..scenes::scene(0.0, 1.0) };
    // So many that cells do not repeat themselves between the two.
    for number in 0..1000 {
        scene.bodies.push(ball(0.1, [f64::from(number) + 10.0, 0.0, 0.0]));
    }
    // Strikes the next at tick 1.
    scene.bodies.push(ball(0.1, [-0.19 - 200.0 * tick_s, 0.0, 0.0]).moving([200.0, 0.0, 0.0]));
    scene.bodies.push(ball(0.1, [0.0; 3]));
    // Strikes the next at tick 3; that one gets to the way of the other three ticks later.
    let x = 5.0 * 200.0 * tick_s;
    scene.bodies.push(ball(0.1, [x, 0.69 + 3.0 * 40.0 * tick_s, 0.0]).moving([0.0, -40.0, 0.0]));
    scene.bodies.push(ball(0.1, [x, 0.5, 0.0]));
    let tally = assert_same(&scene);
    assert!(tally.contacts >= 3, "{tally:?}");
}

/// A ball that is struck flies past many cells and meets one that was at rest all the time.
#[test]
fn a_body_that_left_its_way_is_looked_for_far_ahead() {
    let tick_s = 1.0 / 240.0;
    let mut scene = Scene { seconds: 0.1, gravity: [0.0; 3], ..scenes::scene(0.0, 1.0) };
    for number in 0..1000 {
        scene.bodies.push(ball(0.1, [f64::from(number) + 10.0, 0.0, 0.0]));
    }
    scene.bodies.push(ball(0.1, [-0.19 - 200.0 * tick_s, 0.0, 0.0]).moving([200.0, 0.0, 0.0]));
    scene.bodies.push(ball(0.1, [0.0; 3]));
    scene.bodies.push(ball(0.1, [3.0 * 200.0 * tick_s + 0.15, 0.0, 0.0]));
    let tally = assert_same(&scene);
    assert!(tally.contacts >= 2, "{tally:?}");
}

/// A ball is struck late in the life of a list, in a crowd that moves fast as a whole.
#[test]
fn a_crowd_that_moves_as_a_whole_commits_the_reference() {
    let (tick_s, together) = (1.0 / 240.0, 120.0);
    let mut scene = Scene { seconds: 0.1, gravity: [0.0; 3], ..scenes::scene(0.0, 1.0) };
    let mut add = |x: [f64; 3], down: f64| scene.bodies.push(ball(0.1, x).moving([together, -down, 0.0]));
    for number in 0..1000 {
        add([f64::from(number) + 10.0, 0.0, 0.0], 0.0);
    }
    // Strikes the next at tick 5, which meets the last at tick 7.
    add([0.0, 0.69 + 5.0 * 30.0 * tick_s, 0.0], 30.0);
    add([0.0, 0.5, 0.0], 0.0);
    add([0.0, 0.1, 0.0], 0.0);
    let tally = assert_same(&scene);
    assert!(tally.contacts >= 2, "{tally:?}");
}

/// Balls that touch a ceiling at the top of their parabolas and nowhere else.
/// Balls that are all near each other at one tick, and separate, are no crowd, however long a list of them would be, and in
/// however many parts it is made.
#[test]
fn bodies_that_separate_in_one_place_are_no_crowd() {
    const TICKS: f64 = 4.0;
    let mut scene = Scene { seconds: 8.0 / 240.0, gravity: [0.0; 3], ticks_per_frame: 1, ..Scene::default() };
    for at in 0..2600 {
        let at = f64::from(at) + 0.5;
        let (y, out) = (1.0 - at / 1300.0, 0.05 + 0.15 * (at * 0.618).fract());
        let (sin, cos) = libm::sincos(at * 2.4);
        let around = (1.0 - y * y).sqrt();
        // Beyond the centre by tick 4, on the way out.
        let place = [around * cos, y, around * sin].map(|side| side * out);
        let velocity = place.map(|side| side * 120_000.0);
        let position = [0, 1, 2].map(|axis| place[axis] - velocity[axis] * TICKS / 240.0);
        scene.bodies.push(Body { velocity, ..ball(0.5, position) });
    }
    assert_same(&scene);
}

#[test]
fn what_touches_between_the_ends_of_a_list_is_found() {
    for apex in 3..40 {
        let mut scene = Scene { seconds: 1.5, ticks_per_second: 60.0, ..scenes::scene(0.0, 0.5) };
        let (g, time_s) = (-scene.gravity[1], f64::from(apex) / 60.0);
        let ceiling = 0.02 + 0.5 * g * time_s * time_s - 1e-4;
        let slab = Shape::Box { half_extents: [1.0, 0.1, 1.0] };
        scene.statics.push(StaticObject::new(slab, [0.0, ceiling + 0.1, 0.0]));
        scene.bodies.push(ball(0.02, [0.0; 3]).moving([0.0, g * time_s, 0.0]));
        assert_eq!(assert_same(&scene).contacts, 1, "at tick {apex}");
    }
}

/// A large body is gone, and small ones fly through where it was.
#[test]
fn a_large_body_that_is_gone_is_not_met() {
    let mut scene = Scene { seconds: 1.0, gravity: [0.0; 3], statics: walls(6.0), ..scenes::scene(0.1, 0.9) };
    scene.bodies.push(ball(2.0, [0.0; 3]));
    for number in 0..12 {
        let (x, y) = (f64::from(number % 4) - 1.5, f64::from(number / 4) - 1.0);
        scene.bodies.push(ball(0.1, [x, y, 4.0]).moving([0.1, 0.0, -9.0 - 0.1 * x]));
    }
    let outcomes = |simulation: Simulation| {
        let mut simulation = simulation;
        let inputs = simulation.inputs();
        inputs.give(10, Input::Despawn { body: BodyId(0) }).expect("the body exists");
        // A new flight afterwards looks around anew.
        for body in 1..=12 {
            let faster = Some([0.0, 0.0, -9.5]);
            let input = Input::SetVelocity { body: BodyId(body), velocity: faster, angular_velocity: None };
            inputs.give(10 + u64::from(body % 3), input).expect("the body exists");
        }
        outcome(&simulation)
    };
    let simulation = Simulation::new(&scene).expect("the scene is valid").sync(SyncMode::Sequential);
    let expected = outcomes(simulation.clone());
    for gear in GEARS {
        assert_eq!(outcomes(in_gear(&simulation, gear, 1)), expected, "{gear:?}");
    }
}

/// Far from the origin, where positions are rounded coarsely.
#[test]
fn bodies_far_away_commit_the_reference() {
    for distance in [1e3, 1e6, 5e8] {
        let mut scene = Scene { seconds: 0.5, gravity: [0.0; 3], ..scenes::scene(0.2, 0.7) };
        for number in 0..12 {
            let at = f64::from(number);
            let body = ball(0.5, [distance + 1.1 * at, distance, -distance]);
            scene.bodies.push(body.moving([6.0 - at, 0.0, 0.0]));
        }
        assert_same(&scene);
    }
}

/// A run that its caller ends early has the frames of the reference until then.
#[test]
fn a_run_can_be_ended_at_any_frame() {
    let simulation = Simulation::new(&scene_of(&GOLDEN[1])).expect("the scene is valid");
    let frames = |simulation: &Simulation, last: u64| {
        let report = simulation.run(|frame| match frame.index == last {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let report = report.expect("the run ends cleanly");
        (report.frames, report.digest, report.interrupted)
    };
    for last in [0, 1, 17] {
        let expected = frames(&simulation.clone().sync(SyncMode::Sequential), last);
        for gear in GEARS {
            assert_eq!(frames(&in_gear(&simulation, gear, 1), last), expected, "{gear:?}");
        }
    }
}

/// An input: the frame at which it is given (none: before the run), how many ticks later it acts, and a draw of a body.
#[derive(Clone, Debug)]
struct Given {
    frame: Option<u64>,
    later: u64,
    body: usize,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    Push([f64; 3], [f64; 3]),
    SetVelocity([f64; 3]),
    Spawn(Shape, [f64; 3], [f64; 3]),
    Despawn,
}

impl Given {
    /// The input to a simulation with these bodies.
    fn input(&self, ids: &[BodyId]) -> Input {
        let body = ids[self.body % ids.len()];
        match &self.act {
            Act::Push(impulse, turn) => Input::Push { body, impulse: *impulse, turn: *turn },
            Act::SetVelocity(velocity) => {
                Input::SetVelocity { body, velocity: Some(*velocity), angular_velocity: None }
            }
            Act::Spawn(shape, position, velocity) => {
                Input::Spawn(Box::new(Body::new(shape.clone(), *position).moving(*velocity)))
            }
            Act::Despawn => Input::Despawn { body },
        }
    }
}

fn any_given() -> impl Strategy<Value = Given> {
    let vector = |size: f64| prop::array::uniform3(-size..size);
    let shape = prop_oneof![
        (0.05..0.6f64).prop_map(|radius| Shape::Sphere { radius }),
        (0.1..0.5f64).prop_map(|half| Shape::Box { half_extents: [half, 0.3, 0.2] }),
    ];
    let position = (-1.0..5.0f64, 0.3..6.0f64, -1.0..5.0f64).prop_map(|(x, y, z)| [x, y, z]);
    let act = prop_oneof![
        3 => (vector(400.0), vector(20.0)).prop_map(|(impulse, turn)| Act::Push(impulse, turn)),
        3 => vector(20.0).prop_map(Act::SetVelocity),
        3 => (shape, position, vector(10.0)).prop_map(|(shape, x, v)| Act::Spawn(shape, x, v)),
        2 => Just(Act::Despawn),
    ];
    (prop::option::weighted(0.7, 0..60u64), 0..30u64, any::<usize>(), act)
        .prop_map(|(frame, later, body, act)| Given { frame, later, body, act })
}

/// Runs, giving each input at its frame, then again with all of them known.
fn give(simulation: &Simulation, given: &[Given]) -> Result<(Outcome, Simulation), String> {
    let mut simulation = simulation.clone();
    let mut ids: Vec<BodyId> = simulation.world().bodies.at_start().iter().map(|body| body.id).collect();
    let inputs = simulation.inputs();
    let mut errors = Vec::new();
    let mut give = |tick: u64, given: &Given| match inputs.give(tick, given.input(&ids)) {
        Ok(id) if !ids.contains(&id) => ids.push(id),
        Ok(_)
        | Err(InputError::AfterTheEnd { .. } | InputError::Unknown(_) | InputError::TooLarge { .. }) => {}
        Err(error) => errors.push(error),
    };
    for known in given.iter().filter(|given| given.frame.is_none()) {
        give(known.later, known);
    }
    let report = simulation.run(|frame| {
        for given in given.iter().filter(|given| given.frame == Some(frame.index)) {
            give(frame.tick + given.later, given);
        }
        ControlFlow::Continue(())
    });
    if !errors.is_empty() {
        return Err(format!("{errors:?}"));
    }
    let live = report.map(|report| (report.digest, report.tally, report.frames));
    Ok((live, simulation))
}

fn compare_inputs(case: &Case, given: &[Given]) -> Result<(), String> {
    let simulation = Simulation::new(&case.scene()).map_err(|error| error.to_string())?;
    let (expected, _) = give(&simulation.clone().sync(SyncMode::Sequential), given)?;
    for gear in GEARS {
        let (live, known) = give(&in_gear(&simulation, gear, 1), given)?;
        if live != expected {
            return Err(format!("{gear:?}, given during the run: {live:?} instead of {expected:?}"));
        }
        let again = outcome(&known);
        if again != expected {
            return Err(format!("{gear:?}, known from the start: {again:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

#[test]
fn inputs_act_as_in_the_reference() {
    let config = Config { cases: 160 * patience(), failure_persistence: None, ..Config::default() };
    let strategy = (any_case(2..=30, 100), prop::collection::vec(any_given(), 1..24));
    let check =
        |(case, given): (Case, Vec<Given>)| compare_inputs(&case, &given).map_err(TestCaseError::fail);
    match TestRunner::new(config).run(&strategy, check) {
        Ok(()) => {}
        Err(TestError::Fail(reason, (case, given))) => panic!("{reason}\n{}\n{given:#?}", case.line()),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}
