//! Inputs: what can be done to a body from outside the simulation: push it, set its velocity, spawn or despawn it.
//!
//! An input at a tick acts on the way to the next, after the contacts of the tick: like a contact, it does not change
//! the state at the tick itself. So no other body depends on it at that tick.

use serde::{Deserialize, Serialize};

use crate::base::math::Vec3;
use crate::base::state::BodyState;
use crate::base::time::Tick;
use crate::physics::flight::Flight;
use crate::physics::world::World;

/// An input to one body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyInput {
    /// Index of the body in the world's list.
    pub body: u32,
    /// What is done to it.
    pub kind: InputKind,
}

/// What is done to a body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum InputKind {
    /// An impulse changes its velocities.
    Push {
        /// Impulse through the centre of mass, N s.
        impulse: Vec3,
        /// Angular impulse, N m s.
        turn: Vec3,
    },
    /// Its velocities are replaced; those left out stay as they are.
    SetVelocity {
        /// Velocity of the centre of mass, m/s.
        v: Option<Vec3>,
        /// Angular velocity in world coordinates, rad/s.
        w: Option<Vec3>,
    },
    /// The body appears in this state.
    Spawn(BodyState),
    /// The body is removed.
    Despawn,
}

impl World {
    /// The flight of a body after an input at `tick`; `onward` is its flight without the input. `None` if the input
    /// removes it.
    pub fn acted_on(&self, tick: Tick, body: u32, onward: &Flight, kind: &InputKind) -> Option<Flight> {
        // A body in contact goes on from the next tick, a free one from this tick.
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
            // The body exists already: its flight stays as it is.
            InputKind::Spawn(_) => return Some(*onward),
            InputKind::Despawn => return None,
        }
        Some(Flight { since, origin })
    }
}
