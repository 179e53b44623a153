//! Scene files: what is read, what is refused and how that is explained, round trips, and fuzzing.

#![allow(clippy::unwrap_used)] // helpers of tests may fail, too

use std::fs;
use std::path::Path;

use anachron::scene::{
    Body, Material, ResponseSettings, Scene, SceneFormat, Shape, StaticObject, load, parse,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const EXAMPLE: &str = r##"
name = "everything"
seconds = 2
ticks_per_second = 480.0
gravity = [0, -1.62, 0]
seed = 18446744073709551615

[response]
iterations = 4

[materials.default]
friction = 0.1
[materials."my wood"]
density = 600
color = "#aa8855"

[[static]]
name = "ground"
shape = { half_space = { normal = [0, 1, 0] } }

[[static]]
shape = { mesh = { vertices = [[0,0,0],[1,0,0],[0,0,1]], triangles = [[0,2,1]] } }

[[body]]
name = "ball"
shape.sphere.radius = 0.5
position = [0, 3, -0.0]
velocity = [1, 0, 0]
material = "my wood"

[[body]]
id = 7
shape = { box = { half_extents = [0.1, 0.2, 0.3] } }
position = [5, 1, 0]
orientation = [0, 0.6, 0, 0.8]
angular_velocity = [0, 2, 0]

[[body]]
shape = { hull = { points = [[0,0,0],[1,0,0],[0,1,0],[0,0,1]] } }
position = [9, 1, 0]
"##;

fn same_bits(a: &Scene, b: &Scene) -> bool {
    // Unlike `==`, the text tells 0 from -0.
    format!("{a:?}") == format!("{b:?}")
}

#[test]
fn an_example_is_read_as_written() {
    let scene = parse(EXAMPLE, SceneFormat::Toml).unwrap();
    assert_eq!(scene.validate().unwrap(), []);
    assert_eq!((scene.seconds, scene.ticks_per_frame, scene.seed), (2.0, 4, u64::MAX));
    assert_eq!(scene.response, ResponseSettings { iterations: 4, ..Default::default() });
    assert_eq!(scene.materials["my wood"].density, 600.0);
    assert_eq!(scene.material("default").unwrap(), Material { friction: 0.1, ..Material::default() });
    assert_eq!(scene.bodies[0].shape, Shape::Sphere { radius: 0.5 });
    assert!(scene.bodies[0].position[2].is_sign_negative());
    assert_eq!(scene.body_id(1).0, 7);
    let from_json = parse(&scene.to_json(), SceneFormat::Json).unwrap();
    let from_toml = parse(&scene.to_toml(), SceneFormat::Toml).unwrap();
    assert!(same_bits(&scene, &from_json) && same_bits(&scene, &from_toml));
    let marked = parse(&format!("\u{feff}{EXAMPLE}"), SceneFormat::Toml).unwrap();
    assert!(same_bits(&scene, &marked));
}

/// Checks field, problem and fix of the error for a text.
fn assert_refused(text: &str, format: SceneFormat, field: &str, problem: &str, fix: &str) {
    let error = parse(text, format).expect_err(text);
    assert_eq!(error.field, field, "{text}\n{error}");
    assert!(error.problem.contains(problem), "{text}\n{error}");
    assert!(error.fix.contains(fix), "{text}\n{error}");
}

const BALL: &str = "[[body]]\nshape = { sphere = { radius = 1 } }\n";

#[test]
fn toml_errors_name_field_line_and_fix() {
    let second = |line: &str| format!("{BALL}[[body]]\n{line}\n");
    for (text, field, problem, fix) in [
        ("secnds = 3".into(), "secnds", "unknown key (line 1)", "did you mean `seconds`?"),
        (format!("{BALL}colour = 3"), "body[0].colour", "unknown key (line 3)", "use one of `id`, `name`"),
        (format!("{BALL}postion = [1,2,3]"), "body[0].postion", "unknown key", "did you mean `position`?"),
        (second("position = [0,0,0]"), "body[1].shape", "is missing (line 3)", "shape = { sphere"),
        (
            second("shape = { ball = {} }"),
            "body[1].shape",
            "unknown shape `ball` (line 4)",
            "`sphere`, `box`",
        ),
        (
            second("shape = { sphere = { radus = 1 } }"),
            "body[1].shape.sphere.radus",
            "unknown key",
            "`radius`",
        ),
        (second("shape = { sphere = {} }"), "body[1].shape.sphere.radius", "is missing (line 4)", "metres"),
        (
            second("shape = { sphere = { radius = \"1\" } }"),
            "body[1].shape.sphere.radius",
            "expected a number",
            "0.5",
        ),
        (second("shape = \"sphere\""), "body[1].shape.sphere", "expected its sizes", "{ sphere = { radius"),
        (second("shape = 3"), "body[1].shape", "(line 4)", "shape = { sphere"),
        (second("shape = {}"), "body[1].shape", "(line 4)", "shape = { sphere"),
        (
            second("shape.sphere.radius = 1\nshape.box.half_extents = [1,1,1]"),
            "body[1].shape",
            "",
            "one shape",
        ),
        (format!("{BALL}position = [1, 2]"), "body[0].position", "a list of three (line 3)", "three numbers"),
        (
            format!("{BALL}position = [1, 2, 3, 4]"),
            "body[0].position",
            "has 4 elements where 3 belong (line 3)",
            "three",
        ),
        (
            format!("{BALL}orientation = [1, 2, 3, 4, 5]"),
            "body[0].orientation",
            "5 elements where 4",
            "quaternion",
        ),
        (
            format!("{BALL}position = [1, true, 3]"),
            "body[0].position[1]",
            "expected a number",
            "three numbers",
        ),
        (format!("{BALL}id = -1"), "body[0].id", "expected a whole number", "whole number"),
        (format!("{BALL}name = 3"), "body[0].name", "expected a string", "in quotes"),
        ("[body]\n".into(), "body", "expected a list", "[[body]]"),
        ("gravity = [0, 0, 0, 0]".into(), "gravity", "has 4 elements", "gravity = [0, -9.81, 0]"),
        ("[materials]\nwood = 3".into(), "materials.wood", "expected a table", ""),
        (
            "[materials.\"my wood\"]\nfrction = 3".into(),
            "materials.\"my wood\".frction",
            "unknown key",
            "`friction`",
        ),
        (
            "[response]\nwarm_start = 1".into(),
            "response.warm_start",
            "expected a boolean",
            "`true` or `false`",
        ),
        ("seconds = 1e999".into(), "seconds", "overflow", "number of seconds"),
        (
            "seed = 18446744073709551616".into(),
            "seed",
            "whole number from 0 to 18446744073709551615",
            "whole number",
        ),
        ("seconds = 1\nseconds = 2".into(), "line 2", "is not TOML: duplicate key", ""),
        ("a = 1\n\n[[body]".into(), "line 3", "is not TOML", "correct the line"),
        (
            "[[static]]\nshape.mesh.vertices = [[0,0,0],[1,2,3,4]]".into(),
            "static[0].shape.mesh.vertices[1]",
            "4 elements where 3",
            "list of points",
        ),
        (
            "[[static]]\nshape.mesh.triangles = [[0,0,0],\n[1,2,-3]]".into(),
            "static[0].shape.mesh.triangles[1][2]",
            "whole number from 0 to 4294967295 (line 3)",
            "list of triangles",
        ),
    ] {
        assert_refused(&text, SceneFormat::Toml, field, problem, fix);
    }
}

#[test]
fn json_errors_name_field_line_and_fix() {
    let body = |inner: &str| format!("{{\n\"body\": [{{{inner}}}]}}");
    let ball = "\"shape\": {\"sphere\": {\"radius\": 1}}";
    for (text, field, problem, fix) in [
        ("{\"secnds\": 3}".into(), "secnds", "unknown key (line 1)", "did you mean `seconds`?"),
        (body("\"postion\": 0"), "body[0].postion", "unknown key (line 2)", "did you mean `position`?"),
        (body(""), "body[0].shape", "is missing", "shape = { sphere"),
        (
            body("\"shape\": {\"sphere\": {\"radus\": 1}}"),
            "body[0].shape.sphere.radus",
            "unknown key",
            "`radius`",
        ),
        (body("\"shape\": 3"), "body[0].shape", "something else", "shape = { sphere"),
        (
            body(&format!("{ball},\n\"position\": [1,2,3,4]")),
            "body[0].position",
            "too many elements (line 3)",
            "three",
        ),
        (
            body(&format!("{ball}, \"position\": [1,2]")),
            "body[0].position",
            "a list of three",
            "three numbers",
        ),
        (body(&format!("{ball}, {ball}")), "body[0].shape", "is given twice", "keep one"),
        ("{\"seconds\": null}".into(), "seconds", "found null, expected a number", "number of seconds"),
        ("{\"seconds\": 1e999}".into(), "seconds", "number out of range", "number of seconds"),
        ("{\"seconds\": NaN}".into(), "line 1", "is not JSON", "column"),
        ("{\n\"seconds\": 3".into(), "line 2", "is not JSON", "column 12"),
        ("{} x".into(), "line 1", "is not JSON", "column 4"),
        (String::new(), "line 1", "is not JSON", ""),
        ("\"seconds\"".into(), "scene", "expected a table", "anachron scene"),
    ] {
        assert_refused(&text, SceneFormat::Json, field, problem, fix);
    }
}

#[test]
fn messages_stay_short_whatever_is_quoted() {
    let long = "x".repeat(1_000_000);
    for text in [
        format!("{long} = 1"),
        format!("seconds = \"{long}\""),
        format!("[materials.{long}]\nfriction = \"\""),
    ] {
        let told = parse(&text, SceneFormat::Toml).unwrap_err().to_string();
        assert!(told.len() < 1000, "{} characters", told.len());
    }
}

#[test]
fn nesting_and_size_are_limited() {
    let dots = "a.".repeat(100_000);
    for text in [format!("{dots}a = 1"), format!("[{dots}a]"), format!("a = {}", "[".repeat(100_000))] {
        assert!(parse(&text, SceneFormat::Toml).is_err());
    }
    assert!(parse(&"[".repeat(1_000_000), SceneFormat::Json).is_err());
    assert!(parse(&"{\"materials\":".repeat(1_000_000), SceneFormat::Json).is_err());
    let told = parse(&"#".repeat((64 << 20) + 1), SceneFormat::Toml).unwrap_err().to_string();
    assert!(told.contains("is larger than 64 MiB"), "{told}");
}

/// Writes a scene with a mesh file beside it and loads it.
fn load_with(scene: &str, files: &[(&str, &[u8])]) -> Result<Scene, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let path = folder.path().join("scenes/scene.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, scene).unwrap();
    load(&path).map_err(|error| error.to_string())
}

fn with_mesh(file: &str) -> String {
    format!("{BALL}[[static]]\nshape = {{ mesh = {{ file = \"{file}\" }} }}\n")
}

const TRIANGLE: &[u8] = b"v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 3 2\n";

#[test]
fn meshes_are_read_from_beside_the_scene() {
    for (file, place) in [("a.obj", "scenes/a.obj"), ("sub/a.obj", "scenes/sub/a.obj"), ("../a.obj", "a.obj")]
    {
        let scene = load_with(&with_mesh(file), &[(place, TRIANGLE)]).unwrap();
        let vertices = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(scene.statics[0].shape, Shape::Mesh { file: None, vertices, triangles: vec![[0, 2, 1]] });
    }
}

#[test]
fn mesh_errors_name_field_and_file() {
    let comment_in_latin_1 = [b"# \xe9t\xe9\n", TRIANGLE].concat();
    assert!(load_with(&with_mesh("a.obj"), &[("scenes/a.obj", &comment_in_latin_1)]).is_ok());
    let missing = load_with(&with_mesh("a.obj"), &[]).unwrap_err();
    assert!(
        missing.starts_with("static[0].shape.mesh.file: ") && missing.contains("a.obj does not exist"),
        "{missing}"
    );
    let folder = load_with(&with_mesh("."), &[]).unwrap_err();
    assert!(folder.contains("is not a file"), "{folder}");
    let broken = load_with(&with_mesh("a.obj"), &[("scenes/a.obj", b"v 0 0 0\nf 1 1 2\n")]).unwrap_err();
    assert!(broken.contains("a.obj line 2: the face names vertex 2 of 1"), "{broken}");
    let flat =
        load_with(&with_mesh("a.obj"), &[("scenes/a.obj", b"v 0 0 0\nv 1 1 1\nf 1 2 1\n")]).unwrap_err();
    assert!(flat.contains("static[0].shape.mesh.triangles: no triangle has an area"), "{flat}");
    let both = format!("{BALL}[[static]]\nshape.mesh = {{ file = \"a.obj\", vertices = [[0,0,0]] }}\n");
    let told = load_with(&both, &[("scenes/a.obj", TRIANGLE)]).unwrap_err();
    assert!(told.contains("a file and triangles in place are both given"), "{told}");
    let moving = "[[body]]\nshape = { mesh = { file = \"a.obj\" } }\n";
    let told = load_with(moving, &[("scenes/a.obj", TRIANGLE)]).unwrap_err();
    assert!(told.contains("body[0].shape: a mesh cannot move"), "{told}");
    let unread = parse(&with_mesh("a.obj"), SceneFormat::Toml).unwrap().validate().unwrap_err().to_string();
    assert!(unread.contains("`a.obj` has not been read; read the scene with `scene::load`"), "{unread}");
}

#[test]
fn one_mesh_file_used_often_cannot_fill_the_memory() {
    let corners = "v 0 0 0\nv 1 0 0\nv 0 0 1\n".to_owned() + &"f 1 3 2\n".repeat(20_000);
    let many = BALL.to_owned() + &"[[static]]\nshape.mesh.file = \"a.obj\"\n".repeat(1_000);
    let told = load_with(&many, &[("scenes/a.obj", corners.as_bytes())]).unwrap_err();
    assert!(told.contains("static[500].shape.mesh.file: the meshes of the scene have more than"), "{told}");
}

#[test]
fn files_that_are_no_scenes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, content: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        load(&path).unwrap_err().to_string()
    };
    assert!(told("a.toml", None).contains("a.toml: does not exist"));
    assert!(told("a.yaml", Some(b"")).contains("name it `.toml` or `.json`"));
    assert!(told("scene", Some(b"")).contains("name it `.toml` or `.json`"));
    assert!(told("b.toml", Some(b"name = \"\xff\"")).contains("b.toml: is not UTF-8 text (byte 8)"));
    assert!(told("empty.toml", Some(b"")).contains("body: there is nothing that moves"));
    fs::create_dir(folder.path().join("folder.toml")).unwrap();
    assert!(load(&folder.path().join("folder.toml")).unwrap_err().to_string().contains("is not a file"));
    let large = fs::File::create(folder.path().join("large.toml")).unwrap();
    large.set_len(1 << 30).unwrap();
    assert!(load(&folder.path().join("large.toml")).unwrap_err().to_string().contains("larger than 64 MiB"));
    assert!(load(Path::new("")).is_err());
    fs::write(folder.path().join("c.JSON"), parse(EXAMPLE, SceneFormat::Toml).unwrap().to_json()).unwrap();
    assert!(load(&folder.path().join("c.JSON")).is_ok());
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0,
        2 => any::<f64>().prop_filter("finite", |n| n.is_finite()),
        1 => proptest::num::f64::SUBNORMAL,
        1 => Just(-0.0),
        1 => Just(0.0),
        1 => Just(f64::MAX),
    ]
}

fn any_vector() -> impl Strategy<Value = [f64; 3]> {
    [any_number(), any_number(), any_number()]
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "\\PC{0,12}", any::<String>()]
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let points = || vec(any_vector(), 0..12);
    prop_oneof![
        any_number().prop_map(|radius| Shape::Sphere { radius }),
        any_vector().prop_map(|half_extents| Shape::Box { half_extents }),
        (any_number(), any_number()).prop_map(|(radius, half_height)| Shape::Capsule { radius, half_height }),
        (any_number(), any_number())
            .prop_map(|(radius, half_height)| Shape::Cylinder { radius, half_height }),
        points().prop_map(|points| Shape::Hull { points }),
        any_vector().prop_map(|normal| Shape::HalfSpace { normal }),
        (proptest::option::of(any_text()), points(), vec(any::<[u32; 3]>(), 0..12))
            .prop_map(|(file, vertices, triangles)| Shape::Mesh { file, vertices, triangles }),
    ]
}

type Label = (Option<u32>, Option<String>, String);

fn any_label() -> impl Strategy<Value = Label> {
    (
        any::<Option<u32>>(),
        proptest::option::of(any_text()),
        prop_oneof![Just("default".to_owned()), any_text()],
    )
}

fn any_body() -> impl Strategy<Value = Body> {
    let turn = [any_number(), any_number(), any_number(), any_number()];
    let turn = prop_oneof![Just([0.0, 0.0, 0.0, 1.0]), turn];
    (any_label(), any_shape(), any_vector(), turn, any_vector(), any_vector()).prop_map(
        |((id, name, material), shape, position, orientation, velocity, angular_velocity)| Body {
            id,
            name,
            shape,
            position,
            orientation,
            velocity,
            angular_velocity,
            material,
        },
    )
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let material = (any_number(), any_number(), any_number(), proptest::option::of(any_text())).prop_map(
        |(density, friction, restitution, color)| Material { density, friction, restitution, color },
    );
    let response = (any::<u32>(), any::<u32>(), any::<bool>(), any_number()).prop_map(
        |(iterations, rounds, warm_start, correction)| ResponseSettings {
            iterations,
            rounds,
            warm_start,
            correction,
        },
    );
    let as_static = |body: Body| StaticObject {
        id: body.id,
        name: body.name,
        shape: body.shape,
        position: body.position,
        orientation: body.orientation,
        material: body.material,
    };
    let top = (any_text(), any_number(), any_number(), any::<u32>(), any_vector(), any::<u64>());
    let lists = (vec(any_body().prop_map(as_static), 0..4), vec(any_body(), 0..6));
    (top, response, btree_map(any_text(), material, 0..4), lists).prop_map(
        |(top, response, materials, lists)| {
            let (name, seconds, ticks_per_second, ticks_per_frame, gravity, seed) = top;
            let (statics, bodies) = lists;
            Scene {
                name,
                seconds,
                ticks_per_second,
                ticks_per_frame,
                gravity,
                seed,
                response,
                materials,
                statics,
                bodies,
            }
        },
    )
}

/// A mistake in a text: some bytes replaced, removed, repeated, or replaced by something that looks right.
fn mutated(text: &str, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    const TOKENS: &[&str] = &[
        "nan",
        "-inf",
        "1e308",
        "-0.0",
        "99999999999999999999",
        "[]",
        "{}",
        "[[body]]",
        "\"\"",
        "\u{feff}",
        "\n",
        "=",
        "shape",
        "mesh",
        "radius",
        "true",
        "null",
        ":",
        ",",
        "1979-05-27",
        "'''",
        "\\u0000",
        "id = 4294967295",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for (place, kind, value) in edits {
        let at = place % (bytes.len() + 1);
        let end = (at + usize::from(*value)).min(bytes.len());
        match kind % 5 {
            0 if at < bytes.len() => bytes[at] ^= value,
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at.max(bytes.len() / 4)),
            3 => drop(bytes.splice(at..end.min(at + 4), TOKENS[usize::from(*value) % TOKENS.len()].bytes())),
            _ => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// Reads a text in both forms and uses whatever comes out, which must not panic.
fn survive(text: &str) -> Result<(), TestCaseError> {
    for format in [SceneFormat::Toml, SceneFormat::Json] {
        match parse(text, format) {
            Ok(mut scene) => {
                let _ = scene.validate();
                let _ = scene.set("body[0].velocity[1]", "1");
                let _ = (scene.to_toml(), scene.to_json());
            }
            Err(error) => prop_assert!(!error.field.is_empty() && !error.fix.is_empty(), "{error:?}"),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_scene_survives_being_written_and_read(scene in any_scene()) {
        let toml = scene.to_toml();
        let from_toml = parse(&toml, SceneFormat::Toml).map_err(|e| TestCaseError::fail(format!("{e}\n{toml}")))?;
        prop_assert!(same_bits(&scene, &from_toml), "{}", toml);
        let json = scene.to_json();
        let from_json = parse(&json, SceneFormat::Json).map_err(|e| TestCaseError::fail(format!("{e}\n{json}")))?;
        prop_assert!(same_bits(&scene, &from_json), "{}", json);
        let _ = scene.validate();
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        survive(&text)?;
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..256)) {
        survive(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn no_mistake_in_a_scene_panics(
        edits in vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..8),
        json in any::<bool>(),
    ) {
        let example = parse(EXAMPLE, SceneFormat::Toml).expect("the example is right");
        let text = if json { example.to_json() } else { EXAMPLE.to_owned() };
        survive(&String::from_utf8_lossy(&mutated(&text, &edits)))?;
    }

    #[test]
    fn no_override_panics(path in "(body|static|response|materials|gravity|x)?(\\[[0-9]{0,2}\\]|\\.[a-z_]{1,8}|\\.|\"){0,4}",
                          value in prop_oneof!["\\PC{0,16}", "[-0-9.e\\[\\]{},=a-z\" ]{0,24}"]) {
        let example = parse(EXAMPLE, SceneFormat::Toml).expect("the example is right");
        let mut scene = example.clone();
        if scene.set(&path, &value).is_err() {
            prop_assert!(same_bits(&scene, &example));
        }
    }
}
