//! The bridge from Time Warp to workers: bodies that stay in contact are handed to a group that is solved together,
//! and handed back when they come free.
//!
//! Who is in which group from when on is decided at epochs, from committed states ([`IslandDetector`]), and takes effect one
//! epoch later. A group has one local virtual time and advances tick by tick ([`IslandModel::advance`]); everybody else
//! keeps its own clock. [`crate::executor::sequential`] defines the result here as well; `docs/overlap.md` tells the
//! whole story.

mod advance;
mod cache;
mod detect;
mod settings;
mod summary;
mod workspace;

pub use advance::{Advanced, IslandModel};
pub use cache::{ContactCache, IslandCache};
pub(crate) use cache::{KnownPair, static_partner};
pub use detect::{IslandChange, IslandDetector};
pub use settings::IslandSettings;
pub use summary::IslandSummary;
pub use workspace::Workspaces;
