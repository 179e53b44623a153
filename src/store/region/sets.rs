//! Sets of bodies that respond together, as far as a region can see them, and which regions see all of such a set.

use super::Region;
use crate::base::time::Tick;
use crate::store::cells::NONE;
use crate::store::response::Found;

/// A body in contact.
#[derive(Clone)]
struct Member {
    body: u32,
    /// Another member of its set, nearer to the one that stands for all; or itself.
    towards: u32,
    /// Whether its own contacts have been looked for.
    is_searched: bool,
    /// The regions that know everything that may touch a member, as bits; of use where a member stands for all.
    knowers: u64,
}

/// Sets of bodies in contact at one tick.
#[derive(Clone, Default)]
pub(super) struct Sets {
    members: Vec<Member>,
    /// By body: its place among the members, or [`NONE`].
    place: Vec<u32>,
}

impl Sets {
    /// Forgets all, and makes room for so many bodies.
    fn clear(&mut self, bodies: usize) {
        for member in self.members.drain(..) {
            self.place[member.body as usize] = NONE;
        }
        self.place.resize(bodies, NONE);
    }

    /// The place of a body, which is put into a set of its own if it is in none.
    fn place(&mut self, body: u32) -> u32 {
        let place = &mut self.place[body as usize];
        if *place == NONE {
            *place = self.members.len() as u32;
            self.members.push(Member { body, towards: *place, is_searched: false, knowers: u64::MAX });
        }
        *place
    }

    /// The place of the body that stands for all of the set.
    fn root(&mut self, body: u32) -> usize {
        let mut at = self.place(body) as usize;
        loop {
            let next = self.members[at].towards as usize;
            if next == at {
                return at;
            }
            self.members[at].towards = self.members[next].towards;
            at = next;
        }
    }

    /// Two bodies touch.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.members[b].towards = a as u32;
        self.members[a].knowers &= self.members[b].knowers;
    }

    /// The regions that know the whole set of a body, as far as it has been looked at.
    fn knowers(&mut self, body: u32) -> u64 {
        let root = self.root(body);
        self.members[root].knowers
    }

    /// What may touch this member of a set is known to these regions only.
    fn narrow(&mut self, body: u32, knowers: u64) {
        let root = self.root(body);
        self.members[root].knowers &= knowers;
    }

    /// Says once whether the contacts of a body are to be looked for.
    fn search(&mut self, body: u32) -> bool {
        let place = self.place(body) as usize;
        !std::mem::replace(&mut self.members[place].is_searched, true)
    }
}

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// The regions that know everything that may touch a body which this region knows, as bits.
    fn knowers(&self, body: u32, tick: Tick) -> u64 {
        let far_m = self.partition.reach_m + self.partition.step_max_m;
        let x = self.flights.hot(body).position_at(self.world, tick);
        let around = self.gear.lattice.distances_around(x).filter(|(_, distance_m)| *distance_m < far_m);
        let here = self.partition.watchers(self.gear.lattice.cell(x));
        around.fold(here, |all, (cell, _)| all & self.partition.watchers(cell))
    }

    /// Finds the sets of what was found, which begins with all contacts of own bodies. Of sets that this region knows
    /// all contacts are added, replicas with each other included, so that they are solved here and need not be waited
    /// for. Of all others it *hears* the replicas that touch its bodies; and it *speaks* of its bodies to the owners of
    /// what these touch, in sets that those do not know. Whether a region knows a set follows from where its bodies are,
    /// so both sides agree.
    pub(super) fn widen(&mut self, mut todo: Vec<u32>, tick: Tick) {
        let mut sets = std::mem::take(&mut self.sets);
        let of_own = self.response.found.len();
        sets.clear(self.flights.len());
        for found in self.response.found.iter().filter(|found| !found.key.is_static) {
            sets.join(found.key.a, found.key.b);
        }
        let mut searched = Vec::new();
        while let Some(body) = todo.pop() {
            if !sets.search(body) {
                continue;
            }
            sets.narrow(body, self.knowers(body, tick));
            if sets.knowers(body) >> self.me & 1 == 0 {
                continue;
            }
            searched.push(body);
            self.touch_statics(body, tick);
            for cell in self.gear.lattice.around(self.gear.cells.cell_of(body)) {
                let mut other = self.gear.cells.first(cell);
                while other != NONE {
                    if other != body && self.touch(body, other, tick) {
                        sets.join(body, other);
                        if !self.owns_body(other) {
                            todo.push(other);
                        }
                    }
                    other = self.gear.cells.next(other);
                }
            }
        }
        let me = self.me;
        let mut at = 0;
        self.response.found.retain(|found| {
            at += 1;
            at <= of_own || sets.knowers(found.key.a) >> me & 1 == 1
        });
        self.narrow_by_own(&mut sets, &searched, tick);
        self.list_partners(&mut sets, tick);
        self.sets = sets;
    }

    /// Finds out which other regions know the sets of replicas that have been searched: they have to know what is around
    /// the bodies of this region as well.
    fn narrow_by_own(&self, sets: &mut Sets, searched: &[u32], tick: Tick) {
        let mut known: Vec<usize> = Vec::new();
        for body in searched {
            if sets.knowers(*body) >> self.me & 1 == 1 {
                known.push(sets.root(*body));
            }
        }
        known.sort_unstable();
        for Found { key, .. } in self.response.found.iter().filter(|found| !found.key.is_static) {
            if !known.is_empty() && known.binary_search(&sets.root(key.a)).is_ok() {
                for body in [key.a, key.b].into_iter().filter(|body| self.owns_body(*body)) {
                    sets.narrow(body, self.knowers(body, tick));
                }
            }
        }
    }

    /// Lists what this region hears and speaks of.
    fn list_partners(&mut self, sets: &mut Sets, tick: Tick) {
        let mut hears = Vec::new();
        self.speaks.clear();
        for Found { key, .. } in self.response.found.iter().filter(|found| !found.key.is_static) {
            let (own, replica) = match (self.owns_body(key.a), self.owns_body(key.b)) {
                (true, false) => (key.a, key.b),
                (false, true) => (key.b, key.a),
                (true, true) | (false, false) => continue,
            };
            let (knowers, other) = (sets.knowers(own), self.owner_of(replica));
            let is_open = knowers >> self.me & 1 == 0;
            if is_open {
                hears.push((replica, other));
            }
            if is_open || knowers >> other & 1 == 0 {
                self.speaks.push((other, own));
            }
        }
        self.speaks.sort_unstable();
        self.speaks.dedup();
        hears.sort_unstable();
        hears.dedup();
        self.log(tick).hears = hears;
    }
}
