//! Writing to standard output and standard error. A reader that has closed its end is no failure. Texts have no control
//! characters but line breaks and tabs, whatever the names in them: a terminal would obey.

use std::fmt;
use std::io::{ErrorKind, Write};

use crate::cli::failure::Failure;
use crate::scene::Warning;

/// Writes a message to standard error. Errors are ignored: there is no other channel to report them.
pub(super) fn tell(text: impl fmt::Display) {
    // One write, so that lines of programs that run side by side do not mix.
    let _ = std::io::stderr().write_all(printable(&format!("{text}\n")).as_bytes());
}

/// Writes warnings about a scene to standard error.
pub(super) fn warn(warnings: &[Warning]) {
    for Warning { field, message } in warnings {
        tell(format_args!("warning: {field}: {message}"));
    }
}

/// Writes texts to standard output, each with a line break behind it.
pub(super) fn print_lines(texts: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    texts.into_iter().try_for_each(|text| print(&(text + "\n")))
}

/// Writes the output of a command to standard output. A reader that has seen enough (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format_args!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}")
}
