//! A crew that is solved together: strangers push its bodies one by one, under the local response; then the group
//! solver has the last word about what they do to each other and to static geometry.

use std::sync::Arc;

use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::islands::{Bridging, GroupMemory, Memory, Spaces, static_partner};
use crate::physics::{Flight, World};
use crate::protocol::{Moment, PartnerKey, Place, Remembered, Response};
use crate::rigid::RigidModel;

/// How a crew goes on after `tick`. `states` are those of the crew, once strangers have pushed it; `response` is what
/// is known of its contacts with them.
pub(super) fn go_on(
    (world, bridging): (&World, &Bridging),
    spaces: &mut Spaces,
    tick: Tick,
    moment: &Moment<RigidModel>,
    states: &[BodyState],
    mut response: Response<RigidModel>,
) -> Response<RigidModel> {
    response.lingers = true;
    // Nobody goes on from the last tick, nor before strangers have told everything.
    if !response.complete || tick == world.time.last_tick {
        response.flights.clear();
        return response;
    }
    let members: Vec<Place> = moment.crew.iter().map(|(place, _)| *place).collect();
    let advanced = bridging.advance(spaces, &members, states, &recollect(world, &members, moment.memories));
    let flight = |origin: &BodyState| Flight { since: tick + 1, origin: *origin };
    response.flights = members.iter().copied().zip(advanced.states.iter().map(flight)).collect();
    let of_group = members.iter().map(|place| {
        let memory = Memory::Group(advanced.memory.clone());
        Remembered { own: *place, partner: PartnerKey::Company, memory }
    });
    let mut memories: Vec<Remembered<RigidModel>> =
        response.memories.iter().cloned().chain(of_group).collect();
    memories.sort_unstable_by_key(Remembered::key);
    response.memories = memories.into();
    response.seen.touches += advanced.pairs;
    response.seen.new_touches += advanced.begun;
    response.seen.overlap_m = response.seen.overlap_m.max(advanced.deepest);
    response
}

/// What the group begins with.
fn recollect(world: &World, members: &[Place], memories: &[Remembered<RigidModel>]) -> Arc<GroupMemory> {
    let of = |place: Place| {
        let at = memories.binary_search_by_key(&(place, PartnerKey::Company), Remembered::key).ok()?;
        memories[at].memory.group()
    };
    let pair = |known: &Remembered<RigidModel>| match known.partner {
        PartnerKey::Body(other) => Some((known.own.min(other), known.own.max(other))),
        PartnerKey::Static(id) => Some((known.own, static_partner(world, id)?)),
        PartnerKey::Company => None,
    };
    let pairs = || memories.iter().filter_map(|known| Some((pair(known)?, known.memory.pair()?))).collect();
    GroupMemory::recollect(members, of, pairs)
}
