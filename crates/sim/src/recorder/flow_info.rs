//! The properties of flows that their summaries and tables repeat.

use std::sync::Arc;

use windtunnel_tcp::WindowScale;
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_units::Duration;

use super::frames::Media;
use super::packets::{self, Wire};
use crate::application::Protocol;
use crate::endpoint::Counted;
use crate::network::{FlowSpec, Network, Transport};

/// The properties of a flow.
#[derive(Debug)]
pub(super) struct FlowInfo {
    pub(super) name: String,
    /// Shared with the flow before, if it has the same: a million flows have few kinds.
    pub(super) kind: Arc<FlowKind>,
}

/// The properties that many flows have in common.
#[derive(Debug, PartialEq)]
pub(super) struct FlowKind {
    pub(super) cc_name: Arc<str>,
    pub(super) application: &'static str,
    pub(super) wire: Wire,
    /// They send datagrams: nothing is sent again.
    pub(super) datagrams: bool,
    /// What their senders count.
    pub(super) counted: Counted,
    pub(super) base_rtt: Duration,
    /// Their frames, if they send media.
    pub(super) media: Option<Media>,
}

impl FlowInfo {
    /// The properties of the flows of `network`.
    pub(super) fn of_all(network: &Network) -> Vec<FlowInfo> {
        let mut all: Vec<FlowInfo> = Vec::with_capacity(network.flows.len());
        for flow in &network.flows {
            let kind = FlowKind::of(flow, network);
            let kind = match all.last() {
                Some(before) if *before.kind == kind => Arc::clone(&before.kind),
                _ => Arc::new(kind),
            };
            all.push(FlowInfo { name: flow.name.clone(), kind });
        }
        all
    }
}

impl FlowKind {
    fn of(flow: &FlowSpec, network: &Network) -> FlowKind {
        FlowKind {
            cc_name: Arc::clone(&flow.cc_name),
            application: flow.application.kind(),
            wire: wire(flow),
            datagrams: flow.application.protocol() != Protocol::Tcp,
            counted: match &flow.transport {
                Transport::Ideal { .. } => Counted::LOSS_FREE,
                Transport::Tcp { .. } | Transport::Bsd42(_) => Counted::TCP,
                Transport::Udp => Counted::SENT,
                Transport::Rtp { .. } => Counted::RTP,
                Transport::Foreign(stack) => stack.counts(),
            },
            base_rtt: flow.base_rtt,
            media: Media::of(flow, network),
        }
    }
}

/// What the headers of a flow's packets do not say.
fn wire(flow: &FlowSpec) -> Wire {
    let scale = match &flow.transport {
        Transport::Tcp { params, .. } => WindowScale::new(&flow.endpoint, params),
        Transport::Bsd42(_) => Bsd42Params::window_scale(&flow.endpoint),
        Transport::Ideal { .. } | Transport::Udp | Transport::Rtp { .. } | Transport::Foreign(_) => {
            WindowScale::LARGEST
        }
    };
    let protocol = match flow.protocol() {
        Protocol::Tcp => packets::TCP,
        Protocol::Udp | Protocol::Rtp => packets::UDP,
    };
    Wire { protocol, scale }
}
