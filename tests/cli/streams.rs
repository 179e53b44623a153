//! Standard input and output, recordings as scenes, `info`, `check`, counts, completions and the manual page.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Ended, Sandbox};
use crate::running::Running;

/// Runs the program with a text on its standard input.
pub fn fed(sandbox: &Sandbox, arguments: &[&str], text: &[u8]) -> Ended {
    let mut running = Running::start(sandbox.command(arguments).stdin(Stdio::piped()));
    running.feed(text);
    running.wait()
}

fn digest_in(text: &str) -> String {
    serde_json::from_str::<Value>(text).unwrap()["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_scene_comes_through_a_pipe() {
    let sandbox = Sandbox::new();
    let asked = ["billiards", "--seconds", "0.5"];
    let digest = sandbox.digest(&[&["run"], &asked[..]].concat());
    for format in [&[][..], &["--json"]] {
        let scene = sandbox.good(&[&["scene"], &asked[..], format].concat());
        let ended = fed(&sandbox, &["run", "-", "--json", "--quiet"], scene.as_bytes());
        assert_eq!((ended.code, digest_in(&ended.stdout)), (Some(0), digest.clone()), "{ended:?}");
        let checked = fed(&sandbox, &["check", "-"], scene.as_bytes());
        assert!(checked.stdout.starts_with("standard input: a good scene, `billiards`"), "{checked:?}");
        let written = fed(&sandbox, &[&["scene", "-"], format].concat(), scene.as_bytes());
        assert_eq!(written.stdout, scene);
        let shown = fed(&sandbox, &["render", "-", "--size", "32x18", "--out", "a.png"], scene.as_bytes());
        assert_eq!(shown.code, Some(0), "{shown:?}");
    }
    for (text, part) in [
        (&b"seconds = nan"[..], "standard input: seconds"),
        (b"{\"gravty\": 1}", "standard input: gravty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[[body]]\nshape = { sphere = { radius = 0.5 } }\nvelocity = [1]", "body[0].velocity"),
    ] {
        let ended = fed(&sandbox, &["run", "-"], text);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
    }
}

#[test]
fn results_go_to_standard_output() {
    let sandbox = Sandbox::new();
    sandbox.good(&["run", "stack", "--seconds", "0.5", "--record", "a.anr", "--quiet"]);
    sandbox.good(&["export", "a.anr", "--out", "a.csv"]);
    let piped = sandbox.run(&["export", "a.anr", "--out", "-"]);
    assert_eq!(piped.stdout.as_bytes(), sandbox.read("a.csv"), "the same CSV");
    assert_eq!(piped.stderr, "standard output: 31 frames\n");
    sandbox.good(&["scene", "stack", "--out", "a.toml"]);
    assert_eq!(sandbox.good(&["scene", "stack"]).as_bytes(), sandbox.read("a.toml"));
    sandbox.good(&["scene", "stack", "--out", "a.json"]);
    assert_eq!(sandbox.good(&["scene", "stack", "--json", "--out", "-"]).as_bytes(), sandbox.read("a.json"));
    let traced = sandbox.run(&["run", "stack", "--seconds", "0.1", "--regions", "bodies", "--trace", "-"]);
    assert!(
        serde_json::from_str::<Value>(&traced.stdout).is_ok() && traced.stderr.contains("digest"),
        "{traced:?}"
    );
    let both = sandbox.run(&["run", "stack", "--regions", "bodies", "--trace", "-", "--json"]);
    assert!(both.code == Some(2) && both.stderr.contains("--trace: standard output"), "{both:?}");
    let ended = sandbox.run(&["scene", "stack", "--out", "a.yaml"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("`.toml` or `.json`"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.good(&["run", "gas", "--seconds", "1", "--record", "a.anr", "--quiet"]);
    for arguments in [
        &["export", "a.anr", "--out", "-"][..],
        &["run", "gas", "--seconds", "0.5", "--regions", "bodies", "--trace", "-", "--quiet"],
        &["completions", "zsh"],
        &["man"],
        &["list"],
    ] {
        let mut child = sandbox.command(arguments).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 4]).unwrap();
        let ended = Running::of(child, arguments.join(" ")).wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn a_recording_is_a_scene_too() {
    let sandbox = Sandbox::new();
    let digest = sandbox.digest(&["run", "billiards", "--seconds", "0.5", "--record", "a.anr"]);
    assert_eq!(sandbox.digest(&["run", "a.anr"]), digest);
    sandbox.write("again.toml", sandbox.good(&["scene", "a.anr"]));
    assert_eq!(sandbox.digest(&["run", "again.toml"]), digest);
    assert_ne!(sandbox.digest(&["run", "a.anr", "--set", "gravity=[0,-9,0]"]), digest);
    let longer = sandbox.json(&["run", "a.anr", "--seconds", "0.75"]);
    assert_eq!(longer["seconds"], 0.75);
    for (arguments, part) in [
        (&["run", "a.anr", "--bodies", "5"][..], "--bodies"),
        (&["run", "text.anr"], "neither a recording nor a scene file"),
        (&["scene", "text.anr"], "neither a recording nor a scene file"),
        (&["check", "text.anr"], "neither a recording nor a scene file"),
        (&["info", "text.anr"], "neither a recording nor a scene file"),
        (&["info", "missing.anr"], "there is no scenario and no file `missing.anr`"),
    ] {
        sandbox.write("text.anr", "text");
        let ended = sandbox.run(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(part), "{ended:?}");
    }
}

#[test]
fn check_reads_every_frame_of_a_recording() {
    let sandbox = Sandbox::new();
    let digest = sandbox.digest(&["run", "stack", "--seconds", "3", "--record", "a.anr"]);
    let told = sandbox.good(&["check", "a.anr"]);
    for part in
        ["a.anr: a good recording, `stack`", "181 frames", "ending   complete", &digest, "10 (10 boxes)"]
    {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    let bytes = sandbox.read("a.anr");
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    sandbox.write("damaged.anr", &damaged);
    let ended = sandbox.run(&["check", "damaged.anr"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("damaged.anr: damaged at byte"), "{ended:?}");
    sandbox.write("cut.anr", &bytes[..bytes.len() - 5]);
    let told = sandbox.good(&["check", "cut.anr"]);
    assert!(told.contains("a recording without an end") && told.contains("cut off after byte"), "{told}");
}

#[test]
fn info_describes_recordings_and_scenes() {
    let sandbox = Sandbox::new();
    let digest = sandbox.digest(&["run", "stack", "--bodies", "3", "--seconds", "1", "--record", "a.anr"]);
    let told = sandbox.good(&["info", "a.anr"]);
    for part in
        ["a.anr: a recording, `stack`", "made by  anachron ", "61 frames", "complete", &digest, "3 (3 boxes)"]
    {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    let object: Value = serde_json::from_str(&sandbox.good(&["info", "a.anr", "--json"])).unwrap();
    assert_eq!(
        (&object["format"], &object["kind"], &object["bodies"]),
        (&2.into(), &"recording".into(), &3.into())
    );
    let recording = &object["recording"];
    assert_eq!(recording["digest"], digest.as_str());
    assert_eq!((&recording["frames"], &recording["ending"]), (&61.into(), &"complete".into()));
    let bytes = sandbox.read("a.anr");
    sandbox.write("cut.anr", &bytes[..bytes.len() - 5]);
    let object: Value = serde_json::from_str(&sandbox.good(&["info", "cut.anr", "--json"])).unwrap();
    assert_eq!(object["recording"]["ending"], "cut off");
    assert!(object["recording"]["offset"].as_u64() > Some(100) && object["recording"]["digest"].is_null());
    sandbox.write("a.toml", sandbox.good(&["scene", "a.anr"]));
    let object: Value = serde_json::from_str(&sandbox.good(&["info", "a.toml", "--json"])).unwrap();
    assert_eq!((&object["kind"], &object["recording"]), (&"scene".into(), &Value::Null));
    assert!(sandbox.good(&["info", "a.toml"]).starts_with("a.toml: a scene, `stack`"));
}

#[test]
fn json_keeps_every_name() {
    let sandbox = Sandbox::new();
    let body = |name: &str| format!("[[body]]\nname = \"{name}\"\nshape = {{ sphere = {{ radius = 1 }} }}\n");
    sandbox.write("a.toml", body("x\\u0080") + &body("x\\u0081") + "position = [9, 0, 0]\n");
    let printed = sandbox.good(&["scene", "a.toml", "--json"]);
    sandbox.write("printed.json", &printed);
    sandbox.good(&["check", "printed.json"]);
    sandbox.good(&["scene", "a.toml", "--out", "file.json"]);
    assert_eq!(printed.trim_end(), String::from_utf8(sandbox.read("file.json")).unwrap().trim_end());
}

#[test]
fn counts_may_be_written_with_an_exponent() {
    let sandbox = Sandbox::new();
    let plain = sandbox.digest(&["run", "gas", "--bodies", "200", "--seconds", "0.1"]);
    for bodies in ["2e2", "2.0e2", "0_200"] {
        assert_eq!(
            sandbox.digest(&["run", "gas", "--bodies", bodies, "--seconds", "0.1"]),
            plain,
            "{bodies}"
        );
    }
    let set = ["run", "gas", "--set", "bodies=2e2", "--set", "ticks_per_frame=4e0", "--seconds", "0.1"];
    assert_eq!(sandbox.digest(&set), plain);
    for bad in ["2.5", "-3", "1e-2", "1e99", "many"] {
        let ended = sandbox.run(&["run", "gas", "--bodies", bad]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--bodies") && ended.stderr.contains("whole number"), "{ended:?}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.good(&["completions", shell]);
        for word in ["run", "render", "info", "record", "cores"] {
            assert!(script.contains(word), "{word} is missing for {shell}");
        }
    }
    let page = sandbox.good(&["man"]);
    assert!(page.contains(".TH anachron 1") && page.contains("anachron\\-run"), "{page}");
    let page = sandbox.good(&["man", "run"]);
    assert!(page.contains(".TH anachron-run 1") && page.contains("\\-\\-record"), "{page}");
    let ended = sandbox.run(&["man", "rum"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("did you mean `run`"), "{ended:?}");
}
