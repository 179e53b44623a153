//! Writing to standard output and standard error. A reader that has closed its end is no failure.

use std::fmt;
use std::io::{ErrorKind, Write};

use crate::cli::failure::Failure;
use crate::scene::Warning;

/// Writes a message to standard error. Errors are ignored: there is no other channel to report them.
pub(super) fn tell(text: impl fmt::Display) {
    // One write, so that lines of programs that run side by side do not mix.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Writes warnings about a scene to standard error.
pub(super) fn warn(warnings: &[Warning]) {
    for Warning { field, message } in warnings {
        tell(format_args!("warning: {field}: {message}"));
    }
}

/// Writes the output of a command to standard output. A reader that has seen enough (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format_args!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
