//! Statistics of a run for the terminal: Time Warp, the workers of `--sync overlap`, the islands of `--bridge auto`.

use std::fmt::Write;

use crate::cli::format::{counted, grouped, short};
use crate::cli::summary::Speculation;
use crate::executor::{ProcessSummary, RunStats};
use crate::islands::IslandSummary;
use crate::overlap::OverlapSummary;
use crate::protocol::Stats;
use crate::runtime::stats::{GvtUse, MemoryUse, Messages};

/// Lines about Time Warp; `line` takes a label and a text.
pub(super) fn speculation_lines(speculation: &Speculation, mut line: impl FnMut(&str, String)) {
    let Speculation { stats, efficiency, run_stats } = speculation;
    let rollbacks = counted(stats.primary_rollbacks + stats.secondary_rollbacks, "rollback", "rollbacks");
    let steps = counted(stats.steps, "step", "steps");
    let mut done = format!("{steps}, {rollbacks}, {:.1} % of ticks committed", efficiency * 100.0);
    if stats.migrations > 0 {
        // Writing to a String cannot fail.
        let _ = write!(done, ", {}", counted(stats.migrations, "migration", "migrations"));
    }
    line("time warp", done);
    if stats.ticks_undone > 0 {
        line("rollbacks", rollback_text(stats));
    }
    let RunStats { messages, gvt, window, cores, memory, start_stop_s } = run_stats;
    line("messages", message_text(messages));
    let ahead = short(window.ahead_mean_ticks);
    let share = window.share * 100.0;
    line("window", format!("{ahead} of {} ticks ahead on average ({share:.0} %)", window.ticks));
    line("GVT", gvt_text(gvt));
    let busy = cores.iter().filter_map(|core| core.busy_share);
    let busy: Vec<String> = busy.map(|share| format!("{:.0} %", share * 100.0)).collect();
    if !busy.is_empty() {
        let ends = short(*start_stop_s);
        line("cores busy", format!("{} (starting and stopping actors takes {ends} s)", busy.join(", ")));
    }
    line("histories", histories_text(memory));
}

/// The most memory that the process held, and what a body added to it.
pub(super) fn memory_text(peak_bytes: u64, bytes_per_body: Option<f64>) -> String {
    let peak = short(peak_bytes as f64 / f64::from(1 << 20));
    let of_body = bytes_per_body.map(|bytes| format!(", {} KiB per body", short(bytes / 1024.0)));
    format!("{peak} MiB at most{}", of_body.unwrap_or_default())
}

fn message_text(messages: &Messages) -> String {
    let mut text = format!(
        "{} between entities ({} events, {} antievents, {} ghost updates), {} self-steps, {} wake-ups",
        grouped(messages.between_entities()),
        grouped(messages.events),
        grouped(messages.antievents),
        grouped(messages.ghost_updates),
        grouped(messages.self_steps),
        grouped(messages.wake_ups)
    );
    if messages.of_table() > 0 {
        let _ = write!(text, ", {} with buckets", grouped(messages.of_table()));
    }
    text
}

fn gvt_text(gvt: &GvtUse) -> String {
    let rounds = counted(gvt.rounds, "round", "rounds");
    let lag = short(gvt.lag_mean_ticks);
    format!("{rounds}, the highest LVT {lag} ticks ahead on average, {} at most", gvt.lag_max_ticks)
}

fn histories_text(memory: &MemoryUse) -> String {
    let mib = |bytes: u64| short(bytes as f64 / f64::from(1 << 20));
    format!(
        "{} history segments at most ({} MiB), {} table entries ({} MiB), {} flights ({} MiB)",
        grouped(memory.segments_peak),
        mib(memory.history_bytes),
        grouped(memory.table_entries_peak),
        mib(memory.table_bytes),
        grouped(memory.log_entries_peak),
        mib(memory.log_bytes)
    )
}

/// Rollbacks by cause and by depth.
fn rollback_text(stats: &Stats) -> String {
    let deepest = stats.rollback_depths.len() - 1;
    let depth = |(power, count): (usize, &u64)| {
        format!("{} of {}", grouped(*count), depth_text(power, power == deepest))
    };
    let depths = stats.rollback_depths.iter().enumerate().filter(|(_, count)| **count > 0).map(depth);
    format!(
        "{} primary, {} secondary; {} undone: {}",
        grouped(stats.primary_rollbacks),
        grouped(stats.secondary_rollbacks),
        counted(stats.ticks_undone, "tick", "ticks"),
        depths.collect::<Vec<_>>().join(", ")
    )
}

/// The depths that are counted together: from a power of two to the next.
fn depth_text(power: usize, is_deepest: bool) -> String {
    match (1u64 << power, (2u64 << power) - 1) {
        (low, _) if is_deepest => format!("{low} or more"),
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    }
}

/// Lines about islands; `body_ticks` is the number of bodies times that of ticks.
pub(super) fn island_lines(bridge: &IslandSummary, body_ticks: u64, mut line: impl FnMut(&str, String)) {
    let islands = counted(bridge.islands, "island", "islands");
    let bodies = counted(u64::from(bridge.bodies), "body", "bodies");
    let share = bridge.body_ticks as f64 / body_ticks.max(1) as f64 * 100.0;
    let workers = counted(u64::from(bridge.workers), "worker", "workers");
    let bodies_max = grouped(u64::from(bridge.bodies_max));
    line(
        "islands",
        format!("{islands} of {bodies}, at most {bodies_max} bodies at a time, solved by {workers}"),
    );
    let (joined, freed) = (grouped(bridge.bodies_joined), grouped(bridge.bodies_freed));
    let moved = grouped(bridge.bodies_moved);
    line(
        "membership",
        format!(
            "{joined} bodies joined, {freed} left, {moved} changed island; {share:.1} % of body-ticks in islands"
        ),
    );
}

/// Lines about the workers of `--sync overlap`.
pub(super) fn worker_lines(overlap: &OverlapSummary, mut line: impl FnMut(&str, String)) {
    let OverlapSummary { workers, gamma, .. } = overlap;
    let (shared, copies) = (short(overlap.shared_mean), short(overlap.copies_mean));
    line("workers", format!("{workers}, gamma {gamma}, {shared} bodies shared on average ({copies} copies)"));
    let each =
        |values: &[f64]| values.iter().map(|value| short(value.round())).collect::<Vec<_>>().join(", ");
    line("bodies", format!("{} per worker on average", each(&overlap.bodies_mean)));
    line("points", format!("{} contact points per worker on average", each(&overlap.contact_points_mean)));
    let mib = short(overlap.bytes_sent as f64 / f64::from(1 << 20));
    line("moved", format!("{} bodies between workers, {mib} MiB sent", grouped(overlap.bodies_moved)));
    let (slowest, coordinator) = (short(overlap.slowest_worker_cpu_s), short(overlap.coordinator_cpu_s));
    line("time", format!("{slowest} s in the slowest workers, {coordinator} s in the coordinator"));
    if let Some(residual) = overlap.residual_mean_mps {
        line("residual", format!("{} m/s over all rows, on average over ticks", short(residual)));
    }
    if overlap.joint_gaps.max_m > 0.0 {
        let (max, sum) = (short(overlap.joint_gaps.max_m * 1e3), short(overlap.joint_gaps.sum_m * 1e3));
        line("joints", format!("{max} mm apart at worst at the end, {sum} mm in all"));
    }
}

/// The lines about regions and their messages.
pub(super) fn process_lines(processes: &ProcessSummary, ticks: u64, line: &mut impl FnMut(&str, String)) {
    let ProcessSummary { regions, bodies, threads, is_optimistic, region_ticks, .. } = *processes;
    let threads = counted(threads as u64, "thread", "threads");
    let per_body = "one per body with `--regions bodies`";
    if regions < 2 {
        let bodies = counted(bodies as u64, "body", "bodies");
        return line("processes", format!("1 of {bodies}, on {threads}; {per_body}"));
    }
    let bodies = counted((bodies / regions) as u64, "body", "bodies");
    let rule = if is_optimistic { "optimistic" } else { "conservative" };
    let rest =
        if region_ticks <= ticks { format!(" up to tick {region_ticks}, then one") } else { String::new() };
    line("processes", format!("{regions} regions of {bodies} each, {rule}, on {threads}{rest}; {per_body}"));
    let share = 100.0 * processes.ticks_undone as f64 / (processes.ticks as f64).max(1.0);
    line(
        "messages",
        format!(
            "{} ({} antimessages), {} exchanges, {} rollbacks, {share:.2} % of ticks undone",
            grouped(processes.messages),
            grouped(processes.antimessages),
            grouped(processes.exchanges),
            grouped(processes.rollbacks)
        ),
    );
}
