//! A cluster that is an island: remotes push its bodies one by one, under the local contact model; then the island
//! solver solves what they do to each other and to static geometry.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::islands::{ContactCache, IslandCache, IslandModel, Workspaces, static_partner};
use crate::physics::{Flight, World};
use crate::protocol::{BodyIndex, CachedContact, PartnerKey, Response, ResponseInput};
use crate::rigid::RigidModel;

/// How an island goes on after `tick`. `states` are those of its bodies once remotes have pushed them; `response` is
/// what the local contact model computed for its contacts with remotes.
pub(super) fn go_on(
    (world, islands): (&World, &IslandModel),
    spaces: &mut Workspaces,
    tick: Tick,
    input: &ResponseInput<RigidModel>,
    states: &[BodyState],
    mut response: Response<RigidModel>,
) -> Response<RigidModel> {
    assert_eq!(states.len(), input.cluster.len(), "every body of the island has a state");
    response.is_resting = true;
    // Nothing goes on from the last tick, nor before the ghosts of all remotes are final.
    if !response.has_all_ghosts || tick == world.time.last_tick {
        response.flights.clear();
        return response;
    }
    let members: Vec<BodyIndex> = input.cluster.iter().map(|(index, _)| *index).collect();
    let warm_start = gather_warm_start(world, &members, input.caches);
    let advanced = islands.advance(spaces, &members, states, &warm_start);
    let flight = |origin: &BodyState| Flight { since: tick + 1, origin: *origin };
    response.flights = members.iter().copied().zip(advanced.states.iter().map(flight)).collect();
    let of_island = members.iter().map(|index| {
        let cache = ContactCache::Island(advanced.cache.clone());
        CachedContact { own: *index, partner: PartnerKey::Island, cache }
    });
    let mut caches: Vec<CachedContact<RigidModel>> =
        response.caches.iter().cloned().chain(of_island).collect();
    caches.sort_unstable_by_key(CachedContact::key);
    response.caches = caches.into();
    response.counts.contacts += advanced.pairs;
    response.counts.new_contacts += advanced.begun;
    response.counts.overlap_m = response.counts.overlap_m.max(advanced.deepest);
    response
}

/// The impulses that the island starts from.
fn gather_warm_start(
    world: &World,
    members: &[BodyIndex],
    caches: &[CachedContact<RigidModel>],
) -> Arc<IslandCache> {
    let of = |index: BodyIndex| {
        let at = caches.binary_search_by_key(&(index, PartnerKey::Island), CachedContact::key).ok()?;
        caches[at].cache.island()
    };
    let pair = |known: &CachedContact<RigidModel>| match known.partner {
        PartnerKey::Body(other) => Some((known.own.min(other), known.own.max(other))),
        PartnerKey::Static(id) => Some((known.own, static_partner(world, id)?)),
        PartnerKey::Island => None,
    };
    let pairs = || caches.iter().filter_map(|known| Some((pair(known)?, known.cache.pair()?))).collect();
    IslandCache::gather_warm_start(members, of, pairs)
}
