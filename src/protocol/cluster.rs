//! What entities that recluster by themselves know of each other: how large every cluster is, and which entity has no
//! body.
//!
//! These are hints, and may be out of date: they decide which bodies share a clock, never what is computed.

use super::message::EntityId;

/// Sizes of clusters, and entities without bodies.
pub trait ClusterDirectory: Sync {
    /// Number of bodies of an entity; `None` for an entity that stays alone.
    fn size(&self, entity: EntityId) -> Option<u32>;

    /// An entity has `size` bodies now.
    fn resize(&self, entity: EntityId, size: u32);

    /// Reserves room for `more` bodies in a cluster. Refused if it would grow too large.
    fn reserve(&self, to: EntityId, more: u32) -> bool;

    /// An entity has lost its last body, and may be given others.
    fn release(&self, entity: EntityId);

    /// Takes an entity without bodies, if there is one.
    fn take_free(&self) -> Option<EntityId>;
}
