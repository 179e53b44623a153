//! The Time Warp protocol as state machines without IO: no actor, clock, thread, lock or socket in here.
//!
//! An [`Entity`] (a logical process) owns one body, or an island of bodies. It flies ahead in its own time, writes its
//! tracks into the temporal volumetric hash table, finds its contacts there, announces them by events, and rolls back
//! when a straggler shows that it was wrong. Executors deliver its messages through a [`Driver`]; they decide nothing.
//!
//! The ideas, each of which `docs/protocol.md` argues for:
//!
//! 1. **Versions.** Every rollback starts a new version. A contact is between two versions, and a message for a version
//!    that is gone is rejected.
//! 2. **Contacts live at the end of a segment.** Any change of what is known at tick t rolls back to t. That one rule is
//!    the whole of rollback.
//! 3. **Always receptive.** Every message is handled in full when it arrives, in every phase, and acknowledged at once,
//!    after the rollback and after the LVT has moved. No handler waits.
//! 4. **No step while acknowledgements are pending.** An entity goes on only when everything it sent has been
//!    acknowledged; so its LVT bounds everything it can still cause.

pub mod codec;
mod driver;
mod dynamics;
mod effects;
mod entity;
mod fault;
mod gvt;
mod history;
mod membership;
mod message;
mod stats;
mod tvht;

pub use driver::{Context, Driver, Handled, Next};
pub use dynamics::{
    BodyIndex, CachedContact, Cluster, ContactCounts, Dynamics, GhostToSend, PartnerKey, RemoteContact,
    Response, ResponseInput, SharedTick, Wire,
};
pub use effects::{Effects, Shell, StartedFlight};
pub use entity::{Entity, Limits, Plan, WriteResult};
pub use fault::Fault;
pub use gvt::{GvtService, VirtualTimes};
pub use membership::{Membership, MembershipChange};
pub use message::{At, EntityId, Message, Migration, Serial, Version};
pub use stats::Stats;
pub use tvht::{
    Aabb32, Bucket, Cell, CellCover, CellRange, CellSpan, Encounter, Entry, Grid, TableWrite, Track,
};
pub(crate) use tvht::{BucketQueue, Passed, TableRequest};
