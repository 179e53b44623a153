//! A thin gas of more and more bodies: time and memory per body.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{change, grouped, short};
use super::lists::{Numbers, numbers};
use super::runner::{Case, Measured, Runner};
use super::{BYTES_PER_BODY_TARGET, Common};
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Table};

/// Larger scenes are repeated less often, so that all repetitions together have about this many bodies.
const BODIES_REPEATED: u32 = 2_000_000;
/// The plain loop and one process per body are compared up to this number of bodies.
const COMPARED_MAX: u32 = 100_000;
/// The target for a million bodies, microseconds per body and simulated second.
const US_TARGET: f64 = 2.0;

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

/// What is measured at one size.
struct Size {
    bodies: u32,
    repeat: u32,
    chosen: Measured,
    /// One process per body, unless that was chosen or the scene is too large.
    by_body: Option<Measured>,
    plain: Option<Measured>,
}

impl Size {
    fn measure(runner: &mut Runner, common: &Common, bodies: u32, cores: u32) -> Result<Self, Failure> {
        let (seconds, cores) = (seconds(common), cores.to_string());
        let repeat = common.repeat.min((BODIES_REPEATED / bodies).max(1));
        let case = |how: &[&str]| Case::new("gas", bodies, seconds, how);
        let mut cases = vec![case(&["--cores", &cores])];
        let is_compared = bodies <= COMPARED_MAX;
        let is_by_body = is_compared && common.regions.as_deref() != Some("bodies");
        if is_by_body {
            cases.push(case(&["--regions", "bodies", "--cores", &cores]).yardstick());
        }
        if is_compared {
            cases.push(case(&["--sync", "sequential"]));
        }
        let mut measured = runner.measure(&format!("scale {bodies}"), &cases, repeat)?.into_iter();
        let mut next = || measured.next();
        let chosen = next().ok_or_else(|| Failure::failed("nothing was measured"))?;
        let by_body = is_by_body.then(&mut next).flatten();
        Ok(Size { bodies, repeat, chosen, by_body, plain: next() })
    }

    /// Wall time of a run by body and simulated second, microseconds.
    fn us(&self, common: &Common, wall_s: f64) -> f64 {
        wall_s / seconds(common) / f64::from(self.bodies) * 1e6
    }

    fn row(&self, common: &Common) -> Vec<String> {
        let Size { bodies, repeat, chosen, by_body, plain } = self;
        let us = |measured: &Measured| short(self.us(common, measured.run_s.median()));
        let kib = |measured: &Measured| short(measured.rss_bytes_per_body / 1024.0);
        let start_stop = &chosen.start_stop_s;
        vec![
            grouped(u64::from(*bodies)),
            short(chosen.run_s.median() / seconds(common)),
            format!("{:.0} %", chosen.run_s.half_width() * 100.0),
            short(start_stop.median()),
            us(chosen),
            by_body.as_ref().map_or(String::new(), us),
            plain.as_ref().map_or(String::new(), us),
            kib(chosen),
            by_body.as_ref().map_or(String::new(), kib),
            change(chosen.energy_drift),
            repeat.to_string(),
        ]
    }

    fn point(&self, common: &Common, measured: &Measured) -> Point {
        let wall = &measured.run_s;
        let [y, low, high] = [wall.median(), wall.min(), wall.max()].map(|wall_s| self.us(common, wall_s));
        Point { x: f64::from(self.bodies), y, low, high }
    }
}

fn seconds(common: &Common) -> f64 {
    common.seconds.unwrap_or(1.0)
}

const HEADER: [&str; 11] = [
    "bodies",
    "s per simulated s",
    "+-",
    "start and stop, s",
    "us per body and simulated s",
    "the same, one process per body",
    "the same, plain loop",
    "KiB per body at most",
    "the same, one process per body",
    "energy drift",
    "runs",
];

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    common.refuse_overlap()?;
    let cores = arguments.cores.0.last().copied().unwrap_or(1);
    let name = common.chosen_executor().unwrap_or_else(|| "timewarp".into());
    let bodies = arguments.bodies.0.iter();
    let sizes: Vec<Size> =
        bodies.map(|bodies| Size::measure(runner, common, *bodies, cores)).collect::<Result<_, _>>()?;
    let mut table = Table::new(&HEADER);
    sizes.iter().for_each(|size| table.add(size.row(common)));
    let mut plot = Plot::lines("gas", "bodies", "us per body and simulated second").log(true, true);
    let mut add = |name: &str, measured: &dyn Fn(&Size) -> Option<&Measured>| {
        let points = sizes.iter().filter_map(|size| Some(size.point(common, measured(size)?))).collect();
        plot.add(name, Style::Line, points);
    };
    add(&format!("{name}, {cores} cores"), &|size| Some(&size.chosen));
    add("one process per body", &|size| size.by_body.as_ref());
    add("plain loop", &|size| size.plain.as_ref());
    let seconds = seconds(common);
    Ok(vec![Section {
        name: "scale".into(),
        title: format!(
            "Scale: a gas of more and more bodies by {name}, {cores} cores, {seconds} simulated seconds"
        ),
        words: vec![format!(
            "Start and stop are not part of a run: building regions, stores and actors, starting and ending threads. \
             Memory is what a body added to the process, scene and frames included, at most. Targets: \
             {} KiB per body at 65,536 and a million; {US_TARGET} us per body and simulated second at a million. One \
             process per body and the plain loop are measured up to {} bodies.",
            BYTES_PER_BODY_TARGET / 1024.0,
            grouped(u64::from(COMPARED_MAX))
        )],
        table,
        plots: vec![plot],
        runs: runner.take_rows(),
    }])
}
