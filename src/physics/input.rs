//! What somebody outside may do to a body: push it, set its velocity, let it appear or vanish.
//!
//! An action at a tick acts on the way to the next, after what touches has acted: like a contact, it changes
//! nothing about the tick itself. Nobody but the body itself need know of it at that tick.

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::flight::Flight;
use crate::physics::world::World;

/// Something done to a body from outside.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BodyInput {
    /// Place of the body in the world's list.
    pub body: u32,
    /// What is done.
    pub kind: InputKind,
}

/// What is done to a body.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum InputKind {
    /// An impulse through the centre of mass, N s, and a turning one, N m s.
    Push {
        /// N s.
        impulse: Vec3,
        /// N m s.
        turn: Vec3,
    },
    /// Velocities it has from now on; those left out stay as they are.
    SetVelocity {
        /// m/s.
        v: Option<Vec3>,
        /// rad/s.
        w: Option<Vec3>,
    },
    /// It comes into being in this state.
    Spawn(BodyState),
    /// It is no more.
    Despawn,
}

impl World {
    /// The flight of a body that is acted on at `tick`, if `onward` is how it would go on otherwise; none if it is
    /// no more.
    pub fn acted_on(&self, tick: Tick, body: u32, onward: &Flight, kind: &InputKind) -> Option<Flight> {
        // A body that is held goes on from the next tick, one that flies from this one.
        let since = onward.since.max(tick);
        let def = &self.bodies[body as usize];
        let mut origin = onward.state_at(self, def, since);
        match kind {
            InputKind::Push { impulse, turn } => {
                origin.v += impulse * def.inv_mass;
                origin.w += def.inertia.world_inverse(&origin.q) * turn;
            }
            InputKind::SetVelocity { v, w } => {
                origin.v = v.unwrap_or(origin.v);
                origin.w = w.unwrap_or(origin.w);
            }
            // It is there already.
            InputKind::Spawn(_) => return Some(*onward),
            InputKind::Despawn => return None,
        }
        Some(Flight { since, origin })
    }
}
