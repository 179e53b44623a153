//! The toy model in place of the rigid bodies: points on a line that carry a number.
//!
//! Whatever a body learns at a tick (its contacts, the numbers of its neighbours after every round, what the pairs keep)
//! is mixed into its number, and its number decides where it goes and what it touches next. So anything that is lost,
//! doubled, stale or out of order changes everything that follows.

use crate::base::time::Tick;
use crate::protocol::{BodyIndex, Fault};

/// The rules of a toy model. Positions are whole numbers; every choice is a hash of the seed and of numbers of bodies.
#[derive(Clone, Debug)]
pub struct ToyModel {
    /// Number of bodies at the start.
    pub bodies: u32,
    /// Seed of positions, sizes, speeds and contacts.
    pub seed: u64,
    /// Number of rounds in which neighbours learn each other's numbers: the rounds of ghost states.
    pub rounds: u32,
    /// Bodies turn back beyond this distance from the origin.
    pub extent: i64,
    /// Two bodies near each other touch at one tick in `contact_odds`.
    pub contact_odds: u64,
    /// One pair in `sticky_odds` touches at every tick at which its bodies are near each other.
    pub sticky_odds: u64,
    /// A body touches static geometry at one tick in `static_odds`.
    pub static_odds: u64,
    /// The last tick of the run.
    pub last_tick: Tick,
    /// A deliberate fault in the protocol; [`Fault::None`] for none.
    pub fault: Fault,
}

impl Default for ToyModel {
    /// Two bodies that touch at every tick, for four ticks, with two rounds and without static geometry nearby.
    fn default() -> Self {
        ToyModel {
            bodies: 2,
            seed: 0,
            rounds: 2,
            extent: 2,
            contact_odds: 1,
            sticky_odds: 1000,
            static_odds: 1000,
            last_tick: 4,
            fault: Fault::None,
        }
    }
}

/// A flight of the toy model: constant speed and a constant number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToyPath {
    /// The tick at which it begins.
    pub since: Tick,
    /// Position of the body at that tick.
    pub position: i64,
    /// Change of the position per tick.
    pub speed: i64,
    /// The number of the body: a hash of everything it has learned.
    pub number: u64,
}

impl ToyPath {
    /// Position of the body at a tick.
    pub fn position_at(&self, tick: Tick) -> i64 {
        self.position + self.speed * (tick - self.since) as i64
    }
}

/// An input to a body of the toy model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToyInput {
    /// Index of the body.
    pub body: BodyIndex,
    /// What is done to the body.
    pub kind: ToyInputKind,
}

/// Kinds of inputs to a body of the toy model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ToyInputKind {
    /// A push: this is mixed into the number of the body.
    Mix(u64),
    /// The body is spawned on this path.
    Spawn(ToyPath),
    /// The body is despawned.
    Despawn,
}
