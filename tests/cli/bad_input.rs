//! Wrong input: the program names it, proposes a fix, and ends with 2.

use crate::program::Sandbox;

/// A folder with good files, and with files that are bad each in its own way.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let body = |fields: &str| format!("[[body]]\nshape = {{ sphere = {{ radius = 0.5 }} }}\n{fields}\n");
    let shape = |shape: &str| format!("[[body]]\nshape = {shape}\n");
    let mesh = |file: &str| format!("[[static]]\nshape = {{ mesh = {{ file = \"{file}\" }} }}\n");
    sandbox.write("good.toml", body(""));
    sandbox.write("unknown_key.toml", body("postion = [0, 0, 0]"));
    sandbox.write("unknown_top_key.json", "{\"gravty\": [0, 0, 0]}");
    sandbox.write("nan_radius.toml", shape("{ sphere = { radius = nan } }"));
    sandbox.write("negative_radius.toml", shape("{ sphere = { radius = -0.5 } }"));
    sandbox.write("huge_box.toml", shape("{ box = { half_extents = [1, 1e300, 1] } }"));
    sandbox.write("unknown_shape.toml", shape("{ sphre = { radius = 1 } }"));
    sandbox.write("orientation.toml", body("orientation = [0, 0, 0, 2]"));
    sandbox.write("infinite_speed.toml", body("velocity = [inf, 0, 0]"));
    sandbox.write("material.toml", body("material = \"wod\""));
    sandbox.write("names.toml", body("name = \"a\"") + &body("name = \"a\""));
    sandbox.write("density.toml", "[materials.default]\ndensity = 0\n");
    sandbox.write("ticks.toml", "ticks_per_second = 1e30\n");
    sandbox.write("missing_mesh.toml", mesh("missing.obj"));
    sandbox.write("broken_mesh.toml", mesh("broken.obj"));
    sandbox.write("broken.obj", "v 0 0 0\nv 1 0 x\n");
    sandbox.write("syntax.toml", "seconds = = 2\n");
    sandbox.write("syntax.json", "{\"seconds\": 2");
    sandbox.write("binary.toml", [0xff, 0xfe, 0x00, 0x80]);
    sandbox.write("text.anr", "this is no recording\n");
    sandbox.write("empty.anr", "");
    std::fs::create_dir(sandbox.path("folder.toml")).unwrap();
    sandbox.good(&["run", "stack", "--bodies", "2", "--seconds", "0.2", "--record", "good.anr"]);
    sandbox.write("cut.anr", &sandbox.read("good.anr")[..100]);
    sandbox
}

/// Checks that each line of arguments is rejected with a message that has all the parts.
fn rejected(sandbox: &Sandbox, table: &[(&str, &[&str])]) {
    for (arguments, parts) in table {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let ended = sandbox.run(&arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stdout, "", "{ended:?}");
        assert!(ended.stderr.starts_with("error: "), "{ended:?}");
        for part in *parts {
            assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
        }
    }
}

#[test]
fn bad_scene_files_are_rejected_by_field() {
    let sandbox = sandbox();
    let table: &[(&str, &[&str])] = &[
        ("unknown_key.toml", &["body[0].postion", "unknown key", "`position`"]),
        ("unknown_top_key.json", &["gravty", "`gravity`"]),
        ("nan_radius.toml", &["body[0].shape.sphere.radius", "NaN"]),
        ("negative_radius.toml", &["body[0].shape.sphere.radius", "-0.5"]),
        ("huge_box.toml", &["body[0].shape.box.half_extents[1]", "1e300"]),
        ("unknown_shape.toml", &["body[0].shape", "sphre", "`sphere`"]),
        ("orientation.toml", &["body[0].orientation", "length 2", "write [0.0, 0.0, 0.0, 1.0]"]),
        ("infinite_speed.toml", &["body[0].velocity[0]", "inf"]),
        ("material.toml", &["body[0].material", "wod"]),
        ("names.toml", &["body[1].name", "body[0]"]),
        ("density.toml", &["materials.default.density", "from 1e-6"]),
        ("ticks.toml", &["ticks_per_second", "1e30"]),
        ("missing_mesh.toml", &["static[0].shape.mesh.file", "missing.obj", "does not exist"]),
        ("broken_mesh.toml", &["static[0].shape.mesh.file", "broken.obj", "line 2"]),
        ("syntax.toml", &["line 1", "TOML"]),
        ("syntax.json", &["line 1", "JSON"]),
        ("binary.toml", &["UTF-8"]),
        ("missing.toml", &["does not exist"]),
        ("folder.toml", &["is not a file"]),
        ("text.anr", &["is neither a recording nor a scene file", "`.toml`"]),
    ];
    for (file, parts) in table {
        for command in ["run", "check", "scene"] {
            let parts = [&[*file][..], parts].concat();
            rejected(&sandbox, &[(&format!("{command} {file}"), &parts)]);
        }
    }
}

#[test]
fn bad_arguments_are_rejected_by_name() {
    rejected(
        &sandbox(),
        &[
            ("run cilinders", &["cilinders", "did you mean `cylinders`?", "`newton-cradle`"]),
            ("run no/such/place", &["no/such/place", "`cylinders`"]),
            ("run --bodies 0", &["bodies", "use 1 to 10000000"]),
            ("run --bodies -1", &["--bodies"]),
            ("run --bodies 4294967295", &["bodies", "10000000"]),
            ("run --bodies 99999999999999999999", &["--bodies"]),
            ("run --seconds 0", &["seconds", "above 0"]),
            ("run --seconds -1", &["seconds", "-1"]),
            ("run --seconds nan", &["seconds", "NaN"]),
            ("run --seconds 1e300", &["seconds", "1e300"]),
            ("run --seconds soon", &["--seconds"]),
            ("run --seed -1", &["--seed"]),
            ("run --seed 18446744073709551616", &["--seed"]),
            ("run --set gravity", &["--set", "gravity=[0,-1.6,0]"]),
            ("run --set =1", &["--set"]),
            ("run --set gravty=[0,0,0]", &["gravty", "`gravity`"]),
            ("run --set gravity=down", &["gravity", "three"]),
            ("run --set gravity=[0,0", &["gravity", "TOML value"]),
            ("run --set response.iterations=0", &["response.iterations"]),
            ("run --set response.iterations=99999999999", &["response.iterations"]),
            ("run --set body[500].velocity=[0,0,0]", &["body[500].velocity", "0 to 499"]),
            ("run bouncing --set density=full", &["density", "`lo`", "`hi`"]),
            ("run --sync magic", &["--sync", "sequential"]),
            ("run --cores 0", &["--cores"]),
            ("run --sync lockstep --gear high", &["--gear", "auto", "calendar", "near"]),
            ("run --sync lockstep --gear alternate", &["--gear", "auto", "calendar", "near"]),
            ("run --gear near --regions bodies", &["--gear", "has no gears here", "use `--sync lockstep`"]),
            ("run --gear auto --sync sequential", &["--gear", "`--sync sequential`", "leave --gear out"]),
            ("run bridge --gear near", &["--gear", "`--sync overlap` has no gears here"]),
            (
                "run --regions 2 --sync sequential",
                &["--regions", "`--sync sequential` has no regions", "leave --regions out"],
            ),
            ("run --regions 65", &["--regions", "64"]),
            ("run --regions 0", &["--regions", "`auto`", "`bodies`"]),
            (
                "run --regions bodies --sync lockstep",
                &["--regions", "no process per body", "--sync timewarp"],
            ),
            ("run --trace a.json", &["--trace", "add `--regions bodies`, or leave --trace out"]),
            ("run --tvht actors", &["--tvht", "add `--regions bodies`"]),
            ("run --regions 2 --history 100", &["regions", "leave `--regions` or `--history` out"]),
            ("run --regions 2 --bridge auto", &["bridge", "leave `--regions` or `--bridge` out"]),
            ("run bridge --sync lockstep", &["joint", "`--sync lockstep`", "use `--sync overlap`"]),
            ("run --record no/such/folder/a.anr", &["no/such/folder", "create it first"]),
            ("run --record folder.toml", &["folder.toml"]),
            ("run good.toml --bodies 2", &["--bodies", "scene file"]),
            ("run good.toml --seed 2", &["--seed", "scene file"]),
            ("run good.toml --set body[0].mass=2", &["body[0].mass", "unknown key"]),
            ("run good.toml --seconds -2", &["seconds", "-2"]),
            ("scene", &["SCENARIO|FILE"]),
            ("scene gas --set iterations=7", &["iterations", "unknown key"]),
        ],
    );
}

#[test]
fn bad_recordings_and_outputs_are_rejected_by_name() {
    let sandbox = sandbox();
    let before = sandbox.files();
    rejected(
        &sandbox,
        &[
            ("export text.anr --out a.csv", &["text.anr", "not an anachron recording"]),
            ("export empty.anr --out a.csv", &["empty.anr"]),
            ("export cut.anr --out a.csv", &["cut.anr", "cut off at byte 100"]),
            ("export missing.anr --out a.csv", &["missing.anr"]),
            ("export good.toml --out a.csv", &["good.toml", "not an anachron recording"]),
            ("export folder.toml --out a.csv", &["folder.toml"]),
            ("export good.anr --out a.obj", &["--out", "a.obj", "`.csv` or `.glb`"]),
            ("export good.anr --out csv", &["--out", "`.csv` or `.glb`"]),
            ("export good.anr --out no/folder/a.csv", &["--out", "no/folder/a.csv"]),
            ("export good.anr --out a.csv --every 0", &["--every"]),
            ("export good.anr", &["--out"]),
            ("diff good.anr text.anr", &["text.anr"]),
            ("diff cut.anr good.anr", &["cut.anr"]),
            ("render missing.anr --out a.png", &["missing.anr"]),
            ("render text.anr --out a.png", &["text.anr", "not an anachron recording"]),
            ("render nan_radius.toml --out a.png", &["body[0].shape.sphere.radius"]),
            ("render good.anr --out a.jpg", &["--out", "`.png` or `.gif`"]),
            ("render good.anr --frame 999 --out a.png", &["--frame", "no frame 999", "0 to 12"]),
            ("render stack --frame 999999 --out a.png", &["--frame", "no frame 999999"]),
            ("render good.anr --frame 13 --out a.gif", &["--frame", "no frame 13"]),
            ("render good.anr --bodies 5 --out a.png", &["--bodies", "recording"]),
            ("render good.anr --size 99999x99999 --out a.png", &["size 99999x99999"]),
            ("render good.anr --size 0x10 --out a.png", &["size 0x10"]),
            ("render good.anr --size big --out a.png", &["--size", "960x540"]),
            ("render good.anr --camera up --out a.png", &["--camera", "eye="]),
            ("render good.anr --camera eye=0,nan,0 --out a.png", &["--camera", "eye"]),
            ("render good.anr --color red --out a.png", &["--color", "body or speed"]),
            ("render good.anr --every 2 --out a.png", &["--every", "`.gif`"]),
            ("render good.anr --every 1 --out a.gif", &["--every", "of 2 or more", "--fps"]),
            ("render good.anr --fps 0 --out a.gif", &["--fps"]),
            ("render good.anr --fps nan --out a.gif", &["--fps"]),
            ("render good.anr --fps 2000 --out a.gif", &["--fps"]),
        ],
    );
    assert_eq!(sandbox.files(), before, "nothing was written");
}
