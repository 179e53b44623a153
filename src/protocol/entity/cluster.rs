//! Reclustering: an entity with bodies that keep touching a larger cluster joins it, and bodies that are no longer
//! near their cluster leave it.
//!
//! Decisions rest on committed ticks, and bodies migrate at GVT. Which bodies share a clock never changes a result, so
//! the sizes in the directory are hints that may be out of date.

use crate::base::components::connected_components;
use crate::base::time::Tick;
use crate::protocol::cluster::ClusterDirectory;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::{Dynamics, Response};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Entity, Limits};
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::message::EntityId;

/// An entity is observed for this many ticks before it joins another. Not tuned.
const OBSERVED_TICKS: Tick = 8;
/// And for this many before bodies that touch nothing of the cluster leave it. Not tuned.
const OBSERVED_LONG_TICKS: Tick = 64;
/// An entity that is held by remote bodies at more than one of this many ticks joins them. Not tuned.
const HELD_ONE_IN: u64 = 32;

/// What an entity has learnt about its cluster since it last reclustered.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterStats {
    /// The tick of the last decision.
    since: Tick,
    /// Ticks at which it touched remote bodies and was held.
    encounters: u64,
    /// The size that the directory knows.
    size: Option<u32>,
}

impl ClusterStats {
    /// Of an entity that begins with this many bodies, as the directory knows. An entity without bodies has yet to say
    /// that it can be given some.
    pub fn new(bodies: usize) -> Self {
        ClusterStats { size: (bodies > 0).then_some(bodies as u32), ..ClusterStats::default() }
    }

    /// A response is committed. Bodies that bounce part again; bodies that are held belong together.
    pub fn record<D: Dynamics>(&mut self, response: &Response<D>) {
        self.encounters += u64::from(!response.ghosts.is_empty() && response.is_resting);
    }

    fn reset(&mut self, now: Tick) {
        *self = ClusterStats { since: now, size: self.size, ..ClusterStats::default() };
    }
}

impl<D: Dynamics> Entity<D> {
    /// Publishes the size of its cluster, and joins another or splits if it is time. At the last tick nothing migrates:
    /// the run may already count as done.
    pub(in crate::protocol) fn recluster(
        &mut self,
        directory: &dyn ClusterDirectory,
        limits: &Limits,
        times: VirtualTimes,
        out: &mut Effects<D>,
    ) {
        self.publish_size(directory);
        if times.gvt >= limits.last_tick {
            return;
        }
        let is_time = times.gvt >= self.cluster_stats.since + OBSERVED_TICKS && self.can_migrate(times.gvt);
        if !is_time || self.is_retired() || !self.inputs.is_empty() || directory.size(self.id).is_none() {
            return;
        }
        let observed = times.gvt - self.cluster_stats.since;
        let is_often = self.cluster_stats.encounters * HELD_ONE_IN >= observed;
        // A large cluster keeps bodies that are apart for longer: if they came back, it would have to respond anew.
        let patience = OBSERVED_LONG_TICKS.max(self.members.len() as u64);
        let host = if is_often { self.largest_touching(directory) } else { None };
        let host = host.filter(|host| directory.reserve(*host, self.members.len() as u32));
        let leaving = match host {
            Some(host) => vec![(self.members.clone(), host)],
            None if self.members.len() > 1 && observed >= patience => self.disconnected(directory),
            // A larger cluster may yet be near; meanwhile observation goes on.
            None if self.members.len() > 1 || is_often => return,
            None => Vec::new(),
        };
        if !leaving.is_empty() {
            self.migrate_to(&leaving, times.gvt, out);
        }
        self.cluster_stats.reset(times.gvt);
    }

    /// Publishes the size of its cluster, if that has changed.
    pub(in crate::protocol) fn publish_size(&mut self, directory: &dyn ClusterDirectory) {
        let size = if self.is_retired() { 0 } else { self.members.len() as u32 };
        if self.cluster_stats.size != Some(size) {
            directory.resize(self.id, size);
            if size == 0 && directory.size(self.id).is_some() {
                directory.release(self.id);
            }
            self.cluster_stats.size = Some(size);
        }
    }

    /// The largest cluster it touches, if that is larger than its own: the smaller joins the larger.
    fn largest_touching(&self, directory: &dyn ClusterDirectory) -> Option<EntityId> {
        let latest = self.history.latest()?;
        let rank = |id: EntityId| directory.size(id).map(|size| (size, std::cmp::Reverse(id)));
        let mine = rank(self.id)?;
        let others = latest.remotes.iter().map(|known| known.version.entity);
        others.filter(|other| rank(*other) > Some(mine)).max_by_key(|other| rank(*other))
    }

    /// Bodies that are no longer near the rest of the cluster, and retired entities that can have them.
    fn disconnected(&self, directory: &dyn ClusterDirectory) -> Vec<(Vec<BodyIndex>, EntityId)> {
        let Some(latest) = self.history.latest() else { return Vec::new() };
        let bodies: Vec<BodyIndex> = latest.track.bodies().collect();
        let mut parts = connected_components(bodies.len(), latest.track.cell_cover.neighbours());
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        let leaving = parts.into_iter().skip(1);
        let ids = |part: Vec<u32>| part.into_iter().map(|at| bodies[at as usize]).collect();
        leaving.map_while(|part| Some((ids(part), directory.take_free()?))).collect()
    }
}
