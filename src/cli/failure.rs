//! How a command ends: its exit code, and its error message.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use crate::executor::RunError;
use crate::record::RecordError;
use crate::scene::SceneError;
use crate::scene::suggest::shown;

/// Exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// All went well.
    Done = 0,
    /// Something failed although the input was right; or two recordings differ, a property is violated, a fault is not noticed.
    Failed = 1,
    /// The input was wrong.
    BadInput = 2,
    /// SIGHUP ended it: the terminal is gone. As shells have it, 128 and the number of the signal.
    HungUp = 129,
    /// The user pressed Ctrl-C.
    Interrupted = 130,
    /// SIGTERM ended it.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command could not do what it was asked to.
#[derive(Debug)]
pub(super) struct Failure {
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// The input was wrong; the message names it and says what would be right.
    pub(super) fn bad_input(message: impl fmt::Display) -> Self {
        Failure { exit: Exit::BadInput, message: message.to_string() }
    }

    /// The input was right, and the command failed all the same.
    pub(super) fn failed(message: impl fmt::Display) -> Self {
        Failure { exit: Exit::Failed, message: message.to_string() }
    }

    /// The same, and something the user may want to know besides.
    pub(super) fn adding(mut self, remark: impl fmt::Display) -> Self {
        self.message = format!("{}; {remark}", self.message);
        self
    }

    /// Several failures as one, if there are any: the first decides the exit code.
    pub(super) fn joined(failures: Vec<Failure>) -> Option<Self> {
        failures.into_iter().reduce(|first, next| first.adding(next.message))
    }

    /// The same, with the file it is about in front unless it is named there already.
    pub(super) fn about(mut self, path: &Path) -> Self {
        let name = shown(path);
        if !self.message.starts_with(&name) {
            self.message = format!("{name}: {}", self.message);
        }
        self
    }

    /// The same, with another exit code.
    pub(super) fn ending_with(self, exit: Exit) -> Self {
        Failure { exit, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        Failure::bad_input(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scene(error) => error.into(),
            error => Failure::failed(error),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            // A file that cannot even be opened was named wrongly.
            RecordError::Io { action: "read" | "write", .. }
            | RecordError::Broken { .. }
            | RecordError::Order { .. } => Failure::failed(error),
            error => Failure::bad_input(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_user_can_mend_is_bad_input() {
        let io =
            |action| RecordError::Io { path: "a.anr".into(), action, source: std::io::Error::other("no") };
        assert_eq!(Failure::from(io("open")).exit, Exit::BadInput);
        assert_eq!(Failure::from(io("create")).exit, Exit::BadInput);
        assert_eq!(Failure::from(io("write")).exit, Exit::Failed);
        assert_eq!(Failure::from(io("read")).exit, Exit::Failed);
    }

    #[test]
    fn a_file_is_named_once() {
        let named = Failure::bad_input("a.toml: does not exist").about(Path::new("a.toml"));
        assert_eq!(named.to_string(), "a.toml: does not exist");
        let unnamed = Failure::bad_input("seed: is -1").about(Path::new("a.toml"));
        assert_eq!(unnamed.to_string(), "a.toml: seed: is -1");
    }
}
