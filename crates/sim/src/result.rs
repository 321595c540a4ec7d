//! The result of a run. Immutable.

use std::ops::AddAssign;

use serde::Serialize;
use windtunnel_qdisc::DropReason;
use windtunnel_tcp::Limited;
use windtunnel_units::Duration;

use crate::recorder::LossCause;
use crate::recorder::columns::Table;

/// The result of a run: a summary, tables, and a digest of all that happened.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The summary of the whole run and of each window.
    pub summary: Summary,
    /// Time series and single events.
    pub tables: Vec<Table>,
    /// What decrypts the payloads that are kept: the lines of a key log (RFC 9850); empty if none are kept, or none are
    /// encrypted.
    pub secrets: String,
}

/// The summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// The reason for an early end.
    pub stalled: Option<Stalled>,
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
    /// Each element, over the whole run.
    #[serde(rename = "impairments")]
    pub elements: Vec<ElementSummary>,
    /// Each measurement window.
    pub windows: Vec<WindowSummary>,
    /// What changed during the run, in order, and what would have if its condition had been met.
    pub changes: Vec<ChangeSummary>,
}

/// A change of a link, an element or an application, or the start or stop of a flow that a state called for.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeSummary {
    /// When; nothing if its condition was never met.
    pub t_s: Option<f64>,
    /// What changed, and to what.
    pub what: String,
    /// The condition, if it had one.
    pub when: Option<String>,
}

/// A run in which nothing moves any more.
#[derive(Clone, Debug, Serialize)]
pub struct Stalled {
    /// When this was detected.
    pub t_s: f64,
    /// The reason.
    pub why: String,
}

/// A measurement window.
#[derive(Clone, Debug, Serialize)]
pub struct WindowSummary {
    /// Its name.
    pub name: String,
    /// Its start in seconds.
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
    /// What makes it send.
    pub application: &'static str,
    /// The round-trip time of its path without queues.
    pub path_rtt_ms: f64,
    /// IP bytes received, over the span.
    pub throughput_mbps: f64,
    /// Payload delivered in order, over the span: data that arrived above a hole count when the hole is filled, so that a
    /// window can have more than arrived in it.
    pub goodput_mbps: f64,
    /// IP bytes received.
    pub received_bytes: u64,
    /// Its rates while it was active; none if it was not.
    pub active: Option<ActiveSummary>,
    /// When its first packet was received, in the whole run.
    pub first_packet_s: Option<f64>,
    /// When its last packet was received, in the whole run.
    pub last_packet_s: Option<f64>,
    /// Its congestion window; none for datagrams without a controller, nor for a flow that stands for many connections.
    pub cwnd_bytes: Option<CwndSummary>,
    /// Its round-trip time.
    pub rtt_ms: Option<Percentiles>,
    /// What its sender counted.
    #[serde(flatten)]
    pub sender: SenderSummary,
    /// The packets of the flow that were lost, but for ACKs (with loss-free endpoints: that would have been lost).
    pub drops: DropSummary,
    /// Its segments that only acknowledge and were lost.
    pub ack_drops: DropSummary,
    /// Its packets that arrived damaged and were discarded.
    pub corrupted: u64,
    /// What kept its sender from sending, as shares of the time from its start until its last data were delivered.
    pub limited: Option<LimitSummary>,
    /// Segments received with CE.
    pub ce_marks: u64,
    /// Segments received with SCE.
    pub sce_marks: u64,
    /// The share of ACKs after which cwnd kept the sender from sending; none without an ACK.
    pub cwnd_limited: Option<f64>,
    /// How slow start ended.
    pub slow_start_exit: Option<SlowStartExit>,
    /// Its transfers, responses or frames over TCP or RTP, or its connections, if it has any.
    pub transfers: Option<TransferSummary>,
    /// Its frames, if it sends media over TCP or RTP.
    pub frames: Option<FrameSummary>,
    /// Its datagrams, if it sends any.
    pub datagrams: Option<DatagramSummary>,
}

/// What the sender of a flow counted; none is what it does not count. Datagrams have only `sent` and, over RTP with a
/// controller, what is not about sending again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SenderSummary {
    /// Data segments or datagrams sent, including those sent again; not counted with loss-free endpoints.
    pub sent: Option<u64>,
    /// Bytes acknowledged, cumulatively or by SACK, in whole segments; not counted with loss-free endpoints.
    pub delivered_bytes: Option<u64>,
    /// Segments sent again.
    pub retransmits: Option<u64>,
    /// Episodes of loss recovery; over RTP, reductions for losses.
    pub loss_episodes: Option<u64>,
    /// Retransmission timeouts; over RTP, waits for a report in vain.
    pub rtos: Option<u64>,
    /// Of these, timeouts that were found to be spurious.
    pub spurious_rtos: Option<u64>,
    /// Tail loss probes.
    pub tlps: Option<u64>,
    /// Reductions that were undone.
    pub undos: Option<u64>,
    /// Echoes of CE that were answered; not counted with loss-free endpoints.
    pub ecn_reductions: Option<u64>,
    /// Segments left out to expose optimistic ACKs (`tcp.skip_probability`); not counted with loss-free endpoints.
    pub skips: Option<u64>,
    /// Connections that were reset because their receiver acknowledged such a segment; not counted with loss-free endpoints.
    pub exposed: Option<u64>,
    /// ACKs whose sum of ECN nonces was wrong (`tcp.ecn_nonce`); not counted with loss-free endpoints.
    pub nonce_fail: Option<u64>,
}

/// A flow from its start to its last data, within a span of time: what it got while it had something to send.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ActiveSummary {
    /// When it was started, or the span began.
    pub from_s: f64,
    /// When its last data were delivered, or the span ended.
    pub to_s: f64,
    /// IP bytes received, over this time.
    pub throughput_mbps: f64,
    /// Payload received in order, over this time.
    pub goodput_mbps: f64,
}

/// The limits of a sender, as shares of the time from its start until its last data were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitSummary {
    /// The congestion window.
    pub cwnd: f64,
    /// The application had nothing to send.
    pub application: f64,
    /// The receive window.
    pub receiver: f64,
    /// Pacing.
    pub pacing: f64,
    /// The connection was not established yet.
    pub handshake: f64,
    /// The queue of the sender's own host (TCP small queues).
    pub host: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
}

impl LimitSummary {
    /// Shares of the sum; none if no time has passed.
    pub(crate) fn of(limited: &[Duration; Limited::COUNT]) -> Option<LimitSummary> {
        let total: Duration = limited.iter().copied().sum();
        let share = |limit: Limited| limited[limit as usize].ratio(total);
        (!total.is_zero()).then(|| LimitSummary {
            cwnd: share(Limited::Cwnd),
            application: share(Limited::Application),
            receiver: share(Limited::Receiver),
            pacing: share(Limited::Pacing),
            handshake: share(Limited::Handshake),
            host: share(Limited::Host),
            send_buffer: share(Limited::SendBuffer),
        })
    }
}

/// Messages of an application over TCP: transfers, responses, frames; and frames over RTP.
#[derive(Clone, Debug, Serialize)]
pub struct TransferSummary {
    /// Messages that were written; of a flow that stands for many connections, connections that arrived.
    pub arrived: u64,
    /// Of these, connections that were turned away.
    pub rejected: u64,
    /// Messages with every byte acknowledged within the span.
    pub completed: u64,
    /// Their bytes.
    pub completed_bytes: u64,
    /// The flow completion time: from the first SYN, or from the write, to the ACK of the last byte.
    pub time_ms: Option<Percentiles>,
    /// The completed ones by size; empty classes are left out.
    pub by_size: Vec<SizeClassSummary>,
}

/// Frames of media. A frame's delay is the time from its creation until its sender knows that it arrived, less the empty way
/// back.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FrameSummary {
    /// Frames that were made, but for missing ones at the end of the run, which may still be under way.
    pub made: u64,
    /// The share of these with a delay of more than 400 ms (ITU-T G.114), or that never arrived; none without a frame.
    pub late_ratio: Option<f64>,
    /// Times without a frame, of at least three intervals between frames and of one and 150 ms (`freezeCount` of WebRTC's
    /// statistics).
    pub freezes: u64,
    /// Their share of the time.
    pub frozen_ratio: f64,
    /// The delays of frames that arrived; percentiles are exact.
    pub delay_ms: Option<Percentiles>,
    /// The rate of the frames that arrived as a whole.
    pub bitrate_mbps: f64,
}

/// Transfers of about one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SizeClassSummary {
    /// They are longer than this.
    pub above_bytes: u64,
    /// They are at most as long as this; none for the class of the longest.
    pub up_to_bytes: Option<u64>,
    /// How many were completed.
    pub completed: u64,
    /// The flow completion time; percentiles are exact.
    pub time_ms: Percentiles,
    /// The completion time divided by that on an empty path: base RTT + size / bottleneck rate; percentiles are
    /// exact.
    pub slowdown: Percentiles,
}

/// Datagrams of a flow.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DatagramSummary {
    /// Sent.
    pub sent: u64,
    /// Received; each datagram counts once.
    pub received: u64,
    /// Missing below the highest number received.
    pub lost: u64,
    /// The same number as a share.
    pub loss_ratio: f64,
    /// Duplicates received.
    pub duplicates: u64,
    /// From the sender to the receiver.
    pub one_way_ms: Option<Percentiles>,
    /// The mean difference of the delays of consecutive datagrams (RFC 3393).
    pub jitter_ms: Option<f64>,
}

/// An element over the whole run: `arrived + duplicated = passed + lost + held`.
#[derive(Clone, Debug, Serialize)]
pub struct ElementSummary {
    /// Its name.
    pub name: String,
    /// Its effect.
    pub kind: String,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that continued.
    pub passed: u64,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets that it damaged.
    pub corrupted: u64,
    /// Packets that it duplicated.
    pub duplicated: u64,
    /// Packets that left after a later one.
    pub reordered: u64,
    /// Bursts that it released.
    pub bursts: u64,
    /// Packets whose headers it changed.
    pub rewritten: u64,
    /// Packets held at the end.
    pub held: u64,
}

/// A congestion window over a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CwndSummary {
    /// The mean, weighted by time.
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
    /// The window at that time.
    pub cwnd_bytes: u64,
    /// Why.
    pub reason: &'static str,
}

/// A distribution of times in milliseconds: percentiles by nearest rank, precise to 0.1 % for sojourn times and to
/// 0.4 % for round trips.
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
    /// The largest number of packets in it.
    pub backlog_max_packets: u64,
    /// Its bands, by index, if it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<BandSummary>,
    /// The classes into which it sorts packets, if they are few: the bands of a dual queue or of `prio`, the tins of CAKE.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSummary>,
}

/// One class of a queue that sorts packets into a few.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// The bytes that left it, with headers.
    pub throughput_mbps: f64,
    /// Sojourn times of the packets that left it.
    pub sojourn_ms: Option<Percentiles>,
    /// Packets that it marked SCE.
    pub sce: u64,
    /// Packets that it marked CE.
    pub ce: u64,
    /// Packets that it dropped, by reason.
    pub drops: DropSummary,
    /// Packets that left it.
    pub dequeued: u64,
}

/// One band of a queue that has several.
#[derive(Clone, Debug, Serialize)]
pub struct BandSummary {
    /// Its name.
    pub name: String,
    /// The bytes that left it, with headers.
    pub throughput_mbps: f64,
    /// The mean sojourn time of packets that left it.
    pub sojourn_mean_ms: Option<f64>,
    /// Packets that it marked SCE.
    pub sce: u64,
    /// Packets that it marked CE.
    pub ce: u64,
    /// Packets that it dropped, by reason.
    pub drops: DropSummary,
    /// Packets that left it.
    pub dequeued: u64,
}

/// Drops by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DropSummary {
    /// The queue was full.
    pub full: u64,
    /// The queue was full, and its band was the longest.
    pub overlimit: u64,
    /// The AQM decided to drop.
    pub aqm: u64,
    /// A policer or a shaper's bucket in front of the queue refused it.
    pub policed: u64,
    /// It was an ACK that a later one in the queue made superfluous.
    pub filtered: u64,
    /// A medium lost it.
    pub wire: u64,
}

impl DropSummary {
    pub(crate) fn count(&mut self, cause: LossCause) {
        match cause {
            LossCause::Queue(DropReason::Full) => self.full += 1,
            LossCause::Queue(DropReason::Overlimit) => self.overlimit += 1,
            LossCause::Queue(DropReason::Aqm) => self.aqm += 1,
            LossCause::Queue(DropReason::Policed) => self.policed += 1,
            LossCause::Queue(DropReason::Filtered) => self.filtered += 1,
            LossCause::Medium => self.wire += 1,
        }
    }

    pub(crate) const fn total(&self) -> u64 {
        self.full + self.overlimit + self.aqm + self.policed + self.filtered + self.wire
    }
}

impl AddAssign for DropSummary {
    fn add_assign(&mut self, other: DropSummary) {
        self.full += other.full;
        self.overlimit += other.overlimit;
        self.aqm += other.aqm;
        self.policed += other.policed;
        self.filtered += other.filtered;
        self.wire += other.wire;
    }
}
