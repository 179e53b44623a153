//! Where the time of a traced run went, in the words of the Time Warp paper.

use crate::runtime::trace::{Phase, Totals};

/// What a core's time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Flights: planning them, first touch with static geometry.
    Integration,
    /// The table: searching for the first touch with others.
    Collision,
    /// Working out how contacts go on.
    Response,
    /// Events, antievents and standings: what they change is taken back while they are handled.
    Rollback,
    /// Global virtual time.
    Gvt,
    /// Answers, sending, mailboxes.
    Messages,
    /// Nothing to do.
    Idle,
}

impl Activity {
    /// All of them, with their names.
    pub const ALL: [(Activity, &str); 7] = [
        (Activity::Collision, "collision checking"),
        (Activity::Response, "response"),
        (Activity::Integration, "integration"),
        (Activity::Rollback, "rollback"),
        (Activity::Gvt, "GVT"),
        (Activity::Messages, "messages"),
        (Activity::Idle, "idle"),
    ];

    /// What a phase counts as; frames are taken beside the cores and count as nothing.
    pub fn of(phase: Phase) -> Option<Self> {
        Some(match phase {
            Phase::Step => Activity::Integration,
            Phase::Respond => Activity::Response,
            Phase::Write | Phase::Bucket | Phase::Table => Activity::Collision,
            Phase::Event | Phase::Antievent | Phase::Standing => Activity::Rollback,
            Phase::Join | Phase::Answer | Phase::Send => Activity::Messages,
            Phase::Gvt => Activity::Gvt,
            Phase::Frames => return None,
        })
    }
}

/// The share of each activity in the time of all cores together, in the order of [`Activity::ALL`].
pub fn shares(cores: &[Totals]) -> [f64; 7] {
    let mut nanos = [0.0; 7];
    let place = |activity| Activity::ALL.iter().position(|(known, _)| *known == activity).unwrap_or(0);
    for core in cores {
        for (phase, spent) in core.phases() {
            if let Some(activity) = Activity::of(phase) {
                nanos[place(activity)] += spent as f64;
            }
        }
        nanos[place(Activity::Messages)] += core.between_nanos as f64;
        nanos[place(Activity::Idle)] += core.idle_nanos as f64;
    }
    let sum: f64 = nanos.iter().sum();
    nanos.map(|spent| if sum > 0.0 { spent / sum } else { 0.0 })
}
