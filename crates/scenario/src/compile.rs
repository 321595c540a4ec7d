//! From a scenario to a network: algorithms are built, names become indices, and nothing is left to look up.

use std::sync::Arc;

use windtunnel_cc::FlowInit;
use windtunnel_qdisc::QueueInit;
use windtunnel_qdisc::ecn::EcnPolicy;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::{
    Action, ControllerFactory, FlowSpec, ImpairmentSpec, LinkSpec, Network, PathHop, RecordSpec, stream_seed,
};
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, TcpParams};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::model::{
    Active, Ect, Endpoints, FlowGroup, Link, LinkRate, Member, Route, Scenario, TcpTransport, Transport,
};

/// Builds the network of a scenario.
pub fn compile(scenario: &Scenario) -> Network {
    let ways = Ways::new(scenario);
    let mut plan: Vec<(Time, Action)> = Vec::new();
    for (link, index) in scenario.links.iter().zip(&ways.links) {
        let changes = link.changes.iter().zip(std::iter::repeat(index));
        plan.extend(
            changes.filter_map(|(change, link)| Some((change.at, Action::SetRate((*link)?, change.rate)))),
        );
    }
    let mut flows = Vec::new();
    for (index, (group, member)) in scenario.flows().enumerate() {
        for Active { from, to } in &member.active {
            plan.push((*from, Action::Start(index)));
            plan.extend(to.map(|to| (to, Action::Stop(index))));
        }
        flows.push(flow(scenario, &ways, index, group, member));
    }
    // Stable: at equal times rates change before flows start, and flows start in the order of the file.
    plan.sort_by_key(|(at, _)| *at);
    Network {
        links: scenario.links.iter().filter_map(|l| link(scenario, l)).collect(),
        impairments: impairments(scenario),
        flows,
        plan,
        duration: scenario.duration,
        record: record(scenario),
        deliver_drops: match scenario.endpoints {
            Endpoints::Ideal => true,
            Endpoints::Linux => false,
        },
    }
}

/// Maps each link of the scenario to the network: a link, unless it takes no time, and the impairments behind it.
struct Ways {
    links: Vec<Option<usize>>,
    /// The first impairment behind each link, and how many there are.
    impairments: Vec<(usize, usize)>,
}

impl Ways {
    fn new(scenario: &Scenario) -> Ways {
        let (mut links, mut impairments) = (0, 0);
        let mut ways = Ways { links: Vec::new(), impairments: Vec::new() };
        for link in &scenario.links {
            let queues = link.rate != LinkRate::Unlimited;
            ways.links.push(queues.then_some(links));
            ways.impairments.push((impairments, link.impair.len()));
            links += usize::from(queues);
            impairments += link.impair.len();
        }
        ways
    }

    /// Returns the hops of a route along links of the scenario.
    fn hops(&self, route: &[usize]) -> Vec<PathHop> {
        let hops = |&link: &usize| {
            let (first, count) = self.impairments[link];
            let impairments = (first..first + count).map(PathHop::Impairment);
            self.links[link].map(PathHop::Link).into_iter().chain(impairments)
        };
        route.iter().flat_map(hops).collect()
    }
}

fn link(scenario: &Scenario, link: &Link) -> Option<LinkSpec> {
    let queue = &link.queue;
    let ecn = EcnPolicy { mode: queue.ecn_mode, mds: Dscp::MDS };
    // The queue's stream is named after its link, so that other links and flows do not change its draws.
    let seed = stream_seed(scenario.seed, &format!("queue {}", link.name));
    Some(LinkSpec {
        name: link.name.clone(),
        rate: match &link.rate {
            LinkRate::Fixed(rate) => windtunnel_sim::LinkRate::Fixed(*rate),
            LinkRate::Trace { trace, .. } => windtunnel_sim::LinkRate::Trace(Arc::clone(trace)),
            LinkRate::Unlimited => return None,
        },
        overhead: link.overhead,
        delay: link.delay,
        queue: queue.spec.build(&QueueInit { ecn, limit: queue.limit, seed, age: queue.age }),
        dequeue_point: link.dequeue_point,
    })
}

/// Returns the impairments of all links. Each has its own stream, named after its link, its kind and, among equal ones,
/// its number.
fn impairments(scenario: &Scenario) -> Vec<ImpairmentSpec> {
    let mut all: Vec<ImpairmentSpec> = Vec::new();
    for link in &scenario.links {
        for config in &link.impair {
            let name = format!("{} {}", link.name, config.name());
            let equal = all
                .iter()
                .filter(|other| other.config.name() == config.name() && other.name.starts_with(&name));
            let name = match equal.count() {
                0 => name,
                n => format!("{name} {}", n + 1),
            };
            let seed = stream_seed(scenario.seed, &format!("impairment {name}"));
            all.push(ImpairmentSpec { name, config: config.clone(), seed });
        }
    }
    all
}

/// A connection that is used again stays open meanwhile.
fn application(group: &FlowGroup, member: &Member) -> ApplicationConfig {
    let application = group.application.clone();
    if member.active.len() > 1 { application.staying_open() } else { application }
}

fn flow(scenario: &Scenario, ways: &Ways, index: usize, group: &FlowGroup, member: Member) -> FlowSpec {
    let endpoint = endpoint(scenario, &group.transport, FlowId::new(index as u32));
    let (forward, reverse) = paths(scenario, ways, &group.route);
    FlowSpec {
        seed: stream_seed(scenario.seed, &format!("flow {} application", member.name)),
        transport: match &group.transport {
            Transport::Tcp(tcp) => carried_by_tcp(scenario, tcp, &member.name, &endpoint),
            Transport::Bsd42(params) => windtunnel_sim::Transport::Bsd42(params.clone()),
            Transport::Udp { .. } => windtunnel_sim::Transport::Udp,
        },
        application: application(group, &member),
        name: member.name,
        cc_name: group.cc_name().to_owned(),
        endpoint,
        forward,
        reverse,
        base_rtt: group.route.rtt,
    }
}

/// Returns the settings on which both ends of a flow agree.
fn endpoint(scenario: &Scenario, transport: &Transport, flow: FlowId) -> Endpoint {
    let plain = Endpoint {
        flow,
        mtu: scenario.mtu,
        headers: HEADERS_WITHOUT_TIMESTAMPS,
        iw: scenario.mtu,
        paced: false,
        ecn: Ecn::NotEct,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    };
    let code_point = |ect| match ect {
        None => Ecn::NotEct,
        Some(Ect::Ect0) => Ecn::Ect0,
        Some(Ect::Ect1) => Ecn::Ect1,
    };
    match transport {
        Transport::Tcp(tcp) => {
            let timestamps = tcp.mechanisms.as_ref().is_none_or(|mechanisms| mechanisms.timestamps);
            let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
            Endpoint {
                headers,
                iw: (scenario.mtu - headers) * u64::from(tcp.iw),
                paced: tcp.pacing,
                ecn: code_point(tcp.feedback.uses_ecn().then_some(tcp.ect)),
                feedback: tcp.feedback,
                dscp: if tcp.feedback.is_mds() { Dscp::MDS } else { Dscp::DEFAULT },
                ..plain
            }
        }
        Transport::Bsd42(_) => plain,
        Transport::Udp { ect } => Endpoint { ecn: code_point(*ect), ..plain },
    }
}

fn carried_by_tcp(
    scenario: &Scenario,
    tcp: &TcpTransport,
    name: &str,
    endpoint: &Endpoint,
) -> windtunnel_sim::Transport {
    let init = FlowInit {
        mss: endpoint.mss(),
        iw: endpoint.iw,
        min_cwnd: endpoint.min_cwnd(),
        paced: tcp.pacing,
        ssthresh_base: tcp.mechanisms.as_ref().map(|tcp| tcp.ssthresh_base).unwrap_or_default(),
        tick: tcp.mechanisms.as_ref().map(|tcp| tcp.tick).unwrap_or_default(),
        seed: stream_seed(scenario.seed, &format!("flow {name} controller")),
    };
    let controller = tcp.controller.clone();
    let cc = ControllerFactory::new(move |before| {
        let seed =
            if before == 0 { init.seed } else { stream_seed(init.seed, &format!("connection {before}")) };
        controller.build(FlowInit { seed, ..init })
    });
    match &tcp.mechanisms {
        None => windtunnel_sim::Transport::Ideal { cc, ack: tcp.ack },
        Some(params) => {
            let jitter_seed = stream_seed(scenario.seed, &format!("flow {name} jitter"));
            let params = Box::new(TcpParams { jitter_seed, ..params.clone() });
            windtunnel_sim::Transport::Tcp { cc, params, ack: tcp.ack }
        }
    }
}

/// Returns the forward and the return path. With ideal endpoints the whole path round trip is a fixed delay behind the
/// bottleneck (spec/mds section 2); otherwise half of the flow's own delay is on each way.
fn paths(scenario: &Scenario, ways: &Ways, route: &Route) -> (Vec<PathHop>, Vec<PathHop>) {
    let there = match scenario.endpoints {
        Endpoints::Ideal => route.own_delay,
        Endpoints::Linux => route.own_delay / 2,
    };
    let back = route.own_delay.saturating_sub(there);
    let (mut forward, mut reverse) = (ways.hops(&route.forward), ways.hops(&route.reverse));
    forward.push(PathHop::Delay(there));
    reverse.extend((!back.is_zero()).then_some(PathHop::Delay(back)));
    (forward, reverse)
}

fn record(scenario: &Scenario) -> RecordSpec {
    RecordSpec {
        interval: scenario.record.interval,
        points: (scenario.record.points > Duration::ZERO).then_some(scenario.record.points),
        state: scenario.record.state,
        events: scenario.record.events,
        packets: scenario.record.packets,
        windows: scenario.windows.clone(),
    }
}
