//! The round-trip time, and how long to wait for a report (RFC 6298).

use windtunnel_units::Duration;

/// The wait before a round trip is measured, and the least one (section 2).
const LEAST_TIMEOUT: Duration = Duration::SECOND;
/// The longest wait.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The smoothed round-trip time and its variation.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    least: Option<Duration>,
}

impl RoundTrip {
    pub(super) fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or_default()
    }

    pub(super) fn least(&self) -> Duration {
        self.least.unwrap_or_default()
    }

    pub(super) fn update(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        match self.smoothed {
            None => {
                self.variation = rtt / 2;
                self.smoothed = Some(rtt);
            }
            Some(smoothed) => {
                let error = rtt.max(smoothed) - rtt.min(smoothed);
                self.variation = (self.variation * 3 + error) / 4;
                self.smoothed = Some((smoothed * 7 + rtt) / 8);
            }
        }
    }

    /// How long to wait for a report, after `expiries` waits in vain.
    pub(super) fn timeout(&self, expiries: u32) -> Duration {
        let first = self.smoothed.map_or(LEAST_TIMEOUT, |smoothed| smoothed + self.variation * 4);
        (first.max(LEAST_TIMEOUT) * (1 << expiries.min(6))).min(LONGEST_TIMEOUT)
    }
}
