//! Measurements of shared scenes as tables and plots like the paper's figures 10 to 14 and table 2.

use super::super::format::short;
use super::overlap::{OfScene, Sample, Shared, cell};
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Table};

fn point(x: f64, y: f64) -> Point {
    Point { x, y, low: y, high: y }
}

/// Speedup of a run over one worker: measured where every worker has a core, otherwise by processor time.
fn speedup(scene: &OfScene, run: &Shared, cores: usize) -> (f64, &'static str) {
    let one = &scene.runs[0];
    if run.workers as usize <= cores {
        (one.wall_ms.median() / run.wall_ms.median(), "measured")
    } else {
        (one.own_core_ms.median() / run.own_core_ms.median(), "projection")
    }
}

/// The paper's table 2 beside ours, and its figure 10.
pub(super) fn published_section(scenes: &[OfScene], cores: usize) -> Section {
    let mut table = Table::new(&[
        "scene",
        "bodies (paper)",
        "bodies",
        "joints (paper)",
        "joints",
        "contacts (paper)",
        "contacts",
        "best speedup (paper)",
        "best speedup",
    ]);
    let mut plot = Plot::lines("Speedup over one worker", "workers", "speedup");
    for scene in scenes {
        let published = &scene.published;
        let best = scene.runs.iter().map(|run| (speedup(scene, run, cores), run.workers));
        let best = best.max_by(|a, b| a.0.0.total_cmp(&b.0.0));
        let ours = best
            .map_or(String::new(), |((factor, kind), workers)| format!("{factor:.2} ({workers}, {kind})"));
        table.add(vec![
            published.scenario.to_owned(),
            published.bodies.to_string(),
            scene.bodies.to_string(),
            published.joints.to_string(),
            scene.joints.to_string(),
            published.contacts.to_string(),
            format!("{:.0}", scene.runs[0].summary.contact_points_mean.iter().sum::<f64>()),
            format!("{:.2} ({})", published.speedup, published.workers),
            ours,
        ]);
        let of_kind = |wanted: &str| {
            let runs = scene.runs.iter().map(|run| (run.workers, speedup(scene, run, cores)));
            let runs = runs.filter(|(_, (_, kind))| *kind == wanted);
            runs.map(|(workers, (factor, _))| point(f64::from(workers), factor)).collect::<Vec<_>>()
        };
        plot.add(published.scenario, Style::Line, of_kind("measured"));
        let projected = of_kind("projection");
        if !projected.is_empty() {
            plot.add(&format!("{} (projection)", published.scenario), Style::Dashed, projected);
        }
    }
    Section {
        name: "overlap".into(),
        title: "Shared scenes: the paper's table 2 and figure 10 beside ours".into(),
        words: vec![format!(
            "Contacts are points of contact by one worker, on average over ticks. The paper has steps of 2 ms, 1000 \
             sweeps, and workers on two machines of 8 cores each; here ticks are as the scenario says, sweeps as asked \
             for, and the machine has {cores} cores. Up to that many workers a speedup is measured; beyond, it is a \
             projection: the slowest worker's processor time at each tick, plus the time between ticks."
        )],
        table,
        plots: vec![plot],
        runs: Table::default(),
    }
}

/// One scene against the number of workers.
pub(super) fn main_section(scene: &OfScene, cores: usize, repeat: u32, iterations: u32) -> Section {
    let mut table = Table::new(&[
        "workers",
        "ms per tick",
        "+-",
        "ms if each had a core",
        "speedup",
        "kind",
        "speedup if each had a core",
        "shared bodies",
        "copies",
        "moved per tick",
        "kB per tick",
        "points, most/least",
        "bodies, most/least",
        "residual m/s",
        "gap max mm",
        "gap sum/diagonal",
        "m from one worker",
    ]);
    for run in &scene.runs {
        let summary = &run.summary;
        let (factor, kind) = speedup(scene, run, cores);
        let ticks = run.ticks as f64;
        table.add(vec![
            run.workers.to_string(),
            cell(run.wall_ms.median()),
            format!("{:.0} %", run.wall_ms.half_width() * 100.0),
            cell(run.own_core_ms.median()),
            format!("{factor:.2}"),
            kind.to_owned(),
            format!("{:.2}", scene.runs[0].own_core_ms.median() / run.own_core_ms.median()),
            cell(summary.shared_mean),
            cell(summary.copies_mean),
            cell(summary.bodies_moved as f64 / ticks),
            cell(summary.bytes_sent as f64 / ticks / 1e3),
            format!("{:.2}", spread(&summary.contact_points_mean)),
            format!("{:.2}", spread(&summary.bodies_mean)),
            cell(summary.residual_mean_mps.unwrap_or(f64::NAN)),
            cell(summary.joint_gaps.max_m * 1e3),
            cell(summary.joint_gaps.sum_m / scene.diagonal_m),
            cell(run.samples.last().map_or(0.0, |sample| sample.apart_m)),
        ]);
    }
    let name = scene.published.scenario;
    let mut apart = Plot::lines(&format!("{name}: distance from one worker"), "simulated seconds", "m, RMS");
    for run in &scene.runs[1..] {
        apart.add(&format!("{} workers", run.workers), Style::Line, over_time(run, |sample| sample.apart_m));
    }
    Section {
        name: format!("overlap-{name}"),
        title: format!(
            "{name}: {} bodies, {} joints, {} simulated seconds",
            scene.bodies,
            scene.joints,
            short(scene.seconds)
        ),
        words: vec![format!(
            "Median of {repeat} interleaved runs, {iterations} sweeps per tick. The residual is the sum over all rows of \
             all workers, on average over ticks; gaps are those at the end. Piles are chaotic: the distance from the \
             trajectory of one worker grows for any disturbance, and is no error by itself."
        )],
        table,
        plots: vec![apart],
        runs: Table::default(),
    }
}

fn spread(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter().copied().fold(0.0, f64::max) / least
}

fn over_time(run: &Shared, value: impl Fn(&Sample) -> f64) -> Vec<Point> {
    run.samples.iter().map(|sample| point(sample.time_s, value(sample))).collect()
}

/// The paper's figures 11 and 12: times and errors over simulated time.
pub(super) fn time_section(scene: &OfScene) -> Section {
    let name = scene.published.scenario;
    let mut times =
        Plot::lines(&format!("{name}: time of a tick"), "simulated seconds", "ms, slowest worker");
    let mut residuals = Plot::lines(&format!("{name}: residual"), "simulated seconds", "m/s, sum over rows")
        .log(false, false);
    let mut gaps =
        Plot::lines(&format!("{name}: gaps of joints"), "simulated seconds", "sum, share of the diagonal");
    let mut table = Table::new(&[
        "workers",
        "simulated s",
        "ms per tick",
        "residual m/s",
        "gap sum m",
        "m from one worker",
    ]);
    for run in &scene.runs {
        let label = format!("{} workers", run.workers);
        times.add(&label, Style::Line, over_time(run, |sample| sample.tick_ms));
        residuals.add(&label, Style::Line, over_time(run, |sample| sample.residual));
        gaps.add(&label, Style::Line, over_time(run, |sample| sample.gap_sum_m / scene.diagonal_m));
        for sample in run.samples.iter().step_by(10) {
            let Sample { time_s, tick_ms, residual, gap_sum_m, apart_m, .. } = sample;
            let numbers = [time_s, tick_ms, residual, gap_sum_m, apart_m].map(|number| cell(*number));
            table.add(std::iter::once(run.workers.to_string()).chain(numbers).collect());
        }
    }
    let mut plots = vec![times, residuals];
    if scene.joints > 0 {
        plots.push(gaps);
    }
    Section {
        name: format!("overlap-{name}-time"),
        title: format!("{name}: times and errors (the paper's figures 11 and 12)"),
        words: vec!["The time of a tick is the processor time of its slowest worker.".into()],
        table,
        plots,
        runs: Table::default(),
    }
}

/// The paper's figures 13 and 14: contacts and bodies of every worker.
pub(super) fn balance_section(scene: &OfScene) -> Section {
    let name = scene.published.scenario;
    let mut table = Table::new(&[
        "workers",
        "worker",
        "points: least",
        "quarter",
        "median",
        "three quarters",
        "most",
        "bodies: median",
    ]);
    let mut plots = Vec::new();
    for run in scene.runs.iter().filter(|run| run.workers > 1) {
        let title = format!("{name} by {} workers", run.workers);
        let mut points = Plot::lines(&title, "simulated seconds", "points of contact");
        let mut bodies = Plot::lines(&title, "simulated seconds", "bodies");
        for worker in 0..run.workers as usize {
            let label = format!("worker {worker}");
            points.add(&label, Style::Line, over_time(run, |sample| sample.points[worker]));
            bodies.add(&label, Style::Line, over_time(run, |sample| sample.bodies[worker]));
            let quartiles = |value: &dyn Fn(&Sample) -> f64| {
                let mut values: Vec<f64> = run.samples.iter().map(value).collect();
                values.sort_unstable_by(f64::total_cmp);
                let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
                [0.0, 0.25, 0.5, 0.75, 1.0].map(at)
            };
            let of_points = quartiles(&|sample: &Sample| sample.points[worker]);
            let of_bodies = quartiles(&|sample: &Sample| sample.bodies[worker]);
            let mut row = vec![run.workers.to_string(), worker.to_string()];
            row.extend(of_points.map(|number| format!("{number:.0}")));
            row.push(format!("{:.0}", of_bodies[2]));
            table.add(row);
        }
        plots.extend([points, bodies]);
    }
    Section {
        name: format!("overlap-{name}-balance"),
        title: format!("{name}: contacts and bodies of every worker (the paper's figures 13 and 14)"),
        words: vec!["Quartiles over the whole run; copies count in every worker that has one.".into()],
        table,
        plots,
        runs: Table::default(),
    }
}
