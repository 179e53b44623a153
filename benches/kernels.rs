//! Timings of the pure kernels: flights, first touches, contact points, the response of one tick. Whole runs are
//! timed in `reference.rs`.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::collision::kernels::{Placed, contact};
use anachron::internals::physics::local_solver::{
    ContactConstraint, ContactPairs, LocalSolver, PairCache, Partner, SolverBody, SolverMass,
};
use anachron::internals::physics::shape::Cuboid;
use anachron::internals::physics::{
    Flight, Shape, World, first_static_touch, first_touch, touching, touching_static,
};
use anachron::scenarios::{Request, build};
use anachron::scene::{self, Body, Scene, StaticObject};
use anachron::{Simulation, SyncMode};
use criterion::{BatchSize, Criterion};

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    flights(&mut criterion);
    first_touches(&mut criterion);
    contacts(&mut criterion);
    response(&mut criterion);
    criterion.final_summary();
}

fn world(scene: &Scene) -> World {
    World::new(scene).expect("the scene is valid")
}

/// A flight from tick 0, as the body's start has it.
fn flight(world: &World, body: usize) -> Flight {
    Flight { since: 0, origin: world.bodies[body].start }
}

/// A body that turns while it moves.
fn thrown(shape: scene::Shape, position: [f64; 3], velocity: [f64; 3]) -> Body {
    Body { velocity, angular_velocity: [1.0, 2.0, 0.5], ..Body::new(shape, position) }
}

fn flights(criterion: &mut Criterion) {
    let shapes = [
        ("flight/ball, 1000 ticks on", scene::Shape::Sphere { radius: 0.5 }, 1000),
        ("flight/tumbling box, 10 ticks on", scene::Shape::Box { half_extents: [0.1, 0.2, 0.3] }, 10),
    ];
    for (name, shape, ticks) in shapes {
        let bodies = vec![thrown(shape, [0.0, 5.0, 0.0], [3.0, 1.0, 0.0])];
        let world = world(&Scene { bodies, ..Scene::default() });
        let flight = flight(&world, 0);
        criterion.bench_function(name, |bench| {
            bench.iter(|| flight.state_at(&world, &world.bodies[0], black_box(ticks)));
        });
    }
}

fn first_touches(criterion: &mut Criterion) {
    let ball = scene::Shape::Sphere { radius: 0.5 };
    let bodies = vec![
        thrown(ball.clone(), [0.0, 5.0, 0.0], [4.0, 0.0, 0.0]),
        thrown(ball.clone(), [6.0, 5.2, 0.0], [-4.0, 0.0, 0.0]),
        thrown(ball, [0.0, 5.0, 9.0], [4.0, 0.0, 0.1]),
    ];
    let floor = StaticObject::new(scene::Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]);
    let world = world(&Scene { bodies, statics: vec![floor], ..Scene::default() });
    let flights: Vec<Flight> = (0..3).map(|body| flight(&world, body)).collect();
    for (name, other) in [("first touch/balls that meet", 1), ("first touch/balls that miss", 2)] {
        criterion.bench_function(name, |bench| {
            let (a, b) = ((&world.bodies[0], &flights[0]), (&world.bodies[other], &flights[other]));
            bench.iter(|| first_touch(&world, a, b, black_box(0), 256));
        });
    }
    criterion.bench_function("first touch/ball on a floor", |bench| {
        bench.iter(|| first_static_touch(&world, (&world.bodies[0], &flights[0]), black_box(0), 512));
    });
}

fn contacts(criterion: &mut Criterion) {
    let cube = Shape::Box(Cuboid { half: Vec3::new(0.5, 0.5, 0.5) });
    let poses = [
        ("contact/box on box, face on face", Vec3::new(0.1, 0.999, 0.2), Vec3::new(0.0, 0.3, 0.0)),
        ("contact/box on box, edge on edge", Vec3::new(0.0, 1.4, 0.0), Vec3::new(0.78, 0.4, 0.2)),
    ];
    for (name, x, turn) in poses {
        let upper = Placed { shape: &cube, x, q: rotation_exp(turn) };
        let lower = Placed { shape: &cube, x: Vec3::zeros(), q: rotation_exp(Vec3::zeros()) };
        criterion.bench_function(name, |bench| {
            bench.iter(|| contact(black_box(&upper), black_box(&lower), 0.1));
        });
    }
}

fn response(criterion: &mut Criterion) {
    for shape in ["box", "sphere"] {
        let request =
            Request { sets: vec![("shape".into(), shape.into())], seconds: Some(2.0), ..Request::default() };
        let simulation = Simulation::new(&build("stack", &request).expect("the scenario exists"));
        let simulation = simulation.expect("the scenario is valid").sync(SyncMode::Sequential);
        let world = simulation.world();
        let (bodies, pairs) = settled(&simulation);
        let mut solver = LocalSolver::default();
        criterion.bench_function(&format!("response/one tick of a resting stack of 10, {shape}"), |bench| {
            bench.iter_batched_ref(
                || pairs.clone(),
                |pairs| solver.respond(world, &bodies, pairs),
                BatchSize::SmallInput,
            );
        });
    }
}

/// All touches at the end of a run, each with the memory of a tick of rest.
fn settled(simulation: &Simulation) -> (Vec<SolverBody<'_>>, ContactPairs) {
    let mut states: Vec<BodyState> = Vec::new();
    let run = simulation.run(|frame| {
        states = frame.bodies.iter().map(|(_, state)| *state).collect();
        ControlFlow::Continue(())
    });
    run.expect("the run finishes");
    let world = simulation.world();
    let bodies: Vec<_> =
        world.bodies.iter().zip(&states).map(|(body, state)| SolverBody::new(body, *state)).collect();
    let cold = touches(world, &bodies, &[]);
    let mut warm = cold.clone();
    for _ in 0..20 {
        LocalSolver::default().respond(world, &bodies, &mut warm);
        let memories: Vec<PairCache> = (0..warm.list().len()).map(|at| warm.touch(at).memory()).collect();
        warm = touches(world, &bodies, &memories);
    }
    assert!(warm.list().len() >= world.bodies.len(), "a resting stack touches from top to bottom");
    (bodies, warm)
}

/// What touches among the bodies: pairs of bodies, then static geometry.
fn touches(world: &World, bodies: &[SolverBody], memories: &[PairCache]) -> ContactPairs {
    let nothing = PairCache::default();
    let mut pairs = ContactPairs::default();
    for (a, first) in bodies.iter().enumerate() {
        for (b, second) in bodies.iter().enumerate().skip(a + 1) {
            let manifold = touching(&world.rule, first.body, &first.state, second.body, &second.state);
            if let Some(manifold) = manifold {
                let surface = first.body.surface.combined(&second.body.surface);
                let memory = memories.get(pairs.list().len()).unwrap_or(&nothing);
                let touch = ContactConstraint::new(
                    &manifold,
                    surface,
                    &first.mass,
                    &second.mass,
                    memory,
                    &world.rule,
                );
                let with = Partner::Body(second.body.id);
                pairs.push(bodies, &world.rule, (a as u32, Some(b as u32), with), touch);
            }
        }
    }
    for (a, first) in bodies.iter().enumerate() {
        for object in &world.statics {
            if let Some(manifold) = touching_static(&world.rule, first.body, &first.state, object) {
                let surface = first.body.surface.combined(&object.surface);
                let memory = memories.get(pairs.list().len()).unwrap_or(&nothing);
                let fixed = SolverMass::fixed(object.x);
                let touch =
                    ContactConstraint::new(&manifold, surface, &first.mass, &fixed, memory, &world.rule);
                let with = Partner::Static(object.id);
                pairs.push(bodies, &world.rule, (a as u32, None, with), touch);
            }
        }
    }
    pairs
}
