//! CoDel, Controlled Delay: drops at a rising frequency while every packet has waited longer than a target.
//!
//! Source: RFC 8289 sections 3 to 5; Linux `codel_impl.h` and `sch_codel`; spec/queues-and-signalling section 4. The
//! minimum sojourn time of an interval counts: a queue that drains once in every interval is good, however long its
//! bursts are. Once packets have waited `target` or longer for a whole `interval`, one is dropped, and further ones
//! `interval / sqrt(count)` apart until a packet has waited less. Where a mark can reach the receiver it replaces the
//! drop.
//!
//! Why the constants are what they are. The interval is about the longest usual round trip, 100 ms: a sender needs that
//! long to respond. The target is 5 to 10 % of it, 5 ms, where a Reno sender on the interval's path loses little
//! throughput and the queue stays short (RFC 8289 section 4.3 and 4.4). Throughput of TCP falls with the square root of
//! the loss rate, so a frequency that grows with the square root of the drops lowers it linearly. A queue of at most
//! one packet never signals, because slow links would otherwise go idle. An episode that follows within 16 intervals
//! starts with the frequency at which the previous one was stable, instead of at the lowest frequency.
//!
//! The RFC and Linux differ in details, see [`CodelVariant`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Time};

use super::ds_selector::DsSelector;
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::ecn::EcnMode;
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm, QueuePlace};

/// The description of CoDel to follow where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodelVariant {
    /// Linux: the first drop comes strictly after an interval above the target, and the backlog compared with an MTU is
    /// that of all bands of the discipline.
    #[default]
    Linux,
    /// RFC 8289: the first drop comes after an interval or more, and the backlog compared with an MTU is that of this
    /// band.
    Rfc,
}

/// CoDel's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "RFC 8289; Linux sch_codel",
    "x-title" = "CoDel",
    "x-traits" = ["target", "codel"]
))]
pub struct CodelParams {
    /// Whether to follow the RFC or Linux where they differ.
    pub variant: CodelVariant,
    /// The sojourn time that a standing queue may have.
    pub target: Duration,
    /// How long packets may wait longer than the target; about the longest usual round trip.
    pub interval: Duration,
    /// Whether packets that understand CE are marked; if not, all are dropped.
    pub ecn: bool,
    /// The sojourn time above which every packet that understands CE is marked, independently of the schedule; off by
    /// default.
    pub ce_threshold: Option<Duration>,
    /// The packets to which `ce_threshold` applies: value/mask on the DS byte, whose low two bits are the ECN field.
    /// 0x01/0x03 are those with ECT(1), 0x00/0x00 all.
    pub ce_threshold_selector: DsSelector,
    /// The queue length up to which nothing is signalled. Linux uses 1514 B on Ethernet, where headers count.
    pub mtu: Bytes,
    /// Whether the square root is approximated as in Linux, by one Newton step per drop with 16 bits: next to Linux's
    /// endpoints it is by default.
    pub newton: bool,
}

impl Default for CodelParams {
    fn default() -> CodelParams {
        CodelParams {
            variant: CodelVariant::default(),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            ce_threshold: None,
            ce_threshold_selector: DsSelector::default(),
            mtu: Bytes::new(1_500),
            newton: false,
        }
    }
}

impl Params for CodelParams {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str =
        "Controlled Delay: drops or marks ever more often while all packets wait longer than a target";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.target.is_zero() {
            return Err(OutOfRange::new("target", self.target, "more than 0 s"));
        }
        if self.interval.is_zero() || self.interval > CodelParams::LONGEST_INTERVAL {
            return Err(OutOfRange::new("interval", self.interval, "more than 0 s and at most 1000 s"));
        }
        Ok(())
    }
}

impl CodelParams {
    /// No path has a longer round trip.
    const LONGEST_INTERVAL: Duration = Duration::from_secs(1_000);

    /// Whether a packet has waited for the target or longer, in a queue of more than one packet.
    #[inline]
    pub(super) fn is_above_target(&self, packet: &PacketView, queue: &QueueView) -> bool {
        let queued = match self.variant {
            CodelVariant::Linux => queue.all_bytes,
            CodelVariant::Rfc => queue.bytes,
        };
        packet.sojourn >= self.target && queued > self.mtu
    }

    /// Whether the interval that ends at `end` is over.
    #[inline]
    pub(super) fn is_past(&self, end: Time, now: Time) -> bool {
        match self.variant {
            CodelVariant::Linux => now > end,
            CodelVariant::Rfc => now >= end,
        }
    }
}

impl BuildAqm for CodelParams {
    type Aqm = Codel;

    /// Linux's.
    const LIMIT: Limit = Limit::Packets(1_000);

    /// Linux's.
    const ECN_MODE: EcnMode = EcnMode::Rfc3168;

    fn placed(self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Self {
        let mtu = if is_given("mtu") { self.mtu } else { self.mtu + place.overhead };
        let linux = place.linux && self.variant == CodelVariant::Linux;
        let newton = if is_given("newton") { self.newton } else { linux };
        Self { mtu, newton, ..self }
    }

    fn aqm(&self, _init: &AqmInit) -> Codel {
        Codel::new(self.clone())
    }

    fn target(&self) -> Option<Duration> {
        Some(self.target)
    }
}

/// 1 / sqrt(count): exact, or as Linux keeps it, a 16-bit fraction that a Newton step refines at each change.
#[derive(Clone, Copy, Debug)]
enum InverseRoot {
    Exact,
    Newton(u16),
}

impl InverseRoot {
    /// That of 1.
    const fn first(newton: bool) -> InverseRoot {
        if newton { InverseRoot::Newton(u16::MAX) } else { InverseRoot::Exact }
    }

    /// Refines the root for a new `count`: `r (3 - count r^2) / 2`.
    fn step(&mut self, count: u32) {
        if let InverseRoot::Newton(r) = self {
            let root = u64::from(*r) << 16;
            let square = (root * root) >> 32;
            // `3 - count r^2`, where a good approximation has `count r^2 = 1`, in units of 2^-30 so that the product
            // does not overflow.
            let rest = ((3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square))) >> 2;
            *r = (rest.wrapping_mul(root) >> 47) as u16;
        }
    }

    /// `interval / sqrt(count)`.
    fn of(self, interval: Duration, count: u32) -> Duration {
        match self {
            InverseRoot::Exact if count <= 1 => interval,
            InverseRoot::Exact => {
                Duration::from_nanos_f64(interval.as_nanos_f64() / libm::sqrt(f64::from(count)))
            }
            InverseRoot::Newton(r) => {
                let ns = (u128::from(interval.as_nanos()) * u128::from(r)) >> 16;
                Duration::from_nanos(ns as u64)
            }
        }
    }
}

/// A drop after which the RFC dequeues again. What it then does is done when the next packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dropped {
    /// The first of an episode: the packet that replaces it is delivered.
    First,
    /// A later one: the next is scheduled once the packet after it has also waited too long.
    Further,
}

/// CoDel's variables.
#[derive(Clone, Debug)]
pub struct Codel {
    params: CodelParams,
    /// When packets will have waited longer than the target for an interval, if they wait that long now.
    first_above_time: Option<Time>,
    /// In the dropping state, when the next packet is dropped; otherwise the last scheduled drop.
    drop_next: Time,
    /// Drops since the frequency was lowest, and as it was when this state was entered.
    count: u32,
    lastcount: u32,
    /// In the dropping state.
    dropping: bool,
    /// What the last packet's drop left to do.
    dropped: Option<Dropped>,
    inverse_root: InverseRoot,
}

impl Codel {
    /// The number of intervals within which a new episode continues at the frequency of the last one (RFC 8289 section
    /// 5.5).
    pub(super) const MEMORY: u64 = 16;

    /// CoDel with these parameters.
    pub fn new(params: CodelParams) -> Codel {
        Codel {
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            dropped: None,
            inverse_root: InverseRoot::first(params.newton),
            params,
        }
    }

    /// The RFC's `dequeue` for one packet of those that it dequeues.
    fn dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let ok_to_drop = self.should_drop(packet, queue);
        match self.dropped.take() {
            Some(Dropped::First) if packet.replaces => return Verdict::Pass,
            Some(Dropped::Further) if ok_to_drop => self.drop_next = self.control_law(self.drop_next),
            _ => {}
        }
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            } else if queue.now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.inverse_root.step(self.count);
                return self.drop(packet, Dropped::Further);
            }
        } else if ok_to_drop {
            self.enter(queue.now);
            return self.drop(packet, Dropped::First);
        }
        Verdict::Pass
    }

    /// Whether packets have waited longer than the target for an interval: the part of the RFC's `dodequeue` that Linux
    /// calls `codel_should_drop`. Must be called once per packet.
    #[inline]
    fn should_drop(&mut self, packet: &PacketView, queue: &QueueView) -> bool {
        if !self.params.is_above_target(packet, queue) {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(queue.now + self.params.interval);
                false
            }
            Some(first_above_time) => self.params.is_past(first_above_time, queue.now),
        }
    }

    /// The dropping state begins, at the frequency of the last one if that ended not long ago.
    fn enter(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.lastcount);
        let memory = Duration::from_nanos(self.params.interval.as_nanos() * Codel::MEMORY);
        // Before the first episode there is none to continue, whatever a fair queue has shed.
        let recently = self.lastcount > 0 && now < self.drop_next + memory;
        if delta > 1 && recently {
            self.count = delta;
            self.inverse_root.step(self.count);
        } else {
            self.count = 1;
            self.inverse_root = InverseRoot::first(self.params.newton);
        }
        self.lastcount = self.count;
        self.drop_next = self.control_law(now);
    }

    /// When the drop after one at `time` is due.
    fn control_law(&self, time: Time) -> Time {
        time + self.inverse_root.of(self.params.interval, self.count)
    }

    /// Drops the packet, or marks it, which leaves nothing to do.
    fn drop(&mut self, packet: &PacketView, dropped: Dropped) -> Verdict {
        if !(self.params.ecn && packet.markable()) {
            self.dropped = Some(dropped);
            return Verdict::Drop;
        }
        if dropped == Dropped::Further {
            self.drop_next = self.control_law(self.drop_next);
        }
        Verdict::Mark(Signal::Ce)
    }

    /// Whether `ce_threshold` marks the packet.
    fn above_threshold(&self, packet: &PacketView) -> bool {
        let above = self.params.ce_threshold.is_some_and(|threshold| packet.sojourn > threshold);
        above && packet.markable() && self.params.ce_threshold_selector.matches(packet.dscp, packet.ecn)
    }
}

impl Aqm for Codel {
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.dequeue(packet, queue) {
            Verdict::Pass if self.above_threshold(packet) => Verdict::Mark(Signal::Ce),
            verdict => verdict,
        }
    }

    fn on_empty(&mut self, _now: Time) {
        self.first_above_time = None;
        self.dropping = false;
        self.dropped = None;
    }

    fn on_shed(&mut self, packets: u32, _now: Time) {
        self.count = self.count.saturating_add(packets);
    }

    fn over_target(&self) -> Option<bool> {
        Some(self.first_above_time.is_some())
    }

    /// Reports when the next packet is to be dropped, if a drop is scheduled.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("lastcount", f64::from(self.lastcount));
        out("dropping", f64::from(u8::from(self.dropping)));
        out("drop_next_s", if self.dropping { self.drop_next.as_secs_f64() } else { f64::NAN });
    }
}
