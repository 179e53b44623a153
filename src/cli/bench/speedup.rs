//! Speedup against cores: measured as far as the machine goes, projected beyond.

use std::ops::ControlFlow;
use std::sync::Arc;

use clap::Args;

use super::super::failure::{Exit, Failure};
use super::super::format::{change, short};
use super::Common;
use super::lists::{Numbers, numbers};
use super::runner::{Case, Measured, Runner, timewarp};
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::projection::{Costs, Projected, project};
use crate::bench::{Section, Spread, Table, paper};
use crate::executor::{Simulation, SyncMode, Tracer, Tuning};
use crate::runtime::task_graph::{GraphRecorder, TaskGraph};
use crate::scenarios::{self, Request};

/// Tasks of a recorded run that are kept; about 200 MiB.
const TASKS_MAX: usize = 4_000_000;

#[derive(Args)]
pub(super) struct Arguments {
    /// Scenarios; those of the paper if none is named
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Numbers of cores
    #[arg(long, value_name = "LIST", default_value = "1..max", value_parser = numbers)]
    cores: Numbers,
    /// Numbers of bodies
    #[arg(long, value_name = "LIST", default_value = "200,500", value_parser = numbers)]
    bodies: Numbers,
    /// Numbers of cores to project to
    #[arg(long, value_name = "LIST", default_value = "1..64", value_parser = numbers)]
    project: Numbers,
}

impl Default for Arguments {
    fn default() -> Self {
        let read = |text| numbers(text).unwrap_or(Numbers(vec![1]));
        Arguments {
            scenarios: Vec::new(),
            cores: read("1..max"),
            bodies: read("200,500"),
            project: read("1..64"),
        }
    }
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    let named: Vec<&str> = arguments.scenarios.iter().map(String::as_str).collect();
    let scenarios = if named.is_empty() { vec!["parallel", "cylinders", "bouncing"] } else { named };
    let mut sections = Vec::new();
    for scenario in scenarios {
        for bodies in &arguments.bodies.0 {
            sections.push(one(runner, arguments, common, scenario, *bodies)?);
        }
    }
    Ok(sections)
}

fn one(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
    scenario: &str,
    bodies: u32,
) -> Result<Section, Failure> {
    let seconds = common.seconds_of(scenario);
    let mut cores = arguments.cores.0.clone();
    if cores.first() != Some(&1) {
        cores.insert(0, 1);
    }
    let mut cases = vec![Case::new(scenario, bodies, seconds, &["--sync", "sequential"])];
    cases.extend(cores.iter().map(|cores| {
        let how = timewarp(*cores);
        Case::new(scenario, bodies, seconds, &how.each_ref().map(String::as_str))
    }));
    let what = format!("speedup {scenario} {bodies}");
    let measured = runner.measure(&what, &cases, common.repeat)?;
    let (plain, on_cores) = measured.split_first().expect("invariant: there is the plain loop");
    let one_core = &on_cores[0];
    let graph = record(runner, scenario, bodies, seconds)?;
    let costs = calibrated(&graph, one_core);
    let projection =
        Projection { graph, costs, hardware: std::thread::available_parallelism().map_or(1, usize::from) };
    let mut section = Section {
        name: format!("speedup-{scenario}-{bodies}"),
        title: format!("Speedup of {scenario} with {bodies} bodies, {seconds} simulated seconds"),
        words: words(common.repeat, plain, &projection),
        table: Table::new(&HEADER),
        plots: Vec::new(),
    };
    section.table.add(measured_row("plain loop", plain, (one_core, plain), None));
    for (cores, measured) in cores.iter().zip(on_cores) {
        let here = projection.here(*cores as usize);
        section.table.add(measured_row(&cores.to_string(), measured, (one_core, plain), Some(here)));
    }
    let projected: Vec<Projected> =
        arguments.project.0.iter().map(|cores| projection.elsewhere(*cores as usize)).collect();
    let alone = projection.elsewhere(1).seconds;
    for projected in &projected {
        section.table.add(projected_row(projected, alone, scenario, bodies));
    }
    section.plots.push(plot(scenario, bodies, &cores, on_cores, &projected, alone));
    Ok(section)
}

const HEADER: [&str; 10] = [
    "cores",
    "kind",
    "wall s",
    "+-",
    "speedup over 1 core",
    "over the plain loop",
    "ticks kept",
    "energy drift",
    "overlap mm",
    "projection error, or paper",
];

fn words(repeat: u32, plain: &Measured, projection: &Projection) -> Vec<String> {
    let Projection { graph, costs, .. } = projection;
    let mut words = vec![format!(
        "Median of {repeat} interleaved runs; +- is half the distance from least to greatest. Every run came to \
         the digest {}. Command: {} --sync timewarp --cores N.",
        plain.digest,
        plain.case.command().replace(" --sync sequential", "")
    )];
    words.push(format!(
        "Rows called projection are not measured: the task graph of a run on one core ({} tasks{}) is scheduled on N \
         virtual cores, every entity where a real run would put it, {:.0} ns between tasks (from the measured run on \
         one core), {:.0} ns for a message to a busy core, {:.0} ns to wake a sleeping one, and {:.3} s once for starting actors and sending them home. Rollbacks stay those of \
         the recorded run; contention is left out.",
        graph.tasks.len(),
        if graph.is_complete { "" } else { ", the first ones only" },
        costs.dispatch,
        costs.across,
        costs.wake,
        costs.start_stop * 1e-9
    ));
    words
}

fn measured_row(
    cores: &str,
    measured: &Measured,
    (one_core, plain): (&Measured, &Measured),
    here: Option<Projected>,
) -> Vec<String> {
    let speedup = measured.speedup_over(one_core);
    // The projection knows the run on one core: its error there is by construction small.
    let error = here.map(|here| here.seconds / measured.wall_s.median() - 1.0);
    vec![
        cores.to_owned(),
        "measured".to_owned(),
        short(measured.wall_s.median()),
        format!("{:.0} %", measured.wall_s.half_width() * 100.0),
        ranged(&speedup),
        format!("{:.2}", measured.speedup_over(plain).median()),
        measured.efficiency.map_or(String::new(), |kept| format!("{:.0} %", kept * 100.0)),
        change(measured.energy_drift),
        short(measured.max_overlap_m * 1e3),
        error.map_or(String::new(), |error| format!("{:+.0} % of wall", error * 100.0)),
    ]
}

fn projected_row(projected: &Projected, alone: f64, scenario: &str, bodies: u32) -> Vec<String> {
    let stated = paper::speedups(scenario, bodies).find(|stated| stated.cores as usize == projected.cores);
    let paper = stated.map(|stated| match stated.low == stated.high {
        true => format!("paper: {}", short(stated.low)),
        false => format!("paper: {} to {}", short(stated.low), short(stated.high)),
    });
    let mut row = vec![String::new(); HEADER.len()];
    row[0] = projected.cores.to_string();
    row[1] = "projection".to_owned();
    row[2] = short(projected.seconds);
    row[4] = format!("{:.2}", alone / projected.seconds);
    row[9] = paper.unwrap_or_default();
    row
}

/// A median with its least and greatest.
pub(super) fn ranged(spread: &Spread) -> String {
    if spread.len() < 2 {
        return format!("{:.2}", spread.median());
    }
    format!("{:.2} ({:.2} to {:.2})", spread.median(), spread.min(), spread.max())
}

fn plot(
    scenario: &str,
    bodies: u32,
    cores: &[u32],
    on_cores: &[Measured],
    projected: &[Projected],
    alone: f64,
) -> Plot {
    let mut plot = Plot::lines(&format!("{scenario}, {bodies} bodies"), "cores", "speedup over one core")
        .log(true, false);
    let points = cores.iter().zip(on_cores).map(|(cores, measured)| {
        let speedup = measured.speedup_over(&on_cores[0]);
        Point { x: f64::from(*cores), y: speedup.median(), low: speedup.min(), high: speedup.max() }
    });
    plot.add("measured", Style::Line, points.collect());
    let points = projected.iter().map(|projected| {
        let y = alone / projected.seconds;
        Point { x: projected.cores as f64, y, low: y, high: y }
    });
    plot.add("projection", Style::Dashed, points.collect());
    let stated = paper::speedups(scenario, bodies).map(|stated| {
        let y = (stated.low + stated.high) / 2.0;
        Point { x: f64::from(stated.cores), y, low: stated.low, high: stated.high }
    });
    let stated: Vec<Point> = stated.collect();
    if !stated.is_empty() {
        plot.add("paper, as stated", Style::Range, stated);
    }
    plot
}

/// A recorded run and what messages cost.
struct Projection {
    graph: TaskGraph,
    costs: Costs,
    hardware: usize,
}

impl Projection {
    /// On this machine, with `cores` arbiters.
    fn here(&self, cores: usize) -> Projected {
        project(&self.graph, cores, self.hardware, &self.costs)
    }

    /// On a machine with exactly `cores` cores.
    fn elsewhere(&self, cores: usize) -> Projected {
        project(&self.graph, cores, cores, &self.costs)
    }
}

/// Records the task graph of a run on one core.
fn record(runner: &Runner, scenario: &str, bodies: u32, seconds: f64) -> Result<TaskGraph, Failure> {
    let request = Request { bodies: Some(bodies), seconds: Some(seconds), ..Request::default() };
    let scene = scenarios::build(scenario, &request)?;
    let tuning = Tuning::default();
    let tracer = Arc::new(Tracer::with_graph(1, GraphRecorder::new(TASKS_MAX, tuning.window_ticks)));
    let simulation =
        Simulation::new(&scene)?.sync(SyncMode::Timewarp).cores(1).tuning(tuning).traced(tracer.clone());
    let report = simulation
        .run(|_| if runner.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })?;
    if runner.is_interrupted() {
        return Err(Failure::failed("interrupted").ending_with(Exit::Interrupted));
    }
    let mut graph = tracer.graph().map(GraphRecorder::graph).unwrap_or_default();
    let busy_s = report.run_stats.and_then(|run_stats| run_stats.cores.first().and_then(|core| core.busy_s));
    if let Some(busy_s) = busy_s {
        graph.cap_to((busy_s * 1e9) as u64);
    }
    Ok(graph)
}

/// What lies between two tasks, from the processor time of the arbiter in a measured run on one core.
fn calibrated(graph: &TaskGraph, one_core: &Measured) -> Costs {
    let usual = Costs::default();
    let tasks: f64 = graph.tasks.iter().map(|task| f64::from(task.nanos)).sum();
    let between = (one_core.busy_s.median() * 1e9 - tasks) / graph.tasks.len().max(1) as f64;
    // Without a clock for threads, and where recording took longer than what lies between, the usual cost is taken.
    let dispatch = if between.is_finite() && between > 0.0 { between } else { usual.dispatch };
    let start_stop = one_core.start_stop_s.median() * 1e9;
    Costs { dispatch, start_stop: if start_stop.is_finite() { start_stop } else { 0.0 }, ..usual }
}
