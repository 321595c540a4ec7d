//! From a gradient of utility to a change of the rate (section 4.2 of the paper).

/// A change in the same direction adds this much confidence, up to [`SURE`].
const GAIN: f64 = 1.0;
/// Beyond it, half as much.
const SURE: f64 = 3.0;

/// Gradient ascent: how far the last steps went, and in which direction.
#[derive(Clone, Debug)]
pub(super) struct Ascent {
    theta: f64,
    omega: f64,
    delta: f64,
    /// The sign of the last step; zero before the first.
    direction: f64,
    confidence: f64,
    /// By how many increments the boundary is wider than at first.
    widened: u32,
}

impl Ascent {
    pub(super) const fn new(theta: f64, omega: f64, delta: f64) -> Ascent {
        Ascent { theta, omega, delta, direction: 0.0, confidence: 0.0, widened: 0 }
    }

    /// Forgets the direction.
    pub(super) const fn reset(&mut self) {
        *self = Ascent::new(self.theta, self.omega, self.delta);
    }

    /// The change of a rate that has this gradient of utility, in Mbit/s.
    pub(super) fn step(&mut self, gradient: f64, rate: f64) -> f64 {
        self.turn(gradient);
        let wanted = self.theta * amplifier(self.confidence) * gradient;
        self.bounded(wanted, rate)
    }

    /// Steps in one direction raise the confidence; a turn ends it and narrows the boundary.
    fn turn(&mut self, gradient: f64) {
        if gradient * self.direction <= 0.0 {
            self.reset();
        } else if self.confidence <= SURE {
            self.confidence += GAIN;
        } else {
            self.confidence += GAIN / 2.0;
        }
        self.direction = if gradient == 0.0 { 0.0 } else { gradient.signum() };
    }

    /// A step beyond the boundary is cut and widens it for the next one; a smaller step narrows it to what holds the step.
    fn bounded(&mut self, wanted: f64, rate: f64) -> f64 {
        let boundary = self.boundary();
        let share = wanted.abs() / rate;
        if share > boundary {
            self.widened = self.widened.saturating_add(1);
            return boundary * rate * self.direction;
        }
        self.widened = ((share - self.omega).max(0.0) / self.delta).ceil() as u32;
        wanted
    }

    /// The largest change, as a share of the rate.
    pub(super) fn boundary(&self) -> f64 {
        self.omega + f64::from(self.widened) * self.delta
    }

    pub(super) const fn confidence(&self) -> f64 {
        self.confidence
    }
}

/// The confidence amplifier m: 1 for a first step, and steeper the longer a direction lasts.
fn amplifier(confidence: f64) -> f64 {
    match confidence {
        c if c < 3.0 => c + 1.0,
        c if c < 6.0 => 2.0 * c - 2.0,
        c if c < 9.0 => 4.0 * c - 14.0,
        c => 8.0 * c - 50.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of one Mbit/s per unit of gradient, on a rate so large that no boundary counts.
    fn steps(gradients: &[f64]) -> Vec<f64> {
        let mut ascent = Ascent::new(1.0, 0.05, 0.06);
        gradients.iter().map(|gradient| ascent.step(*gradient, 1e6)).collect()
    }

    /// Steps up: confidence 0, 1, 2, 3, 4, then halves up to 6.5 and 9; m = 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, ... Its
    /// pieces meet or rise at 3, 6 and 9.
    #[test]
    fn confidence_amplifies() {
        assert_eq!(steps(&[0.5; 10]), [0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0]);
        let values: Vec<f64> = (0..40).map(|half| amplifier(f64::from(half) / 2.0)).collect();
        assert!(values.windows(2).all(|pair| pair[1] > pair[0]), "{values:?}");
        assert_eq!((amplifier(6.0), amplifier(9.0), amplifier(10.0)), (10.0, 22.0, 30.0));
    }

    #[test]
    fn a_turn_ends_confidence() {
        assert_eq!(steps(&[1.0, 1.0, 1.0, -1.0, -1.0, 0.0, -1.0]), [1.0, 2.0, 3.0, -1.0, -2.0, 0.0, -1.0]);
    }

    /// On 100 Mbit/s: steps of 50 are cut to 5 %, 11 %, 17 %; one of 9 (3 times the confidence of the fourth step, 4) then needs
    /// one increment, because 5 % < 9 % <= 11 %; one of 4 needs none. A turn starts at 5 % again.
    #[test]
    fn boundary_widens_and_narrows() {
        let mut ascent = Ascent::new(1.0, 0.05, 0.06);
        let mut step = |gradient: f64| (ascent.step(gradient, 100.0), ascent.boundary());
        let close = |(step, boundary): (f64, f64), expected: (f64, f64)| {
            assert!(
                (step - expected.0).abs() < 1e-9 && (boundary - expected.1).abs() < 1e-9,
                "{step} {boundary}"
            );
        };
        close(step(50.0), (5.0, 0.11));
        close(step(50.0), (11.0, 0.17));
        close(step(50.0), (17.0, 0.23));
        close(step(9.0 / 4.0), (9.0, 0.11));
        close(step(4.0 / 6.0), (4.0, 0.05));
        close(step(50.0), (5.0, 0.11));
        close(step(-50.0), (-5.0, 0.11));
    }

    /// A cut step of 17 % leaves a boundary of 23 %. A step of 15 % then needs 5 % and two increments of 6 %.
    #[test]
    fn the_boundary_narrows_to_what_holds_the_step() {
        let mut ascent = Ascent::new(1.0, 0.05, 0.06);
        for _ in 0..3 {
            ascent.step(50.0, 100.0);
        }
        assert!((ascent.step(15.0 / 4.0, 100.0) - 15.0).abs() < 1e-9);
        assert!((ascent.boundary() - 0.17).abs() < 1e-9, "{}", ascent.boundary());
    }
}
