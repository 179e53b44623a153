//! The temporal volumetric hash table, without threads: which cells a flight passes, the buckets that hold tracks, and
//! a write that finds the first contact on its way through them.

mod bucket;
mod cell_cover;
mod cell_grid;
mod request;
mod track;
mod write;

pub use bucket::{Bucket, Encounter, Entry};
pub use cell_cover::{CellCover, CellSpan};
pub use cell_grid::{Aabb32, Cell, CellRange, Grid};
pub(crate) use request::{BucketQueue, Passed, TableRequest};
pub use track::Track;
pub use write::TableWrite;
