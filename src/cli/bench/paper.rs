//! Figures 7 to 10 of the paper in its own setting, one process per body, and the same scenes by regions and by the plain
//! loop.

use clap::Args;

use super::super::failure::Failure;
use super::super::format::short;
use super::Common;
use super::ladder::{Ladder, Steps};
use super::lists::{Numbers, numbers};
use super::runner::{Case, Measured, Runner};
use super::speedup::{plot, projection_words, table};
use crate::bench::breakdown::Activity;
use crate::bench::plot::{Plot, Point, Style};
use crate::bench::{Section, Spread, Table, paper};

/// The scenes of figure 7.
const SCENES: [&str; 3] = ["parallel", "cylinders", "bouncing"];
/// Volume of the box where the paper does not vary it, cubic metres.
const VOLUME_M3: u32 = 250;
/// How each body is a process of its own.
const BODIES: [&str; 4] = ["--sync", "timewarp", "--regions", "bodies"];
/// What the same scenes are measured with besides.
const OTHERS: [(&str, &[&str]); 3] = [
    ("plain loop", &["--sync", "sequential"]),
    ("regions, one core", &["--sync", "timewarp", "--cores", "1"]),
    ("regions, all cores", &["--sync", "timewarp", "--cores", ALL]),
];
/// Stands for the number of cores that are measured at most.
const ALL: &str = "all";

#[derive(Args)]
pub(super) struct Arguments {
    /// Figures of the paper, 7 to 10
    #[arg(long, value_name = "LIST", default_value = "7..10", value_parser = numbers)]
    figures: Numbers,
    /// Numbers of bodies of figure 7
    #[arg(long, value_name = "LIST", default_value = "200,500", value_parser = numbers)]
    bodies: Numbers,
    /// Numbers of cores to measure
    #[arg(long, value_name = "LIST", default_value = "1..max", value_parser = numbers)]
    cores: Numbers,
    /// Numbers of cores to project to, in virtual time
    #[arg(long = "virtual", value_name = "LIST", default_value = "1,2,4,8,16", value_parser = numbers)]
    virtual_cores: Numbers,
}

impl Default for Arguments {
    fn default() -> Self {
        let read = |text| numbers(text).unwrap_or(Numbers(vec![1]));
        Arguments {
            figures: read("7..10"),
            bodies: read("200,500"),
            cores: read("1..max"),
            virtual_cores: read("1,2,4,8,16"),
        }
    }
}

/// A measurement of figures.
struct Figures<'a> {
    runner: &'a mut Runner,
    common: &'a Common,
    cores: Vec<u32>,
    virtual_cores: Vec<u32>,
    bodies: &'a [u32],
}

pub(super) fn measure(
    runner: &mut Runner,
    arguments: &Arguments,
    common: &Common,
) -> Result<Vec<Section>, Failure> {
    if let Some(unknown) = arguments.figures.0.iter().find(|figure| !(7..=10).contains(*figure)) {
        return Err(Failure::bad_input(format_args!("--figures: {unknown} is none of 7, 8, 9 and 10")));
    }
    if common.chosen_executor().is_some() {
        return Err(Failure::bad_input(
            "--sync and --regions: the paper's setting is one process per body; use `anachron bench speedup` for others",
        ));
    }
    let with_one = |numbers: &Numbers| {
        let rest = numbers.0.iter().copied().filter(|cores| *cores > 1);
        std::iter::once(1).chain(rest).collect()
    };
    let mut figures = Figures {
        runner,
        common,
        cores: with_one(&arguments.cores),
        virtual_cores: with_one(&arguments.virtual_cores),
        bodies: &arguments.bodies.0,
    };
    let mut sections = Vec::new();
    for figure in &arguments.figures.0 {
        match figure {
            7 => sections.extend(figures.speedup()?),
            8 => sections.push(figures.breakdown()?),
            9 => sections.extend([figures.density()?, figures.counts()?]),
            _ => sections.push(figures.window()?),
        }
    }
    Ok(sections)
}

impl Figures<'_> {
    fn case(&self, scenario: &str, bodies: u32, how: &[&str]) -> Case {
        let all = self.cores.last().copied().unwrap_or(1).to_string();
        let how: Vec<&str> = how.iter().map(|flag| if *flag == ALL { &all } else { *flag }).collect();
        let case = Case::new(scenario, bodies, self.common.seconds_of(scenario), &how);
        let case = self.common.sparse_frames(case);
        if scenario == "bouncing" { case.set("volume_m3", VOLUME_M3) } else { case }
    }

    fn most_virtual(&self) -> u32 {
        self.virtual_cores.last().copied().unwrap_or(1)
    }

    /// Figure 7: speedup against cores.
    fn speedup(&mut self) -> Result<Vec<Section>, Failure> {
        let mut sections = Vec::new();
        for scenario in SCENES {
            for bodies in self.bodies.iter().copied() {
                let others = OTHERS.map(|(_, how)| self.case(scenario, bodies, how));
                let base = self.case(scenario, bodies, &BODIES);
                let steps = Steps {
                    cores: &self.cores,
                    virtual_cores: &self.virtual_cores,
                    messages_us: &[0.2],
                    repeat: self.common.repeat,
                };
                let what = format!("figure 7, {scenario} {bodies}");
                let (ladder, others) = Ladder::climb(self.runner, &what, &base, &others, &steps)?;
                let stated = |cores| {
                    let stated = paper::speedups(scenario, bodies).find(|stated| stated.cores == cores);
                    stated.map_or_else(|| "paper: not given".to_owned(), |it| format!("paper: {}", it.text()))
                };
                let mut table = table(&ladder, &others[0], stated);
                for ((name, _), run) in OTHERS.iter().zip(&others).skip(1) {
                    let mut row = vec![String::new(); table.header.len()];
                    row[0] = (*name).to_owned();
                    row[1] = "measured".to_owned();
                    row[3] = short(run.run_s.median());
                    row[4] = format!("{:.0} %", run.run_s.half_width() * 100.0);
                    row[6] = format!("{:.2}", run.speedup_over(&others[0]).median());
                    row[7] = run.rollbacks.map_or(String::new(), |count| format!("{count:.0}"));
                    row[8] = run.kept();
                    table.add(row);
                }
                let title = format!("{scenario}, {bodies} bodies, one process each");
                sections.push(Section {
                    name: format!("paper-7-{scenario}-{bodies}"),
                    title: format!("The paper's figure 7: {title}"),
                    words: vec![
                        format!(
                            "Median of {} interleaved runs of {}. Times are absolute, without start and stop of actors. \
                             The paper's are of interpreted Erlang on a Xeon E5-2670.",
                            self.common.repeat,
                            base.command()
                        ),
                        projection_words(&ladder),
                    ],
                    table,
                    plots: vec![plot(&title, &ladder, (scenario, bodies))],
                    runs: self.runner.take_rows(),
                });
            }
        }
        Ok(sections)
    }

    /// Figure 8: where the time goes, against cores.
    fn breakdown(&mut self) -> Result<Section, Failure> {
        let (scenario, bodies) = ("cylinders", self.bodies.last().copied().unwrap_or(500));
        let base = self.case(scenario, bodies, &BODIES);
        let (cores, repeat) = (&self.virtual_cores[..], self.common.repeat);
        let steps = Steps { cores: &[1], virtual_cores: cores, messages_us: &[0.2], repeat };
        let (ladder, _) = Ladder::climb(self.runner, "figure 8", &base, &[], &steps)?;
        let mut header = vec!["cores"];
        header.extend(Activity::ALL.iter().map(|(_, name)| *name));
        let mut table = Table::new(&header);
        let mut parts: Vec<(String, Vec<f64>)> =
            Activity::ALL.iter().map(|(_, name)| ((*name).to_owned(), Vec::new())).collect();
        for (cores, _, run) in &ladder.projected {
            let share = |at: usize| Spread::of(run.activities.iter().map(|shares| shares[at])).median();
            let shares: Vec<f64> = (0..parts.len()).map(share).collect();
            let texts = shares.iter().map(|share| format!("{:.1} %", share * 100.0));
            table.add(std::iter::once(format!("{cores}, projection")).chain(texts).collect());
            parts.iter_mut().zip(shares).for_each(|((_, bars), share)| bars.push(share));
        }
        let mut stated = vec!["paper".to_owned(), "over 50 %".to_owned()];
        stated
            .extend(["not given", "little", "little", "second", "not given", "not given"].map(str::to_owned));
        table.add(stated);
        let bars = ladder.projected.iter().map(|(cores, ..)| format!("{cores} cores")).collect();
        Ok(Section {
            name: "paper-8".into(),
            title: format!("The paper's figure 8: where the time goes, {scenario} with {bodies} bodies"),
            words: vec![
                "Shares of the time of all cores; clocks are read between phases, which makes short ones look longer. The \
                 paper states that collision checking takes more than half, that most of the rest is GVT and overhead of \
                 the language, and that integration and rollback take little."
                    .into(),
                projection_words(&ladder),
            ],
            table,
            plots: vec![Plot::bars(&format!("{scenario}, {bodies} bodies"), bars, parts)],
            runs: self.runner.take_rows(),
        })
    }

    /// Figure 9: the same balls in boxes of different size.
    fn density(&mut self) -> Result<Section, Failure> {
        let bodies = self.bodies.first().copied().unwrap_or(200);
        let places: Vec<(u32, u32)> = (100..=400).step_by(50).map(|volume| (volume, bodies)).collect();
        let stated = format!("real time, and {} times one core or more on 16", short(paper::DENSITY_SPEEDUP));
        self.boxes("paper-9-volume", "figure 9, volumes", &places, &stated)
    }

    /// Beside figure 9: more and fewer balls in the same box.
    fn counts(&mut self) -> Result<Section, Failure> {
        let most = self.bodies.last().copied().unwrap_or(500);
        let places: Vec<(u32, u32)> = (1..=5).map(|fifth| (VOLUME_M3, (most * fifth / 5).max(1))).collect();
        self.boxes("paper-9-bodies", "figure 9, numbers of bodies", &places, "not given")
    }

    // Long: a table and its rows, column by column.
    fn boxes(
        &mut self,
        name: &str,
        what: &str,
        places: &[(u32, u32)],
        stated: &str,
    ) -> Result<Section, Failure> {
        let most = self.most_virtual();
        let all = self.cores.last().copied().unwrap_or(1);
        let mut table = Table::new(&[
            "volume m3",
            "bodies",
            "1 core, s per simulated s",
            "all cores",
            "most virtual cores, projection",
            "over one virtual core, projection",
            "rollbacks there",
            "ticks kept there",
            "regions, all cores",
            "plain loop",
            "paper",
        ]);
        let seconds = self.common.seconds_of("bouncing");
        let (mut bodies_line, mut virtual_line) = (Vec::new(), Vec::new());
        let varies = places.first().map(|place| place.0) != places.last().map(|place| place.0);
        let mut words = String::new();
        for (volume, bodies) in places.iter().copied() {
            let case = |how: &[&str]| {
                let case = Case::new("bouncing", bodies, seconds, how);
                self.common.sparse_frames(case).set("volume_m3", volume)
            };
            let cores = all.to_string();
            let others = [case(&["--sync", "sequential"]), case(&["--sync", "timewarp", "--cores", &cores])];
            let base = case(&BODIES);
            let (real, virtual_cores) = ([1, all], [1, most]);
            let real = if all > 1 { &real[..] } else { &real[..1] };
            let steps = Steps {
                cores: real,
                virtual_cores: &virtual_cores,
                messages_us: &[0.2],
                repeat: self.common.repeat,
            };
            let (ladder, others) = Ladder::climb(self.runner, what, &base, &others, &steps)?;
            words = projection_words(&ladder);
            let per_second = |run: &Measured| short(run.run_s.median() / seconds);
            let first = &ladder.measured[0].1;
            let last = ladder.measured.last().map_or(first, |(_, run)| run);
            let far = ladder.projected_on(most).unwrap_or(first);
            table.add(vec![
                volume.to_string(),
                bodies.to_string(),
                per_second(first),
                per_second(last),
                per_second(far),
                format!("{:.2}", ladder.speedup(far)),
                far.rollbacks.map_or(String::new(), |count| format!("{count:.0}")),
                far.kept(),
                per_second(&others[1]),
                per_second(&others[0]),
                stated.to_owned(),
            ]);
            let x = f64::from(if varies { volume } else { bodies });
            for (line, run) in [(&mut bodies_line, last), (&mut virtual_line, far)] {
                let [y, low, high] =
                    [run.run_s.median(), run.run_s.min(), run.run_s.max()].map(|s| s / seconds);
                line.push(Point { x, y, low, high });
            }
        }
        let label = if varies { "volume of the box, cubic metres" } else { "bodies in 250 cubic metres" };
        let mut plot = Plot::lines("bouncing, one process per body", label, "seconds per simulated second");
        plot.add(&format!("{all} cores"), Style::Line, bodies_line);
        plot.add(&format!("{most} cores, projection"), Style::Dashed, virtual_line);
        Ok(Section {
            name: name.into(),
            title: format!("The paper's {what}: bouncing, one process per body, up to {most} virtual cores"),
            words: vec![format!("Median of {} interleaved runs.", self.common.repeat), words],
            table,
            plots: vec![plot],
            runs: self.runner.take_rows(),
        })
    }

    /// Figure 10: how far ahead a body may run.
    fn window(&mut self) -> Result<Section, Failure> {
        let most = self.most_virtual();
        let bodies = self.bodies.last().copied().unwrap_or(500);
        let mut table = Table::new(&[
            "scene",
            "window ms",
            "1 core, s per simulated s",
            "most virtual cores, projection",
            "gain over the shortest",
            "rollbacks there",
            "ticks kept there",
            "paper",
        ]);
        let title = format!("Window, {most} virtual cores, one process per body");
        let mut plot = Plot::lines(&title, "window, simulated milliseconds", "simulated seconds per second");
        plot = plot.log(true, true);
        let mut words = String::new();
        for scenario in SCENES {
            let seconds = self.common.seconds_of(scenario);
            let (mut points, mut shortest) = (Vec::new(), None);
            for window_ms in paper::WINDOWS_MS {
                let base = self.case(scenario, bodies, &BODIES).with(&["--window", &window_ms.to_string()]);
                let steps = Steps {
                    cores: &[1],
                    virtual_cores: &[1, most],
                    messages_us: &[0.2],
                    repeat: self.common.repeat,
                };
                let (ladder, _) = Ladder::climb(self.runner, "figure 10", &base, &[], &steps)?;
                words = projection_words(&ladder);
                let alone = &ladder.measured[0].1;
                let far = ladder.projected_on(most).unwrap_or(alone);
                let far_s = far.run_s.median();
                let first_s = *shortest.get_or_insert(far_s);
                table.add(vec![
                    format!("{scenario} {bodies}"),
                    window_ms.to_string(),
                    short(alone.run_s.median() / seconds),
                    short(far_s / seconds),
                    format!("{:.2}", first_s / far_s),
                    far.rollbacks.map_or(String::new(), |count| format!("{count:.0}")),
                    far.kept(),
                    if f64::from(window_ms) == paper::WINDOW_PLATEAU_MS {
                        "levels off here"
                    } else {
                        "not given"
                    }
                    .to_owned(),
                ]);
                let [y, low, high] = [far_s, far.run_s.max(), far.run_s.min()].map(|s| seconds / s);
                points.push(Point { x: f64::from(window_ms), y, low, high });
            }
            plot.add(&format!("{scenario} {bodies}"), Style::Dashed, points);
        }
        Ok(Section {
            name: "paper-10".into(),
            title: format!("The paper's figure 10: how far ahead of GVT, {most} virtual cores"),
            words: vec![
                "The paper states that longer steps are faster, that the gain levels off at about 256 ms, and that it is \
                 less for bouncing."
                    .into(),
                words,
            ],
            table,
            plots: vec![plot],
            runs: self.runner.take_rows(),
        })
    }
}
