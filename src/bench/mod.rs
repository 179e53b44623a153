//! Parts of `anachron bench`: repeated measurements, tables, plots, a report. Nothing in here runs or times anything; the
//! command line does.

pub mod breakdown;
pub mod machine;
pub mod paper;
pub mod plot;
pub mod sheet;
pub mod spread;

pub use machine::Machine;
pub use sheet::{Section, Table};
pub use spread::Spread;
