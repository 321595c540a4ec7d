//! Pacing: departures spaced in time (spec/mds section 2).

use windtunnel_cc::Pacing;
use windtunnel_units::{Bytes, Duration, Rate, Time};

/// After a segment is sent, the flow waits for the time that an IP packet of full size takes at the pacing
/// rate, taken from the values at that moment. While it waits, arriving ACKs send nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// When the wait ends; [`Time::NEVER`] without one.
    release: Time,
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer { release: Time::NEVER }
    }
}

impl Pacer {
    /// True if a segment may leave as far as pacing goes.
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
    pub(crate) fn sent(&mut self, now: Time, mtu: Bytes, cwnd: Bytes, srtt: Duration, pacing: Pacing) {
        let gap = match pacing {
            // Without an RTT sample there is no rate, hence no gap.
            Pacing::Gain(gain) => srtt.scale(mtu.as_f64() / (gain * cwnd.as_f64())),
            Pacing::Rate(Rate::ZERO) => Duration::ZERO,
            Pacing::Rate(rate) => rate.transfer_time(mtu),
        };
        self.release = if gap.is_zero() { Time::NEVER } else { now + gap };
    }
}
