//! Inputs to a running simulation: however late they are, the result is that of a run in which they were known from the
//! start.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use anachron::internals::base::ids::BodyId;
use anachron::internals::executor::{Regions, Tuning};
use anachron::internals::runtime::inputs::{Input, InputError, Inputs};
use anachron::internals::tvht::Lane;
use anachron::scene::{Body, Scene, Shape, StaticObject};
use anachron::{Report, RunError, Simulation, SyncMode, scenarios};
use proptest::prelude::*;

fn scene(bodies: u32, gravity: f64) -> Scene {
    let mut scene = Scene { seconds: 1.0, gravity: [0.0, gravity, 0.0], ..Scene::default() };
    scene.statics.push(StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]));
    for index in 0..bodies {
        let [x, y, z] = [index % 3, index / 9, index / 3 % 3].map(f64::from);
        let shape = if index % 4 == 3 {
            Shape::Box { half_extents: [0.3, 0.2, 0.25] }
        } else {
            Shape::Sphere { radius: 0.3 }
        };
        let body = Body::new(shape, [0.75 * x, 0.5 + 0.75 * y, 0.75 * z]);
        scene.bodies.push(body.moving([0.4 - 0.3 * x, 0.0, 0.2 * z]));
    }
    scene
}

/// An input, the index of the frame at which it is given, and how many ticks after that frame it acts.
type LateInput = (u64, u64, Input);

fn any_input(bodies: u32) -> impl Strategy<Value = Input> {
    let body = (0..bodies + 3).prop_map(BodyId);
    let vector = || prop::array::uniform3(-40.0..40.0f64);
    let position = (-1.0..2.5f64, 0.4..3.0f64, -1.0..2.5f64);
    prop_oneof![
        3 => (body.clone(), vector(), vector())
            .prop_map(|(body, impulse, turn)| Input::Push { body, impulse, turn: turn.map(|t| 0.05 * t) }),
        2 => (body.clone(), vector()).prop_map(|(body, v)| Input::SetVelocity {
            body,
            velocity: Some(v.map(|v| 0.1 * v)),
            angular_velocity: None,
        }),
        1 => body.prop_map(|body| Input::Despawn { body }),
        1 => position.prop_map(|(x, y, z)| {
            Input::Spawn(Box::new(Body::new(Shape::Sphere { radius: 0.25 }, [x, y, z])))
        }),
    ]
}

/// Runs, giving each input at its frame, and compares with the sequential loop that knows them all from the start.
fn give_and_compare(simulation: Simulation, late_inputs: &[LateInput]) -> Result<Report, TestCaseError> {
    let mut simulation = simulation;
    let inputs = simulation.inputs();
    let mut errors = Vec::new();
    let live = simulation.run(|frame| {
        for (_, later, input) in late_inputs.iter().filter(|(index, ..)| *index == frame.index) {
            match inputs.give(frame.tick + later, input.clone()) {
                Ok(_) | Err(InputError::Unknown(_) | InputError::AfterTheEnd { .. }) => {}
                Err(error) => errors.push(error),
            }
        }
        ControlFlow::Continue(())
    });
    prop_assert!(errors.is_empty(), "{errors:?}");
    let live = live.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let again = simulation.sync(SyncMode::Sequential).run(|_| ControlFlow::Continue(()));
    let again = again.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!((live.digest, live.tally), (again.digest, again.tally));
    Ok(live)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random inputs, given at random frames, under adversarial orders and on actors.
    #[test]
    fn late_inputs_act_as_if_known_from_the_start(
        bodies in 1..14u32,
        falls in any::<bool>(),
        late_inputs in prop::collection::vec((0..60u64, 0..60u64, any_input(14)), 1..16),
        window in prop::sample::select(&[1u64, 8, 61][..]),
        history in prop::sample::select(&[0u64, 10][..]),
        seed in any::<u64>(),
    ) {
        let scene = scene(bodies, if falls { -9.81 } else { 0.0 });
        let simulation = Simulation::new(&scene).expect("the scene is valid");
        let tuning = Tuning {
            window_ticks: window,
            history_ticks: history,
            regions: Regions::Bodies,
            ..Tuning::default()
        };
        give_and_compare(simulation.clone().tuning(tuning).sync(SyncMode::Chaos).chaos_seed(seed), &late_inputs)?;
        give_and_compare(simulation.clone().sync(SyncMode::RollbackCheck), &late_inputs)?;
        give_and_compare(simulation.clone().sync(SyncMode::Timewarp).cores(2), &late_inputs)?;
        for lane in [Lane::Shared, Lane::Actors] {
            let tuning = Tuning { lane, buckets: 64, ..tuning };
            give_and_compare(simulation.clone().tuning(tuning).sync(SyncMode::Timewarp).cores(2), &late_inputs)?;
        }
    }
}

/// Another thread gives inputs while the simulation runs, as late as it may.
#[test]
fn another_thread_may_give_inputs_during_the_run() {
    let mut simulation = Simulation::new(&scene(12, -9.81)).expect("the scene is valid");
    simulation = simulation
        .tuning(Tuning { history_ticks: 24, ..Tuning::default() })
        .sync(SyncMode::Timewarp)
        .cores(2);
    let inputs = simulation.inputs();
    let shown = AtomicU64::new(0);
    let live = std::thread::scope(|scope| {
        let (shown, giver) = (&shown, inputs.clone());
        scope.spawn(move || push_repeatedly(&giver, shown));
        simulation.run(|frame| {
            shown.store(frame.tick, SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            ControlFlow::Continue(())
        })
    });
    let live = live.expect("the run finishes");
    let stats = live.speculation.expect("it speculates");
    println!("{} inputs, {} rollbacks", stats.inputs, stats.primary_rollbacks + stats.secondary_rollbacks);
    assert!(stats.inputs > 10, "only {} inputs were in time", stats.inputs);
    let again = simulation.sync(SyncMode::Sequential).run(|_| ControlFlow::Continue(()));
    assert_eq!(live.digest, again.expect("the run finishes").digest);
}

/// Pushes one body after another, one frame after the last one shown, until the run is over.
fn push_repeatedly(inputs: &Inputs, shown: &AtomicU64) {
    for round in 0u32.. {
        let tick = shown.load(SeqCst) + 4;
        let body = BodyId(round % 12);
        let impulse = [0.0, 30.0 * f64::from(round % 5), 3.0];
        match inputs.give(tick, Input::Push { body, impulse, turn: [0.0; 3] }) {
            Ok(_) | Err(InputError::Committed { .. }) => {}
            Err(InputError::AfterTheEnd { .. } | InputError::Over) => return,
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}

/// A push against Newton's second law.
#[test]
fn a_push_changes_the_velocity_by_impulse_over_mass() {
    let mut scene = Scene { seconds: 0.5, gravity: [0.0; 3], ..Scene::default() };
    scene.bodies.push(Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3]));
    let (auto, bodies) = (Regions::Auto, Regions::Bodies);
    for (sync, regions) in
        [(SyncMode::Sequential, auto), (SyncMode::Timewarp, auto), (SyncMode::Timewarp, bodies)]
    {
        let tuning = Tuning { regions, ..Tuning::default() };
        let mut simulation = Simulation::new(&scene).expect("the scene is valid").sync(sync).tuning(tuning);
        let mass = simulation.world().bodies[0].mass;
        let inputs = simulation.inputs();
        let push = Input::Push { body: BodyId(0), impulse: [2.0 * mass, 0.0, 0.0], turn: [0.0; 3] };
        inputs.give(60, push).expect("nothing is committed yet");
        let mut end = None;
        let report = simulation.run(|frame| {
            end = frame.state(BodyId(0)).copied();
            ControlFlow::Continue(())
        });
        report.expect("the run finishes");
        let end = end.expect("the body exists");
        assert!((end.v.x - 2.0).abs() < 1e-12, "{}", end.v);
        // A quarter of a second at 2 m/s.
        assert!((end.x.x - 0.5).abs() < 1e-12, "{}", end.x);
    }
}

#[test]
fn bodies_are_spawned_and_despawned() {
    let (auto, bodies) = (Regions::Auto, Regions::Bodies);
    for (sync, regions) in [
        (SyncMode::Sequential, auto),
        (SyncMode::Lockstep, auto),
        (SyncMode::Loop, auto),
        (SyncMode::Timewarp, auto),
        (SyncMode::Timewarp, bodies),
    ] {
        let tuning = Tuning { regions, ..Tuning::default() };
        let simulation = Simulation::new(&scene(2, 0.0)).expect("the scene is valid");
        let mut simulation = simulation.sync(sync).tuning(tuning);
        let inputs = simulation.inputs();
        let new_body = Body::new(Shape::Sphere { radius: 0.1 }, [5.0, 5.0, 5.0]);
        let mut counts = Vec::new();
        let report = simulation.run(|frame| {
            counts.push(frame.bodies.len());
            if frame.index == 10 {
                let id = inputs.give(frame.tick, Input::Spawn(Box::new(new_body.clone())));
                assert_eq!(id, Ok(BodyId(2)));
                assert_eq!(inputs.give(frame.tick + 40, Input::Despawn { body: BodyId(0) }), Ok(BodyId(0)));
            }
            ControlFlow::Continue(())
        });
        report.expect("the run finishes");
        assert_eq!(counts[..11], [2; 11]);
        assert_eq!(counts[11..21], [3; 10]);
        assert_eq!(counts[21..], [2; 40]);
    }
}

#[test]
fn impossible_inputs_are_rejected() {
    impossible_inputs_are_rejected_by(Regions::Auto);
    impossible_inputs_are_rejected_by(Regions::Bodies);
}

fn impossible_inputs_are_rejected_by(regions: Regions) {
    let simulation = Simulation::new(&scene(3, 0.0)).expect("the scene is valid").sync(SyncMode::Timewarp);
    let mut simulation = simulation.tuning(Tuning { regions, ..Tuning::default() });
    let inputs = simulation.inputs();
    let push = |body, impulse| Input::Push { body: BodyId(body), impulse, turn: [0.0; 3] };
    let fine = push(0, [0.0; 3]);
    let infinite = push(0, [f64::INFINITY, 0.0, 0.0]);
    assert_eq!(inputs.give(0, infinite), Err(InputError::NotFinite("impulse")));
    assert_eq!(inputs.give(0, push(99, [0.0; 3])), Err(InputError::Unknown(BodyId(99))));
    let end = InputError::AfterTheEnd { tick: 240, last_tick: 240 };
    assert_eq!(inputs.give(240, fine.clone()), Err(end));
    let spawn = |radius: f64, id: Option<u32>| {
        Input::Spawn(Box::new(Body { id, ..Body::new(Shape::Sphere { radius }, [0.0, 9.0, 0.0]) }))
    };
    let taken = InputError::IdTaken { id: BodyId(1), next: 3 };
    assert_eq!(inputs.give(0, spawn(0.1, Some(1))), Err(taken));
    assert!(matches!(inputs.give(0, spawn(1e6, None)), Err(InputError::TooLarge { .. })));
    assert!(matches!(inputs.give(0, spawn(-1.0, None)), Err(InputError::Body(_))));
    assert!(inputs.is_empty());
    let report = simulation.run(|frame| {
        if frame.index == 20 {
            let error = inputs.give(frame.tick - 1, fine.clone()).expect_err("the tick is committed");
            assert_eq!(error, InputError::Committed { tick: 79, gvt: 80 });
            assert!(error.to_string().contains("use tick 80 or later"), "{error}");
            let meanwhile = simulation.run(|_| ControlFlow::Continue(()));
            assert_eq!(meanwhile.err(), Some(RunError::InputsTaken));
        }
        ControlFlow::Continue(())
    });
    report.expect("the run finishes");
}

/// A run that could take inputs, and gets none, commits the same frames.
#[test]
fn a_run_without_inputs_commits_the_reference() {
    let scene = scenarios::build("bouncing", &scenarios::Request::default()).expect("the scenario exists");
    let scene = Scene { seconds: 0.5, ..scene };
    let plain = Simulation::new(&scene).expect("the scene is valid").sync(SyncMode::Sequential);
    let mut open =
        plain.clone().sync(SyncMode::Timewarp).tuning(Tuning { history_ticks: 12, ..Tuning::default() });
    let _inputs = open.inputs();
    let digest = |simulation: &Simulation| {
        simulation.run(|_| ControlFlow::Continue(())).expect("the run finishes").digest
    };
    assert_eq!(digest(&plain), digest(&open));
}
