//! The step: marks CE while the queue is longer than a threshold, with no average and no probability.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", 2010, section 3.1 (1), where it decides on arrival and counts
//! packets; RFC 8257 section 2; spec/queues-and-signalling section 16.6. A DCTCP sender measures the fraction of marks, so
//! the queue itself need not smooth anything. A packet is marked if it finds more than the threshold: in packets, in
//! bytes, or in the time that the link takes to send them at its current rate. On departure, what counts is what the
//! packet leaves behind, or how long it has waited: the mark then is one queueing delay younger.
//!
//! The default, 20 packets, is the paper's for 1 Gbit/s; for 10 Gbit/s it has 65. Its guideline is more than
//! `rate * rtt / 7` (section 3.4). Packets that do not understand CE are dropped, as by the switches of the paper
//! (RED with equal thresholds).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::Duration;

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::{AqmInit, BuildAqm};
use crate::queue_length::QueueLength;

/// When a packet is examined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepPoint {
    /// When it arrives.
    #[default]
    Enqueue,
    /// When it leaves.
    Dequeue,
}

/// The threshold, and where it is applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Alizadeh et al. 2010; RFC 8257", "x-traits" = ["marks"]))]
pub struct StepParams {
    /// The length of the queue above which packets are marked: packets, bytes, or time.
    pub threshold: QueueLength,
    /// Whether a packet is marked for what it finds when it arrives, or for what it leaves behind.
    pub at: StepPoint,
}

impl Default for StepParams {
    fn default() -> StepParams {
        StepParams { threshold: QueueLength::Packets(20), at: StepPoint::default() }
    }
}

impl Params for StepParams {
    const NAME: &'static str = "step";
    const SUMMARY: &'static str =
        "DCTCP's step: marks every packet while the queue is longer than a threshold";
}

impl BuildAqm for StepParams {
    type Aqm = Step;

    fn target(&self) -> Option<Duration> {
        match self.threshold {
            QueueLength::Time(time) => Some(time),
            QueueLength::Packets(_) | QueueLength::Bytes(_) => None,
        }
    }

    fn aqm(&self, _init: &AqmInit) -> Step {
        Step { params: self.clone() }
    }
}

/// The step. It has no variables.
#[derive(Clone, Debug)]
pub struct Step {
    params: StepParams,
}

impl Step {
    /// The verdict in front of `queue`, which takes `delay` to send.
    #[inline]
    fn verdict(&self, queue: &QueueView, delay: impl FnOnce() -> Duration) -> Verdict {
        let above = match self.params.threshold {
            QueueLength::Packets(threshold) => queue.packets > threshold,
            QueueLength::Bytes(threshold) => queue.bytes > threshold,
            QueueLength::Time(threshold) => delay() > threshold,
        };
        if above { Verdict::Mark(Signal::Ce) } else { Verdict::Pass }
    }
}

impl Aqm for Step {
    #[inline]
    fn on_enqueue(&mut self, _packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.params.at {
            StepPoint::Enqueue => self.verdict(queue, || queue.rate.transfer_time(queue.bytes)),
            StepPoint::Dequeue => Verdict::Pass,
        }
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.params.at {
            StepPoint::Enqueue => Verdict::Pass,
            StepPoint::Dequeue => self.verdict(queue, || packet.sojourn),
        }
    }
}
