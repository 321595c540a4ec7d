//! Exit responses: what slow start does to cwnd when it ends.
//!
//! Slow start has overshot when it notices congestion, because signals are a round trip old. `target` sets cwnd to what
//! the path held: the flight one srtt ago, which has just been delivered, scaled by `minRTT / RTT` to exclude queued
//! data (spec/mds section 5). `half` is the classic answer for a window that doubles every round trip.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration, Time};

use crate::Style;
use crate::sample::PathView;

/// What slow start does to cwnd when a signal or delay ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitResponse {
    /// Nothing: congestion avoidance answers a persisting signal one round later.
    #[default]
    None,
    /// cwnd = flight one srtt ago * minRTT / RTT.
    Target,
    /// cwnd / 2.
    Half,
    /// On CE, the decrease of congestion avoidance; otherwise nothing (RFC 3168 section 6.1.2, Linux).
    Md,
}

impl ExitResponse {
    /// Returns the exit response of a style's slow starts.
    pub(crate) const fn usual(style: Style) -> ExitResponse {
        match style {
            Style::Document => ExitResponse::None,
            Style::Linux => ExitResponse::Md,
        }
    }
}

/// An exit response and the state that it needs.
#[derive(Clone, Debug)]
pub(crate) enum Exit {
    None,
    Target(Box<FlightHistory>),
    Half,
    Md,
}

impl Exit {
    pub(crate) fn new(response: ExitResponse) -> Exit {
        match response {
            ExitResponse::None => Exit::None,
            ExitResponse::Target => Exit::Target(Box::default()),
            ExitResponse::Half => Exit::Half,
            ExitResponse::Md => Exit::Md,
        }
    }

    /// Records the flight at an ACK.
    pub(crate) fn observe(&mut self, path: &PathView) {
        if let Exit::Target(history) = self {
            history.observe(path.now, path.in_flight, path.srtt);
        }
    }

    /// Returns true if CE is answered as in congestion avoidance.
    pub(crate) const fn is_md(&self) -> bool {
        matches!(self, Exit::Md)
    }

    /// Returns cwnd after the response.
    pub(crate) fn cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        match self {
            Exit::None | Exit::Md => cwnd,
            Exit::Half => cwnd / 2,
            Exit::Target(history) => {
                let flight = history.one_srtt_before(path.now, path.srtt).unwrap_or(cwnd);
                cwnd.min(less_queued(flight, path.min_rtt, rtt.unwrap_or(path.srtt)))
            }
        }
    }
}

/// Returns how much of `amount` the path holds without its queues: `amount * minRTT / RTT`.
pub(crate) fn less_queued(amount: Bytes, min_rtt: Duration, rtt: Duration) -> Bytes {
    if rtt <= min_rtt {
        return amount;
    }
    let product = u128::from(amount.get()) * u128::from(min_rtt.as_nanos());
    Bytes::new((product / u128::from(rtt.as_nanos())) as u64)
}

/// How many samples of the flight are kept: twice as many as are taken per srtt, because srtt grows.
const SAMPLES: usize = 128;

/// Samples taken per srtt: a 64th of srtt is 1.5 % of a window that doubles in it.
const PER_SRTT: u64 = 64;

/// The flight over the last srtt, sampled so that the memory is bounded at any rate.
#[derive(Clone, Debug)]
pub(crate) struct FlightHistory {
    samples: [(Time, Bytes); SAMPLES],
    /// Samples ever taken.
    taken: usize,
}

impl Default for FlightHistory {
    fn default() -> FlightHistory {
        FlightHistory { samples: [(Time::ZERO, Bytes::ZERO); SAMPLES], taken: 0 }
    }
}

impl FlightHistory {
    fn observe(&mut self, now: Time, flight: Bytes, srtt: Duration) {
        let last = self.newest_first().next();
        if last.is_some_and(|(time, _)| now.since(time) < srtt / PER_SRTT) {
            return;
        }
        self.samples[self.taken % SAMPLES] = (now, flight);
        self.taken += 1;
    }

    /// Returns the flight one srtt before `now`, or the oldest sample if the history is shorter.
    fn one_srtt_before(&self, now: Time, srtt: Duration) -> Option<Bytes> {
        self.newest_first()
            .find(|(time, _)| now.since(*time) >= srtt)
            .or_else(|| self.newest_first().last())
            .map(|(_, flight)| flight)
    }

    fn newest_first(&self) -> impl Iterator<Item = (Time, Bytes)> {
        let oldest = self.taken.saturating_sub(SAMPLES);
        (oldest..self.taken).rev().map(|n| self.samples[n % SAMPLES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/mds section 5: the flight one srtt ago, whatever happened since.
    #[test]
    fn the_history_looks_one_srtt_back() {
        let mut history = FlightHistory::default();
        let srtt = Duration::from_millis(64);
        for ms in 0..1000 {
            history.observe(Time::ZERO + Duration::from_millis(ms), Bytes::new(ms), srtt);
        }
        let now = Time::ZERO + Duration::from_millis(999);
        assert_eq!(history.one_srtt_before(now, srtt), Some(Bytes::new(999 - 64)));
    }

    /// A history shorter than srtt gives its oldest sample; an empty history gives nothing.
    #[test]
    fn a_short_history_gives_its_oldest() {
        let mut history = FlightHistory::default();
        let second = Duration::SECOND;
        assert_eq!(history.one_srtt_before(Time::ZERO, second), None);
        history.observe(Time::ZERO, Bytes::new(7), second);
        history.observe(Time::ZERO + second / 2, Bytes::new(8), second);
        assert_eq!(history.one_srtt_before(Time::ZERO + second / 2, second), Some(Bytes::new(7)));
    }
}
