//! Signals that ask the program to end: Ctrl-C, SIGTERM, SIGHUP.
//!
//! A command that can end in an orderly way says so with [`Interrupt::watch`]: the first signal is then a request. Every
//! other signal ends the program at once, after the [last actions](AtOnce) that were registered: flush a recording,
//! remove a file that is incomplete.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::base::stop::Stop;
use crate::base::sync::lock;
use crate::cli::failure::{Exit, Failure};

/// The number of the first signal; 0 before it.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// When it came.
static SIGNALLED: OnceLock<Instant> = OnceLock::new();
/// The same signal twice within this time is one request: `timeout` sends each to the program and to its group.
const ONE_REQUEST: Duration = Duration::from_millis(200);
/// Set once a command can end in an orderly way.
static ORDERLY: OnceLock<Stop> = OnceLock::new();
static LAST_ACTIONS: Mutex<Vec<(u64, LastAction)>> = Mutex::new(Vec::new());

type LastAction = Box<dyn FnOnce() + Send>;

/// Whether the user wants to stop.
#[derive(Clone)]
pub(super) struct Interrupt {
    stop: Stop,
}

impl Interrupt {
    /// The first signal from now on is a request to end, which this command sees.
    pub(super) fn watch() -> Self {
        Interrupt { stop: ORDERLY.get_or_init(Stop::default).clone() }
    }

    pub(super) fn is_requested(&self) -> bool {
        self.stop.is_requested()
    }

    /// The request, for executors.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Why a command gives up that was interrupted.
    pub(super) fn failure() -> Failure {
        Failure::failed("interrupted").ending_with(Self::exit())
    }

    /// How a program ends that was interrupted: as shells have it, with 128 and the number of the signal.
    pub(super) fn exit() -> Exit {
        match SIGNAL.load(Ordering::Relaxed) {
            HANGUP => Exit::HungUp,
            TERMINATE => Exit::Terminated,
            _ => Exit::Interrupted,
        }
    }
}

const HANGUP: i32 = 1;
const TERMINATE: i32 = 15;

/// What a signal means that has just come.
fn take_signal(number: i32) {
    let first = SIGNAL
        .compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed)
        .unwrap_or_else(|first| first);
    let since = SIGNALLED.get_or_init(Instant::now).elapsed();
    match ORDERLY.get() {
        Some(stop) if first == 0 || (first == number && since < ONE_REQUEST) => stop.request(),
        _ => {
            // Kept locked to the end: from here on nothing may be registered or given up.
            let mut last_actions = lock(&LAST_ACTIONS);
            last_actions.drain(..).for_each(|(_, act)| act());
            std::process::exit(Interrupt::exit() as i32);
        }
    }
}

/// Something to do if a signal ends the program at once; nothing once this is dropped.
pub(super) struct AtOnce(u64);

impl AtOnce {
    pub(super) fn register(act: impl FnOnce() + Send + 'static) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        lock(&LAST_ACTIONS).push((number, Box::new(act)));
        AtOnce(number)
    }
}

impl Drop for AtOnce {
    fn drop(&mut self) {
        lock(&LAST_ACTIONS).retain(|(number, _)| *number != self.0);
    }
}

/// Takes signals from now on, on a thread of its own. To be called before there is any other thread.
#[cfg(unix)]
pub(super) fn take_signals() -> Result<(), Failure> {
    use nix::sys::signal::{SigSet, Signal};
    // Threads inherit what is blocked, so that the waiting thread gets every signal.
    let ignored = ignored_signals();
    let watched = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let signals: SigSet =
        watched.into_iter().filter(|signal| ignored >> (*signal as u32 - 1) & 1 == 0).collect();
    let failed = |error: &dyn std::fmt::Display| {
        Failure::failed(format_args!("cannot watch for signals such as Ctrl-C: {error}"))
    };
    signals.thread_block().map_err(|error| failed(&error))?;
    let wait = move || {
        loop {
            if let Ok(signal) = signals.wait() {
                take_signal(signal as i32);
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(|error| failed(&error))?;
    Ok(())
}

/// Signals that the program was started with as ignored (`nohup`) and that stay ignored, one bit each; none where the
/// operating system does not say.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Takes Ctrl-C from now on, on a thread of its own.
#[cfg(not(unix))]
pub(super) fn take_signals() -> Result<(), Failure> {
    ctrlc::set_handler(|| take_signal(2))
        .map_err(|error| Failure::failed(format_args!("cannot watch for Ctrl-C: {error}")))
}
