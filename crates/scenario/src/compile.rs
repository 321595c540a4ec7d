//! From a scenario to a network: algorithms are built, names become indices, and nothing is left to look up.

use windtunnel_cc::{FlowInit, SsthreshBase};
use windtunnel_qdisc::ecn::EcnPolicy;
use windtunnel_sim::{Action, FlowSpec, LinkSpec, Network, PathHop, RecordSpec, stream_seed};
use windtunnel_tcp::{Endpoint, HEADERS};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::model::{Active, DequeuePoint, Endpoints, FlowGroup, Link, Member, Route, Scenario};

/// Builds the network of a scenario.
pub fn compile(scenario: &Scenario) -> Network {
    let mut plan: Vec<(Time, Action)> = Vec::new();
    for (index, link) in scenario.links.iter().enumerate() {
        plan.extend(link.changes.iter().map(|change| (change.at, Action::SetRate(index, change.rate))));
    }
    let mut flows = Vec::new();
    for (index, (group, member)) in scenario.flows().enumerate() {
        for Active { from, to } in &member.active {
            plan.push((*from, Action::Start(index)));
            plan.extend(to.map(|to| (to, Action::Stop(index))));
        }
        flows.push(flow(scenario, index, group, member));
    }
    // Stable: at equal times rates change before flows start, and flows start in the order of the file.
    plan.sort_by_key(|(at, _)| *at);
    Network {
        links: scenario.links.iter().map(|l| link(scenario, l)).collect(),
        flows,
        plan,
        duration: scenario.duration,
        record: record(scenario),
        deliver_drops: match scenario.endpoints {
            Endpoints::Ideal => true,
        },
    }
}

fn link(scenario: &Scenario, link: &Link) -> LinkSpec {
    let queue = &link.queue;
    let ecn = EcnPolicy { mode: queue.ecn_mode, mds: Dscp::MDS };
    // The queue's stream is named after its link: another link, or another flow, does not change its draws.
    let seed = stream_seed(scenario.seed, &format!("queue {}", link.name));
    LinkSpec {
        name: link.name.clone(),
        rate: link.rate,
        delay: link.delay,
        queue: queue.config.build(ecn, queue.limit, seed),
        dequeue_point: match link.dequeue_point {
            DequeuePoint::Start => windtunnel_sim::DequeuePoint::Start,
            DequeuePoint::End => windtunnel_sim::DequeuePoint::End,
        },
    }
}

fn flow(scenario: &Scenario, index: usize, group: &FlowGroup, member: Member) -> FlowSpec {
    let mut endpoint = Endpoint {
        flow: FlowId::new(index as u32),
        mtu: scenario.mtu,
        headers: HEADERS,
        iw: scenario.mtu,
        paced: group.pacing,
        ecn: if group.ecn { Ecn::Ect0 } else { Ecn::NotEct },
        mds: group.is_mds(),
        dscp: if group.is_mds() { Dscp::MDS } else { Dscp::DEFAULT },
    };
    endpoint.iw = endpoint.mss() * u64::from(group.iw);
    let init = FlowInit {
        mss: endpoint.mss(),
        iw: endpoint.iw,
        min_cwnd: endpoint.min_cwnd(),
        paced: group.pacing,
        ssthresh_base: SsthreshBase::default(),
    };
    FlowSpec {
        name: member.name,
        cc_name: group.cc_name.clone(),
        endpoint,
        cc: group.cc.build(init),
        ack: group.ack,
        forward: forward(&group.route),
        reverse: group.route.reverse.iter().map(|l| PathHop::Link(*l)).collect(),
        base_rtt: group.route.rtt,
    }
}

/// The links of the way there, then the flow's own delay: the whole path round trip of an ideal flow is a fixed delay
/// behind the bottleneck (spec/mds section 2).
fn forward(route: &Route) -> Vec<PathHop> {
    let links = route.forward.iter().map(|l| PathHop::Link(*l));
    links.chain([PathHop::Delay(route.own_delay)]).collect()
}

fn record(scenario: &Scenario) -> RecordSpec {
    let windows = scenario.windows.iter();
    RecordSpec {
        interval: scenario.record.interval,
        points: (scenario.record.points > Duration::ZERO).then_some(scenario.record.points),
        events: scenario.record.events,
        windows: windows
            .map(|w| windtunnel_sim::Window { name: w.name.clone(), from: w.from, to: w.to })
            .collect(),
    }
}
