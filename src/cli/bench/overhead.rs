//! Overhead of Time Warp and of actors on one core, and the memory of a body.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{grouped, short};
use super::Common;
use super::runner::{Case, Measured, Runner};
use crate::bench::{Section, Spread, Table};

#[derive(Args, Default)]
pub(super) struct Arguments {}

/// Scenes in which bodies mostly fly.
const SPARSE: [(&str, u32); 2] = [("gas", 10_000), ("parallel", 10_000)];
/// Scenes in which bodies are mostly in contact.
const DENSE: [(&str, u32); 2] = [("cylinders", 500), ("bouncing", 200)];
/// Bodies of the gas that memory is measured with, and of a tiny gas that shows the memory of the program itself.
const WEIGHED: (u32, u32) = (65_536, 64);

const WAYS: [&[&str]; 3] =
    [&["--sync", "sequential"], &["--sync", "loop"], &["--regions", "bodies", "--cores", "1"]];

pub(super) fn measure(runner: &mut Runner, _: &Arguments, common: &Common) -> Result<Vec<Section>, Failure> {
    let mut table = Table::new(&[
        "scene",
        "plain loop, CPU s",
        "protocol without actors",
        "actors, 1 core",
        "actors: times faster than the plain loop",
        "actors over no actors",
    ]);
    for (scenario, bodies) in SPARSE.into_iter().chain(DENSE) {
        let seconds = common.seconds_of(scenario);
        let cases: Vec<Case> = WAYS.iter().map(|how| Case::new(scenario, bodies, seconds, how)).collect();
        let measured = runner.measure(&format!("overhead {scenario}"), &cases, common.repeat)?;
        let cpu = |measured: &Measured| measured.cpu_s.median();
        table.add(vec![
            format!("{scenario} {}", grouped(u64::from(bodies))),
            told(&measured[0].cpu_s),
            told(&measured[1].cpu_s),
            told(&measured[2].cpu_s),
            format!("{:.2}", cpu(&measured[0]) / cpu(&measured[2])),
            format!("{:.2}", cpu(&measured[2]) / cpu(&measured[1])),
        ]);
    }
    let overhead = Section {
        name: "overhead".into(),
        title: "Overhead of Time Warp and of actors on one core".into(),
        words: vec![format!(
            "Processor seconds of the whole process, median of {} interleaved runs. The plain loop defines the \
             result; the protocol without actors (`--sync loop`) is the same protocol on one thread over the same \
             table. Targets: 10 times faster than the plain loop for gas and parallel; actors at most twice the \
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
    let how = ["--regions", "bodies"];
    let cases = [WEIGHED.0, WEIGHED.1].map(|bodies| Case::new("gas", bodies, 1.0, &how));
    let measured = runner.measure("memory", &cases, common.repeat.min(3))?;
    let mut table =
        Table::new(&["scene", "run s", "MiB at most", "KiB per body", "without the program itself"]);
    let (large, small) = (&measured[0], &measured[1]);
    let bodies = f64::from(WEIGHED.0);
    table.add(vec![
        format!("gas {}", grouped(u64::from(WEIGHED.0))),
        short(large.run_s.median()),
        short(large.peak_rss_bytes / f64::from(1 << 20)),
        short(large.peak_rss_bytes / 1024.0 / bodies),
        short((large.peak_rss_bytes - small.peak_rss_bytes) / 1024.0 / bodies),
    ]);
    Ok(Section {
        name: "memory".into(),
        title: "Memory of a body".into(),
        words: vec![
            "The most the process held during one simulated second on all cores. Target: under 4 KiB per body."
                .into(),
        ],
        table,
        plots: Vec::new(),
        runs: runner.take_rows(),
    })
}
