//! The outcome of a run: one JSON object for programs, a few lines for the terminal.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::format::{change, counted, grouped, short};
use crate::cli::json;
use crate::cli::summary_text::{island_lines, memory_text, process_lines, speculation_lines, worker_lines};
use crate::cli::virtual_cores::VirtualSummary;
use crate::executor::{ProcessSummary, Report, RunStats, SyncMode};
use crate::islands::IslandSummary;
use crate::overlap::OverlapSummary;
use crate::protocol::Stats;
use crate::scene::Scene;
use crate::scene::suggest::{excerpt, shown};

/// What a run took from the machine; nothing where the operating system does not say.
pub(super) struct Cost {
    pub wall_s: f64,
    pub cpu_s: Option<f64>,
    pub memory: Memory,
}

/// Resident memory of the process; nothing where the operating system does not say.
pub(super) struct Memory {
    /// Before the scene was read.
    pub start_bytes: Option<u64>,
    /// The most up to the end of the run.
    pub peak_bytes: Option<u64>,
}

impl Memory {
    /// What a run of so many bodies has added for each of them.
    fn bytes_per_body(&self, bodies: usize) -> Option<f64> {
        let added = self.peak_bytes?.saturating_sub(self.start_bytes?);
        (bodies > 0).then(|| added as f64 / bodies as f64)
    }
}

/// Everything that is reported about a run. The keys of the JSON object are the names of the fields: fields may be
/// added, and neither renamed nor removed.
#[derive(Debug, Serialize)]
pub(super) struct RunSummary {
    scenario: String,
    seed: u64,
    bodies: usize,
    /// Simulated seconds up to the last frame.
    seconds: f64,
    ticks_per_second: f64,
    ticks: u64,
    frames: u64,
    digest: String,
    interrupted: bool,
    sync: &'static str,
    cores: usize,
    wall_s: f64,
    cpu_s: Option<f64>,
    /// Resident memory of the process before the scene was read.
    start_rss_bytes: Option<u64>,
    /// The most resident memory of the process.
    peak_rss_bytes: Option<u64>,
    /// The difference of these by body: the scene, its compiled form, and what the run took.
    rss_bytes_per_body: Option<f64>,
    body_ticks_per_second: f64,
    contacts: u64,
    contact_ticks: u64,
    max_overlap_m: f64,
    /// Kinetic and potential energy of the first frame, joules.
    energy_start: f64,
    /// The same of the last frame, joules.
    energy_end: f64,
    energy_drift: f64,
    momentum_drift: f64,
    /// What changes the momentum from outside, in words; nothing in a closed system, which must keep it.
    momentum_changed_by: Option<&'static str>,
    /// Statistics of Time Warp; nothing where the executor does not speculate.
    speculation: Option<Speculation>,
    /// What bodies were divided among, and messages; nothing where each body is a process, or nothing is.
    processes: Option<ProcessSummary>,
    /// Statistics of `--sync overlap`; nothing with another executor.
    overlap: Option<OverlapSummary>,
    /// Statistics of `--bridge auto`; nothing without it.
    bridge: Option<IslandSummary>,
    /// The run in virtual time, if that was asked for; a projection.
    #[serde(skip_serializing_if = "Option::is_none")]
    projection: Option<VirtualSummary>,
    version: &'static str,
}

/// Statistics of Time Warp.
#[derive(Debug, Serialize)]
pub(super) struct Speculation {
    #[serde(flatten)]
    pub stats: Stats,
    /// Ticks that were committed, as a share of those that were computed.
    pub efficiency: f64,
    #[serde(flatten)]
    pub run_stats: RunStats,
}

impl Speculation {
    fn of(report: &Report) -> Option<Self> {
        let stats = report.speculation?;
        let run_stats = report.run_stats.clone().unwrap_or_default();
        Some(Speculation { stats, efficiency: stats.efficiency(), run_stats })
    }
}

impl RunSummary {
    /// The same with what it came to in virtual time.
    pub(super) fn projected(self, projection: Option<VirtualSummary>) -> Self {
        RunSummary { projection, ..self }
    }

    pub(super) fn new(scene: &Scene, report: &Report, sync: SyncMode, cores: usize, cost: &Cost) -> Self {
        let body_ticks = report.bodies as f64 * report.tally.ticks as f64;
        RunSummary {
            scenario: scene.name.clone(),
            seed: scene.seed,
            bodies: report.bodies,
            seconds: report.seconds,
            ticks_per_second: scene.ticks_per_second,
            ticks: report.tally.ticks,
            frames: report.frames,
            digest: report.digest.to_string(),
            interrupted: report.interrupted,
            sync: sync.name(),
            cores,
            wall_s: cost.wall_s,
            cpu_s: cost.cpu_s,
            start_rss_bytes: cost.memory.start_bytes,
            peak_rss_bytes: cost.memory.peak_bytes,
            rss_bytes_per_body: cost.memory.bytes_per_body(report.bodies),
            body_ticks_per_second: if cost.wall_s > 0.0 { body_ticks / cost.wall_s } else { 0.0 },
            contacts: report.tally.contacts,
            contact_ticks: report.tally.contact_ticks,
            max_overlap_m: report.tally.max_overlap_m,
            energy_start: report.start.energy(),
            energy_end: report.end.energy(),
            energy_drift: report.energy_drift(),
            momentum_drift: report.momentum_drift(),
            momentum_changed_by: match (scene.gravity != [0.0; 3], !scene.statics.is_empty()) {
                (true, true) => Some("gravity and static geometry"),
                (true, false) => Some("gravity"),
                (false, true) => Some("static geometry"),
                (false, false) => None,
            },
            speculation: Speculation::of(report),
            processes: report.processes,
            overlap: report.overlap.clone(),
            bridge: report.tally.bridge,
            projection: None,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// One JSON object on a line of its own.
    pub(super) fn json(&self) -> String {
        json::line(self)
    }

    /// A few lines for the terminal; `seconds` is the simulated time that was asked for.
    pub(super) fn text(&self, recording: Option<&Path>, seconds: f64) -> String {
        let bodies = counted(self.bodies as u64, "body", "bodies");
        let ticks = counted(self.ticks, "tick", "ticks");
        let frames = counted(self.frames, "frame", "frames");
        let mut text =
            format!("{}: {bodies}, {} s, {ticks}, {frames}", excerpt(&self.scenario), short(self.seconds));
        let mut line = |label: &str, value: String| {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n  {label:<11} {value}");
        };
        if self.interrupted {
            line("interrupted", format!("after {} of {} s", short(self.seconds), short(seconds)));
        }
        line(
            "contacts",
            format!("{} ({} contact ticks)", grouped(self.contacts), grouped(self.contact_ticks)),
        );
        line("overlap", format!("{} mm at worst", short(self.max_overlap_m * 1e3)));
        let (start, end) = (short(self.energy_start), short(self.energy_end));
        line("energy", format!("{start} J at the start, {end} J at the end ({})", change(self.energy_drift)));
        let cause = self.momentum_changed_by.map_or(String::new(), |cause| format!(", by {cause}"));
        line("momentum", format!("{} drift{cause}", change(self.momentum_drift).trim_start_matches('+')));
        let speed = self.seconds / self.wall_s;
        let start_stop_s = self.processes.and_then(|processes| processes.start_stop_s);
        let apart = start_stop_s.map(|apart_s| format!("; {} s of it to start and to stop", short(apart_s)));
        let apart = apart.unwrap_or_default();
        line("wall time", format!("{} s, {} x real time{apart}", short(self.wall_s), short(speed)));
        if let Some(peak) = self.peak_rss_bytes {
            line("memory", memory_text(peak, self.rss_bytes_per_body));
        }
        let cores = counted(self.cores as u64, "core", "cores");
        let rate = grouped(self.body_ticks_per_second as u64);
        line("speed", format!("{rate} body-ticks/s ({}, {cores})", self.sync));
        if let Some(speculation) = &self.speculation {
            speculation_lines(speculation, &mut line);
        }
        if let Some(processes) = &self.processes {
            process_lines(processes, self.ticks, &mut line);
        }
        if let Some(overlap) = &self.overlap {
            worker_lines(overlap, &mut line);
        }
        if let Some(bridge) = &self.bridge {
            island_lines(bridge, self.bodies as u64 * self.ticks, &mut line);
        }
        if let Some(path) = recording {
            line("recording", shown(path));
        }
        line("digest", self.digest.clone());
        text
    }
}
