//! What comes out of a run. Immutable.

use serde::Serialize;

use crate::recorder::columns::Table;

/// The result of a run: a summary, tables, and a digest of all that happened.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The summary of the whole run and of each window.
    pub summary: Summary,
    /// Time series and single events.
    pub tables: Vec<Table>,
}

/// The summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// 16 hex digits over every dequeue and every ACK.
    pub digest: String,
    /// Data segments delivered.
    pub packets: u64,
    /// Events handled.
    pub events: u64,
    /// Each flow, over the whole run.
    pub flows: Vec<FlowSummary>,
    /// Each queue, over the whole run.
    pub queues: Vec<QueueSummary>,
    /// Each measurement window.
    pub windows: Vec<WindowSummary>,
}

/// A measurement window.
#[derive(Clone, Debug, Serialize)]
pub struct WindowSummary {
    /// Its name.
    pub name: String,
    /// Its begin in seconds.
    pub from_s: f64,
    /// Its end in seconds.
    pub to_s: f64,
    /// Each flow, within the window.
    pub flows: Vec<FlowSummary>,
    /// Each queue, within the window.
    pub queues: Vec<QueueSummary>,
}

/// A flow over a span of time.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its controller.
    pub cc: String,
    /// The round-trip time of its path without queues.
    pub path_rtt_ms: f64,
    /// IP bytes received, over the span.
    pub throughput_mbps: f64,
    /// Payload received in order, over the span.
    pub goodput_mbps: f64,
    /// IP bytes received.
    pub received_bytes: u64,
    /// When its first packet was received, in the whole run.
    pub first_packet_s: Option<f64>,
    /// When its last packet was received, in the whole run.
    pub last_packet_s: Option<f64>,
    /// Its congestion window.
    pub cwnd_bytes: CwndSummary,
    /// Its round-trip time.
    pub rtt_ms: Option<Percentiles>,
    /// Segments sent again.
    pub retransmits: u64,
    /// Episodes of loss recovery.
    pub loss_episodes: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Segments received with CE.
    pub ce_marks: u64,
    /// Segments received with SCE.
    pub sce_marks: u64,
    /// The share of ACKs after which cwnd kept the sender from sending.
    pub cwnd_limited: f64,
    /// How slow start ended.
    pub slow_start_exit: Option<SlowStartExit>,
}

/// A congestion window over a span of time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CwndSummary {
    /// Weighted by time.
    pub mean: f64,
    /// The least.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

/// How slow start ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SlowStartExit {
    /// When.
    pub t_s: f64,
    /// With which window.
    pub cwnd_bytes: u64,
    /// Why.
    pub reason: &'static str,
}

/// A distribution of times in milliseconds: percentiles by nearest rank, of sojourn times to 0.1 %, of round trips to
/// 0.4 %.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentiles {
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// A queue over a span of time.
#[derive(Clone, Debug, Serialize)]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// The rate of its link at the end of the run.
    pub rate_mbps: f64,
    /// IP bytes that left it, over the span.
    pub throughput_mbps: f64,
    /// The share of time that its link was busy.
    pub utilization: f64,
    /// Sojourn times of the packets that left it.
    pub sojourn_ms: Option<Percentiles>,
    /// Packets that it marked SCE.
    pub sce: u64,
    /// Packets that it marked CE.
    pub ce: u64,
    /// Packets that it dropped, by reason (with loss-free endpoints: that it would have dropped).
    pub drops: DropSummary,
    /// Packets that left it.
    pub dequeued: u64,
    /// Dequeues that left it empty.
    pub emptied: u64,
    /// The most packets in it.
    pub backlog_max_packets: u64,
}

/// Drops by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DropSummary {
    /// The queue was full.
    pub full: u64,
    /// The AQM decided so.
    pub aqm: u64,
    /// A medium lost it.
    pub wire: u64,
}
