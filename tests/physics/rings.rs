//! Rings: mass, contact points, and links of chains that hold each other.

#![allow(clippy::unwrap_used)] // helpers of tests may fail, too

use std::f64::consts::{FRAC_PI_2, TAU};
use std::ops::ControlFlow;
use std::sync::Arc;

use anachron::internals::base::frame::Frame;
use anachron::internals::base::math::{Quat, Vec3, rotation_exp};
use anachron::internals::base::state::BodyState;
use anachron::internals::overlap::OverlapSettings;
use anachron::internals::physics::World;
use anachron::internals::physics::collision::kernels::{Manifold, Placed, contact};
use anachron::internals::physics::island_solver::IslandSolver;
use anachron::internals::physics::shape::{
    Capsule, Cuboid, Cylinder, HalfSpace, Hull, Mesh, Ring, Shape, Sphere,
};
use anachron::scene::{self, Body, Scene, StaticObject};
use anachron::{Report, Simulation, SyncMode};
use parry3d::shape::{ConvexPolyhedron, TriMesh};
use proptest::prelude::*;

use crate::laws::{orientation, scenario, turned};

const RADIUS: f64 = 0.5;
const TUBE: f64 = 0.1;

fn ring() -> scene::Shape {
    scene::Shape::Ring { radius: RADIUS, tube: TUBE }
}

/// Mass and moments by adding up small cells of a ring.
#[test]
fn mass_and_inertia_are_those_of_many_small_pieces() {
    let scene = Scene { bodies: vec![Body::new(ring(), [0.0; 3])], ..Scene::default() };
    let world = World::new(&scene).unwrap();
    let body = &world.bodies[0];
    let density = scene.material("default").unwrap().density;
    let (cells, reach) = (160, RADIUS + TUBE);
    let (step, lift) = (2.0 * reach / f64::from(cells), 2.0 * TUBE / f64::from(cells));
    let (mut mass, mut along, mut across) = (0.0, 0.0, 0.0);
    for i in 0..cells {
        for j in 0..cells {
            for k in 0..cells {
                let middle = |at: i32, step: f64| (f64::from(at) + 0.5 - 0.5 * f64::from(cells)) * step;
                let (x, y, z) = (middle(i, step), middle(j, lift), middle(k, step));
                let off = (x * x + z * z).sqrt() - RADIUS;
                if off * off + y * y <= TUBE * TUBE {
                    let piece = density * step * step * lift;
                    mass += piece;
                    along += piece * (x * x + z * z);
                    across += piece * (y * y + z * z);
                }
            }
        }
    }
    assert!((body.mass / mass - 1.0).abs() < 2e-3, "{} and {mass}", body.mass);
    let inverse = body.inertia.world_inverse(&Quat::identity());
    assert!((inverse[(1, 1)] * along - 1.0).abs() < 2e-3);
    assert!((inverse[(0, 0)] * across - 1.0).abs() < 2e-3);
    assert_eq!(inverse[(0, 0)], inverse[(2, 2)]);
}

/// A direction in the plane of a ring.
fn along(angle: f64) -> Vec3 {
    let (sin, cos) = libm::sincos(angle);
    Vec3::new(cos, 0.0, sin)
}

/// A shape at a pose.
#[derive(Clone)]
struct Thing {
    shape: Shape,
    x: Vec3,
    q: Quat,
}

impl Thing {
    fn placed(&self) -> Placed<'_> {
        Placed { shape: &self.shape, x: self.x, q: self.q }
    }

    /// A point of the circle in the middle of the tube, if the shape is a ring.
    fn on_circle(&self, angle: f64) -> Vec3 {
        let Shape::Ring(Ring { radius, .. }) = self.shape else { panic!("not a ring") };
        self.x + self.q * (along(angle) * radius)
    }
}

impl std::fmt::Debug for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bounds = self.shape.aabb(self.x, &self.q);
        write!(f, "{:?} at {:?} turned {:?}", bounds, self.x, self.q.coords)
    }
}

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-size..size).prop_map(Vec3::from)
}

fn thing(shape: Shape) -> Thing {
    Thing { shape, x: Vec3::zeros(), q: Quat::identity() }
}

fn any_ring() -> impl Strategy<Value = Thing> {
    (0.3..1.0f64, 0.05..0.25f64).prop_map(|(radius, tube)| thing(Shape::Ring(Ring { radius, tube })))
}

fn any_shape() -> impl Strategy<Value = Thing> {
    let corners = [[0.5, 0.1, 0.0], [-0.4, 0.5, 0.1], [-0.3, -0.4, 0.3], [0.0, 0.0, -0.6]];
    let corners: Vec<_> =
        corners.iter().map(|p| anachron::internals::base::math::to_parry(Vec3::from(*p))).collect();
    let hull = ConvexPolyhedron::from_convex_hull(&corners).expect("it is no flat hull");
    let mesh = TriMesh::new(corners, vec![[0, 1, 2], [0, 2, 3]]).expect("it has triangles");
    let size = || 0.1..0.8f64;
    prop_oneof![
        4 => any_ring(),
        1 => size().prop_map(|radius| thing(Shape::Sphere(Sphere { radius }))),
        1 => vector(0.8).prop_map(|half| thing(Shape::Box(Cuboid { half: half.abs() + Vec3::repeat(0.05) }))),
        1 => (size(), size()).prop_map(|(radius, half_height)| thing(Shape::Capsule(Capsule { radius, half_height }))),
        1 => (size(), size()).prop_map(|(radius, half_height)| thing(Shape::Cylinder(Cylinder { radius, half_height }))),
        1 => Just(thing(Shape::Hull(Hull(Arc::new(hull))))),
        1 => Just(thing(Shape::Mesh(Mesh(Arc::new(mesh))))),
        1 => Just(thing(Shape::HalfSpace(HalfSpace { normal: Vec3::new(0.6, 0.8, 0.0) }))),
    ]
}

fn touch(a: &Thing, b: &Thing, reach: f64) -> Manifold {
    contact(&a.placed(), &b.placed(), reach)
}

/// The smallest gap of a ball of the tube's size that goes once around the circle: the definition of a ring.
fn gap_of_travelling_ball(ring: &Thing, other: &Thing) -> f64 {
    let Shape::Ring(Ring { tube, .. }) = ring.shape else { panic!("not a ring") };
    let ball = |angle: f64| Thing {
        shape: Shape::Sphere(Sphere { radius: tube }),
        x: ring.on_circle(angle),
        ..ring.clone()
    };
    let steps = 1440;
    let gap = |at: i32| touch(&ball(f64::from(at) * TAU / f64::from(steps)), other, 9.0).gap();
    (0..steps).map(gap).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A ring touches any shape as a ball would that goes around its circle.
    #[test]
    fn a_ring_is_a_ball_that_goes_around(
        a in any_ring(), b in any_shape(), x in vector(1.2), turn in vector(3.0), other in vector(3.0),
        gap in -0.03..0.03f64,
    ) {
        let a = Thing { x, q: rotation_exp(turn), ..a };
        let b = Thing { q: rotation_exp(other), ..b };
        // Moved along the normal until they nearly touch: from afar a ring need not be seen to the bit.
        let far = touch(&a, &b, 9.0);
        let nearest = far.points().iter().min_by(|p, q| p.gap.total_cmp(&q.gap)).expect("everything is in reach");
        let a = Thing { x: a.x - nearest.normal * (nearest.gap - gap), ..a };
        let expected = gap_of_travelling_ball(&a, &b);
        // Of more than four points the deepest may go if a neighbour is about as deep. Where the circle itself goes
        // through edges and surfaces there may be several minima between two samples, and no distance is off by more
        // than half the arc between them.
        let pierced = expected < -0.25 * a.shape.thickness();
        let reach = if pierced { 9.0 } else { expected + 0.02 };
        let slack = |found: &Manifold| match found.points().len() {
            _ if pierced => 0.2,
            // Minima less than a sixteenth of the arc between two samples apart count as one.
            0..4 => 1e-3,
            _ => 0.02,
        };
        let manifold = touch(&a, &b, reach);
        prop_assert!(manifold.gap() < expected + slack(&manifold), "{} instead of {expected}", manifold.gap());
        prop_assert!(manifold.gap() > expected - 0.004, "{} instead of {expected}", manifold.gap());
        prop_assert!(manifold.points().windows(2).all(|pair| pair[0].feature < pair[1].feature));
        for p in manifold.points() {
            prop_assert!((p.normal.norm() - 1.0).abs() < 1e-12);
            // Half a gap back along the normal lies the ring, and it ends there at a minimum of the distance.
            let on_ring = p.point + p.normal * (0.5 * p.gap);
            let speck = Thing { shape: Shape::Sphere(Sphere { radius: 1e-9 }), x: on_ring, q: Quat::identity() };
            prop_assert!(touch(&speck, &a, 9.0).gap() < 1e-7);
        }
        // Seen from the other side, the same gap; and the normals point the other way.
        let back = touch(&b, &a, reach);
        if matches!(b.shape, Shape::Ring { .. }) {
            let slack = slack(&back).max(slack(&manifold));
            prop_assert!((back.gap() - manifold.gap()).abs() < slack, "{} and {}", back.gap(), manifold.gap());
        } else {
            prop_assert_eq!(back.points().len(), manifold.points().len());
            for (p, q) in back.points().iter().zip(manifold.points()) {
                prop_assert_eq!((p.point, p.normal, p.gap), (q.point, -q.normal, q.gap));
            }
        }
        // Points out of reach are not reported.
        prop_assert!(touch(&a, &b, expected - 0.01).points().is_empty());
    }
}

#[test]
fn a_ring_that_lies_flat_keeps_its_points_while_it_jitters() {
    let floor = Thing {
        shape: Shape::HalfSpace(HalfSpace { normal: Vec3::y() }),
        x: Vec3::zeros(),
        q: Quat::identity(),
    };
    let shape = Shape::Ring(Ring { radius: RADIUS, tube: TUBE });
    let features = |tilt: Vec3| {
        let lying = Thing { shape: shape.clone(), x: Vec3::y() * TUBE, q: rotation_exp(tilt) };
        let manifold = touch(&lying, &floor, 1e-3);
        manifold.points().iter().map(|p| p.feature).collect::<Vec<_>>()
    };
    let flat = features(Vec3::zeros());
    assert_eq!(flat.len(), 4, "four points hold it");
    for tilt in [Vec3::x(), Vec3::z(), Vec3::new(-0.3, 0.0, 0.8)] {
        assert_eq!(features(tilt * 1e-6), flat);
    }
    // On its edge it rolls on one exact point.
    let upright = Thing { shape, x: Vec3::y() * (RADIUS + TUBE), q: rotation_exp(Vec3::new(1.4, 0.3, 0.1)) };
    let lowest = touch(&upright, &floor, 0.1);
    assert!((lowest.gap() - upright.shape.aabb(upright.x, &upright.q).min.y).abs() < 1e-12);
}

/// How often the circle of one ring goes through the other: not zero if they are linked.
fn linking(a: &BodyState, b: &BodyState, radius: f64) -> i32 {
    let normal = a.q * Vec3::y();
    let point = |at: u32| {
        let angle = TAU * f64::from(at) / 360.0;
        b.x + b.q * (along(angle) * radius) - a.x
    };
    let mut through = 0;
    for at in 0..360 {
        let (from, to) = (point(at), point(at + 1));
        let (below, above) = (normal.dot(&from), normal.dot(&to));
        let crossing = from + (to - from) * (below / (below - above));
        if (below < 0.0) != (above < 0.0) && crossing.norm() < radius {
            through += if below < 0.0 { 1 } else { -1 };
        }
    }
    through
}

/// A hook that does not move and two links below it, let go a little higher than they will hang.
fn chain_of_two() -> Scene {
    let mut scene = Scene { seconds: 4.0, ..crate::laws::scene(0.3, 0.0) };
    let upright = |about: f64| rotation_exp(Vec3::y() * about) * rotation_exp(Vec3::x() * FRAC_PI_2);
    let q = upright(0.0);
    scene
        .statics
        .push(StaticObject { orientation: [q.i, q.j, q.k, q.w], ..StaticObject::new(ring(), [0.0; 3]) });
    for (at, about) in [(1.0, FRAC_PI_2), (2.0, 0.0)] {
        let q = upright(about);
        let position = [0.0, -at * (2.0 * RADIUS - 2.0 * TUBE) + 0.02 * at, 0.0];
        scene.bodies.push(Body { orientation: [q.i, q.j, q.k, q.w], ..Body::new(ring(), position) });
    }
    scene.response.iterations = 4;
    scene
}

#[test]
fn two_links_hang_below_a_hook() {
    let scene = chain_of_two();
    let hang = 2.0 * RADIUS - 2.0 * TUBE;
    let world = Arc::new(World::new(&scene).unwrap());
    let mut solver = IslandSolver::of_all(world.clone());
    for _ in 0..world.time.last_tick {
        solver.step();
    }
    let (_, last) = crate::laws::run(&scene);
    let local: Vec<BodyState> = last.bodies.iter().map(|(_, state)| *state).collect();
    for (how, states) in [("island solver", solver.states()), ("local solver", local.as_slice())] {
        for (at, state) in states.iter().enumerate() {
            let height = -hang * (at + 1) as f64;
            assert!((state.x - Vec3::y() * height).norm() < 2e-3, "{how}: {} instead of {height}", state.x);
            assert!(state.v.norm() < 1e-3 && state.w.norm() < 1e-2, "{how}: {state:?}");
        }
    }
}

/// A link shot through the hole of another that hangs from it takes it along instead of passing through its side.
#[test]
fn a_link_that_is_pulled_hard_takes_the_other_along() {
    let mut scene = crate::laws::weightless(0.3, 0.0);
    scene.bodies.push(Body::new(ring(), [0.0; 3]));
    scene
        .bodies
        .push(turned(Body::new(ring(), [RADIUS, 0.0, 0.0]), Vec3::x() * FRAC_PI_2).moving([4.0, 0.0, 0.0]));
    let world = World::new(&scene).unwrap();
    assert_eq!(linking(&world.bodies[0].start, &world.bodies[1].start, RADIUS).abs(), 1);
    let (_, last) = crate::laws::run(&scene);
    let (a, b) = (&last.bodies[0].1, &last.bodies[1].1);
    assert_eq!(linking(a, b, RADIUS).abs(), 1);
    assert!(a.v.x > 1.0, "{a:?}");
}

fn run_net(scene: &Scene, sync: SyncMode, workers: u32, mut see: impl FnMut(&Frame)) -> Report {
    let settings = OverlapSettings { workers: Some(workers), ..OverlapSettings::default() };
    let mut simulation = Simulation::new(scene).unwrap().sync(sync);
    if sync == SyncMode::Overlap {
        simulation = simulation.overlap(settings);
    }
    let report = simulation.run(|frame| {
        see(frame);
        ControlFlow::Continue(())
    });
    report.unwrap()
}

/// Pairs of linked rings among some states.
fn links(states: &[BodyState], radius: f64) -> Vec<(usize, usize, i32)> {
    let mut found = Vec::new();
    for a in 0..states.len() {
        for b in a + 1..states.len() {
            if (states[a].x - states[b].x).norm() < 2.0 * radius {
                let times = linking(&states[a], &states[b], radius);
                if times != 0 {
                    found.push((a, b, times));
                }
            }
        }
    }
    found
}

/// No executor and no number of workers changes which rings are linked.
#[test]
fn no_link_of_a_net_slips_through_another() {
    let scene = scenario("chain-net", 96, 2.0, &[]);
    let world = World::new(&scene).unwrap();
    let hooks = world.statics.iter().filter(|object| matches!(object.shape, Shape::Ring { .. }));
    let hooks: Vec<BodyState> =
        hooks.map(|hook| BodyState { q: hook.q, ..BodyState::at_rest(hook.x) }).collect();
    let radius = 0.1;
    let with_hooks = |states: &mut dyn Iterator<Item = BodyState>| -> Vec<BodyState> {
        states.chain(hooks.iter().copied()).collect()
    };
    let knotted = links(&with_hooks(&mut world.bodies.iter().map(|body| body.start)), radius);
    // Every ring holds two of the next row, one at the end of a row.
    let (rows, across) = (world.bodies.len() / (hooks.len() / 2) + 2, hooks.len() / 2);
    assert_eq!(knotted.len(), (rows - 1) * (2 * across - 1));
    for (sync, workers) in
        [(SyncMode::Overlap, 1), (SyncMode::Overlap, 2), (SyncMode::Overlap, 4), (SyncMode::Sequential, 1)]
    {
        let mut seen = 0;
        run_net(&scene, sync, workers, |frame| {
            if frame.index % 10 == 0 {
                let now = links(&with_hooks(&mut frame.bodies.iter().map(|(_, state)| *state)), radius);
                assert!(now == knotted, "{sync:?}, {workers} workers: other links at {} s", frame.time_s);
                seen += 1;
            }
        });
        assert!(seen > 10);
    }
}

#[test]
fn a_net_has_one_digest_per_number_of_workers() {
    let scene = scenario("chain-net", 60, 0.3, &[]);
    let first = run_net(&scene, SyncMode::Overlap, 3, |_| ());
    for cores in [1, 2, 4] {
        let settings = OverlapSettings { workers: Some(3), ..OverlapSettings::default() };
        let simulation =
            Simulation::new(&scene).unwrap().sync(SyncMode::Overlap).overlap(settings).cores(cores);
        assert_eq!(simulation.run(|_| ControlFlow::Continue(())).unwrap().digest, first.digest);
    }
}

#[test]
fn a_ball_rests_in_a_ring() {
    let mut scene = Scene { seconds: 4.0, ..crate::laws::scene(0.5, 0.0) };
    scene.statics.push(StaticObject {
        orientation: orientation(Vec3::zeros()),
        ..StaticObject::new(ring(), [0.0; 3])
    });
    scene.bodies.push(crate::laws::ball(0.5, [0.01, 0.6, -0.02]));
    let (_, last) = crate::laws::run(&scene);
    let state = &last.bodies[0].1;
    // The middle of the ball is as far from the circle as its radius and the tube's.
    let height = ((0.5 + TUBE) * (0.5 + TUBE) - RADIUS * RADIUS).sqrt();
    assert!((state.x - Vec3::y() * height).norm() < 5e-3, "{}", state.x);
    assert!(state.v.norm() < 1e-2, "{}", state.v);
}
