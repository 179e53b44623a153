//! Runs cases as processes of their own, interleaved and repeated, and reads the JSON they print.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::super::failure::{Exit, Failure};
use super::super::interrupt::Interrupt;
use super::super::progress::Progress;
use super::Common;
use crate::bench::Spread;

/// One way of running a scene.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Cases with the same scene must come to the same digest.
    pub scene: Vec<String>,
    /// Flags that choose the executor.
    pub how: Vec<String>,
}

impl Case {
    pub(super) fn new(scenario: &str, bodies: u32, seconds: f64, how: &[&str]) -> Self {
        let scene = [scenario, "--bodies", &bodies.to_string(), "--seconds", &seconds.to_string()];
        Case { scene: texts(&scene), how: texts(how) }
    }

    /// The same with a parameter of the scene set.
    pub(super) fn set(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.scene.extend(["--set".to_owned(), format!("{name}={value}")]);
        self
    }

    /// The command that repeats it.
    pub(super) fn command(&self) -> String {
        format!("anachron run {} {}", self.scene.join(" "), self.how.join(" "))
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Flags for Time Warp on `cores` cores.
pub(super) fn timewarp(cores: u32) -> [String; 4] {
    ["--sync", "timewarp", "--cores", &cores.to_string()].map(ToOwned::to_owned)
}

/// What the repetitions of a case came to.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub case: Case,
    pub wall_s: Spread,
    pub cpu_s: Spread,
    /// Processor time of the arbiters alone, seconds.
    pub busy_s: Spread,
    /// Wall time of starting and stopping the actors, seconds.
    pub start_stop_s: Spread,
    /// Wall times in the order of the repetitions, to be compared with those of another case.
    pub walls: Vec<f64>,
    pub peak_rss_bytes: f64,
    pub energy_drift: f64,
    pub max_overlap_m: f64,
    /// Ticks committed, as a share of those computed; nothing without Time Warp.
    pub efficiency: Option<f64>,
    pub digest: String,
}

impl Measured {
    fn new(case: Case) -> Self {
        Measured {
            case,
            wall_s: Spread::default(),
            cpu_s: Spread::default(),
            busy_s: Spread::default(),
            start_stop_s: Spread::default(),
            walls: Vec::new(),
            peak_rss_bytes: 0.0,
            energy_drift: 0.0,
            max_overlap_m: 0.0,
            efficiency: None,
            digest: String::new(),
        }
    }

    fn take(&mut self, told: &Value) -> Result<(), Failure> {
        let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
        self.wall_s.add(number("wall_s"));
        self.walls.push(number("wall_s"));
        self.cpu_s.add(number("cpu_s"));
        let cores = told["speculation"]["cores"].as_array();
        let busy = cores.map(|cores| cores.iter().filter_map(|core| core["busy_s"].as_f64()).sum());
        self.busy_s.add(busy.unwrap_or(f64::NAN));
        self.start_stop_s.add(told["speculation"]["start_stop_s"].as_f64().unwrap_or(f64::NAN));
        self.peak_rss_bytes = number("peak_rss_bytes").max(self.peak_rss_bytes);
        self.energy_drift = number("energy_drift");
        self.max_overlap_m = number("max_overlap_m");
        self.efficiency = told["speculation"]["efficiency"].as_f64();
        let digest = told["digest"].as_str().unwrap_or_default();
        if !self.digest.is_empty() && self.digest != digest {
            return Err(differs(&self.case, &self.case));
        }
        digest.clone_into(&mut self.digest);
        Ok(())
    }

    /// How many times faster it is than another one, repetition by repetition.
    pub(super) fn speedup_over(&self, other: &Measured) -> Spread {
        Spread::of(other.walls.iter().zip(&self.walls).map(|(others, own)| others / own))
    }
}

fn differs(a: &Case, b: &Case) -> Failure {
    Failure::failed(format_args!(
        "two runs of one scene came to different digests: `{}` and `{}`",
        a.command(),
        b.command()
    ))
}

/// Runs cases.
pub(super) struct Runner {
    program: PathBuf,
    interrupt: Interrupt,
    quiet: bool,
}

impl Runner {
    pub(super) fn new(common: &Common) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::failed(format_args!("cannot find this program: {error}")))?;
        Ok(Runner { program, interrupt: Interrupt::watch()?, quiet: common.quiet })
    }

    /// Runs every case `repeat` times, one after the other, round by round.
    pub(super) fn measure(
        &mut self,
        what: &str,
        cases: &[Case],
        repeat: u32,
    ) -> Result<Vec<Measured>, Failure> {
        let mut measured: Vec<Measured> = cases.iter().cloned().map(Measured::new).collect();
        let mut progress = Progress::start(self.quiet);
        let total = cases.len() * repeat as usize;
        let mut done = 0;
        for _ in 0..repeat {
            for measured in &mut measured {
                let told = self.run(&measured.case)?;
                measured.take(&told)?;
                done += 1;
                progress.show(done as f64 / total as f64, |_| format!("{what}: run {done} of {total}"));
            }
        }
        progress.finish();
        for (at, one) in measured.iter().enumerate() {
            let other = measured[..at].iter().find(|other| other.case.scene == one.case.scene);
            if let Some(other) = other.filter(|other| other.digest != one.digest) {
                return Err(differs(&other.case, &one.case));
            }
        }
        Ok(measured)
    }

    fn run(&self, case: &Case) -> Result<Value, Failure> {
        let mut command = Command::new(&self.program);
        command.arg("run").args(&case.scene).args(&case.how).args(["--json", "--quiet"]);
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::failed(format_args!("cannot start `{}`: {error}", case.command())))?;
        if self.interrupt.is_requested() {
            return Err(Failure::failed("interrupted").ending_with(Exit::Interrupted));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let failed = |why: &str| {
            let failure = Failure::failed(format_args!("`{}` failed: {why}", case.command()));
            let is_bad_input = output.status.code() == Some(Exit::BadInput as i32);
            if is_bad_input { failure.ending_with(Exit::BadInput) } else { failure }
        };
        if !output.status.success() {
            return Err(failed(said.trim()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(&error.to_string()))
    }

    /// Whether the user wants to stop; for runs in this process.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_requested()
    }
}
