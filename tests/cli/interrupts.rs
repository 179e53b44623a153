//! Ctrl-C, twice Ctrl-C, and SIGKILL.
#![cfg(unix)]

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anachron::record::{Ending, Recording};
use serde_json::Value;

use crate::program::{Ended, Sandbox};

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with the test, even if the test fails.
struct Running(Option<Child>);

impl Running {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        Running(Some(sandbox.command(arguments).spawn().unwrap()))
    }

    fn signal(&self, signal: &str) {
        let id = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    fn wait(mut self) -> Ended {
        until("the program to end", || self.0.as_mut().unwrap().try_wait().unwrap().is_some());
        Ended::of(&[], self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until frames of a recording are on disk.
fn until_frames(sandbox: &Sandbox, name: &str) {
    until("frames", || Recording::open(sandbox.path(name)).is_ok_and(|recording| !recording.is_empty()));
}

const LONG_RUN: &[&str] = &["run", "stack", "--seconds", "100000", "--record", "a.anr", "--json"];

#[test]
fn ctrl_c_ends_a_run_with_a_complete_recording() {
    let sandbox = Sandbox::new();
    let running = Running::start(&sandbox, LONG_RUN);
    until_frames(&sandbox, "a.anr");
    running.signal("-INT");
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("interrupted after"), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(outcome["interrupted"], true);
    let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
    let summary = *recording.summary().unwrap();
    assert!(summary.interrupted);
    assert_eq!(outcome["frames"], recording.len());
    assert_eq!(outcome["digest"], summary.digest.to_string());
    assert_eq!(recording.digest().unwrap(), summary.digest);
    // The committed frames are those of a run of that length.
    let seconds = outcome["seconds"].to_string();
    assert_eq!(sandbox.digest(&["run", "stack", "--seconds", &seconds]), summary.digest.to_string());
}

#[test]
fn a_second_ctrl_c_ends_the_program_at_once() {
    let sandbox = Sandbox::new();
    let no_frames = ["--set", "ticks_per_frame=1000000"];
    let running = Running::start(&sandbox, &[LONG_RUN, &no_frames].concat());
    until("the recording", || sandbox.path("a.anr").exists());
    running.signal("-INT");
    std::thread::sleep(Duration::from_millis(200));
    running.signal("-INT");
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_killed_run_leaves_a_readable_recording() {
    let sandbox = Sandbox::new();
    let running = Running::start(&sandbox, LONG_RUN);
    until_frames(&sandbox, "a.anr");
    running.signal("-KILL");
    let ended = running.wait();
    assert_eq!(ended.code, None, "{ended:?}");
    let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
    assert!(matches!(recording.ending(), Ending::CutOff { .. }));
    assert!(recording.len() > 1);
    recording.digest().unwrap();
}
