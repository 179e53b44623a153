//! The island solver alone: a good conventional engine must hold stacks, mass ratios and chains.

use std::sync::Arc;

use anachron::internals::base::ids::BodyId;
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::World;
use anachron::internals::physics::island_solver::IslandSolver;
use anachron::scene::{Body, Joint, Material, Scene, Shape, StaticObject};

fn solver(scene: &Scene) -> (Arc<World>, IslandSolver) {
    let world = Arc::new(World::new(scene).expect("the scene is valid"));
    (world.clone(), IslandSolver::of_all(world).measuring(true))
}

/// Ground at y = 0, no bouncing.
fn on_ground(friction: f64) -> Scene {
    let mut scene = Scene::default();
    let plain = Material { friction, restitution: 0.0, ..Material::default() };
    scene.materials.insert("default".into(), plain);
    scene.statics.push(StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]));
    scene
}

fn cube(position: [f64; 3]) -> Body {
    Body::new(Shape::Box { half_extents: [0.5; 3] }, position)
}

struct Rest {
    top: f64,
    aside: f64,
    speed: f64,
    states: Vec<BodyState>,
}

/// Runs for some seconds; the top speed and the worst sideways drift are those of the last second.
fn settle(scene: &Scene, seconds: f64) -> Rest {
    let (world, mut solver) = solver(scene);
    let ticks = (seconds / world.time.tick_s) as usize;
    let last_second = ticks - (1.0 / world.time.tick_s) as usize;
    let mut rest = Rest { top: 0.0, aside: 0.0, speed: 0.0, states: Vec::new() };
    for tick in 0..ticks {
        solver.step();
        if tick >= last_second {
            for (body, state) in world.bodies.iter().zip(solver.states()) {
                assert!(state.is_finite());
                let drift = (state.x - body.start.x).xz().norm();
                rest.aside = rest.aside.max(drift);
                rest.speed = rest.speed.max(state.v.norm());
            }
        }
    }
    rest.states = solver.states().to_vec();
    rest.top = rest.states.iter().map(|state| state.x.y).fold(0.0, f64::max);
    rest
}

#[test]
fn ten_boxes_stand() {
    let mut scene = on_ground(0.5);
    scene.bodies = (0..10).map(|k| cube([0.0, 0.5 + f64::from(k), 0.0])).collect();
    let rest = settle(&scene, 8.0);
    assert!((rest.top - 9.5).abs() < 5e-3, "top at {}", rest.top);
    assert!(rest.aside < 1e-2 && rest.speed < 1e-2, "drift {} speed {}", rest.aside, rest.speed);
}

#[test]
fn ten_balls_stand_too() {
    let mut scene = on_ground(0.5);
    let ball = |k: i32| Body::new(Shape::Sphere { radius: 0.5 }, [0.0, 0.5 + f64::from(k), 0.0]);
    scene.bodies = (0..10).map(ball).collect();
    let rest = settle(&scene, 8.0);
    assert!((rest.top - 9.5).abs() < 5e-3, "top at {}", rest.top);
    assert!(rest.speed < 1e-3, "speed {}", rest.speed);
}

#[test]
fn a_box_carries_one_of_a_hundred_times_its_mass() {
    let mut scene = on_ground(0.5);
    scene.materials.insert("heavy".into(), Material { density: 1e5, ..scene.materials["default"].clone() });
    scene.bodies = vec![cube([0.0, 0.5, 0.0]), cube([0.0, 1.5, 0.0]).of("heavy")];
    let rest = settle(&scene, 6.0);
    assert!((rest.top - 1.5).abs() < 5e-3, "top at {}", rest.top);
    assert!(rest.speed < 1e-2, "speed {}", rest.speed);
}

/// Links of half a metre, hanging from the world at one end.
fn chain(links: u32, iterations: u32) -> Scene {
    let mut scene = Scene::default();
    scene.group.iterations = iterations;
    for k in 0..links {
        let x = f64::from(k) * 0.5;
        scene.bodies.push(Body::new(Shape::Box { half_extents: [0.25, 0.05, 0.05] }, [x + 0.25, 0.0, 0.0]));
        scene.joints.push(Joint::ball(k, k.checked_sub(1), [x, 0.0, 0.0]));
    }
    scene
}

fn worst_gap(world: &World, states: &[BodyState]) -> f64 {
    let mut worst: f64 = 0.0;
    for joint in &world.joints {
        let state = |side: &anachron::internals::physics::JointSide| {
            side.body.map_or(side.fixed, |body| states[body as usize])
        };
        worst = worst.max(joint.violation(&state(&joint.a), &state(&joint.b)).0);
    }
    worst
}

#[test]
fn a_chain_of_twenty_links_holds_while_it_swings() {
    let (world, mut solver) = solver(&chain(20, 50));
    let mut worst: f64 = 0.0;
    for _ in 0..(6.0 / world.time.tick_s) as usize {
        solver.step();
        worst = worst.max(worst_gap(&world, solver.states()));
    }
    // A tenth of a link while it whips.
    assert!(worst < 0.05, "gap of {worst}");
}

#[test]
fn a_hanging_chain_comes_to_rest_without_gaps() {
    // Hung by both ends.
    let mut scene = chain(20, 50);
    scene.joints.push(Joint::ball(19, None, [10.0, 0.0, 0.0]));
    let (world, mut solver) = solver(&scene);
    for _ in 0..(4.0 / world.time.tick_s) as usize {
        solver.step();
    }
    let gap = worst_gap(&world, solver.states());
    assert!(gap < 5e-3, "gap of {gap}");
}

#[test]
fn hinges_turn_about_their_axis_only_and_fixed_joints_not_at_all() {
    let mut scene = Scene { gravity: [0.3, -9.81, 0.7], ..Scene::default() };
    let plank = |x: f64| Body::new(Shape::Box { half_extents: [0.5, 0.1, 0.3] }, [x, 0.0, 0.0]);
    scene.bodies = vec![plank(0.5), plank(1.5)];
    scene.joints.push(Joint::hinge(0, None, [0.0; 3], [0.0, 0.0, 1.0]));
    scene.joints.push(Joint::fixed(0, Some(1), [1.0, 0.0, 0.0]));
    let (world, mut solver) = solver(&scene);
    let mut lowest: f64 = 0.0;
    for _ in 0..960 {
        solver.step();
        let states = solver.states();
        lowest = lowest.min(states[1].x.y);
        let (hinge, fixed) = (&world.joints[0], &world.joints[1]);
        let (gap, tilt) = hinge.violation(&states[0], &hinge.b.fixed);
        assert!(gap < 5e-3 && tilt < 5e-3, "hinge off by {gap} m, {tilt}");
        let (gap, tilt) = fixed.violation(&states[0], &states[1]);
        assert!(gap < 5e-3 && tilt < 1e-2, "fixed joint off by {gap} m, {tilt}");
    }
    assert!(lowest < -1.3, "it swings: {lowest}");
}

#[test]
fn a_box_slides_as_coulomb_says() {
    let mut scene = on_ground(0.3);
    scene.bodies = vec![cube([0.0, 0.5, 0.0]).moving([3.0, 0.0, 0.0])];
    let rest = settle(&scene, 4.0);
    let expected = 3.0 * 3.0 / (2.0 * 0.3 * 9.81);
    let slid = rest.states[0].x.x;
    assert!((slid - expected).abs() < 0.03 * expected, "slid {slid}, expected {expected}");
}

#[test]
fn balls_bounce_as_far_as_they_should() {
    for restitution in [0.0, 0.5, 1.0] {
        let mut scene = Scene { gravity: [0.0; 3], ..Scene::default() };
        let bouncy = Material { friction: 0.0, restitution, ..Material::default() };
        scene.materials.insert("default".into(), bouncy);
        let ball = |x: f64| Body::new(Shape::Sphere { radius: 0.5 }, [x, 0.0, 0.0]);
        scene.bodies = vec![ball(0.0).moving([2.0, 0.0, 0.0]), ball(1.5)];
        let (world, mut solver) = solver(&scene);
        for _ in 0..240 {
            solver.step();
        }
        let (first, second) = (solver.state(0).v.x, solver.state(1).v.x);
        assert!((second - first - 2.0 * restitution).abs() < 1e-9, "{restitution}: {first} {second}");
        let momentum = (first + second) * world.body(BodyId(0)).unwrap().mass;
        assert!((momentum - 2.0 * world.body(BodyId(0)).unwrap().mass).abs() < 1e-9);
    }
}

#[test]
fn more_sweeps_leave_less_unsolved() {
    let left = |iterations: u32| {
        let mut scene = on_ground(0.5);
        scene.group.iterations = iterations;
        scene.group.warm_start = false;
        scene.bodies = (0..6).map(|k| cube([0.0, 0.5 + f64::from(k), 0.0])).collect();
        let (_, mut solver) = solver(&scene);
        (0..20).map(|_| solver.step().residual.unwrap().sum).last().unwrap()
    };
    let (few, some, many) = (left(5), left(50), left(500));
    assert!(few > some && some > many && many < 1e-2 * few, "{few} {some} {many}");
}

#[test]
fn joined_bodies_do_not_collide_unless_asked_to() {
    let mut scene = Scene { gravity: [0.0; 3], ..Scene::default() };
    scene.bodies = vec![cube([0.0; 3]), cube([0.9, 0.0, 0.0])];
    scene.joints.push(Joint::ball(0, Some(1), [0.45, 0.0, 0.0]));
    let pairs = |scene: &Scene| solver(scene).1.step().pairs;
    assert_eq!(pairs(&scene), 0);
    scene.joints[0].collide = true;
    assert_eq!(pairs(&scene), 1);
}

#[test]
fn bodies_that_part_leave_nothing_unsolved() {
    let mut scene = on_ground(0.5);
    scene.bodies.push(cube([0.0, 0.5, 0.0]).moving([0.0, 0.2, 0.0]));
    let counts = solver(&scene).1.step();
    assert!(counts.points > 0, "they are still near");
    assert_eq!(counts.residual.unwrap().sum, 0.0);
}

#[test]
fn every_row_of_a_joint_counts_as_unsolved() {
    let (_, mut solver) = solver(&chain(8, 1));
    let residual = solver.step().residual.unwrap();
    assert_eq!(residual.rows, 3 * 8);
    assert!(residual.sum > 1e-3 && residual.max > 1e-4, "{residual:?}");
}

#[test]
fn overlaps_are_removed_without_a_push() {
    let mut scene = Scene { gravity: [0.0; 3], ..on_ground(0.5) };
    scene.bodies = vec![cube([0.0, 2.0, 0.0]), cube([0.0, 2.9, 0.0])];
    let (world, mut solver) = solver(&scene);
    for _ in 0..(1.0 / world.time.tick_s) as usize {
        solver.step();
    }
    let [low, high] = [0, 1].map(|body| *solver.state(body));
    assert!((high.x.y - low.x.y) > 0.995, "{}", high.x.y - low.x.y);
    assert!(low.v.norm() < 1e-9 && high.v.norm() < 1e-9, "{low:?} {high:?}");
}

#[test]
fn what_falls_comes_down_to_the_ground() {
    let mut scene = on_ground(0.5);
    scene.bodies.push(Body::new(Shape::Sphere { radius: 0.5 }, [0.0, 0.83, 0.0]));
    let (world, mut solver) = solver(&scene);
    for _ in 0..(1.0 / world.time.tick_s) as usize {
        solver.step();
    }
    assert!((solver.state(0).x.y - 0.5).abs() < 1e-4, "{}", solver.state(0).x.y);
}

/// Joints are swept forwards and backwards, so that a chain may hang from either end of the list: a held link acts on the
/// other end within two sweeps.
#[test]
fn a_chain_hangs_as_well_from_its_last_link() {
    let mut from_last = chain(20, 2);
    from_last.joints.remove(0);
    from_last.joints.push(Joint::ball(19, None, [10.0, 0.0, 0.0]));
    let felt = |scene: &Scene, free: u32| {
        let (world, mut solver) = solver(scene);
        solver.step();
        let fall = world.gravity * world.time.tick_s;
        (solver.state(free).v - fall).norm() / fall.norm()
    };
    let (first, last) = (felt(&chain(20, 2), 19), felt(&from_last, 0));
    assert!(first > 0.0 && last > 0.0, "felt by {first:e} and {last:e} of the fall");
}

/// Overlap removal is warm-started too: otherwise the few sweeps of a tick never reach the ends of a high pile.
#[test]
fn a_pile_that_overlaps_rises_within_a_few_ticks() {
    let mut scene = Scene { gravity: [0.0; 3], ..on_ground(0.5) };
    scene.group.iterations = 4;
    scene.bodies = (0..20).map(|k| cube([0.0, 0.5 + 0.95 * f64::from(k), 0.0])).collect();
    let (_, mut solver) = solver(&scene);
    for _ in 0..60 {
        solver.step();
    }
    let lacking = 19.5 - solver.state(19).x.y;
    assert!(lacking < 0.1, "{lacking} m of 0.95 are still lacking");
}
