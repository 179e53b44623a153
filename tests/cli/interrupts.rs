//! Ctrl-C, SIGTERM, SIGHUP, two of them, SIGSTOP and SIGKILL.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use anachron::record::{Ending, Recording};
use serde_json::Value;

use crate::program::Sandbox;
use crate::running::{Running, until, until_frames};

const LONG_RUN: &[&str] = &["run", "stack", "--seconds", "100000", "--record", "a.anr", "--json"];

#[test]
fn signals_end_a_run_with_a_complete_recording() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let sandbox = Sandbox::new();
        let running = sandbox.start(LONG_RUN);
        until_frames(&sandbox, "a.anr");
        running.signal(signal);
        let ended = running.wait();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains("interrupted after"), "{ended:?}");
        let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(outcome["interrupted"], true);
        let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
        let summary = *recording.summary().unwrap();
        assert!(summary.interrupted);
        assert_eq!(outcome["frames"], recording.len());
        assert_eq!(outcome["digest"], summary.digest.to_string());
        assert_eq!(recording.digest().unwrap(), summary.digest);
        assert_eq!(sandbox.files(), ["a.anr"], "nothing partial is left");
        // The committed frames are those of a run of that length.
        let seconds = outcome["seconds"].to_string();
        assert_eq!(sandbox.digest(&["run", "stack", "--seconds", &seconds]), summary.digest.to_string());
    }
}

const RARE_FRAMES: &[&str] = &["--set", "ticks_per_frame=1e6"];

#[test]
fn signals_are_seen_between_ticks() {
    for sync in ["sequential", "lockstep", "timewarp", "loop", "chaos", "rollback-check", "overlap"] {
        let sandbox = Sandbox::new();
        let run = [LONG_RUN, RARE_FRAMES, &["--sync", sync]].concat();
        let running = sandbox.start(&run);
        until_frames(&sandbox, "a.anr");
        running.signal("-INT");
        let ended = running.wait();
        assert_eq!(ended.code, Some(130), "{sync}: {ended:?}");
        let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&outcome["interrupted"], &outcome["frames"]), (&true.into(), &1.into()), "{sync}");
        assert!(outcome["energy_start"] == outcome["energy_end"], "{sync}: of the last frame: {outcome}");
        let recording = Recording::open(sandbox.path("a.anr")).unwrap();
        assert!(recording.is_complete() && recording.len() == 1, "{sync}");
    }
}

#[test]
fn a_second_signal_ends_the_program_at_once_and_leaves_good_files() {
    let sandbox = Sandbox::new();
    let running = sandbox.start(&[LONG_RUN, &["--regions", "bodies", "--trace", "t.json"]].concat());
    until_frames(&sandbox, "a.anr");
    // So close that the second often comes before the first was seen by the run.
    running.signal("-INT");
    running.signal("-TERM");
    let ended = running.wait();
    assert!(matches!(ended.code, Some(130)), "{ended:?}");
    let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
    assert!(!matches!(recording.ending(), Ending::Damaged { .. }), "{:?}", recording.ending());
    recording.digest().unwrap();
    let left = sandbox.files();
    assert!(left == ["a.anr"] || left == ["a.anr", "t.json"], "nothing partial is left: {left:?}");
}

/// `timeout` sends its signal to the program and to the group of the program: that is one request.
#[test]
fn a_signal_that_comes_several_times_in_a_row_is_one_request() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let sandbox = Sandbox::new();
        let running = sandbox.start(LONG_RUN);
        until_frames(&sandbox, "a.anr");
        running.signal_in_a_row(signal);
        let ended = running.wait();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(outcome["interrupted"], true);
        assert!(Recording::open(sandbox.path("a.anr")).unwrap().is_complete());
    }
}

#[test]
fn a_signal_before_the_run_begins_ends_the_program() {
    // Reading a scene from a pipe that stays open.
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&["check", "-"]);
        let running = Running::start(command.stdin(Stdio::piped()));
        std::thread::sleep(Duration::from_millis(200));
        running.signal(signal);
        assert_eq!(running.wait().code, Some(code), "{signal}");
    }
}

#[test]
fn a_program_that_was_told_to_ignore_hangups_does() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("bash");
    let script = "trap '' HUP; exec \"$0\" run stack --seconds 1e5 --record a.anr --json --quiet";
    command.args(["-c", script, env!("CARGO_BIN_EXE_anachron")]).current_dir(sandbox.path(""));
    let running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    until_frames(&sandbox, "a.anr");
    running.signal("-HUP");
    let frames = || Recording::open(sandbox.path("a.anr")).unwrap().len();
    let before = frames();
    until("more frames", || frames() > before);
    running.signal("-TERM");
    assert_eq!(running.wait().code, Some(143));
}

#[test]
fn a_killed_run_leaves_a_readable_recording() {
    let sandbox = Sandbox::new();
    let running = sandbox.start(LONG_RUN);
    until_frames(&sandbox, "a.anr");
    running.signal("-KILL");
    let ended = running.wait();
    assert_eq!(ended.code, None, "{ended:?}");
    let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
    assert!(matches!(recording.ending(), Ending::CutOff { .. }));
    assert!(recording.len() > 1);
    recording.digest().unwrap();
}

/// Time in which a process is stopped says nothing about whether its run has stalled.
#[test]
fn a_run_that_is_stopped_and_continued_ends_as_if_it_had_not_been() {
    let sandbox = Sandbox::new();
    let scene = ["run", "bouncing", "--seconds", "24"];
    let run = [&scene[..], &["--cores", "2", "--regions", "bodies", "--json", "--quiet"]].concat();
    let digest = sandbox.digest(&[&scene[..], &["--sync", "sequential"]].concat());
    let mut running = sandbox.start(&run);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(50));
        assert!(!running.is_over(), "the run is too short to be stopped");
        running.signal("-STOP");
        std::thread::sleep(Duration::from_millis(700));
        running.signal("-CONT");
    }
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(outcome["digest"].as_str(), Some(digest.as_str()));
}
