//! WebRTC's filter: the slope of the delay over the last groups, which replaced the Kalman filter. It has no unit.

use super::groups::Variation;
use crate::regression::Regression;

/// How many groups a line goes through.
const WINDOW: usize = 20;
/// What the smoothed delay keeps of itself at each group.
const SMOOTHING: f64 = 0.9;

/// The delays of the last groups.
#[derive(Debug, Default)]
pub(super) struct Trendline {
    /// The sum of all variations, and the same smoothed.
    delay: f64,
    smoothed: f64,
    /// Arrival and smoothed delay.
    points: [(f64, f64); WINDOW],
    count: usize,
    slope: f64,
}

impl Trendline {
    /// Takes a group. Returns the slope: milliseconds of delay for each millisecond; 0 for too few groups.
    pub(super) fn update(&mut self, group: &Variation) -> f64 {
        self.delay += group.delay;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        self.points[self.count % WINDOW] = (group.arrival, self.smoothed);
        self.count += 1;
        if self.count >= WINDOW {
            self.slope = self.line().slope().unwrap_or(self.slope);
        }
        self.slope
    }

    /// Points relative to the newest keep the sums exact.
    fn line(&self) -> Regression {
        let (arrival, delay) = self.points[(self.count - 1) % WINDOW];
        let mut line = Regression::default();
        for (x, y) in self.points {
            line.add(x - arrival, y - delay);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slopes(departures: f64, delays: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut trendline = Trendline::default();
        let mut arrival = 0.0;
        delays
            .map(|delay| {
                arrival += departures + delay;
                trendline.update(&Variation { delay, departures, arrival })
            })
            .collect()
    }

    /// Groups that leave 20 ms apart and arrive 22 ms apart: the delay grows by 1/11 of the time. The smoothed delay follows with a
    /// lag of 9 groups in the end, at the same slope. Nothing is known of 19 groups.
    #[test]
    fn the_slope_of_a_growing_delay() {
        let slopes = slopes(20.0, (0..200).map(|_| 2.0));
        assert!(slopes[..19].iter().all(|slope| *slope == 0.0) && slopes[19] > 0.0);
        assert!((slopes[199] - 1.0 / 11.0).abs() < 1e-6, "{}", slopes[199]);
        assert!(slopes.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12));
    }

    /// By hand: one variation of 1 ms at the last of 20 groups 20 ms apart, so that all points but the last are 0 and that one is 0.1.
    /// The slope is `0.1 * 9.5 / sum of (n - 9.5)^2` for each group, 0.95 / 665, that of 20 ms a twentieth of it: the last arrives
    /// 1 ms later, which changes the fourth digit.
    #[test]
    fn a_single_step() {
        let slopes = slopes(20.0, (0..20).map(|n| if n == 19 { 1e-3 } else { 0.0 }));
        assert!((slopes[19] / (1e-3 * 0.95 / 665.0 / 20.0) - 1.0).abs() < 1e-3, "{}", slopes[19]);
    }
}
