//! The temporal volumetric hash table, without threads: which cells a flight passes, the buckets that hold tracks, and
//! a write that finds the first contact on its way through them.

mod bucket;
mod cell_cover;
mod cell_grid;
mod request;
mod write;

pub use bucket::{Bucket, Entry, Found, Track};
pub use cell_cover::{Layout, Passage};
pub use cell_grid::{Cell, Grid, Reach, RoughBounds};
pub(crate) use request::{Keeper, Passed, Ticket};
pub use write::Search;
