//! What touches in a region at a tick.

use super::{Region, RegionFault};
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::collision::crowd::touching_max;
use crate::physics::{touching, touching_static};
use crate::store::response::{Found, PairKey};

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// Finds what touches at `tick` and concerns own bodies.
    pub(super) fn find(&mut self, tick: Tick) {
        let world = self.world;
        let mut due = std::mem::take(&mut self.due);
        self.response.found.clear();
        let mut replicas = Vec::new();
        for &(a, b) in &due.pairs {
            let is_other_side = self.has(RegionFault::OneSided) && !self.owns_body(a);
            if !self.owns_body(a) && !self.owns_body(b) || is_other_side {
                continue;
            }
            if self.touch(a, b, tick) {
                replicas.extend([a, b].into_iter().filter(|body| !self.owns_body(*body)));
            } else {
                self.gear.look_on(world, &self.flights, (a, b), tick);
            }
        }
        due.at_statics.retain(|body| self.owns_body(*body));
        for &body in &due.at_statics {
            if !self.touch_statics(body, tick) {
                self.gear.look_on_at_statics(world, &self.flights, body, tick);
            }
        }
        self.due = due;
        if !replicas.is_empty() && !self.has(RegionFault::SetNotWidened) {
            self.widen(replicas, tick);
        }
        let found = &mut self.response.found;
        found.sort_by_key(|found| found.key);
        found.dedup_by_key(|found| found.key);
        if found.len() > touching_max(self.flights.len()) {
            self.stuck = Some(tick);
        }
    }

    pub(super) fn state(&self, body: u32, tick: Tick) -> BodyState {
        self.flights.flight(body).touching_state_at(self.world, &self.world.bodies[body as usize], tick)
    }

    /// Notes the contact of two bodies, if there is one.
    pub(super) fn touch(&mut self, a: u32, b: u32, tick: Tick) -> bool {
        let (world, a, b) = (self.world, a.min(b), a.max(b));
        let (def_a, def_b) = (&world.bodies[a as usize], &world.bodies[b as usize]);
        let manifold = touching(&world.rule, def_a, &self.state(a, tick), def_b, &self.state(b, tick));
        let found = manifold.map(|manifold| Found { key: PairKey { is_static: false, a, b }, manifold });
        let touches = found.is_some();
        self.response.found.extend(found);
        touches
    }

    /// Notes the contacts of a body with static geometry. Says whether there are any.
    pub(super) fn touch_statics(&mut self, body: u32, tick: Tick) -> bool {
        let (world, state) = (self.world, self.state(body, tick));
        let def = &world.bodies[body as usize];
        let bounds = def.shape.aabb(state.x, &state.q).grown(world.rule.broad_margin_m);
        world.static_bvh.near(&bounds, &mut self.near_statics);
        let before = self.response.found.len();
        for &object in &self.near_statics {
            let key = PairKey { is_static: true, a: body, b: object };
            let manifold = touching_static(&world.rule, def, &state, &world.statics[object as usize]);
            self.response.found.extend(manifold.map(|manifold| Found { key, manifold }));
        }
        self.response.found.len() > before
    }
}
