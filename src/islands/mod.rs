//! The bridge from Time Warp to workers: bodies that stay in contact are handed to a group that is solved together,
//! and handed back when they come free.
//!
//! Who is in which group from when on is decided at epochs, from committed states ([`Decider`]), and takes effect one
//! epoch later. A group has one local virtual time and advances tick by tick ([`Bridging::advance`]); everybody else
//! keeps its own clock. [`crate::executor::sequential`] defines the result here as well; `docs/overlap.md` tells the
//! whole story.

mod advance;
mod cache;
mod detect;
mod settings;
mod summary;
mod workspace;

pub use advance::{Advanced, Bridging};
pub use cache::{GroupMemory, Memory};
pub(crate) use cache::{KnownPair, static_partner};
pub use detect::{Decider, IslandChange};
pub use settings::BridgeSettings;
pub use summary::BridgeSummary;
pub use workspace::Spaces;
