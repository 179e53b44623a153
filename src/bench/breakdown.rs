//! Where the time of a run in virtual time went, in the categories of the Time Warp paper.

use crate::runtime::trace::{Phase, Totals};

/// What a core's time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Planning flights, including the time of impact with static geometry.
    Integration,
    /// Searching the table for the earliest contact with other bodies.
    Collision,
    /// Computing contact responses.
    Response,
    /// Handling events, antievents and ghost updates, including the rollbacks they cause.
    Rollback,
    /// Raising global virtual time.
    Gvt,
    /// Acks, sending, mailboxes.
    Messages,
    /// Waiting for work.
    Idle,
}

impl Activity {
    /// All activities, with their names in tables and plots.
    pub const ALL: [(Activity, &str); 7] = [
        (Activity::Collision, "collision checking"),
        (Activity::Response, "response"),
        (Activity::Integration, "integration"),
        (Activity::Rollback, "rollback"),
        (Activity::Gvt, "GVT"),
        (Activity::Messages, "messages"),
        (Activity::Idle, "idle"),
    ];

    /// The activity that a phase of a trace belongs to; none for frames, which a thread of their own evaluates.
    pub fn of(phase: Phase) -> Option<Self> {
        Some(match phase {
            Phase::Step => Activity::Integration,
            Phase::Respond => Activity::Response,
            Phase::Write | Phase::Bucket | Phase::TableReply => Activity::Collision,
            Phase::Event | Phase::Antievent | Phase::GhostUpdate => Activity::Rollback,
            Phase::Migration | Phase::Ack | Phase::Send => Activity::Messages,
            Phase::Gvt => Activity::Gvt,
            Phase::Frames => return None,
        })
    }
}

/// The share of each activity in the time of all virtual cores together, in the order of [`Activity::ALL`]; the time between
/// their handlers and the time of all cores are known.
pub fn shares(cores: &[Totals], between_nanos: f64, all_nanos: f64) -> [f64; 7] {
    let mut nanos = [0.0; 7];
    let index = |activity| Activity::ALL.iter().position(|(known, _)| *known == activity).unwrap_or(0);
    for (phase, spent) in cores.iter().flat_map(Totals::phases) {
        if let Some(activity) = Activity::of(phase) {
            nanos[index(activity)] += spent as f64;
        }
    }
    nanos[index(Activity::Messages)] += between_nanos;
    let busy: f64 = nanos.iter().sum();
    nanos[index(Activity::Idle)] = (all_nanos - busy).max(0.0);
    let sum: f64 = nanos.iter().sum();
    nanos.map(|spent| if sum > 0.0 { spent / sum } else { 0.0 })
}
