//! The list of bodies of a world: those of the scene, and those that are spawned during a run.
//!
//! It only ever grows, and may be read while it grows. A body keeps its index; indices ascend with ids.

use std::ops::Index;

use crate::base::ids::BodyId;
use crate::physics::world::BodyDef;

/// Bodies in ascending id.
#[derive(Clone, Default)]
pub struct Bodies {
    /// The bodies of the scene, in ascending id.
    scene: Vec<BodyDef>,
    /// The bodies that are spawned during the run, in ascending id.
    late: boxcar::Vec<BodyDef>,
}

impl Bodies {
    /// The bodies of a scene, in any order.
    pub fn new(mut scene: Vec<BodyDef>) -> Self {
        // Sorting would take half as much memory again, and most scenes are in order.
        if !scene.is_sorted_by_key(|body| body.id) {
            scene.sort_by_key(|body| body.id);
        }
        Bodies { scene, late: boxcar::Vec::new() }
    }

    /// The bodies there are at tick 0.
    pub fn at_start(&self) -> &[BodyDef] {
        &self.scene
    }

    /// The number of all bodies so far, those that are despawned included.
    pub fn len(&self) -> usize {
        self.scene.len() + self.late.count()
    }

    /// Whether there are no bodies.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bodies in ascending id.
    pub fn iter(&self) -> impl Iterator<Item = &BodyDef> {
        (0..self.len()).map(|index| &self[index])
    }

    /// The index of the body with this id.
    pub fn index_of(&self, id: BodyId) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        (low < self.len() && self[low].id == id).then_some(low)
    }

    /// Adds a body with an id above all others. One caller at a time. Returns its index.
    pub(crate) fn push(&self, body: BodyDef) -> usize {
        self.scene.len() + self.late.push(body)
    }
}

impl Index<usize> for Bodies {
    type Output = BodyDef;

    #[inline]
    fn index(&self, index: usize) -> &BodyDef {
        match self.scene.get(index) {
            Some(body) => body,
            None => &self.late[index - self.scene.len()],
        }
    }
}
