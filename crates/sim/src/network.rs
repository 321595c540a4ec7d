//! The input of a run: links, flows and a plan, with nothing left to look up.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_cc::{CongestionControl, Subflow};
use windtunnel_qdisc::{QueueDiscipline, Selector};
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, Endpoint, TcpParams};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::application::{ApplicationConfig, Protocol};
use crate::element::ElementParams;
use crate::endpoint::Stack;
use crate::link::{LinkParams, LinkRate};
use crate::recorder::RecordParams;
use crate::schedule::{During, Moment, When, repeated};

/// A network, ready to run.
#[derive(Debug)]
pub struct Network {
    /// The links; a path refers to them by index.
    pub links: Vec<LinkSpec>,
    /// The effects of media on packets; a path refers to them by index.
    pub elements: Vec<ElementSpec>,
    /// The flows; [`windtunnel_wire::FlowId`] is their index.
    pub flows: Vec<FlowSpec>,
    /// What flows do when, in order of time. What links, elements and applications change by themselves comes on top.
    pub plan: Vec<(Time, Action)>,
    /// What flows do when the state of a controller calls for it.
    pub triggers: Vec<(Box<When>, Action)>,
    /// When the run ends.
    pub duration: Duration,
    /// What is recorded.
    pub record: RecordParams,
    /// Measurement windows.
    pub windows: Vec<Window>,
    /// Loss-free endpoints: a packet that a queue would drop is delivered with CE.
    pub deliver_drops: bool,
}

/// Actions at times, in order, and those that wait for a state.
pub(crate) type Plan = (Vec<(Time, Action)>, Vec<(Box<When>, Action)>);

impl Network {
    /// All that is planned: at a time, in order, or when a state calls for it. At equal times the network changes before
    /// flows start.
    pub(crate) fn schedule(&self) -> Plan {
        let end = Time::ZERO + self.duration;
        let (mut plan, mut triggers) = (Vec::new(), Vec::new());
        for (moment, every, action) in self.own_changes() {
            match moment {
                Moment::At(at) => plan.extend(repeated(at, every, end).map(|at| (at, action))),
                Moment::When(when) => triggers.push((when, action)),
            }
        }
        plan.extend(self.plan.iter().copied());
        plan.sort_by_key(|(at, _)| *at);
        triggers.extend(self.triggers.iter().cloned());
        (plan, triggers)
    }

    /// What links, elements and applications change by themselves.
    fn own_changes(&self) -> Vec<(Moment, Option<Duration>, Action)> {
        let mut all = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            for (number, change) in link.params.changes.iter().enumerate() {
                let moment = change.moment().unwrap_or_default();
                all.push((moment, change.every, Action::ChangeLink(index, number)));
            }
        }
        for (index, element) in self.elements.iter().enumerate() {
            let Some(During { from, to, every }) = &element.during else { continue };
            all.push((from.clone(), *every, Action::SwitchOn(index)));
            all.extend(to.iter().map(|to| (to.clone(), *every, Action::SwitchOff(index))));
        }
        for (index, flow) in self.flows.iter().enumerate() {
            let changes = flow.application.changes().iter();
            all.extend(changes.map(|change| {
                (change.moment().unwrap_or_default(), None, Action::SetApplicationRate(index, change.rate))
            }));
        }
        all
    }
}

/// A queue, a rate, and a propagation delay.
#[derive(Debug)]
pub struct LinkSpec {
    /// Its name in results.
    pub name: String,
    /// How fast it is.
    pub rate: LinkRate,
    /// Its keys.
    pub params: LinkParams,
    /// The queue in front of it.
    pub queue: Box<dyn QueueDiscipline>,
}

/// An element of a path.
#[derive(Clone, Debug)]
pub struct ElementSpec {
    /// Its name in results.
    pub name: String,
    /// What it does.
    pub config: Arc<dyn ElementParams>,
    /// The packets that it concerns; all others pass it. Without it, all packets are concerned.
    pub only: Option<Selector>,
    /// When it works; without it, always. At other times all packets pass it.
    pub during: Option<During>,
    /// The seed of its own random stream.
    pub seed: u64,
}

/// A flow: one direction of data between two hosts.
#[derive(Debug)]
pub struct FlowSpec {
    /// Its name in results.
    pub name: String,
    /// Its controller's name in results.
    pub cc_name: Arc<str>,
    /// What both ends agree on.
    pub endpoint: Endpoint,
    /// How its data are carried.
    pub transport: Transport,
    /// What makes it send.
    pub application: ApplicationConfig,
    /// The seed of its application's own random stream.
    pub seed: u64,
    /// From the sender to the receiver. A flow passes a link or an element at most once, counting both directions.
    pub forward: Vec<PathHop>,
    /// From the receiver to the sender.
    pub reverse: Vec<PathHop>,
    /// The round-trip time of the path without queues.
    pub base_rtt: Duration,
    /// The number of the connection whose subflow it is: the controllers of a connection know each other.
    pub connection: Option<u32>,
}

impl FlowSpec {
    /// The protocol of its packets.
    pub fn protocol(&self) -> Protocol {
        match &self.transport {
            Transport::Ideal { .. } | Transport::Tcp { .. } | Transport::Bsd42(_) => Protocol::Tcp,
            Transport::Udp | Transport::Rtp { .. } => Protocol::Udp,
            Transport::Foreign(stack) => stack.protocol(),
        }
    }
}

/// A flow that cannot run: its transport does not fit its application or its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitFlow {
    /// Its name.
    pub flow: String,
    /// What does not fit.
    pub why: String,
}

impl fmt::Display for UnfitFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.flow, self.why)
    }
}

impl std::error::Error for UnfitFlow {}

/// How a flow's data are carried. `C` is the sender's controller: what makes it in a network, and its parameters in a
/// scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport<C = ControllerFactory> {
    /// Loss-free endpoints, for runs with [`Network::deliver_drops`]: the application is bulk, and no element on the
    /// way reorders or duplicates packets ([`ElementParams::keeps_order`]). If a packet is lost nevertheless, the flow
    /// stalls.
    Ideal {
        /// The sender's controller.
        cc: C,
        /// How the receiver acknowledges.
        ack: AckParams,
    },
    /// A TCP as Linux has it; every mechanism can be switched.
    Tcp {
        /// The sender's controller.
        cc: C,
        /// The mechanisms of both ends, shared by all flows that have the same.
        params: Arc<TcpParams>,
        /// How the receiver acknowledges.
        ack: AckParams,
    },
    /// A TCP from before congestion control, as 4.2BSD had it.
    Bsd42(Box<Bsd42Params>),
    /// Datagrams: each packet that leaves is one that the application sends.
    Udp,
    /// Media over RTP, whose rate the controller sets.
    Rtp {
        /// The sender's controller, which needs [`windtunnel_cc::Needs::media`].
        cc: C,
    },
    /// A stack that is not part of this crate.
    Foreign(Arc<dyn Stack>),
}

impl<C> Transport<C> {
    /// Its name in messages.
    pub fn kind(&self) -> &str {
        match self {
            Transport::Ideal { .. } => "a loss-free endpoint",
            Transport::Tcp { .. } | Transport::Bsd42(_) => "TCP",
            Transport::Udp => "UDP",
            Transport::Rtp { .. } => "RTP",
            Transport::Foreign(stack) => stack.name(),
        }
    }

    /// The sender's controller, if it has one.
    pub fn controller(&self) -> Option<&C> {
        match self {
            Transport::Ideal { cc, .. } | Transport::Tcp { cc, .. } | Transport::Rtp { cc } => Some(cc),
            Transport::Bsd42(_) | Transport::Udp | Transport::Foreign(_) => None,
        }
    }

    /// How the receiver acknowledges, if that can be chosen.
    pub fn ack(&self) -> Option<AckParams> {
        match self {
            Transport::Ideal { ack, .. } | Transport::Tcp { ack, .. } => Some(*ack),
            Transport::Bsd42(_) | Transport::Udp | Transport::Rtp { .. } | Transport::Foreign(_) => None,
        }
    }

    /// The mechanisms of both ends; loss-free endpoints have none.
    pub fn mechanisms(&self) -> Option<&TcpParams> {
        match self {
            Transport::Tcp { params, .. } => Some(params),
            Transport::Ideal { .. }
            | Transport::Bsd42(_)
            | Transport::Udp
            | Transport::Rtp { .. }
            | Transport::Foreign(_) => None,
        }
    }

    /// The same with another form of its controller.
    pub fn with_controller<D>(self, convert: impl FnOnce(C) -> D) -> Transport<D> {
        match self {
            Transport::Ideal { cc, ack } => Transport::Ideal { cc: convert(cc), ack },
            Transport::Tcp { cc, params, ack } => Transport::Tcp { cc: convert(cc), params, ack },
            Transport::Bsd42(params) => Transport::Bsd42(params),
            Transport::Udp => Transport::Udp,
            Transport::Rtp { cc } => Transport::Rtp { cc: convert(cc) },
            Transport::Foreign(stack) => Transport::Foreign(stack),
        }
    }
}

/// Makes controllers: one for a flow, or one for each connection of an application that has many. What makes them is
/// shared by all flows whose controllers are equal but for their random streams.
#[derive(Clone)]
pub struct ControllerFactory {
    make: Arc<Maker>,
    /// The seed of the flow's controllers.
    seed: u64,
    /// See [`ControllerFactory::starting_alike`].
    alike: bool,
    /// The subflow that its flow is of a connection.
    subflow: Option<Subflow>,
}

type Maker = dyn Fn(Connection) -> Box<dyn CongestionControl> + Send + Sync;

/// The connection for which a controller is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connection {
    /// The seed of the flow's controllers: each has a random stream of its own.
    pub seed: u64,
    /// The number of the flow's connections before.
    pub earlier: u64,
    /// The slow-start threshold that they left ([`TcpParams::ssthresh_metrics_save`]).
    pub ssthresh: Option<Bytes>,
}

impl ControllerFactory {
    /// A factory that calls `make` for each connection.
    pub fn new(
        make: impl Fn(Connection) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> ControllerFactory {
        ControllerFactory { make: Arc::new(make), seed: 0, alike: false, subflow: None }
    }

    /// States that all controllers start in the same state, whatever their seeds: then those of flows that have not
    /// started yet need not exist.
    #[must_use]
    pub fn starting_alike(self) -> ControllerFactory {
        ControllerFactory { alike: true, ..self }
    }

    /// The factory of another flow, whose controllers have this seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> ControllerFactory {
        ControllerFactory { seed, ..self.clone() }
    }

    /// The factory of a flow that is a subflow of a connection, if it is one.
    #[must_use]
    pub(crate) fn with_subflow(&self, subflow: Option<Subflow>) -> ControllerFactory {
        ControllerFactory { subflow, ..self.clone() }
    }

    /// A new controller, of a connection that `earlier` ones preceded, which left this slow-start threshold.
    pub fn make(&self, earlier: u64, ssthresh: Option<Bytes>) -> Box<dyn CongestionControl> {
        let mut controller = (self.make)(Connection { seed: self.seed, earlier, ssthresh });
        if let Some(subflow) = &self.subflow {
            controller.join(subflow.clone());
        }
        controller
    }

    /// Whether a controller of this factory starts as one of `other` does.
    pub(crate) fn starts_like(&self, other: &ControllerFactory) -> bool {
        self.alike && Arc::ptr_eq(&self.make, &other.make)
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
    /// Through the element with this index. Where several follow each other, they are in the order of
    /// [`ElementParams::stage`].
    Element(usize),
}

/// A planned change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The flow has data to send from now on.
    Start(usize),
    /// The flow sends nothing more; data in flight drain.
    Stop(usize),
    /// The link changes as the one of its [`LinkParams::changes`] with this number says.
    ChangeLink(usize, usize),
    /// The element works from now on.
    SwitchOn(usize),
    /// All packets pass the element from now on.
    SwitchOff(usize),
    /// The flow's application sends at another rate.
    SetApplicationRate(usize, Rate),
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
