//! Rotations of four bodies at a time, with the bits of [`rotation_exp`](crate::base::math::rotation_exp) and the product
//! of quaternions.

use crate::base::lanes::{Lanes, Vec3Lanes};

/// Half angles below this are their own sine, and their cosine is one: 2 to the power of -27, as in `libm`.
const TINY: f64 = 7.450580596923828e-9;
/// Half angles above this, nearly a quarter of pi, are left to `libm`.
const WIDE: f64 = 0.785;

/// The product of two quaternions, each as x, y, z, w.
#[inline(always)]
pub(crate) fn product<L: Lanes>(a: [L; 4], b: [L; 4]) -> [L; 4] {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

/// `a + z * (b + z * c)`.
#[inline(always)]
fn polynomial<L: Lanes>(z: L, [a, b, c]: [f64; 3]) -> L {
    L::splat(a) + z * (L::splat(b) + z * L::splat(c))
}

/// Sine and cosine between zero and [`WIDE`], as `libm` computes them there.
#[inline(always)]
#[allow(clippy::excessive_precision, reason = "coefficients with the digits in which they were published")]
fn sine_and_cosine<L: Lanes>(x: L) -> (L, L) {
    let (z, one) = (x * x, L::splat(1.0));
    let z2 = z * z;
    let r =
        polynomial(z, [8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06])
            + z * z2 * (L::splat(-2.50507602534068634195e-08) + z * L::splat(1.58969099521155010221e-10));
    let sine = x + z * x * (L::splat(-1.66666666666666324348e-01) + z * r);
    let r = z * polynomial(
        z,
        [4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05],
    ) + z2
        * z2
        * polynomial(
            z,
            [-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11],
        );
    let half = L::splat(0.5) * z;
    let most = one - half;
    let cosine = most + (((one - most) - half) + (z * r - x * L::splat(0.0)));
    let is_tiny = x.lt(L::splat(TINY));
    (L::select(is_tiny, x, sine), L::select(is_tiny, one, cosine))
}

/// The rotations by four vectors (axis times radians). Nothing if one of them turns too far, or is not a number: those are
/// left to scalar code.
#[inline(always)]
pub(crate) fn rotation_exp<L: Lanes>(angle: Vec3Lanes<L>) -> Option<[L; 4]> {
    let theta2 = angle.dot(angle);
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let is_still = theta2.eq(zero);
    let theta = theta2.sqrt();
    let x = theta * L::splat(0.5);
    if x.lt(L::splat(WIDE)).bits() != 15 {
        return None;
    }
    let (sine, cosine) = sine_and_cosine(x);
    let s = sine / theta;
    Some([
        L::select(is_still, zero, angle.0 * s),
        L::select(is_still, zero, angle.1 * s),
        L::select(is_still, zero, angle.2 * s),
        L::select(is_still, one, cosine),
    ])
}

/// Four quaternions scaled to unit length; those that are exact stay exact.
#[inline(always)]
pub(crate) fn renormalised<L: Lanes>(q: [L; 4]) -> [L; 4] {
    let n2 = (q[0] * q[0] + q[2] * q[2]) + (q[1] * q[1] + q[3] * q[3]);
    let (is_exact, length) = (n2.eq(L::splat(1.0)), n2.sqrt());
    [
        L::select(is_exact, q[0], q[0] / length),
        L::select(is_exact, q[1], q[1] / length),
        L::select(is_exact, q[2], q[2] / length),
        L::select(is_exact, q[3], q[3] / length),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::lanes::{LaneChoice, Work};
    use crate::base::math::{self, Quat, Vec3, quat_raw};

    struct Turn {
        angles: [Vec3; 4],
        q: [Quat; 4],
    }

    impl Work for Turn {
        type Output = Option<[[u64; 4]; 4]>;
        #[inline(always)]
        fn run<L: Lanes>(self) -> Self::Output {
            let rows = self.angles.map(|angle| [angle.x, angle.y, angle.z, 0.0]);
            let (angle, _) = Vec3Lanes::<L>::gather([&rows[0], &rows[1], &rows[2], &rows[3]]);
            let rows = self.q.map(|q| [q.i, q.j, q.k, q.w]);
            let (q, w) = Vec3Lanes::<L>::gather([&rows[0], &rows[1], &rows[2], &rows[3]]);
            let turned = renormalised(product(rotation_exp(angle)?, [q.0, q.1, q.2, w]));
            Some(L::transpose(turned).map(|row| row.to_array().map(f64::to_bits)))
        }
    }

    fn angles() -> impl Strategy<Value = Vec3> {
        let scale =
            prop::sample::select(vec![0.0, 1e-300, 1e-160, 1e-12, 1.4e-8, 1.5e-8, 1e-7, 1e-3, 0.3, 0.9]);
        (prop::array::uniform3(-1.0..1.0f64), scale).prop_map(|(angle, scale)| Vec3::from(angle) * scale)
    }

    fn orientations() -> impl Strategy<Value = Quat> {
        let any = prop::array::uniform4(-1.0..1.0f64).prop_map(|[x, y, z, w]| quat_raw(x, y, z, w + 1.5));
        prop_oneof![any.prop_map(math::renormalised), Just(Quat::identity())]
    }

    proptest! {
        #[test]
        fn four_rotations_are_each_the_scalar_one(
            angles in prop::array::uniform4(angles()),
            q in prop::array::uniform4(orientations()),
        ) {
            let expected = std::array::from_fn(|at| {
                let turned = math::renormalised(math::rotation_exp(angles[at]) * q[at]);
                [turned.i, turned.j, turned.k, turned.w].map(f64::to_bits)
            });
            for lanes in [LaneChoice::plain(), LaneChoice::best()] {
                if let Some(found) = lanes.run(Turn { angles, q }) {
                    prop_assert_eq!(found, expected);
                } else {
                    prop_assert!(angles.iter().any(|angle| angle.norm() > 2.0 * 0.78));
                }
            }
        }
    }
}
