//! Files that commands write: nothing is lost, and what cannot be written takes nothing else with it.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use anachron::record::{Ending, Recording};
use serde_json::Value;

use crate::forged;
use crate::program::{Ended, Sandbox};
use crate::running::{Running, until, until_frames};

const SHORT_RUN: &[&str] = &["run", "stack", "--bodies", "3", "--seconds", "0.5", "--quiet"];

fn record(sandbox: &Sandbox, more: &[&str]) -> Ended {
    sandbox.run(&[SHORT_RUN, more].concat())
}

/// The program must end with 2, say these things, and leave the files as they are.
fn refused(sandbox: &Sandbox, arguments: &[&str], parts: &[&str]) {
    let before: Vec<_> =
        sandbox.files().iter().map(|name| (name.clone(), fs::read(sandbox.path(name)).ok())).collect();
    let ended = sandbox.run(arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
    }
    let after: Vec<_> =
        sandbox.files().iter().map(|name| (name.clone(), fs::read(sandbox.path(name)).ok())).collect();
    assert!(before == after, "something was touched: {ended:?}");
}

#[test]
fn one_file_for_two_things_is_refused_by_whatever_name() {
    let sandbox = Sandbox::new();
    assert_eq!(record(&sandbox, &["--record", "old.anr"]).code, Some(0));
    fs::hard_link(sandbox.path("old.anr"), sandbox.path("hard")).unwrap();
    symlink("old.anr", sandbox.path("soft")).unwrap();
    symlink("new.json", sandbox.path("to-new")).unwrap();
    let taken = "that is the file that --record writes; choose another name";
    for (record, trace) in [
        ("new.json", "new.json"),
        ("new.json", "./new.json"),
        ("new.json", "to-new"),
        ("to-new", "new.json"),
        ("old.anr", "old.anr"),
        ("old.anr", "hard"),
        ("soft", "old.anr"),
        ("soft", "hard"),
    ] {
        let arguments = [SHORT_RUN, &["--regions", "bodies", "--record", record, "--trace", trace]].concat();
        refused(&sandbox, &arguments, &["--trace: cannot create", taken]);
    }
    // What is read is not written.
    let read = "that is the file to read";
    refused(&sandbox, &["run", "old.anr", "--record", "soft"], &["--record", read]);
    refused(&sandbox, &["run", "old.anr", "--record", "hard", "--force"], &["--record", read]);
    refused(&sandbox, &["run", "old.anr", "--regions", "bodies", "--trace", "soft"], &["--trace", read]);
    fs::hard_link(sandbox.path("old.anr"), sandbox.path("hard.csv")).unwrap();
    refused(&sandbox, &["export", "old.anr", "--out", "hard.csv"], &["--out", read]);
    symlink("old.anr", sandbox.path("soft.png")).unwrap();
    refused(&sandbox, &["render", "old.anr", "--out", "soft.png"], &["--out", read]);
    symlink("old.anr", sandbox.path("soft.toml")).unwrap();
    refused(&sandbox, &["scene", "old.anr", "--out", "soft.toml"], &["--out", read]);
}

#[test]
fn only_a_complete_recording_is_replaced_without_force() {
    let sandbox = Sandbox::new();
    assert_eq!(record(&sandbox, &["--record", "good.anr"]).code, Some(0));
    let good = sandbox.read("good.anr");
    let mut newer = good.clone();
    newer[8] = 9;
    let mut damaged = good.clone();
    let middle = good.len() / 2;
    damaged[middle] ^= 1;
    let with = |part: &[u8]| [&good[..], part].concat();
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("newer", newer, "a recording of format version 9"),
        ("cut", good[..good.len() - 3].to_vec(), "a recording, cut off after byte"),
        ("header", good[..20].to_vec(), "a recording, cut off after byte 20"),
        ("damaged", damaged, "a recording, damaged at byte"),
        ("longer", with(b"more"), "a recording, damaged at byte"),
        ("text", b"my thesis".to_vec(), "not a recording"),
    ];
    for (name, content, what) in cases {
        sandbox.write(name, content);
        let arguments = [SHORT_RUN, &["--record", name]].concat();
        refused(
            &sandbox,
            &arguments,
            &["--record", name, what, "choose another name, or replace it with --force"],
        );
        assert_eq!(record(&sandbox, &["--record", name, "--force"]).code, Some(0));
        assert!(sandbox.read(name) == good, "{name}: equal runs write equal bytes");
    }
    // An empty file holds nothing that could be lost; a complete recording is replaced.
    sandbox.write("empty", "");
    for name in ["empty", "good.anr"] {
        let ended = record(&sandbox, &["--record", name]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    refused(&sandbox, &["run", "stack", "--force"], &["--record"]);
}

#[test]
fn a_recording_that_is_being_written_is_locked() {
    let sandbox = Sandbox::new();
    symlink("a.anr", sandbox.path("other-name")).unwrap();
    let running = sandbox.start(&["run", "stack", "--seconds", "1e5", "--record", "a.anr", "--quiet"]);
    until_frames(&sandbox, "a.anr");
    for (name, force) in [("a.anr", &[][..]), ("a.anr", &["--force"]), ("other-name", &["--force"])] {
        let ended = record(&sandbox, &[&["--record", name], force].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("another run is recording into this file"), "{ended:?}");
    }
    // Nor does anything else take its place.
    let arguments = [SHORT_RUN, &["--regions", "bodies", "--trace", "a.anr"]].concat();
    let ended = sandbox.run(&arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--trace: cannot create a.anr: that is a recording; choose"), "{ended:?}");
    // Reading it is allowed.
    assert!(sandbox.good(&["info", "a.anr"]).contains("cut off after byte"));
    running.signal("-INT");
    assert_eq!(running.wait().code, Some(130));
    assert!(Recording::open(sandbox.path("a.anr")).unwrap().is_complete());
    assert_eq!(record(&sandbox, &["--record", "a.anr"]).code, Some(0), "the lock is gone with its owner");
}

#[test]
fn only_a_recording_takes_the_place_of_a_recording() {
    let sandbox = Sandbox::new();
    assert_eq!(record(&sandbox, &["--record", "a.csv"]).code, Some(0));
    for name in ["a.toml", "a.png", "a.anr", "a.json"] {
        fs::copy(sandbox.path("a.csv"), sandbox.path(name)).unwrap();
    }
    assert_eq!(record(&sandbox, &["--record", "b.anr"]).code, Some(0));
    let trace = [SHORT_RUN, &["--regions", "bodies", "--trace", "a.json"]].concat();
    let what = "that is a recording; choose another name, or remove it first";
    refused(&sandbox, &trace, &["--trace: cannot create a.json", what]);
    refused(&sandbox, &["export", "b.anr", "--out", "a.csv"], &["--out: cannot create a.csv", what]);
    refused(&sandbox, &["scene", "stack", "--out", "a.toml"], &["--out: cannot create a.toml", what]);
    refused(&sandbox, &["render", "b.anr", "--out", "a.png"], &["--out: cannot create a.png", what]);
    // A recording may go where one was; the run that loses its name while it writes says so.
    let running = sandbox.start(&["run", "stack", "--seconds", "1e5", "--record", "c.anr", "--quiet"]);
    until_frames(&sandbox, "c.anr");
    fs::rename(sandbox.path("b.anr"), sandbox.path("c.anr")).unwrap();
    running.signal("-INT");
    let ended = running.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("its name was taken away or given to another file"), "{ended:?}");
}

#[test]
fn a_recording_that_cannot_begin_costs_no_older_one() {
    let sandbox = Sandbox::new();
    assert_eq!(record(&sandbox, &["--record", "a.anr"]).code, Some(0));
    let old = sandbox.read("a.anr");
    for force in [&[][..], &["--force"]] {
        let ended = on_a_small_disk(&sandbox, 0, &[SHORT_RUN, &["--record", "a.anr"], force].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(sandbox.read("a.anr") == old, "{ended:?}");
        assert_eq!(sandbox.files(), ["a.anr"], "nothing is left behind");
    }
    // Links stay links, and permissions stay.
    symlink("a.anr", sandbox.path("link")).unwrap();
    fs::set_permissions(sandbox.path("a.anr"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(record(&sandbox, &["--record", "link"]).code, Some(0));
    assert!(fs::symlink_metadata(sandbox.path("link")).unwrap().is_symlink());
    assert!(sandbox.read("a.anr") == old, "equal runs write equal bytes");
    assert_eq!(fs::metadata(sandbox.path("a.anr")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn recordings_are_regular_files() {
    let sandbox = Sandbox::new();
    assert!(Command::new("mkfifo").arg(sandbox.path("fifo")).status().unwrap().success());
    fs::create_dir(sandbox.path("folder")).unwrap();
    for path in ["fifo", "folder", "/dev/null"] {
        for force in [&[][..], &["--force"]] {
            let ended = record(&sandbox, &[&["--record", path], force].concat());
            assert_eq!(ended.code, Some(2), "{ended:?}");
            let message = format!("error: --record: {path}: not a regular file");
            assert!(ended.stderr.contains(&message), "{ended:?}");
        }
        for command in
            [&["info", path][..], &["check", path], &["export", path, "--out", "-"], &["diff", path, path]]
        {
            let ended = sandbox.run(command);
            assert_eq!(ended.code, Some(2), "{ended:?}");
        }
    }
    let ended = record(&sandbox, &["--record", "-"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("a recording is no stream"), "{ended:?}");
    // A pipe without a reader would be waited for.
    let ended = sandbox.run(&["run", "stack", "--seconds", "0.1", "--regions", "bodies", "--trace", "fifo"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--trace: cannot create fifo: nothing reads that pipe"), "{ended:?}");
}

/// A terminal obeys control characters, wherever they come from.
#[test]
fn names_and_paths_are_printed_without_control_characters() {
    let sandbox = Sandbox::new();
    let body = |name: &str, x: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nposition = [{x}, 0, 0]\nshape = {{ sphere = {{ radius = 0.5 }} }}\n"
        )
    };
    let scene = |x| format!("name = \"\\u001b[31m\\nA\"\nseconds = 0.1\n{}", body("\\u001b[32m\\nB", x));
    sandbox.write("a\u{1b}\n.toml", scene(0.0));
    sandbox.write("b.toml", scene(1.0));
    let header = String::from_utf8(forged::header("")).unwrap().replace("forged", "\\u001b[31m\\nC");
    sandbox.write("forged.anr", forged::recording(&[(forged::HEADER, 0, header.as_bytes())]));
    let (toml, anr) = ("a\u{1b}\n.toml", "a\u{1b}\n.anr");
    for arguments in [
        &["run", toml, "--record", anr][..],
        &["run", "b.toml", "--record", "b.anr"],
        &["diff", anr, "b.anr"],
        &["check", toml],
        &["check", anr],
        &["check", "forged.anr"],
        &["info", "forged.anr"],
        &["run", "missing\u{1b}\n.toml"],
        &["run", toml, "--record", "missing\u{1b}\n/a.anr"],
        &["render", anr, "--size", "32x32", "--out", "\u{1b}\n.png"],
        &["render", anr, "--size", "32x32", "--out", "\u{1b}\n.bmp"],
        &["export", anr, "--out", "\u{1b}\n.csv"],
    ] {
        let ended = sandbox.run(arguments);
        let text = ended.stdout.clone() + &ended.stderr;
        assert!(text.contains('\u{fffd}') || arguments[1] == "b.toml", "{ended:?}");
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(
            !text.contains(is_control) && !text.lines().any(|line| line.starts_with(['A', 'B', 'C', '.'])),
            "{ended:?}"
        );
    }
}

/// The program as a shell starts it.
fn in_a_shell(sandbox: &Sandbox, script: &str) -> Ended {
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_anachron")]).current_dir(sandbox.path(""));
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())).wait()
}

#[test]
fn a_file_that_a_stream_goes_to_is_not_written_a_second_time() {
    let sandbox = Sandbox::new();
    let run = "\"$0\" run stack --seconds 0.1 --regions bodies";
    for (rest, part) in [
        ("--trace log >> log", "--trace: cannot create log: that is the file that standard output goes to"),
        (
            "--trace ./log --json >> log",
            "--trace: cannot create ./log: that is the file that standard output",
        ),
        ("--trace /dev/stdout >> log", "--trace: cannot create /dev/stdout: that is the file that standard"),
        ("--record log --force >> log", "--record: cannot create log: that is the file that standard output"),
    ] {
        sandbox.write("log", "precious\n");
        let ended = in_a_shell(&sandbox, &format!("{run} {rest}"));
        assert!(ended.code == Some(2) && ended.stderr.contains(part), "{ended:?}");
        assert_eq!(sandbox.read("log"), b"precious\n", "{rest}");
    }
    let ended = in_a_shell(&sandbox, &format!("{run} --trace log 2>> log"));
    let log = String::from_utf8(sandbox.read("log")).unwrap();
    assert!(ended.code == Some(2) && log.starts_with("precious\nerror: --trace: cannot create log"), "{log}");
}

#[test]
fn pipes_are_written_by_the_names_that_shells_give_them() {
    let sandbox = Sandbox::new();
    let run = "\"$0\" run stack --seconds 0.1 --regions bodies --quiet";
    for script in [format!("{run} --trace /dev/stdout | cat"), format!("{run} --trace >(cat) | cat")] {
        let ended = in_a_shell(&sandbox, &script);
        assert!(serde_json::from_str::<Value>(&ended.stdout).is_ok(), "{ended:?}");
    }
}

#[test]
fn a_recording_that_failed_is_reported_also_if_nothing_can_be_printed() {
    let sandbox = Sandbox::new();
    let script = "trap '' XFSZ; ulimit -f 1; \"$0\" run stack --record a.anr > /dev/full";
    let ended = in_a_shell(&sandbox, script);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.starts_with("error: --record: a.anr: ") && last.contains("standard output: No space"),
        "{last}"
    );
}

#[test]
fn partial_files_are_new_and_never_follow_links() {
    let sandbox = Sandbox::new();
    assert_eq!(record(&sandbox, &["--record", "a.anr"]).code, Some(0));
    sandbox.write("victim", "precious");
    symlink("victim", sandbox.path("a.csv.partial")).unwrap();
    symlink("target.csv", sandbox.path("linked.csv")).unwrap();
    sandbox.good(&["export", "a.anr", "--out", "a.csv"]);
    sandbox.good(&["export", "a.anr", "--out", "linked.csv"]);
    assert_eq!(sandbox.read("victim"), b"precious");
    assert_eq!(sandbox.read("a.csv"), sandbox.read("target.csv"));
    assert!(fs::symlink_metadata(sandbox.path("linked.csv")).unwrap().is_symlink(), "a link stays a link");
    let left = ["a.anr", "a.csv", "a.csv.partial", "linked.csv", "target.csv", "victim"];
    assert_eq!(sandbox.files(), left, "nothing else is left");
    // A file that is replaced keeps its permissions.
    fs::set_permissions(sandbox.path("a.csv"), fs::Permissions::from_mode(0o640)).unwrap();
    sandbox.good(&["export", "a.anr", "--out", "a.csv"]);
    assert_eq!(fs::metadata(sandbox.path("a.csv")).unwrap().permissions().mode() & 0o777, 0o640);
}

/// The program under a limit of the size of files, as on a disk that is full.
fn on_a_small_disk(sandbox: &Sandbox, kib: u32, arguments: &[&str]) -> Ended {
    // A signal that is ignored stays ignored, so that a write beyond the limit is an error. Blocks are of 1024 bytes.
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_anachron")]).args(arguments);
    command.current_dir(sandbox.path(""));
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())).wait()
}

#[test]
fn a_recording_on_a_full_disk_does_not_take_the_result_with_it() {
    let sandbox = Sandbox::new();
    let run = ["run", "stack", "--bodies", "20", "--seconds", "20"];
    let digest = sandbox.digest(&run);
    let ended = on_a_small_disk(&sandbox, 1000, &[&run[..], &["--record", "a.anr", "--json"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(outcome["digest"], digest.as_str(), "the run went on");
    let mut recording = Recording::open(sandbox.path("a.anr")).unwrap();
    assert!(matches!(recording.ending(), Ending::CutOff { .. }), "{:?}", recording.ending());
    assert!(recording.len() > 10 && recording.len() < 1201, "{}", recording.len());
    let last = recording.len() - 1;
    let readable = format!("it can be read up to frame {last}");
    assert!(last > 10 && ended.stderr.contains("error: --record: a.anr: cannot write"), "{ended:?}");
    assert!(ended.stderr.contains(&readable), "{readable} is missing in {ended:?}");
    assert!(ended.stderr.contains("the run goes on without a recording"), "{ended:?}");
    recording.digest().unwrap();
    // Not even the header: the run does not begin.
    let ended = on_a_small_disk(&sandbox, 0, &[&run[..], &["--record", "b.anr", "--json"]].concat());
    assert!(!sandbox.path("b.anr").exists() && ended.code == Some(1) && ended.stdout.is_empty(), "{ended:?}");
}

#[test]
fn other_files_on_a_full_disk_appear_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    let run = ["run", "gas", "--bodies", "300", "--seconds", "1", "--json"];
    let ended =
        on_a_small_disk(&sandbox, 8, &[&run[..], &["--regions", "bodies", "--trace", "t.json"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("error: --trace: cannot write "), "{ended:?}");
    assert!(serde_json::from_str::<Value>(&ended.stdout).is_ok(), "{ended:?}");
    assert_eq!(sandbox.files(), [""; 0]);
    sandbox.good(&[&run[..], &["--record", "a.anr"]].concat());
    sandbox.write("a.csv", "old");
    for out in ["a.csv", "a.glb", "a.png"] {
        let command = if out == "a.png" { "render" } else { "export" };
        let ended = on_a_small_disk(&sandbox, 4, &[command, "a.anr", "--out", out]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
    }
    assert_eq!(sandbox.files(), ["a.anr", "a.csv"]);
    assert_eq!(sandbox.read("a.csv"), b"old");
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_on_a_full_disk_is_a_failure() {
    let sandbox = Sandbox::new();
    assert_eq!(record(&sandbox, &["--record", "a.anr"]).code, Some(0));
    for arguments in [
        &["run", "stack", "--seconds", "0.1", "--json"][..],
        &["run", "stack", "--seconds", "0.1"],
        &["scene", "stack"],
        &["export", "a.anr", "--out", "-"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = Running::start(sandbox.command(arguments).stdout(full)).wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("error: ") && ended.stderr.contains("No space left"), "{ended:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_bad_input() {
    let sandbox = Sandbox::new();
    // Also the superuser cannot create files here.
    for path in ["/proc/a.anr", "/proc/missing/a.anr"] {
        let ended = record(&sandbox, &["--record", path]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(path), "{ended:?}");
    }
    let ended =
        sandbox.run(&["run", "stack", "--seconds", "0.1", "--regions", "bodies", "--trace", "/proc/t.json"]);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("--trace: cannot create /proc/t.json"),
        "{ended:?}"
    );
}

#[test]
fn frames_are_on_disk_while_no_frame_arrives() {
    let sandbox = Sandbox::new();
    // One frame at the start, and none for a very long time.
    let rare =
        ["run", "stack", "--seconds", "1e5", "--set", "ticks_per_frame=1e6", "--record", "a.anr", "--quiet"];
    let running = sandbox.start(&rare);
    until("the first frame", || {
        Recording::open(sandbox.path("a.anr")).is_ok_and(|recording| recording.len() == 1)
    });
    running.signal("-KILL");
    running.wait();
    assert_eq!(Recording::open(sandbox.path("a.anr")).unwrap().frame(0).unwrap().index, 0);
}
