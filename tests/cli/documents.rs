//! Every command in README, ARCHITECTURE, docs and `--help` works as written, and prints what the README says.
//!
//! Commands are the lines of `sh` blocks, the lines after `$ ` in `text` blocks, code in running text that begins with
//! `anachron`, and the examples of `--help`. A shell runs them one after the other in one folder, so that a command
//! finds what an earlier one wrote. What takes long is in a list below: some of it runs in `./test long` only, the rest
//! is never run. The arguments of all of them are read as the program reads them.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::patience::patience;
use crate::program::Sandbox;

/// A command that takes longer has stalled.
const LIMIT: Duration = Duration::from_secs(600);

/// Beginnings of commands that take more than ten seconds: only `./test long` runs them.
const SLOW: &[&str] = &[
    "anachron render cylinders.anr --color speed --out cylinders.gif",
    "anachron render gas --seconds 2 --color speed --out gas.gif",
    "anachron run gas --bodies 65536 --seconds 4.1666667",
    "anachron run pyramid --set response.iterations=32 --record pyramid.anr",
    "anachron verify",
];
/// Beginnings of commands that take minutes: nothing runs them, their arguments are read.
const NEVER_RUN: &[&str] = &[
    "anachron bench",
    "anachron verify --protocol regions --seconds 600",
    "anachron verify --random 2026 --seconds 240",
    "anachron verify --random 7 --seconds 600",
    "anachron verify --seconds 600",
];
/// Exit codes other than 0.
const EXIT_CODES: &[(&str, i32)] = &[
    ("anachron check bad.toml", 2),
    ("anachron diff cylinders.anr other.anr", 1),
    ("anachron verify --protocol paper", 1),
];
/// Commands of other programs.
const OTHERS: &[&str] = &["./test", "cargo run --release --example deadlock_freedom"];
/// Words in capitals that stand for something, and what they stand for here. Nothing runs such a command.
const PLACEHOLDERS: &[(&str, &str)] = &[("SCENE", "gas"), ("NAME", "no-versions"), ("N", "2"), ("S", "1")];
/// Lines of a summary that differ from run to run.
const MEASURED: &[&str] = &["wall time", "memory", "speed", "time warp"];

/// A command and where it stands.
struct Documented {
    place: String,
    command: String,
    /// What it prints, if the document says so.
    shown: Vec<String>,
    /// Whether it stands in running text, where `anachron verb` is a name.
    is_inline: bool,
}

fn repo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// README, ARCHITECTURE and every page of `docs/`.
fn documents() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(repo().join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    [repo().join("README.md"), repo().join("ARCHITECTURE.md")].into_iter().chain(pages).collect()
}

/// A command of a shell block, without its comment.
fn without_comment(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim()
}

fn in_document(path: &Path) -> Vec<Documented> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let mut found: Vec<Documented> = Vec::new();
    // The language of the block, and how many commands stand before it.
    let mut block: Option<(&str, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let add = |found: &mut Vec<Documented>, command: &str, is_inline| {
            let place = format!("{name}:{}", at + 1);
            let command = command.replace("cargo run --release -- ", "anachron ");
            found.push(Documented { place, command, shown: Vec::new(), is_inline });
        };
        match (block, line.strip_prefix("```")) {
            (None, Some(language)) => block = Some((language, found.len())),
            (Some(_), Some(_)) => block = None,
            (Some(("sh", _)), None) if !without_comment(line).is_empty() => {
                add(&mut found, without_comment(line), false)
            }
            (Some(("text", before)), None) => match line.strip_prefix("$ ") {
                Some(command) => add(&mut found, command, false),
                None => {
                    found[before..].iter_mut().rev().take(1).for_each(|last| last.shown.push(line.to_owned()))
                }
            },
            (Some(_), None) => {}
            (None, None) => {
                let quoted = line.split('`').skip(1).step_by(2);
                let commands = quoted.filter(|text| text.starts_with("anachron "));
                commands.for_each(|text| add(&mut found, text, true));
            }
        }
    }
    found
}

/// The examples of `anachron --help` and of the help of every command.
fn in_help(sandbox: &Sandbox) -> Vec<Documented> {
    let help = sandbox.good(&["--help"]);
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let verbs = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let verbs: Vec<&str> = verbs.filter(|verb| !verb.is_empty() && *verb != "help").collect();
    assert!(verbs.contains(&"run") && verbs.len() >= 9, "{verbs:?}");
    let mut found = Vec::new();
    for verb in [""].into_iter().chain(verbs) {
        let arguments: Vec<&str> = [verb, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let text = sandbox.good(&arguments);
        for line in text.lines().filter(|line| line.starts_with("  anachron ")) {
            // What it does stands behind it, after a gap.
            let command = line.trim().split("  ").next().unwrap().to_owned();
            let place = format!("anachron {verb} --help");
            found.push(Documented { place, command, shown: Vec::new(), is_inline: false });
        }
    }
    assert!(found.len() > 20, "the examples of --help are not found");
    found
}

/// Files that the documents take for granted.
fn prepare(sandbox: &Sandbox) {
    let readme = fs::read_to_string(repo().join("README.md")).unwrap();
    let scene = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    sandbox.write("my-scene.toml", scene);
    sandbox.write("bad.toml", "name = \"bad\"\n[[body]]\nshape = { sphere = { radus = 0.5 } }\n");
    let other = ["run", "cylinders", "--seed", "2", "--seconds", "0.1", "--record", "other.anr", "--quiet"];
    sandbox.good(&other);
    fs::create_dir(sandbox.path("scenes")).unwrap();
    for entry in fs::read_dir(repo().join("scenes")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), sandbox.path("scenes").join(entry.file_name())).unwrap();
    }
}

/// Runs a line in a shell in which `anachron` is this program. Exit code and output, standard error included.
fn shell(sandbox: &Sandbox, line: &str) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_anachron")).parent().unwrap().to_str().unwrap();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    let out = fs::File::create(sandbox.path(".output")).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(sandbox.path("")).env("PATH", path).stdin(Stdio::null());
    command.stdout(out.try_clone().unwrap()).stderr(out).process_group(0);
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > LIMIT {
            // The group: the shell and what it started.
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
            panic!("`{line}` takes longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    (status.code(), String::from_utf8(sandbox.read(".output")).unwrap())
}

/// Separates commands in a list of arguments.
const END: &str = "\u{1e}";

/// Reads the arguments of every `anachron` in a line as the program does, after the shell has split the line.
fn read_arguments(sandbox: &Sandbox, line: &str) -> Result<(), String> {
    sandbox.write(".arguments", "");
    let stand_in = format!("anachron() {{ printf '%s\\0' anachron \"$@\" '{END}' >>.arguments; }}\n");
    shell(sandbox, &format!("{stand_in}{line}"));
    let arguments = String::from_utf8(sandbox.read(".arguments")).unwrap();
    let commands: Vec<&str> = arguments.split(&format!("{END}\0")).filter(|text| !text.is_empty()).collect();
    if commands.is_empty() {
        return Err("the shell finds no `anachron` in it".into());
    }
    commands
        .iter()
        .try_for_each(|arguments| anachron::cli::read(arguments.trim_end_matches('\0').split('\0')))
}

fn begins_with(command: &str, list: &[&str]) -> bool {
    list.iter()
        .any(|start| command.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
}

/// Compares what a document shows with what was printed: the same lines in the same order, others may lie between.
fn compare(shown: &[String], printed: &str) -> Result<(), String> {
    let mut printed = printed.lines();
    for line in shown.iter().filter(|line| line.trim() != "...") {
        let label = MEASURED.iter().find(|label| line.trim_start().starts_with(**label));
        let is_same = |other: &str| match label {
            Some(label) => other.trim_start().starts_with(label),
            None => other.trim_end() == line.trim_end(),
        };
        if !printed.any(is_same) {
            return Err(format!("it does not print\n{line}"));
        }
    }
    Ok(())
}

fn check(sandbox: &Sandbox, documented: &Documented) -> Result<(), String> {
    let Documented { command, shown, is_inline, .. } = documented;
    if begins_with(command, OTHERS) {
        return Ok(());
    }
    if *is_inline && command.split(' ').count() == 2 {
        // The name of a verb.
        return read_arguments(sandbox, &format!("{command} --help"));
    }
    let word = |word: &str| PLACEHOLDERS.iter().find(|(name, _)| *name == word).map(|(_, meant)| *meant);
    let filled: Vec<&str> = command.split(' ').map(|text| word(text).unwrap_or(text)).collect();
    let filled = filled.join(" ");
    read_arguments(sandbox, &filled)?;
    let is_slow = begins_with(command, SLOW) && patience() == 1;
    if filled != *command || is_slow || begins_with(command, NEVER_RUN) {
        return Ok(());
    }
    let begun = Instant::now();
    let (code, printed) = shell(sandbox, command);
    println!("{:.1} s: {command}", begun.elapsed().as_secs_f64());
    let expected = EXIT_CODES.iter().find(|(known, _)| known == command).map_or(0, |(_, code)| *code);
    if code != Some(expected) || printed.contains("panicked") {
        return Err(format!("it ends with {code:?} instead of {expected}:\n{printed}"));
    }
    compare(shown, &printed).map_err(|wrong| format!("{wrong}\nbut\n{printed}"))
}

#[test]
fn every_command_in_the_documents_works() {
    let sandbox = Sandbox::new();
    prepare(&sandbox);
    let mut all: Vec<Documented> = documents().iter().flat_map(|path| in_document(path)).collect();
    all.extend(in_help(&sandbox));
    let mut done = BTreeSet::new();
    let mut wrong = Vec::new();
    for documented in &all {
        let Documented { place, command, shown, .. } = documented;
        if !done.insert((command, shown)) {
            continue;
        }
        if let Err(why) = check(&sandbox, documented) {
            wrong.push(format!("{place}: `{command}`: {why}"));
        }
    }
    let count = |list: &[&str]| all.iter().filter(|each| begins_with(&each.command, list)).count();
    let exits: Vec<&str> = EXIT_CODES.iter().map(|(command, _)| *command).collect();
    for listed in [SLOW, NEVER_RUN, OTHERS, &exits].concat() {
        if count(&[listed]) == 0 {
            wrong.push(format!("no document has `{listed}` any more, but this test lists it"));
        }
    }
    println!("{} commands, {} of them different", all.len(), done.len());
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n\n"));
}

/// The checks above notice what they are there for.
#[test]
fn wrong_commands_are_noticed() {
    let sandbox = Sandbox::new();
    let of = |command: &str, shown: &[&str]| Documented {
        place: String::new(),
        command: command.into(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
        is_inline: false,
    };
    let wrong = |command: &str, shown: &[&str]| check(&sandbox, &of(command, shown)).unwrap_err();
    assert!(wrong("anachron bench speedup --fast", &[]).contains("--fast"));
    assert!(wrong("anachron bench speedup --repeat lots", &[]).contains("lots"));
    assert!(wrong("anachron check", &[]).contains("required"));
    assert!(wrong("true | sort", &[]).contains("no `anachron`"));
    assert!(wrong("anachron list | anachron dance", &[]).contains("dance"));
    assert!(wrong("anachron check missing.toml", &[]).contains("ends with Some(2)"));
    assert!(wrong("anachron list", &["  cylinders of cheese"]).contains("of cheese"));
    let stack = "anachron run stack --seconds 0.1";
    assert!(wrong(stack, &["  speed  1", "  overlap  1"]).contains("overlap"));
    check(&sandbox, &of(stack, &["stack: 10 bodies, 0.1 s, 24 ticks, 7 frames", "...", "  speed  1"]))
        .unwrap();
    check(&sandbox, &of("anachron scene stack > 'my stack.toml'", &[])).unwrap();
    assert!(sandbox.path("my stack.toml").exists());
}
