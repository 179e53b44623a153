//! The command line: one verb per file.
//!
//! It reads arguments, calls the rest of the library and prints the outcome; nothing here decides a result. Results go to
//! standard output; progress, notes, warnings and errors to standard error. The program ends with 0 if all went well, 1
//! if something failed (or two recordings differ, a property is violated, a deliberate fault is not noticed), 2 if the
//! input was wrong, and with 128 and the number of the signal if it was interrupted (Ctrl-C: 130).

mod bench;
mod check;
mod completions;
mod console;
mod count;
mod describe;
mod diff;
mod export;
mod failure;
mod format;
mod frame_source;
mod info;
mod interrupt;
mod json;
mod list;
mod man;
mod output;
mod overlap;
mod progress;
mod recorder;
mod render;
mod resources;
mod run;
mod scene;
mod source;
mod summary;
mod summary_text;
mod tuning;
mod verify;
mod virtual_cores;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::memory;

const EXAMPLES: &str = "\
Examples:
  anachron run                                   the default scenario, cylinders
  anachron run gas --bodies 10000 --seconds 1    a larger scene, for a shorter time
  anachron run bowl --record bowl.anr            keep the frames
  anachron render bowl.anr --out bowl.png        look at the last of them
  anachron scene billiards > break.toml          a scene file to edit
  anachron run break.toml --json                 run it, numbers on standard output

`anachron <COMMAND> --help` says more about each command.";

/// A deterministic rigid-body simulator: a scene has one right answer, to the bit.
#[derive(Parser)]
#[command(name = "anachron", version, after_help = EXAMPLES, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(run::Arguments),
    List(list::Arguments),
    Scene(scene::Arguments),
    Check(check::Arguments),
    Info(info::Arguments),
    Export(export::Arguments),
    Diff(diff::Arguments),
    Render(render::Arguments),
    Bench(bench::Arguments),
    Verify(verify::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Is called by the program's allocator if it has no `bytes` left.
pub fn no_memory(bytes: usize) -> ! {
    memory::ran_out(bytes)
}

/// Reads the program's arguments, carries out the command, and returns the exit code.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help is no error. Errors repeat what was given, which a terminal must not obey.
        Err(error) if error.exit_code() != 0 => {
            console::tell(error.to_string().trim_end());
            return ExitCode::from(2);
        }
        Err(help) => help.exit(),
    };
    let done = interrupt::take_signals().and_then(|()| match arguments.verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::List(arguments) => list::run(&arguments),
        Verb::Scene(arguments) => scene::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Info(arguments) => info::run(&arguments),
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Diff(arguments) => diff::run(&arguments),
        Verb::Render(arguments) => render::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
        Verb::Verify(arguments) => verify::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    });
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            console::tell(format_args!("error: {failure}"));
            failure.exit.into()
        }
    }
}

/// Reads arguments as [`main`] does, the name of the program first, and carries nothing out.
pub fn read<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    Arguments::try_parse_from(arguments).map(drop).or_else(|error| match error.exit_code() {
        0 => Ok(()),
        _ => Err(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        super::Arguments::command().debug_assert();
    }
}
