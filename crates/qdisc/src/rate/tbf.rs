//! tbf: a token-bucket shaper around any queue.
//!
//! Source: Linux `sch_tbf` and its manual page `tc-tbf`; spec/queues-and-signalling section 14.1. A bucket of `burst`
//! bytes fills at `rate`; a packet leaves when the bucket holds its length, and takes it. A second bucket of `mtu`
//! bytes that fills at `peakrate` limits how fast a burst leaves. No shorter packet overtakes one that waits. Over any
//! time T at most `burst + rate * T` bytes leave.
//!
//! As in Linux the packet is taken out of the queue inside, past its AQM, before it waits for tokens (`qdisc_peek_dequeued`):
//! the AQM times it up to then. It still counts as queued, for the limit inside too. A FIFO, RED, CHOKe and SFB, which
//! decide on arrival, keep their packet until it may leave.
//!
//! A packet that is longer than a bucket could never leave and is lost on arrival. With loss-free endpoints it leaves
//! when the bucket is full.
//!
//! Why the constants are what they are: `latency` is that of the manual page's example; ten packets of burst are an
//! initial window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Rate, Time};
use windtunnel_wire::Packet;

use super::{TokenBucket, probe_around};
use crate::accounts::{DropReason, Held, QueueCx};
use crate::discipline::{Backlog, QueueDiscipline};
use crate::hand_on::hand_on_queue;
use crate::limit::Limit;
use crate::params::{ChildSlot, QueueInit, QueueParams, Takes};
use crate::spec::Parts;

/// tbf's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux sch_tbf; tc-tbf(8)", "x-title" = "TBF", "x-traits" = ["holds"]))]
pub struct TbfParams {
    /// The rate at which the bucket fills; by default the link's.
    pub rate: Option<Rate>,
    /// The depth of the bucket: what may leave at once.
    #[serde(alias = "buffer", alias = "maxburst")]
    pub burst: Bytes,
    /// How long a packet may wait for tokens, where no `limit` says how much the queue inside holds.
    pub latency: Duration,
    /// The rate at which the second bucket fills; without it there is none.
    pub peakrate: Option<Rate>,
    /// The depth of the second bucket.
    #[serde(alias = "minburst")]
    pub mtu: Bytes,
    /// The least that a packet counts for.
    pub mpu: Bytes,
    /// Headers below IP, which count for each packet.
    pub overhead: Bytes,
}

impl Default for TbfParams {
    fn default() -> TbfParams {
        TbfParams {
            rate: None,
            burst: Bytes::new(15_000),
            latency: Duration::from_millis(50),
            peakrate: None,
            mtu: Bytes::new(1_500),
            mpu: Bytes::ZERO,
            overhead: Bytes::ZERO,
        }
    }
}

impl Params for TbfParams {
    const NAME: &'static str = "tbf";
    const SUMMARY: &'static str = "A token-bucket shaper around any queue";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.rate == Some(Rate::ZERO) {
            return Err(OutOfRange::new("rate", Rate::ZERO, "more than 0 bit/s"));
        }
        if self.burst == Bytes::ZERO {
            return Err(OutOfRange::new(
                "burst",
                self.burst,
                "more than 0 B; packets that are longer are lost",
            ));
        }
        if self.mtu == Bytes::ZERO {
            return Err(OutOfRange::new("mtu", self.mtu, "more than 0 B; packets that are longer are lost"));
        }
        match (self.rate, self.peakrate) {
            (Some(rate), Some(peak)) if peak > rate => Ok(()),
            (Some(_), Some(peak)) => Err(OutOfRange::new("peakrate", peak, "more than `rate`")),
            (None, Some(peak)) => Err(OutOfRange::new("peakrate", peak, "left out without `rate`")),
            (_, None) => Ok(()),
        }
    }
}

impl QueueParams for TbfParams {
    /// What leaves within `latency` (tc-tbf).
    fn default_limit(&self) -> Limit {
        match (self.rate, self.peakrate) {
            (None, _) => Limit::Time(self.latency),
            (Some(rate), None) => Limit::Bytes(rate * self.latency + self.burst),
            (Some(rate), Some(peak)) => {
                Limit::Bytes((rate * self.latency + self.burst).min(peak * self.latency + self.mtu))
            }
        }
    }

    fn children(&self) -> Vec<ChildSlot> {
        const SUMMARY: &str = "The queue that is shaped; if left out, a FIFO.";
        vec![ChildSlot { key: "child", summary: SUMMARY, takes: Takes::One }]
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let child = parts.build_child(init);
        Box::new(Tbf {
            has_bands: child.bands() != 1,
            peeks: child.peeks(),
            child,
            held: None,
            bucket: TokenBucket::new(self.rate.unwrap_or_default(), self.burst),
            peak: self.peakrate.map(|rate| TokenBucket::new(rate, self.mtu)),
            params: self.clone(),
            waits: None,
            is_granted: false,
            now: Time::ZERO,
        })
    }
}

/// tbf's variables.
#[derive(Debug)]
struct Tbf {
    child: Box<dyn QueueDiscipline>,
    /// The queue inside has bands with numbers of their own.
    has_bands: bool,
    /// The queue inside lets its next packet be examined.
    peeks: bool,
    /// The packet that has passed the AQM of the queue inside and waits for tokens.
    held: Option<Held>,
    bucket: TokenBucket,
    peak: Option<TokenBucket>,
    params: TbfParams,
    /// When there will be tokens for the packet that leaves next.
    waits: Option<Time>,
    /// The packet that leaves next may leave.
    is_granted: bool,
    /// The time of the last call.
    now: Time,
}

impl Tbf {
    /// The longest packet that can leave.
    fn longest(&self) -> Bytes {
        if self.peak.is_some() { self.params.burst.min(self.params.mtu) } else { self.params.burst }
    }

    /// What a packet takes from the buckets.
    fn cost(&self, size: Bytes) -> Bytes {
        (size + self.params.overhead).max(self.params.mpu)
    }

    /// Calls the queue inside, which is drained at the shaped rate.
    fn inside<R>(
        &mut self,
        cx: &mut QueueCx,
        call: impl FnOnce(&mut dyn QueueDiscipline, &mut QueueCx) -> R,
    ) -> R {
        let rate = self.params.rate.unwrap_or(cx.rate);
        self.bucket.set_rate(rate, cx.now);
        self.now = cx.now;
        let held = self.held_backlog();
        cx.at_rate(rate, |cx| cx.while_held(held, |cx| call(self.child.as_mut(), cx)))
    }

    fn held_backlog(&self) -> Backlog {
        self.held.as_ref().map_or(Backlog::NONE, Held::backlog)
    }

    /// The length of the packet that leaves next, which has passed the AQM if the queue inside does not let it be looked
    /// at.
    fn peek(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if self.peeks {
            return self.inside(cx, |child, cx| child.choose(cx));
        }
        if self.held.is_none() {
            self.held = self.inside(cx, |child, cx| cx.hold(|cx| child.dequeue(cx)));
        }
        self.held.as_ref().map(Held::size)
    }
}

impl QueueDiscipline for Tbf {
    hand_on_queue! { self => self.child; learn_hosts next_timer bands band_name classes class_of }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        if self.cost(packet.size()) > self.longest() && !cx.deliver_drops {
            cx.arrived();
            cx.drop(packet, DropReason::Policed);
        } else {
            self.inside(cx, |child, cx| child.enqueue(packet, cx));
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        self.waits = None;
        let size = self.peek(cx)?;
        if !self.is_granted {
            let cost = self.cost(size).min(self.longest());
            let of_peak = self.peak.map_or(cx.now, |peak| peak.holds_at(cost, cx.now));
            let holds_at = self.bucket.holds_at(cost, cx.now).max(of_peak);
            self.is_granted = holds_at <= cx.now;
            self.waits = (!self.is_granted).then_some(holds_at);
        }
        self.is_granted.then_some(size)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        if !std::mem::take(&mut self.is_granted) {
            return None;
        }
        let packet = match self.held.take() {
            Some(held) => cx.release(held),
            None => self.inside(cx, |child, cx| child.serve(cx))?,
        };
        let cost = self.cost(packet.size()).min(self.longest());
        self.bucket.take(cost, cx.now);
        if let Some(peak) = &mut self.peak {
            peak.take(cost, cx.now);
        }
        Some(packet)
    }

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.waits.or_else(|| self.child.next_ready(now))
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog() + self.held_backlog()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        self.inside(cx, |child, cx| child.on_timer(cx));
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let own = |out: &mut dyn FnMut(&'static str, f64)| {
            out("tokens_bytes", self.bucket.level(self.now).bytes());
            out("peak_tokens_bytes", self.peak.map_or(f64::NAN, |peak| peak.level(self.now).bytes()));
        };
        probe_around(self.child.as_ref(), &own, out);
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        let held = self.held.as_ref().filter(|held| held.band() == band);
        self.child.band_backlog(band) + held.map_or(Backlog::NONE, Held::backlog)
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        if self.has_bands { self.child.probe_band(band, out) } else { self.probe(out) }
    }
}
