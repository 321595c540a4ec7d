//! What a controller is told. The sender computes each value once.

use windtunnel_algorithm::RandomStream;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

/// The values that every controller receives when its flow starts.
#[derive(Clone, Copy, Debug)]
pub struct FlowInit {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// A full packet: the segment with its headers.
    pub mtu: Bytes,
    /// The initial window.
    pub iw: Bytes,
    /// The floor of cwnd.
    pub min_cwnd: Bytes,
    /// True if departures are paced.
    pub paced: bool,
    /// The quantity from which a loss response computes ssthresh.
    pub ssthresh_base: SsthreshBase,
    /// The slow-start threshold at first; `None` for none, as in Linux.
    pub ssthresh: Option<Bytes>,
    /// The granularity of the host's clock; Linux's CUBIC counts in these ticks.
    pub tick: Duration,
    /// The seed of the controller's random stream.
    pub seed: u64,
}

impl FlowInit {
    /// Describes a flow with segments of `mss` and defaults otherwise: the initial window of RFC 6928, a floor of two
    /// segments, headers of 52 bytes, no pacing.
    pub fn new(mss: Bytes) -> FlowInit {
        FlowInit {
            mss,
            mtu: mss + Bytes::new(52),
            iw: mss * 10,
            min_cwnd: mss * 2,
            paced: false,
            ssthresh_base: SsthreshBase::default(),
            ssthresh: None,
            tick: Duration::from_millis(1),
            seed: 0,
        }
    }

    /// Creates the controller's random stream. No other flow, queue or connection draws from it.
    pub fn random(&self) -> RandomStream {
        RandomStream::new(self.seed)
    }
}

/// The quantity from which a congestion response computes ssthresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SsthreshBase {
    /// cwnd (Linux). The growth gate keeps cwnd near the amount in use.
    #[default]
    Cwnd,
    /// The data sent and not yet acknowledged (RFC 5681 equation 4).
    Flight,
}

/// A read-only view of the connection at the moment of an event.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// The time since a start that the transport chooses: in a simulation, that of the run.
    pub now: Time,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The minimum round-trip time so far; zero before the first sample.
    pub min_rtt: Duration,
    /// Bytes sent and neither acknowledged nor lost (RFC 6675 "pipe").
    pub in_flight: Bytes,
    /// SND.UNA after this ACK: the cumulative ACK.
    pub una: Seq,
    /// SND.NXT.
    pub nxt: Seq,
}

#[cfg(test)]
impl PathView {
    /// The start of a run, with segments of 1448 bytes: `una` are acknowledged, and `nxt` have been sent.
    pub(crate) fn of_segments(una: u64, nxt: u64) -> PathView {
        let mss = Bytes::new(1448);
        PathView {
            now: Time::ZERO,
            mss,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: mss * (nxt - una),
            una: Seq::FIRST_DATA + mss * una,
            nxt: Seq::FIRST_DATA + mss * nxt,
        }
    }
}

/// One ACK.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one ACK")]
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Bytes newly acknowledged cumulatively.
    pub acked: Bytes,
    /// Bytes newly delivered, acknowledged cumulatively or by SACK. They count in whole segments, so that a receiver
    /// cannot grow the window by acknowledging a segment in pieces.
    pub newly_delivered: Bytes,
    /// The ACK acknowledges data in order, and no reduction is running (Linux `tcp_may_raise_cwnd`).
    pub may_raise: bool,
    /// Growth is barred on this ACK: it may not raise cwnd, or the growth gate (window validation) is closed.
    pub growth_barred: bool,
    /// Bytes that the ACK showed to be lost.
    pub newly_lost: Bytes,
    /// Bytes delivered since the connection started.
    pub delivered: Bytes,
    /// Bytes found to be lost since the connection started, by ACKs and by timers.
    pub lost: Bytes,
    /// Bytes that were in flight before this ACK; only with [`crate::Needs::rate_samples`].
    pub prior_in_flight: Bytes,
    /// When pacing lets the next segment leave. A time that has passed means now.
    pub next_departure: Time,
    /// The round-trip time of the newest segment acknowledged.
    pub rtt: Option<Duration>,
    /// The delay of the data's own way, with the receiver's delay of the ACK: from the departure of the newest segment
    /// acknowledged to that of the ACK, which its timestamp tells; only with
    /// [`crate::Needs::one_way`], and none without timestamps.
    pub one_way: Option<Duration>,
    /// The delivery-rate sample (draft-ietf-ccwg-bbr section 4.1); only with [`crate::Needs::rate_samples`].
    pub rate: Option<RateSample>,
    /// The network's congestion feedback on the newly acknowledged segments.
    pub ecn: EcnFeedback,
    /// The application limits the data sent now.
    pub app_limited: bool,
    /// cwnd, and nothing else, kept the sender from sending more.
    pub cwnd_limited: bool,
    /// cwnd was not used enough to grow: the growth gate (window validation) is closed, whatever else bars growth (Linux
    /// `tcp_is_cwnd_limited` is false).
    pub window_unused: bool,
    /// `maxFS`, the largest flight since cwnd was last reduced: cwnd may grow to where the ACKs of a window of that size
    /// would take it (draft-ietf-ccwg-ratelimited-increase section 3). `None` if the sender has another rule.
    pub max_flight: Option<Bytes>,
    /// This ACK starts a packet-timed round; only with [`crate::Needs::rate_samples`].
    pub round_start: bool,
}

impl AckSample {
    /// Returns how much of `amount` may make cwnd grow: all or nothing.
    pub const fn growth(&self, amount: Bytes) -> Bytes {
        if self.growth_barred { Bytes::ZERO } else { amount }
    }

    /// Returns true if cwnd has reached what the largest flight allows a controller that doubles cwnd in slow start, and then
    /// adds a segment in each round trip.
    pub fn reached_flight_limit(&self, cwnd: Bytes, slow_start: bool) -> bool {
        self.max_flight.is_some_and(|flight| if slow_start { cwnd >= flight * 2 } else { cwnd > flight })
    }
}

/// Congestion feedback of one ACK, as counts of newly acknowledged segments.
///
/// With classic feedback (RFC 3168, ESCE), all segments newly acknowledged by an ACK with the flag count as marked.
/// With AccECN the counts are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFeedback {
    /// Marked CE.
    pub ce: Marked,
    /// Marked SCE, on flows that negotiated SCE or MDS; zero on others.
    pub sce: Marked,
    /// Received as ECT(1), on flows that send ECT(1) (L4S).
    pub ect1: Marked,
}

impl EcnFeedback {
    /// True if anything was marked, CE or SCE.
    pub const fn any(&self) -> bool {
        self.ce.any() || self.sce.any()
    }
}

/// An amount of traffic, most often marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// Payload bytes.
    pub bytes: Bytes,
    /// Segments.
    pub packets: u32,
}

/// What an ACK delivered, and what it reports of the marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes newly acknowledged cumulatively, those reported by SACK before among them.
    pub acked: Bytes,
    /// The round-trip time of the newest segment acknowledged; in whole milliseconds if only segments that were sent more
    /// than once are acknowledged, so that timestamps alone tell it (Linux `tcp_rtt_tsopt_us`).
    pub rtt: Option<Duration>,
    /// Newly delivered, cumulatively or by SACK.
    pub delivered: Marked,
    /// The network's congestion feedback on it.
    pub ecn: EcnFeedback,
    /// The ACK acknowledges nothing new, changes the window, or has options besides the timestamp such as SACK blocks: Linux
    /// takes its slow path (`tcp_ack`).
    pub slow_path: bool,
}

impl std::ops::AddAssign for Marked {
    fn add_assign(&mut self, more: Marked) {
        self.bytes += more.bytes;
        self.packets += more.packets;
    }
}

impl Marked {
    /// True if anything was marked.
    pub const fn any(self) -> bool {
        self.packets > 0
    }
}

/// The connection's counters at the departure of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When the segment left; for a retransmitted segment, the last departure.
    pub sent: Time,
    /// Bytes in flight, including the segment.
    pub in_flight: Bytes,
    /// Bytes delivered by then.
    pub delivered: Bytes,
    /// Bytes found to be lost by then.
    pub lost: Bytes,
    /// The application, not cwnd, limited the sender.
    pub app_limited: bool,
}

/// A delivery-rate sample: taken from one segment's departure to its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// The delivery rate over the sample.
    pub rate: Rate,
    /// The time span of the sample.
    pub interval: Duration,
    /// Bytes delivered over the sample.
    pub delivered: Bytes,
    /// Bytes found to be lost over the sample.
    pub lost: Bytes,
    /// When the sampled segment left.
    pub departure: Departure,
}

/// A segment found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its first byte.
    pub seq: Seq,
    /// Its payload.
    pub payload: Bytes,
    /// When it left.
    pub departure: Departure,
    /// Bytes found to be lost since the connection started, including this segment.
    pub lost: Bytes,
    /// What found it.
    pub found_by: LossFinder,
}

impl LostSegment {
    /// Returns the bytes found to be lost since the segment left, including the segment itself.
    pub fn lost_since_departure(&self) -> Bytes {
        self.lost - self.departure.lost
    }
}

/// What finds losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossFinder {
    /// An ACK: by SACK, duplicates, or the transmission time of the segments that it delivered.
    Ack,
    /// RACK's reordering timer.
    ReorderingTimer,
    /// The retransmission timer.
    RetransmissionTimer,
}

/// What showed congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Segments were lost.
    Loss,
    /// An echo of CE (RFC 3168).
    Ce,
    /// The controller itself: [`crate::CongestionControl::asks_reduction`].
    Controller,
}

/// A congestion event.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// What showed it.
    pub trigger: Trigger,
    /// The window in force. While the sender approaches what an earlier answer left, it is still above that.
    pub window: Bytes,
    /// Bytes lost.
    pub lost: Bytes,
    /// The round-trip time sampled by the ACK that showed it.
    pub rtt: Option<Duration>,
}

/// A segment that was just sent.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// Its first byte.
    pub seq: Seq,
    /// Its payload.
    pub payload: Bytes,
    /// The segment was sent before.
    pub retransmission: bool,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedPacket {
    /// When it left.
    pub sent: Time,
    /// When it arrived, by the receiver's clock.
    pub arrived: Time,
    /// Its payload.
    pub payload: Bytes,
}

/// A frame that a source of media handed to its sender.
#[derive(Clone, Copy, Debug)]
pub struct MediaFrame {
    /// Its length, without headers.
    pub size: Bytes,
    /// The time from frame to frame.
    pub period: Duration,
    /// How long the oldest data that have not been sent yet have waited.
    pub waited: Duration,
    /// The lowest rate that the source can have.
    pub least: Rate,
    /// The highest.
    pub most: Rate,
}
