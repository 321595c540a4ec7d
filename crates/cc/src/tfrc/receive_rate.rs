//! The rate `X_recv` at which data arrive (RFC 5348 section 6.2).

use windtunnel_units::{Bytes, Duration, Time};

/// How much had arrived at some time.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    delivered: Bytes,
}

/// Measures what arrived since the last report, or over a round trip if that was shorter ago.
#[derive(Clone, Debug)]
pub(super) struct ReceiveRate {
    /// The last report.
    last: Mark,
    /// The latest report that is at least a round trip older than the last one.
    before: Mark,
    delivered: Bytes,
}

impl ReceiveRate {
    pub(super) const fn new(now: Time, delivered: Bytes) -> ReceiveRate {
        let mark = Mark { at: now, delivered };
        ReceiveRate { last: mark, before: mark, delivered }
    }

    pub(super) const fn on_delivered(&mut self, delivered: Bytes) {
        self.delivered = delivered;
    }

    /// How long ago the last report was.
    pub(super) const fn age(&self, now: Time) -> Duration {
        now.since(self.last.at)
    }

    /// The rate in bytes per second; none if no time has passed.
    pub(super) fn rate(&self, now: Time, rtt: Duration) -> Option<f64> {
        let mark = if self.age(now) >= rtt { self.last } else { self.before };
        let span = now.since(mark.at);
        (!span.is_zero()).then(|| (self.delivered - mark.delivered).as_f64() / span.as_secs_f64())
    }

    /// The rate is reported.
    pub(super) fn report(&mut self, now: Time, rtt: Duration) {
        if self.age(now) >= rtt {
            self.before = self.last;
        }
        self.last = Mark { at: now, delivered: self.delivered };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Section 6.2: a report within a round trip of the last one covers the time before it too.
    #[test]
    fn covers_a_round_trip() {
        let mut meter = ReceiveRate::new(at(0), Bytes::ZERO);
        assert_eq!(meter.rate(at(0), RTT), None);
        meter.on_delivered(Bytes::new(1000));
        assert_eq!(meter.rate(at(100), RTT), Some(10_000.0));
        meter.report(at(100), RTT);
        meter.on_delivered(Bytes::new(4000));
        assert_eq!(meter.rate(at(150), RTT), Some(4000.0 / 0.15), "from 0 ms on");
        meter.report(at(150), RTT);
        meter.on_delivered(Bytes::new(5000));
        assert_eq!(meter.rate(at(200), RTT), Some(25_000.0), "still from 0 ms on");
        assert_eq!(meter.rate(at(250), RTT), Some(10_000.0), "from 150 ms on");
    }
}
