//! The input of a run: links, flows and a plan, with nothing left to look up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_cc::CongestionControl;
use windtunnel_qdisc::QueueDiscipline;
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, Endpoint, TcpParams};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::application::{ApplicationConfig, Protocol};
use crate::element::ElementParams;
use crate::endpoint::Stack;
use crate::rate_trace::RateTrace;
use crate::recorder::StateRecording;

/// A network, ready to run.
#[derive(Debug)]
pub struct Network {
    /// The links; a path refers to them by index.
    pub links: Vec<LinkSpec>,
    /// The effects of media on packets; a path refers to them by index.
    pub impairments: Vec<ImpairmentSpec>,
    /// The flows; [`windtunnel_wire::FlowId`] is their index.
    pub flows: Vec<FlowSpec>,
    /// What changes when, in order of time.
    pub plan: Vec<(Time, Action)>,
    /// When the run ends.
    pub duration: Duration,
    /// What is recorded.
    pub record: RecordSpec,
    /// Loss-free endpoints: a packet that a queue would drop is delivered with CE.
    pub deliver_drops: bool,
}

/// A queue, a rate, and a propagation delay.
#[derive(Debug)]
pub struct LinkSpec {
    /// Its name in results.
    pub name: String,
    /// The rate at the start of the run.
    pub rate: LinkRate,
    /// Headers below IP that take time on the wire for each packet: 38 bytes on Ethernet with preamble and gap.
    pub overhead: Bytes,
    /// The propagation delay after serialisation.
    pub delay: Duration,
    /// The queue in front of it.
    pub queue: Box<dyn QueueDiscipline>,
    /// When the dequeue decision is taken.
    pub dequeue_point: DequeuePoint,
}

/// How fast a link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkRate {
    /// A number of bits per second.
    Fixed(Rate),
    /// Given by a trace of transmission opportunities.
    Trace(Arc<RateTrace>),
}

impl LinkRate {
    /// The rate, or the mean of the trace: the rate that a queue knows.
    pub fn mean(&self) -> Rate {
        match self {
            LinkRate::Fixed(rate) => *rate,
            LinkRate::Trace(trace) => trace.mean_rate(),
        }
    }
}

/// An element of a path.
#[derive(Clone, Debug)]
pub struct ImpairmentSpec {
    /// Its name in results.
    pub name: String,
    /// What it does.
    pub config: Arc<dyn ElementParams>,
    /// The seed of its own random stream.
    pub seed: u64,
}

/// When a packet leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DequeuePoint {
    /// Before its serialisation, which the sojourn time then excludes.
    Start,
    /// After its serialisation: it counts as queued meanwhile (spec/mds section 2).
    End,
}

/// A flow: one direction of data between two hosts.
#[derive(Debug)]
pub struct FlowSpec {
    /// Its name in results.
    pub name: String,
    /// Its controller's name in results.
    pub cc_name: String,
    /// What both ends agree on.
    pub endpoint: Endpoint,
    /// How its data are carried.
    pub transport: Transport,
    /// What makes it send.
    pub application: ApplicationConfig,
    /// The seed of its application's own random stream.
    pub seed: u64,
    /// From the sender to the receiver. A flow passes a link or an impairment at most once, counting both directions.
    pub forward: Vec<PathHop>,
    /// From the receiver to the sender.
    pub reverse: Vec<PathHop>,
    /// The round-trip time of the path without queues.
    pub base_rtt: Duration,
}

impl FlowSpec {
    /// The name of its controller in results; for a stack that is not part of this crate, the stack's name.
    pub fn controller_name(&self) -> &str {
        match &self.transport {
            Transport::Foreign(stack) => stack.name(),
            _ => &self.cc_name,
        }
    }

    /// The protocol of its packets.
    pub fn protocol(&self) -> Protocol {
        match &self.transport {
            Transport::Ideal { .. } | Transport::Tcp { .. } | Transport::Bsd42(_) => Protocol::Tcp,
            Transport::Udp => Protocol::Udp,
            Transport::Foreign(stack) => stack.protocol(),
        }
    }
}

/// How a flow's data are carried.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Loss-free endpoints, for runs with [`Network::deliver_drops`]: the application is bulk, and no impairment on
    /// the way reorders or duplicates packets ([`ElementParams::keeps_order`]). If a packet is lost nevertheless, the
    /// flow stalls.
    Ideal {
        /// The sender's controller.
        cc: ControllerFactory,
        /// How the receiver acknowledges.
        ack: AckParams,
    },
    /// A TCP as Linux has it; every mechanism can be switched.
    Tcp {
        /// The sender's controller.
        cc: ControllerFactory,
        /// The mechanisms of both ends.
        params: Box<TcpParams>,
        /// How the receiver acknowledges.
        ack: AckParams,
    },
    /// A TCP from before congestion control, as 4.2BSD had it.
    Bsd42(Box<Bsd42Params>),
    /// Datagrams: each packet that leaves is one that the application sends.
    Udp,
    /// A stack that is not part of this crate.
    Foreign(Arc<dyn Stack>),
}

/// Makes controllers: one for a flow, or one for each connection of an application that has many.
#[derive(Clone)]
pub struct ControllerFactory(Arc<Made<Maker>>);

type Maker = dyn Fn(u64) -> Box<dyn CongestionControl> + Send + Sync;

/// The number of controllers made, and the function that makes them.
struct Made<F: ?Sized> {
    count: AtomicU64,
    make: F,
}

impl ControllerFactory {
    /// A factory that calls `make` with the number of controllers made before: each has a random stream of its own.
    pub fn new(
        make: impl Fn(u64) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> ControllerFactory {
        ControllerFactory(Arc::new(Made { count: AtomicU64::new(0), make }))
    }

    /// A new controller.
    pub fn make(&self) -> Box<dyn CongestionControl> {
        let before = self.0.count.fetch_add(1, Ordering::Relaxed);
        (self.0.make)(before)
    }
}

impl fmt::Debug for ControllerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControllerFactory")
    }
}

/// One hop of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHop {
    /// Through the link with this index.
    Link(usize),
    /// A fixed delay of this flow alone.
    Delay(Duration),
    /// Through the impairment with this index. Where several follow each other, they are in the order of
    /// [`ElementParams::stage`].
    Impairment(usize),
}

/// A planned change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The flow has data to send from now on.
    Start(usize),
    /// The flow sends nothing more; data in flight drain.
    Stop(usize),
    /// The link has another rate, from the next packet on.
    SetRate(usize, Rate),
}

/// What is recorded.
#[derive(Clone, Debug)]
pub struct RecordSpec {
    /// The resolution of the time series.
    pub interval: Duration,
    /// Single events (sojourn times, windows, marks) are kept at least this far apart, per series; `None`: not at
    /// all.
    pub points: Option<Duration>,
    /// When the state of controllers and queues is recorded.
    pub state: StateRecording,
    /// Every dequeue and every ACK is kept. For short runs: memory grows with the number of events.
    pub events: bool,
    /// Every packet is captured at every point of its way, with its sender's state. Also for short runs only.
    pub packets: bool,
    /// Measurement windows.
    pub windows: Vec<Window>,
}

/// A measurement window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// From this time on.
    pub from: Time,
    /// Up to, not including, this time.
    pub to: Time,
}
