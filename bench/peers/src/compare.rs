//! Everything against each other: interleaved repetitions, medians, and the tables of the documents.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::options::Options;

/// A scene of the comparison.
struct Entry {
    /// As anachron knows it: scenario and flags.
    scenario: &'static [&'static str],
    bodies: u32,
    seconds: f64,
    /// Whether energy is conserved, so that a change of it is a fault.
    is_closed: bool,
}

const fn entry(scenario: &'static [&'static str], bodies: u32, seconds: f64, is_closed: bool) -> Entry {
    Entry { scenario, bodies, seconds, is_closed }
}

const ENTRIES: &[Entry] = &[
    entry(&["parallel"], 10_000, 1.0, true),
    entry(&["gas"], 10_000, 1.0, true),
    entry(&["gas"], 65_536, 0.5, true),
    entry(&["bouncing", "--set", "density=lo"], 200, 4.0, true),
    entry(&["bouncing", "--set", "density=mid"], 200, 4.0, true),
    entry(&["bouncing", "--set", "density=hi"], 200, 4.0, true),
    entry(&["cylinders"], 200, 3.0, false),
    entry(&["cylinders"], 500, 3.0, false),
    entry(&["cylinders"], 10_000, 3.0, false),
    entry(&["cylinders"], 50_000, 1.5, false),
    entry(&["bowl"], 5_040, 3.0, false),
];

/// ODE takes minutes for more bodies than this.
const ODE_BODIES_MAX: u32 = 20_000;
/// A run that takes longer is given up, and its engine left out of the scene.
const PATIENCE: Duration = Duration::from_secs(300);

impl Entry {
    fn name(&self) -> String {
        let density = self.scenario.last().and_then(|last| last.strip_prefix("density="));
        let density = density.map_or(String::new(), |density| format!(" {density}"));
        format!("{}{density} {}", self.scenario[0], self.bodies)
    }
}

/// One way of running a scene.
struct Contender {
    /// `anachron`, or the name of an engine.
    engine: String,
    threads: usize,
    /// Frames per simulated second; only anachron gives any.
    frames: u32,
    program: PathBuf,
    arguments: Vec<String>,
    /// Wall seconds per simulated second, in the order of the repetitions.
    walls: Vec<f64>,
    energy_drift: f64,
    max_overlap_m: f64,
    /// Why it was left out.
    failed: Option<String>,
}

impl Contender {
    fn median(&self) -> f64 {
        let mut walls = self.walls.clone();
        walls.sort_by(f64::total_cmp);
        let half = walls.len() / 2;
        if walls.len() % 2 == 1 { walls[half] } else { (walls[half - 1] + walls[half]) / 2.0 }
    }

    fn run(&self, more: &[&str]) -> Result<Value, String> {
        ask(&self.program, self.arguments.iter().map(String::as_str).chain(more.iter().copied()))
    }
}

/// The JSON object that a command prints.
fn ask<'a>(program: &Path, arguments: impl Iterator<Item = &'a str>) -> Result<Value, String> {
    let arguments: Vec<&str> = arguments.collect();
    let shown = || format!("`{} {}`", program.display(), arguments.join(" "));
    let mut command = Command::new(program);
    command.args(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", shown()))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{} took more than {} s", shown(), PATIENCE.as_secs()));
            }
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    let output = child.wait_with_output().map_err(|error| format!("{}: {error}", shown()))?;
    let told = output.stdout.split(|byte| *byte == b'\n').rev().find(|line| line.starts_with(b"{"));
    match told.map(serde_json::from_slice) {
        Some(Ok(told)) if output.status.success() => Ok(told),
        _ => Err(format!("{} failed: {}", shown(), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The comparison as a whole.
struct Comparison<'a> {
    options: &'a Options,
    anachron: PathBuf,
    /// Programs of this crate, with the engines that each has.
    programs: Vec<(PathBuf, Vec<String>)>,
    threads: usize,
    repeat: usize,
    folder: PathBuf,
}

pub fn run(options: &Options) -> Result<(), String> {
    let anachron = PathBuf::from(options.text("anachron").ok_or("--anachron is missing")?);
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut programs = vec![own];
    programs.extend(options.text("threaded").map(PathBuf::from));
    let programs = programs.into_iter().map(|program| {
        let list = Command::new(&program).arg("list").output();
        let list = list.map_err(|error| format!("{}: {error}", program.display()))?;
        let names = String::from_utf8_lossy(&list.stdout);
        let names = names.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned);
        Ok::<_, String>((program, names.collect()))
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = std::env::temp_dir().join(format!("peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let comparison = Comparison {
        options,
        anachron,
        programs: programs.collect::<Result<_, _>>()?,
        threads: options.number("threads", cores as f64)? as usize,
        repeat: options.number("repeat", 5.0)? as usize,
        folder: folder.clone(),
    };
    let done = comparison.all();
    let _ = std::fs::remove_dir_all(folder);
    done
}

impl Comparison<'_> {
    fn all(&self) -> Result<(), String> {
        let only = self.options.text("only").unwrap_or_default();
        let mut results = Vec::new();
        for entry in ENTRIES.iter().filter(|entry| entry.name().contains(only)) {
            let contenders = self.measure(entry)?;
            eprintln!("{}", table_row(entry, &contenders));
            results.push((entry, contenders));
            if let Some(out) = self.options.text("out") {
                self.write(Path::new(out), &results)?;
            }
        }
        print!("{}", tables(&results));
        Ok(())
    }

    fn contenders(&self, entry: &Entry, scene: &Path) -> Result<Vec<Contender>, String> {
        let new = |engine: &str, threads, frames, program: &Path, arguments| Contender {
            engine: engine.to_owned(),
            threads,
            frames,
            program: program.to_owned(),
            arguments,
            walls: Vec::new(),
            energy_drift: f64::NAN,
            max_overlap_m: f64::NAN,
            failed: None,
        };
        let mut contenders = Vec::new();
        let ours: Vec<&str> = self.options.text("ours").unwrap_or_default().split_whitespace().collect();
        for frames in self.options.text("frames").unwrap_or("1,60").split(',') {
            let frames: u32 = frames
                .parse()
                .ok()
                .filter(|f| (1..=240).contains(f) && 240 % f == 0)
                .ok_or("--frames: numbers of frames per simulated second that divide 240")?;
            let mut arguments = self.scene_of(entry);
            arguments.insert(0, "run".into());
            arguments.extend(["--json", "--quiet", "--set"].map(str::to_owned));
            arguments.push(format!("ticks_per_frame={}", 240 / frames));
            arguments.extend(ours.iter().map(|flag| (*flag).to_owned()));
            contenders.push(new("anachron", self.threads, frames, &self.anachron, arguments));
        }
        let engines: Option<Vec<&str>> = self.options.text("engines").map(|list| list.split(',').collect());
        for (number, (program, names)) in self.programs.iter().enumerate() {
            for name in names {
                let is_wanted = engines.as_ref().is_none_or(|engines| engines.contains(&name.as_str()));
                if !is_wanted || (name == "ode" && entry.bodies > ODE_BODIES_MAX) {
                    continue;
                }
                // Rapier is in both programs: with one thread in the first, with more in the second.
                let is_twice = self.programs.iter().filter(|(_, names)| names.contains(name)).count() > 1;
                let threads = match (name.as_str(), is_twice, number) {
                    ("bullet" | "ode", ..) => 1..=1,
                    ("rapier", false, 0) => 1..=1,
                    (_, true, 0) => 1..=1,
                    (_, true, _) => 2..=self.threads,
                    _ => 1..=self.threads,
                };
                for threads in threads {
                    let arguments = ["one", "--engine", name, "--threads", &threads.to_string(), "--scene"];
                    let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
                    arguments.push(scene.display().to_string());
                    arguments.extend(["--seconds".to_owned(), entry.seconds.to_string()]);
                    contenders.push(new(name, threads, 0, program, arguments));
                }
            }
        }
        Ok(contenders)
    }

    fn scene_of(&self, entry: &Entry) -> Vec<String> {
        let mut flags: Vec<String> = entry.scenario.iter().map(|flag| (*flag).to_owned()).collect();
        flags.extend(["--bodies".to_owned(), entry.bodies.to_string()]);
        flags.extend(["--seconds".to_owned(), entry.seconds.to_string()]);
        flags
    }

    fn measure(&self, entry: &Entry) -> Result<Vec<Contender>, String> {
        let scene = self.folder.join("scene.json");
        let mut export = Command::new(&self.anachron);
        export.arg("scene").args(self.scene_of(entry)).arg("--json").arg("--out").arg(&scene);
        let exported = export.output().map_err(|error| format!("{}: {error}", self.anachron.display()))?;
        if !exported.status.success() {
            return Err(format!("no scene: {}", String::from_utf8_lossy(&exported.stderr).trim()));
        }
        let mut contenders = self.contenders(entry, &scene)?;
        for _ in 0..self.repeat {
            for contender in contenders.iter_mut().filter(|contender| contender.failed.is_none()) {
                match contender.run(&[]) {
                    Ok(told) => contender.take(entry, &told)?,
                    Err(why) => {
                        eprintln!("left out: {why}");
                        contender.failed = Some(why);
                    }
                }
            }
        }
        contenders.retain(|contender| contender.failed.is_none());
        let engines: Vec<String> = contenders.iter().map(|contender| contender.engine.clone()).collect();
        for engine in engines.iter().filter(|engine| *engine != "anachron") {
            let best = best(contenders.iter_mut().filter(|contender| contender.engine == *engine));
            if let Some(best) = best.filter(|best| best.max_overlap_m.is_nan()) {
                match best.run(&["--watch", "yes"]) {
                    Ok(told) => best.see(&told),
                    Err(why) => eprintln!("energy and overlap of {engine} are unknown: {why}"),
                }
            }
        }
        Ok(contenders)
    }

    /// One row per repetition, and the tables.
    fn write(&self, folder: &Path, results: &[(&Entry, Vec<Contender>)]) -> Result<(), String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut csv =
            "scene,bodies,simulated_s,engine,threads,frames_per_s,repetition,wall_s_per_simulated_s,\
                       energy_drift,max_overlap_m,tick_s,commit,machine\n"
                .to_owned();
        let (commit, machine) = (commit(), machine());
        for (entry, contenders) in results {
            for contender in contenders {
                let Contender { engine, threads, frames, energy_drift, max_overlap_m, .. } = contender;
                let tick_s = if engine == "anachron" { 1.0 / 240.0 } else { 1.0 / 60.0 };
                for (repetition, wall) in contender.walls.iter().enumerate() {
                    let scene = entry.name();
                    let scene = scene.rsplit_once(' ').map_or(scene.as_str(), |(scene, _)| scene);
                    let (bodies, seconds) = (entry.bodies, entry.seconds);
                    let _ = writeln!(
                        csv,
                        "{scene},{bodies},{seconds},{engine},{threads},{frames},{repetition},{wall:.6},{},{},{tick_s:.6},{commit},{machine}",
                        plain(*energy_drift),
                        plain(*max_overlap_m)
                    );
                }
            }
        }
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        write("peers.csv", &csv)?;
        write("peers.md", &tables(results))
    }
}

/// The commit of the source that this folder lies in.
fn commit() -> String {
    let done = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let done = done.ok().filter(|done| done.status.success());
    done.map_or(String::new(), |done| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// The processor, as the system names it, and the number of cores.
fn machine() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} {cores} cores", model.map_or("unknown processor", |(_, model)| model.trim())).replace(',', "")
}

/// A number for a table of numbers; nothing if there is none.
fn plain(number: f64) -> String {
    if number.is_finite() { format!("{number:.6}") } else { String::new() }
}

impl Contender {
    fn take(&mut self, entry: &Entry, told: &Value) -> Result<(), String> {
        let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
        if told["bodies"].as_u64() != Some(u64::from(entry.bodies)) {
            return Err(format!("{} ran {} bodies instead of {}", self.engine, told["bodies"], entry.bodies));
        }
        // Starting and stopping threads is no part of a run, as building a scene is none of the others' steps.
        let start_stop = ["speculation", "processes"].map(|part| told[part]["start_stop_s"].as_f64());
        let start_stop_s: f64 = start_stop.into_iter().flatten().sum();
        self.walls.push((number("wall_s") - start_stop_s) / entry.seconds);
        if self.engine == "anachron" {
            self.see(told);
        }
        Ok(())
    }

    fn see(&mut self, told: &Value) {
        let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
        (self.energy_drift, self.max_overlap_m) = (number("energy_drift"), number("max_overlap_m"));
    }

    /// What it came to, beside its time.
    fn told(&self, entry: &Entry) -> String {
        let overlap = format!("{:.0} mm", self.max_overlap_m * 1e3);
        match entry.is_closed {
            true => format!("{:+.1} %, {overlap}", self.energy_drift * 100.0)
                .replace("-0.0 ", "0 ")
                .replace("+0.0 ", "0 "),
            false => overlap,
        }
    }
}

fn best<C: std::borrow::Borrow<Contender>>(contenders: impl Iterator<Item = C>) -> Option<C> {
    contenders.min_by(|a, b| a.borrow().median().total_cmp(&b.borrow().median()))
}

fn significant(number: f64) -> String {
    let digits = (2 - number.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{number:.digits$}")
}

fn table_row(entry: &Entry, contenders: &[Contender]) -> String {
    let ours: Vec<&Contender> =
        contenders.iter().filter(|contender| contender.engine == "anachron").collect();
    let Some(them) = best(contenders.iter().filter(|contender| contender.engine != "anachron")) else {
        return format!("| {} | no other engine |", entry.name());
    };
    let mut row = format!("| {} |", entry.name());
    for us in &ours {
        let _ = write!(row, " {} |", significant(us.median()));
    }
    let _ = write!(row, " {} |", ours.first().map_or(String::new(), |us| us.told(entry)));
    let threads = if them.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", them.threads) };
    let _ =
        write!(row, " {} ({threads}) {} | {} |", them.engine, significant(them.median()), them.told(entry));
    for us in &ours {
        // Repetition by repetition: a disturbance of the machine meets both.
        let mut ratios: Vec<f64> = us.walls.iter().zip(&them.walls).map(|(us, them)| them / us).collect();
        ratios.sort_by(f64::total_cmp);
        let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
        let ratio = them.median() / us.median();
        let _ = write!(row, " {} ({} to {}) |", significant(ratio), significant(low), significant(high));
    }
    row
}

fn tables(results: &[(&Entry, Vec<Contender>)]) -> String {
    let frames: Vec<u32> = results.first().map_or(Vec::new(), |(_, contenders)| {
        contenders.iter().filter(|c| c.engine == "anachron").map(|c| c.frames).collect()
    });
    let mut head = "| scene |".to_owned();
    let mut rule = "|---|".to_owned();
    for frames in &frames {
        let _ = write!(head, " anachron, {frames}/s |");
        rule.push_str("---:|");
    }
    head.push_str(" energy, worst overlap | best of the others | energy, worst overlap |");
    rule.push_str("---|---|---|");
    for frames in &frames {
        let _ = write!(head, " times faster, {frames}/s |");
        rule.push_str("---:|");
    }
    let mut text = format!("{head}\n{rule}\n");
    for (entry, contenders) in results {
        let _ = writeln!(text, "{}", table_row(entry, contenders));
    }
    let _ = writeln!(
        text,
        "\nAll engines, best thread count; seconds per simulated second; energy, worst overlap:\n"
    );
    for (entry, contenders) in results {
        let mut engines: BTreeMap<&str, Vec<&Contender>> = BTreeMap::new();
        for contender in contenders.iter().filter(|contender| contender.engine != "anachron") {
            engines.entry(&contender.engine).or_default().push(contender);
        }
        let told = engines.values().filter_map(|all| best(all.iter().copied())).map(|one| {
            format!("{} ({}) {}; {}", one.engine, one.threads, significant(one.median()), one.told(entry))
        });
        let _ = writeln!(text, "- {}: {}", entry.name(), told.collect::<Vec<_>>().join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_short() {
        let names: Vec<String> = ENTRIES.iter().map(Entry::name).collect();
        assert!(names.contains(&"gas 10000".to_owned()) && names.contains(&"bouncing hi 200".to_owned()));
        assert_eq!(significant(12.345), "12.3");
        assert_eq!(significant(0.0012345), "0.00123");
    }

    #[test]
    fn the_median_is_the_middle() {
        let contender = |walls: &[f64]| Contender {
            engine: String::new(),
            threads: 1,
            frames: 0,
            program: PathBuf::new(),
            arguments: Vec::new(),
            walls: walls.to_vec(),
            energy_drift: 0.0,
            max_overlap_m: 0.0,
            failed: None,
        };
        assert_eq!(contender(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(best([contender(&[4.0]), contender(&[2.0])].iter()).map(|c| c.walls[0]), Some(2.0));
    }
}
