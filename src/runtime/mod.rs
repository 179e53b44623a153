//! What the entities of a speculative run share: virtual time, the hash table, the flights of committed frames, inputs,
//! statistics. No actor is started here; the shells and executors above do that.

pub(crate) mod affinity;
pub(crate) mod density;
pub mod error;
pub mod flight_log;
pub mod inputs;
pub mod island_epochs;
pub mod lvt_histogram;
pub(crate) mod lvt_waiters;
pub mod membership_log;
pub(crate) mod network;
pub mod shared;
pub mod shared_tvht;
pub mod stats;
pub mod throttle;
pub mod trace;
