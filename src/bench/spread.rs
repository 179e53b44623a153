//! Repeated measurements: median and spread.

/// Measurements of the same thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    sorted: Vec<f64>,
}

impl Spread {
    /// The spread of these values. Values that are not numbers are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Spread { sorted }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            let at = self.sorted.partition_point(|known| *known < value);
            self.sorted.insert(at, value);
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Median; NaN if there are no values.
    pub fn median(&self) -> f64 {
        let half = self.sorted.len() / 2;
        match self.sorted.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => self.sorted[half],
            _ => (self.sorted[half - 1] + self.sorted[half]) / 2.0,
        }
    }

    /// Least value; NaN if there are none.
    pub fn min(&self) -> f64 {
        self.sorted.first().copied().unwrap_or(f64::NAN)
    }

    /// Greatest value; NaN if there are none.
    pub fn max(&self) -> f64 {
        self.sorted.last().copied().unwrap_or(f64::NAN)
    }

    /// Half the distance between least and greatest, as a share of the median.
    pub fn half_width(&self) -> f64 {
        if self.median() == 0.0 { 0.0 } else { (self.max() - self.min()) / (2.0 * self.median()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_half_width() {
        let odd = Spread::of([3.0, 1.0, 2.0]);
        assert_eq!((odd.median(), odd.min(), odd.max(), odd.half_width()), (2.0, 1.0, 3.0, 0.5));
        let mut even = Spread::of([4.0, f64::NAN, 1.0]);
        assert_eq!((even.median(), even.len()), (2.5, 2));
        even.add(2.0);
        even.add(f64::INFINITY);
        assert_eq!(even.median(), 2.0);
        assert!(Spread::default().median().is_nan() && Spread::default().is_empty());
    }
}
