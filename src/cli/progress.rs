//! A progress bar, shown at a terminal only.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::format;

/// Time between two updates: faster ones cannot be read.
const REDRAWN_EVERY: Duration = Duration::from_millis(100);
/// Positions of the bar.
const STEPS: u64 = 1000;

/// A progress bar on standard error; without a terminal there, nothing at all.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    redrawn: Instant,
}

impl Progress {
    /// Starts the clock. A `quiet` one shows nothing.
    pub(super) fn start(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:20} {percent:>3} %  {wide_msg}")
                .expect("invariant: the template is well formed");
            ProgressBar::new(STEPS).with_style(style)
        });
        let now = Instant::now();
        Progress { bar, started: now, redrawn: now }
    }

    /// Shows that `share` (0 to 1) is done; `what` makes the text from the seconds since the start.
    pub(super) fn show(&mut self, share: f64, what: impl FnOnce(f64) -> String) {
        let Some(bar) = &self.bar else { return };
        if self.redrawn.elapsed() < REDRAWN_EVERY {
            return;
        }
        self.redrawn = Instant::now();
        let elapsed_s = self.started.elapsed().as_secs_f64();
        bar.set_message(format!("{}, {} left", what(elapsed_s), format::span(left_s(share, elapsed_s))));
        bar.set_position((share * STEPS as f64) as u64);
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Seconds left, if the speed stays the same.
fn left_s(share: f64, elapsed_s: f64) -> f64 {
    if share > 0.0 { elapsed_s * (1.0 - share) / share } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_like_the_time_gone() {
        assert_eq!(left_s(0.25, 10.0), 30.0);
        assert_eq!(left_s(1.0, 10.0), 0.0);
        assert_eq!(left_s(0.0, 10.0), 0.0);
    }
}
