//! The rate at which data are acknowledged (section "Reference window undershoot at congestion").
//!
//! A round trip that becomes longer lowers the target at once. What is acknowledged follows later; until then a further
//! cut of the window would take the same queue into account twice.

use windtunnel_units::{Bytes, Duration, Time};

/// The rate is that of a round trip, or of this many frames if they take longer.
const FRAMES: u64 = 2;

/// `acked_bitrate`, in bits per second.
#[derive(Debug, Default)]
pub(super) struct AckedRate {
    rate: f64,
    /// Acknowledged since then.
    bytes: Bytes,
    since: Option<Time>,
}

impl AckedRate {
    pub(super) const fn get(&self) -> f64 {
        self.rate
    }

    /// Bytes are newly acknowledged, lost ones included as everywhere.
    pub(super) fn on_ack(&mut self, bytes: Bytes, now: Time, srtt: Duration, period: Duration) {
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += bytes;
        let elapsed = now.since(since);
        if !elapsed.is_zero() && elapsed >= srtt.max(period * FRAMES) {
            self.rate = self.bytes.as_f64() * 8.0 / elapsed.as_secs_f64();
            self.bytes = Bytes::ZERO;
            self.since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes in each 10 ms are 800 kbit/s once a round trip, or two frames, have passed since the first report.
    #[test]
    fn rates_of_round_trips_and_frames() {
        for (srtt, period, first) in [(50, 20, 5), (50, 33, 7), (50, 0, 5), (0, 0, 1)] {
            let mut acked = AckedRate::default();
            let (srtt, period) = (Duration::from_millis(srtt), Duration::from_millis(period));
            for report in 0..=first {
                assert!(acked.get() < 1e-12, "report {report}");
                acked.on_ack(Bytes::new(1000), Time::ZERO + Duration::from_millis(10) * report, srtt, period);
            }
            assert!((acked.get() - 800_000.0).abs() < 1e-6, "{}", acked.get());
        }
    }
}
