//! Mesh files outside the folder of the scene are read only with `--allow-paths`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use crate::program::{Ended, Sandbox};
use crate::streams::fed;

const BALL: &str = "[[body]]\nshape.sphere.radius = 0.5\nposition = [0, 3, 0]\n";
const TRIANGLE: &str = "v -9 0 -9\nv 9 0 -9\nv 0 0 9\nf 1 3 2\n";

fn scene_with(file: &str) -> String {
    format!("seconds = 0.1\n{BALL}[[static]]\nshape.mesh.file = \"{file}\"\n")
}

/// A folder `scenes` with a mesh in it, and a mesh and a folder outside it.
fn folders() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("scenes/below")).unwrap();
    // Begins like the folder of the scene.
    fs::create_dir(sandbox.path("scenes2")).unwrap();
    for file in ["out.obj", "scenes2/out.obj", "scenes/in.obj", "scenes/below/in.obj"] {
        sandbox.write(file, TRIANGLE);
    }
    symlink("../out.obj", sandbox.path("scenes/link_out.obj")).unwrap();
    symlink("..", sandbox.path("scenes/folder_out")).unwrap();
    symlink("below/in.obj", sandbox.path("scenes/link_in.obj")).unwrap();
    symlink("scenes/in.obj", sandbox.path("link_to_in.obj")).unwrap();
    sandbox
}

#[track_caller]
fn assert_refused(ended: &Ended, file: &str) {
    let told = [
        "static[0].shape.mesh.file: ",
        &format!("{file} is outside the folder of the scene; move it there, or give `--allow-paths`"),
    ];
    let is_right = ended.code == Some(2) && told.iter().all(|part| ended.stderr.contains(part));
    assert!(is_right && ended.stdout.is_empty(), "{file}: {ended:?}");
}

#[test]
fn meshes_outside_the_folder_of_the_scene_need_a_flag() {
    let sandbox = folders();
    let absolute = sandbox.path("out.obj").display().to_string();
    let files = [
        &absolute,
        "../out.obj",
        "../scenes2/out.obj",
        "below/../../out.obj",
        "link_out.obj",
        "folder_out/out.obj",
    ];
    for file in files {
        sandbox.write("scenes/a.toml", scene_with(file));
        assert_refused(&sandbox.run(&["check", "scenes/a.toml"]), file);
        sandbox.good(&["check", "scenes/a.toml", "--allow-paths"]);
    }
    let absolute = sandbox.path("scenes/in.obj").display().to_string();
    for file in [
        "in.obj",
        "below/in.obj",
        "below/../in.obj",
        "../scenes/in.obj",
        "link_in.obj",
        "../link_to_in.obj",
        &absolute,
    ] {
        sandbox.write("scenes/a.toml", scene_with(file));
        sandbox.good(&["check", "scenes/a.toml"]);
    }
}

#[test]
fn every_command_that_reads_scenes_asks_for_the_flag() {
    let sandbox = folders();
    sandbox.write("scenes/a.toml", scene_with("../out.obj"));
    for arguments in [
        &["run", "scenes/a.toml"][..],
        &["scene", "scenes/a.toml"],
        &["check", "scenes/a.toml"],
        &["info", "scenes/a.toml"],
        &["render", "scenes/a.toml", "--size", "16x16", "--out", "a.png"],
    ] {
        assert_refused(&sandbox.run(arguments), "../out.obj");
        sandbox.good(&[arguments, &["--allow-paths"]].concat());
    }
}

#[test]
fn a_scene_on_standard_input_is_in_the_current_folder() {
    let sandbox = folders();
    let above = format!("../{}/out.obj", sandbox.path("").file_name().unwrap().display());
    for file in ["out.obj", "scenes/in.obj", &above] {
        let ended = fed(&sandbox, &["check", "-"], scene_with(file).as_bytes());
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let other = folders();
    let outside = other.path("out.obj").display().to_string();
    assert_refused(&fed(&sandbox, &["run", "-"], scene_with(&outside).as_bytes()), &outside);
    let ended = fed(&sandbox, &["run", "-", "--allow-paths"], scene_with(&outside).as_bytes());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
