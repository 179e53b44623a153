//! Windows of different length: how far ahead speculation pays.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::short;
use super::Common;
use super::lists::{Numbers, numbers};
use super::runner::{Case, Runner};
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Table, paper};

/// Scenarios and numbers of bodies.
const SCENES: [(&str, u32); 4] = [("parallel", 500), ("cylinders", 500), ("bouncing", 200), ("gas", 1000)];

#[derive(Args)]
pub(super) struct Arguments {
    /// Windows, simulated milliseconds
    #[arg(long, value_name = "LIST", default_value = "1,4,16,64,256,1024", value_parser = numbers)]
    windows: Numbers,
    /// Number of cores
    #[arg(long, value_name = "C", default_value = "max", value_parser = numbers)]
    cores: Numbers,
}

impl Default for Arguments {
    fn default() -> Self {
        let read = |text| numbers(text).unwrap_or(Numbers(vec![1]));
        Arguments { windows: read("1,4,16,64,256,1024"), cores: read("max") }
    }
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    let cores = arguments.cores.0.last().copied().unwrap_or(1).to_string();
    let windows = &arguments.windows.0;
    let mut cases = Vec::new();
    for (scenario, bodies) in SCENES {
        for window in windows {
            let window = window.to_string();
            let how = ["--sync", "timewarp", "--cores", &cores, "--window", &window];
            cases.push(Case::new(scenario, bodies, common.seconds_of(scenario), &how));
        }
    }
    let measured = runner.measure("window", &cases, common.repeat)?;
    let mut table = Table::new(&[
        "scenario",
        "window ms",
        "s per simulated s",
        "+-",
        "gain over the shortest",
        "ticks kept",
    ]);
    let mut plot = Plot::lines(
        &format!("Window, {cores} cores"),
        "window, simulated milliseconds",
        "speed, simulated seconds per second",
    );
    plot = plot.log(true, true);
    for ((scenario, bodies), of_scene) in SCENES.iter().zip(measured.chunks(windows.len())) {
        let seconds = common.seconds_of(scenario);
        let mut points = Vec::new();
        for (window, measured) in windows.iter().zip(of_scene) {
            let wall = &measured.wall_s;
            table.add(vec![
                format!("{scenario} {bodies}"),
                window.to_string(),
                short(wall.median() / seconds),
                format!("{:.0} %", wall.half_width() * 100.0),
                format!("{:.2}", measured.speedup_over(&of_scene[0]).median()),
                measured.efficiency.map_or(String::new(), |kept| format!("{:.0} %", kept * 100.0)),
            ]);
            let [y, low, high] = [wall.median(), wall.max(), wall.min()].map(|wall| seconds / wall);
            points.push(Point { x: f64::from(*window), y, low, high });
        }
        plot.add(&format!("{scenario} {bodies}"), Style::Line, points);
    }
    Ok(vec![Section {
        name: "window".into(),
        title: format!("Window: how far ahead of the slowest body, {cores} cores"),
        words: vec![format!(
            "Median of {} interleaved runs. The paper states that the gain flattens out at about {} ms.",
            common.repeat,
            paper::WINDOW_PLATEAU_MS
        )],
        table,
        plots: vec![plot],
    }])
}
