//! Runs that are killed or asked to end at a random moment while they record.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anachron::record::{RecordError, Recording};

use crate::dice::Dice;
use crate::program::{Finding, Program, read_text};

/// Runs of some seconds.
const RUNS: &[&[&str]] = &[
    &["bowl", "--bodies", "300", "--seconds", "40"],
    &["cylinders", "--bodies", "800", "--seconds", "30", "--cores", "2"],
    &["gas", "--bodies", "800", "--seconds", "100", "--regions", "bodies", "--cores", "2"],
    &["stack", "--seconds", "200", "--set", "ticks_per_frame=24"],
];
/// Signals that ask for an end, and their numbers.
const SIGNALS: &[(&str, i32)] = &[("INT", 2), ("TERM", 15), ("HUP", 1)];

/// A run, the recording of all of it by the sequential executor, and how long it takes.
pub struct Whole {
    run: &'static [&'static str],
    recording: PathBuf,
    took: Duration,
}

/// Records the runs to `folder`.
pub fn wholes(program: &mut Program, folder: &Path) -> Result<Vec<Whole>, Finding> {
    let mut wholes = Vec::new();
    for (at, run) in RUNS.iter().enumerate() {
        let right = ["--record", "whole.anr", "--quiet", "--sync", "sequential"];
        let took = program.run(&[&["run"], *run, &right].concat(), &[0])?.took;
        let recording = folder.join(format!("whole-{at}.anr"));
        fs::rename(program.folder.join("whole.anr"), &recording).map_err(|error| error.to_string())?;
        wholes.push(Whole { run, recording, took });
    }
    Ok(wholes)
}

/// What a killed run leaves can be read, and is the beginning of the whole run.
pub fn killed(dice: &mut Dice, program: &mut Program, wholes: &[Whole]) -> Result<&'static str, Finding> {
    let whole = dice.pick(wholes);
    let running = program.start(&[&["run"], whole.run, &["--record", "a.anr", "--quiet"]].concat())?;
    std::thread::sleep(whole.moment(dice));
    running.signal("KILL");
    let ended = running.wait()?;
    if ended.status.signal() != Some(9) {
        ended.judge(&[0])?;
    }
    match prefix(&program.folder.join("a.anr"), whole)? {
        None => Ok("before the header"),
        Some((_, true)) => Ok("after the end"),
        Some((0, _)) => Ok("before the first frame"),
        Some(_) => Ok("within"),
    }
}

/// A run that is asked to end leaves a complete recording and a JSON object; asked twice, a recording that can be read.
pub fn signalled(dice: &mut Dice, program: &mut Program, wholes: &[Whole]) -> Result<&'static str, Finding> {
    let whole = dice.pick(wholes);
    let (name, number) = *dice.pick(SIGNALS);
    let flags = ["--record", "a.anr", "--trace", "a.json", "--json", "--quiet"];
    let running = program.start(&[&["run"], whole.run, &flags].concat())?;
    std::thread::sleep(whole.moment(dice));
    running.signal(name);
    let is_twice = dice.once_in(4);
    if is_twice {
        std::thread::sleep(Duration::from_millis(dice.below(30) as u64));
        running.signal(name);
    }
    let ended = running.wait()?;
    let path = program.folder.join("a.anr");
    if ended.status.signal() == Some(number) && !path.exists() {
        return Ok("before the program");
    }
    let is_ignored = ignores(number);
    ended.judge(&[0, if is_ignored { 0 } else { 128 + number }])?;
    let entries = fs::read_dir(&program.folder).map_err(|error| error.to_string())?;
    let names: Vec<_> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let known = ["a.anr", "a.json", "stdout.txt", "stderr.txt"];
    if let Some(left) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("`{}`, after SIG{name}: {left} is left behind", ended.asked));
    }
    if !path.exists() && ended.stdout.is_empty() && ended.code() != Some(0) {
        return Ok("before the run");
    }
    let kept = prefix(&path, whole)?;
    if is_twice && ended.stdout.is_empty() {
        return Ok("at once");
    }
    let Some((frames, true)) = kept else {
        return Err(format!("`{}`, after SIG{name}: the recording is not complete", ended.asked));
    };
    let outcome = ended.json()?;
    let digest =
        Recording::open(&path).ok().and_then(|recording| Some(recording.summary()?.digest.to_string()));
    let is_interrupted = ended.code() != Some(0);
    if outcome["digest"].as_str() != digest.as_deref()
        || outcome["frames"] != frames
        || outcome["interrupted"] != is_interrupted
    {
        return Err(format!("`{}`, after SIG{name}: JSON and recording disagree", ended.asked));
    }
    Ok(match (is_interrupted, is_ignored) {
        (true, _) => "interrupted",
        (_, true) => "ignored",
        _ => "after the end",
    })
}

/// Whether this program was started with a signal ignored, as shells do in the background; children inherit that.
fn ignores(number: i32) -> bool {
    let status = read_text(Path::new("/proc/self/status"));
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> (number - 1) & 1 == 1)
}

impl Whole {
    /// A moment of the run: many early, few after its end.
    fn moment(&self, dice: &mut Dice) -> Duration {
        let share = *dice.pick(&[0.1, 0.6, 1.1]) * dice.below(1 << 20) as f64 / f64::from(1 << 20);
        self.took.mul_f64(share)
    }
}

/// Number of frames, and whether the recording is complete. Nothing if there is no header yet.
fn prefix(path: &Path, whole: &Whole) -> Result<Option<(usize, bool)>, Finding> {
    let mut recording = match Recording::open(path) {
        Ok(recording) => recording,
        Err(RecordError::NoHeader { .. } | RecordError::Io { action: "open", .. }) => return Ok(None),
        Err(RecordError::NotARecording { .. }) if fs::metadata(path).is_ok_and(|file| file.len() == 0) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("what is left cannot be read: {error}")),
    };
    let mut right = Recording::open(&whole.recording).map_err(|error| error.to_string())?;
    let mut right_frames = right.frames();
    let mut count = 0;
    for frame in recording.frames() {
        let frame = frame.map_err(|error| format!("what is left cannot be read: {error}"))?;
        if right_frames.next().and_then(Result::ok) != Some(frame) {
            return Err(format!("frame {count} is not that of the whole run"));
        }
        count += 1;
    }
    Ok(Some((count, recording.is_complete())))
}
