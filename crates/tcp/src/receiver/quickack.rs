//! Linux's quickack mode and its estimate of the gap between segments, the ATO.
//!
//! spec/congestion-control section 1.16; Linux, net/ipv4. A sender in slow start needs every ACK that it can get: at
//! the first data, and at the first data after an idle time longer than the RTO, the receiver sends as many immediate
//! ACKs as the window holds pairs of segments, at most 16. Later an ACK waits for a second segment about as long as
//! the last ones took to come: at least 40 ms, as Linux has had it since its timer ran at 100 Hz, and at most a round
//! trip or 200 ms. Quickack mode rests while a connection is interactive (pingpong); this receiver never has data to
//! send, so it never is.

use windtunnel_units::{Bytes, Duration, Time};

const ATO_MIN: Duration = Duration::from_millis(40);
const DELAY_MAX: Duration = Duration::from_millis(200);
const MOST_CREDIT: u64 = 16;
/// Credit where the window holds no pair.
const LEAST_CREDIT: u64 = 2;
/// Credit on the first CE: the sender is about to reduce, and may have few segments in flight.
const CREDIT_ON_CE: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Quickack {
    /// ACKs left that leave at once.
    credit: u64,
    /// Zero before the first data.
    ato: Duration,
    last_data: Time,
}

impl Quickack {
    pub(super) fn new() -> Quickack {
        Quickack { credit: 0, ato: Duration::ZERO, last_data: Time::ZERO }
    }

    /// The next ACK leaves at once.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.credit > 0
    }

    /// Data arrived in order. `window` is what the receiver offers.
    #[inline]
    pub(super) fn on_data(&mut self, rto: Duration, window: Bytes, mss: Bytes, now: Time) {
        let gap = now - self.last_data;
        self.last_data = now;
        if self.ato.is_zero() {
            self.ato = ATO_MIN;
            self.refill(window, mss);
        } else if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto {
            self.refill(window, mss);
        }
    }

    /// CE arrived for the first time since the last CWR.
    pub(super) fn on_ce(&mut self) {
        self.credit = self.credit.max(CREDIT_ON_CE);
        self.deflate();
    }

    /// A segment arrived that holds old data, or lies beyond the window: the sender is not where it should be.
    pub(super) fn on_unacceptable(&mut self, window: Bytes, mss: Bytes) {
        self.refill(window, mss);
        self.deflate();
    }

    /// The window may grow: the next ACK leaves at once. Linux does this by setting the lowest bit of the credit, so
    /// that an even credit is not spent.
    #[inline]
    pub(super) fn on_growth(&mut self) {
        self.credit |= 1;
    }

    /// Less than half of the buffer is free: no ACK leaves before it must.
    #[inline]
    pub(super) fn on_low_memory(&mut self) {
        self.credit = 0;
    }

    /// An ACK left.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        if self.credit > 0 {
            self.credit -= 1;
            if self.credit == 0 {
                self.deflate();
            }
        }
    }

    /// No second segment came in time: the estimate was too short.
    pub(super) fn on_expiry(&mut self, rto: Duration) {
        self.ato = (self.ato * 2).min(rto);
    }

    /// How long an ACK waits for a second segment.
    pub(super) fn delay(&self, rtt: Option<Duration>) -> Duration {
        let longest = rtt.map_or(DELAY_MAX, |rtt| rtt.clamp(ATO_MIN, DELAY_MAX));
        self.ato.clamp(ATO_MIN, longest)
    }

    /// Resets the estimate to the least one, if there is an estimate yet.
    fn deflate(&mut self) {
        self.ato = self.ato.min(ATO_MIN);
    }

    fn refill(&mut self, window: Bytes, mss: Bytes) {
        let pairs = window / (mss * 2);
        let credit = if pairs == 0 { LEAST_CREDIT } else { pairs.min(MOST_CREDIT) };
        self.credit = self.credit.max(credit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const MSS: Bytes = Bytes::new(1448);

    fn data(quickack: &mut Quickack, at_ms: u64) {
        quickack.on_data(MS(250), MSS * 100, MSS, Time::ZERO + MS(at_ms));
    }

    /// The ATO by hand (spec/congestion-control section 1.16): 40 ms at first; m = 10 ms: 40/2 + 20; m = 30 ms: 40/2
    /// + 30 = 50; m = 45 ms: 50/2 + 45 = 70; m = 100 ms, more than the ATO: unchanged; m = 20 ms: 70/2 + 20 = 55.
    #[test]
    fn ato() {
        let mut quickack = Quickack::new();
        for (at, ato) in [(0, 40), (10, 40), (40, 50), (85, 70), (185, 70), (205, 55)] {
            data(&mut quickack, at);
            assert_eq!(quickack.ato, MS(ato), "after the segment at {at} ms");
        }
    }

    /// A timer that runs out doubles the ATO up to the RTO; the delay stays within a round trip, 40 ms at least, 200
    /// ms at most.
    #[test]
    fn delay() {
        let mut quickack = Quickack::new();
        data(&mut quickack, 0);
        let delays = |quickack: &Quickack| [None, Some(MS(10)), Some(MS(100))].map(|rtt| quickack.delay(rtt));
        assert_eq!(delays(&quickack), [MS(40); 3]);
        quickack.on_expiry(MS(250));
        assert_eq!(delays(&quickack), [MS(80), MS(40), MS(80)]);
        quickack.on_expiry(MS(250));
        quickack.on_expiry(MS(250));
        assert_eq!(quickack.ato, MS(250));
        assert_eq!(delays(&quickack), [MS(200), MS(40), MS(100)]);
    }

    /// The credit: `clamp(window / (2 mss), 2 if zero, 16)`, spent by ACKs, refilled after an idle time above the RTO
    /// only.
    #[test]
    fn credit() {
        for (window, credit) in [(MSS, 2), (MSS * 2, 1), (MSS * 20, 10), (MSS * 1000, 16)] {
            let mut quickack = Quickack::new();
            quickack.on_data(MS(250), window, MSS, Time::ZERO);
            assert_eq!(quickack.credit, credit, "window of {window}");
        }
        let mut quickack = Quickack::new();
        data(&mut quickack, 0);
        for _ in 0..20 {
            quickack.on_ack_sent();
        }
        data(&mut quickack, 250);
        assert!(!quickack.is_on(), "250 ms are not more than the RTO");
        data(&mut quickack, 501);
        assert_eq!(quickack.credit, 16);
    }

    /// A gap as long as the ATO leaves it as it is ("else if m < ato", section 1.16). Quickack mode resets it to 40
    /// ms where it begins with CE or with old data, and where its credit is spent (Linux `tcp_enter_quickack_mode`,
    /// `tcp_dec_quickack_mode`).
    #[test]
    fn ato_and_quickack_mode() {
        let mut quickack = Quickack::new();
        for (at, ato) in [(0, 40), (40, 40), (70, 50), (115, 70)] {
            data(&mut quickack, at);
            assert_eq!(quickack.ato, MS(ato), "after the segment at {at} ms");
        }
        let (mut on_ce, mut on_old_data) = (quickack, quickack);
        on_ce.on_ce();
        on_old_data.on_unacceptable(MSS * 100, MSS);
        assert_eq!((on_ce.ato, on_old_data.ato), (MS(40), MS(40)));
        for left in (1..16).rev() {
            quickack.on_ack_sent();
            assert_eq!((quickack.credit, quickack.ato), (left, MS(70)));
        }
        quickack.on_ack_sent();
        assert_eq!((quickack.is_on(), quickack.ato), (false, MS(40)));
    }
}
