//! Which bodies form islands: decided at epochs, from states alone.
//!
//! Two bodies that touch at two successive epochs have stayed in contact and belong together. Two bodies of one island that
//! do not touch at two successive epochs no longer do. A connected component of such pairs is an island if it is large
//! enough. Static geometry connects nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::components::connected_components;
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
    pub members: BTreeMap<u32, Vec<u32>>,
}

/// Decides membership epoch by epoch.
pub struct IslandDetector {
    bodies_min: usize,
    last_tick: Tick,
    /// The island of every body after the last decision; `None` for free bodies.
    membership: Vec<Option<u32>>,
    /// Pairs that touched at the last epoch, ascending.
    touching_before: Vec<(u32, u32)>,
    grid: Grid,
    radii: Vec<f64>,
    /// Whether a body was ever in an island.
    was_member: Vec<bool>,
    summary: IslandSummary,
}

impl IslandDetector {
    /// A detector for a world in which all bodies are free.
    pub fn new(world: &World, islands: &IslandModel) -> Self {
        let bodies = world.bodies.len();
        let settings = islands.settings();
        IslandDetector {
            bodies_min: settings.bodies_min as usize,
            last_tick: world.time.last_tick,
            membership: vec![None; bodies],
            touching_before: Vec::new(),
            grid: Grid::default(),
            radii: world.bodies.iter().map(|body| body.radius).collect(),
            was_member: vec![false; bodies],
            summary: IslandSummary {
                workers: islands.workers(),
                epoch_ticks: settings.epoch_ticks,
                ..IslandSummary::default()
            },
        }
    }

    /// All changes so far, counted.
    pub fn summary(&self) -> &IslandSummary {
        &self.summary
    }

    /// Decides which bodies move at the beginning of the next epoch, from the states at `tick`, where an epoch begins.
    pub fn detect(&mut self, world: &World, tick: Tick, states: &[BodyState]) -> IslandChange {
        let effective = tick + self.summary.epoch_ticks;
        if effective >= self.last_tick {
            // The run ends before the change would take effect.
            return IslandChange::default();
        }
        let touching = self.touching(world, states);
        let edges = self.lasting_contacts(&touching);
        self.touching_before = touching;
        let membership = self.next_membership(edges);
        let change = self.change(&membership);
        self.count(&membership, effective);
        self.membership = membership;
        change
    }

    /// Pairs that touch, ascending.
    fn touching(&mut self, world: &World, states: &[BodyState]) -> Vec<(u32, u32)> {
        let positions: Vec<Vec3> = states.iter().map(|state| state.x).collect();
        let near = self.grid.pairs(&positions, &self.radii, world.rule.broad_margin_m).iter().copied();
        let touch = |(a, b): &(u32, u32)| {
            let (a, b) = (*a as usize, *b as usize);
            touching(&world.rule, &world.bodies[a], &states[a], &world.bodies[b], &states[b]).is_some()
        };
        near.filter(touch).collect()
    }

    /// Pairs that belong together: those that touched at two successive epochs, and those of one island that touched at
    /// one of the last two.
    fn lasting_contacts(&self, touching: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let island = |body: &u32| self.membership[*body as usize];
        let are_together = |(a, b): &(u32, u32)| island(a).is_some() && island(a) == island(b);
        let touched_before = |pair: &(u32, u32)| self.touching_before.binary_search(pair).is_ok();
        let lasts = |pair: &&(u32, u32)| are_together(pair) || touched_before(pair);
        let has_parted = |pair: &&(u32, u32)| are_together(pair) && touching.binary_search(pair).is_err();
        let parted = self.touching_before.iter().filter(has_parted);
        touching.iter().filter(lasts).chain(parted).copied().collect()
    }

    /// The island of every body if these pairs belong together. Migration is expensive, so a component keeps the number of
    /// the island that most of its bodies were in; the largest component chooses first.
    fn next_membership(&self, edges: Vec<(u32, u32)>) -> Vec<Option<u32>> {
        let mut components = connected_components(self.membership.len(), edges);
        components.retain(|component| component.len() >= self.bodies_min);
        components.sort_by_key(|component| std::cmp::Reverse(component.len()));
        let mut membership = vec![None; self.membership.len()];
        let mut taken = BTreeSet::new();
        let mut new_islands = Vec::new();
        for component in components {
            let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
            for island in component.iter().filter_map(|body| self.membership[*body as usize]) {
                *counts.entry(island).or_default() += 1;
            }
            let free = counts.into_iter().filter(|(island, _)| !taken.contains(island));
            match free.max_by_key(|(island, count)| (*count, std::cmp::Reverse(*island))) {
                Some((island, _)) => {
                    taken.insert(island);
                    component.iter().for_each(|body| membership[*body as usize] = Some(island));
                }
                None => new_islands.push(component),
            }
        }
        let mut number = 0;
        for component in new_islands {
            while !taken.insert(number) {
                number += 1;
            }
            component.iter().for_each(|body| membership[*body as usize] = Some(number));
        }
        membership
    }

    /// The difference between the current membership and the next.
    fn change(&self, next: &[Option<u32>]) -> IslandChange {
        let mut change = IslandChange::default();
        for (body, (from, to)) in self.membership.iter().zip(next).enumerate() {
            if from == to {
                continue;
            }
            change.moves.insert(body as u32, *to);
            for island in [from, to].into_iter().flatten() {
                change.members.entry(*island).or_default();
            }
        }
        if !change.moves.is_empty() {
            for (body, island) in next.iter().enumerate().filter_map(|(body, to)| Some((body, (*to)?))) {
                if let Some(members) = change.members.get_mut(&island) {
                    members.push(body as u32);
                }
            }
        }
        change
    }

    fn count(&mut self, next: &[Option<u32>], effective: Tick) {
        let summary = &mut self.summary;
        let islands = |membership: &[Option<u32>]| membership.iter().copied().flatten().collect();
        let (before, after): (BTreeSet<u32>, BTreeSet<u32>) = (islands(&self.membership), islands(next));
        summary.islands += after.difference(&before).count() as u64;
        summary.islands_max = summary.islands_max.max(after.len() as u32);
        let mut members = 0;
        for (body, (from, to)) in self.membership.iter().zip(next).enumerate() {
            match (from, to) {
                (None, Some(_)) => summary.bodies_joined += 1,
                (Some(_), None) => summary.bodies_freed += 1,
                (from, to) => summary.bodies_moved += u64::from(from != to),
            }
            if to.is_some() {
                members += 1;
                let is_new = !std::mem::replace(&mut self.was_member[body], true);
                summary.bodies += u32::from(is_new);
            }
        }
        summary.bodies_max = summary.bodies_max.max(members);
        summary.body_ticks += u64::from(members) * summary.epoch_ticks.min(self.last_tick - effective);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::islands::IslandSettings;
    use crate::scene::{Body, Scene, Shape};

    /// A detector for balls of radius 1, all free.
    fn detector(balls: usize) -> (Arc<World>, IslandDetector) {
        let mut scene = Scene { seconds: 10.0, ..Scene::default() };
        let ball = |at: usize| Body::new(Shape::Sphere { radius: 1.0 }, [10.0 * at as f64, 0.0, 0.0]);
        scene.bodies.extend((0..balls).map(ball));
        let world = Arc::new(World::new(&scene).unwrap());
        let settings = IslandSettings { epoch_ticks: 10, ..IslandSettings::default() };
        let detector = IslandDetector::new(&world, &IslandModel::new(&world, settings).unwrap());
        (world, detector)
    }

    /// Balls in a row, at these positions along it.
    fn at(positions: &[f64]) -> Vec<BodyState> {
        positions.iter().map(|x| BodyState::at_rest(Vec3::x() * *x)).collect()
    }

    /// The bodies that move at each epoch, and the members of all islands that change.
    fn changes(
        detector: &mut IslandDetector,
        world: &World,
        epochs: &[&[f64]],
    ) -> Vec<(Vec<u32>, Vec<Vec<u32>>)> {
        let mut tick = 0;
        let mut detect = |positions: &&[f64]| {
            let change = detector.detect(world, tick, &at(positions));
            tick += 10;
            (change.moves.keys().copied().collect(), change.members.values().cloned().collect())
        };
        epochs.iter().map(&mut detect).collect()
    }

    const APART: [f64; 5] = [0.0, 10.0, 20.0, 30.0, 40.0];
    const THREE: [f64; 5] = [0.0, 2.0, 4.0, 30.0, 40.0];
    const PAIRS: [f64; 5] = [0.0, 2.0, 20.0, 30.0, 32.0];

    #[test]
    fn two_epochs_in_contact_join_and_two_epochs_apart_free() {
        let (world, mut detector) = detector(5);
        let changes = changes(&mut detector, &world, &[&THREE, &THREE, &THREE, &APART, &APART]);
        assert_eq!(changes[0], (vec![], vec![]));
        assert_eq!(changes[1], (vec![0, 1, 2], vec![vec![0, 1, 2]]));
        assert_eq!((&changes[2], &changes[3]), (&(vec![], vec![]), &(vec![], vec![])));
        assert_eq!(changes[4], (vec![0, 1, 2], vec![vec![]]));
        let summary = detector.summary();
        assert_eq!(
            (summary.islands, summary.bodies_joined, summary.bodies_freed, summary.bodies),
            (1, 3, 3, 3)
        );
        assert_eq!((summary.bodies_max, summary.body_ticks), (3, 3 * 3 * 10));
    }

    #[test]
    fn pairs_and_single_contacts_form_no_island() {
        let (world, mut detector) = detector(5);
        let changes = changes(&mut detector, &world, &[&PAIRS, &PAIRS, &THREE, &APART, &THREE, &APART]);
        assert!(changes.iter().all(|(moves, _)| moves.is_empty()), "{changes:?}");
    }

    #[test]
    fn a_merged_island_keeps_the_number_of_its_largest_part() {
        let (world, mut detector) = detector(7);
        let two = [0.0, 2.0, 4.0, 30.0, 32.0, 34.0, 36.0];
        let one = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
        let changes = changes(&mut detector, &world, &[&two, &two, &one, &one]);
        let mut formed = changes[1].1.clone();
        formed.sort();
        assert_eq!(formed, [vec![0, 1, 2], vec![3, 4, 5, 6]]);
        // The smaller island moves to the larger one.
        assert_eq!(changes[3].0, [0, 1, 2]);
        assert_eq!(detector.summary().bodies_moved, 3);
    }

    #[test]
    fn no_change_takes_effect_at_the_end() {
        let (world, mut detector) = detector(5);
        let last = world.time.last_tick;
        detector.detect(&world, last - 10, &at(&THREE));
        assert!(detector.detect(&world, last - 10, &at(&THREE)).moves.is_empty());
        assert_eq!(detector.summary().bodies_joined, 0);
    }
}
