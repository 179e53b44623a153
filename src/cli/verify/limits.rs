//! Limits of a check, in seconds and in work, and which of them ended it.

use std::time::Instant;

use super::Arguments;
use crate::cli::format::{counted, grouped};
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::Progress;
use crate::verify::Campaign;
use crate::verify::campaign::STATES_MAX;

/// The limit if none is given, seconds.
const SECONDS: u64 = 60;

/// What part of the time larger configurations may use up, beginning at the start of the check; the rest is for random
/// schedules. Not tuned.
const LARGER_SHARE: f64 = 0.6;

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Small configurations of the list, in full.
    Small,
    /// Larger configurations of the list, in full.
    Larger,
    /// Configurations as the command line describes them, in full.
    Requested,
    /// Random schedules.
    Random,
}

/// Why a phase ended before all that was announced was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stop {
    /// The limit of time: that of the phase, and that of the whole check, both in seconds.
    Seconds(f64, f64),
    /// The limit of states.
    States(u64),
    /// The limit of random schedules.
    Schedules(u64),
    /// Some configurations have more states than are explored of one.
    StatesOfOne,
    /// Ctrl-C.
    Interrupt,
    /// A property was violated.
    Violation,
}

impl Stop {
    /// The name in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stop::Seconds(..) => "seconds",
            Stop::States(_) => "states",
            Stop::Schedules(_) => "schedules",
            Stop::StatesOfOne => "states of one configuration",
            Stop::Interrupt => "interrupt",
            Stop::Violation => "violation",
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Stop::Seconds(phase_s, all_s) if phase_s < all_s => {
                format!("limit of {phase_s} s ({:.0} % of {all_s} s) reached", phase_s / all_s * 100.0)
            }
            Stop::Seconds(_, all_s) => format!("limit of {all_s} s reached"),
            Stop::States(states) => format!("limit of {} reached", counted(states, "state", "states")),
            Stop::Schedules(schedules) => {
                format!("limit of {} reached", counted(schedules, "schedule", "schedules"))
            }
            Stop::StatesOfOne => {
                format!("limit of {} states of one configuration reached", grouped(STATES_MAX))
            }
            Stop::Interrupt => "interrupted".to_owned(),
            Stop::Violation => "a property was violated".to_owned(),
        }
    }
}

/// How the phases of a check ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stops {
    /// Why states were left unexplored; nothing if none were, or if none were to be explored.
    pub states: Option<Stop>,
    /// Why no more random schedules were run; nothing if none were to be run.
    pub schedules: Option<Stop>,
    /// Duration of the check, seconds.
    pub seconds: f64,
}

/// Counts time and work while a check runs.
pub(super) struct Limits {
    progress: Progress,
    interrupt: Interrupt,
    began: Instant,
    seconds: Option<f64>,
    states: Option<u64>,
    schedules: Option<u64>,
    stop: Option<Stop>,
    stops: Stops,
}

impl Limits {
    pub(super) fn new(arguments: &Arguments, progress: Progress, interrupt: Interrupt) -> Self {
        let Arguments { seconds, states, schedules, .. } = *arguments;
        // A limit of work alone gives the same outcome on every machine, so no clock may interfere.
        let seconds = seconds.or_else(|| (states.is_none() && schedules.is_none()).then_some(SECONDS));
        Limits {
            progress,
            interrupt,
            began: Instant::now(),
            seconds: seconds.map(|seconds| seconds as f64),
            states,
            schedules,
            stop: None,
            stops: Stops::default(),
        }
    }

    /// Shows the progress. Says whether a phase may go on; if not, the reason is kept.
    pub(super) fn go_on(&mut self, phase: Phase, campaign: &Campaign) -> bool {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let share = self.share(phase, campaign, elapsed_s);
        self.progress.show(share, |_| {
            format!("{} states, {} schedules", grouped(campaign.states), grouped(campaign.schedules))
        });
        let is_random = phase == Phase::Random;
        let part = if phase == Phase::Larger { LARGER_SHARE } else { 1.0 };
        self.stop = if self.interrupt.is_requested() {
            Some(Stop::Interrupt)
        } else if let Some(most) = self.states.filter(|most| !is_random && campaign.states >= *most) {
            Some(Stop::States(most))
        } else if let Some(most) = self.schedules.filter(|most| is_random && campaign.schedules >= *most) {
            Some(Stop::Schedules(most))
        } else {
            let all_s = self.seconds.filter(|all_s| elapsed_s >= part * all_s);
            all_s.map(|all_s| Stop::Seconds(part * all_s, all_s))
        };
        self.stop.is_none()
    }

    /// How much of the limit is used up, from 0 to 1.
    fn share(&self, phase: Phase, campaign: &Campaign, elapsed_s: f64) -> f64 {
        let of = |done: f64, limit: Option<f64>| limit.map_or(0.0, |limit| done / limit);
        let work = if phase == Phase::Random {
            of(campaign.schedules as f64, self.schedules.map(|most| most as f64))
        } else {
            of(campaign.states as f64, self.states.map(|most| most as f64))
        };
        work.max(of(elapsed_s, self.seconds)).min(1.0)
    }

    /// No more states will be explored.
    pub(super) fn end_of_states(&mut self, is_complete: bool, campaign: &Campaign) {
        self.stops.states = if campaign.violation.is_some() {
            Some(Stop::Violation)
        } else if is_complete {
            (campaign.unfinished > 0).then_some(Stop::StatesOfOne)
        } else {
            self.stop
        };
        self.stop = None;
    }

    /// No more random schedules will be run.
    pub(super) fn end_of_schedules(&mut self, campaign: &Campaign) {
        let violation = campaign.violation.as_ref().map(|_| Stop::Violation);
        self.stops.schedules = violation.or(self.stop).or(self.schedules.map(Stop::Schedules));
    }

    /// Takes the progress bar away and says how the phases ended.
    pub(super) fn finish(self) -> Stops {
        self.progress.finish();
        Stops { seconds: self.began.elapsed().as_secs_f64(), ..self.stops }
    }
}
