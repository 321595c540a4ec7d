//! Validation of cwnd: a window that is not used says nothing about the path.
//!
//! *Growth gate* (Linux `tcp_cwnd_validate`): cwnd grows only if it was the limit within the last window, or in slow
//! start if at least half of it was used; other gates are in [`GrowthGate`]. *Idle times*: RFC 2861 (Linux) halves cwnd for each RTO of silence, and lets it
//! decay where the application uses less and no ACK might have raised it for an RTO; RFC 5681 section 4.1 restarts from
//! the initial window; RFC 7661 is in `pipe_ack`. spec/congestion-control section 1.6.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::Sender;
use super::limits::Limited;
use super::max_flight::MaxFlight;
use super::pipe_ack::PipeAck;
use crate::growth_gate::GrowthGate;
use crate::params::{IdleRule, TcpParams};
use windtunnel_cc::CaState;

/// How much of cwnd was used.
#[derive(Clone, Debug)]
pub(crate) struct Validation {
    gate: GrowthGate,
    idle: IdleRule,
    /// The initial window, in segments.
    iw: u32,
    mss: Bytes,
    /// Within the window that ends with `usage_end`: whether cwnd was the limit, and the most segments out.
    cwnd_limited: bool,
    most_out: u32,
    usage_end: Seq,
    /// RFC 9002 section 7.8: cwnd or pacing ended the last attempt to send.
    used_up: bool,
    /// With [`GrowthGate::MaxFlight`].
    max_flight: Option<Box<MaxFlight>>,
    /// RFC 2861: when cwnd was last the limit or might have been raised, and the most segments out since.
    unused_since: Time,
    used: u32,
    pub(crate) pipe_ack: Option<Box<PipeAck>>,
}

impl Validation {
    pub(crate) fn new(params: &TcpParams, iw: Bytes, mss: Bytes) -> Validation {
        Validation {
            gate: params.growth_gate,
            idle: params.idle,
            iw: (iw / mss) as u32,
            mss,
            cwnd_limited: false,
            most_out: 0,
            usage_end: Seq::SYN,
            used_up: false,
            max_flight: (params.growth_gate == GrowthGate::MaxFlight).then(|| Box::new(MaxFlight::new(iw))),
            unused_since: Time::ZERO,
            used: 0,
            pipe_ack: (params.idle == IdleRule::Rfc7661).then(Box::default),
        }
    }

    /// An attempt to send ended with `out` segments out.
    #[inline]
    pub(crate) fn attempted(&mut self, limited: bool, out: u64, una: Seq, nxt: Seq) {
        let out = out as u32;
        if una >= self.usage_end || limited || (!self.cwnd_limited && out > self.most_out) {
            self.cwnd_limited = limited;
            self.most_out = out;
            self.usage_end = nxt;
        }
    }

    /// cwnd was the limit within the last window.
    #[inline]
    pub(crate) const fn limited(&self) -> bool {
        self.cwnd_limited
    }

    /// cwnd may grow; `in_slow_start` is asked only if it matters.
    #[inline]
    pub(crate) fn grows(&self, cwnd: Bytes, in_slow_start: impl FnOnce() -> bool) -> bool {
        let used = match self.gate {
            GrowthGate::Linux => self.cwnd_limited || self.used_in_slow_start(cwnd, in_slow_start),
            GrowthGate::Rfc9002 => self.used_up,
            GrowthGate::None | GrowthGate::MaxFlight => true,
        };
        used && self.pipe_ack.as_ref().is_none_or(|pipe| pipe.validated(cwnd))
    }

    /// The largest flight since cwnd was reduced, if growth depends on it.
    pub(super) fn max_flight(&self) -> Option<Bytes> {
        self.max_flight.as_deref().map(MaxFlight::largest)
    }

    /// The controller takes a reduction back.
    pub(super) fn undone(&mut self) {
        if let Some(flight) = &mut self.max_flight {
            flight.undo();
        }
    }

    /// Slow start doubles: it may grow to twice the amount used.
    #[inline]
    fn used_in_slow_start(&self, cwnd: Bytes, in_slow_start: impl FnOnce() -> bool) -> bool {
        cwnd < self.mss * (2 * u64::from(self.most_out)) && in_slow_start()
    }

    /// RFC 2861 section 3.2: after an RTO in which cwnd was not the limit, cwnd moves halfway towards the amount
    /// used.
    fn decayed(&mut self, cwnd: Bytes, out: u64, open: bool, rto: Duration, now: Time) -> Option<Bytes> {
        self.used = self.used.max(out as u32);
        if self.idle != IdleRule::Rfc2861 || now.since(self.unused_since) < rto {
            return None;
        }
        self.unused_since = now;
        if !open {
            return None;
        }
        let used = (self.mss * u64::from(std::mem::take(&mut self.used))).max(self.iw());
        (used < cwnd).then(|| self.whole((cwnd + used) / 2))
    }

    /// cwnd was set by other means than its use, or an ACK might have raised it: the measurement of RFC 2861 restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        self.unused_since = now;
    }

    /// The cwnd with which a flow that has sent nothing for `idle` continues.
    fn restarted(&mut self, cwnd: Bytes, idle: Duration, rto: Duration) -> Option<Bytes> {
        if idle <= rto {
            return None;
        }
        let floor = self.iw().min(cwnd);
        let restarted = match self.idle {
            IdleRule::Rfc2861 => {
                let halvings = (idle.as_nanos() / rto.as_nanos().max(1)).min(63) as u32;
                self.whole(Bytes::new(cwnd.get() >> halvings)).max(floor)
            }
            IdleRule::Rfc5681 => floor,
            IdleRule::Rfc7661 | IdleRule::None => return None,
        };
        // Linux raises ssthresh also where cwnd stays as it is.
        (restarted < cwnd || self.idle == IdleRule::Rfc2861).then_some(restarted)
    }

    fn iw(&self) -> Bytes {
        self.mss * u64::from(self.iw)
    }

    fn whole(&self, window: Bytes) -> Bytes {
        self.mss * (window / self.mss)
    }
}

impl Sender {
    /// Nothing more can be sent now: records whether cwnd was the limit. New data decide that, whether `sent` or kept
    /// back; retransmissions do not (Linux `tcp_write_xmit`).
    #[inline]
    pub(super) fn validate_cwnd(&mut self, sent: bool, limit: Limited, now: Time) {
        let limited = limit == Limited::Cwnd || !self.has_room();
        self.validation.used_up = limited || limit == Limited::Pacing;
        self.observe_flight();
        if !sent && (!limited || self.unsent == Bytes::ZERO) {
            return;
        }
        let out = self.board.outstanding().segments;
        self.validation.attempted(limited, out, self.board.una(), self.board.nxt());
        let used = self.validation.limited()
            || self.validation.used_in_slow_start(self.cwnd, || self.in_slow_start());
        if used || self.needs.own_window {
            // The common case: the measurement of RFC 2861 restarts.
            self.validation.used = 0;
            self.validation.unused_since = now;
            return;
        }
        let open = self.state == CaState::Open;
        if let Some(cwnd) = self.validation.decayed(self.cwnd, out, open, self.rtt.rto(), now) {
            self.lower_cwnd(cwnd, now);
        }
    }

    /// `FlightSize`, or cwnd, may have changed.
    #[inline]
    pub(super) fn observe_flight(&mut self) {
        if let Some(flight) = &mut self.validation.max_flight {
            flight.observe(self.cc.cwnd(), self.board.outstanding().bytes);
        }
    }

    /// RFC 7661: gives up the part of cwnd that was unused for five minutes.
    pub(super) fn validate_period(&mut self, now: Time) {
        let (cwnd, iw) = (self.cwnd, self.endpoint.iw);
        let lowered = self.validation.pipe_ack.as_mut().and_then(|pipe| pipe.expire(cwnd, iw, now));
        if let Some(cwnd) = lowered.filter(|_| self.state == CaState::Open) {
            self.lower_cwnd(cwnd, now);
        }
    }

    /// The first segment of a flight is about to leave.
    pub(super) fn begin_flight(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        if !self.needs.own_window
            && let Some(cwnd) = self.validation.restarted(self.cwnd, idle, self.rtt.rto())
        {
            let path = self.path(now);
            self.cc.on_cwnd_restart(&path);
            self.lower_cwnd(cwnd, now);
        }
        let path = self.path(now);
        self.cc.on_tx_start(idle, &path);
        self.cwnd = self.cc.cwnd();
        self.update_own_rate();
    }

    /// The window validation lowers cwnd.
    pub(super) fn lower_cwnd(&mut self, cwnd: Bytes, now: Time) {
        let path = self.path(now);
        self.cc.on_cwnd_validation(cwnd, &path);
        self.cwnd = self.cc.cwnd();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// RFC 2861 section 3.2: 100 segments with at most 40 of them used become (100 + 40) / 2. Outside of Open
    /// nothing happens, and the use in that time still counts (Linux `tcp_cwnd_application_limited`).
    #[test]
    fn decays_half_of_the_way() {
        let mut validation = Validation::new(&TcpParams::default(), MSS * 10, MSS);
        let rto = Duration::from_millis(200);
        let mut decayed = |out, open, ms| {
            validation.decayed(MSS * 100, out, open, rto, Time::ZERO + Duration::from_millis(ms))
        };
        assert_eq!(decayed(20, true, 199), None, "less than an RTO");
        assert_eq!(decayed(40, false, 200), None);
        assert_eq!(decayed(20, true, 399), None, "an RTO after the last look");
        assert_eq!(decayed(20, true, 400), Some(MSS * 70));
        assert_eq!(decayed(5, true, 600), Some(MSS * 55), "the initial window counts as used");
    }

    /// The use of a window as Linux `tcp_cwnd_validate` tracks it: within one window, that cwnd was the limit
    /// outweighs any amount out, and otherwise the most segments out count; each change starts a new window, as does
    /// the ACK of the last one.
    #[test]
    fn the_use_of_a_window() {
        let mut validation = Validation::new(&TcpParams::default(), MSS * 10, MSS);
        for (limited, out, una, nxt, expected) in [
            (false, 5, 1, 6, (false, 5, 6)),
            (false, 4, 2, 7, (false, 5, 6)),
            (false, 5, 2, 8, (false, 5, 6)),
            (false, 7, 3, 10, (false, 7, 10)),
            (true, 10, 4, 14, (true, 10, 14)),
            (false, 12, 5, 16, (true, 10, 14)),
            (false, 3, 14, 17, (false, 3, 17)),
        ] {
            validation.attempted(limited, out, Seq::new(una), Seq::new(nxt));
            let used = (validation.cwnd_limited, validation.most_out, validation.usage_end.get());
            assert_eq!(used, expected, "{out} of {nxt}");
        }
    }

    /// spec/congestion-control section 1.6, with an initial window of 10 and an RTO of 200 ms: only after more than
    /// an RTO, RFC 2861 halves cwnd for each of them and RFC 5681 takes the initial window, but neither raises cwnd.
    /// Linux calls `tcp_cwnd_restart`, which raises ssthresh, also where cwnd stays.
    #[test]
    fn after_idle_times() {
        let (linux, rfc) = (IdleRule::Rfc2861, IdleRule::Rfc5681);
        for (idle, cwnd, ms, expected) in [
            (linux, 100, 200, None),
            (linux, 100, 201, Some(50)),
            (linux, 100, 400, Some(25)),
            (linux, 100, 10_000, Some(10)),
            (linux, 10, 201, Some(10)),
            (linux, 4, 201, Some(4)),
            (rfc, 100, 200, None),
            (rfc, 100, 201, Some(10)),
            (rfc, 10, 201, None),
            (rfc, 4, 201, None),
            (IdleRule::Rfc7661, 100, 10_000, None),
            (IdleRule::None, 100, 10_000, None),
        ] {
            let mut validation = Validation::new(&TcpParams { idle, ..TcpParams::default() }, MSS * 10, MSS);
            let (idle_time, rto) = (Duration::from_millis(ms), Duration::from_millis(200));
            let restarted = validation.restarted(MSS * cwnd, idle_time, rto);
            assert_eq!(restarted, expected.map(|cwnd: u64| MSS * cwnd), "{idle:?}, {cwnd}, {ms} ms");
        }
    }
}
