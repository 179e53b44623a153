//! Parts that several scenarios share: random numbers, balls, boxes and materials.

use crate::scene::{Body, Material, Shape, StaticObject};

/// Radius of the balls of most scenarios, metres.
pub(super) const BALL_RADIUS_M: f64 = 0.5;
/// Gravity of scenarios on Earth.
pub(super) const EARTH: [f64; 3] = [0.0, -9.81, 0.0];
/// No gravity.
pub(super) const WEIGHTLESS: [f64; 3] = [0.0; 3];
/// Density of most scenarios' bodies, kg/m³.
const DENSITY: f64 = 1000.0;
/// Half the thickness of the walls of closed boxes, metres.
const WALL_HALF_M: f64 = 2.0;

/// The SplitMix64 generator (Steele, Lea and Flood 2014): a counter in steps of the golden ratio, mixed.
pub(super) struct SplitMix64 {
    counter: u64,
}

impl SplitMix64 {
    pub(super) fn new(seed: u64) -> Self {
        SplitMix64 { counter: seed }
    }

    fn next(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let once = (self.counter ^ (self.counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        twice ^ (twice >> 31)
    }

    /// Uniform from -1 to below 1, in steps of 2⁻²³: the same number in single precision.
    pub(super) fn symmetric(&mut self) -> f64 {
        const STEPS: f64 = (1 << 23) as f64;
        (self.next() >> 40) as f64 / STEPS - 1.0
    }

    /// Three numbers from `-size` to below `size`.
    pub(super) fn vector(&mut self, size: f64) -> [f64; 3] {
        // Written out because the order of the draws is part of the scene.
        let x = self.symmetric() * size;
        let y = self.symmetric() * size;
        let z = self.symmetric() * size;
        [x, y, z]
    }

    /// A number below `count`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }
}

/// A material of the usual density.
pub(super) fn material(friction: f64, restitution: f64) -> Material {
    Material { density: DENSITY, friction, restitution, color: None }
}

/// A ball of the usual size.
pub(super) fn ball(position: [f64; 3]) -> Body {
    Body::new(Shape::Sphere { radius: BALL_RADIUS_M }, position).of("ball")
}

/// A box that never moves.
pub(super) fn fixed_box(name: &str, half_extents: [f64; 3], position: [f64; 3]) -> StaticObject {
    StaticObject { name: Some(name.to_owned()), ..StaticObject::new(Shape::Box { half_extents }, position) }
}

/// A square floor with its top at y = 0.
pub(super) fn ground(half_width: f64) -> StaticObject {
    fixed_box("ground", [half_width, 0.5, half_width], [0.0, -0.5, 0.0]).of("ground")
}

/// Six walls around the inside of half extents `half`, about the origin.
pub(super) fn closed_box(half: [f64; 3]) -> Vec<StaticObject> {
    let names = [["wall -x", "wall +x"], ["wall -y", "wall +y"], ["wall -z", "wall +z"]];
    let mut walls = Vec::with_capacity(6);
    for axis in 0..3 {
        for (side, name) in [-1.0, 1.0].into_iter().zip(names[axis]) {
            let mut position = [0.0; 3];
            let mut half_extents = half.map(|h| h + 2.0 * WALL_HALF_M);
            position[axis] = side * (half[axis] + WALL_HALF_M);
            half_extents[axis] = WALL_HALF_M;
            walls.push(fixed_box(name, half_extents, position).of("wall"));
        }
    }
    walls
}

/// Coordinate of number `index` of `count` positions in a row about 0.
pub(super) fn centred(index: usize, count: usize, pitch: f64) -> f64 {
    (index as f64 - (count as f64 - 1.0) * 0.5) * pitch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_those_of_the_published_generator() {
        // First outputs for seed 1234567, as published with the algorithm.
        let mut random = SplitMix64::new(1_234_567);
        let expected = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ];
        assert_eq!(expected.map(|_| random.next()), expected);
    }

    #[test]
    fn symmetric_numbers_are_exact_in_single_precision() {
        let mut random = SplitMix64::new(42);
        for _ in 0..10_000 {
            let number = random.symmetric();
            assert!((-1.0..1.0).contains(&number));
            assert_eq!(f64::from(number as f32), number);
        }
    }
}
