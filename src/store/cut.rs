//! Everything at a tick up to which all is committed: what regions and stores begin from, and what they leave behind.

use crate::base::time::Tick;
use crate::physics::World;
use crate::physics::contact::PairCache;
use crate::store::flights::Flights;
use crate::store::region::Region;
use crate::store::response::PairKey;

/// All flights at a tick that is not done, and what pairs keep of the tick before.
pub(crate) struct Cut {
    pub tick: Tick,
    pub flights: Flights,
    pub caches: Vec<(PairKey, PairCache)>,
}

impl Cut {
    /// The start of a run.
    pub fn start(world: &World) -> Self {
        Cut { tick: 0, flights: Flights::new(world), caches: Vec::new() }
    }

    /// What regions have in common once all of them are at one tick, with no message on its way.
    pub fn of_regions<'r, 'w: 'r, const FAULTY: bool>(
        world: &World,
        regions: impl Iterator<Item = &'r Region<'w, FAULTY>>,
    ) -> Self {
        let mut flights = Flights::default();
        flights.make_room(world.bodies.at_start().len());
        let (mut caches, mut tick) = (Vec::new(), 0);
        for region in regions {
            tick = region.lvt;
            region.own().for_each(|(body, flight)| flights.set(body, &flight));
            caches.extend_from_slice(region.caches());
        }
        caches.sort_by_key(|(key, _)| *key);
        caches.dedup_by_key(|(key, _)| *key);
        Cut { tick, flights, caches }
    }
}
