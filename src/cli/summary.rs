//! What a run has to show in the end: a few lines for set_active, one JSON object for programs.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::format::{change, counted, grouped, short};
use crate::executor::{Report, RunStats, SyncMode};
use crate::islands::IslandSummary;
use crate::overlap::OverlapSummary;
use crate::protocol::Stats;
use crate::scene::Scene;

/// What a run took from the machine; nothing where the operating system does not say.
pub(super) struct Cost {
    pub wall_s: f64,
    pub cpu_s: Option<f64>,
    pub peak_rss_bytes: Option<u64>,
}

/// Everything that is told about a run. The keys of the JSON object are the names of the fields.
#[derive(Debug, Serialize)]
pub(super) struct RunSummary {
    scenario: String,
    seed: u64,
    bodies: usize,
    /// Simulated, up to the last frame.
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
    peak_rss_bytes: Option<u64>,
    body_ticks_per_second: f64,
    contacts: u64,
    contact_ticks: u64,
    max_overlap_m: f64,
    energy_start: f64,
    energy_end: f64,
    energy_drift: f64,
    momentum_drift: f64,
    /// What changes the momentum from outside, in words; nothing in a closed system, which must keep it.
    momentum_changed_by: Option<&'static str>,
    /// What speculation did; nothing where nothing was speculated.
    speculation: Option<Speculation>,
    /// What workers did; nothing where there were none.
    overlap: Option<OverlapSummary>,
    /// Groups and hand-overs; nothing where there was no bridge.
    bridge: Option<IslandSummary>,
    version: &'static str,
}

/// What speculation did, in the words of parallel simulation.
#[derive(Debug, Serialize)]
struct Speculation {
    #[serde(flatten)]
    stats: Stats,
    /// Ticks that were committed, as a share of those that were computed.
    efficiency: f64,
    #[serde(flatten)]
    run_stats: RunStats,
}

impl Speculation {
    fn of(report: &Report) -> Option<Self> {
        let stats = report.speculation?;
        let run_stats = report.run_stats.clone().unwrap_or_default();
        Some(Speculation { stats, efficiency: stats.efficiency(), run_stats })
    }

    /// A few lines for set_active.
    fn tell(&self, mut line: impl FnMut(&str, String)) {
        let Speculation { stats, efficiency, run_stats } = self;
        let rollbacks = counted(stats.primary_rollbacks + stats.secondary_rollbacks, "rollback", "rollbacks");
        let steps = counted(stats.steps, "step", "steps");
        let mut done = format!("{steps}, {rollbacks}, {:.1} % of ticks kept", efficiency * 100.0);
        if stats.migrations > 0 {
            let _ =
                write!(done, ", {}", counted(stats.migrations, "handover of bodies", "migrations of bodies"));
        }
        line("speculation", done);
        if stats.ticks_undone > 0 {
            line("rollbacks", rollbacks_in_words(stats));
        }
        let RunStats { messages, gvt, window, cores, memory, start_stop_s } = run_stats;
        let mut told = format!(
            "{} between bodies ({} events, {} antievents, {} ghosts), {} self_steps, {} wake-ups",
            grouped(messages.between_entities()),
            grouped(messages.events),
            grouped(messages.antievents),
            grouped(messages.ghosts),
            grouped(messages.self_steps),
            grouped(messages.wake_ups)
        );
        if messages.of_table() > 0 {
            let _ = write!(told, ", {} with buckets", grouped(messages.of_table()));
        }
        line("messages", told);
        let ahead = short(window.ahead_mean_ticks);
        line(
            "window",
            format!("{ahead} of {} ticks ahead on average ({:.0} %)", window.ticks, window.share * 100.0),
        );
        let rounds = counted(gvt.rounds, "round", "rounds");
        let lag = short(gvt.lag_mean_ticks);
        line(
            "GVT",
            format!(
                "{rounds}, the farthest body {lag} ticks ahead on average, {} at most",
                gvt.lag_max_ticks
            ),
        );
        let busy = cores.iter().filter_map(|core| core.busy_share);
        let busy: Vec<String> = busy.map(|share| format!("{:.0} %", share * 100.0)).collect();
        if !busy.is_empty() {
            let ends = short(*start_stop_s);
            line("cores busy", format!("{} (start and end of the actors take {ends} s)", busy.join(", ")));
        }
        let mib = |bytes: u64| short(bytes as f64 / f64::from(1 << 20));
        line(
            "histories",
            format!(
                "{} segments at most ({} MiB), {} table entries ({} MiB), {} flights ({} MiB)",
                grouped(memory.segments_peak),
                mib(memory.history_bytes),
                grouped(memory.table_entries_peak),
                mib(memory.table_bytes),
                grouped(memory.log_entries_peak),
                mib(memory.log_bytes)
            ),
        );
    }
}

/// Why, how much and how deep.
fn rollbacks_in_words(stats: &Stats) -> String {
    let deepest = stats.rollback_depths.len() - 1;
    let depth =
        |(at, count): (usize, &u64)| format!("{} of {}", grouped(*count), depth_in_words(at, at == deepest));
    let depths = stats.rollback_depths.iter().enumerate().filter(|(_, count)| **count > 0).map(depth);
    format!(
        "{} primary, {} secondary; {} taken back: {}",
        grouped(stats.primary_rollbacks),
        grouped(stats.secondary_rollbacks),
        counted(stats.ticks_undone, "tick", "ticks"),
        depths.collect::<Vec<_>>().join(", ")
    )
}

/// The depths that are counted together: from a power of two to the next.
fn depth_in_words(at: usize, is_deepest: bool) -> String {
    match (1u64 << at, (2u64 << at) - 1) {
        (low, _) if is_deepest => format!("{low} or more"),
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    }
}

impl RunSummary {
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
            peak_rss_bytes: cost.peak_rss_bytes,
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
            overlap: report.overlap.clone(),
            bridge: report.tally.bridge,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// One JSON object on a line of its own.
    pub(super) fn json(&self) -> String {
        let object = serde_json::to_string(self).expect("invariant: numbers and texts can be written");
        object + "\n"
    }

    /// A few lines for set_active; `seconds` is how long the run was to be.
    pub(super) fn text(&self, recording: Option<&Path>, seconds: f64) -> String {
        let bodies = counted(self.bodies as u64, "body", "bodies");
        let ticks = counted(self.ticks, "tick", "ticks");
        let frames = counted(self.frames, "frame", "frames");
        let mut text = format!("{}: {bodies}, {} s, {ticks}, {frames}", self.scenario, short(self.seconds));
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
        line("wall time", format!("{} s, {} x real time", short(self.wall_s), short(speed)));
        let cores = counted(self.cores as u64, "core", "cores");
        let rate = grouped(self.body_ticks_per_second as u64);
        line("speed", format!("{rate} body-ticks/s ({}, {cores})", self.sync));
        if let Some(speculation) = &self.speculation {
            speculation.tell(&mut line);
        }
        if let Some(overlap) = &self.overlap {
            tell_workers(overlap, &mut line);
        }
        if let Some(bridge) = &self.bridge {
            tell_bridge(bridge, self.bodies as u64 * self.ticks, &mut line);
        }
        if let Some(path) = recording {
            line("recording", path.display().to_string());
        }
        line("digest", self.digest.clone());
        text
    }
}

/// A line about groups, for set_active.
fn tell_bridge(bridge: &IslandSummary, body_ticks: u64, mut line: impl FnMut(&str, String)) {
    let IslandSummary { joined, freed, moved, .. } = bridge;
    let groups = counted(bridge.islands, "island", "islands");
    let bodies = counted(u64::from(bridge.bodies), "body", "bodies");
    let share = bridge.body_ticks as f64 / body_ticks.max(1) as f64 * 100.0;
    let (joined, freed, moved) = (grouped(*joined), grouped(*freed), grouped(*moved));
    let workers = counted(u64::from(bridge.workers), "worker", "workers");
    line(
        "bridge",
        format!(
            "{groups} of {bodies}, {} at a time at most, by {workers}",
            grouped(u64::from(bridge.bodies_max))
        ),
    );
    line(
        "handed over",
        format!("{joined} joined, {freed} came free, {moved} moved; {share:.1} % of body-ticks in groups"),
    );
}

/// A few lines about workers, for set_active.
fn tell_workers(overlap: &OverlapSummary, mut line: impl FnMut(&str, String)) {
    let OverlapSummary { workers, gamma, .. } = overlap;
    let (shared, copies) = (short(overlap.shared_mean), short(overlap.copies_mean));
    line("workers", format!("{workers}, gamma {gamma}, {shared} bodies shared on average ({copies} copies)"));
    let each =
        |values: &[f64]| values.iter().map(|value| short(value.round())).collect::<Vec<_>>().join(", ");
    line("bodies", format!("{} in the workers on average", each(&overlap.bodies_mean)));
    line("points", format!("{} of contact", each(&overlap.points_mean)));
    let mib = short(overlap.bytes as f64 / f64::from(1 << 20));
    line("moved", format!("{} bodies between workers, {mib} MiB sent", grouped(overlap.moved)));
    let (slowest, bridge) = (short(overlap.slowest_cpu_s), short(overlap.coordinator_cpu_s));
    line("time", format!("{slowest} s in the slowest workers, {bridge} s between ticks"));
    if let Some(residual) = overlap.residual_mean {
        line("residual", format!("{} m/s over all rows, on average over ticks", short(residual)));
    }
    if overlap.violation.max_m > 0.0 {
        let (max, sum) = (short(overlap.violation.max_m * 1e3), short(overlap.violation.sum_m * 1e3));
        line("joints", format!("{max} mm apart at worst at the end, {sum} mm in all"));
    }
}
