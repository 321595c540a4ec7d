//! The Kalman filter of section 5.3: the mean of the delay variation, in milliseconds for each group.

use super::groups::Variation;
use super::params::GccParams;

/// `e(0)`: the error's variance at first.
const FIRST_ERROR: f64 = 0.1;
/// The noise's variance is not less than 1 ms^2. The draft has no first value: this is the least.
const LEAST_NOISE: f64 = 1.0;
/// Of a larger deviation, this many standard deviations count as noise.
const OUTLIER: f64 = 3.0;
/// The number of groups in a second for which `chi` is the gain.
const GROUPS_PER_SECOND: f64 = 30.0;
/// K: the rate of groups is the highest of this many. The draft leaves it open; 60 are those of the authors' code.
const HISTORY: usize = 60;

/// The filter.
#[derive(Debug)]
pub(super) struct Kalman {
    q: f64,
    chi: f64,
    /// `m_hat`.
    mean: f64,
    /// `e`.
    error: f64,
    /// `var_v_hat`.
    noise: f64,
    /// The last times from group to group.
    departures: [f64; HISTORY],
    next: usize,
}

impl Kalman {
    pub(super) const fn new(params: &GccParams) -> Kalman {
        Kalman {
            q: params.q,
            chi: params.chi,
            mean: 0.0,
            error: FIRST_ERROR,
            noise: LEAST_NOISE,
            departures: [f64::INFINITY; HISTORY],
            next: 0,
        }
    }

    /// Takes a group. Returns the mean.
    pub(super) fn update(&mut self, group: &Variation) -> f64 {
        self.departures[self.next] = group.departures;
        self.next = (self.next + 1) % HISTORY;
        let deviation = group.delay - self.mean;
        self.noise = self.noise_after(deviation);
        let error = self.error + self.q;
        let gain = error / (self.noise + error);
        self.mean += deviation * gain;
        self.error = (1.0 - gain) * error;
        self.mean
    }

    fn noise_after(&self, deviation: f64) -> f64 {
        // 1 / f_max, in seconds.
        let shortest = self.departures.iter().copied().fold(f64::INFINITY, f64::min) / 1e3;
        let alpha = libm::pow(1.0 - self.chi, GROUPS_PER_SECOND * shortest);
        let counted = deviation.abs().min(OUTLIER * libm::sqrt(self.noise));
        (alpha * self.noise + (1.0 - alpha) * counted * counted).max(LEAST_NOISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kalman() -> Kalman {
        Kalman::new(&GccParams::default())
    }

    fn group(delay: f64, departures: f64) -> Variation {
        Variation { delay, departures, arrival: 0.0 }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    /// Two steps by hand, with groups at 30 in a second, so that alpha is 1 - chi = 0.99. A variation of 2 ms:
    /// the noise is 0.99 + 0.01 * 4 = 1.03, the gain 0.101 / 1.131, the mean 0.202 / 1.131. Then one of 0 ms, with groups at twice
    /// the rate: alpha is the root of 0.99.
    #[test]
    fn steps_by_hand() {
        let mut kalman = kalman();
        let mean = kalman.update(&group(2.0, 1e3 / 30.0));
        assert_near(mean, 0.202 / 1.131);
        assert_near(kalman.noise, 1.03);
        let error = (1.0 - 0.101 / 1.131) * 0.101;
        assert_near(kalman.error, error);

        let second = kalman.update(&group(0.0, 1e3 / 60.0));
        let alpha = libm::sqrt(0.99);
        let noise = alpha * 1.03 + (1.0 - alpha) * mean * mean;
        assert_near(kalman.noise, noise);
        assert_near(second, mean - mean * (error + 0.001) / (noise + error + 0.001));
    }

    /// "An additional outlier filter": of 100 ms three standard deviations count, here 3 ms, in both directions; the mean takes
    /// all of it. The highest rate of the last groups counts: a pause does not make alpha small.
    #[test]
    fn outliers_count_less_as_noise() {
        for sign in [1.0, -1.0] {
            let mut kalman = kalman();
            kalman.update(&group(0.0, 1e3 / 30.0));
            let error = kalman.error + 0.001;
            let mean = kalman.update(&group(100.0 * sign, 1e3));
            assert_near(kalman.noise, 0.99 + 0.01 * 9.0);
            assert_near(mean, sign * 100.0 * error / (1.08 + error));
        }
    }

    /// The noise is at least 1, and then the gain settles where `P^2 - q P - q = 0` for P the error before a group: P = 0.03213, and
    /// the gain is P / (1 + P) = 0.03113. A constant variation becomes the mean.
    #[test]
    fn settles() {
        let mut kalman = kalman();
        for _ in 0..1000 {
            kalman.update(&group(0.5, 5.0));
        }
        assert_near(kalman.noise, 1.0);
        let before = f64::midpoint(0.001, libm::sqrt(0.001 * 0.001 + 4.0 * 0.001));
        assert!((kalman.error + 0.001 - before).abs() < 1e-6, "{}", kalman.error);
        assert!((kalman.mean - 0.5).abs() < 1e-6, "{}", kalman.mean);
    }
}
