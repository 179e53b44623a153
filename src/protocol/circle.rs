//! What entities that regroup by themselves know of each other: how large every crew is, and who has none.
//!
//! These are hints, and may be out of date: they decide who shares a clock with whom, never what is computed.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::message::EntityId;
use crate::sync::{Mutex, lock};

/// Sizes of crews, and vacant entities.
pub struct Circle {
    /// By entity. Those that come later live alone.
    sizes: Box<[AtomicU32]>,
    vacant: Mutex<Vec<EntityId>>,
    /// Crews grow no larger than this.
    largest: u32,
}

impl Circle {
    /// Entities with crews of these sizes, which may grow up to `largest`.
    pub fn new(sizes: impl Iterator<Item = usize>, largest: u32) -> Self {
        let sizes = sizes.map(|size| AtomicU32::new(size as u32)).collect();
        Circle { sizes, vacant: Mutex::default(), largest }
    }

    /// How large a crew is; nothing for who lives alone.
    pub(super) fn size(&self, entity: EntityId) -> Option<u32> {
        self.sizes.get(entity.0 as usize).map(|size| size.load(Relaxed))
    }

    /// An entity has so many bodies now.
    pub(super) fn resize(&self, entity: EntityId, size: u32) {
        if let Some(known) = self.sizes.get(entity.0 as usize) {
            known.store(size, Relaxed);
        }
    }

    /// Announces `more` bodies to a crew, unless it would grow too large.
    pub(super) fn announce(&self, to: EntityId, more: u32) -> bool {
        let Some(size) = self.sizes.get(to.0 as usize) else { return false };
        let fits = size.fetch_add(more, Relaxed) + more <= self.largest;
        if !fits {
            size.fetch_sub(more, Relaxed);
        }
        fits
    }

    /// An entity has lost its last body, and takes in others.
    pub(super) fn offer(&self, entity: EntityId) {
        lock(&self.vacant).push(entity);
    }

    /// An entity without bodies, if there is one.
    pub(super) fn any_vacant(&self) -> Option<EntityId> {
        lock(&self.vacant).pop()
    }
}
