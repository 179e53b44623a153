//! Regrouping: who keeps touching others joins them, and who is no longer near its cluster leaves it.
//!
//! What is observed is committed, and a handover happens at global virtual time. Who shares a clock with whom
//! never changes a result, so hints may be out of date and nothing here need be exact.

use crate::base::components::connected_components;
use crate::base::time::Tick;
use crate::protocol::cluster::ClusterDirectory;
use crate::protocol::dynamics::{BodyIndex, Dynamics, Response};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Entity, Limits};
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::message::EntityId;

/// Island is observed for so many ticks before anybody joins others.
const OBSERVED: Tick = 8;
/// And for so many before those part who do not touch.
const OBSERVED_LONG: Tick = 64;
/// Who touches remotes at one of so many ticks joins them.
const SELDOM: u64 = 32;
/// What an entity has seen of its company since it last thought about it.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterStats {
    /// When it last thought about it.
    since: Tick,
    /// Ticks at which it touched remotes and was held.
    encounters: u64,
    /// The size it has made known.
    size: Option<u32>,
}

impl ClusterStats {
    /// A response is settled. Who bounces off is gone again; who is held makes company.
    pub fn record<D: Dynamics>(&mut self, response: &Response<D>) {
        self.encounters += u64::from(!response.ghosts.is_empty() && response.is_resting);
    }

    fn reset(&mut self, now: Tick) {
        *self = ClusterStats { since: now, size: self.size, ..ClusterStats::default() };
    }
}

impl<D: Dynamics> Entity<D> {
    /// Makes known how large its cluster is, and joins others or parts if the time has come. To be called before
    /// every step. At the last tick nobody moves any more: whoever has come there may have been told that all are
    /// done.
    pub(in crate::protocol) fn recluster(
        &mut self,
        directory: &dyn ClusterDirectory,
        limits: &Limits,
        now: VirtualTimes,
        out: &mut Effects<D>,
    ) {
        self.publish_size(directory);
        if now.gvt >= limits.last_tick {
            return;
        }
        let is_time = now.gvt >= self.cluster_stats.since + OBSERVED && self.can_migrate(now.gvt);
        if !is_time || self.is_retired() || !self.inputs.is_empty() || directory.size(self.id).is_none() {
            return;
        }
        let observed = now.gvt - self.cluster_stats.since;
        let is_often = self.cluster_stats.encounters * SELDOM >= observed;
        // A large cluster can keep who is apart for long: it would have to respond again and again if they came back.
        let patience = OBSERVED_LONG.max(self.members.len() as u64);
        let largest_touching = if is_often { self.largest_touching(directory) } else { None };
        let largest_touching = largest_touching
            .filter(|largest_touching| directory.reserve(*largest_touching, self.members.len() as u32));
        let migrations_out = match largest_touching {
            Some(largest_touching) => vec![(self.members.clone(), largest_touching)],
            None if self.members.len() > 1 && observed >= patience => self.disconnected(directory),
            // Somebody may yet turn up; meanwhile the cluster gets to know itself.
            None if self.members.len() > 1 || is_often => return,
            None => Vec::new(),
        };
        if !migrations_out.is_empty() {
            self.migrate_to(&migrations_out, now.gvt, out);
        }
        self.cluster_stats.reset(now.gvt);
    }

    /// Makes known how large its cluster is, if that has changed.
    pub(in crate::protocol) fn publish_size(&mut self, directory: &dyn ClusterDirectory) {
        let size = if self.is_retired() { 0 } else { self.members.len() as u32 };
        if self.cluster_stats.size != Some(size) {
            directory.resize(self.id, size);
            if size == 0 && directory.size(self.id).is_some() {
                directory.offer(self.id);
            }
            self.cluster_stats.size = Some(size);
        }
    }

    /// The largest cluster it touches, if that is larger than its own: the smaller moves to the larger.
    fn largest_touching(&self, directory: &dyn ClusterDirectory) -> Option<EntityId> {
        let latest = self.history.latest()?;
        let rank = |id: EntityId| directory.size(id).map(|size| (size, std::cmp::Reverse(id)));
        let mine = rank(self.id)?;
        let others = latest.remotes.iter().map(|known| known.version.entity);
        others.filter(|other| rank(*other) > Some(mine)).max_by_key(|other| rank(*other))
    }

    /// Bodies that are no longer near the rest of the cluster, and retired entities that take them in.
    fn disconnected(&self, directory: &dyn ClusterDirectory) -> Vec<(Vec<BodyIndex>, EntityId)> {
        let Some(latest) = self.history.latest() else { return Vec::new() };
        let cluster: Vec<BodyIndex> = latest.track.bodies().collect();
        let mut groups = groups(&cluster, latest.track.cell_cover.companions());
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let leaving = groups.into_iter().skip(1);
        leaving.map_while(|group| Some((group, directory.take_free()?))).collect()
    }
}

/// The connected groups of a list of places, by pairs of numbers in the list.
fn groups(places: &[BodyIndex], bonds: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<BodyIndex>> {
    let groups = connected_components(places.len(), bonds).into_iter();
    groups.map(|group| group.into_iter().map(|at| places[at as usize]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bonds_hold_groups_together() {
        let found = groups(&[2, 3, 5, 7, 11, 13], [(1, 3), (5, 3), (0, 2)].into_iter());
        assert_eq!(found, [vec![2, 5], vec![3, 7, 13], vec![11]]);
    }
}
