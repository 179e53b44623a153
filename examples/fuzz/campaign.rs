//! All cases in turn, until the time is up; counts of what came of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};

use crate::dice::Dice;
use crate::endings::{self, Whole};
use crate::program::{Finding, Program};
use crate::recordings::{self, Original};
use crate::scenes::{self, Seed};
use crate::speculation;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Kind {
    /// Mutated scenes
    Scene,
    /// Mutated OBJ files
    Obj,
    /// Recordings with wrong bytes
    Damaged,
    /// Recordings with wrong content under right checksums
    Forged,
    /// Random Time Warp runs
    Speculation,
    /// Runs that are killed by SIGKILL
    Killed,
    /// Runs that are asked to end by a signal
    Signalled,
}

/// How many cases of each kind make a round.
const ROUND: &[(Kind, u64)] = &[
    (Kind::Scene, 60),
    (Kind::Obj, 6),
    (Kind::Damaged, 10),
    (Kind::Forged, 14),
    (Kind::Speculation, 4),
    (Kind::Killed, 1),
    (Kind::Signalled, 1),
];

/// Try to make anachron fail
#[derive(Parser)]
#[command(name = "fuzz", max_term_width = 100)]
struct Arguments {
    /// The program under test
    #[arg(long, value_name = "FILE", default_value = "target/release/anachron")]
    anachron: PathBuf,
    /// Where the files of findings are kept
    #[arg(long, value_name = "FOLDER", default_value = "target/fuzz")]
    out: PathBuf,
    /// Another seed, other cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long to go on; a round that was begun is ended
    #[arg(long, value_name = "M", default_value_t = 15.0)]
    minutes: f64,
    /// At most so many rounds
    #[arg(long, value_name = "N", default_value_t = u64::MAX)]
    rounds: u64,
    /// Only cases of these kinds
    #[arg(long, value_name = "KIND,...", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Only this case of the kind, and keep its files
    #[arg(long, value_name = "N", requires = "only")]
    case: Option<u64>,
}

/// What cases start from.
struct Material {
    repo: PathBuf,
    seeds: Vec<Seed>,
    originals: Vec<Original>,
    wholes: Vec<Whole>,
}

struct Campaign {
    arguments: Arguments,
    program: Program,
    material: Material,
    counts: BTreeMap<(Kind, &'static str), u64>,
    findings: u64,
    slowest: (Duration, String),
}

pub fn main() -> ExitCode {
    match Campaign::prepare(Arguments::parse()) {
        Ok(mut campaign) => campaign.run(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

impl Campaign {
    fn prepare(mut arguments: Arguments) -> Result<Self, Finding> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(|error| error.to_string());
        arguments.out = absolute(&arguments.out)?;
        let path = absolute(&arguments.anachron)?;
        if !path.is_file() {
            return Err(format!("--anachron: {} is no program; `tests/fuzz.sh` builds it", path.display()));
        }
        let folder = arguments.out.join("case");
        let mut program = Program { path, folder, asked: Vec::new() };
        clear(&program.folder)?;
        let repo = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let material = Material {
            seeds: scenes::seeds(&mut program, &repo)?,
            originals: recordings::originals(&mut program)?,
            wholes: endings::wholes(&mut program, &arguments.out)?,
            repo,
        };
        let (counts, slowest) = (BTreeMap::new(), (Duration::ZERO, String::new()));
        Ok(Campaign { arguments, program, material, counts, findings: 0, slowest })
    }

    fn run(&mut self) -> ExitCode {
        let begun = Instant::now();
        let limit = Duration::from_secs_f64(60.0 * self.arguments.minutes.clamp(0.0, 1e6));
        let only = self.arguments.only.clone();
        let kinds = ROUND.iter().filter(|(kind, _)| only.is_empty() || only.contains(kind));
        for round in 0..self.arguments.rounds {
            for (kind, count) in kinds.clone() {
                let cases = match self.arguments.case {
                    Some(case) => case..case.saturating_add(1),
                    None => round * count..(round + 1) * count,
                };
                for case in cases {
                    self.case(*kind, case);
                }
            }
            self.progress(round, begun.elapsed());
            if self.arguments.case.is_some() || begun.elapsed() >= limit {
                break;
            }
        }
        self.report(begun.elapsed());
        ExitCode::from(u8::from(self.findings > 0))
    }

    fn case(&mut self, kind: Kind, case: u64) {
        let begun = Instant::now();
        let outcome = clear(&self.program.folder).and_then(|()| self.carry_out(kind, case));
        if begun.elapsed() > self.slowest.0 {
            self.slowest = (begun.elapsed(), format!("{} {case}", name(kind)));
        }
        match outcome {
            Ok(outcome) => *self.counts.entry((kind, outcome)).or_default() += 1,
            Err(finding) => {
                *self.counts.entry((kind, "FINDING")).or_default() += 1;
                self.findings += 1;
                self.keep(kind, case, &finding);
            }
        }
        if self.arguments.case.is_some() {
            println!("{}", self.program.asked.join("\n"));
            println!("the files are in {}", self.program.folder.display());
        }
    }

    /// One line on a terminal, nothing elsewhere.
    fn progress(&self, round: u64, elapsed: Duration) {
        if std::io::stderr().is_terminal() {
            let (minutes, findings) = (elapsed.as_secs_f64() / 60.0, self.findings);
            eprint!("\rround {}, {minutes:.1} minutes, {findings} findings ", round + 1);
            let _ = std::io::stderr().flush();
        }
    }

    fn carry_out(&mut self, kind: Kind, case: u64) -> Result<&'static str, Finding> {
        let dice = &mut Dice::new(self.arguments.seed, kind as u64, case);
        let (program, material) = (&mut self.program, &self.material);
        program.asked.clear();
        match kind {
            Kind::Scene => scenes::scene(dice, program, &material.seeds, &material.repo),
            Kind::Obj => scenes::obj(dice, program, &material.repo),
            Kind::Damaged => recordings::damaged(dice, program, &material.originals),
            Kind::Forged => recordings::forged(dice, program, &material.originals),
            Kind::Speculation => speculation::random_run(dice, program),
            Kind::Killed => endings::killed(dice, program, &material.wholes),
            Kind::Signalled => endings::signalled(dice, program, &material.wholes),
        }
    }

    /// Tells of a finding and keeps its files.
    fn keep(&self, kind: Kind, case: u64, finding: &str) {
        let (seed, kind) = (self.arguments.seed, name(kind));
        let kept = self.arguments.out.join(format!("{kind}-{seed}-{case}"));
        let again = format!("tests/fuzz.sh --seed {seed} --only {kind} --case {case}");
        let commands = self.program.asked.join("\n");
        let _ = fs::write(
            self.program.folder.join("finding.txt"),
            format!("{finding}\n\n{commands}\n\n{again}\n"),
        );
        let _ = fs::remove_dir_all(&kept);
        let is_kept = self.arguments.case.is_none() && fs::rename(&self.program.folder, &kept).is_ok();
        let place = if is_kept { kept.display() } else { self.program.folder.display() };
        println!("\nFINDING: {finding}\n  files: {place}\n  again: {again}");
    }

    fn report(&self, took: Duration) {
        let Arguments { seed, .. } = self.arguments;
        let all: u64 = self.counts.values().sum();
        let minutes = took.as_secs_f64() / 60.0;
        if std::io::stderr().is_terminal() {
            eprintln!();
        }
        println!("seed {seed}, {minutes:.1} minutes: {all} cases, {} findings", self.findings);
        for (kind, _) in ROUND {
            let counts = self.counts.iter().filter(|((of, _), _)| of == kind);
            let parts: Vec<String> =
                counts.clone().map(|((_, outcome), count)| format!("{count} {outcome}")).collect();
            let sum: u64 = counts.map(|(_, count)| count).sum();
            if sum > 0 {
                println!("  {:<12} {sum:>6}: {}", name(*kind), parts.join(", "));
            }
        }
        println!("  the slowest case took {:.1} s: {}", self.slowest.0.as_secs_f64(), self.slowest.1);
    }
}

fn name(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// An empty folder.
fn clear(folder: &Path) -> Result<(), Finding> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}
