//! Who belongs to which group: decided at epochs, from states alone.
//!
//! Whoever touches at two epochs running has stayed in contact and is joined; whoever has not touched at two epochs
//! running has come free. What hangs together is a group, if it is large enough. Static geometry joins nobody.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::islands::advance::IslandModel;
use crate::islands::summary::IslandSummary;
use crate::physics::collision::broad_phase::Grid;
use crate::physics::{World, touching};

/// Which bodies change islands at the beginning of an epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IslandChange {
    /// Bodies that move, and the island each is in from then on; `None` for a body that comes free.
    pub moves: BTreeMap<u32, Option<u32>>,
    /// Islands that gain or lose a body, and all their bodies from then on, ascending.
    pub crews: BTreeMap<u32, Vec<u32>>,
}

/// Decides epoch by epoch.
pub struct IslandDetector {
    smallest: usize,
    last_tick: Tick,
    /// The group of every body after the last decision, if it is in one.
    homes: Vec<Option<u32>>,
    /// Pairs that touched at the last epoch, ascending.
    touched: Vec<(u32, u32)>,
    grid: Grid,
    radii: Vec<f64>,
    is_known: Vec<bool>,
    summary: IslandSummary,
}

impl IslandDetector {
    /// Nobody is in a group yet.
    pub fn new(world: &World, islands: &IslandModel) -> Self {
        let bodies = world.bodies.len();
        let settings = islands.settings();
        IslandDetector {
            smallest: settings.smallest as usize,
            last_tick: world.time.last_tick,
            homes: vec![None; bodies],
            touched: Vec::new(),
            grid: Grid::default(),
            radii: world.bodies.iter().map(|body| body.radius).collect(),
            is_known: vec![false; bodies],
            summary: IslandSummary {
                workers: islands.workers(),
                epoch_ticks: settings.epoch,
                ..IslandSummary::default()
            },
        }
    }

    /// What has come of it so far.
    pub fn summary(&self) -> &IslandSummary {
        &self.summary
    }

    /// Decides from the states at `tick`, at which an epoch begins, who moves when the next one begins.
    pub fn decide(&mut self, world: &World, tick: Tick, states: &[BodyState]) -> IslandChange {
        let effective = tick + self.summary.epoch_ticks;
        if effective >= self.last_tick {
            // Nobody moves where nobody goes on from.
            return IslandChange::default();
        }
        let touching = self.touching(world, states);
        let bonds = self.bonds(&touching);
        self.touched = touching;
        let homes = self.settled(&bonds);
        let removal = self.removal(&homes);
        self.count(&homes, effective);
        self.homes = homes;
        removal
    }

    fn touching(&mut self, world: &World, states: &[BodyState]) -> Vec<(u32, u32)> {
        let positions: Vec<Vec3> = states.iter().map(|state| state.x).collect();
        let near = self.grid.pairs(&positions, &self.radii, world.rule.broad_margin_m).iter().copied();
        let touch = |(a, b): &(u32, u32)| {
            let (a, b) = (*a as usize, *b as usize);
            touching(&world.rule, &world.bodies[a], &states[a], &world.bodies[b], &states[b]).is_some()
        };
        near.filter(touch).collect()
    }

    /// Pairs that belong together: those that have touched twice, and those of a group that have not been apart twice.
    fn bonds(&self, touching: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let home = |place: &u32| self.homes[*place as usize];
        let are_together = |(a, b): &(u32, u32)| home(a).is_some() && home(a) == home(b);
        let stay = |pair: &&(u32, u32)| are_together(pair) || self.touched.binary_search(pair).is_ok();
        let linger = |pair: &&(u32, u32)| are_together(pair) && touching.binary_search(pair).is_err();
        let bonds = touching.iter().filter(stay).chain(self.touched.iter().filter(linger));
        bonds.copied().collect()
    }

    /// The group of everybody if these pairs belong together. Moving is dear: what was together stays where most of it
    /// has been, the largest first.
    fn settled(&self, bonds: &[(u32, u32)]) -> Vec<Option<u32>> {
        let mut groups = components(self.homes.len(), bonds);
        groups.retain(|group| group.len() >= self.smallest);
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let mut homes = vec![None; self.homes.len()];
        let mut taken = BTreeSet::new();
        let mut newcomers = Vec::new();
        for group in groups {
            let mut known: BTreeMap<u32, usize> = BTreeMap::new();
            for home in group.iter().filter_map(|place| self.homes[*place as usize]) {
                *known.entry(home).or_default() += 1;
            }
            let free = known.into_iter().filter(|(home, _)| !taken.contains(home));
            match free.max_by_key(|(home, count)| (*count, std::cmp::Reverse(*home))) {
                Some((home, _)) => {
                    taken.insert(home);
                    group.iter().for_each(|place| homes[*place as usize] = Some(home));
                }
                None => newcomers.push(group),
            }
        }
        let mut number = 0;
        for group in newcomers {
            while !taken.insert(number) {
                number += 1;
            }
            group.iter().for_each(|place| homes[*place as usize] = Some(number));
        }
        homes
    }

    /// Who has to move.
    fn removal(&self, after: &[Option<u32>]) -> IslandChange {
        let mut removal = IslandChange::default();
        for (place, (from, to)) in self.homes.iter().zip(after).enumerate() {
            if from == to {
                continue;
            }
            removal.moves.insert(place as u32, *to);
            for group in [from, to].into_iter().flatten() {
                removal.crews.entry(*group).or_default();
            }
        }
        if !removal.moves.is_empty() {
            for (place, group) in after.iter().enumerate().filter_map(|(place, to)| Some((place, (*to)?))) {
                if let Some(crew) = removal.crews.get_mut(&group) {
                    crew.push(place as u32);
                }
            }
        }
        removal
    }

    fn count(&mut self, homes: &[Option<u32>], effective: Tick) {
        let summary = &mut self.summary;
        let groups = |homes: &[Option<u32>]| homes.iter().copied().flatten().collect::<BTreeSet<u32>>();
        let (were, are) = (groups(&self.homes), groups(homes));
        summary.groups += are.difference(&were).count() as u64;
        summary.groups_max = summary.groups_max.max(are.len() as u32);
        let mut members = 0;
        for (place, (from, to)) in self.homes.iter().zip(homes).enumerate() {
            match (from, to) {
                (None, Some(_)) => summary.joined += 1,
                (Some(_), None) => summary.freed += 1,
                (from, to) => summary.moved += u64::from(from != to),
            }
            if to.is_some() {
                members += 1;
                let is_new = !std::mem::replace(&mut self.is_known[place], true);
                summary.bodies += u32::from(is_new);
            }
        }
        summary.bodies_max = summary.bodies_max.max(members);
        summary.body_ticks += u64::from(members) * summary.epoch_ticks.min(self.last_tick - effective);
    }
}

/// What hangs together, each ascending, in the order of their first bodies. Those who are alone are left out.
fn components(bodies: usize, bonds: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut leaders: Vec<u32> = (0..bodies as u32).collect();
    fn leader(leaders: &mut [u32], mut at: u32) -> u32 {
        while leaders[at as usize] != at {
            leaders[at as usize] = leaders[leaders[at as usize] as usize];
            at = leaders[at as usize];
        }
        at
    }
    for (a, b) in bonds {
        let (a, b) = (leader(&mut leaders, *a), leader(&mut leaders, *b));
        leaders[a.max(b) as usize] = a.min(b);
    }
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for place in 0..bodies as u32 {
        groups.entry(leader(&mut leaders, place)).or_default().push(place);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::islands::IslandSettings;
    use crate::scene::{Body, Scene, Shape};

    /// Decides about balls of radius 1 in a row, at these places along it.
    fn decider(balls: usize) -> (Arc<World>, IslandDetector) {
        let mut scene = Scene { seconds: 10.0, ..Scene::default() };
        let ball = |at: usize| Body::new(Shape::Sphere { radius: 1.0 }, [10.0 * at as f64, 0.0, 0.0]);
        scene.bodies.extend((0..balls).map(ball));
        let world = Arc::new(World::new(&scene).unwrap());
        let settings = IslandSettings { epoch: 10, ..IslandSettings::default() };
        let decider = IslandDetector::new(&world, &IslandModel::new(&world, settings).unwrap());
        (world, decider)
    }

    fn at(places: &[f64]) -> Vec<BodyState> {
        places.iter().map(|x| BodyState::at_rest(Vec3::x() * *x)).collect()
    }

    /// Bodies that move at each epoch, and those of all groups that change.
    fn told(
        decider: &mut IslandDetector,
        world: &World,
        epochs: &[&[f64]],
    ) -> Vec<(Vec<u32>, Vec<Vec<u32>>)> {
        let mut tick = 0;
        let mut decide = |places: &&[f64]| {
            let removal = decider.decide(world, tick, &at(places));
            tick += 10;
            (removal.moves.keys().copied().collect(), removal.crews.values().cloned().collect())
        };
        epochs.iter().map(&mut decide).collect()
    }

    const APART: [f64; 5] = [0.0, 10.0, 20.0, 30.0, 40.0];
    const THREE: [f64; 5] = [0.0, 2.0, 4.0, 30.0, 40.0];
    const PAIRS: [f64; 5] = [0.0, 2.0, 20.0, 30.0, 32.0];

    #[test]
    fn who_touches_twice_joins_and_who_is_apart_twice_leaves() {
        let (world, mut decider) = decider(5);
        let told = told(&mut decider, &world, &[&THREE, &THREE, &THREE, &APART, &APART]);
        assert_eq!(told[0], (vec![], vec![]));
        assert_eq!(told[1], (vec![0, 1, 2], vec![vec![0, 1, 2]]));
        assert_eq!((&told[2], &told[3]), (&(vec![], vec![]), &(vec![], vec![])));
        assert_eq!(told[4], (vec![0, 1, 2], vec![vec![]]));
        let summary = decider.summary();
        assert_eq!((summary.groups, summary.joined, summary.freed, summary.bodies), (1, 3, 3, 3));
        assert_eq!((summary.bodies_max, summary.body_ticks), (3, 3 * 3 * 10));
    }

    #[test]
    fn too_few_make_no_group_and_a_single_touch_makes_none() {
        let (world, mut decider) = decider(5);
        let told = told(&mut decider, &world, &[&PAIRS, &PAIRS, &THREE, &APART, &THREE, &APART]);
        assert!(told.iter().all(|(moves, _)| moves.is_empty()), "{told:?}");
    }

    #[test]
    fn a_group_stays_where_most_of_it_has_been() {
        let (world, mut decider) = decider(7);
        let two = [0.0, 2.0, 4.0, 30.0, 32.0, 34.0, 36.0];
        let one = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
        let told = told(&mut decider, &world, &[&two, &two, &one, &one]);
        let mut formed = told[1].1.clone();
        formed.sort();
        assert_eq!(formed, [vec![0, 1, 2], vec![3, 4, 5, 6]]);
        // The three move to the four.
        assert_eq!(told[3].0, [0, 1, 2]);
        assert_eq!(decider.summary().moved, 3);
    }

    #[test]
    fn nobody_moves_at_the_end() {
        let (world, mut decider) = decider(5);
        let last = world.time.last_tick;
        decider.decide(&world, last - 10, &at(&THREE));
        assert!(decider.decide(&world, last - 10, &at(&THREE)).moves.is_empty());
        assert_eq!(decider.summary().joined, 0);
    }
}
