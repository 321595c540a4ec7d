//! The direction in which the window moves, and how fast.

/// After how many round trips in one direction the velocity doubles.
const PATIENCE: u32 = 3;

/// Where the window moves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// The direction of the last round trip, and the velocity.
#[derive(Clone, Debug)]
pub(super) struct Velocity {
    value: f64,
    direction: Direction,
    /// Round trips in this direction.
    rounds: u32,
    /// The window when the round trip started.
    reference: f64,
}

impl Velocity {
    pub(super) const fn new(cwnd: f64) -> Velocity {
        Velocity { value: 1.0, direction: Direction::Up, rounds: 0, reference: cwnd }
    }

    pub(super) const fn get(&self) -> f64 {
        self.value
    }

    /// The window is to move `wanted`; a fast move the other way ends at once.
    pub(super) fn turn(&mut self, wanted: Direction, cwnd: f64) {
        if self.value > 1.0 && wanted != self.direction {
            *self = Velocity { direction: wanted, ..Velocity::new(cwnd) };
        }
    }

    /// A round trip ended with this window; no round trip moves it by more than itself.
    pub(super) fn end_round(&mut self, cwnd: f64, delta: f64) {
        let direction = if cwnd > self.reference { Direction::Up } else { Direction::Down };
        self.rounds = if direction == self.direction { self.rounds.saturating_add(1) } else { 1 };
        self.value = if self.rounds > PATIENCE { (2.0 * self.value).min(delta * cwnd).max(1.0) } else { 1.0 };
        self.direction = direction;
        self.reference = cwnd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With delta 0.5 and a window that falls in each round trip: the velocity is 1 for three of them and then
    /// doubles, up to half of the window, because a round trip moves the window by v/delta; and never below 1.
    #[test]
    fn no_round_trip_moves_the_window_by_more_than_itself() {
        let mut velocity = Velocity::new(10.0);
        for (cwnd, expected) in
            [(9.0, 1.0), (8.0, 1.0), (7.0, 1.0), (6.0, 2.0), (5.0, 2.5), (4.0, 2.0), (3.0, 1.5), (1.5, 1.0)]
        {
            velocity.end_round(cwnd, 0.5);
            assert!((velocity.get() - expected).abs() < 1e-12, "{cwnd}: {}", velocity.get());
        }
    }
}
