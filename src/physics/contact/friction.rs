//! Coulomb's law: the friction nearest to what is wanted that the normal load allows.

/// The impulse along the surface nearest to `wanted` among all of length at most `limit`, N s.
#[inline]
pub(crate) fn on_disc(wanted: [f64; 2], limit: f64) -> [f64; 2] {
    let [x, y] = wanted;
    let length2 = x * x + y * y;
    if length2 <= limit * limit {
        return wanted;
    }
    let scale = limit / length2.sqrt();
    [x * scale, y * scale]
}

/// The friction of a patch nearest to `wanted`: two impulses along the surface, bounded together by `limits.0` (N s),
/// and one moment about the normal, bounded by `limits.1` (N m s).
#[inline]
pub(in crate::physics) fn within_limits(wanted: [f64; 3], limits: (f64, f64)) -> [f64; 3] {
    let [x, y, spin] = wanted;
    let spin = spin.max(-limits.1).min(limits.1);
    let [x, y] = on_disc([x, y], limits.0);
    [x, y, spin]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friction_within_its_limits_is_kept_to_the_bit() {
        assert_eq!(on_disc([3.0, -4.0], 5.0), [3.0, -4.0]);
        assert_eq!(within_limits([3.0, -4.0, 0.5], (5.0, 0.5)), [3.0, -4.0, 0.5]);
        // No load, no friction; no slip, no scaling by infinity.
        assert_eq!(on_disc([0.0, 0.0], 0.0), [0.0, 0.0]);
    }

    #[test]
    fn friction_beyond_its_limits_is_scaled_and_clamped() {
        assert_eq!(on_disc([6.0, -8.0], 5.0), [3.0, -4.0]);
        assert_eq!(within_limits([6.0, -8.0, -2.0], (5.0, 0.5)), [3.0, -4.0, -0.5]);
        assert_eq!(within_limits([6.0, -8.0, 2.0], (0.0, 0.5)), [0.0, 0.0, 0.5]);
    }
}
