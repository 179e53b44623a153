//! A program that runs: it can be watched and signalled, and it never outlives its test, nor keeps it waiting for ever.

use std::io::{Read, Write};
use std::process::{Child, Command, Output};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anachron::record::Recording;

use crate::program::{Ended, Sandbox};

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// At most this many looks: ten minutes, and longer if the machine is slow. Looks are counted, not time, so that a
/// machine that sleeps spends none.
const LOOKS_MAX: u32 = 120_000;

/// Waits until `done`. Fails after very many looks.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if done() {
            return;
        }
        thread::sleep(LOOK);
    }
    panic!("waited too long for {what}");
}

/// Waits until frames of a recording are on disk.
pub fn until_frames(sandbox: &Sandbox, name: &str) {
    until("frames", || Recording::open(sandbox.path(name)).is_ok_and(|recording| !recording.is_empty()));
}

/// A process that ends with the test, even if the test fails. Its output is read all the time, so that it never waits for
/// a reader.
pub struct Running {
    asked: String,
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let asked: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        let asked = asked.join(" ");
        Self::of(command.spawn().unwrap(), asked)
    }

    /// A process that was started already.
    pub fn of(mut child: Child, asked: String) -> Self {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Running {
            asked,
            child,
            stdout: stdout.map(|stream| thread::spawn(move || read_all(stream))),
            stderr: stderr.map(|stream| thread::spawn(move || read_all(stream))),
        }
    }

    /// Writes a text to its standard input, and closes it.
    pub fn feed(&mut self, text: &[u8]) {
        // A program that does not read everything closes the pipe.
        let _ = self.child.stdin.take().unwrap().write_all(text);
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Sends a signal several times, so fast that no process has to be started in between.
    #[cfg(unix)]
    pub fn signal_in_a_row(&self, signal: &str) {
        let script = "for time in {1..20}; do kill $0 $1 2>&-; done; true";
        let id = self.child.id().to_string();
        assert!(Command::new("bash").args(["-c", script, signal, &id]).status().unwrap().success());
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end. Kills it and fails if that does not come.
    pub fn wait(mut self) -> Ended {
        until(&format!("`anachron {}` to end", self.asked), || self.is_over());
        let status = self.child.wait().unwrap();
        let read = |stream: &mut Option<JoinHandle<Vec<u8>>>| {
            stream.take().map_or_else(Vec::new, |reader| reader.join().unwrap())
        };
        let (stdout, stderr) = (read(&mut self.stdout), read(&mut self.stderr));
        Ended::of(&self.asked, Output { status, stdout, stderr })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}
