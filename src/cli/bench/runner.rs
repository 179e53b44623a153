//! Runs cases as processes of their own, interleaved and repeated, and reads the JSON they print.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::super::failure::{Exit, Failure};
use super::super::interrupt::Interrupt;
use super::super::progress::Progress;
use super::Common;
use crate::bench::breakdown::Activity;
use crate::bench::{Machine, Spread, Table};

/// One way of running a scene.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Cases with the same scene must come to the same digest.
    pub scene: Vec<String>,
    /// Flags that choose the executor.
    pub how: Vec<String>,
    /// Whether flags that were given to `bench` choose nothing here: others are compared with it.
    is_yardstick: bool,
}

impl Case {
    pub(super) fn new(scenario: &str, bodies: u32, seconds: f64, how: &[&str]) -> Self {
        let scene = [scenario, "--bodies", &bodies.to_string(), "--seconds", &seconds.to_string()];
        // What defines the result, and the protocol without actors.
        let is_yardstick = how.iter().any(|flag| ["sequential", "loop"].contains(flag));
        Case { scene: texts(&scene), how: texts(how), is_yardstick }
    }

    /// The same with a parameter of the scene set.
    pub(super) fn set(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.scene.extend(["--set".to_owned(), format!("{name}={value}")]);
        self
    }

    /// The same with more flags.
    pub(super) fn with(mut self, how: &[&str]) -> Self {
        self.how.extend(texts(how));
        self
    }

    /// The same as a yardstick.
    pub(super) fn yardstick(self) -> Self {
        Case { is_yardstick: true, ..self }
    }

    /// The same with the flags that were given to `bench`. A flag that the measurement sets itself stays as it is;
    /// yardsticks take none.
    fn with_given(mut self, common: &Common) -> Self {
        for set in &common.sets {
            self.scene.extend(["--set".to_owned(), set.clone()]);
        }
        let is_yardstick = self.is_yardstick;
        for (flag, value) in common.flags().into_iter().filter(|_| !is_yardstick) {
            if !self.how.contains(&flag) {
                self.how.extend([flag, value]);
            }
        }
        self
    }

    /// The command that repeats it.
    pub(super) fn command(&self) -> String {
        format!("anachron run {} {}", self.scene.join(" "), self.how.join(" "))
    }

    /// The value of a flag.
    fn value(&self, flag: &str) -> &str {
        let all = [&self.scene, &self.how];
        let at = |list: &[String]| list.iter().position(|it| it == flag).map(|at| at + 1);
        all.iter().find_map(|list| list.get(at(list)?)).map_or("", String::as_str)
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// What the repetitions of a case came to.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub case: Case,
    /// Wall time without starting and stopping, seconds; in virtual time for projections.
    pub run_s: Spread,
    pub cpu_s: Spread,
    /// Processor time of the cores alone, seconds.
    pub busy_s: Spread,
    /// Wall time of starting and stopping, seconds.
    pub start_stop_s: Spread,
    /// Times in the order of the repetitions, to be compared with those of another case.
    pub runs: Vec<f64>,
    pub peak_rss_bytes: f64,
    /// What a body added to the memory of the process, at most.
    pub rss_bytes_per_body: f64,
    pub energy_drift: f64,
    pub max_overlap_m: f64,
    /// Ticks committed, as a share of those computed; nothing without Time Warp.
    pub efficiency: Option<f64>,
    /// Of processes; nothing without Time Warp.
    pub rollbacks: Option<f64>,
    /// Handlers of entities in virtual time.
    pub handlers: f64,
    /// The share of each activity in virtual time, in the order of [`Activity::ALL`], by repetition.
    pub activities: Vec<[f64; 7]>,
    pub digest: String,
}

impl Measured {
    fn new(case: Case) -> Self {
        Measured {
            case,
            run_s: Spread::default(),
            cpu_s: Spread::default(),
            busy_s: Spread::default(),
            start_stop_s: Spread::default(),
            runs: Vec::new(),
            peak_rss_bytes: 0.0,
            rss_bytes_per_body: 0.0,
            energy_drift: 0.0,
            max_overlap_m: 0.0,
            efficiency: None,
            rollbacks: None,
            handlers: 0.0,
            activities: Vec::new(),
            digest: String::new(),
        }
    }

    fn take(&mut self, told: &Told) -> Result<(), Failure> {
        self.run_s.add(told.run_s);
        self.runs.push(told.run_s);
        self.cpu_s.add(told.number("cpu_s"));
        self.busy_s.add(told.busy_s);
        self.start_stop_s.add(told.start_stop_s);
        self.peak_rss_bytes = told.number("peak_rss_bytes").max(self.peak_rss_bytes);
        self.rss_bytes_per_body = told.number("rss_bytes_per_body").max(self.rss_bytes_per_body);
        self.energy_drift = told.number("energy_drift");
        self.max_overlap_m = told.number("max_overlap_m");
        self.efficiency = told.efficiency;
        self.rollbacks = told.rollbacks;
        self.handlers = told.all["projection"]["handlers"].as_f64().unwrap_or(0.0);
        self.activities.extend(told.activities);
        let digest = told.all["digest"].as_str().unwrap_or_default();
        if !self.digest.is_empty() && self.digest != digest {
            return Err(differs(&self.case, &self.case));
        }
        digest.clone_into(&mut self.digest);
        Ok(())
    }

    /// How many times faster it is than another one, repetition by repetition.
    pub(super) fn speedup_over(&self, other: &Measured) -> Spread {
        Spread::of(other.runs.iter().zip(&self.runs).map(|(others, own)| others / own))
    }

    /// The share of committed ticks for a table.
    pub(super) fn kept(&self) -> String {
        self.efficiency.map_or(String::new(), |kept| format!("{:.0} %", kept * 100.0))
    }
}

/// What a run has printed.
struct Told {
    all: Value,
    run_s: f64,
    start_stop_s: f64,
    busy_s: f64,
    efficiency: Option<f64>,
    rollbacks: Option<f64>,
    activities: Option<[f64; 7]>,
}

impl Told {
    fn new(all: Value) -> Self {
        let (speculation, processes, projection) =
            (&all["speculation"], &all["processes"], &all["projection"]);
        // Actors tell it as statistics of speculation, regions and stores as processes.
        let start_stop_s = match projection.is_object() {
            true => projection["start_s"].as_f64(),
            false => [speculation, processes].into_iter().find_map(|part| part["start_stop_s"].as_f64()),
        };
        let start_stop_s = start_stop_s.unwrap_or(f64::NAN);
        let wall_s = all["wall_s"].as_f64().unwrap_or(f64::NAN);
        let apart_s = if start_stop_s.is_finite() { start_stop_s } else { 0.0 };
        let cores = speculation["cores"].as_array();
        let busy = cores.map(|cores| cores.iter().filter_map(|core| core["busy_s"].as_f64()).sum());
        let busy_s = projection["busy_s"].as_f64().or(busy).unwrap_or(f64::NAN);
        let of_regions = |key: &str| processes[key].as_f64();
        let kept = of_regions("ticks").zip(of_regions("ticks_undone"));
        let of_bodies = ["primary_rollbacks", "secondary_rollbacks"].map(|key| speculation[key].as_f64());
        let activities: Vec<f64> =
            projection["activities"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        Told {
            run_s: projection["seconds"].as_f64().unwrap_or(wall_s - apart_s),
            start_stop_s,
            busy_s,
            efficiency: speculation["efficiency"]
                .as_f64()
                .or(kept.filter(|(ticks, _)| *ticks > 0.0).map(|(ticks, undone)| 1.0 - undone / ticks)),
            rollbacks: of_bodies[0].zip(of_bodies[1]).map(|(a, b)| a + b).or(of_regions("rollbacks")),
            activities: activities.try_into().ok(),
            all,
        }
    }

    fn number(&self, key: &str) -> f64 {
        self.all[key].as_f64().unwrap_or(f64::NAN)
    }

    /// A row of [`columns`].
    fn row(&self, case: &Case, repetition: usize, place: &Place) -> Vec<String> {
        let projection = &self.all["projection"];
        let computed = |of_bodies: &str, of_regions: &str| {
            let (bodies, regions) = (&self.all["speculation"][of_bodies], &self.all["processes"][of_regions]);
            plain(bodies.as_f64().or(regions.as_f64()).unwrap_or(f64::NAN))
        };
        let sets = case.scene.iter().zip(case.scene.iter().skip(1)).filter(|(flag, _)| *flag == "--set");
        let sets: Vec<&str> = sets.map(|(_, value)| value.as_str()).collect();
        let cores = projection["cores"].as_f64().unwrap_or(self.number("cores"));
        let mut row = vec![
            case.scene.first().cloned().unwrap_or_default(),
            plain(self.number("bodies")),
            case.value("--seconds").to_owned(),
            sets.join(" "),
            case.how.join(" "),
            if projection.is_object() { "projection" } else { "measured" }.to_owned(),
            plain(cores),
            plain(projection["message_us"].as_f64().unwrap_or(f64::NAN)),
            repetition.to_string(),
            plain(self.run_s),
            plain(self.start_stop_s),
            plain(self.number("cpu_s")),
            plain(self.busy_s),
            plain(self.number("peak_rss_bytes")),
            plain(self.number("rss_bytes_per_body")),
            plain(self.number("contacts")),
            plain(self.number("max_overlap_m")),
            plain(self.number("energy_drift")),
            computed("ticks", "ticks"),
            computed("ticks_undone", "ticks_undone"),
            plain(self.rollbacks.unwrap_or(f64::NAN)),
            plain(self.efficiency.unwrap_or(f64::NAN)),
        ];
        row.extend((0..7).map(|at| plain(self.activities.map_or(f64::NAN, |shares| shares[at]))));
        let digest = self.all["digest"].as_str().unwrap_or_default().to_owned();
        row.extend([digest, place.commit.clone(), place.machine.clone(), plain(place.load)]);
        row
    }
}

/// Names of the columns of a row per repetition, with units.
fn columns() -> Vec<String> {
    let first = [
        "scene",
        "bodies",
        "simulated_s",
        "parameters",
        "flags",
        "kind",
        "cores",
        "message_us",
        "repetition",
        "run_s",
        "start_stop_s",
        "cpu_s",
        "busy_s",
        "peak_rss_bytes",
        "rss_bytes_per_body",
        "contacts",
        "max_overlap_m",
        "energy_drift",
        "ticks_computed",
        "ticks_undone",
        "rollbacks",
        "efficiency",
    ];
    let shares =
        Activity::ALL.iter().map(|(_, name)| format!("{}_share", name.replace(' ', "_").to_lowercase()));
    let last = ["digest", "commit", "machine", "load_at_start"];
    first.map(str::to_owned).into_iter().chain(shares).chain(last.map(str::to_owned)).collect()
}

/// A number for a column of numbers; nothing if there is none.
pub(super) fn plain(number: f64) -> String {
    if number.is_finite() { format!("{number}") } else { String::new() }
}

fn differs(a: &Case, b: &Case) -> Failure {
    Failure::failed(format_args!(
        "two runs of one scene came to different digests: `{}` and `{}`",
        a.command(),
        b.command()
    ))
}

/// Where and of what something is measured.
struct Place {
    machine: String,
    commit: String,
    load: f64,
}

/// Runs cases.
pub(super) struct Runner {
    program: PathBuf,
    interrupt: Interrupt,
    common: Common,
    place: Place,
    /// A row per repetition since they were last taken.
    rows: Table,
}

impl Runner {
    pub(super) fn new(common: &Common, machine: &Machine) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::failed(format_args!("cannot find this program: {error}")))?;
        let place = Place {
            machine: machine.slug(),
            commit: machine.commit.clone().unwrap_or_default(),
            load: machine.load.unwrap_or(f64::NAN),
        };
        let rows = Table { header: columns(), rows: Vec::new() };
        Ok(Runner { program, interrupt: Interrupt::watch(), common: common.clone(), place, rows })
    }

    /// The rows of all runs since they were last taken.
    pub(super) fn take_rows(&mut self) -> Table {
        std::mem::replace(&mut self.rows, Table { header: columns(), rows: Vec::new() })
    }

    /// Runs every case `repeat` times, one after the other, round by round.
    pub(super) fn measure(
        &mut self,
        what: &str,
        cases: &[Case],
        repeat: u32,
    ) -> Result<Vec<Measured>, Failure> {
        let given = cases.iter().cloned().map(|case| case.with_given(&self.common));
        let mut measured: Vec<Measured> = given.map(Measured::new).collect();
        let mut progress = Progress::start(self.common.quiet);
        let total = cases.len() * repeat as usize;
        let mut done = 0;
        for repetition in 0..repeat as usize {
            for measured in &mut measured {
                let told = Told::new(self.run(&measured.case)?);
                measured.take(&told)?;
                self.rows.add(told.row(&measured.case, repetition, &self.place));
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
            return Err(Interrupt::failure());
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
