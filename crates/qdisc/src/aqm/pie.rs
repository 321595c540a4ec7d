//! PIE, Proportional Integral controller Enhanced: a drop probability that keeps the queueing delay at a
//! target.
//!
//! Source: RFC 8033 sections 4 and 5; Linux `sch_pie`; spec/queues-and-signalling section 6. Every `tupdate`
//! the probability moves by `alpha` times the distance of the delay from its target and `beta` times the
//! delay's change since the last update; arriving packets are dropped, or marked, with it.
//!
//! Why the constants are what they are. alpha = 1/8 Hz and beta = 10/8 Hz come from the RFC's analysis of the loop; TCP
//! answers the same step of p more strongly when p is small, so the gains are then divided by up to 2048 ([`divisor`]).
//! A burst of 150 ms passes after idle time. Nothing is dropped while the delay is below half of its target, unless p
//! is 0.2 or more, nor while fewer than two packets are queued, so that the link stays busy. Independent coins would
//! cluster signals. Therefore no coin is tossed until the probabilities since the last signal add up to 0.85, and from
//! 8.5 on every packet is signalled (RFC 8033 section 5.4). This makes signals rarer than p: to drop one packet in six,
//! p is 0.28.
//!
//! The RFC and Linux differ in details, see [`PieVariant`].

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Time};

use super::likelihood::take_due;
use super::mds::Probable;
use super::pie_params::{PieBurstMode, PieParams, PieRandom, PieVariant};
use super::pie_rate::DepartureRate;
use super::timer_wheel::WheelTimer;
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::AqmInit;

/// The auto-tuning (RFC 8033 section 4.2): what the gains are divided by at drop probability `p`.
fn divisor(p: f64) -> u16 {
    match p {
        p if p < 0.000_001 => 2048,
        p if p < 0.000_01 => 512,
        p if p < 0.000_1 => 128,
        p if p < 0.001 => 32,
        p if p < 0.01 => 8,
        p if p < 0.1 => 2,
        _ => 1,
    }
}

/// PIE's variables.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    random: RandomStream,
    /// The drop probability; Linux's can exceed 1.
    p: f64,
    /// The sum of probabilities since the last signal.
    accu: f64,
    /// The queueing delay now, and at the last update.
    qdelay: Duration,
    qdelay_old: Duration,
    /// What is left of the burst allowance.
    burst: Duration,
    /// Estimates the delay where timestamps are not used.
    estimator: Option<DepartureRate>,
    /// The last departure since the start or restart.
    last_dequeue: Option<Time>,
    updates: Updates,
}

/// When p is updated.
#[derive(Clone, Debug)]
enum Updates {
    /// Every `tupdate`, by a timer of the kernel.
    Linux(WheelTimer),
    /// Every `tupdate`; the next update.
    Exact(Time),
}

impl Updates {
    fn new(params: &PieParams, init: &AqmInit) -> Updates {
        match params.variant {
            PieVariant::Linux => Updates::Linux(WheelTimer::new(params.tick, params.tupdate, init)),
            PieVariant::Rfc => Updates::Exact(init.next_tick(params.tupdate, params.tupdate)),
        }
    }

    fn next(&self) -> Time {
        match self {
            Updates::Linux(timer) => timer.next(),
            Updates::Exact(next) => *next,
        }
    }

    fn updated(&mut self, now: Time, tupdate: Duration) {
        match self {
            Updates::Linux(timer) => timer.rearm(),
            Updates::Exact(next) => *next = now + tupdate,
        }
    }
}

impl Pie {
    /// The cap of an increase of p, from p = 0.1 on (RFC 8033 section 5.5), and Linux's increase at long delays.
    const STEP: f64 = 0.02;
    const LONG_DELAY: Duration = Duration::from_millis(250);
    /// p has 56 of 64 bits behind the point (`MAX_PROB`).
    const OVERFLOW: f64 = 256.0;

    /// PIE with its own random stream. Idle time leaves nothing in its variables but the phase of its timer.
    pub fn new(params: PieParams, init: &AqmInit) -> Pie {
        Pie {
            random: RandomStream::new(init.seed),
            p: 0.0,
            accu: 0.0,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst: params.max_burst,
            estimator: params.dq_rate_estimator.then(DepartureRate::default),
            last_dequeue: None,
            updates: Updates::new(&params, init),
            params,
        }
    }

    /// Whether nothing is dropped now, whatever p is.
    #[inline]
    fn spares(&self, queue: &QueueView) -> bool {
        let (qdelay, short) = match self.params.variant {
            PieVariant::Linux => (self.qdelay, queue.bytes < self.params.mtu * 2),
            PieVariant::Rfc => (self.qdelay_old, queue.bytes <= self.params.mtu * 2),
        };
        !self.burst.is_zero() || short || (qdelay < self.params.target / 2 && self.p < 0.2)
    }

    /// The probability for a packet of `size`.
    #[inline]
    fn probability(&self, size: Bytes) -> f64 {
        let short = self.params.bytemode && size <= self.params.mtu;
        let share = if short { size.as_f64() / self.params.mtu.as_f64() } else { 1.0 };
        (self.p * share).min(1.0)
    }

    /// The verdict on a packet that is signalled: above `ecn_prob`, or without `ecn`, a drop.
    #[inline]
    fn ce(&self) -> Verdict {
        if self.params.ecn && self.p <= self.params.ecn_prob.get() {
            Verdict::Mark(Signal::Ce)
        } else {
            Verdict::Drop
        }
    }

    /// Whether to signal to a packet with probability `p`, given its draw `u`. `marked`: the signal is a mark.
    fn signals(&mut self, p: f64, u: f64, marked: bool) -> bool {
        self.accu = if p == 0.0 { 0.0 } else { self.accu + p };
        match self.params.random {
            PieRandom::Derandomized => {
                let forced = self.accu >= 8.5;
                let signal = forced || (self.accu >= 0.85 && u < p);
                if signal && !(self.params.linux_exact && forced && marked) {
                    self.accu = 0.0;
                }
                signal
            }
            PieRandom::Coin => u < p,
            PieRandom::Recur => take_due(&mut self.accu),
        }
    }

    /// The control law: how much p changes.
    fn change(&self) -> f64 {
        let PieParams { alpha, beta, target, .. } = self.params;
        let [qdelay, old, target] = [self.qdelay, self.qdelay_old, target].map(Duration::as_secs_f64);
        let p = self.p;
        let mut change = (alpha * (qdelay - target) + beta * (qdelay - old)) / 16.0 / f64::from(divisor(p));
        if p >= 0.1 {
            change = change.min(Pie::STEP);
        }
        if self.params.variant == PieVariant::Linux && self.qdelay > Pie::LONG_DELAY {
            change += Pie::STEP;
        }
        change
    }

    /// RFC 8033 bounds p by 0 and 1. Linux (`pie_calculate_probability`) bounds it by 0 and puts it back to 1 when it would
    /// overflow 64 bits, which is at 256: after a long overload p takes time to come down to 1, and everything is dropped
    /// until then. tc shows only what p has above a whole number.
    fn bounded(&self, p: f64) -> f64 {
        match self.params.variant {
            PieVariant::Linux if p >= Pie::OVERFLOW => 1.0,
            PieVariant::Linux => p.max(0.0),
            PieVariant::Rfc => p.clamp(0.0, 1.0),
        }
    }

    /// Returns the factor of p that is kept when both delays were zero. Linux does not decay p while there is a
    /// backlog, because its delay is too short to measure, or not known yet.
    fn kept(&self, queue: &QueueView) -> f64 {
        match self.params.variant {
            _ if !self.qdelay.is_zero() || !self.qdelay_old.is_zero() => 1.0,
            PieVariant::Linux if queue.packets > 0 => 1.0,
            PieVariant::Linux => 63.0 / 64.0,
            PieVariant::Rfc => 0.98,
        }
    }

    /// Returns whether congestion is over. An estimator without a measurement cannot tell, and its first measurement
    /// continues.
    fn is_over(&self) -> bool {
        let half = self.params.target / 2;
        self.p == 0.0
            && self.qdelay < half
            && self.qdelay_old < half
            && self.estimator.as_ref().is_none_or(DepartureRate::is_measured)
    }

    /// Starts again with the full burst allowance.
    fn restart(&mut self) {
        self.burst = self.params.max_burst;
        self.accu = 0.0;
        self.last_dequeue = None;
        self.estimator = self.params.dq_rate_estimator.then(DepartureRate::default);
    }
}

impl Aqm for Pie {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        // Draws once per packet, needed or not, so that the verdict on one packet does not shift the draws of later
        // ones.
        let u = self.random.uniform();
        if self.spares(queue) {
            return Verdict::Pass;
        }
        let ce = self.ce();
        let marked = ce != Verdict::Drop && packet.markable();
        if self.signals(self.probability(packet.size), u, marked) { ce } else { Verdict::Pass }
    }

    fn on_full(&mut self, _now: Time) {
        self.accu = 0.0;
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let passed = if let Some(estimator) = &mut self.estimator {
            estimator.departed(queue.now, packet.size, queue.bytes)
        } else {
            self.qdelay = if queue.packets == 0 { Duration::ZERO } else { packet.sojourn };
            self.last_dequeue.replace(queue.now).map(|last| queue.now.since(last))
        };
        if self.params.burst_mode == PieBurstMode::Linux {
            self.burst = self.burst.saturating_sub(passed.unwrap_or_default());
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.updates.next())
    }

    fn on_timer(&mut self, queue: &QueueView) {
        if let Some(estimator) = &self.estimator {
            self.qdelay = estimator.delay(queue.bytes);
        }
        self.p = self.bounded(self.p + self.change()) * self.kept(queue);
        if self.params.burst_mode == PieBurstMode::Rfc {
            self.burst = self.burst.saturating_sub(self.params.tupdate);
        }
        if self.is_over() {
            self.restart();
        }
        self.qdelay_old = self.qdelay;
        self.updates.updated(queue.now, self.params.tupdate);
    }

    /// Delays in seconds.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.probe_law(out);
        out("accu", self.accu);
    }
}

impl Probable for Pie {
    fn arrived(&mut self, packet: &PacketView, queue: &QueueView) -> (f64, Verdict) {
        let p = if self.spares(queue) { 0.0 } else { self.probability(packet.size) };
        (p, self.ce())
    }

    /// Delays in seconds.
    fn probe_law(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
        out("qdelay_s", self.qdelay.as_secs_f64());
        out("burst_s", self.burst.as_secs_f64());
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "multiples of 1/8 are exact")]
mod tests {
    use windtunnel_units::Rate;
    use windtunnel_wire::{Dscp, Ecn, FlowId};

    use super::*;
    use crate::ecn::Class;
    use crate::limit::Limit;

    fn init() -> AqmInit {
        AqmInit { limit: Limit::Unlimited, seed: 1, now: Time::ZERO, age: Duration::ZERO }
    }

    /// Each threshold of the table belongs to the row above it (spec/queues-and-signalling section 6).
    #[test]
    fn auto_tuning() {
        let thresholds = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1];
        let divisors = [2048, 512, 128, 32, 8, 2, 1];
        for (i, threshold) in thresholds.into_iter().enumerate() {
            assert_eq!([threshold * 0.999_999, threshold].map(divisor), [divisors[i], divisors[i + 1]]);
        }
        assert_eq!([0.0, 1.0].map(divisor), [2048, 1]);
    }

    /// No signal below 0.85; from 8.5 on a signal whatever the coin says. p = 1/8 adds up exactly: 7/8 is the
    /// first sum at which the coin counts, 68/8 the first at which it does not.
    #[test]
    fn derandomized() {
        let pie = || Pie::new(PieParams::default(), &init());
        let first = |u| {
            let mut pie = pie();
            (1..100).find(|_| pie.signals(0.125, u, false)).unwrap()
        };
        assert_eq!((first(0.0), first(0.124), first(0.125), first(1.0)), (7, 7, 68, 68));
        // A probability of zero resets the sum.
        let mut pie = pie();
        pie.signals(0.5, 1.0, false);
        assert_eq!(pie.accu, 0.5);
        assert!(!pie.signals(0.0, 0.0, false));
        assert_eq!(pie.accu, 0.0);
    }

    /// Congestion is over when both delays are below half the target, not at it (RFC 8033 section 4.4).
    #[test]
    fn congestion_is_over_below_half_the_target() {
        let half = PieParams::default().target / 2;
        let below = Duration::from_nanos(half.as_nanos() - 1);
        let over = |qdelay, qdelay_old| {
            Pie { qdelay, qdelay_old, ..Pie::new(PieParams::default(), &init()) }.is_over()
        };
        assert_eq!([over(below, below), over(half, below), over(below, half)], [true, false, false]);
    }

    /// A signal starts the sum again, but for Linux's forced marks: the next packet is forced too. Forced drops, and
    /// marks by the coin, start again in Linux as well.
    #[test]
    fn linux_exact() {
        let after = |linux_exact, u, marked| {
            let mut pie = Pie::new(PieParams { linux_exact, ..PieParams::default() }, &init());
            while !pie.signals(0.125, u, marked) {}
            (pie.accu, pie.signals(0.125, 1.0, marked))
        };
        assert_eq!(after(true, 1.0, true), (8.5, true));
        for (linux_exact, u, marked) in
            [(false, 1.0, true), (false, 1.0, false), (true, 1.0, false), (true, 0.0, true)]
        {
            assert_eq!(after(linux_exact, u, marked), (0.0, false), "{linux_exact} {u} {marked}");
        }
    }

    /// A backlog of 100 packets.
    fn long_queue() -> QueueView {
        let bytes = Bytes::new(150_000);
        QueueView {
            now: Time::ZERO,
            packets: 100,
            bytes,
            all_bytes: bytes,
            head_waiting: None,
            rate: Rate::from_mbps(10),
        }
    }

    /// A kernel 7.3.4 (Reno at 20 Mbit/s and 20 ms, 300 to 400 ms of delay for 0.2 s) has prob 0.946 and 100 ms later 0.186 by
    /// tc, and drops everything. By the law p rises by 0.04 every 15 ms above 250 ms, and falls by no more than 1.25 times the
    /// change of the delay. The RFC's p ends at 1.
    #[test]
    fn above_one() {
        for (variant, p) in [(PieVariant::Linux, 0.946 + 6.0 * 0.04), (PieVariant::Rfc, 1.0)] {
            let qdelay = Duration::from_millis(362);
            let params = PieParams { variant, max_burst: Duration::ZERO, ..PieParams::default() };
            let mut pie = Pie { p: 0.946, qdelay, qdelay_old: qdelay, ..Pie::new(params, &init()) };
            for _ in 0..6 {
                pie.on_timer(&long_queue());
            }
            assert!((pie.p - p).abs() < 1e-9, "{variant:?} {}", pie.p);
            assert_eq!(pie.probability(Bytes::new(1500)), 1.0);
        }
    }

    /// A packet is spared where the delay is below half of the target and p below 0.2, and neither at it (RFC 8033
    /// section 4.1); the delay is that of the last update in the RFC, and of the last departure in Linux.
    #[test]
    fn spared_below_half_the_target() {
        let half = PieParams::default().target / 2;
        let below = half - Duration::from_nanos(1);
        for (variant, qdelay, qdelay_old, p, spared) in [
            (PieVariant::Linux, below, half, 0.199, true),
            (PieVariant::Linux, half, below, 0.199, false),
            (PieVariant::Linux, below, half, 0.2, false),
            (PieVariant::Rfc, half, below, 0.199, true),
            (PieVariant::Rfc, below, half, 0.199, false),
            (PieVariant::Rfc, half, below, 0.2, false),
        ] {
            let params = PieParams { variant, max_burst: Duration::ZERO, ..PieParams::default() };
            let pie = Pie { p, qdelay, qdelay_old, ..Pie::new(params, &init()) };
            assert_eq!(pie.spares(&long_queue()), spared, "{variant:?} {qdelay} {qdelay_old} {p}");
        }
    }

    /// Linux keeps the sum of a forced signal that becomes a mark. Above `ecn_prob`, and for a packet that cannot be
    /// marked, it is a drop, and the sum starts again.
    #[test]
    fn linux_exact_knows_what_is_marked() {
        for (p, class, ecn, kept) in [
            (0.0625, Class::Conventional, Ecn::Ect0, true),
            (0.0625, Class::NotEct, Ecn::NotEct, false),
            (0.125, Class::Conventional, Ecn::Ect0, false),
        ] {
            let params =
                PieParams { ecn: true, linux_exact: true, max_burst: Duration::ZERO, ..PieParams::default() };
            let qdelay = params.target;
            let mut pie = Pie { p, qdelay, accu: 8.5, ..Pie::new(params, &init()) };
            let packet = PacketView {
                size: Bytes::new(1_500),
                flow: FlowId::new(0),
                dscp: Dscp::DEFAULT,
                ecn,
                class,
                sojourn: Duration::ZERO,
                replaces: false,
            };
            assert_ne!(pie.on_enqueue(&packet, &long_queue()), Verdict::Pass);
            assert_eq!(pie.accu, if kept { 8.5 + p } else { 0.0 }, "{p} {class:?}");
        }
    }
}
