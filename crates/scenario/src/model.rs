//! A fully resolved scenario: every default is filled in, every name is an index, every relative value is a number.

use std::ops::Deref;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_cc::{ControllerParams, Ignored};
use windtunnel_qdisc::ecn::{EcnMode, EcnPolicy};
use windtunnel_qdisc::{Limit, QueueDiscipline, QueueInit, QueueSpec, Selector};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::element::ElementParams;
use windtunnel_sim::endpoint::{StackController, StackDescription};
use windtunnel_sim::{During, LinkParams, LinkRate, Moment, RecordParams, Window};
use windtunnel_tcp::Endpoint;
use windtunnel_units::{Bytes, Duration};
use windtunnel_wire::Dscp;

/// A scenario, valid and complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its title; may be empty.
    pub title: String,
    /// When the run ends.
    pub duration: Duration,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How realistic its end systems are.
    pub endpoints: Endpoints,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// What the links connect.
    pub shape: Shape,
    /// The links; routes refer to them by index.
    pub links: Vec<Link>,
    /// The flows, as groups of equal ones.
    pub flows: Vec<FlowGroup>,
    /// What is recorded.
    pub record: RecordParams,
    /// Measurement windows.
    pub windows: Vec<Window>,
    /// Statements about the results.
    pub claims: Vec<Claim>,
}

/// A statement about the results. Who reads the results decides it: the core keeps its expression as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What is claimed, in words.
    pub text: String,
    /// When it is true, as a comparison of metrics: `p99(queue.sojourn_ms) < 5`.
    pub check: String,
    /// A short name, for reports of tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How realistic the end systems are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoints {
    /// The simplifications of "Multiplicative Decrease Scaling": nothing is lost, and packets that a queue would drop
    /// are delivered with CE.
    Ideal,
    /// TCP as in Linux, with losses and their recovery; `tcp` switches its mechanisms.
    #[default]
    Linux,
}

/// What the links connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Link 0 is the bottleneck that all flows share; link 1, if there is one, is the return path of their ACKs.
    Dumbbell,
    /// A graph with these nodes.
    Graph(Vec<String>),
}

/// A link: a queue, a rate, and a propagation delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The nodes at which the link starts and ends, as indices into [`Shape::Graph`]; `None` in a dumbbell.
    pub ends: Option<(usize, usize)>,
    /// How fast it is. Without a rate the link takes no time, and only its elements matter.
    pub rate: Option<LinkRate>,
    /// Its keys.
    pub params: LinkParams,
    /// The queue in front of it.
    pub queue: Queue,
    /// What happens to packets behind it, one after the other.
    pub elements: Vec<Impairment>,
}

/// What happens to packets behind a link.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// What it is.
    pub element: Arc<dyn ElementParams>,
    /// The packets that it concerns; all others pass it. Without it, all packets are concerned.
    pub only: Option<Selector>,
    /// When it works; without it, always.
    pub during: Option<During>,
}

impl PartialEq for Impairment {
    fn eq(&self, other: &Impairment) -> bool {
        *self.element == *other.element && self.only == other.only && self.during == other.during
    }
}

impl Deref for Impairment {
    type Target = dyn ElementParams;

    fn deref(&self) -> &(dyn ElementParams + 'static) {
        &*self.element
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Its discipline and AQMs with their parameters.
    pub spec: QueueSpec,
    /// How much it holds.
    pub limit: Limit,
    /// How it reads the ECN field.
    pub ecn_mode: EcnMode,
    /// The DSCP of the packets that it takes for those of MDS, where it knows any; of the queues inside of it too.
    pub mds_dscp: Dscp,
    /// How long it has existed, without traffic, before the run starts.
    pub age: Duration,
}

impl Queue {
    /// The queue as it is when a run starts; `seed` is that of its stream.
    pub(crate) fn build(&self, seed: u64) -> Box<dyn QueueDiscipline> {
        let ecn = EcnPolicy { mode: self.ecn_mode, mds: self.mds_dscp };
        self.spec.build(&QueueInit { ecn, limit: self.limit, seed, age: self.age })
    }

    /// Whether its limit may change during a run.
    pub fn may_change_its_limit(&self) -> bool {
        self.build(0).room().is_some()
    }
}

/// Identical flows: one `[[flow]]` of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// Its name; with several members, that of member n is `name-n`.
    pub name: String,
    /// How many flows it has.
    pub count: u32,
    /// The time between the starts of its members.
    pub stagger: Duration,
    /// When its first member sends, in order of time.
    pub active: Vec<Active>,
    /// What its application does.
    pub application: ApplicationConfig,
    /// The name of its controller in results; a flow without one is named after what it does.
    pub cc_name: String,
    /// How its data are carried.
    pub transport: Transport,
    /// What its controller does not answer.
    pub unresponsive: Option<Ignored>,
    /// What both ends agree on. Compilation gives each member its own index.
    pub endpoint: Endpoint,
    /// The route of its packets.
    pub route: Route,
    /// The hosts at its ends.
    pub hosts: Hosts,
    /// The name of the connection whose subflows its flows are.
    pub connection: Option<String>,
}

/// The names of the hosts that all flows of a group share; where there is no name, each flow has a host of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// The one that sends data.
    pub sender: Option<String>,
    /// The one that receives them.
    pub receiver: Option<String>,
}

/// How a flow's data are carried.
pub type Transport = windtunnel_sim::Transport<SharedController>;

/// The code point of ECN-capable packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ect {
    /// ECT(0).
    #[default]
    Ect0,
    /// ECT(1), the identifier of L4S.
    Ect1,
}

/// The parameters of a controller of any family.
#[derive(Clone, Debug)]
pub struct SharedController(pub Arc<dyn ControllerParams>);

impl Deref for SharedController {
    type Target = dyn ControllerParams;

    fn deref(&self) -> &(dyn ControllerParams + 'static) {
        &*self.0
    }
}

impl PartialEq for SharedController {
    fn eq(&self, other: &SharedController) -> bool {
        *self.0 == *other.0
    }
}

/// A span of time in which a flow has data to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Active {
    /// From this moment on.
    pub from: Moment,
    /// Up to this moment; if left out, up to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Moment>,
}

/// The route of a flow's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The links that data pass, as indices into [`Scenario::links`].
    pub forward: Vec<usize>,
    /// The links that ACKs pass; none if they return without queueing.
    pub reverse: Vec<usize>,
    /// The round-trip time without queues and serialisation.
    pub rtt: Duration,
    /// The part of `rtt` that no link causes: a fixed delay of this flow alone.
    pub own_delay: Duration,
}

/// One flow of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// When it sends, in order of time.
    pub active: Vec<Active>,
}

impl FlowGroup {
    /// Its controller, if that is one of windtunnel's or of a plugin: alone, or inside the stack of another crate.
    pub fn controller(&self) -> Option<&dyn ControllerParams> {
        if let Transport::Foreign(stack) = &self.transport {
            return match &stack.description()?.controllers.decides {
                StackController::Own(_) => None,
                StackController::Ours(params) => Some(&**params),
            };
        }
        self.transport.controller().map(|controller| &**controller)
    }

    /// Whether its ends are a stack of another crate.
    pub(crate) const fn is_over_stack(&self) -> bool {
        matches!(self.transport, Transport::Foreign(_))
    }

    /// Its flows.
    pub fn members(&self) -> impl Iterator<Item = Member> + '_ {
        (0..self.count).map(|n| {
            let wait = self.stagger * u64::from(n);
            let later = |a: &Active| Active { from: a.from.later(wait), to: a.to.clone() };
            let active = self.active.iter().map(later).collect();
            Member { name: member_name(&self.name, self.count, n), active }
        })
    }
}

impl Scenario {
    /// The algorithms whose code is not compiled into the program, each once: "controller my-aimd".
    pub fn foreign(&self) -> Vec<String> {
        let foreign = self.flows.iter().filter_map(FlowGroup::controller).filter(|cc| cc.is_foreign());
        let controllers = foreign.map(|controller| format!("controller {}", controller.name()));
        let stacks = self.flows.iter().filter_map(|group| {
            let Transport::Foreign(stack) = &group.transport else { return None };
            stack.description()?.params.foreign().map(|what| format!("stack {what}"))
        });
        each_once(controllers.chain(stacks))
    }

    /// The first `[[flow]]` whose ends are outside of a simulation, counted from 0, and the command that runs it.
    pub fn outside(&self) -> Option<(usize, &'static str)> {
        self.flows.iter().enumerate().find_map(|(index, group)| {
            let Transport::Foreign(stack) = &group.transport else { return None };
            Some((index, stack.description()?.params.outside()?))
        })
    }

    /// What draws random numbers that the seed does not decide, each once: "bbr of quinn". Two runs may differ.
    pub fn unseeded(&self) -> Vec<String> {
        each_once(self.flows.iter().filter_map(|group| {
            let Transport::Foreign(stack) = &group.transport else { return None };
            let StackDescription { params, controllers } = stack.description()?;
            let StackController::Own(name) = controllers.decides else { return None };
            params.draws_unseeded(name).then(|| format!("{name} of {}", params.title()))
        }))
    }

    /// All flows in order, each with its group. A flow's index here is its index in a network.
    pub fn flows(&self) -> impl Iterator<Item = (&FlowGroup, Member)> {
        self.flows.iter().flat_map(|group| group.members().map(move |member| (group, member)))
    }
}

fn each_once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The name of the `n`-th of `count` members of a group, from 0 on.
pub(crate) fn member_name(group: &str, count: u32, n: u32) -> String {
    if count == 1 { group.to_owned() } else { format!("{group}-{}", n + 1) }
}
