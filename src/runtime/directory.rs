//! The directory of entities: on which arbiter each one runs, and how many bodies it has.
//!
//! Any thread may read and change it at any time. Entities of bodies that are spawned during a run are added with an
//! arbiter and without a size: they take no part in clustering.

use std::hash::{BuildHasherDefault, Hasher};

use dashmap::DashMap;

use crate::base::sync::{Mutex, lock};
use crate::protocol::{ClusterDirectory, EntityId};

/// The entry of one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Listed {
    /// Index of the arbiter that the entity runs on.
    arbiter: usize,
    /// Number of its bodies; `None` if it takes no part in clustering.
    size: Option<u32>,
}

/// Spreads ids by one multiplication. Ids are dense and come from the run itself, so nothing stronger is needed.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        // The high bits choose the shard, the low ones the slot: both must depend on the number.
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Arbiters and sizes of all entities, and the entities without bodies.
pub struct EntityDirectory {
    entities: DashMap<EntityId, Listed, BuildHasherDefault<IdHasher>>,
    /// Entities without bodies, which can take some.
    retired: Mutex<Vec<EntityId>>,
    /// Most bodies of one cluster.
    largest: u32,
}

impl EntityDirectory {
    /// A directory of entities 0, 1, ... with these sizes, which may grow up to `largest` bodies.
    pub fn new(sizes: impl Iterator<Item = Option<usize>>, largest: u32) -> Self {
        let listed = |size: Option<usize>| Listed { arbiter: 0, size: size.map(|size| size as u32) };
        let sizes: Vec<Listed> = sizes.map(listed).collect();
        let entities = DashMap::with_capacity_and_hasher(sizes.len(), BuildHasherDefault::default());
        for (id, listed) in (0..).map(EntityId).zip(sizes) {
            entities.insert(id, listed);
        }
        EntityDirectory { entities, retired: Mutex::default(), largest }
    }

    /// Notes that an entity runs on this arbiter.
    pub fn assign(&self, entity: EntityId, arbiter: usize) {
        self.entities.entry(entity).or_default().arbiter = arbiter;
    }

    /// The arbiter an entity runs on.
    pub fn arbiter(&self, entity: EntityId) -> Option<usize> {
        self.entities.get(&entity).map(|listed| listed.arbiter)
    }
}

impl ClusterDirectory for EntityDirectory {
    fn size(&self, entity: EntityId) -> Option<u32> {
        self.entities.get(&entity)?.size
    }

    fn resize(&self, entity: EntityId, size: u32) {
        if let Some(known) = self.entities.get_mut(&entity).as_mut().and_then(|listed| listed.size.as_mut()) {
            *known = size;
        }
    }

    fn reserve(&self, to: EntityId, more: u32) -> bool {
        let mut listed = self.entities.get_mut(&to);
        let Some(size) = listed.as_mut().and_then(|listed| listed.size.as_mut()) else { return false };
        let fits = *size + more <= self.largest;
        if fits {
            *size += more;
        }
        fits
    }

    fn release(&self, entity: EntityId) {
        lock(&self.retired).push(entity);
    }

    fn take_free(&self) -> Option<EntityId> {
        lock(&self.retired).pop()
    }
}
