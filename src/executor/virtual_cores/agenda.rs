//! What will happen, in the order of virtual time. What falls on one instant happens in the order of entry.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Happenings to come.
pub(super) struct Agenda<H> {
    order: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: BTreeMap<u64, H>,
    entered: u64,
}

impl<H> Agenda<H> {
    pub fn new() -> Self {
        Agenda { order: BinaryHeap::new(), happenings: BTreeMap::new(), entered: 0 }
    }

    pub fn enter(&mut self, at: u64, happening: H) {
        self.entered += 1;
        self.order.push(Reverse((at, self.entered)));
        self.happenings.insert(self.entered, happening);
    }

    /// What happens next, and when.
    pub fn next(&mut self) -> Option<(u64, H)> {
        let Reverse((at, number)) = self.order.pop()?;
        self.happenings.remove(&number).map(|happening| (at, happening))
    }

    /// When the last of some happenings falls; 0 if there is none.
    pub fn last_of(&self, is_one: impl Fn(&H) -> bool) -> u64 {
        let ats =
            self.order.iter().filter(|Reverse((_, number))| self.happenings.get(number).is_some_and(&is_one));
        ats.map(|Reverse((at, _))| *at).max().unwrap_or(0)
    }

    /// Everything that is left, in the order of entry.
    pub fn rest(self) -> impl Iterator<Item = H> {
        self.happenings.into_values()
    }
}
