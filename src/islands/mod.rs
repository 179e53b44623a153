//! Islands: bodies that stay in contact are solved together, and come free when they part (`--bridge auto`).
//!
//! Membership is decided at epochs, from committed states ([`IslandDetector`]), and takes effect one epoch later. An island
//! has one local virtual time and advances tick by tick ([`IslandModel::advance`]); free bodies keep their own clocks. The
//! sequential executor defines the result here as well. See `docs/overlap.md`.

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
