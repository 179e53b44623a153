//! What a scene file may leave out, and what it then means.

use crate::scene::{GroupSettings, Material, ResponseSettings, Scene};

pub(super) fn name() -> String {
    "scene".to_owned()
}

pub(super) fn seconds() -> f64 {
    4.0
}

pub(super) fn ticks_per_second() -> f64 {
    240.0
}

pub(super) fn ticks_per_frame() -> u32 {
    4
}

pub(super) fn gravity() -> [f64; 3] {
    [0.0, -9.81, 0.0]
}

pub(super) fn seed() -> u64 {
    42
}

pub(super) fn orientation() -> [f64; 4] {
    [0.0, 0.0, 0.0, 1.0]
}

pub(super) fn material() -> String {
    "default".to_owned()
}

pub(super) fn is_identity(q: &[f64; 4]) -> bool {
    q.map(f64::to_bits) == orientation().map(f64::to_bits)
}

pub(super) fn is_zero(v: &[f64; 3]) -> bool {
    v.map(f64::to_bits) == [0; 3]
}

pub(super) fn is_default_material(name: &str) -> bool {
    name == "default"
}

impl Default for Scene {
    fn default() -> Self {
        Scene {
            name: name(),
            seconds: seconds(),
            ticks_per_second: ticks_per_second(),
            ticks_per_frame: ticks_per_frame(),
            gravity: gravity(),
            seed: seed(),
            response: ResponseSettings::default(),
            materials: Default::default(),
            statics: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            parts: Vec::new(),
            group: GroupSettings::default(),
        }
    }
}

impl Default for ResponseSettings {
    fn default() -> Self {
        ResponseSettings { iterations: 1, rounds: 4, warm_start: true, correction: 0.5 }
    }
}

impl Default for Material {
    fn default() -> Self {
        Material { density: 1000.0, friction: 0.5, restitution: 0.3, color: None }
    }
}
