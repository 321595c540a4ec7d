//! The slope of a line through samples, from sums alone (least squares).

/// Sums over points.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Regression {
    points: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Regression {
    /// Takes a point. Points near the origin keep the sums exact.
    pub(crate) fn add(&mut self, x: f64, y: f64) {
        self.points += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// The slope; none of fewer than two different x.
    pub(crate) fn slope(&self) -> Option<f64> {
        let spread = self.points * self.xx - self.x * self.x;
        (self.points >= 2.0 && spread > 0.0).then(|| (self.points * self.xy - self.x * self.y) / spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(points: &[(f64, f64)]) -> Option<f64> {
        let mut line = Regression::default();
        for &(x, y) in points {
            line.add(x, y);
        }
        line.slope()
    }

    /// A line gives its slope whatever the order; points off it give that of least squares: of (0, 0), (1, 2), (2, 1) the sum
    /// of (x - 1)(y - 1) is 1, that of (x - 1)^2 is 2.
    #[test]
    fn least_squares() {
        assert_eq!(slope(&[(2.0, 0.5), (0.0, 0.0), (1.0, 0.25)]), Some(0.25));
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]), Some(0.5));
        assert_eq!(slope(&[(0.0, 3.0), (1.0, 3.0)]), Some(0.0));
    }

    #[test]
    fn one_point_has_no_slope() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(1.0, 1.0)]), None);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
