//! The published algorithm, word by word, to show what the protocol of this crate is different for.
//!
//! Koenig, Karamouzas and Guy, *Object-Centric Parallel Rigid Body Simulation With Timewarp*: phases step, resolve
//! and rollback (their algorithms 2 to 7), contacts named by pair and tick, events acknowledged when they are
//! applied, global virtual time where everybody is counted. Nothing that simulates uses any of this.
//!
//! Read kindly where the text leaves room: an event at tick t acts on the way from t to t + 1; a write or delete
//! with all its locks is one step; the state at the tick that is rolled back to is kept; antievents are sent. Only
//! [`Reading::detector_applies`] goes further.

mod machine;
mod search;

pub use machine::{Flaw, Machine, Reading};
pub use search::{Finding, Sought, find};

/// Something the published algorithm gets wrong, and where it shows.
#[derive(Clone, Debug)]
pub struct Demonstration {
    /// What it is, in words.
    pub about: &'static str,
    /// What is looked for.
    pub sought: Sought,
    /// How the text is read.
    pub reading: Reading,
}

/// What the published algorithm gets wrong, each in a world in which it shows.
pub fn demonstrations() -> Vec<Demonstration> {
    let reading = Reading { bodies: 2, seed: 0, ticks: 4, window: 2, detector_applies: false };
    vec![
        Demonstration {
            about: "two bodies, window 1: who is told acknowledges only when it steps on, and may not",
            sought: Sought::Deadlock,
            reading: Reading { window: 1, ..reading },
        },
        Demonstration {
            about: "two bodies, window 2: who detects a contact does not respond to it",
            sought: Sought::WrongCommit,
            reading,
        },
        Demonstration {
            about: "three bodies, window 2: an antievent that meets its event in resolve is not acknowledged",
            sought: Sought::Deadlock,
            reading: Reading { bodies: 3, ..reading },
        },
        Demonstration {
            about: "three bodies, window 2, the detector responding: of two contacts at one tick the first is lost \
                    when the second rolls it back",
            sought: Sought::WrongCommit,
            reading: Reading { bodies: 3, detector_applies: true, ..reading },
        },
    ]
}
