//! A thin gas of more and more bodies: time and memory per body.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{change, grouped, short};
use super::Common;
use super::lists::{Numbers, numbers};
use super::runner::{Case, Runner, timewarp};
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Table};

/// Larger scenes are repeated less often, so that all repetitions together have about this many bodies.
const BODIES_REPEATED: u32 = 2_000_000;
/// The plain loop is compared up to this number of bodies.
const PLAIN_MAX: u32 = 100_000;

#[derive(Args)]
pub(super) struct Arguments {
    /// Numbers of bodies
    #[arg(long, value_name = "LIST", default_value = SIZES, value_parser = numbers)]
    bodies: Numbers,
    /// Number of cores
    #[arg(long, value_name = "C", default_value = "max", value_parser = numbers)]
    cores: Numbers,
}

const SIZES: &str = "100,1000,10000,65536,100000,1000000";

impl Default for Arguments {
    fn default() -> Self {
        let read = |text| numbers(text).unwrap_or(Numbers(vec![1]));
        Arguments { bodies: read(SIZES), cores: read("max") }
    }
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    let seconds = common.seconds.unwrap_or(1.0);
    let cores = arguments.cores.0.last().copied().unwrap_or(1);
    let how = timewarp(cores);
    let how = how.each_ref().map(String::as_str);
    let mut table = Table::new(&[
        "bodies",
        "s per simulated s",
        "+-",
        "us per body and simulated s",
        "the same, plain loop",
        "KiB per body at most",
        "energy drift",
        "runs",
    ]);
    let (mut speculative, mut plain) = (Vec::new(), Vec::new());
    for bodies in arguments.bodies.0.iter().copied() {
        let repeat = common.repeat.min((BODIES_REPEATED / bodies).max(1));
        let mut cases = vec![Case::new("gas", bodies, seconds, &how)];
        if bodies <= PLAIN_MAX {
            cases.push(Case::new("gas", bodies, seconds, &["--sync", "sequential"]));
        }
        let measured = runner.measure(&format!("scale {bodies}"), &cases, repeat)?;
        let per_body = |wall: f64| wall / seconds / f64::from(bodies) * 1e6;
        let ours = &measured[0];
        table.add(vec![
            grouped(u64::from(bodies)),
            short(ours.run_s.median() / seconds),
            format!("{:.0} %", ours.run_s.half_width() * 100.0),
            short(per_body(ours.run_s.median())),
            measured.get(1).map_or(String::new(), |plain| short(per_body(plain.run_s.median()))),
            short(ours.peak_rss_bytes / 1024.0 / f64::from(bodies)),
            change(ours.energy_drift),
            repeat.to_string(),
        ]);
        for (points, measured) in [&mut speculative, &mut plain].into_iter().zip(&measured) {
            let wall = &measured.run_s;
            let [y, low, high] = [wall.median(), wall.min(), wall.max()].map(&per_body);
            points.push(Point { x: f64::from(bodies), y, low, high });
        }
    }
    let mut plot = Plot::lines("gas", "bodies", "us per body and simulated second").log(true, true);
    plot.add(&format!("timewarp, {cores} cores"), Style::Line, speculative);
    plot.add("plain loop", Style::Line, plain);
    Ok(vec![Section {
        name: "scale".into(),
        title: format!("Scale: a gas of more and more bodies, {cores} cores, {seconds} simulated seconds"),
        words: vec![
            "Start and stop of actors are not counted. Memory is the most the process held, the program itself \
             included."
                .into(),
        ],
        table,
        plots: vec![plot],
        runs: runner.take_rows(),
    }])
}
