//! Timings of the pure kernels: flights, first touches, contact points, the response of one tick. Whole runs are
//! timed in `reference.rs`.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use anachron::internals::base::math::{Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::collision::kernels::{Manifold, Placed, contact};
use anachron::internals::physics::contact::{
    ContactModel, ContactPair, PairCache, PairInput, Partner, SolverBody,
};
use anachron::internals::physics::local_solver::{GhostState, LocalSolver};
use anachron::internals::physics::shape::Cuboid;
use anachron::internals::physics::{
    Flight, Shape, StaticDef, World, first_static_touch, first_touch, touching, touching_static,
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
        let (bodies, contacts, caches) = settled(&simulation);
        criterion.bench_function(&format!("response/one tick of a resting stack of 10, {shape}"), |bench| {
            bench.iter_batched_ref(
                || prepared(world, &bodies, &contacts, &caches),
                |solver| solver.solve(world, &bodies, &[]),
                BatchSize::SmallInput,
            );
        });
    }
}

type TickBody<'a> = SolverBody<'a, GhostState>;

/// A pair in contact, with its static side and its contact points.
type Contact<'a> = (ContactPair, Option<&'a StaticDef>, Manifold);

/// All contacts at the end of a run, with their caches after 20 ticks of rest.
fn settled(simulation: &Simulation) -> (Vec<TickBody<'_>>, Vec<Contact<'_>>, Vec<PairCache>) {
    let mut states: Vec<BodyState> = Vec::new();
    let run = simulation.run(|frame| {
        states = frame.bodies.iter().map(|(_, state)| *state).collect();
        ControlFlow::Continue(())
    });
    run.expect("the run finishes");
    let world = simulation.world();
    let bodies: Vec<TickBody> =
        world.bodies.iter().zip(&states).map(|(body, state)| SolverBody::new(body, *state)).collect();
    let contacts = find_contacts(world, &bodies);
    let mut caches = Vec::new();
    for _ in 0..20 {
        let mut solver = prepared(world, &bodies, &contacts, &caches);
        solver.solve(world, &bodies, &[]);
        caches = (0..solver.pair_count()).map(|at| solver.cache(at)).collect();
    }
    assert!(contacts.len() >= world.bodies.len(), "a resting stack touches from top to bottom");
    (bodies, contacts, caches)
}

/// A solver that is ready to solve a tick.
fn prepared(world: &World, bodies: &[TickBody], contacts: &[Contact], caches: &[PairCache]) -> LocalSolver {
    let mut solver = LocalSolver::default();
    let input = |at: usize| {
        let (_, fixed, manifold) = &contacts[at];
        PairInput { manifold, fixed: *fixed, cache: caches.get(at) }
    };
    solver.prepare(world, bodies, contacts.len(), |at| contacts[at].0, input);
    solver
}

/// What touches among the bodies: pairs of bodies, then static geometry.
fn find_contacts<'a>(world: &'a World, bodies: &[TickBody]) -> Vec<Contact<'a>> {
    let mut contacts = Vec::new();
    for (a, first) in bodies.iter().enumerate() {
        for (b, second) in bodies.iter().enumerate().skip(a + 1) {
            let manifold = touching(&world.rule, first.body, &first.state, second.body, &second.state);
            let partner = Partner::Body(second.body.id);
            let pair = ContactPair { a: a as u32, b: Some(b as u32), partner };
            contacts.extend(manifold.map(|manifold| (pair, None, manifold)));
        }
    }
    for (a, first) in bodies.iter().enumerate() {
        for object in &world.statics {
            let manifold = touching_static(&world.rule, first.body, &first.state, object);
            let pair = ContactPair { a: a as u32, b: None, partner: Partner::Static(object.id) };
            contacts.extend(manifold.map(|manifold| (pair, Some(object), manifold)));
        }
    }
    contacts
}
