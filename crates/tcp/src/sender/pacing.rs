//! Pacing: departures spaced in time by the controller's rate (Linux's internal pacing and `sch_fq`).
//!
//! `rate = gain * ratio * max(cwnd, packets out) * MSS / srtt`, where the ratio is 2.0 below half of ssthresh, so
//! that a slow start can double, and 1.2 above, so that cwnd and not the pacing is the limit. A burst that leaves
//! late keeps up to half of its interval as credit, which preserves the mean rate. spec/congestion-control section
//! 1.13.
//!
//! A departure that was given its time keeps it, whatever the rate becomes. With rates of a packet in many seconds that would be
//! long: a controller that goes so low asks for its rate to be followed at once.

use windtunnel_cc::Pacing;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::params::TcpParams;

/// The number of segments of a connection that leave without a wait: as many as the initial window (Linux
/// `tcp_update_skb_after_send`).
const UNPACED: u64 = 10;
/// How long before the run the pacer's clock began.
const CLOCK_BEGAN_NS: u64 = 1 << 42;

/// When the next burst may leave.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    on: bool,
    ss_ratio: f64,
    ca_ratio: f64,
    /// What the application allows at most.
    most: Option<Rate>,
    /// Zero while there is no round-trip sample: no pacing.
    rate: Rate,
    /// On the pacer's own clock; zero before anything was paced.
    next_send: Time,
    /// How many of the segments without a wait have not left yet; the first burst that leaves none is paced.
    unpaced: u64,
    /// A new rate moves the departure that waits.
    repaces: bool,
    /// When the last segment left.
    last_sent: Time,
}

/// The inputs of the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The larger of cwnd and the packets out.
    pub(crate) window: Bytes,
    pub(crate) srtt: Duration,
    /// cwnd is below half of ssthresh.
    pub(crate) far_below_ssthresh: bool,
}

impl Pacer {
    pub(crate) fn new(on: bool, params: &TcpParams) -> Pacer {
        Pacer {
            on,
            ss_ratio: params.pacing_ss_ratio,
            ca_ratio: params.pacing_ca_ratio,
            most: params.max_pacing_rate,
            rate: params.max_pacing_rate.unwrap_or(Rate::ZERO),
            next_send: Time::ZERO,
            unpaced: UNPACED,
            repaces: false,
            last_sent: Time::ZERO,
        }
    }

    /// The first segments wait too.
    pub(crate) fn pacing_the_first(self, all: bool) -> Pacer {
        Pacer { unpaced: if all { 0 } else { self.unpaced }, ..self }
    }

    /// The wait since the last departure follows the rate (RFC 5348 section 4.6).
    pub(crate) fn repacing(self, repaces: bool) -> Pacer {
        Pacer { repaces, ..self }
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

    /// The rate whether or not departures are paced; zero before there is a round-trip sample.
    pub(crate) const fn estimate(&self) -> Rate {
        self.rate
    }

    /// Computes the rate from the values after an ACK.
    pub(crate) fn update(&mut self, pacing: Pacing, load: Load) -> Rate {
        let rate = match pacing {
            Pacing::Rate(rate) => rate,
            Pacing::Gain(_) if load.srtt.is_zero() => Rate::ZERO,
            Pacing::Gain(gain) => {
                let ratio = if load.far_below_ssthresh { self.ss_ratio } else { self.ca_ratio };
                let bits = gain * ratio * load.window.as_f64() * 8.0 / load.srtt.as_secs_f64();
                Rate::from_bits_per_sec(Bytes::from_f64(bits).get().max(1))
            }
        };
        let before = self.rate;
        self.rate = match self.most {
            // A rate of zero is no rate.
            Some(most) if rate == Rate::ZERO || rate > most => most,
            _ => rate,
        };
        let waits = self.repaces && self.next_send > Time::ZERO;
        if waits && self.rate != before && self.rate != Rate::ZERO {
            self.repace(before);
        }
        self.rate
    }

    /// What is left of the wait since the last departure changes in the ratio of the rates.
    fn repace(&mut self, before: Rate) {
        let last_sent = clock(self.last_sent);
        let wait = self.next_send.since(last_sent);
        let ratio = before.bits_per_sec() as f64 / self.rate.bits_per_sec() as f64;
        self.next_send = last_sent + wait.scale(ratio);
    }

    /// True if a burst may leave now.
    #[inline]
    pub(crate) fn ready(&self, now: Time) -> bool {
        !self.on || clock(now) >= self.next_send
    }

    /// When the wait ends.
    #[inline]
    pub(crate) fn release(&self, now: Time) -> Option<Time> {
        (self.on && self.next_send > clock(now)).then_some(self.scheduled())
    }

    /// The end of the last burst's interval.
    pub(crate) fn scheduled(&self) -> Time {
        Time::ZERO + self.next_send.since(clock(Time::ZERO))
    }

    /// A segment left, the first one of a `burst` of this many segments, or within one.
    #[inline]
    pub(crate) fn sent(&mut self, payload: Bytes, now: Time, burst: Option<u64>) {
        if self.on {
            self.space(payload, now, burst);
        }
    }

    fn space(&mut self, payload: Bytes, now: Time, burst: Option<u64>) {
        let segments = burst.unwrap_or(0);
        self.unpaced = self.unpaced.saturating_sub(segments);
        self.last_sent = now;
        if self.unpaced > 0 || self.rate == Rate::ZERO {
            return;
        }
        let interval = self.rate.transfer_time(payload);
        let now = clock(now);
        let late = now.since(self.next_send);
        if segments > 0 {
            // Nothing was paced before the first burst. It is as late as can be, whenever the run began; but RFC 5348 knows no credit
            // from before the first departure.
            let forgiven = match (self.next_send == Time::ZERO, self.repaces) {
                (false, _) => late,
                (true, false) => Duration::MAX,
                (true, true) => Duration::ZERO,
            };
            let credit = (interval * segments / 2).min(forgiven);
            // A segment that a timer sends before its time owes nothing: RFC 5348 spaces from departure to departure.
            let due = if self.repaces { now } else { self.next_send.max(now) };
            self.next_send = Time::ZERO + (due + interval).since_start().saturating_sub(credit);
            return;
        }
        self.next_send += interval;
    }
}

/// Time on a clock that began long before the run, so that the credit of a first burst can reach back.
const fn clock(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() + CLOCK_BEGAN_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1460);

    fn pacer() -> Pacer {
        let mut pacer = Pacer::new(true, &TcpParams::default());
        let load = Load { window: MSS * 100, srtt: Duration::from_millis(100), far_below_ssthresh: false };
        pacer.update(Pacing::Gain(1.0), load);
        pacer
    }

    /// spec/congestion-control section 1.13: 1.2 * 100 * 1460 / 0.1 s = 1.752 MB/s, and 2.0 far below ssthresh.
    #[test]
    fn rate_by_hand() {
        let mut pacer = pacer();
        assert_eq!(pacer.rate, Rate::from_bits_per_sec(8 * 1_752_000));
        let load = Load { window: MSS * 100, srtt: Duration::from_millis(100), far_below_ssthresh: true };
        assert_eq!(pacer.update(Pacing::Gain(1.0), load), Rate::from_bits_per_sec(8 * 2_920_000));
    }

    /// `SO_MAX_PACING_RATE` bounds the rate, also before there is a round-trip sample and where the controller names none; a rate
    /// below it stays.
    #[test]
    fn a_cap() {
        let cap = Rate::from_mbps(10);
        let mut pacer = Pacer::new(true, &TcpParams { max_pacing_rate: Some(cap), ..TcpParams::default() });
        assert_eq!(pacer.rate(), Some(cap));
        let load = |window| Load {
            window: MSS * window,
            srtt: Duration::from_millis(100),
            far_below_ssthresh: false,
        };
        assert_eq!(pacer.update(Pacing::Gain(1.0), load(100)), cap);
        assert_eq!(pacer.update(Pacing::Gain(1.0), load(10)), Rate::from_bits_per_sec(8 * 175_200));
        assert_eq!(pacer.update(Pacing::Rate(Rate::ZERO), load(10)), cap);
    }

    /// Ten segments leave at once; then one every 1460 / 1.752 MB/s = 833.333 us. After a departure that is late by
    /// less than half an interval, the next one is on time.
    #[test]
    fn spacing() {
        let mut pacer = pacer();
        let interval = Duration::from_nanos(833_333);
        let mut now = Time::ZERO + Duration::SECOND;
        for _ in 0..UNPACED {
            assert!(pacer.ready(now));
            pacer.sent(MSS, now, Some(1));
        }
        // The tenth was "late" by a second, so half of its interval is forgiven.
        let half = interval - interval / 2;
        assert_eq!(pacer.release(now), Some(now + half));
        now += half;
        pacer.sent(MSS, now, Some(1));
        assert_eq!(pacer.release(now), Some(now + interval));
        let late = Duration::from_micros(100);
        now = now + interval + late;
        pacer.sent(MSS, now, Some(1));
        assert_eq!(pacer.release(now), Some(now + (interval - late)));
    }

    /// The first burst that waits is forgiven half of its interval, whenever it leaves: the time since the start of the run is
    /// not the connection's.
    #[test]
    fn the_first_burst_does_not_know_the_time() {
        for start in [Duration::from_nanos(1), Duration::from_micros(100), Duration::SECOND] {
            for (segments, wait) in [(1, 416_667), (20, 8_333_330)] {
                let mut pacer = pacer().pacing_the_first(true);
                let now = Time::ZERO + start;
                pacer.sent(MSS, now, Some(segments));
                (1..segments).for_each(|_| pacer.sent(MSS, now, None));
                assert_eq!(pacer.release(now), Some(now + Duration::from_nanos(wait)), "{start} {segments}");
            }
        }
    }

    /// What is left of a wait follows the rate, if the controller asks for that; otherwise its end stays. A segment that leaves before its time
    /// then starts the wait anew, and does not add to it.
    #[test]
    fn repacing() {
        let bytes_per_second = |n: u64| Pacing::Rate(Rate::from_bits_per_sec(8 * n));
        let load = Load { window: MSS, srtt: Duration::SECOND, far_below_ssthresh: false };
        for repaces in [true, false] {
            let mut pacer = pacer().pacing_the_first(true).repacing(repaces);
            let now = Time::ZERO + Duration::SECOND;
            let waits = |seconds: f64| Some(now + Duration::from_secs_f64(seconds));
            pacer.update(bytes_per_second(146), load);
            pacer.sent(MSS, now, Some(1));
            let first = if repaces { 10.0 } else { 5.0 };
            assert_eq!(pacer.release(now), waits(first), "ten seconds, in Linux less the credit");
            pacer.update(bytes_per_second(292), load);
            assert_eq!(pacer.release(now), waits(5.0));
            pacer.update(bytes_per_second(146), load);
            assert_eq!(pacer.release(now), waits(first));
            pacer.sent(MSS, now + Duration::SECOND, Some(1));
            assert_eq!(pacer.release(now), waits(if repaces { 11.0 } else { 15.0 }));
        }
    }

    /// Four segments that leave together take four intervals; half of these are forgiven if they are late. The burst
    /// with the tenth segment is the first that is paced, and as late as can be.
    #[test]
    fn bursts() {
        let mut pacer = pacer();
        let interval = Duration::from_nanos(833_333);
        let mut now = Time::ZERO + Duration::SECOND;
        for (late, waits) in [(0, None), (0, None), (0, Some(2)), (0, Some(4)), (2, Some(2)), (9, Some(2))] {
            now = pacer.release(now).unwrap_or(now) + interval * late;
            for burst in [Some(4), None, None, None] {
                pacer.sent(MSS, now, burst);
            }
            assert_eq!(pacer.release(now), waits.map(|waits| now + interval * waits));
        }
    }

    /// Before the first round-trip sample a rate that follows from cwnd is none, and a sender that does not pace
    /// reports none, although it computes one for its bursts.
    #[test]
    fn no_rate() {
        let load = |srtt| Load { window: MSS * 100, srtt, far_below_ssthresh: false };
        for on in [true, false] {
            let mut pacer = Pacer::new(on, &TcpParams::default());
            assert_eq!(pacer.update(Pacing::Gain(1.0), load(Duration::ZERO)), Rate::ZERO);
            assert_eq!(pacer.rate(), None);
            let rate = Rate::from_bits_per_sec(8 * 1_752_000);
            assert_eq!(pacer.update(Pacing::Gain(1.0), load(Duration::from_millis(100))), rate);
            assert_eq!((pacer.rate(), pacer.estimate()), (on.then_some(rate), rate));
        }
    }
}
