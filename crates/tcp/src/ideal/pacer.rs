//! Pacing: departures spaced in time (spec/mds section 2).

use windtunnel_cc::Pacing;
use windtunnel_units::{Bytes, Duration, Rate, Time};

/// After a segment is sent, the flow waits for the time that an IP packet of full size takes at the pacing
/// rate, taken from the values at that moment. While it waits, arriving ACKs send nothing.
///
/// If the controller states a send quantum, its segments leave in bursts of that size; the wait after a burst is the
/// sum of the waits of its segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// When the wait ends; [`Time::NEVER`] without one.
    release: Time,
}

/// The burst that is leaving, of a controller with a send quantum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burst {
    /// When its share of time ends.
    until: Time,
    /// How much of it has left.
    left: Bytes,
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer { release: Time::NEVER }
    }
}

/// What determines the spacing of a departure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departing {
    pub(crate) now: Time,
    /// An IP packet of full size, and its payload.
    pub(crate) mtu: Bytes,
    pub(crate) mss: Bytes,
    pub(crate) cwnd: Bytes,
    pub(crate) srtt: Duration,
}

impl Pacer {
    /// True if pacing allows a segment to leave.
    pub(crate) const fn ready(self) -> bool {
        self.release.as_nanos() == Time::NEVER.as_nanos()
    }

    /// When the wait ends.
    pub(crate) const fn next_timer(self) -> Option<Time> {
        if self.ready() { None } else { Some(self.release) }
    }

    /// The wait has ended.
    pub(crate) fn on_timer(&mut self) {
        self.release = Time::NEVER;
    }

    /// A segment left: wait.
    #[inline]
    pub(crate) fn sent(&mut self, of: Departing, pacing: Pacing) {
        let gap = gap(of, pacing);
        self.release = if gap.is_zero() { Time::NEVER } else { of.now + gap };
    }

    /// A segment left, in bursts of `quantum`: wait after the last one of a burst. A burst is over if its time has
    /// passed before its next segment leaves.
    pub(crate) fn sent_of_burst(&mut self, burst: &mut Burst, of: Departing, pacing: Pacing, quantum: Bytes) {
        if burst.until <= of.now {
            *burst = Burst { until: of.now, left: Bytes::ZERO };
        }
        burst.until += gap(of, pacing);
        burst.left += of.mss;
        if burst.left + of.mss > quantum && burst.until > of.now {
            self.release = burst.until;
            *burst = Burst::default();
        }
    }
}

/// The wait that belongs to one segment. A rate set by the controller counts payload, as rate samples do.
#[inline]
fn gap(of: Departing, pacing: Pacing) -> Duration {
    match pacing {
        // Without an RTT sample there is no rate, hence no gap.
        Pacing::Gain(gain) => of.srtt.scale(of.mtu.as_f64() / (gain * of.cwnd.as_f64())),
        Pacing::Rate(Rate::ZERO) => Duration::ZERO,
        Pacing::Rate(rate) => rate.transfer_time(of.mss),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1250);

    fn of(millis: u64) -> Departing {
        Departing {
            now: Time::ZERO + Duration::from_millis(millis),
            mtu: MSS + Bytes::new(52),
            mss: MSS,
            cwnd: MSS * 10,
            srtt: Duration::from_millis(20),
        }
    }

    /// 1250 bytes of payload at 10 Mbit/s take a millisecond. Three segments leave at once, then the flow waits for
    /// three milliseconds. When cwnd cuts a burst short, the rest of it is forgotten once its time is over.
    #[test]
    fn bursts() {
        let (mut pacer, mut burst) = (Pacer::default(), Burst::default());
        let at = |millis| Some(Time::ZERO + Duration::from_millis(millis));
        let rate = Pacing::Rate(Rate::from_mbps(10));
        let mut send = |millis| {
            pacer.on_timer();
            pacer.sent_of_burst(&mut burst, of(millis), rate, MSS * 3);
            pacer.next_timer()
        };
        assert_eq!([send(10), send(10), send(10)], [None, None, at(13)]);
        assert_eq!([send(13), send(13), send(13)], [None, None, at(16)]);
        assert_eq!([send(16), send(20), send(20), send(20)], [None, None, None, at(23)]);
    }

    /// A quantum smaller than a segment counts as one segment; without a rate nothing waits.
    #[test]
    fn a_segment_always_may_leave() {
        let mut pacer = Pacer::default();
        pacer.sent_of_burst(&mut Burst::default(), of(10), Pacing::Rate(Rate::from_mbps(10)), Bytes::ZERO);
        assert_eq!(pacer.next_timer(), Some(Time::ZERO + Duration::from_millis(11)));
        let mut pacer = Pacer::default();
        pacer.sent_of_burst(&mut Burst::default(), of(10), Pacing::Rate(Rate::ZERO), Bytes::ZERO);
        assert_eq!(pacer.next_timer(), None);
    }
}
