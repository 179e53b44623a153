//! Ids of bodies and static objects: small integers that are stable across runs, executors and machines.
//!
//! Ids order every sum in the simulator, so they decide bits.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A dynamic body. By default its position in the scene's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BodyId(pub u32);

/// A piece of static geometry. By default its position in the scene's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StaticId(pub u32);

impl fmt::Display for BodyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "body {}", self.0)
    }
}

impl fmt::Display for StaticId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "static {}", self.0)
    }
}
