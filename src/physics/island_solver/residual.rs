//! What remains unsolved after the sweeps.

/// The natural residual of every row, as a velocity in m/s (rad/s for rows that turn).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residual {
    /// Sum over all rows.
    pub sum: f64,
    /// Sum of squares over all rows.
    pub squares: f64,
    /// Residual of the worst row.
    pub max: f64,
    /// Number of rows.
    pub rows: u64,
}

impl Residual {
    /// Adds a row.
    #[inline]
    pub fn add(&mut self, size: f64) {
        self.sum += size;
        self.squares += size * size;
        self.max = self.max.max(size);
        self.rows += 1;
    }

    /// Adds the rows of another residual.
    pub fn join(&mut self, other: &Residual) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.max = self.max.max(other.max);
        self.rows += other.rows;
    }

    /// Euclidean length over all rows.
    pub fn length(&self) -> f64 {
        self.squares.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_add_up() {
        let of = |sizes: &[f64]| {
            let mut residual = Residual::default();
            sizes.iter().for_each(|size| residual.add(*size));
            residual
        };
        let mut joined = of(&[1.0, 2.0]);
        joined.join(&of(&[4.0, 2.0]));
        assert_eq!(joined, of(&[1.0, 2.0, 4.0, 2.0]));
        assert_eq!((joined.sum, joined.max, joined.rows, joined.length()), (9.0, 4.0, 4, 5.0));
    }
}
