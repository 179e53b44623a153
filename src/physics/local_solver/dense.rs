//! Small dense systems: the points of one pair solved together and directly, so that no point has precedence.
#![allow(clippy::needless_range_loop, reason = "rows and columns are clearest by index")]

/// Most rows of a pair: four normals, two directions along the surface, one moment about the normal.
pub(super) const ROWS_MAX: usize = 7;

/// Share of the diagonal that is added to it. Four points of a face have one more unknown than equations; this picks
/// the even distribution among all solutions. Not tuned.
const REGULARISATION: f64 = 1e-7;

const ALL: [usize; ROWS_MAX] = [0, 1, 2, 3, 4, 5, 6];

/// Lower triangle of a Cholesky factor.
type Factor = [[f64; ROWS_MAX]; ROWS_MAX];

/// A symmetric positive definite matrix of up to [`ROWS_MAX`] rows.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub at: [[f64; ROWS_MAX]; ROWS_MAX],
    pub len: usize,
    /// The factor of the whole matrix, which most solutions need. `None` if rounding makes it indefinite.
    whole: Option<Factor>,
}

impl Matrix {
    /// Fills the matrix from a symmetric function of two rows.
    pub fn from_fn(len: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut at = [[0.0; ROWS_MAX]; ROWS_MAX];
        for i in 0..len {
            for j in 0..=i {
                at[i][j] = entry(i, j);
                at[j][i] = at[i][j];
            }
        }
        let mut matrix = Matrix { at, len, whole: None };
        matrix.whole = matrix.factor(&ALL[..len]);
        matrix
    }

    /// The Cholesky factor of the rows in `chosen`. `None` if rounding makes it indefinite.
    fn factor(&self, chosen: &[usize]) -> Option<Factor> {
        let mut lower = [[0.0; ROWS_MAX]; ROWS_MAX];
        for (i, &row) in chosen.iter().enumerate() {
            for (j, &column) in chosen[..=i].iter().enumerate() {
                let mut sum = self.at[row][column];
                if i == j {
                    sum += REGULARISATION * self.at[row][row];
                }
                for k in 0..j {
                    sum -= lower[i][k] * lower[j][k];
                }
                if i == j {
                    if sum <= 0.0 {
                        return None;
                    }
                    lower[i][i] = sum.sqrt();
                } else {
                    lower[i][j] = sum / lower[j][j];
                }
            }
        }
        Some(lower)
    }

    /// Solves for the rows in `chosen`, all others being zero.
    fn solve(&self, chosen: &[usize], right: &[f64; ROWS_MAX]) -> Option<[f64; ROWS_MAX]> {
        let of_some;
        let lower = if chosen.len() == self.len {
            self.whole.as_ref()?
        } else {
            of_some = self.factor(chosen)?;
            &of_some
        };
        let n = chosen.len();
        let mut y = [0.0; ROWS_MAX];
        for i in 0..n {
            let mut sum = right[chosen[i]];
            for k in 0..i {
                sum -= lower[i][k] * y[k];
            }
            y[i] = sum / lower[i][i];
        }
        let mut solution = [0.0; ROWS_MAX];
        for i in (0..n).rev() {
            let mut sum = y[i];
            for k in i + 1..n {
                sum -= lower[k][i] * solution[chosen[k]];
            }
            solution[chosen[i]] = sum / lower[i][i];
        }
        Some(solution)
    }

    /// Finds `x` with `x >= 0` and `A x >= right` in the first `unilateral` rows, one of the two tight in each,
    /// and `A x = right` in the rows after them. `None` if a few exchanges of rows do not find it.
    pub fn complementary(&self, unilateral: usize, right: &[f64; ROWS_MAX]) -> Option<[f64; ROWS_MAX]> {
        let mut active = [true; ROWS_MAX];
        let scale = right[..self.len].iter().fold(0.0f64, |m, r| m.max(r.abs()));
        for _ in 0..2 * unilateral + 1 {
            let mut chosen = [0; ROWS_MAX];
            let mut count = 0;
            for (row, _) in active.iter().enumerate().take(self.len).filter(|(_, active)| **active) {
                chosen[count] = row;
                count += 1;
            }
            let x = self.solve(&chosen[..count], right)?;
            let most_negative = lowest((0..unilateral).filter(|row| active[*row]).map(|row| (row, x[row])));
            if let Some((row, value)) = most_negative
                && value < 0.0
            {
                active[row] = false;
                continue;
            }
            let deficit =
                |row: usize| (0..self.len).map(|k| self.at[row][k] * x[k]).sum::<f64>() - right[row];
            let largest_deficit =
                lowest((0..unilateral).filter(|row| !active[*row]).map(|row| (row, deficit(row))));
            match largest_deficit {
                Some((row, value)) if value < -1e-9 * scale => active[row] = true,
                Some(_) | None => return Some(x),
            }
        }
        None
    }
}

/// The row with the lowest value; the first of several.
fn lowest(values: impl Iterator<Item = (usize, f64)>) -> Option<(usize, f64)> {
    values.fold(None, |best, (row, value)| match best {
        Some((_, lowest)) if lowest <= value => best,
        Some(_) | None => Some((row, value)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_even_load_is_shared_evenly_by_four_corners() {
        // The four normals under a unit cube: singular, as a table with four legs is.
        let arms = [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)];
        let entry = |i: usize, j: usize| 1.0 + 1.5 * (arms[i].0 * arms[j].0 + arms[i].1 * arms[j].1);
        let matrix = Matrix::from_fn(4, entry);
        let x = matrix.complementary(4, &[1.0; ROWS_MAX]).unwrap();
        for k in 0..4 {
            assert!((x[k] - 0.25).abs() < 1e-6, "{x:?}");
        }
    }

    proptest! {
        /// A solution satisfies all conditions of [`Matrix::complementary`].
        #[test]
        fn solutions_are_complementary(
            seed in prop::collection::vec(prop::array::uniform6(-1.0..1.0f64), 7),
            right in prop::array::uniform7(-1.0..1.0f64),
            len in 1usize..=7,
        ) {
            let entry = |i: usize, j: usize| {
                let dot: f64 = (0..6).map(|k| seed[i][k] * seed[j][k]).sum();
                dot + if i == j { 0.1 } else { 0.0 }
            };
            let matrix = Matrix::from_fn(len, entry);
            let unilateral = len.min(4);
            if let Some(x) = matrix.complementary(unilateral, &right) {
                for row in 0..len {
                    let ax: f64 = (0..len).map(|k| matrix.at[row][k] * x[k]).sum();
                    if row < unilateral {
                        prop_assert!(x[row] >= 0.0);
                        prop_assert!(ax >= right[row] - 1e-4);
                        prop_assert!(x[row] == 0.0 || (ax - right[row]).abs() < 1e-4);
                    } else {
                        prop_assert!((ax - right[row]).abs() < 1e-4);
                    }
                }
            }
        }
    }
}
