//! Runs the program in a folder, with a limit on memory and on time, and judges how it ends.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is wrong: a sentence.
pub type Finding = String;

/// Longer than any case needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// The address space of a child. Cases need a tenth of it; most of the rest is reserved by the allocator and not used.
const MEMORY_KIB: u64 = 8 << 20;
/// The size of a file that a child may write, in blocks of 512 bytes.
const FILE_BLOCKS: u64 = 1 << 21;
/// What a program prints that has lost control of itself, or has taken all memory for a small input.
const PANICS: &[&str] = &[
    "panicked at",
    "RUST_BACKTRACE",
    "internal error",
    "memory allocation of",
    "no memory is left",
    "stack overflow",
];

/// The program, and the folder that a case works in.
pub struct Program {
    pub path: PathBuf,
    pub folder: PathBuf,
    /// Commands of the case so far.
    pub asked: Vec<String>,
}

/// A child and the time it was started.
pub struct Running {
    child: Child,
    asked: String,
    started: Instant,
    folder: PathBuf,
}

/// How a child ended.
pub struct Ended {
    pub asked: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Program {
    pub fn start(&mut self, arguments: &[&str]) -> Result<Running, Finding> {
        let asked = format!("anachron {}", arguments.join(" "));
        self.asked.push(asked.clone());
        let file =
            |name: &str| File::create(self.folder.join(name)).map_err(|error| format!("{name}: {error}"));
        let child = Command::new("sh")
            .args([
                "-c",
                &format!("ulimit -v {MEMORY_KIB}; ulimit -f {FILE_BLOCKS}; ulimit -c 0; exec \"$0\" \"$@\""),
            ])
            .arg(&self.path)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(file("stdout.txt")?)
            .stderr(file("stderr.txt")?)
            .spawn()
            .map_err(|error| format!("{asked}: {error}"))?;
        Ok(Running { child, asked, started: Instant::now(), folder: self.folder.clone() })
    }

    /// Runs to the end. The exit code must be one of `codes`; if it is not 0, there must be a message.
    pub fn run(&mut self, arguments: &[&str], codes: &[i32]) -> Result<Ended, Finding> {
        let ended = self.start(arguments)?.wait()?;
        ended.judge(codes)?;
        Ok(ended)
    }
}

impl Running {
    pub fn signal(&self, name: &str) {
        // A child that has ended already is fine.
        let _ = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .stderr(Stdio::null())
            .status();
    }

    pub fn wait(mut self) -> Result<Ended, Finding> {
        let status = loop {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if self.started.elapsed() > LIMIT {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return Err(format!("`{}` has not ended after {LIMIT:?}", self.asked));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let read = |name: &str| read_text(&self.folder.join(name));
        Ok(Ended {
            asked: self.asked,
            status,
            stdout: read("stdout.txt"),
            stderr: read("stderr.txt"),
            took: self.started.elapsed(),
        })
    }
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn judge(&self, codes: &[i32]) -> Result<(), Finding> {
        let Ended { asked, status, stdout, stderr, .. } = self;
        let last = stderr.lines().last().unwrap_or("");
        if let Some(signal) = status.signal() {
            return Err(format!("`{asked}` was ended by signal {signal}: {last}"));
        }
        if let Some(word) = PANICS.iter().find(|word| stderr.contains(**word) || stdout.contains(**word)) {
            return Err(format!("`{asked}` prints `{word}`"));
        }
        let code = status.code().unwrap_or(-1);
        if !codes.contains(&code) {
            return Err(format!("`{asked}` ended with {code} instead of one of {codes:?}: {last}"));
        }
        let is_mute = !stderr.lines().any(|line| line.starts_with("error: ") && line.len() > 10);
        if (code == 2 || (code == 1 && stdout.is_empty())) && is_mute {
            return Err(format!("`{asked}` ended with {code} and gives no reason"));
        }
        let is_clean = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control());
        if !is_clean(stderr) {
            return Err(format!("`{asked}` prints control characters to standard error"));
        }
        Ok(())
    }

    pub fn json(&self) -> Result<serde_json::Value, Finding> {
        serde_json::from_str(&self.stdout)
            .map_err(|error| format!("`{}`: its JSON is broken: {error}", self.asked))
    }
}

pub fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
