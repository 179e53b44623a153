//! `anachron man`: manual pages, from the same source as `--help`.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::scene::suggest::suggest;

const EXAMPLES: &str = "\
Examples:
  anachron man > anachron.1                 for a folder man1 of $MANPATH; `man -l anachron.1` shows it
  anachron man run > anachron-run.1         the page of a command";

/// Print the manual page of the program, or of one of its commands
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The command, such as `run`
    command: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut program = super::Arguments::command();
    program.build();
    let page = match &arguments.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Failure::bad_input(format_args!(
                    "there is no command `{}`; {}",
                    crate::scene::suggest::excerpt(name),
                    suggest(name, known)
                )));
            }
        },
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::failed(format_args!("cannot make the manual page: {error}")))?;
    console::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
