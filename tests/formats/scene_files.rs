//! Scene files: reading them, rejecting wrong ones, and error messages.

use std::fs;
use std::path::Path;

use anachron::scene::{
    Material, MeshRoot, ResponseSettings, Scene, SceneFormat, Shape, load, load_within, parse,
};

/// A scene with something of everything.
const EXAMPLE: &str = include_str!("../data/everything.toml");

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
    assert_eq!((scene.joints.len(), scene.joints[1].collide, scene.parts.len()), (2, true, 2));
    let from_json = parse(&scene.to_json(), SceneFormat::Json).unwrap();
    let from_toml = parse(&scene.to_toml(), SceneFormat::Toml).unwrap();
    assert!(same_bits(&scene, &from_json) && same_bits(&scene, &from_toml));
    let marked = parse(&format!("\u{feff}{EXAMPLE}"), SceneFormat::Toml).unwrap();
    assert!(same_bits(&scene, &marked));
}

/// Checks field, problem and fix of the error for a text.
fn assert_rejected(text: &str, format: SceneFormat, field: &str, problem: &str, fix: &str) {
    let error = parse(text, format).expect_err(text);
    assert_eq!(error.field, field, "{text}\n{error}");
    assert!(error.problem.contains(problem), "{text}\n{error}");
    assert!(error.fix.contains(fix), "{text}\n{error}");
}

const BALL: &str = "[[body]]\nshape = { sphere = { radius = 1 } }\n";

// Long: one table of wrong files and what is said of each.
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
        assert_rejected(&text, SceneFormat::Toml, field, problem, fix);
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
        assert_rejected(&text, SceneFormat::Json, field, problem, fix);
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
    assert!(told.contains("is larger than 16 MiB"), "{told}");
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
    for (file, path) in [("a.obj", "scenes/a.obj"), ("sub/a.obj", "scenes/sub/a.obj")] {
        let scene = load_with(&with_mesh(file), &[(path, TRIANGLE)]).unwrap();
        let vertices = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(scene.statics[0].shape, Shape::Mesh { file: None, vertices, triangles: vec![[0, 2, 1]] });
    }
}

#[test]
fn a_root_decides_which_meshes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let [scenes, meshes] = ["scenes", "meshes"].map(|name| folder.path().join(name));
    for made in [&scenes, &meshes] {
        fs::create_dir(made).unwrap();
    }
    let path = scenes.join("scene.toml");
    fs::write(&path, with_mesh("../meshes/a.obj")).unwrap();
    fs::write(meshes.join("a.obj"), TRIANGLE).unwrap();
    let told = load(&path).unwrap_err().to_string();
    assert!(told.contains("a.obj is outside the folder of the scene"), "{told}");
    for (root, is_read) in [
        (MeshRoot::SceneFolder, false),
        (MeshRoot::Folder(&scenes), false),
        (MeshRoot::Folder(&meshes), true),
        (MeshRoot::Folder(folder.path()), true),
        (MeshRoot::Anywhere, true),
    ] {
        assert_eq!(load_within(&path, root).is_ok(), is_read, "{root:?}");
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
fn files_that_are_no_scenes_are_rejected() {
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
    assert!(load(&folder.path().join("large.toml")).unwrap_err().to_string().contains("larger than 16 MiB"));
    assert!(load(Path::new("")).is_err());
    fs::write(folder.path().join("c.JSON"), parse(EXAMPLE, SceneFormat::Toml).unwrap().to_json()).unwrap();
    assert!(load(&folder.path().join("c.JSON")).is_ok());
}
