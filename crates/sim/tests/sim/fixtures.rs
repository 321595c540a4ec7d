//! A window that never moves, a queue that never marks unless told, and a dumbbell of them.

use std::collections::VecDeque;
use std::sync::Arc;

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, ControllerParams, FlowInit, PathView, Phase,
    ScreamParams, Style, WindowedConfig,
};
use windtunnel_qdisc::ecn::{EcnPolicy, Outcome};
use windtunnel_qdisc::{Backlog, DropReason, Limit, QueueCx, QueueDiscipline, Room, Signal, Verdict};
use windtunnel_sim::application::{ApplicationConfig, MediaParams, Protocol};
use windtunnel_sim::element::ElementParams;
use windtunnel_sim::{
    Action, ControllerFactory, DequeuePoint, FlowSpec, LinkParams, LinkRate, LinkSpec, Network, PathHop,
    RecordParams, Transport,
};
use windtunnel_sim::{ElementSpec, RunResult, Simulation, stream_seed};
use windtunnel_tcp::{AckParams, Endpoint, FeedbackScheme, HEADERS, TcpParams};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet};

pub(crate) const MTU: Bytes = Bytes::new(1500);
pub(crate) const MSS: Bytes = Bytes::new(1448);

#[derive(Debug)]
pub(crate) struct FixedWindow(pub(crate) u64);

impl CongestionControl for FixedWindow {
    fn on_ack(&mut self, _: &AckSample, _: &PathView) {}
    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        false
    }
    fn on_rto(&mut self, _: bool, _: &PathView) {}
    fn control(&self) -> Control {
        Control { phase: Phase::CongestionAvoidance, ..Control::window(MSS * self.0) }
    }
}

/// First in, first out; full at `limit` packets; marks every `mark_every`-th packet SCE (0: none).
#[derive(Debug)]
pub(crate) struct PlainQueue {
    packets: VecDeque<Packet>,
    bytes: Bytes,
    room: Room,
    mark_every: u64,
    count: u64,
}

impl PlainQueue {
    #[expect(clippy::unnecessary_box_returns, reason = "every use wants a `Box<dyn QueueDiscipline>`")]
    pub(crate) fn new(limit: usize, mark_every: u64) -> Box<PlainQueue> {
        Box::new(PlainQueue {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            room: Room::new(Limit::Packets(limit)),
            mark_every,
            count: 0,
        })
    }
}

impl QueueDiscipline for PlainQueue {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx) {
        cx.arrived();
        if !self.room.fits(self.backlog(), packet.size(), cx.rate) {
            return cx.drop(packet, DropReason::Full);
        }
        packet.enqueued_at = cx.now;
        self.bytes += packet.size();
        self.packets.push_back(packet);
    }
    fn choose(&mut self, _: &mut QueueCx) -> Option<Bytes> {
        self.packets.front().map(Packet::size)
    }
    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut packet = self.packets.pop_front()?;
        self.bytes -= packet.size();
        self.count += 1;
        let verdict = if self.mark_every > 0 && self.count.is_multiple_of(self.mark_every) {
            Verdict::Mark(Signal::Sce)
        } else {
            Verdict::Pass
        };
        let policy = EcnPolicy::default();
        let outcome: Outcome = policy.apply(verdict, policy.classify(&packet), &mut packet, cx.deliver_drops);
        let sojourn = cx.now - packet.enqueued_at;
        cx.departed(&packet, outcome, sojourn);
        Some(packet)
    }
    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("departures", self.count as f64);
    }
}

pub(crate) fn fixed_window(segments: u64) -> ControllerFactory {
    ControllerFactory::new(move |_| Box::new(FixedWindow(segments)))
}

pub(crate) fn link(
    mbps: u64,
    delay_ms: u64,
    queue: Box<PlainQueue>,
    dequeue_point: DequeuePoint,
) -> LinkSpec {
    LinkSpec {
        name: format!("link{mbps}"),
        rate: LinkRate::Fixed(Rate::from_mbps(mbps)),
        params: LinkParams {
            delay: Duration::from_millis(delay_ms),
            dequeue_point: Some(dequeue_point),
            ..LinkParams::default()
        },
        queue,
    }
}

/// A flow with a fixed window of `window` segments.
pub(crate) fn flow(
    index: u32,
    window: u64,
    paced: bool,
    forward: Vec<PathHop>,
    reverse: Vec<PathHop>,
    base_rtt: Duration,
) -> FlowSpec {
    let endpoint = Endpoint {
        flow: FlowId::new(index),
        mtu: MTU,
        headers: HEADERS,
        iw: MSS * 10,
        paced,
        needs_ecn: false,
        ecn: Ecn::Ect0,
        feedback: FeedbackScheme::Mds,
        dscp: Dscp::MDS,
    };
    FlowSpec {
        name: format!("flow{index}"),
        cc_name: "fixed".into(),
        endpoint,
        transport: Transport::Ideal { cc: fixed_window(window), ack: AckParams::default() },
        application: ApplicationConfig::Bulk,
        seed: u64::from(index),
        forward,
        reverse,
        base_rtt,
        connection: None,
    }
}

pub(crate) fn network(links: Vec<LinkSpec>, flows: Vec<FlowSpec>, duration: Duration) -> Network {
    let plan = (0..flows.len()).map(|i| (Time::ZERO, Action::Start(i))).collect();
    let record = RecordParams { points: Some(Duration::from_micros(100)), ..RecordParams::default() };
    Network {
        links,
        elements: Vec::new(),
        flows,
        plan,
        triggers: Vec::new(),
        duration,
        record,
        windows: Vec::new(),
        deliver_drops: false,
    }
}

/// Flows of `windows` segments and 20 ms over one link of 100 Mbit/s with room for `limit` packets.
pub(crate) fn dumbbell(windows: &[u64], limit: usize, mark_every: u64, duration: Duration) -> Network {
    let rtt = Duration::from_millis(20);
    let flows = windows
        .iter()
        .enumerate()
        .map(|(i, w)| flow(i as u32, *w, true, vec![PathHop::Link(0), PathHop::Delay(rtt)], Vec::new(), rtt))
        .collect();
    network(vec![link(100, 0, PlainQueue::new(limit, mark_every), DequeuePoint::End)], flows, duration)
}

/// Linux's TCP with Reno.
pub(crate) fn reno() -> Transport {
    let cc = ControllerFactory::new(|_| {
        let mut config = WindowedConfig::default();
        config.resolve(Style::Linux);
        config.build(FlowInit::new(MSS))
    });
    Transport::Tcp { cc, params: Arc::default(), ack: AckParams::default() }
}

/// Media over RTP whose rate SCReAM sets.
pub(crate) fn scream() -> Traffic {
    let cc = ControllerFactory::new(|_| ScreamParams::default().build(FlowInit::new(MSS)));
    let media = MediaParams { protocol: Protocol::Rtp, ..MediaParams::default() };
    (Transport::Rtp { cc }, ApplicationConfig::Media(media))
}

/// Linux's TCP with a window that never moves.
pub(crate) fn fixed(segments: u64) -> Transport {
    Transport::Tcp {
        cc: fixed_window(segments),
        params: Arc::<TcpParams>::default(),
        ack: AckParams::default(),
    }
}

/// An application and the transport that carries it.
pub(crate) type Traffic = (Transport, ApplicationConfig);

/// Flows over one link of 10 Mbit/s with room for 60 packets and `rtt_ms`; data pass `forward` behind the link and ACKs
/// pass `reverse`.
pub(crate) fn path(
    traffic: Vec<Traffic>,
    rtt_ms: u64,
    forward: Vec<Arc<dyn ElementParams>>,
    reverse: Vec<Arc<dyn ElementParams>>,
    seconds: u64,
) -> Network {
    let rtt = Duration::from_millis(rtt_ms);
    let (n, there) = (forward.len() + reverse.len(), forward.len());
    let hops = |from, to| (from..to).map(PathHop::Element);
    let flows = traffic.into_iter().enumerate().map(|(i, (transport, application))| {
        let way: Vec<PathHop> =
            [PathHop::Link(0)].into_iter().chain(hops(0, there)).chain([PathHop::Delay(rtt)]).collect();
        let mut spec = flow(i as u32, 10, false, way, hops(there, n).collect(), rtt);
        spec.endpoint.ecn = Ecn::NotEct;
        spec.endpoint.feedback = FeedbackScheme::None;
        spec.endpoint.dscp = Dscp::DEFAULT;
        spec.seed = stream_seed(1, &format!("flow {} application", spec.name));
        FlowSpec { transport, application, ..spec }
    });
    let links = vec![link(10, 0, PlainQueue::new(60, 0), DequeuePoint::End)];
    let mut network = network(links, flows.collect(), Duration::from_secs(seconds));
    network.elements = forward
        .into_iter()
        .chain(reverse)
        .enumerate()
        .map(|(i, config)| ElementSpec {
            name: format!("medium{i}"),
            config,
            only: None,
            during: None,
            seed: stream_seed(1, &format!("medium {i}")),
        })
        .collect();
    network
}

pub(crate) fn run(network: Network) -> RunResult {
    Simulation::new(network).finish()
}
