//! An emulated path: a simulation whose packets come from outside and leave it. It has no clock and no device.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use windtunnel_scenario::{Active, Endpoints, FlowGroup, RESIDENT, Scenario, Transport, compile};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{StackController, StackControllers, StackParams};
use windtunnel_sim::recorder::Sink;
use windtunnel_sim::{Action, MemoryExceeded, Moment, Network, RunResult, Simulation, UnfitFlow};
use windtunnel_units::{Bytes, Duration, Time};

use crate::ip;
use crate::outside::{Doors, Leaving, Outside, Side};
use crate::stacks::OutsideParams;
use crate::tuples::{Ends, Hosts, Tuple, Tuples};

/// The number of connections that have a flow of their own.
const MOST_FLOWS: usize = 64;

/// What passes the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The flow of the scenario whose way real packets take; none for the first.
    pub way: Option<String>,
    /// The scenario's own flows run, too.
    pub keep: bool,
    /// When it ends at the latest.
    pub duration: Option<Duration>,
}

/// Why a scenario's path cannot be emulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmulationError {
    /// No flow has the name; these are those that there are.
    NoWay(String, Vec<String>),
    /// Its own flows have loss-free endpoints, next to which nothing may be lost.
    LossFree,
    /// The flow's ends are outside, and it has no hosts; or the other way round.
    Ends(String),
    /// One of its flows cannot run.
    Unfit(UnfitFlow),
}

impl fmt::Display for EmulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulationError::NoWay(name, all) => write!(f, "no flow is called {name:?}: flows are {}", all.join(", ")),
            EmulationError::LossFree => f.write_str(
                "endpoints = \"ideal\": loss-free endpoints cannot run next to real traffic, whose packets are lost",
            ),
            EmulationError::Ends(flow) => write!(f, "{flow}: its hosts are named if its ends are outside, and only then"),
            EmulationError::Unfit(unfit) => unfit.fmt(f),
        }
    }
}

impl std::error::Error for EmulationError {}

/// A link as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Its name.
    pub name: String,
    /// Bytes that have left it.
    pub departed: Bytes,
    /// Packets that have left it.
    pub packets: u64,
    /// The total sojourn time of those.
    pub waited: Duration,
    /// Bytes that wait.
    pub backlog: Bytes,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
}

/// A path between two devices.
#[derive(Debug)]
pub struct Emulation {
    scenario: Scenario,
    simulation: Simulation,
    doors: Doors,
    ends: Ends,
    /// When each connection began.
    began: Vec<Time>,
    packets: [u64; 2],
    bytes: [Bytes; 2],
    not_carried: u64,
}

impl Emulation {
    /// The path of a scenario's way, for any connections. Its recorder and its queues are those of a run.
    ///
    /// # Errors
    /// If there is no such way, or a flow of the scenario cannot run next to real traffic.
    pub fn new(scenario: &Scenario, traffic: &Traffic) -> Result<Emulation, EmulationError> {
        let way = way(scenario, traffic.way.as_deref())?;
        let mut scenario = scenario.clone();
        let own = if traffic.keep { std::mem::take(&mut scenario.flows) } else { Vec::new() };
        if scenario.endpoints == Endpoints::Ideal && !own.is_empty() {
            return Err(EmulationError::LossFree);
        }
        scenario.endpoints = Endpoints::Linux;
        scenario.duration = traffic.duration.unwrap_or(LONGEST);
        let first = own.iter().map(|group| group.count as usize).sum();
        scenario.flows = own;
        let doors = Doors::new(first + MOST_FLOWS);
        scenario.flows.extend((0..MOST_FLOWS).map(|number| connection(&way, number, doors.clone())));
        let mut network = compile(&scenario);
        // A connection starts with its first packet.
        network.plan.retain(|(_, action)| !matches!(action, Action::Start(flow) if *flow >= first));
        let mut path =
            Emulation::of(scenario, network, doors, Ends::Connections(first, Tuples::new(MOST_FLOWS)))?;
        path.simulation.await_flows(first);
        Ok(path)
    }

    /// A scenario with flows whose ends are at these hosts; it has these flows and no others from outside.
    ///
    /// # Errors
    /// If a flow whose ends are outside has no hosts, if one with hosts is not such a flow, or if one cannot run.
    pub fn between(scenario: &Scenario, hosts: &[Hosts]) -> Result<Emulation, EmulationError> {
        let mut scenario = scenario.clone();
        let doors = Doors::new(scenario.flows().count());
        let named = |name: &str| hosts.iter().find(|hosts| hosts.flow == name);
        let mut flows = BTreeMap::new();
        for (index, (group, member)) in scenario.flows().enumerate() {
            match (named(&member.name), outside(group)) {
                (Some(hosts), Some(_)) => _ = flows.insert((hosts.near, hosts.far), index),
                (None, None) => {}
                _ => return Err(EmulationError::Ends(member.name)),
            }
        }
        for group in &mut scenario.flows {
            if let Some(outside) = outside(group) {
                group.transport = Transport::Foreign(Arc::new(outside.with(doors.clone())));
            }
        }
        let network = compile(&scenario);
        Emulation::of(scenario, network, doors, Ends::Hosts(flows))
    }

    fn of(
        scenario: Scenario,
        network: Network,
        doors: Doors,
        ends: Ends,
    ) -> Result<Emulation, EmulationError> {
        Ok(Emulation {
            simulation: Simulation::try_new(network).map_err(EmulationError::Unfit)?,
            scenario,
            doors,
            ends,
            began: Vec::new(),
            packets: [0; 2],
            bytes: [Bytes::ZERO; 2],
            not_carried: 0,
        })
    }

    /// See [`Simulation::limit_memory`].
    pub fn limit_memory(&mut self, limit: Bytes) {
        self.simulation.limit_memory(limit);
    }

    /// See [`Simulation::stream_to`].
    pub fn stream_to(&mut self, sink: Box<dyn Sink>) {
        self.simulation.stream_to(sink, RESIDENT);
    }

    /// The names of flows and of links, with the flows' controllers, in the order of their indices.
    pub fn names(&self) -> (Vec<(String, String)>, Vec<String>) {
        let flows =
            self.scenario.flows().map(|(group, member)| (member.name, group.cc_name.clone())).collect();
        (flows, self.links().into_iter().map(|link| link.name).collect())
    }

    /// A packet arrives at the device at `side`. Returns whether the path carries it.
    pub fn arrive(&mut self, side: Side, packet: &[u8], now: Time) -> bool {
        let headers = ip::read(packet);
        let forward = headers.map(|headers| match side {
            Side::Near => headers.tuple,
            Side::Far => headers.tuple.back(),
        });
        let flow = forward.and_then(|tuple| self.ends.flow(tuple));
        let (Some(headers), Some(flow)) = (headers, flow) else {
            self.not_carried += 1;
            return false;
        };
        self.packets[side as usize] += 1;
        self.bytes[side as usize] += Bytes::new(packet.len() as u64);
        self.advance(now);
        if let Ends::Connections(first, _) = self.ends
            && flow == first + self.began.len()
        {
            self.began.push(now);
            self.simulation.begin(flow);
        }
        self.doors.enter(flow, side, headers, Arc::from(packet), now);
        self.simulation.wake(flow);
        true
    }

    /// Everything happens that is due by `now`.
    pub fn advance(&mut self, now: Time) {
        self.simulation.catch_up(now);
    }

    /// When the next thing happens.
    pub fn next_event(&self) -> Time {
        self.simulation.next_event()
    }

    /// When it ends at the latest.
    pub fn end(&self) -> Time {
        self.simulation.end()
    }

    /// The next packet that leaves by a device: the side, when it was due, and its bytes.
    pub fn leave(&mut self, into: &mut Vec<u8>) -> Option<(Side, Time)> {
        let Leaving { side, due, content, ip } = self.doors.leave()?;
        into.clear();
        into.extend_from_slice(&content);
        ip::write(into, ip);
        Some((side, due))
    }

    /// Packets and bytes that have arrived at both devices.
    pub fn arrived(&self) -> (u64, Bytes) {
        (self.packets.iter().sum(), self.bytes.iter().copied().sum())
    }

    /// Packets that stayed at their device: they go to several hosts, or to none that a router knows.
    pub const fn not_carried(&self) -> u64 {
        self.not_carried
    }

    /// The number of connections that have begun.
    pub const fn began(&self) -> usize {
        self.began.len()
    }

    /// The connections, by their flows.
    pub fn connections(&self) -> Vec<(String, Tuple)> {
        let names: Vec<String> = self.scenario.flows().map(|(_, member)| member.name).collect();
        self.ends.connections().into_iter().map(|(flow, tuple)| (names[flow].clone(), tuple)).collect()
    }

    /// The links as they are now.
    pub fn links(&self) -> Vec<LinkState> {
        let names = self.scenario.links.iter().filter(|link| link.rate.is_some()).map(|link| &link.name);
        let states = names.zip(self.simulation.queues()).map(|(name, (stats, backlog))| LinkState {
            name: name.clone(),
            departed: stats.departed_bytes,
            packets: stats.departed,
            waited: stats.waited,
            backlog,
            dropped: stats.lost,
            marked: stats.ce + stats.sce,
        });
        states.collect()
    }

    /// Whether it holds no more memory than it may.
    ///
    /// # Errors
    /// What holds too much.
    pub fn check_memory(&mut self) -> Result<(), MemoryExceeded> {
        self.simulation.check_memory()
    }

    /// Ends at `now`, or where it was to end before: what was measured, and the scenario that says what ran.
    ///
    /// # Errors
    /// If it holds more memory than it may.
    pub fn finish(mut self, now: Time) -> Result<(RunResult, Scenario), MemoryExceeded> {
        // A thread sees that its time is over after the end of it.
        let now = now.min(self.end());
        self.simulation.end_at(now);
        let mut result = self.simulation.finish_within()?;
        if let Ends::Connections(first, _) = self.ends {
            let flows = first + self.began.len();
            result.summary.flows.truncate(flows);
            for window in &mut result.summary.windows {
                window.flows.truncate(flows);
            }
            let groups = self.scenario.flows.len() - MOST_FLOWS + self.began.len();
            self.scenario.flows.truncate(groups);
            let began = self.began.iter().rev();
            for (group, began) in self.scenario.flows.iter_mut().rev().zip(began) {
                group.active = vec![from(*began)];
            }
        }
        self.scenario.duration = now.since_start();
        Ok((result, self.scenario))
    }
}

/// No emulation takes longer.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// The group whose way real packets take.
fn way(scenario: &Scenario, name: Option<&str>) -> Result<FlowGroup, EmulationError> {
    let group = match name {
        None => scenario.flows.first(),
        Some(name) => scenario.flows.iter().find(|group| group.name == name),
    };
    group.cloned().ok_or_else(|| {
        let all = scenario.flows.iter().map(|group| group.name.clone()).collect();
        EmulationError::NoWay(name.unwrap_or_default().to_owned(), all)
    })
}

/// The flow of a connection that takes the way of `like`.
fn connection(like: &FlowGroup, number: usize, doors: Doors) -> FlowGroup {
    let params = OutsideParams::default();
    let cc_name = params.controllers()[0];
    let controllers = StackControllers { decides: StackController::Own(cc_name), shadow: None };
    FlowGroup {
        name: format!("connection-{}", number + 1),
        count: 1,
        active: vec![from(Time::ZERO)],
        application: ApplicationConfig::Bulk,
        cc_name: cc_name.to_owned(),
        transport: Transport::Foreign(Arc::new(Outside::new(params, controllers).with(doors))),
        unresponsive: None,
        ..like.clone()
    }
}

/// The stack of a group whose ends are outside.
fn outside(group: &FlowGroup) -> Option<Outside> {
    let Transport::Foreign(stack) = &group.transport else { return None };
    Outside::of(&**stack)
}

fn from(time: Time) -> Active {
    Active { from: Moment::At(time), to: None }
}
