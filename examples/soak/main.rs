//! Runs scenes for minutes and watches the memory of the process: it must not grow. `tests/soak.sh` builds and starts it.
//!
//! ```sh
//! tests/soak.sh                                 # ten minutes for all scenes together
//! tests/soak.sh --minutes 1 --only bowl         # a minute for scenes with names that begin so
//! ```
//!
//! Every scene has a process of its own, so that none finds memory that another has left free. Ten times a second it
//! reads how much is allocated and how much is resident; what counts at a moment is the median of the time just before
//! it, because memory goes up and down with what is under way. The program ends with 1 if one of them grows from 20 % to
//! 100 % of the time by more than `--growth` per cent. Free memory goes back to the system here; `anachron run` keeps
//! it, and its resident memory is the most that was ever needed. Inputs are kept for good, by design: a run can be
//! repeated with them. So there are few, and they are counted.

mod memory;
mod scenes;

use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::memory::{Counting, Watch};
use crate::scenes::{SCENES, SoakScene};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "usage: soak [--minutes M] [--only NAME] [--growth PERCENT] [--seed N]";

/// What was asked for.
struct Arguments {
    minutes: f64,
    only: String,
    growth_percent: f64,
    seed: u64,
    /// In the process of one scene: how long it has.
    one_s: Option<f64>,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut read =
            Arguments { minutes: 10.0, only: String::new(), growth_percent: 25.0, seed: 1, one_s: None };
        while let Some(flag) = words.next() {
            let value = words.next()?;
            match flag.as_str() {
                "--minutes" => read.minutes = value.parse().ok().filter(|minutes| *minutes > 0.0)?,
                "--only" => read.only = value,
                "--growth" => read.growth_percent = value.parse().ok()?,
                "--seed" => read.seed = value.parse().ok()?,
                "--one-seconds" => read.one_s = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        Some(read)
    }

    fn scenes(&self) -> Vec<&'static SoakScene> {
        SCENES.iter().filter(|scene| scene.name.starts_with(&self.only)).collect()
    }
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::read(std::env::args().skip(1)).filter(|it| !it.scenes().is_empty())
    else {
        let names: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
        eprintln!("{USAGE}\nscenes: {}", names.join(", "));
        return ExitCode::from(2);
    };
    match arguments.one_s {
        Some(seconds) => one(&arguments, seconds),
        None => all(&arguments),
    }
}

/// Every scene in a process of its own.
fn all(arguments: &Arguments) -> ExitCode {
    let scenes = arguments.scenes();
    let seconds = arguments.minutes * 60.0 / scenes.len() as f64;
    println!("seed {}, {:.1} minutes, {seconds:.0} s for each scene", arguments.seed, arguments.minutes);
    let moments = "10 %    20 %    50 %   100 %  growth";
    println!("  {:<20} MiB allocated, {moments}; resident, {moments}", "scene");
    let mut is_flat = true;
    for scene in scenes {
        let program = std::env::current_exe().expect("this program has a name");
        let [seconds, growth] = [seconds, arguments.growth_percent].map(|number| number.to_string());
        let seed = arguments.seed.to_string();
        let flags = ["--one-seconds", &seconds, "--growth", &growth, "--seed", &seed, "--only", scene.name];
        let status = Command::new(program).args(flags).status();
        is_flat &= status.is_ok_and(|status| status.success());
    }
    if is_flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One scene in this process.
fn one(arguments: &Arguments, seconds: f64) -> ExitCode {
    let Some(scene) = arguments.scenes().into_iter().next() else { return ExitCode::from(2) };
    let mut watch = Watch::over(Duration::from_secs_f64(seconds));
    let soaked = match scene.soak(&mut watch, arguments.seed) {
        Ok(soaked) => soaked,
        Err(error) => {
            println!("  {:<20} error: {error}", scene.name);
            return ExitCode::FAILURE;
        }
    };
    let moments = [0.1, 0.2, 0.5, 1.0].map(|share| watch.at(share));
    let [Some(first), Some(early), Some(half), Some(end)] = moments else {
        println!("  {:<20} memory was not read often enough; give it more time", scene.name);
        return ExitCode::FAILURE;
    };
    let told = [first, early, half, end];
    let kinds = [told.map(|sample| sample.live), told.map(|sample| sample.resident)];
    let growth = kinds.map(|bytes| (bytes[3] as f64 / bytes[1] as f64 - 1.0) * 100.0);
    let columns = kinds.iter().zip(growth).map(|(bytes, growth)| {
        let mib = bytes.map(|bytes| format!("{:>8.1}", bytes as f64 / f64::from(1 << 20)));
        format!("{} {growth:>+6.1} %", mib.concat())
    });
    let is_flat = growth.iter().all(|growth| *growth <= arguments.growth_percent);
    println!(
        "  {:<20}{}; {:.0} simulated s, {} runs, {} inputs{}",
        scene.name,
        columns.collect::<Vec<_>>().join(";"),
        soaked.simulated_s,
        soaked.runs,
        soaked.inputs,
        if is_flat { "" } else { ": memory grows" }
    );
    if is_flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
