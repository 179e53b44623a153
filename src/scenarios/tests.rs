//! Tests of all scenarios: counts, known positions, no overlaps, written forms, and requests that make no sense.

use super::*;
use crate::base::math::Vec3;
use crate::scene::{Body, SceneFormat, Shape, parse};

/// A request with these values set, by name.
type Sets<'a> = &'a [(&'a str, &'a str)];

fn made(name: &str, bodies: u32, sets: Sets) -> Scene {
    try_made(name, bodies, sets).unwrap_or_else(|error| panic!("{name} {bodies} {sets:?}: {error}"))
}

fn try_made(name: &str, bodies: u32, sets: Sets) -> Result<Scene, SceneError> {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    build(name, &Request { bodies: Some(bodies), sets, ..Request::default() })
}

fn default_of(scenario: &Scenario) -> Scene {
    build(scenario.name, &Request::default()).unwrap_or_else(|error| panic!("{}: {error}", scenario.name))
}

fn radius(body: &Body) -> Option<f64> {
    if let Shape::Sphere { radius } = body.shape { Some(radius) } else { None }
}

/// The smallest gap between two balls of the scene; negative if they overlap.
fn smallest_gap(scene: &Scene) -> f64 {
    let mut balls: Vec<(Vec3, f64)> =
        scene.bodies.iter().filter_map(|body| Some((Vec3::from(body.position), radius(body)?))).collect();
    balls.sort_by(|a, b| a.0.x.total_cmp(&b.0.x));
    let largest = balls.iter().fold(0.0, |max: f64, ball| max.max(ball.1));
    let mut gap = f64::INFINITY;
    for (index, (x, r)) in balls.iter().enumerate() {
        let near = balls[index + 1..].iter().take_while(|(other, _)| other.x - x.x < 2.0 * largest);
        gap = near.fold(gap, |gap, (other, s)| gap.min((other - x).norm() - r - s));
    }
    gap
}

fn assert_near(found: [f64; 3], expected: [f64; 3]) {
    let distance = (Vec3::from(found) - Vec3::from(expected)).norm();
    assert!(distance < 1e-5, "found {found:?}, expected {expected:?}");
}

/// An independent generator, to check positions that depend on random numbers.
fn draws(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn symmetric(draw: u64) -> f64 {
    (draw >> 40) as f64 / 8_388_608.0 - 1.0
}

#[test]
fn defaults_have_the_promised_bodies_and_run_under_their_name() {
    let expected = [500, 500, 200, 1000, 1000, 1953, 10, 5, 16, 2408, 1798, 1691, 3724];
    for (scenario, count) in SCENARIOS.iter().zip(expected) {
        let scene = default_of(scenario);
        assert_eq!((scene.bodies.len(), scenario.bodies as usize), (count, count), "{}", scenario.name);
        assert_eq!((scene.name.as_str(), scene.seed, scene.seconds), (scenario.name, 42, scenario.seconds));
        assert_eq!(scene.validate().unwrap(), [], "{}", scenario.name);
        assert!((4.0..=10.0).contains(&scenario.seconds));
        assert_eq!(scene.ticks_per_second / f64::from(scene.ticks_per_frame), 60.0, "{}", scenario.name);
    }
    assert!(find(DEFAULT).is_some());
}

#[test]
fn every_scenario_scales() {
    for scenario in SCENARIOS {
        for bodies in [1, 2, 3, 6, 7, 15, 64, 105, 500, 1000] {
            let Ok(scene) = try_made(scenario.name, bodies, &[]) else {
                assert_eq!((scenario.name, bodies == 2 || bodies == 3), ("bouncing", true), "{bodies}");
                continue;
            };
            let rows = (1..).take_while(|b| b * (b + 1) / 2 <= bodies).count() as u32;
            let count = match scenario.name {
                "pyramid" => rows * (rows + 1) / 2,
                "bridge" => 9 * (bodies.saturating_sub(16) / 9).max(1) + 16,
                "four-way-bridge" => 36 * (bodies.saturating_sub(35) / 36).max(1) + 35,
                "chain-net" => {
                    let across = (1..=bodies).rev().find(|n| n * n * 49 <= bodies * 76).unwrap_or(1);
                    bodies / across * across
                }
                _ => bodies,
            };
            assert_eq!(scene.bodies.len(), count as usize, "{} {bodies}", scenario.name);
            assert!(smallest_gap(&scene) > -1e-12, "{} {bodies}: {}", scenario.name, smallest_gap(&scene));
        }
    }
}

#[test]
fn nothing_overlaps_at_the_start() {
    let variants: &[(&str, u32, Sets)] = &[
        ("bouncing", 200, &[("density", "lo")]),
        ("bouncing", 200, &[("density", "hi")]),
        ("bouncing", 5000, &[("density", "hi")]),
        ("bouncing", 200, &[("volume_m3", "100")]),
        ("bowl", 5040, &[]),
        ("cylinders", 10_000, &[]),
        ("gas", 10_000, &[]),
        ("stack", 20, &[("shape", "sphere")]),
        ("newton-cradle", 10, &[("pulled", "4")]),
        ("newton-cradle", 40, &[]),
        ("billiards", 500, &[("seed", "7")]),
    ];
    for (name, bodies, sets) in variants {
        let gap = smallest_gap(&made(name, *bodies, sets));
        assert!(gap > -1e-12, "{name} {bodies} {sets:?}: {gap}");
    }
}

#[test]
fn bridges_have_the_published_counts() {
    for (name, bodies, joints) in
        [("bridge", 1798, 3180), ("bridge", 232, 396), ("four-way-bridge", 1691, 3712)]
    {
        let scene = made(name, bodies, &[]);
        assert_eq!((scene.bodies.len(), scene.joints.len()), (bodies as usize, joints), "{name}");
    }
}

#[test]
fn joints_hold_at_the_start_and_nothing_else_is_in_the_way() {
    for name in ["building", "bridge", "four-way-bridge"] {
        let world = std::sync::Arc::new(crate::physics::World::new(&made(name, 500, &[])).unwrap());
        let states: Vec<_> = world.bodies.iter().map(|body| body.start).collect();
        assert!(crate::overlap::JointGaps::of(&world, &states).max_m < 1e-12, "{name}");
        let mut solver = crate::physics::island_solver::IslandSolver::of_all(world);
        let deepest = solver.step().deepest;
        assert!(deepest < 1e-9, "{name}: bodies overlap by {deepest} m");
    }
}

#[test]
fn written_scenes_read_back_to_the_bit() {
    for scenario in SCENARIOS {
        let scene = default_of(scenario);
        let bits = format!("{scene:?}");
        let toml = parse(&scene.to_toml(), SceneFormat::Toml).unwrap();
        let json = parse(&scene.to_json(), SceneFormat::Json).unwrap();
        assert!(format!("{toml:?}") == bits && format!("{json:?}") == bits, "{}", scenario.name);
    }
}

#[test]
fn parallel_lines_are_where_they_should_be() {
    let scene = made("parallel", 500, &[]);
    assert_near(scene.bodies[0].position, [-124.5 * 1.5, 0.0, -1.0]);
    assert_near(scene.bodies[499].position, [124.5 * 1.5, 0.0, 1.0]);
    assert_eq!((scene.bodies[0].velocity, scene.bodies[250].velocity), ([5.0, 0.0, 0.0], [-5.0, 0.0, 0.0]));
    assert_eq!(scene.gravity, [0.0; 3]);
}

#[test]
fn cylinders_and_layers_are_where_they_should_be() {
    let scene = made("cylinders", 500, &[]);
    assert_eq!(scene.statics.len(), 5);
    assert_near(scene.statics[0].position, [-7.0, 0.0, 0.0]);
    assert_eq!(scene.statics[0].shape, Shape::Cylinder { radius: 1.0, half_height: 7.4 });
    let mut draw = draws(42);
    let jitter: Vec<f64> = (0..1500).map(|_| symmetric(draw()) * 0.02).collect();
    let at =
        |i: usize, x: f64, y: f64, z: f64| [x + jitter[3 * i], y + jitter[3 * i + 1], z + jitter[3 * i + 2]];
    // 14 balls along X, 8 along Z, then the next layer.
    assert_near(scene.bodies[0].position, at(0, -6.5 * 1.1, 3.0, -3.5 * 1.1));
    assert_near(scene.bodies[15].position, at(15, -5.5 * 1.1, 3.0, -2.5 * 1.1));
    assert_near(scene.bodies[112].position, at(112, -6.5 * 1.1, 4.1, -3.5 * 1.1));
    let ball = &scene.materials["ball"];
    assert_eq!((ball.density, ball.friction, ball.restitution), (1000.0, 0.5, 0.3));
    assert_eq!(made("cylinders", 1000, &[]).statics.len(), 10);
}

#[test]
fn gas_follows_its_shuffle_and_its_draws() {
    let scene = made("gas", 8, &[]);
    // Eight balls fill all eight cells, so that only the draws matter: seven for the shuffle, then six per ball.
    let mut draw = draws(42);
    for _ in 0..7 {
        draw();
    }
    let edge = cube_root(8.0 * std::f64::consts::PI / 6.0 / 0.01);
    let margin = (edge / 2.0 - 1.0) * 0.45;
    for (cell, body) in scene.bodies.iter().enumerate() {
        let side = |bit: usize| if cell >> bit & 1 == 0 { -edge / 4.0 } else { edge / 4.0 };
        let expected = [0, 1, 2].map(|bit| side(bit) + symmetric(draw()) * margin);
        assert_near(body.position, expected);
        assert_near(body.velocity, [0, 1, 2].map(|_| symmetric(draw()) * 5.0));
    }
}

/// Newton's method, to be independent of the library that the scenario uses.
fn cube_root(x: f64) -> f64 {
    (0..200).fold(x, |root, _| (2.0 * root + x / (root * root)) / 3.0)
}

/// The inside of a closed box, from the positions and thickness of its walls.
fn inside_m(scene: &Scene) -> [f64; 3] {
    [0, 1, 2].map(|axis| scene.statics[2 * axis + 1].position[axis] * 2.0 - 4.0)
}

#[test]
fn the_gas_of_65536_is_flat() {
    let scene = made("gas", 65_536, &[]);
    assert_eq!((scene.bodies.len(), scene.statics.len()), (65_536, 6));
    let pitch = cube_root(std::f64::consts::PI / 6.0 / 0.01);
    for (inside, cells) in inside_m(&scene).into_iter().zip([64.0, 64.0, 16.0]) {
        assert!((inside - cells * pitch).abs() < 1e-9, "{inside}");
    }
    // Every cell is filled: each ball is inside the cell of its number, so that none overlap.
    let half = inside_m(&scene).map(|inside| inside / 2.0);
    for (index, body) in scene.bodies.iter().enumerate() {
        let cell = [index % 64, index / 64 % 64, index / 4096];
        let off_centre = [0, 1, 2].map(|k| body.position[k] + half[k] - (cell[k] as f64 + 0.5) * pitch);
        assert!(off_centre.iter().all(|off| off.abs() + 0.5 < pitch / 2.0), "ball {index} leaves {cell:?}");
    }
}

#[test]
fn bouncing_boxes_have_the_promised_volume() {
    let ball_m3 = std::f64::consts::PI / 6.0;
    for (density, share) in [("lo", 0.105), ("mid", 0.262), ("hi", 0.419)] {
        let volume: f64 = inside_m(&made("bouncing", 200, &[("density", density)])).iter().product();
        assert!((200.0 * ball_m3 / volume - share).abs() < 1e-9, "{density}");
    }
    assert_eq!(made("bouncing", 200, &[]), made("bouncing", 200, &[("density", "mid")]));
    for volume_m3 in [100.0, 250.0, 400.0] {
        let scene = made("bouncing", 200, &[("volume_m3", &volume_m3.to_string())]);
        let volume: f64 = inside_m(&scene).iter().product();
        assert!((volume - volume_m3).abs() < 1e-9 * volume_m3);
        assert!(scene.bodies.iter().all(|body| radius(body) == Some(0.25)));
        let reach = inside_m(&scene)[0] / 2.0 - 0.25;
        assert!(scene.bodies.iter().flat_map(|body| body.position).all(|x| x.abs() <= reach));
    }
}

#[test]
fn bowls_walls_meet_the_floor() {
    let scene = made("bowl", 5040, &[]);
    assert_eq!(scene.statics.len(), 5);
    let q = 0.5_f64.sqrt();
    assert_near(scene.statics[1].position, [8.0 + 10.5 * q, 9.5 * q, 0.0]);
    assert_near(scene.statics[4].position, [0.0, 9.5 * q, -8.0 - 10.5 * q]);
    // The top layer of 35, without jitter.
    assert!((scene.bodies[5039].position[1] - (2.0 + 34.0 * 1.1)).abs() <= 0.02);
    assert_eq!(scene.materials["ball"].restitution, 0.0);
}

#[test]
fn pyramids_stand_on_the_ground() {
    let scene = made("pyramid", 1953, &[]);
    assert_near(scene.bodies[0].position, [-30.5 * 1.1, 0.5, 0.0]);
    assert_near(scene.bodies[62].position, [-30.0 * 1.1, 1.5, 0.0]);
    assert_near(scene.bodies[1952].position, [0.0, 61.5, 0.0]);
    assert_eq!(scene.statics[0].shape, Shape::Box { half_extents: [82.0, 0.5, 82.0] });
    assert_eq!((scene.response.iterations, scene.ticks_per_second), (16, 240.0));
    let other = made("pyramid", 10, &[("iterations", "3"), ("ticks_per_second", "600")]);
    assert_eq!((other.response.iterations, other.ticks_per_second, other.ticks_per_frame), (3, 600.0, 10));
}

#[test]
fn cradle_balls_touch_each_other_and_the_floor() {
    for (bodies, pulled) in [(5, "1"), (6, "1"), (5, "2"), (30, "3")] {
        let scene = made("newton-cradle", bodies, &[("pulled", pulled)]);
        let pulled: usize = pulled.parse().unwrap();
        let x = |index: usize| Vec3::from(scene.bodies[index].position);
        for index in (0..scene.bodies.len() - 1).filter(|index| index + 1 != pulled) {
            assert!(((x(index + 1) - x(index)).norm() - 1.0).abs() < 1e-12, "{bodies} balls, {index}");
        }
        assert!((x(pulled) - x(pulled - 1)).norm() > 1.0);
        let middle = (pulled..scene.bodies.len()).map(|index| x(index).x).sum::<f64>();
        assert!(middle.abs() < 1e-9, "the row is not centred: {middle}");
        for index in 0..scene.bodies.len() {
            let gap = distance_to_mesh(&scene.statics[0].shape, x(index)) - 0.5;
            // Resting balls sit on the level floor; a pulled one is above a facet that cuts the arc short.
            let allowed = if index < pulled { 1e-5 } else { 1e-12 };
            assert!(gap.abs() < allowed, "{bodies} balls, {index}: {gap}");
        }
    }
}

/// Distance of a point from the nearest plane of a mesh that has the point's foot inside the triangle.
fn distance_to_mesh(shape: &Shape, point: Vec3) -> f64 {
    let Shape::Mesh { vertices, triangles, .. } = shape else { panic!("not a mesh") };
    let mut distance = f64::INFINITY;
    for triangle in triangles {
        let [a, b, c] = triangle.map(|corner| Vec3::from(vertices[corner as usize]));
        let normal = (b - a).cross(&(c - a)).normalize();
        let foot = point - normal * normal.dot(&(point - a));
        let inside =
            [(a, b), (b, c), (c, a)].iter().all(|(p, q)| (q - p).cross(&(foot - p)).dot(&normal) > -1e-9);
        if inside {
            distance = distance.min(normal.dot(&(point - a)));
        }
    }
    distance
}

#[test]
fn the_cradles_channel_faces_the_balls() {
    let scene = made("newton-cradle", 5, &[]);
    let towards_balls = [Vec3::y(), Vec3::z(), -Vec3::z()];
    for (object, towards) in scene.statics.iter().zip(towards_balls) {
        let Shape::Mesh { vertices, triangles, .. } = &object.shape else { panic!("not a mesh") };
        for triangle in triangles {
            let [a, b, c] = triangle.map(|corner| Vec3::from(vertices[corner as usize]));
            assert!((b - a).cross(&(c - a)).normalize().dot(&towards) > 0.7, "{:?}", object.name);
        }
    }
    let Shape::Mesh { vertices, .. } = &scene.statics[0].shape else { panic!("not a mesh") };
    let reach = vertices.iter().fold(0.0, |max: f64, vertex| max.max(vertex[0]));
    let start = scene.bodies[0].position[0];
    assert!(start < -6.0 && reach > -start + 1.0, "the arc ends at {reach}, the ball starts at {start}");
}

#[test]
fn the_rack_is_tight_and_the_break_is_resolved() {
    let scene = made("billiards", 16, &[]);
    let gap = smallest_gap(&scene);
    assert!(gap > 0.0 && gap < 1e-4, "{gap}");
    let travel = scene.bodies[0].velocity[0] / scene.ticks_per_second;
    assert!(travel < 0.2 * 2.0 * 0.028575);
    assert_eq!(scene.bodies[0].velocity, [8.0, 0.0, 0.0]);
    assert_near(scene.bodies[0].position, [-0.635, 0.028575, 0.0]);
    assert!((scene.bodies[1].position[0] - 0.635).abs() < 2e-5);
    let density = scene.materials["ball-08"].density;
    assert!((density * 4.0 / 3.0 * std::f64::consts::PI * 0.028575_f64.powi(3) - 0.17).abs() < 1e-12);
    let numbers: std::collections::BTreeSet<_> =
        scene.bodies.iter().map(|body| body.material.clone()).collect();
    assert_eq!(numbers.len(), 16);
    let fast = made("billiards", 16, &[("cue_speed", "20")]);
    assert!(20.0 / fast.ticks_per_second < 0.2 * 2.0 * 0.028575);
    for bodies in [16, 57, 1000] {
        let scene = made("billiards", bodies, &[]);
        let Shape::Box { half_extents } = scene.statics[3].shape else { panic!("not a box") };
        let inside = half_extents[0] - 0.028575;
        assert!(
            scene.bodies.iter().all(|body| body.position[0].abs() < inside),
            "{bodies} balls leave the table"
        );
    }
}

#[test]
fn seeds_change_what_is_random_and_nothing_else() {
    for (name, random) in
        [("gas", true), ("bowl", true), ("cylinders", true), ("billiards", true), ("stack", false)]
    {
        let of = |seed| build(name, &Request { seed: Some(seed), ..Request::default() }).unwrap();
        assert_eq!(of(7), of(7));
        assert_eq!(of(7).bodies != of(8).bodies, random, "{name}");
        assert_eq!(of(7), made(name, find(name).unwrap().bodies, &[("seed", "7")]));
        assert_eq!(of(7).seed, 7);
    }
}

#[test]
fn scene_fields_can_be_set_after_parameters() {
    let scene = made("stack", 3, &[("shape", "sphere"), ("gravity", "[0,-1.6,0]"), ("body[2].name", "top")]);
    assert_eq!((scene.gravity[1], scene.bodies[2].name.as_deref()), (-1.6, Some("top")));
    assert!(radius(&scene.bodies[0]).is_some());
    let scene = build("stack", &Request { seconds: Some(1.5), ..Request::default() }).unwrap();
    assert_eq!(scene.seconds, 1.5);
}

#[test]
fn senseless_requests_are_explained() {
    let cases: &[(&str, u32, Sets, &str)] = &[
        ("cylinder", 5, &[], "did you mean `cylinders`?"),
        ("nothing", 5, &[], "use one of `parallel`, `cylinders`"),
        ("stack", 0, &[], "bodies: 0 bodies were asked for; use 1 to 10000000"),
        ("stack", 10_000_001, &[], "use 1 to 10000000"),
        ("stack", 10, &[("shap", "box")], "or set a parameter of `stack`: `shape`"),
        ("stack", 10, &[("shape", "cone")], "shape: is `cone`; use one of `box`, `sphere`"),
        ("stack", 10, &[("bodies", "-1")], "bodies: is `-1`"),
        ("stack", 10, &[("seed", "x")], "seed: is `x`"),
        ("stack", 10, &[("seconds", "-1")], "seconds: is -1.0"),
        ("bouncing", 200, &[("density", "lo"), ("volume_m3", "100")], "set either density or volume_m3"),
        ("bouncing", 200, &[("density", "full")], "use one of `lo`, `mid`, `hi`"),
        ("bouncing", 200, &[("volume_m3", "nan")], "volume_m3: is `nan`"),
        ("bouncing", 200, &[("volume_m3", "2")], "use 8 bodies, or use a larger volume_m3"),
        ("bouncing", 9, &[], "use 8 or 14 bodies, or use a lower density"),
        ("bouncing", 10_000_000, &[("volume_m3", "100")], "or use a larger volume_m3"),
        ("pyramid", 10, &[("iterations", "0")], "iterations: is `0`; use a whole number from 1 to 1000"),
        ("newton-cradle", 5, &[("pulled", "6")], "pulled: is `6`; use a whole number from 1 to 5"),
        ("newton-cradle", 5, &[("release_deg", "80")], "release_deg: is `80`"),
        ("newton-cradle", 30, &[("pulled", "29"), ("release_deg", "75")], "pull fewer balls"),
        ("newton-cradle", 1001, &[], "use at most 1000"),
        ("billiards", 16, &[("cue_speed", "1e9")], "cue_speed: is `1e9`"),
    ];
    for (name, bodies, sets, expected) in cases {
        let told = try_made(name, *bodies, sets).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(expected), "{name} {bodies} {sets:?} told {told:?}");
    }
}
