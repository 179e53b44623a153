//! Parts of `anachron bench`: repeated measurements, tables, plots, a report, and the projection of a recorded
//! run on more cores than there are. Nothing in here runs or times anything; the command line does.

pub mod breakdown;
pub mod machine;
pub mod paper;
pub mod plot;
pub mod projection;
pub mod sheet;
pub mod spread;

pub use machine::Machine;
pub use sheet::{Section, Table};
pub use spread::Spread;
