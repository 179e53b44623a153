//! Speedup against cores: measured as far as the machine goes, in virtual time beyond.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::{change, short};
use super::Common;
use super::ladder::{Ladder, Steps};
use super::lists::{Numbers, Prices, numbers, prices};
use super::runner::{Case, Measured, Runner};
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Spread, Table, paper};

#[derive(Args)]
pub(super) struct Arguments {
    /// Scenarios; those of the paper if none is named
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Numbers of cores to measure
    #[arg(long, value_name = "LIST", default_value = "1..max", value_parser = numbers)]
    cores: Numbers,
    /// Numbers of bodies
    #[arg(long, value_name = "LIST", default_value = "200,500", value_parser = numbers)]
    bodies: Numbers,
    /// Numbers of cores to project to, in virtual time
    #[arg(long = "virtual", value_name = "LIST", default_value = "1,2,4,8,16", value_parser = numbers)]
    virtual_cores: Numbers,
    /// Prices of a message between two virtual cores, microseconds: that of this machine first
    #[arg(long, value_name = "LIST", default_value = "0.2,20,100", value_parser = prices)]
    messages_us: Prices,
}

impl Default for Arguments {
    fn default() -> Self {
        let read = |text| numbers(text).unwrap_or(Numbers(vec![1]));
        Arguments {
            scenarios: Vec::new(),
            cores: read("1..max"),
            bodies: read("200,500"),
            virtual_cores: read("1,2,4,8,16"),
            messages_us: Prices(vec![0.2, 20.0, 100.0]),
        }
    }
}

/// Executors that are compared if `--sync` and `--regions` choose none.
const EXECUTORS: [(&str, &[&str]); 2] =
    [("timewarp", &["--sync", "timewarp"]), ("lockstep", &["--sync", "lockstep"])];

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    common.refuse_overlap()?;
    let named: Vec<&str> = arguments.scenarios.iter().map(String::as_str).collect();
    let scenarios = if named.is_empty() { vec!["parallel", "cylinders", "bouncing"] } else { named };
    let chosen = common.chosen_executor();
    let executors: Vec<(&str, &[&str])> = match &chosen {
        Some(name) => vec![(name, &[])],
        None => EXECUTORS.to_vec(),
    };
    let mut sections = Vec::new();
    for scenario in scenarios {
        for bodies in &arguments.bodies.0 {
            for executor in &executors {
                sections.push(one(runner, arguments, common, (scenario, *bodies), *executor)?);
            }
        }
    }
    Ok(sections)
}

fn one(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
    (scenario, bodies): (&str, u32),
    (name, how): (&str, &[&str]),
) -> Result<Section, Failure> {
    let seconds = common.seconds_of(scenario);
    let base = common.sparse_frames(Case::new(scenario, bodies, seconds, how));
    let plain = common.sparse_frames(Case::new(scenario, bodies, seconds, &["--sync", "sequential"]));
    let mut cores = arguments.cores.0.clone();
    if cores.first() != Some(&1) {
        cores.insert(0, 1);
    }
    let mut virtual_cores = arguments.virtual_cores.0.clone();
    if virtual_cores.first() != Some(&1) {
        virtual_cores.insert(0, 1);
    }
    let steps = Steps {
        cores: &cores,
        virtual_cores: &virtual_cores,
        messages_us: &arguments.messages_us.0,
        repeat: common.repeat,
    };
    let what = format!("speedup {scenario} {bodies} {name}");
    let (ladder, others) = Ladder::climb(runner, &what, &base, &[plain], &steps)?;
    let plain = others.first().ok_or_else(|| Failure::failed("the plain loop did not run"))?;
    Ok(Section {
        name: format!("speedup-{scenario}-{bodies}-{name}"),
        title: format!("Speedup of {scenario} with {bodies} bodies by {name}, {seconds} simulated seconds"),
        words: words(&base, plain, &ladder, common.repeat),
        table: table(&ladder, plain, |cores| {
            let stated = paper::speedups(scenario, bodies).find(|stated| stated.cores == cores);
            stated.map_or(String::new(), |stated| format!("paper: {}", stated.text()))
        }),
        plots: vec![plot(&format!("{scenario}, {bodies} bodies, {name}"), &ladder, (scenario, bodies))],
        runs: runner.take_rows(),
    })
}

fn words(base: &Case, plain: &Measured, ladder: &Ladder, repeat: u32) -> Vec<String> {
    vec![
        format!(
            "Median of {repeat} interleaved runs; +- is half the distance from least to greatest. Start and stop \
             are not counted. Every run came to the digest {}. Command: {} --cores N.",
            plain.digest,
            base.command()
        ),
        projection_words(ladder),
    ]
}

/// What a projection is.
pub(super) fn projection_words(ladder: &Ladder) -> String {
    format!(
        "Rows called projection are not measured: the executor runs on N cores in virtual time. Every handler runs here, \
         on one thread, and its processor time is charged to its virtual core; a message arrives after the stated price; \
         what rolls back is what would roll back there. Between two handlers of entities lie {} ns (so that one virtual \
         core takes as long as a real one). Left out: locks, and caches and memory that cores share. Its error is shown \
         where the machine has the cores.",
        ladder.dispatch_ns
    )
}

const HEADER: [&str; 11] = [
    "cores",
    "kind",
    "message us",
    "run s",
    "+-",
    "speedup over 1 core",
    "over the plain loop",
    "rollbacks",
    "ticks kept",
    "overlap mm",
    "error, or paper",
];

/// Rows of a ladder.
pub(super) fn table(ladder: &Ladder, plain: &Measured, stated: impl Fn(u32) -> String) -> Table {
    let mut table = Table::new(&HEADER);
    let one_core = ladder.measured.first().map_or(plain, |(_, run)| run);
    let row = |cores: &str, kind: &str, message: String, run: &Measured, speedup: String, last: String| {
        vec![
            cores.to_owned(),
            kind.to_owned(),
            message,
            short(run.run_s.median()),
            format!("{:.0} %", run.run_s.half_width() * 100.0),
            speedup,
            format!("{:.2}", run.speedup_over(plain).median()),
            run.rollbacks.map_or(String::new(), |count| format!("{count:.0}")),
            run.kept(),
            short(run.max_overlap_m * 1e3),
            last,
        ]
    };
    let speedup = ranged(&plain.speedup_over(one_core));
    table.add(row("plain loop", "measured", String::new(), plain, speedup, change(plain.energy_drift)));
    for (cores, run) in &ladder.measured {
        let error = ladder.error_on(*cores);
        let error = error.map_or(String::new(), |error| format!("projection {:+.0} %", error * 100.0));
        let speedup = ranged(&run.speedup_over(one_core));
        table.add(row(&cores.to_string(), "measured", String::new(), run, speedup, error));
    }
    for (cores, message_us, run) in &ladder.projected {
        let (speedup, price) = (format!("{:.2}", ladder.speedup(run)), short(*message_us));
        table.add(row(&cores.to_string(), "projection", price, run, speedup, stated(*cores)));
    }
    table
}

/// A median with its least and greatest.
pub(super) fn ranged(spread: &Spread) -> String {
    if spread.len() < 2 {
        return format!("{:.2}", spread.median());
    }
    format!("{:.2} ({:.2} to {:.2})", spread.median(), spread.min(), spread.max())
}

/// Speedups of a ladder beside what the paper states for a scene.
pub(super) fn plot(title: &str, ladder: &Ladder, (scenario, bodies): (&str, u32)) -> Plot {
    let mut plot = Plot::lines(title, "cores", "speedup over one core").log(true, false);
    let one_core = &ladder.measured[0].1;
    let points = ladder.measured.iter().map(|(cores, run)| {
        let speedup = run.speedup_over(one_core);
        Point { x: f64::from(*cores), y: speedup.median(), low: speedup.min(), high: speedup.max() }
    });
    plot.add("measured", Style::Line, points.collect());
    let mut prices: Vec<f64> = ladder.projected.iter().map(|(_, price, _)| *price).collect();
    prices.dedup();
    for price in prices {
        let runs = ladder.projected.iter().filter(|(_, at, _)| *at == price);
        let points = runs.map(|(cores, _, run)| {
            let y = ladder.speedup(run);
            Point { x: f64::from(*cores), y, low: y, high: y }
        });
        plot.add(&format!("projection, {} us", short(price)), Style::Dashed, points.collect());
    }
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
