//! Validated windows (RFC 7661): the amount that was really delivered validates cwnd.
//!
//! `pipeACK` is the largest amount acknowledged in one round trip within the last max(3 RTT, 1 s). While it is at
//! least half of cwnd, cwnd is *validated* and grows as always. Otherwise the flow does not use its window: cwnd
//! neither grows nor is reset by idleness, but a loss reduces it to the amount that was used. After five minutes
//! without use, cwnd is halved. spec/congestion-control section 1.6.

use std::cmp::Reverse;

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::windowed_min::WindowedMin;

/// The Non-Validated Period: the longest time for which an unused cwnd is kept (RFC 7661 section 4.4.3).
const NVP: Duration = Duration::from_secs(5 * 60);

/// Measures how much of cwnd is used.
#[derive(Clone, Debug, Default)]
pub(crate) struct PipeAck {
    /// Undefined at the start and after a loss.
    most: Option<WindowedMin<Reverse<Bytes>>>,
    round_end: Seq,
    round_acked: Bytes,
    /// The start of the time in which cwnd is not validated.
    unused_since: Option<Time>,
    /// The amount in use when the loss was found, until its recovery ends: the larger of pipeACK and the flight.
    used_at_loss: Option<Bytes>,
    retransmitted: Bytes,
}

impl PipeAck {
    /// An ACK delivered `acked` up to `una`.
    pub(crate) fn on_ack(&mut self, acked: Bytes, una: Seq, nxt: Seq, srtt: Duration, now: Time) {
        self.round_acked += acked;
        if una > self.round_end {
            let sample = Reverse(self.round_acked);
            let period = (srtt * 3).max(Duration::SECOND);
            match &mut self.most {
                Some(most) => most.update(sample, now, period),
                None => self.most = Some(WindowedMin::new(sample, now)),
            }
            self.round_end = nxt;
            self.round_acked = Bytes::ZERO;
        }
    }

    /// cwnd is in use.
    pub(crate) fn validated(&self, cwnd: Bytes) -> bool {
        self.most.as_ref().is_none_or(|most| most.get().0 * 2 >= cwnd)
    }

    /// Five minutes passed with cwnd not validated. Returns the cwnd to continue with.
    pub(crate) fn expire(&mut self, cwnd: Bytes, iw: Bytes, now: Time) -> Option<Bytes> {
        if self.validated(cwnd) {
            self.unused_since = None;
            return None;
        }
        let since = *self.unused_since.get_or_insert(now);
        if now.since(since) < NVP {
            return None;
        }
        self.unused_since = Some(now);
        Some((cwnd / 2).max(iw).min(cwnd))
    }

    /// A loss was found with `flight` outstanding under `cwnd`. Returns the cwnd to recover with, if cwnd was not
    /// validated.
    pub(crate) fn on_loss(&mut self, cwnd: Bytes, flight: Bytes) -> Option<Bytes> {
        let unvalidated = !self.validated(cwnd);
        let used = self.most.as_ref().map_or(flight, |most| most.get().0.max(flight));
        self.most = None;
        self.unused_since = None;
        self.retransmitted = Bytes::ZERO;
        self.used_at_loss = unvalidated.then_some(used);
        unvalidated.then(|| used / 2)
    }

    /// A segment was sent again.
    pub(crate) fn on_retransmitted(&mut self, payload: Bytes) {
        self.retransmitted += payload;
    }

    /// The recovery ended. Returns the cwnd to continue with, if cwnd was not validated when the recovery started.
    pub(crate) fn on_recovered(&mut self) -> Option<Bytes> {
        self.used_at_loss.take().map(|used| used.saturating_sub(self.retransmitted) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// 20 of 100 are used: not validated. After five minutes half is given up, after ten half of the rest, but never
    /// below IW; use in between restarts the five minutes.
    #[test]
    fn unused_for_five_minutes() {
        let mut pipe = PipeAck::default();
        assert!(pipe.validated(MSS * 100), "undefined at the start");
        let at = |s: u64| Time::ZERO + Duration::from_secs(s);
        let mut una = Seq::FIRST_DATA;
        let mut use_up = |pipe: &mut PipeAck, segments: u64, s: u64| {
            una = una + MSS * segments;
            pipe.on_ack(MSS * segments, una, una, Duration::from_millis(100), at(s));
        };
        use_up(&mut pipe, 20, 0);
        assert!(!pipe.validated(MSS * 100) && pipe.validated(MSS * 40));
        assert_eq!(pipe.expire(MSS * 100, MSS * 10, at(0)), None);
        use_up(&mut pipe, 60, 100);
        assert_eq!(pipe.expire(MSS * 100, MSS * 10, at(100)), None, "validated");
        use_up(&mut pipe, 20, 110);
        assert_eq!(pipe.expire(MSS * 100, MSS * 10, at(110)), None);
        assert_eq!(pipe.expire(MSS * 100, MSS * 10, at(409)), None);
        assert_eq!(pipe.expire(MSS * 100, MSS * 10, at(410)), Some(MSS * 50));
        assert_eq!(pipe.expire(MSS * 50, MSS * 30, at(710)), Some(MSS * 30));
    }

    /// RFC 7661 section 4.4.1: half of the amount used, less the amount sent again when the recovery ends. No value
    /// if cwnd was validated.
    #[test]
    fn loss_while_unused() {
        let mut pipe = PipeAck::default();
        pipe.on_ack(MSS * 20, Seq::new(20_001), Seq::new(20_001), Duration::from_millis(100), Time::ZERO);
        assert_eq!(pipe.on_loss(MSS * 100, MSS * 30), Some(MSS * 15));
        pipe.on_retransmitted(MSS * 4);
        assert_eq!(pipe.on_recovered(), Some(MSS * 13));
        assert_eq!(pipe.on_loss(MSS * 100, MSS * 30), None, "undefined after a loss");
        assert_eq!(pipe.on_recovered(), None);
    }

    /// RFC 7661 section 4.2: a sample counts for max(3 RTT, 1 s). The largest of four, 20, 6, 5 and 4 segments, is
    /// forgotten after 1 s with a round trip of 100 ms, and after 3 s with one of 1 s.
    #[test]
    fn the_sampling_period() {
        for (srtt, period) in [(100, 1000), (1000, 3000)] {
            for (last, used) in [(period, 20), (period + 1, 6)] {
                let mut pipe = PipeAck::default();
                let mut una = Seq::FIRST_DATA;
                for (segments, ms) in [(20, 0), (6, period / 3), (5, period * 2 / 3), (4, last)] {
                    una = una + MSS * segments;
                    let now = Time::ZERO + Duration::from_millis(ms);
                    pipe.on_ack(MSS * segments, una, una, Duration::from_millis(srtt), now);
                }
                assert!(
                    pipe.validated(MSS * (2 * used)) && !pipe.validated(MSS * (2 * used + 1)),
                    "{srtt} ms"
                );
            }
        }
    }
}
