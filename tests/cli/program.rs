//! Runs the program in a folder of its own.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::running::Running;

/// A folder that is removed after the test.
pub struct Sandbox {
    folder: TempDir,
}

/// Exit code and output of the program.
pub struct Ended {
    asked: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        Sandbox { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    /// The program, about to start in the folder, with its output caught.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.args(arguments).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts the program.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::start(&mut self.command(arguments))
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).wait()
    }

    /// Runs the program, which must end with 0, and returns its standard output.
    pub fn good(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    }

    /// Runs the program with `--json` and returns the object that it prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json", "--quiet"]].concat();
        serde_json::from_str(&self.good(&arguments)).unwrap()
    }

    /// The digest of a run.
    pub fn digest(&self, arguments: &[&str]) -> String {
        self.json(arguments)["digest"].as_str().unwrap().to_owned()
    }
}

/// The program, which does not inherit that the tests ignore signals, as under `nohup` or in the background of a script.
fn program() -> Command {
    const PROGRAM: &str = env!("CARGO_BIN_EXE_anachron");
    // SIGHUP, SIGINT and SIGTERM.
    const SIGNALS: u64 = 0x4003;
    static ARE_IGNORED: LazyLock<bool> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask & SIGNALS != 0)
    });
    if !*ARE_IGNORED {
        return Command::new(PROGRAM);
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", PROGRAM]);
    command
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ended { asked, code, stdout, stderr } = self;
        write!(f, "`anachron {asked}` ended with {code:?}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

impl Ended {
    pub fn of(asked: &str, output: Output) -> Self {
        let ended = Ended {
            asked: asked.to_owned(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        ended
    }
}
