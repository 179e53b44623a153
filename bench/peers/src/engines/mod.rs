//! Engines behind one trait. Each gets the bodies of a scene in order, its own default settings, and sleeping off.

#[cfg(feature = "box3d")]
mod box3d;
#[cfg(feature = "jolt")]
mod jolt;
#[cfg(feature = "rapier")]
mod rapier;
#[cfg(any(feature = "bullet", feature = "ode"))]
mod system;

use crate::physics::State;
use crate::scene::Scene;

/// An engine with a scene in it.
pub trait Engine {
    fn step(&mut self);
    /// Of the moving bodies, in the order of the scene.
    fn states(&self) -> Vec<State>;
    /// How many static bodies it has.
    fn fixed(&self) -> usize;
}

/// Name of an engine, its version, and whether it uses more than one thread if asked to.
pub struct Kind {
    pub name: &'static str,
    pub version: &'static str,
    pub threads: bool,
    pub make: fn(&Scene, f32, usize) -> Box<dyn Engine>,
}

/// The engines of this build.
pub const KINDS: &[Kind] = &[
    #[cfg(feature = "rapier")]
    Kind { name: "rapier", version: "0.36.1", threads: cfg!(feature = "rapier-threads"), make: rapier::make },
    #[cfg(feature = "jolt")]
    Kind { name: "jolt", version: "5.0.0", threads: true, make: jolt::make },
    #[cfg(feature = "box3d")]
    Kind { name: "box3d", version: "0.1", threads: true, make: box3d::make },
    #[cfg(feature = "bullet")]
    Kind { name: "bullet", version: "of the system", threads: false, make: system::bullet },
    #[cfg(feature = "ode")]
    Kind { name: "ode", version: "of the system", threads: false, make: system::ode },
];
