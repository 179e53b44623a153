//! Overhead of Time Warp and of actors on one core, and the memory of a body.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{grouped, short};
use super::runner::{Case, Measured, Runner};
use super::{BYTES_PER_BODY_TARGET, Common};
use crate::bench::{Section, Spread, Table};

#[derive(Args, Default)]
pub(super) struct Arguments {}

/// Scenes in which bodies mostly fly.
const SPARSE: [(&str, u32); 2] = [("gas", 10_000), ("parallel", 10_000)];
/// Scenes in which bodies are mostly in contact.
const DENSE: [(&str, u32); 2] = [("cylinders", 500), ("bouncing", 200)];
/// Bodies of the gas that memory is measured with, and how often at most.
const WEIGHED: [(u32, u32); 2] = [(65_536, 3), (1_000_000, 1)];
/// One process per body is weighed up to this number of bodies.
const BY_BODY_MAX: u32 = 100_000;

/// A way of running a scene on one core, with its name.
struct Way {
    name: String,
    how: &'static [&'static str],
    is_yardstick: bool,
}

/// The plain loop first, then what was chosen, and one process per body without actors and with them at the end.
fn ways(common: &Common) -> Vec<Way> {
    let way = |name: &str, how, is_yardstick| Way { name: name.into(), how, is_yardstick };
    let one_core: &[&str] = &["--cores", "1"];
    let mut ways = vec![way("plain loop", &["--sync", "sequential"], true)];
    match common.chosen_executor() {
        Some(name) => ways.push(way(&name, one_core, false)),
        None => {
            ways.push(way("one store", one_core, false));
            ways.push(way("two regions", &["--regions", "2", "--cores", "1"], false));
        }
    }
    ways.push(way("per body, no actors", &["--sync", "loop"], true));
    ways.push(way("per body, actors", &["--regions", "bodies", "--cores", "1"], true));
    ways
}

pub(super) fn measure(runner: &mut Runner, _: &Arguments, common: &Common) -> Result<Vec<Section>, Failure> {
    common.refuse_overlap()?;
    let ways = ways(common);
    let mut header = vec!["scene".to_owned()];
    header.extend(ways.iter().map(|way| format!("{}, CPU s", way.name)));
    header.extend(ways[1..].iter().map(|way| format!("{}: times faster than the plain loop", way.name)));
    header.push("actors over no actors".into());
    let mut table = Table { header, rows: Vec::new() };
    for (scenario, bodies) in SPARSE.into_iter().chain(DENSE) {
        let seconds = common.seconds_of(scenario);
        let case = |way: &Way| {
            let case = Case::new(scenario, bodies, seconds, way.how);
            if way.is_yardstick { case.yardstick() } else { case }
        };
        let cases: Vec<Case> = ways.iter().map(case).collect();
        let measured = runner.measure(&format!("overhead {scenario}"), &cases, common.repeat)?;
        let cpu: Vec<f64> = measured.iter().map(|measured| measured.cpu_s.median()).collect();
        let mut row = vec![format!("{scenario} {}", grouped(u64::from(bodies)))];
        row.extend(measured.iter().map(|measured| told(&measured.cpu_s)));
        row.extend(cpu[1..].iter().map(|one| format!("{:.2}", cpu[0] / one)));
        row.push(format!("{:.2}", cpu[cpu.len() - 1] / cpu[cpu.len() - 2]));
        table.add(row);
    }
    let overhead = Section {
        name: "overhead".into(),
        title: "Overhead of Time Warp and of actors on one core".into(),
        words: vec![format!(
            "Processor seconds of the whole process, start and stop included, median of {} interleaved runs on one \
             core. The plain loop defines the result. Two regions have all that speculation needs (undo logs, \
             replicas, messages), one store has none of it. One process per body without actors (`--sync loop`) is \
             the same protocol on one thread over the same table. Target: actors take at most twice as long as the \
             protocol without them.",
            common.repeat
        )],
        table,
        plots: Vec::new(),
        runs: runner.take_rows(),
    };
    Ok(vec![overhead, memory(runner, common)?])
}

fn told(spread: &Spread) -> String {
    format!("{} +- {:.0} %", short(spread.median()), spread.half_width() * 100.0)
}

fn memory(runner: &mut Runner, common: &Common) -> Result<Section, Failure> {
    let chosen = common.chosen_executor().unwrap_or_else(|| "timewarp".into());
    let mut table = Table::new(&["scene", "by", "run s", "start and stop, s", "MiB at most", "KiB per body"]);
    for (bodies, repeat_max) in WEIGHED {
        let case = |how| Case::new("gas", bodies, 1.0, how);
        let mut cases = vec![case(&[])];
        if bodies <= BY_BODY_MAX && common.regions.as_deref() != Some("bodies") {
            cases.push(case(&["--regions", "bodies"]).yardstick());
        }
        let repeat = common.repeat.min(repeat_max);
        let measured = runner.measure(&format!("memory {bodies}"), &cases, repeat)?;
        let names = [chosen.as_str(), "one process per body"];
        let row = |(measured, name): (&Measured, &str)| {
            vec![
                format!("gas {}", grouped(u64::from(bodies))),
                name.to_owned(),
                short(measured.run_s.median()),
                short(measured.start_stop_s.median()),
                short(measured.peak_rss_bytes / f64::from(1 << 20)),
                short(measured.rss_bytes_per_body / 1024.0),
            ]
        };
        measured.iter().zip(names).map(row).for_each(|row| table.add(row));
    }
    Ok(Section {
        name: "memory".into(),
        title: "Memory of a body".into(),
        words: vec![format!(
            "The most the process held during one simulated second on all cores, and what a body added to it, scene \
             and frames included. Target: {} KiB per body.",
            BYTES_PER_BODY_TARGET / 1024.0
        )],
        table,
        plots: Vec::new(),
        runs: runner.take_rows(),
    })
}
