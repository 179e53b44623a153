//! The blended state of the copies of a shared body.

use crate::base::math::{Quat, renormalised};
use crate::base::state::BodyState;
use nalgebra::{Quaternion, UnitQuaternion};

/// The weighted mean of the copies of a body. Only differences from the first copy are averaged, so that copies that agree
/// to the bit give that state to the bit.
pub fn blend(copies: &[BodyState], weights: &[f64]) -> BodyState {
    let first = copies[0];
    let mut mean = first;
    let mut rotated = nalgebra::Vector4::zeros();
    for (copy, weight) in copies.iter().zip(weights).skip(1) {
        mean.x += (copy.x - first.x) * *weight;
        mean.v += (copy.v - first.v) * *weight;
        mean.w += (copy.w - first.w) * *weight;
        rotated += (nearest_sign(&first.q, &copy.q) - first.q.coords) * *weight;
    }
    if rotated != nalgebra::Vector4::zeros() {
        let sum = Quaternion::from(first.q.coords + rotated);
        mean.q = renormalised(UnitQuaternion::new_unchecked(sum));
    }
    mean
}

/// A quaternion and its negative are the same rotation. Returns the one on the side of `reference`.
fn nearest_sign(reference: &Quat, q: &Quat) -> nalgebra::Vector4<f64> {
    if reference.coords.dot(&q.coords) < 0.0 { -q.coords } else { q.coords }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::{Vec3, quat_raw, rotation_exp};
    use proptest::prelude::*;

    proptest! {
        /// Blending identical copies changes no bit, with any weights.
        #[test]
        fn identical_copies_blend_to_themselves(
            numbers in prop::array::uniform13(-1e3..1e3f64),
            weights in prop::collection::vec(0.0..1.0f64, 1..5),
        ) {
            let state = BodyState::from_array(numbers);
            let blended = blend(&vec![state; weights.len()], &weights);
            prop_assert_eq!(blended.to_array().map(f64::to_bits), state.to_array().map(f64::to_bits));
        }
    }

    #[test]
    fn equal_weights_give_the_mean_of_two_copies() {
        let a = BodyState { v: Vec3::x(), ..BodyState::at_rest(Vec3::zeros()) };
        let b = BodyState { q: rotation_exp(Vec3::y() * 0.2), ..BodyState::at_rest(Vec3::y()) };
        let mean = blend(&[a, b], &[0.5, 0.5]);
        assert_eq!((mean.x, mean.v), (Vec3::y() * 0.5, Vec3::x() * 0.5));
        assert!((mean.q.angle_to(&rotation_exp(Vec3::y() * 0.1))) < 1e-6);
        assert!((mean.q.coords.norm() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn every_part_of_a_state_is_weighted() {
        let a = BodyState::at_rest(Vec3::zeros());
        let rotated = rotation_exp(Vec3::x() * 0.2);
        let b = BodyState { x: Vec3::x(), q: rotated, v: Vec3::y(), w: Vec3::z() };
        let mean = blend(&[a, b], &[0.25, 0.75]);
        assert_eq!((mean.x, mean.v, mean.w), (Vec3::x() * 0.75, Vec3::y() * 0.75, Vec3::z() * 0.75));
        assert!((mean.q.angle_to(&rotation_exp(Vec3::x() * 0.15))) < 1e-3);
        let three = blend(&[a, b, BodyState { v: -Vec3::y(), ..b }], &[0.5, 0.3, 0.2]);
        assert!((three.v - Vec3::y() * 0.1).norm() < 1e-15 && (three.x - Vec3::x() * 0.5).norm() < 1e-15);
    }

    #[test]
    fn the_sign_of_a_quaternion_does_not_matter() {
        let q = rotation_exp(Vec3::new(0.1, 0.5, -0.3));
        let negated = quat_raw(-q.i, -q.j, -q.k, -q.w);
        let a = BodyState { q, ..BodyState::at_rest(Vec3::zeros()) };
        let b = BodyState { q: negated, ..a };
        assert_eq!(blend(&[a, b], &[0.3, 0.7]).q, q);
    }
}
