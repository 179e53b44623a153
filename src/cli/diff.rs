//! `anachron diff`: the first difference between two recordings.

use std::path::PathBuf;

use clap::Args;

use crate::cli::console;
use crate::cli::failure::{Exit, Failure};
use crate::record::{Recording, diff};

/// Compare two recordings to the bit
///
/// Names the first frame, body and field in which they differ. Ends with 0 if they have the same scene and the
/// same frames, with 1 if they differ, and with 2 if one of them cannot be read.
#[derive(Args)]
pub(super) struct Arguments {
    /// A recording
    a: PathBuf,
    /// Another recording
    b: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    // 1 is for recordings that differ, so errors of any kind end with 2.
    compare(arguments).map_err(|failure| failure.ending_with(Exit::BadInput))
}

fn compare(arguments: &Arguments) -> Result<Exit, Failure> {
    let (mut a, mut b) = (Recording::open(&arguments.a)?, Recording::open(&arguments.b)?);
    let report = diff(&mut a, &mut b)?;
    console::print(&format!("{report}\n"))?;
    Ok(if report.is_empty() { Exit::Done } else { Exit::Failed })
}
