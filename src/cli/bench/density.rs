//! Bouncing balls in boxes of different size: what density costs.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{change, short};
use super::Common;
use super::lists::{Numbers, numbers};
use super::runner::{Case, Runner, timewarp};
use super::speedup::ranged;
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Table};

#[derive(Args)]
pub(super) struct Arguments {
    /// Volumes of the box, cubic metres
    #[arg(long, value_name = "LIST", default_value = "100,150,200,250,300,350,400", value_parser = numbers)]
    volumes: Numbers,
    /// Number of balls, of radius 0.25 m
    #[arg(long, value_name = "N", default_value_t = 200)]
    bodies: u32,
    /// Number of cores
    #[arg(long, value_name = "C", default_value = "max", value_parser = numbers)]
    cores: Numbers,
}

impl Default for Arguments {
    fn default() -> Self {
        let read = |text| numbers(text).unwrap_or(Numbers(vec![1]));
        Arguments { volumes: read("100,150,200,250,300,350,400"), bodies: 200, cores: read("max") }
    }
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    let seconds = common.seconds_of("bouncing");
    let cores = arguments.cores.0.last().copied().unwrap_or(1);
    let mut cases = Vec::new();
    for volume in &arguments.volumes.0 {
        let ways =
            [vec!["--sync".to_owned(), "sequential".to_owned()], timewarp(1).into(), timewarp(cores).into()];
        for how in &ways {
            let how: Vec<&str> = how.iter().map(String::as_str).collect();
            cases.push(Case::new("bouncing", arguments.bodies, seconds, &how).set("volume_m3", volume));
        }
    }
    let measured = runner.measure("density", &cases, common.repeat)?;
    let mut table = Table::new(&[
        "volume m3",
        "filled",
        "plain loop, s per simulated s",
        "1 core",
        "all cores",
        "speedup over 1 core",
        "ticks kept",
        "energy drift",
        "overlap mm",
    ]);
    let mut lines: [Vec<Point>; 3] = Default::default();
    for (volume, ways) in arguments.volumes.0.iter().zip(measured.chunks(3)) {
        let per_second = |at: usize| ways[at].wall_s.median() / seconds;
        let ball_m3 = 4.0 / 3.0 * std::f64::consts::PI * 0.25 * 0.25 * 0.25;
        let filled = f64::from(arguments.bodies) * ball_m3 / f64::from(*volume);
        table.add(vec![
            volume.to_string(),
            format!("{:.1} %", filled * 100.0),
            short(per_second(0)),
            short(per_second(1)),
            short(per_second(2)),
            ranged(&ways[2].speedup_over(&ways[1])),
            ways[2].efficiency.map_or(String::new(), |kept| format!("{:.0} %", kept * 100.0)),
            change(ways[2].energy_drift),
            short(ways[2].max_overlap_m * 1e3),
        ]);
        for (line, way) in lines.iter_mut().zip(ways) {
            let wall = &way.wall_s;
            let [y, low, high] = [wall.median(), wall.min(), wall.max()].map(|wall| wall / seconds);
            line.push(Point { x: f64::from(*volume), y, low, high });
        }
    }
    let mut plot = Plot::lines(
        &format!("bouncing, {} balls", arguments.bodies),
        "volume of the box, cubic metres",
        "seconds per simulated second",
    );
    for (name, points) in ["plain loop", "1 core", "all cores"].iter().zip(lines) {
        plot.add(name, Style::Line, points);
    }
    Ok(vec![Section {
        name: "density".into(),
        title: format!("Density: {} bouncing balls, {cores} cores", arguments.bodies),
        words: vec![format!(
            "Median of {} interleaved runs of {seconds} simulated seconds. The paper states that time falls with \
             density, and 9 times and more on 16 cores for all volumes.",
            common.repeat
        )],
        table,
        plots: vec![plot],
    }])
}
