//! `anachron completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  anachron completions bash > anachron             for ~/.local/share/bash-completion/completions
  anachron completions zsh > _anachron             for a folder of $fpath
  anachron completions fish > anachron.fish        for ~/.config/fish/completions";

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "anachron", &mut script);
    console::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
