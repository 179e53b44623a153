//! Engines of the system, through a bridge in C++ each (`cpp/`).

use std::ffi::c_void;

use super::Engine;
use crate::physics::State;
use crate::scene::{Scene, Shape};

/// A body as the bridges read it.
#[repr(C)]
struct Plain {
    moves: u32,
    kind: u32,
    size: [f32; 3],
    x: [f32; 3],
    q: [f32; 4],
    v: [f32; 3],
}

#[repr(C)]
struct PlainScene {
    gravity: f32,
    friction: f32,
    restitution: f32,
    density: f32,
    bodies: *const Plain,
    count: u64,
}

type New = unsafe extern "C" fn(*const PlainScene) -> *mut c_void;
type Step = unsafe extern "C" fn(*mut c_void, f32);
type States = unsafe extern "C" fn(*mut c_void, *mut f32);
type Fixed = unsafe extern "C" fn(*mut c_void) -> u64;

#[cfg(feature = "bullet")]
unsafe extern "C" {
    fn bullet_new(scene: *const PlainScene) -> *mut c_void;
    fn bullet_step(all: *mut c_void, dt: f32);
    fn bullet_states(all: *mut c_void, out: *mut f32);
    fn bullet_fixed(all: *mut c_void) -> u64;
}

#[cfg(feature = "ode")]
unsafe extern "C" {
    fn ode_new(scene: *const PlainScene) -> *mut c_void;
    fn ode_step(all: *mut c_void, dt: f32);
    fn ode_states(all: *mut c_void, out: *mut f32);
    fn ode_fixed(all: *mut c_void) -> u64;
}

#[cfg(feature = "bullet")]
pub fn bullet(scene: &Scene, dt_s: f32, _threads: usize) -> Box<dyn Engine> {
    System::boxed(scene, dt_s, bullet_new, bullet_step, bullet_states, bullet_fixed)
}

#[cfg(feature = "ode")]
pub fn ode(scene: &Scene, dt_s: f32, _threads: usize) -> Box<dyn Engine> {
    System::boxed(scene, dt_s, ode_new, ode_step, ode_states, ode_fixed)
}

/// A world behind a bridge. It lives as long as the process.
struct System {
    world: *mut c_void,
    moving: usize,
    dt_s: f32,
    step: Step,
    states: States,
    fixed: Fixed,
}

impl System {
    fn boxed(
        scene: &Scene,
        dt_s: f32,
        new: New,
        step: Step,
        states: States,
        fixed: Fixed,
    ) -> Box<dyn Engine> {
        let plain = |body: &crate::scene::Body| {
            let (kind, size) = match body.shape {
                Shape::Sphere { radius_m } => (0, [radius_m, 0.0, 0.0]),
                Shape::Box { half_m } => (1, half_m),
                Shape::Cylinder { radius_m, half_height_m } => (2, [radius_m, half_height_m, 0.0]),
            };
            Plain { moves: body.moves.into(), kind, size, x: body.x, q: body.q, v: body.v }
        };
        let bodies: Vec<Plain> = scene.bodies.iter().map(plain).collect();
        let plain = PlainScene {
            gravity: scene.gravity,
            friction: scene.friction,
            restitution: scene.restitution,
            density: scene.density,
            bodies: bodies.as_ptr(),
            count: bodies.len() as u64,
        };
        // SAFETY: the bridge reads the list during the call and keeps nothing of it.
        let world = unsafe { new(&plain) };
        Box::new(System { world, moving: scene.moving().count(), dt_s, step, states, fixed })
    }
}

impl Engine for System {
    fn step(&mut self) {
        // SAFETY: the world is that of this bridge.
        unsafe { (self.step)(self.world, self.dt_s) }
    }

    fn states(&self) -> Vec<State> {
        let mut states = vec![[0.0; 13]; self.moving];
        // SAFETY: the bridge writes 13 numbers for each moving body.
        unsafe { (self.states)(self.world, states.as_mut_ptr().cast()) };
        states
    }

    fn fixed(&self) -> usize {
        // SAFETY: the world is that of this bridge.
        unsafe { (self.fixed)(self.world) as usize }
    }
}
