//! From a scenario to a network: algorithms are built, names become indices, and nothing is left to look up.

use std::sync::Arc;

use windtunnel_cc::{ControllerParams, FlowInit, Unresponsive};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::{
    Action, ControllerFactory, ElementSpec, FlowSpec, LinkSpec, Moment, Network, PathHop, stream_seed,
};
use windtunnel_tcp::Endpoint;
use windtunnel_units::Time;
use windtunnel_wire::FlowId;

use crate::hosts::hosts;
use crate::model::{Active, Endpoints, FlowGroup, Impairment, Link, Member, Route, Scenario, Transport};

/// Builds the network of a scenario.
pub fn compile(scenario: &Scenario) -> Network {
    let ways = Ways::new(scenario);
    let mut plan: Vec<(Time, Action)> = Vec::new();
    let mut triggers = Vec::new();
    let mut flows = Vec::new();
    for group in &scenario.flows {
        let shared = Shared::of(scenario, &ways, group);
        for member in group.members() {
            let index = flows.len();
            for Active { from, to } in &member.active {
                let start = Some((from, Action::Start(index)));
                for (moment, action) in start.into_iter().chain(to.iter().map(|to| (to, Action::Stop(index))))
                {
                    match moment {
                        Moment::At(at) => plan.push((*at, action)),
                        Moment::When(when) => triggers.push((when.clone(), action)),
                    }
                }
            }
            flows.push(flow(scenario, &shared, index, group, member));
        }
    }
    // Stable: at equal times flows start in the order of the file.
    plan.sort_by_key(|(at, _)| *at);
    Network {
        links: links(scenario),
        elements: elements(scenario),
        flows,
        plan,
        triggers,
        duration: scenario.duration,
        record: scenario.record,
        windows: scenario.windows.clone(),
        deliver_drops: match scenario.endpoints {
            Endpoints::Ideal => true,
            Endpoints::Linux => false,
        },
    }
}

/// Maps each link of the scenario to the network: a link, unless it takes no time, and the elements behind it.
struct Ways {
    links: Vec<Option<usize>>,
    /// The first element behind each link, and how many there are.
    elements: Vec<(usize, usize)>,
}

impl Ways {
    fn new(scenario: &Scenario) -> Ways {
        let (mut links, mut elements) = (0, 0);
        let mut ways = Ways { links: Vec::new(), elements: Vec::new() };
        for link in &scenario.links {
            let queues = link.rate.is_some();
            ways.links.push(queues.then_some(links));
            ways.elements.push((elements, link.elements.len()));
            links += usize::from(queues);
            elements += link.elements.len();
        }
        ways
    }

    /// Returns the hops of a route along links of the scenario.
    fn hops(&self, route: &[usize]) -> Vec<PathHop> {
        let hops = |&link: &usize| {
            let (first, count) = self.elements[link];
            let elements = (first..first + count).map(PathHop::Element);
            self.links[link].map(PathHop::Link).into_iter().chain(elements)
        };
        route.iter().flat_map(hops).collect()
    }
}

fn links(scenario: &Scenario) -> Vec<LinkSpec> {
    let hosts = hosts(scenario);
    let told = |(index, of): (usize, &Link)| {
        let mut spec = link(scenario, of)?;
        if let Some(hosts) = &hosts {
            spec.queue.learn_hosts(&hosts[index]);
        }
        Some(spec)
    };
    scenario.links.iter().enumerate().filter_map(told).collect()
}

fn link(scenario: &Scenario, link: &Link) -> Option<LinkSpec> {
    // The queue's stream is named after its link, so that other links and flows do not change its draws.
    let seed = stream_seed(scenario.seed, &format!("queue {}", link.name));
    Some(LinkSpec {
        name: link.name.clone(),
        rate: link.rate.clone()?,
        params: link.params.clone(),
        queue: link.queue.build(seed),
    })
}

/// Returns the elements of all links. Each has its own stream, named after its link, its kind and, among equal ones,
/// its number.
fn elements(scenario: &Scenario) -> Vec<ElementSpec> {
    let mut all: Vec<ElementSpec> = Vec::new();
    for link in &scenario.links {
        for Impairment { element: config, only, during } in &link.elements {
            let name = format!("{} {}", link.name, config.name());
            let equal = all
                .iter()
                .filter(|other| other.config.name() == config.name() && other.name.starts_with(&name));
            let name = match equal.count() {
                0 => name,
                n => format!("{name} {}", n + 1),
            };
            // The word is that of the scenario's first version: another one would change every draw.
            let seed = stream_seed(scenario.seed, &format!("impairment {name}"));
            all.push(ElementSpec {
                name,
                config: config.clone(),
                only: only.clone(),
                during: during.clone(),
                seed,
            });
        }
    }
    all
}

/// A connection that is used again stays open meanwhile.
fn application(group: &FlowGroup, member: &Member) -> ApplicationConfig {
    let application = group.application.clone();
    if member.active.len() > 1 { application.staying_open() } else { application }
}

/// What all members of a group share.
struct Shared {
    cc_name: Arc<str>,
    transport: windtunnel_sim::Transport,
    forward: Vec<PathHop>,
    reverse: Vec<PathHop>,
    connection: Option<u32>,
}

impl Shared {
    fn of(scenario: &Scenario, ways: &Ways, group: &FlowGroup) -> Shared {
        let (forward, reverse) = paths(scenario, ways, &group.route);
        // A connection has the number of its first group.
        let first = |name| scenario.flows.iter().position(|other| other.connection.as_deref() == Some(name));
        let connection = group.connection.as_deref().and_then(first).map(|number| number as u32);
        let (cc_name, transport) = (group.cc_name.as_str().into(), transport(group));
        Shared { cc_name, transport, forward, reverse, connection }
    }
}

fn flow(scenario: &Scenario, shared: &Shared, index: usize, group: &FlowGroup, member: Member) -> FlowSpec {
    FlowSpec {
        seed: stream_seed(scenario.seed, &format!("flow {} application", member.name)),
        transport: seeded(scenario, shared.transport.clone(), &member.name),
        application: application(group, &member),
        name: member.name,
        cc_name: Arc::clone(&shared.cc_name),
        endpoint: Endpoint { flow: FlowId::new(index as u32), ..group.endpoint },
        forward: shared.forward.clone(),
        reverse: shared.reverse.clone(),
        base_rtt: group.route.rtt,
        connection: shared.connection,
    }
}

/// What a controller is told of its flow.
pub(crate) fn controller_init(transport: &Transport, endpoint: &Endpoint, seed: u64) -> FlowInit {
    let mechanisms = transport.mechanisms();
    FlowInit {
        mss: endpoint.mss(),
        mtu: endpoint.mtu,
        iw: endpoint.iw,
        min_cwnd: endpoint.min_cwnd(),
        paced: endpoint.paced,
        ssthresh_base: mechanisms.map(|tcp| tcp.ssthresh_base).unwrap_or_default(),
        ssthresh: mechanisms
            .and_then(|tcp| tcp.initial_ssthresh)
            .map(|segments| endpoint.mss() * u64::from(segments)),
        tick: mechanisms.map(|tcp| tcp.tick).unwrap_or_default(),
        seed,
    }
}

/// The transport of a group. Its members' controllers have random streams of their own.
fn transport(group: &FlowGroup) -> windtunnel_sim::Transport {
    let (described, unresponsive) = (&group.transport, group.unresponsive);
    let init = controller_init(described, &group.endpoint, 0);
    described.clone().with_controller(|controller| {
        let alike = starts_alike(&*controller, init);
        let factory = ControllerFactory::new(move |connection| {
            let seed = match connection.earlier {
                0 => connection.seed,
                before => stream_seed(connection.seed, &format!("connection {before}")),
            };
            let ssthresh = connection.ssthresh.or(init.ssthresh);
            let controller = controller.build(FlowInit { seed, ssthresh, ..init });
            match unresponsive {
                Some(ignored) => Box::new(Unresponsive::new(controller, ignored)),
                None => controller,
            }
        });
        if alike { factory.starting_alike() } else { factory }
    })
}

/// Whether controllers with these parameters start in the same state, whatever their seeds. Two tell; one that is not
/// ours is not made without need.
fn starts_alike(params: &dyn ControllerParams, init: FlowInit) -> bool {
    let state = |seed| {
        let controller = params.build(FlowInit { seed, ..init });
        let mut numbers = Vec::new();
        controller.probe(&mut |name, value| numbers.push((name, value.to_bits())));
        (controller.cwnd(), format!("{:?}", controller.control()), numbers)
    };
    !params.is_foreign() && state(1) == state(2)
}

/// The transport of the flow called `name`, whose controllers and noise have random streams of their own.
fn seeded(
    scenario: &Scenario,
    mut transport: windtunnel_sim::Transport,
    name: &str,
) -> windtunnel_sim::Transport {
    use windtunnel_sim::Transport::{Ideal, Rtp, Tcp};
    let seed = |stream| stream_seed(scenario.seed, &format!("flow {name} {stream}"));
    if let Ideal { cc, .. } | Tcp { cc, .. } | Rtp { cc } = &mut transport {
        *cc = cc.with_seed(seed("controller"));
    }
    // Without noise all members share their parameters.
    if let Tcp { params, .. } = &mut transport
        && params.is_random()
    {
        let params = Arc::make_mut(params);
        params.jitter_seed = seed("jitter");
        params.skip_seed = seed("skips");
        params.nonce_seed = seed("nonces");
    }
    if let Ideal { ack, .. } | Tcp { ack, .. } = &mut transport {
        ack.hiding_seed = seed("concealed marks");
    }
    transport
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
