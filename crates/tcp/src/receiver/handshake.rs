//! The handshake as the listening side sees it.
//!
//! RFC 9293 section 3.10.7. A SYN that comes again, because its answer was lost, is answered again. The feedback
//! scheme negotiates ECN (`feedback`).
//!
//! The time from the SYN|ACK to the first segment is the receiver's first estimate of the round trip, but not after a
//! second SYN|ACK (Karn's algorithm). Its retransmission timeout follows RFC 6298 with Linux's least variance term of
//! 200 ms.

use windtunnel_units::{Duration, Time};

/// RTO before there is a sample (RFC 6298 section 2.1).
const INITIAL_RTO: Duration = Duration::SECOND;
const MIN_VARIANCE: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    answered_at: Time,
    answers: u32,
    rtt: Option<Duration>,
}

impl Handshake {
    pub(super) fn new() -> Handshake {
        Handshake { answered_at: Time::ZERO, answers: 0, rtt: None }
    }

    /// A SYN arrived, and is answered.
    pub(super) fn on_syn(&mut self, now: Time) {
        self.answered_at = now;
        self.answers = self.answers.saturating_add(1);
    }

    /// This is not the first answer.
    pub(super) fn answered_before(&self) -> bool {
        self.answers > 1
    }

    /// Nothing has arrived since the SYN.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.answers != u32::MAX
    }

    /// The first packet after the SYN has arrived.
    pub(super) fn on_answer(&mut self, now: Time) {
        if self.rtt.is_none() && self.answers == 1 {
            self.rtt = Some(now - self.answered_at);
        }
        self.answers = u32::MAX;
    }

    /// The round trip of the handshake, if it could be measured.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// The receiver's retransmission timeout: srtt + 4 rttvar after one sample.
    pub(super) fn rto(&self) -> Duration {
        self.rtt.map_or(INITIAL_RTO, |rtt| rtt + (rtt * 2).max(MIN_VARIANCE))
    }
}
