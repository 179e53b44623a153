//! `run --record`, `diff` and `export`.

use anachron::record::{Ending, Recording};

use crate::program::Sandbox;

fn recorded(sandbox: &Sandbox, name: &str, more: &[&str]) -> String {
    let arguments = ["run", "stack", "--bodies", "3", "--seconds", "0.5", "--record", name];
    sandbox.digest(&[&arguments[..], more].concat())
}

#[test]
fn a_recording_holds_what_was_run() {
    let sandbox = Sandbox::new();
    let digest = recorded(&sandbox, "a.anr", &[]);
    let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
    assert_eq!(recording.len(), 31);
    assert_eq!(recording.scene().bodies.len(), 3);
    let summary = recording.summary().unwrap();
    assert!(!summary.interrupted);
    assert_eq!(summary.digest.to_string(), digest);
    assert_eq!(recording.digest().unwrap().to_string(), digest);
}

#[test]
fn diff_ends_with_zero_for_equal_recordings_and_one_for_others() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "a.anr", &[]);
    recorded(&sandbox, "same.anr", &[]);
    recorded(&sandbox, "other.anr", &["--set", "body[1].velocity=[0.001,0,0]"]);
    let same = sandbox.run(&["diff", "a.anr", "same.anr"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.contains("equal to the bit: 31 frames"), "{same:?}");
    let other = sandbox.run(&["diff", "a.anr", "other.anr"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    for part in ["body[1].velocity", "frame 0", "body 1", "v.x"] {
        assert!(other.stdout.contains(part), "{part} is missing in {other:?}");
    }
    let missing = sandbox.run(&["diff", "a.anr", "missing.anr"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.contains("missing.anr"), "{missing:?}");
}

#[test]
fn csv_has_a_row_per_body_and_frame() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "a.anr", &[]);
    sandbox.good(&["export", "a.anr", "--out", "all.csv"]);
    let text = String::from_utf8(sandbox.read("all.csv")).unwrap();
    assert!(text.starts_with("frame,tick,time_s,body,name,"), "{text}");
    assert_eq!(text.lines().count(), 1 + 31 * 3);
    sandbox.good(&["export", "a.anr", "--out", "some.csv", "--every", "20"]);
    let text = String::from_utf8(sandbox.read("some.csv")).unwrap();
    let frames: Vec<&str> =
        text.lines().skip(1).step_by(3).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(frames, ["0", "20", "30"], "every 20th and the last");
    assert_eq!(sandbox.files(), ["a.anr", "all.csv", "some.csv"], "nothing half made is left");
}

#[test]
fn glb_is_a_whole_gltf_file() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "a.anr", &[]);
    sandbox.good(&["export", "a.anr", "--out", "a.GLB", "--every", "2"]);
    let bytes = sandbox.read("a.GLB");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
    let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + word(12)]).unwrap();
    assert_eq!(document["asset"]["version"], "2.0");
    assert_eq!(document["animations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_recording_that_is_cut_off_is_good_up_to_there() {
    let sandbox = Sandbox::new();
    // Large enough for several chunks.
    let arguments = ["run", "stack", "--seconds", "3", "--record", "a.anr", "--quiet"];
    sandbox.good(&arguments);
    let bytes = sandbox.read("a.anr");
    sandbox.write("cut.anr", &bytes[..bytes.len() * 2 / 3]);
    let frames = Recording::open(sandbox.path("cut.anr")).unwrap().len() as usize;
    assert!((1..181).contains(&frames), "{frames}");
    let exported = sandbox.run(&["export", "cut.anr", "--out", "cut.csv"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert!(exported.stderr.contains("note: cut.anr is cut off after byte"), "{exported:?}");
    let rows = String::from_utf8(sandbox.read("cut.csv")).unwrap().lines().count();
    assert_eq!(rows, 1 + 10 * frames);
    let compared = sandbox.run(&["diff", "a.anr", "cut.anr"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(compared.stdout.contains(&format!("the first {frames} frames are equal")), "{compared:?}");
}

#[test]
fn good_frames_of_a_damaged_recording_are_exported() {
    let sandbox = Sandbox::new();
    sandbox.good(&["run", "stack", "--seconds", "3", "--record", "a.anr", "--quiet"]);
    let mut bytes = sandbox.read("a.anr");
    let offset = bytes.len() * 2 / 3;
    bytes[offset] ^= 1;
    sandbox.write("bad.anr", &bytes);
    for every in ["1", "7"] {
        let exported = sandbox.run(&["export", "bad.anr", "--out", "bad.csv", "--every", every]);
        assert_eq!(exported.code, Some(2), "{exported:?}");
        assert!(exported.stderr.contains("bad.anr: damaged at byte"), "{exported:?}");
        assert!(exported.stderr.contains("frames before are good; bad.csv has them"), "{exported:?}");
        let rows = String::from_utf8(sandbox.read("bad.csv")).unwrap().lines().count();
        assert!(rows > 50 / every.parse::<usize>().unwrap(), "{rows}");
    }
    let compared = sandbox.run(&["diff", "a.anr", "bad.anr"]);
    assert_eq!(compared.code, Some(2), "{compared:?}");
}

#[test]
fn bad_input_replaces_no_older_recording() {
    let sandbox = Sandbox::new();
    recorded(&sandbox, "a.anr", &[]);
    let before = sandbox.read("a.anr");
    let flat = "[0,0,0],[1,0,0],[0,0,1],[1,0,1]";
    sandbox.write("flat.toml", format!("[[body]]\nshape = {{ hull = {{ points = [{flat}] }} }}\n"));
    for bad in [&["cilinders"][..], &["stack", "--seconds", "nan"], &["missing.toml"], &["flat.toml"]] {
        let ended = sandbox.run(&[&["run", "--record", "a.anr"], bad].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(sandbox.read("a.anr") == before, "{bad:?} touched the recording");
    }
    // A file that is no recording is not replaced by one.
    let ended = sandbox.run(&["run", "stack", "--record", "flat.toml"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--record: flat.toml exists and is not a recording"), "{ended:?}");
    assert!(sandbox.read("flat.toml").starts_with(b"[[body]]"));
    // A recording is.
    recorded(&sandbox, "a.anr", &["--seed", "2"]);
    let recording = Recording::open(sandbox.path("a.anr")).unwrap();
    assert!(matches!(recording.ending(), Ending::Finished(_)) && recording.scene().seed == 2);
}
