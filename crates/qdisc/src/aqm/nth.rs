//! The n-th marker: signals to every n-th packet that arrives, whatever the queue is.
//!
//! Source: the deterministic losses for which AIMD's response functions are derived (Floyd, Handley and Padhye, "A
//! Comparison of Equation-Based and AIMD Congestion Control", 2000; RFC 5166); spec/queues-and-signalling section 16.6.
//! One packet in n is signalled with no variance at all: what a flow does then is its response function, without the
//! queue and its AQM. Unlike the path element `periodic-loss`, it can mark, and it counts the packets of a queue
//! together; in the `aqm` slot of a fair queue it counts those of each flow.
//!
//! The default signal is CE, which is a drop for packets that do not understand it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::OutOfRange;

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::{AqmInit, BuildAqm};

/// What every n-th packet gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NthSignal {
    /// SCE, where the packet understands it; otherwise nothing.
    Sce,
    /// CE, where the packet understands it; otherwise a drop.
    #[default]
    Ce,
    /// A drop.
    Drop,
}

impl NthSignal {
    const fn verdict(self) -> Verdict {
        match self {
            NthSignal::Sce => Verdict::Mark(Signal::Sce),
            NthSignal::Ce => Verdict::Mark(Signal::Ce),
            NthSignal::Drop => Verdict::Drop,
        }
    }
}

/// How often, and what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Floyd, Handley, Padhye 2000; RFC 5166", "x-traits" = ["marks"]))]
pub struct NthParams {
    /// The packets from one signal to the next.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub n: u64,
    /// What the n-th packet gets.
    pub signal: NthSignal,
}

impl Default for NthParams {
    fn default() -> NthParams {
        NthParams { n: 100, signal: NthSignal::default() }
    }
}

impl Params for NthParams {
    const NAME: &'static str = "nth";
    const ALIASES: &'static [&'static str] = &["nth-marker", "nth_marker"];
    const SUMMARY: &'static str = "Marks or drops every n-th packet";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.n == 0 {
            return Err(OutOfRange::new("n", self.n, "at least 1 packet"));
        }
        Ok(())
    }
}

impl BuildAqm for NthParams {
    type Aqm = Nth;

    fn aqm(&self, _init: &AqmInit) -> Nth {
        Nth { n: self.n, verdict: self.signal.verdict(), arrived: 0 }
    }
}

/// The marker's variables.
#[derive(Clone, Debug)]
pub struct Nth {
    n: u64,
    verdict: Verdict,
    /// Packets since the last signal.
    arrived: u64,
}

impl Aqm for Nth {
    #[inline]
    fn on_enqueue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
        self.arrived += 1;
        if self.arrived < self.n {
            return Verdict::Pass;
        }
        self.arrived = 0;
        self.verdict
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("arrived_packets", self.arrived as f64);
    }
}
