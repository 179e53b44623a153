//! Equal runs write equal bytes, whatever the executor and whenever the operating system lets them run.

#[cfg(unix)]
use std::time::Duration;

use serde_json::Value;

use crate::program::Sandbox;
#[cfg(unix)]
use crate::running::until_frames;

const RUN: [&str; 6] = ["run", "bouncing", "--bodies", "33", "--seconds", "1"];
/// Values with these keys are measured.
const MEASURED: [&str; 6] =
    ["wall_s", "cpu_s", "start_rss_bytes", "peak_rss_bytes", "rss_bytes_per_body", "body_ticks_per_second"];

/// The JSON of a run, without what was measured.
fn computed(sandbox: &Sandbox, more: &[&str]) -> Value {
    let mut told = sandbox.json(&[&RUN, more].concat());
    let members = told.as_object_mut().unwrap();
    for key in MEASURED {
        assert!(members.remove(key).is_some(), "{key}");
    }
    if let Some(processes) = told.pointer_mut("/processes").and_then(Value::as_object_mut) {
        assert!(processes.remove("start_stop_s").is_some());
    }
    // Sampled by time.
    if let Some(memory) = told.pointer_mut("/speculation/memory") {
        assert!(memory.take().is_object());
    }
    told
}

#[test]
fn recordings_and_json() {
    let sandbox = Sandbox::new();
    computed(&sandbox, &["--record", "reference.anr", "--sync", "sequential"]);
    let reference = sandbox.read("reference.anr");
    let single: &[&[&str]] = &[
        &["--sync", "sequential"],
        &["--sync", "lockstep", "--cores", "1"],
        &["--sync", "lockstep", "--cores", "2", "--gear", "calendar"],
        &["--sync", "lockstep", "--gear", "near"],
        &["--sync", "loop"],
        &["--sync", "loop"],
        &["--sync", "chaos", "--chaos-seed", "3"],
        &["--sync", "rollback-check"],
    ];
    for flags in single {
        let once = computed(&sandbox, &[&["--record", "a.anr"], *flags].concat());
        assert_eq!(computed(&sandbox, &[&["--record", "b.anr"], *flags].concat()), once);
        assert!(sandbox.read("a.anr") == reference && sandbox.read("b.anr") == reference, "{flags:?}");
    }
    // How cores speculate is up to chance, what they compute is not.
    let bodies = ["--regions", "bodies"];
    for flags in [
        &["--cores", "1"][..],
        &["--cores", "2"],
        &[&bodies[..], &["--cores", "2"]].concat(),
        &[&bodies[..], &["--cores", "2", "--tvht", "actors"]].concat(),
    ] {
        let [once, again] = ["a.anr", "b.anr"].map(|name| {
            let mut told = computed(&sandbox, &[&["--record", name], flags].concat());
            assert_ne!(told["speculation"].take().is_object(), told["processes"].take().is_object());
            told
        });
        assert_eq!(once, again);
        assert!(sandbox.read("a.anr") == reference && sandbox.read("b.anr") == reference, "{flags:?}");
    }
}

#[test]
fn exports_pictures_and_scenes() {
    let sandbox = Sandbox::new();
    sandbox.good(&[&RUN[..], &["--record", "a.anr"]].concat());
    sandbox.good(&[&RUN[..], &["--record", "b.anr", "--cores", "2", "--regions", "bodies"]].concat());
    let small = &["--size", "64x48"][..];
    for (command, format, more) in [
        ("export", "csv", &[][..]),
        ("export", "glb", &[]),
        ("render", "png", small),
        ("render", "gif", small),
    ] {
        let [a, b] = ["a", "b"].map(|name| {
            let (from, to) = (format!("{name}.anr"), format!("{name}.{format}"));
            sandbox.good(&[&[command, &from, "--out", &to], more].concat());
            sandbox.read(&to)
        });
        assert!(a == b && !a.is_empty(), "{format}");
    }
    assert_eq!(sandbox.good(&["scene", "a.anr"]), sandbox.good(&["scene", "b.anr"]));
}

/// Records a run that is stopped for longer than frames wait to be flushed. Returns what it says on standard error.
#[cfg(unix)]
fn held_up(sandbox: &Sandbox, name: &str) -> String {
    let mut running = sandbox.start(&[&LONG_RUN[..], &["--record", name]].concat());
    until_frames(sandbox, name);
    assert!(!running.is_over(), "the run is too short to be held up");
    running.signal("-STOP");
    std::thread::sleep(Duration::from_millis(1200));
    running.signal("-CONT");
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stderr
}

#[cfg(unix)]
const LONG_RUN: [&str; 7] = ["run", "bouncing", "--bodies", "33", "--seconds", "400", "--quiet"];

/// Frames are flushed by time, but when that was does not show in the complete recording.
#[cfg(unix)]
#[test]
fn recordings_of_runs_that_were_held_up() {
    let sandbox = Sandbox::new();
    sandbox.good(&[&LONG_RUN[..], &["--record", "a.anr"]].concat());
    std::os::unix::fs::symlink("b.anr", sandbox.path("link")).unwrap();
    for _ in 0..2 {
        assert_eq!(held_up(&sandbox, "link"), "");
        assert!(sandbox.read("a.anr") == sandbox.read("b.anr"));
    }
    assert!(sandbox.path("link").is_symlink());
    assert_eq!(sandbox.files(), ["a.anr", "b.anr", "link"], "nothing partial is left");
}

/// A name so long that no other file can be put beside it by a longer one.
#[cfg(unix)]
#[test]
fn a_recording_that_cannot_be_put_together_anew_is_complete() {
    let sandbox = Sandbox::new();
    let name = "n".repeat(250);
    let told = held_up(&sandbox, &name);
    for part in
        ["warning: --record: cannot create", "is complete, but its bytes differ from those of an equal run"]
    {
        assert!(told.contains(part), "{told}");
    }
    sandbox.good(&["check", &name]);
    assert_eq!(sandbox.files(), [name]);
}
