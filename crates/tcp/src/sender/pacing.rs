//! Pacing: departures spaced in time by the controller's rate (Linux's internal pacing and `sch_fq`).
//!
//! `rate = gain * ratio * max(cwnd, packets out) * MSS / srtt`, the ratio being 2.0 below half of ssthresh, so that a
//! slow start can double, and 1.2 above, so that cwnd and not the pacing is the limit. A departure that comes late
//! keeps up to half of its interval as credit, so that the mean rate is kept. spec/congestion-control section 1.13.

use windtunnel_cc::Pacing;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::tso;
use crate::params::TcpParams;

/// The first segments of a connection are not paced (Linux: as many as the initial window).
const UNPACED: u32 = 10;

/// When the next burst may leave.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    on: bool,
    gso: bool,
    gso_max: Bytes,
    ss_ratio: f64,
    ca_ratio: f64,
    /// Zero while there is no round-trip sample: no pacing.
    rate: Rate,
    next_send: Time,
    /// Segments that may still leave in the present burst.
    burst_left: u32,
    burst: u32,
    unpaced: u32,
}

/// From what the rate is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The larger one of cwnd and what is out.
    pub(crate) window: Bytes,
    pub(crate) srtt: Duration,
    pub(crate) min_rtt: Duration,
    pub(crate) mss: Bytes,
    /// cwnd is below half of ssthresh.
    pub(crate) far_below_ssthresh: bool,
}

impl Pacer {
    pub(crate) fn new(on: bool, params: &TcpParams) -> Pacer {
        Pacer {
            on,
            gso: params.gso,
            gso_max: params.gso_max,
            ss_ratio: params.pacing_ss_ratio,
            ca_ratio: params.pacing_ca_ratio,
            rate: Rate::ZERO,
            next_send: Time::ZERO,
            burst_left: 0,
            burst: 1,
            unpaced: UNPACED,
        }
    }

    /// Whether departures are spaced at all.
    #[inline]
    pub(crate) const fn on(&self) -> bool {
        self.on
    }

    /// The rate; none without pacing, and before there is a round-trip sample.
    pub(crate) fn rate(&self) -> Option<Rate> {
        (self.on && self.rate != Rate::ZERO).then_some(self.rate)
    }

    /// The rate, from the values after an ACK.
    pub(crate) fn update(&mut self, pacing: Pacing, load: Load) {
        self.rate = match pacing {
            Pacing::Rate(rate) => rate,
            Pacing::Gain(_) if load.srtt.is_zero() => Rate::ZERO,
            Pacing::Gain(gain) => {
                let ratio = if load.far_below_ssthresh { self.ss_ratio } else { self.ca_ratio };
                let bits = gain * ratio * load.window.as_f64() * 8.0 / load.srtt.as_secs_f64();
                Rate::from_bits_per_sec(Bytes::from_f64(bits).get().max(1))
            }
        };
        if self.gso {
            self.burst = tso::burst(self.rate, load.min_rtt, self.gso_max, load.mss);
        }
    }

    /// True if a segment may leave now.
    #[inline]
    pub(crate) fn ready(&self, now: Time) -> bool {
        !self.on || self.burst_left > 0 || now >= self.next_send
    }

    /// When the wait ends.
    #[inline]
    pub(crate) fn release(&self, now: Time) -> Option<Time> {
        (self.on && self.next_send > now).then_some(self.next_send)
    }

    /// A segment left.
    #[inline]
    pub(crate) fn sent(&mut self, payload: Bytes, now: Time) {
        if !self.on || self.rate == Rate::ZERO {
            return;
        }
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let interval = self.rate.transfer_time(payload);
        if self.burst_left > 0 {
            // Within a burst the schedule runs ahead of the clock.
            self.burst_left -= 1;
            self.next_send += interval;
            return;
        }
        self.burst_left = self.burst - 1;
        let scheduled = self.next_send;
        let late = now.since(scheduled);
        self.next_send = scheduled.max(now) + (interval - (interval / 2).min(late));
    }

    /// Nothing more can leave now: what is left of the burst is not kept for later.
    #[inline]
    pub(crate) fn end_burst(&mut self) {
        self.burst_left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1460);

    fn pacer(params: &TcpParams) -> Pacer {
        let mut pacer = Pacer::new(true, params);
        let load = Load {
            window: MSS * 100,
            srtt: Duration::from_millis(100),
            min_rtt: Duration::from_millis(100),
            mss: MSS,
            far_below_ssthresh: false,
        };
        pacer.update(Pacing::Gain(1.0), load);
        pacer
    }

    /// spec/congestion-control section 1.13: 1.2 * 100 * 1460 / 0.1 s = 1.752 MB/s, and 2.0 far below ssthresh.
    #[test]
    fn rate_by_hand() {
        assert_eq!(pacer(&TcpParams::default()).rate, Rate::from_bits_per_sec(8 * 1_752_000));
    }

    /// Ten segments leave at once; then one each 1460 / 1.752 MB/s = 833.333 us. A departure that is late by less than
    /// half an interval is followed by one in time.
    #[test]
    fn spacing() {
        let mut pacer = pacer(&TcpParams::default());
        let interval = Duration::from_nanos(833_333);
        let mut now = Time::ZERO + Duration::SECOND;
        for _ in 0..UNPACED {
            assert!(pacer.ready(now));
            pacer.sent(MSS, now);
        }
        pacer.sent(MSS, now);
        // It was "late" by a second, so half of its interval is forgiven.
        let half = interval - interval / 2;
        assert_eq!(pacer.release(now), Some(now + half));
        now += half;
        pacer.sent(MSS, now);
        assert_eq!(pacer.release(now), Some(now + interval));
        let late = Duration::from_micros(100);
        now = now + interval + late;
        pacer.sent(MSS, now);
        assert_eq!(pacer.release(now), Some(now + (interval - late)));
    }

    /// With GSO two segments (1.7 MB/s is less than three per millisecond) leave together, and the next burst two
    /// intervals later.
    #[test]
    fn bursts() {
        let mut pacer = pacer(&TcpParams { gso: true, ..TcpParams::default() });
        pacer.unpaced = 0;
        let now = Time::ZERO;
        pacer.sent(MSS, now);
        assert!(pacer.ready(now));
        pacer.sent(MSS, now);
        assert!(!pacer.ready(now));
        assert_eq!(pacer.release(now), Some(now + Duration::from_nanos(2 * 833_333)));
    }
}
