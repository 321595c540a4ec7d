//! vqpolice: a policer that signals as an AQM does, by the queue that a link of its rate would have.
//!
//! Source: spec/queues-and-signalling section 14.3; "Multiplicative Decrease Scaling" names policers as a deployment and
//! gives no algorithm. A packet that passes joins a virtual queue, which is drained at `rate`. The AQM hears of each
//! packet with its virtual wait as the sojourn time, and its verdict is the packet's. Whatever would wait longer than
//! `burst` is lost, which is the token bucket's contract. A mark counts in full for the rate.
//!
//! Why the constants are what they are: with the control law's target at half of the burst, its queue stands in the
//! middle of what the contract allows.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Duration, OutOfRange, Rate, Time};
use windtunnel_wire::Packet;

use super::{Policed, Policer, Ruling, VirtualQueue, behind};
use crate::accounts::QueueCx;
use crate::aqm::{Aqm, DelticMdsParams, PacketView, QueueView, Verdict};
use crate::discipline::QueueDiscipline;
use crate::ecn::Class;
use crate::params::{AqmParams, AqmSlot, ChildSlot, QueueInit, QueueParams};
use crate::spec::Parts;

/// vqpolice's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "spec/queues-and-signalling section 14.3", "x-title" = "VQPolice"))]
pub struct VqPoliceParams {
    /// The rate that is policed; by default the link's.
    pub rate: Option<Rate>,
    /// How long a packet may wait in the virtual queue: the depth of the bucket, as a time at `rate`.
    pub burst: Duration,
}

impl Default for VqPoliceParams {
    fn default() -> VqPoliceParams {
        VqPoliceParams { rate: None, burst: Duration::from_millis(20) }
    }
}

impl Params for VqPoliceParams {
    const NAME: &'static str = "vqpolice";
    const SUMMARY: &'static str =
        "A policer that signals by an AQM over a virtual queue, in front of any queue";

    fn check(&self) -> Result<(), OutOfRange> {
        check(self.rate, self.burst)
    }
}

/// The rate and the burst of a policer with a virtual queue.
pub(super) fn check(rate: Option<Rate>, burst: Duration) -> Result<(), OutOfRange> {
    if rate == Some(Rate::ZERO) {
        return Err(OutOfRange::new("rate", Rate::ZERO, "more than 0 bit/s"));
    }
    if burst.as_nanos() < 2 {
        return Err(OutOfRange::new("burst", burst, "at least 2 ns"));
    }
    Ok(())
}

impl QueueParams for VqPoliceParams {
    fn slots(&self) -> &'static [AqmSlot] {
        const SUMMARY: &str = "The control law; if left out, DelTiC-MDS with half of `burst` as its target.";
        &[AqmSlot { key: "aqm", summary: SUMMARY }]
    }

    fn children(&self) -> Vec<ChildSlot> {
        behind()
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let default: Arc<dyn AqmParams> =
            Arc::new(DelticMdsParams { target: self.burst / 2, ..DelticMdsParams::default() });
        let policer = VqPolice {
            aqm: parts.aqm().unwrap_or(&default).build(&init.aqm()),
            queue: VirtualQueue::default(),
            was_empty: true,
            params: self.clone(),
        };
        Box::new(Policed::new(policer, init.ecn, parts.build_child(init)))
    }
}

/// vqpolice's variables.
#[derive(Debug)]
struct VqPolice {
    aqm: Box<dyn Aqm>,
    queue: VirtualQueue,
    /// The AQM has heard that the virtual queue is empty.
    was_empty: bool,
    params: VqPoliceParams,
}

impl VqPolice {
    fn rate(&self, cx: &QueueCx) -> Rate {
        self.params.rate.unwrap_or(cx.rate)
    }

    /// The virtual queue in front of a packet, as the AQM sees it.
    fn view(&self, cx: &QueueCx) -> QueueView {
        const PACKET: u64 = 1_500;
        let (wait, rate) = (self.queue.wait(cx.now), self.rate(cx));
        let bytes = rate * wait;
        QueueView {
            now: cx.now,
            packets: bytes.get().div_ceil(PACKET) as usize,
            bytes,
            all_bytes: bytes,
            head_waiting: (!wait.is_zero()).then_some(wait),
            rate,
        }
    }
}

impl Policer for VqPolice {
    fn judge(&mut self, packet: &Packet, class: Class, cx: &QueueCx) -> Ruling {
        let sojourn = self.queue.wait(cx.now);
        if sojourn.is_zero() && !std::mem::replace(&mut self.was_empty, true) {
            self.aqm.on_empty(cx.now);
        }
        if sojourn > self.params.burst {
            self.aqm.on_full(cx.now);
            return Ruling { verdict: Verdict::Drop, is_charged: false };
        }
        let queue = self.view(cx);
        let arriving = PacketView {
            size: packet.size(),
            flow: packet.flow,
            dscp: packet.dscp,
            ecn: packet.ecn,
            class,
            sojourn: Duration::ZERO,
            replaces: false,
        };
        // Some laws decide when a packet arrives, others when it leaves; here it does both at once.
        let verdict = match self.aqm.on_enqueue(&arriving, &queue) {
            Verdict::Pass => self.aqm.on_dequeue(&PacketView { sojourn, ..arriving }, &queue),
            verdict => verdict,
        };
        Ruling { verdict, is_charged: true }
    }

    fn charge(&mut self, packet: &Packet, cx: &QueueCx) {
        let rate = self.rate(cx);
        self.queue.add(packet.size(), rate, cx.now);
        self.was_empty = false;
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, cx: &QueueCx) {
        let queue = self.view(cx);
        self.aqm.on_timer(&queue);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("virtual_queue_s", self.queue.last().as_secs_f64());
        self.aqm.probe(out);
    }
}
