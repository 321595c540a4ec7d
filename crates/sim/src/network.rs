//! What runs: links, flows and a plan, with nothing left to look up.

use windtunnel_cc::CongestionControl;
use windtunnel_qdisc::QueueDiscipline;
use windtunnel_tcp::{AckParams, Endpoint};
use windtunnel_units::{Duration, Rate, Time};

/// A network, ready to run.
#[derive(Debug)]
pub struct Network {
    /// The links; a path refers to them by index.
    pub links: Vec<LinkSpec>,
    /// The flows; [`windtunnel_wire::FlowId`] is their index.
    pub flows: Vec<FlowSpec>,
    /// What changes when, in order of time.
    pub plan: Vec<(Time, Action)>,
    /// When the run ends.
    pub duration: Duration,
    /// What is recorded.
    pub record: RecordSpec,
    /// Loss-free endpoints: what a queue would drop is delivered with CE.
    pub deliver_drops: bool,
}

/// A queue, a rate, and a propagation delay.
#[derive(Debug)]
pub struct LinkSpec {
    /// Its name in results.
    pub name: String,
    /// The rate at the begin of the run.
    pub rate: Rate,
    /// The propagation delay after serialisation.
    pub delay: Duration,
    /// The queue in front of it.
    pub queue: Box<dyn QueueDiscipline>,
    /// When the dequeue decision is taken.
    pub dequeue_point: DequeuePoint,
}

/// When a packet leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DequeuePoint {
    /// Before its serialisation, which the sojourn time then excludes.
    Start,
    /// After its serialisation: it stays queued meanwhile (spec/mds section 2).
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
    /// Its controller.
    pub cc: Box<dyn CongestionControl>,
    /// How its receiver acknowledges.
    pub ack: AckParams,
    /// From the sender to the receiver. A flow passes a link at most once, both ways taken together.
    pub forward: Vec<PathHop>,
    /// From the receiver to the sender.
    pub reverse: Vec<PathHop>,
    /// The round-trip time of the path without queues.
    pub base_rtt: Duration,
}

/// One hop of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHop {
    /// Through the link with this index.
    Link(usize),
    /// A fixed delay of this flow alone.
    Delay(Duration),
}

/// Something planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The flow has data to send from now on.
    Start(usize),
    /// The flow sends nothing more; what is in flight drains.
    Stop(usize),
    /// The link has another rate, from the next packet on.
    SetRate(usize, Rate),
}

/// What is recorded.
#[derive(Clone, Debug)]
pub struct RecordSpec {
    /// The resolution of the time series.
    pub interval: Duration,
    /// Single events (sojourn times, windows, marks) are kept no closer than this, per series; `None`: not at
    /// all.
    pub points: Option<Duration>,
    /// Every dequeue and every ACK is kept. For short runs: memory grows with their number.
    pub events: bool,
    /// Measurement windows.
    pub windows: Vec<Window>,
}

/// A measurement window.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its name in results.
    pub name: String,
    /// From this time on.
    pub from: Time,
    /// Up to, not including, this time.
    pub to: Time,
}
