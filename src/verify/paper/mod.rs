//! The published algorithm, word by word, to show why the protocol of this crate differs from it.
//!
//! Koenig, Karamouzas and Guy, *Object-Centric Parallel Rigid Body Simulation With Timewarp*: phases step, resolve
//! and rollback (their algorithms 2 to 7), contacts named by pair and tick, events acknowledged when they are
//! applied, GVT raised where all entities are counted. No executor uses any of this.
//!
//! Where the text is unclear, the reading that favours it is taken: an event at tick t acts on the way from t to t + 1; a
//! write or delete with all its locks is one step; the state at the tick that is rolled back to is kept; antievents are
//! sent. Only [`Reading::detector_applies`] goes beyond the text.

mod machine;
mod search;

pub use machine::Reading;
pub use search::{Finding, Sought, find};

/// Something the published algorithm gets wrong, and a model in which it shows.
#[derive(Clone, Debug)]
pub struct Demonstration {
    /// The flaw, in words.
    pub about: &'static str,
    /// The kind of flaw that is searched for.
    pub sought: Sought,
    /// How the text is read, and the model it is run on.
    pub reading: Reading,
}

/// What the published algorithm gets wrong, each with a model in which it shows.
pub fn demonstrations() -> Vec<Demonstration> {
    let reading = Reading { bodies: 2, seed: 0, ticks: 4, window: 2, detector_applies: false };
    vec![
        Demonstration {
            about: "two bodies, window 1: the receiver of an event acknowledges it only when it steps on, and may not step",
            sought: Sought::Deadlock,
            reading: Reading { window: 1, ..reading },
        },
        Demonstration {
            about: "two bodies, window 2: the entity that detects a contact does not respond to it",
            sought: Sought::WrongCommit,
            reading,
        },
        Demonstration {
            about: "three bodies, window 2: an antievent that arrives in phase resolve, while its event is pending, is not acknowledged",
            sought: Sought::Deadlock,
            reading: Reading { bodies: 3, ..reading },
        },
        Demonstration {
            about: "three bodies, window 2, the detector responding: of two contacts at one tick the first is lost \
                    when the second rolls the entity back",
            sought: Sought::WrongCommit,
            reading: Reading { bodies: 3, detector_applies: true, ..reading },
        },
    ]
}
