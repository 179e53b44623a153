//! Where the time goes: traced runs on one core to all.

use std::ops::ControlFlow;
use std::sync::Arc;

use clap::Args;

use super::super::failure::{Exit, Failure};
use super::super::progress::Progress;
use super::Common;
use super::lists::{Numbers, numbers};
use super::runner::Runner;
use crate::bench::breakdown::{Activity, shares};
use crate::bench::plot::Plot;
use crate::bench::{Section, Spread, Table};
use crate::executor::{Simulation, SyncMode, Tracer};
use crate::scenarios::{self, Request};

/// Scenarios and numbers of bodies, if none is named.
const SCENES: [(&str, u32); 3] = [("cylinders", 500), ("bouncing", 200), ("gas", 10_000)];

#[derive(Args)]
pub(super) struct Arguments {
    /// A scenario; three of them if none is named
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Number of bodies of the scenario
    #[arg(long, value_name = "N", default_value_t = 500, requires = "scenario")]
    bodies: u32,
    /// Numbers of cores
    #[arg(long, value_name = "LIST", default_value = "1..max", value_parser = numbers)]
    cores: Numbers,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments { scenario: None, bodies: 500, cores: numbers("1..max").unwrap_or(Numbers(vec![1])) }
    }
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    let scenes = match &arguments.scenario {
        Some(scenario) => vec![(scenario.as_str(), arguments.bodies)],
        None => SCENES.to_vec(),
    };
    scenes.into_iter().map(|scene| one(runner, arguments, common, scene)).collect()
}

fn one(
    runner: &Runner,
    arguments: &Arguments,
    common: &Common,
    (scenario, bodies): (&str, u32),
) -> Result<Section, Failure> {
    let seconds = common.seconds_of(scenario);
    let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
    let scene = scenarios::build(scenario, &request)?;
    let cores = &arguments.cores.0;
    let mut runs: Vec<[Spread; 7]> = cores.iter().map(|_| Default::default()).collect();
    let mut progress = Progress::start(common.quiet);
    let total = cores.len() * common.repeat as usize;
    for done in 0..total {
        let at = done % cores.len();
        let tracer = Arc::new(Tracer::new(1));
        let simulation = Simulation::new(&scene)?.sync(SyncMode::Timewarp).cores(cores[at] as usize);
        simulation.traced(tracer.clone()).run(|_| match runner.is_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })?;
        if runner.is_interrupted() {
            return Err(Failure::failed("interrupted").ending_with(Exit::Interrupted));
        }
        let totals = tracer.totals();
        // The last row is the thread that takes the frames.
        for (spread, share) in runs[at].iter_mut().zip(shares(&totals[..cores[at] as usize])) {
            spread.add(share);
        }
        progress.show(done as f64 / total as f64, |_| {
            format!("breakdown {scenario}: run {} of {total}", done + 1)
        });
    }
    progress.finish();
    Ok(section(scenario, bodies, seconds, cores, &runs, common.repeat))
}

fn section(
    scenario: &str,
    bodies: u32,
    seconds: f64,
    cores: &[u32],
    runs: &[[Spread; 7]],
    repeat: u32,
) -> Section {
    let mut header = vec!["cores"];
    header.extend(Activity::ALL.iter().map(|(_, name)| *name));
    let mut table = Table::new(&header);
    for (cores, shares) in cores.iter().zip(runs) {
        let shares = shares.iter().map(|share| format!("{:.1} %", share.median() * 100.0));
        table.add(std::iter::once(cores.to_string()).chain(shares).collect());
    }
    let parts = Activity::ALL
        .iter()
        .enumerate()
        .map(|(at, (_, name))| (name.to_string(), runs.iter().map(|shares| shares[at].median()).collect()));
    let bars = cores.iter().map(|cores| format!("{cores} cores")).collect();
    let plot = Plot::bars(&format!("{scenario}, {bodies} bodies"), bars, parts.collect());
    Section {
        name: format!("breakdown-{scenario}-{bodies}"),
        title: format!("Where the time goes: {scenario} with {bodies} bodies, {seconds} simulated seconds"),
        words: vec![format!(
            "Shares of the time of all cores, median of {repeat} traced runs; clocks are read between phases, which \
             makes short ones look longer. Collision checking is the search in the table; rollback is the handling \
             of events, antievents and ghost updates. Gaps of 5 us and more count as idle, shorter ones as messages. \
             Frames are evaluated beside the cores and not counted. The paper states for cylinders with 500 bodies \
             that collision checking takes more than half, and integration and rollback little."
        )],
        table,
        plots: vec![plot],
    }
}
