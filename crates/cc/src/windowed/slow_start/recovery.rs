//! A recovery that finds the window by what arrives of the flight that was under way at the signal.
//!
//! Rapid Start ends with it (draft-kazuho-ccwg-rapid-start, editor's copy 00e5ea1, "Congestion Handling"). A window
//! that trebles per round trip may be up to three times what path and queue hold, so that no fixed factor fits. The
//! signal takes cwnd to `silence` of itself, each byte that is then delivered takes `ack_factor` of a byte, and each
//! that is lost `loss_factor`. With `beta` the part that a response leaves, and K = 2/3:
//!
//! - `silence = loss_factor = beta + K (1 - beta)`, `ack_factor = K (1 - beta)`;
//! - once all of the flight has arrived or is lost, cwnd is `beta` times what arrived, which is what path and queue
//!   hold, whatever was lost;
//! - sending pauses for as long as congestion avoidance's answer would pause it at most.
//!
//! The floor is a third of `beta` times the window, to which the largest overshoot leads. Neither is cwnd below `beta`
//! times the initial window (the draft permits that), or the sender's least window.
//!
//! It starts from the window that a response would cut, as the draft has it (`pre_recovery_cwnd`). The derivation takes
//! that for the flight; where the sender did not use its window, `tcp.ssthresh_base = "flight"` starts from the flight
//! itself.
//!
//! Only the flight at the signal counts. With QUIC recovery is over when a packet sent during it is acknowledged; TCP's
//! lasts until all losses are repaired, and what it sends meanwhile would be counted twice.

use windtunnel_units::Bytes;

use super::Recovery;
use crate::sample::PathView;

/// K of the reduction factors.
const K: f64 = 2.0 / 3.0;
/// The largest growth per round trip, and so the largest overshoot.
const OVERSHOOT: f64 = 3.0;

/// A recovery under way.
#[derive(Clone, Debug)]
pub(super) struct ByArrivals {
    /// cwnd in fractions of a byte.
    window: f64,
    floor: f64,
    /// `beta`: what a response leaves of a window.
    kept: f64,
    /// What is left of the flight at the signal.
    left: Bytes,
    /// True once the ACK that showed the congestion has been counted.
    begun: bool,
    /// The window that growth looks back to, as a multiple of what path and queue hold.
    peak: f64,
}

impl ByArrivals {
    /// Starts a recovery from a window of `cwnd`; a response would multiply it by `kept`. The recovery does not take
    /// cwnd below `least`. Congestion avoidance is told of a window of `peak` times what path and queue hold.
    pub(super) fn new(cwnd: Bytes, kept: f64, least: Bytes, peak: f64, path: &PathView) -> ByArrivals {
        let before = cwnd.as_f64();
        let mut recovery = ByArrivals {
            window: before,
            floor: (before * kept / OVERSHOOT).max(least.as_f64()).min(before),
            kept,
            left: path.in_flight,
            begun: false,
            peak,
        };
        recovery.take((1.0 - recovery.silence()) * before);
        recovery
    }

    fn ack_factor(&self) -> f64 {
        K * (1.0 - self.kept)
    }

    /// The silence factor, which is the loss factor, too.
    fn silence(&self) -> f64 {
        self.kept + self.ack_factor()
    }

    /// Returns how much of `amount` belonged to the flight at the signal.
    fn of_flight(&mut self, amount: Bytes) -> Bytes {
        let counted = amount.min(self.left);
        self.left -= counted;
        counted
    }

    fn take(&mut self, bytes: f64) {
        self.window = (self.window - bytes).max(self.floor);
    }
}

impl Recovery for ByArrivals {
    fn begin(&mut self, lost: Bytes) {
        self.take(self.silence() * lost.as_f64());
    }

    fn on_lost(&mut self, lost: Bytes) {
        let counted = self.of_flight(lost);
        self.take(self.silence() * counted.as_f64());
    }

    fn on_ack(&mut self, delivered: Bytes, path: &PathView) {
        let counted = if self.begun { self.of_flight(delivered) } else { delivered };
        if !self.begun {
            self.begun = true;
            self.left = path.in_flight;
        }
        self.take(self.ack_factor() * counted.as_f64());
    }

    /// What was not counted yet has arrived now.
    fn settle(&mut self) {
        let counted = std::mem::take(&mut self.left);
        self.take(self.ack_factor() * counted.as_f64());
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.window)
    }

    fn kept(&self) -> f64 {
        self.kept
    }

    fn peak(&self) -> Bytes {
        Bytes::from_f64(self.peak * self.window / self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    fn flight(segments: u64) -> PathView {
        PathView { in_flight: MSS * segments, ..PathView::of_segments(0, 0) }
    }

    fn segments(bytes: Bytes) -> f64 {
        bytes.as_f64() / MSS.as_f64()
    }

    /// Section "Reduction Factors" of the draft: the factors for a beta of 0.5, 0.7 and 0.8.
    #[test]
    fn the_factors_follow_from_beta() {
        for (beta, silence, ack_factor) in
            [(0.5, 5.0 / 6.0, 1.0 / 3.0), (0.7, 0.9, 0.2), (0.8, 14.0 / 15.0, 2.0 / 15.0)]
        {
            let recovery = ByArrivals::new(MSS * 300, beta, MSS * 2, 2.0, &flight(299));
            assert!((recovery.silence() - silence).abs() < 1e-12, "{beta}");
            assert!((recovery.ack_factor() - ack_factor).abs() < 1e-12, "{beta}");
            assert!((recovery.window / MSS.as_f64() - 300.0 * silence).abs() < 1e-9, "{beta}");
        }
    }

    /// spec/ccwg-2026 section F.1: of 300 segments 100 are lost and 200 arrive, which leaves 0.7 of those; two thirds
    /// lost lead to the floor, 0.7 of a third. Whatever is lost, `beta` times what arrived is left, also with an ACK
    /// for many, and if the last ACK is not counted.
    #[test]
    fn the_window_ends_at_beta_times_what_arrived() {
        for (lost, per_ack, end) in
            [(100, 1, 140.0), (200, 1, 70.0), (0, 1, 210.0), (100, 20, 140.0), (260, 1, 70.0)]
        {
            let first = MSS * u64::from(lost > 0);
            let in_flight = MSS * (300 - u64::from(lost > 0));
            let path = PathView { in_flight, ..flight(0) };
            let mut recovery = ByArrivals::new(MSS * 300, 0.7, MSS * 2, 2.0, &path);
            recovery.begin(first);
            let mut left = path.in_flight;
            for _ in 0..(300 - lost) / per_ack - 1 {
                left -= MSS * per_ack;
                recovery.on_ack(MSS * per_ack, &PathView { in_flight: left, ..path });
            }
            for _ in 1..lost {
                recovery.on_lost(MSS);
            }
            recovery.settle();
            assert!(
                (segments(recovery.cwnd()) - end).abs() < 0.01,
                "{} of {lost}",
                segments(recovery.cwnd())
            );
            // Twice what path and queue hold, for CUBIC.
            assert!((segments(recovery.peak()) - 2.0 * end / 0.7).abs() < 0.01);
        }
    }

    /// What is sent during the recovery, and repairs, do not lower the window any further.
    #[test]
    fn only_the_flight_at_the_signal_counts() {
        let mut recovery = ByArrivals::new(MSS * 300, 0.7, MSS * 2, 2.0, &flight(300));
        recovery.on_ack(MSS, &flight(299));
        recovery.on_ack(MSS * 1000, &flight(200));
        let end = recovery.cwnd();
        assert!((segments(end) - 210.0).abs() < 0.01);
        recovery.on_ack(MSS * 100, &flight(100));
        recovery.on_lost(MSS * 100);
        assert_eq!(recovery.cwnd(), end);
    }

    /// The floors: a third of beta times the window, what the caller demands, and never above the window itself.
    #[test]
    fn the_window_has_floors() {
        for (cwnd, least, floor) in [(300, 2, 70.0), (30, 7, 7.0), (4, 7, 4.0)] {
            let mut recovery = ByArrivals::new(MSS * cwnd, 0.7, MSS * least, 2.0, &flight(cwnd));
            recovery.on_lost(MSS * cwnd);
            assert!((segments(recovery.cwnd()) - floor).abs() < 0.01, "{}", segments(recovery.cwnd()));
        }
    }
}
