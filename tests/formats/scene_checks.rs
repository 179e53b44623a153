//! What a scene may contain: every check of `Scene::validate`, with the field it names and the fix it proposes.

use anachron::scene::{Body, Material, Scene, Shape, StaticObject};

fn ball() -> Body {
    Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3])
}

fn scene() -> Scene {
    let mut scene = Scene { bodies: vec![ball(), ball()], ..Scene::default() };
    scene.materials.insert("wood".to_owned(), Material::default());
    let plane = Shape::HalfSpace { normal: [0.0, 1.0, 0.0] };
    scene.statics = vec![StaticObject::new(plane, [0.0; 3]), StaticObject::new(triangle(), [0.0; 3])];
    scene
}

fn triangle() -> Shape {
    mesh(vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], vec![[0, 2, 1]])
}

fn mesh(vertices: Vec<[f64; 3]>, triangles: Vec<[u32; 3]>) -> Shape {
    Shape::Mesh { file: None, vertices, triangles }
}

fn corner(size: f64) -> Vec<[f64; 3]> {
    vec![[0.0; 3], [size, 0.0, 0.0], [0.0, size, 0.0], [0.0, 0.0, size]]
}

/// Checks field and message of the error after an edit of a scene that is right.
fn assert_rejected(edit: impl Fn(&mut Scene), field: &str, message: &str) {
    let mut edited = scene();
    edit(&mut edited);
    let error = edited.validate().expect_err(field);
    assert_eq!(error.field, field, "{error}");
    assert!(error.to_string().contains(message), "expected {message:?} in {error}");
}

fn assert_accepted(edit: impl Fn(&mut Scene)) {
    let mut edited = scene();
    edit(&mut edited);
    if let Err(error) = edited.validate() {
        panic!("{error}");
    }
}

#[test]
fn numbers_of_the_scene_have_ranges() {
    type Field = fn(&mut Scene) -> &mut f64;
    let fields: &[(&str, Field, &[f64], &[f64])] = &[
        ("seconds", |s| &mut s.seconds, &[1e-9, 1e6], &[0.0, -1.0, 1.1e6]),
        ("ticks_per_second", |s| &mut s.ticks_per_second, &[1.0, 1e6], &[0.0, 0.99, 1.1e6, -240.0]),
        ("gravity[1]", |s| &mut s.gravity[1], &[0.0, -1e4, 1e4], &[]),
        ("gravity", |s| &mut s.gravity[1], &[], &[-1.1e4, 1e300]),
        ("response.correction", |s| &mut s.response.correction, &[0.0, 1.0], &[-0.1, 1.1]),
        (
            "materials.wood.density",
            |s| wood(s, |m| &mut m.density),
            &[1e-6, 1e9],
            &[0.0, -1.0, 1e-300, 1.1e9],
        ),
        ("materials.wood.friction", |s| wood(s, |m| &mut m.friction), &[0.0, 1e3], &[-0.1, 1.1e3]),
        ("materials.wood.restitution", |s| wood(s, |m| &mut m.restitution), &[0.0, 1.0], &[-0.1, 1.1]),
        ("body[1].position[2]", |s| &mut s.bodies[1].position[2], &[-1e9, 1e9], &[]),
        ("body[1].position", |s| &mut s.bodies[1].position[2], &[], &[1.1e9, -1e308]),
        ("body[1].velocity[0]", |s| &mut s.bodies[1].velocity[0], &[-1e5, 1e5], &[]),
        ("body[1].velocity", |s| &mut s.bodies[1].velocity[0], &[], &[1.1e5]),
        ("body[1].angular_velocity[0]", |s| &mut s.bodies[1].angular_velocity[0], &[-1e5], &[]),
        ("body[1].angular_velocity", |s| &mut s.bodies[1].angular_velocity[0], &[], &[1.1e5]),
        ("static[1].position[0]", |s| &mut s.statics[1].position[0], &[-1e9], &[]),
        ("static[1].position", |s| &mut s.statics[1].position[0], &[], &[-1.1e9]),
    ];
    for (name, field, right, wrong) in fields {
        for value in *right {
            assert_accepted(|scene| *field(scene) = *value);
        }
        for value in *wrong {
            assert_rejected(|scene| *field(scene) = *value, name, "");
        }
        // Vectors name the component that is not finite; their own name stands for their length.
        if !right.is_empty() {
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert_rejected(|scene| *field(scene) = value, name, "write a finite number");
            }
        }
    }
}

fn wood(scene: &mut Scene, part: fn(&mut Material) -> &mut f64) -> &mut f64 {
    part(scene.materials.get_mut("wood").unwrap())
}

#[test]
fn the_longest_run_has_exact_tick_numbers() {
    let scene = Scene { seconds: 1e6, ticks_per_second: 1e6, ..scene() };
    scene.validate().unwrap();
    assert!(scene.time_base().last_tick <= 1_000_000_000_000);
}

/// Not every decimal number of seconds is a whole number of ticks in binary: 0.29 s at 100 ticks per second are
/// 28.999999999999996.
#[test]
fn a_run_ends_at_the_nearest_tick() {
    let last_tick = |seconds: f64, ticks_per_second: f64| {
        Scene { seconds, ticks_per_second, ..scene() }.time_base().last_tick
    };
    let (mut below, mut above) = (0, 0);
    for ticks_per_second in [30.0, 50.0, 60.0, 100.0, 120.0, 240.0, 1000.0] {
        for milliseconds in 0..20_000_u32 {
            let seconds = f64::from(milliseconds) / 1000.0;
            let exact = f64::from(milliseconds) * ticks_per_second / 1000.0;
            if exact.fract() == 0.0 {
                assert_eq!(last_tick(seconds, ticks_per_second) as f64, exact, "{seconds} s");
                below += u32::from(seconds * ticks_per_second < exact);
                above += u32::from(seconds * ticks_per_second > exact);
            }
        }
    }
    assert!(below > 100 && above > 100, "{below} and {above} numbers are rounded");
    assert_eq!(last_tick(0.5, 2.8), 1);
    assert_eq!(last_tick(0.5, 3.2), 2);
}

#[test]
fn whole_numbers_have_ranges() {
    for (value, right) in [(0, false), (1, true), (1_000_000, true), (1_000_001, false)] {
        let edited = Scene { ticks_per_frame: value, ..scene() };
        assert_eq!(edited.validate().map_err(|e| e.field).is_ok(), right, "{value}");
    }
    assert_rejected(|s| s.response.iterations = 0, "response.iterations", "from 1.0 to 1000.0");
    assert_rejected(|s| s.response.iterations = 1001, "response.iterations", "");
    assert_rejected(|s| s.response.rounds = 0, "response.rounds", "");
    assert_rejected(|s| s.response.rounds = 65, "response.rounds", "");
    assert_accepted(|s| s.response.rounds = 64);
}

#[test]
fn sizes_have_ranges() {
    type Make = fn(f64) -> Shape;
    let shapes: &[(&str, Make)] = &[
        ("sphere.radius", |size| Shape::Sphere { radius: size }),
        ("box.half_extents[1]", |size| Shape::Box { half_extents: [1.0, size, 1.0] }),
        ("capsule.radius", |size| Shape::Capsule { radius: size, half_height: 1.0 }),
        ("capsule.half_height", |size| Shape::Capsule { radius: 1.0, half_height: size }),
        ("cylinder.radius", |size| Shape::Cylinder { radius: size, half_height: 1.0 }),
        ("cylinder.half_height", |size| Shape::Cylinder { radius: 1.0, half_height: size }),
    ];
    for (name, make) in shapes {
        for wrong in [0.0, -1.0, 0.9e-6, 1.1e6, f64::NAN, f64::INFINITY] {
            assert_rejected(|s| s.bodies[1].shape = make(wrong), &format!("body[1].shape.{name}"), "");
            assert_rejected(|s| s.statics[0].shape = make(wrong), &format!("static[0].shape.{name}"), "");
        }
        for right in [1e-6, 1e6] {
            assert_accepted(|s| s.bodies[1].shape = make(right));
        }
    }
}

#[test]
fn a_ring_has_a_hole() {
    let ring = |radius, tube| move |s: &mut Scene| s.bodies[1].shape = Shape::Ring { radius, tube };
    for wrong in [0.0, -1.0, 0.9e-6, 1.1e6, f64::NAN] {
        assert_rejected(ring(wrong, 0.1), "body[1].shape.ring.radius", "");
        assert_rejected(ring(1.0, wrong), "body[1].shape.ring.tube", "");
    }
    assert_rejected(ring(0.5, 0.5), "body[1].shape.ring.tube", "less than `radius`, which is 0.5");
    assert_rejected(ring(0.5, 0.7), "body[1].shape.ring.tube", "middle of the tube");
    assert_accepted(ring(0.5, 0.49));
}

#[test]
fn unit_vectors_must_be_unit_and_the_error_gives_the_right_one() {
    let turned = |s: &mut Scene, q: [f64; 4]| s.bodies[0].orientation = q;
    assert_rejected(
        |s| turned(s, [0.0, 0.0, 3.0, 4.0]),
        "body[0].orientation",
        "length 5.0, not 1; write [0.0, 0.0, 0.6, 0.8]",
    );
    assert_rejected(
        |s| turned(s, [0.0, 0.0, 0.0, 1e300]),
        "body[0].orientation",
        "write [0.0, 0.0, 0.0, 1.0]",
    );
    assert_rejected(
        |s| turned(s, [0.0, 0.0, 0.0, 1e-300]),
        "body[0].orientation",
        "write [0.0, 0.0, 0.0, 1.0]",
    );
    assert_rejected(|s| turned(s, [0.0; 4]), "body[0].orientation", "is zero; write a unit one");
    assert_rejected(|s| turned(s, [0.0, f64::NAN, 0.0, 1.0]), "body[0].orientation[1]", "finite");
    assert_rejected(|s| turned(s, [0.0, 0.0, 0.0, 1.0 + 2e-6]), "body[0].orientation", "not 1");
    assert_accepted(|s| turned(s, [0.0, 0.0, 0.0, 1.0 - 0.9e-6]));
    let half_space = |s: &mut Scene, normal: [f64; 3]| s.statics[0].shape = Shape::HalfSpace { normal };
    assert_rejected(
        |s| half_space(s, [0.0, 2.0, 0.0]),
        "static[0].shape.half_space.normal",
        "write [0.0, 1.0, 0.0]",
    );
    assert_rejected(|s| half_space(s, [0.0; 3]), "static[0].shape.half_space.normal", "is zero");
}

#[test]
fn names_are_unique_over_bodies_and_statics() {
    let name = |name: &str| Some(name.to_owned());
    assert_rejected(
        |s| (s.bodies[0].name, s.bodies[1].name) = (name("a"), name("a")),
        "body[1].name",
        "`a` is also the name of body[0]",
    );
    assert_rejected(
        |s| (s.bodies[0].name, s.statics[1].name) = (name("a"), name("a")),
        "static[1].name",
        "also the name of body[0]",
    );
    assert_accepted(|s| (s.bodies[0].name, s.statics[1].name) = (name("a"), name("b")));
}

#[test]
fn ids_are_unique_per_kind_given_or_not() {
    assert_rejected(
        |s| s.bodies[0].id = Some(1),
        "body[1].id",
        "has the id 1, its index in the list, and so has body[0]",
    );
    assert_rejected(
        |s| s.statics[1].id = Some(0),
        "static[1].id",
        "and so has static[0], its index in the list",
    );
    assert_rejected(
        |s| (s.bodies[0].id, s.bodies[1].id) = (Some(9), Some(9)),
        "body[1].id",
        "give every element an id of its own",
    );
    assert_rejected(|s| s.bodies[1].id = Some(1 << 31), "body[1].id", "use a number from 0 to 2147483647");
    assert_accepted(|s| s.bodies[1].id = Some((1 << 31) - 1));
    assert_accepted(|s| (s.bodies[0].id, s.bodies[1].id) = (Some(1), Some(0)));
    assert_accepted(|s| (s.bodies[0].id, s.statics[0].id) = (Some(5), Some(5)));
}

#[test]
fn materials_exist_and_their_colours_are_colours() {
    assert_rejected(
        |s| s.bodies[1].material = "wod".into(),
        "body[1].material",
        "no material `wod`; did you mean `wood`?",
    );
    assert_rejected(
        |s| s.statics[0].material = "steel".into(),
        "static[0].material",
        "use one of `default`, `wood`",
    );
    assert_rejected(
        |s| s.materials.get_mut("wood").unwrap().color = Some("brown".into()),
        "materials.wood.color",
        "`brown` is not a colour; write it as `#rrggbb`",
    );
    assert_rejected(
        |s| drop(s.materials.insert("my wood".into(), Material { density: 0.0, ..Material::default() })),
        "materials.\"my wood\".density",
        "is 0.0",
    );
}

#[test]
fn some_shapes_cannot_move_and_something_must() {
    let plane = Shape::HalfSpace { normal: [0.0, 1.0, 0.0] };
    assert_rejected(|s| s.bodies[0].shape = plane.clone(), "body[0].shape", "a half-space cannot move");
    assert_rejected(|s| s.bodies[0].shape = triangle(), "body[0].shape", "a mesh cannot move; use a hull");
    assert_rejected(|s| s.bodies.clear(), "body", "there is nothing that moves");
}

#[test]
fn hulls_must_have_a_volume() {
    let hull = |s: &mut Scene, points: Vec<[f64; 3]>| s.bodies[0].shape = Shape::Hull { points };
    let field = "body[0].shape.hull.points";
    assert_rejected(|s| hull(s, corner(1.0)[..3].to_vec()), field, "there are 3 points; use 4 to 4096");
    assert_rejected(|s| hull(s, vec![[1.0; 3]; 4097]), field, "there are 4097 points");
    assert_rejected(|s| hull(s, vec![[1.0; 3]; 8]), field, "they span only 0e0 m");
    assert_rejected(
        |s| hull(s, (0..9).map(|i| [f64::from(i), f64::from(2 * i), 1.0]).collect()),
        field,
        "one line",
    );
    let square = |z: f64| vec![[0.0, 0.0, z], [1.0, 0.0, 2.0 * z], [0.0, 1.0, 0.0], [1.0, 1.0, 3.0 * z]];
    assert_rejected(|s| hull(s, square(0.0)), field, "one plane");
    assert_rejected(|s| hull(s, corner(1e-7)), field, "they span only");
    assert_rejected(|s| hull(s, corner(1e7)), "body[0].shape.hull.points[1]", "stay below 1e6 m");
    assert_rejected(|s| hull(s, corner(f64::NAN)), "body[0].shape.hull.points[1][0]", "finite");
    assert_rejected(
        |s| {
            (s.bodies[0].shape, s.bodies[0].name) = (Shape::Hull { points: corner(1e-6)[..2].to_vec() }, None)
        },
        field,
        "there are 2 points",
    );
    assert_accepted(|s| hull(s, corner(1.0)));
    assert_accepted(|s| hull(s, corner(1e-5)));
    assert_accepted(|s| hull(s, square(0.01)));
}

#[test]
fn meshes_must_have_a_surface() {
    let with = |s: &mut Scene, vertices: &[[f64; 3]], triangles: &[[u32; 3]]| {
        s.statics[1].shape = mesh(vertices.to_vec(), triangles.to_vec());
    };
    let corners = corner(1.0);
    let field = "static[1].shape.mesh.triangles";
    assert_rejected(|s| with(s, &corners, &[]), field, "the mesh has no triangles");
    assert_rejected(
        |s| with(s, &corners, &[[0, 1, 2], [0, 1, 4]]),
        &format!("{field}[1]"),
        "names vertex 4 of 4",
    );
    assert_rejected(|s| with(s, &corners, &[[0, 1, 1], [2, 2, 2]]), field, "no triangle has an area");
    assert_rejected(
        |s| with(s, &corner(1e7), &[[0, 1, 2]]),
        "static[1].shape.mesh.vertices[1]",
        "stay below 1e6 m",
    );
    assert_rejected(
        |s| with(s, &corner(f64::INFINITY), &[[0, 1, 2]]),
        "static[1].shape.mesh.vertices[1][0]",
        "is inf; write a finite number",
    );
    assert_accepted(|s| with(s, &corners, &[[0, 1, 1], [0, 1, 2]]));
    let unread = Shape::Mesh { file: Some("a.obj".into()), vertices: vec![], triangles: vec![] };
    assert_rejected(
        |s| s.statics[1].shape = unread.clone(),
        "static[1].shape.mesh.file",
        "read the scene with",
    );
    let both = Shape::Mesh { file: Some("a.obj".into()), vertices: corner(1.0), triangles: vec![[0, 1, 2]] };
    assert_rejected(|s| s.statics[1].shape = both.clone(), "static[1].shape.mesh.file", "keep one of them");
}

#[test]
fn large_meshes_are_rejected() {
    let too_many = vec![[0, 1, 2]; 10_000_001];
    let mut large = scene();
    large.statics.push(StaticObject::new(mesh(corner(1.0), too_many), [0.0; 3]));
    let told = large.validate().unwrap_err().to_string();
    assert_eq!(told, "static[2].shape.mesh.triangles: there are 10000001; use at most 10000000");
}

#[test]
fn fast_bodies_are_warned_of_once() {
    let mut fast = scene();
    fast.bodies[0].velocity = [0.0, 240.0, 0.0];
    assert_eq!(fast.validate().unwrap(), [], "exactly its thickness per tick is still seen");
    fast.bodies[0].velocity = [0.0, 241.0, 0.0];
    fast.bodies[1].velocity = [0.0, 600.0, 0.0];
    let warnings = fast.validate().unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].field, "body[1].velocity");
    let message = &warnings[0].message;
    assert!(message.contains("2 of 2 bodies") && message.contains("`ticks_per_second` of 600"), "{message}");
    fast.ticks_per_second = 600.0;
    assert_eq!(fast.validate().unwrap(), []);
    for (shape, thickness) in [
        (Shape::Box { half_extents: [1.0, 0.25, 1.0] }, 0.5),
        (Shape::Capsule { radius: 0.25, half_height: 1.0 }, 0.5),
        (Shape::Cylinder { radius: 1.0, half_height: 0.25 }, 0.5),
        (Shape::Ring { radius: 1.0, tube: 0.25 }, 0.5),
        (Shape::Hull { points: vec![[0.0; 3], [2.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 2.0]] }, 0.5),
    ] {
        let mut scene = Scene { bodies: vec![Body::new(shape, [0.0; 3])], ..Scene::default() };
        scene.bodies[0].velocity = [thickness * 239.0, 0.0, 0.0];
        assert_eq!(scene.validate().unwrap(), []);
        scene.bodies[0].velocity = [thickness * 241.0, 0.0, 0.0];
        assert_eq!(scene.validate().unwrap().len(), 1);
    }
}

#[test]
fn runs_without_a_second_frame_are_warned_of() {
    let short = Scene { seconds: 0.01, ..scene() };
    let warnings = short.validate().unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].message.contains("2 ticks is shorter than one frame of 4 ticks")
    );
}
