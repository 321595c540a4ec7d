//! How real a TCP is: every mechanism of the stack and its switch.
//!
//! The defaults are Linux's (spec/congestion-control section 0.5; mainline around 6.12). Each variant is an RFC's or an
//! earlier system's, so that the effect of a single mechanism can be measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_cc::SsthreshBase;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability, Rate};
use windtunnel_wire::AckRate;

use crate::ecn_pp::EcnPp;
use crate::growth_gate::GrowthGate;
use crate::memory::Truesize;
use crate::receiver::ReceiverController;

/// Linux's `SOCK_MIN_SNDBUF`: two short packets.
const LEAST_SEND_BUFFER: Bytes = Bytes::new(4608);
/// No kernel keeps headers in more than a page.
const LARGEST_HEADER_BLOCK: Bytes = Bytes::new(4096);

/// The mechanisms of a TCP connection.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the stack")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9293; Linux net/ipv4", "x-title" = "TCP"))]
pub struct TcpParams {
    /// Selective acknowledgment (RFC 2018), with D-SACK (RFC 2883).
    pub sack: bool,
    /// Timestamps option (RFC 7323): 12 bytes of each packet.
    pub timestamps: bool,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// Which packets in addition to new data are ECN-capable (ECN++).
    pub ecn_pp: EcnPp,
    /// How cwnd is approached while congestion is answered.
    pub reduction: Reduction,
    /// Tail loss probe (RFC 8985 section 7); needs SACK.
    pub tlp: bool,
    /// Forward RTO recovery (RFC 5682): detects spurious timeouts.
    pub frto: bool,
    /// Reductions for spurious retransmissions are undone (Eifel, RFC 3522; D-SACK).
    pub undo: bool,
    /// Limited transmit (RFC 3042): one new segment on each of the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// Duplicate ACKs, or segments SACKed above a segment, after which it counts as lost.
    #[schemars(range(min = 1, max = 300), extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub dupthresh: u32,
    /// How the retransmission timeout is computed.
    pub rto: RtoRule,
    /// The least RTO (RFC 6298), the least variance term in it (Linux). If left out, that of the rule: 1 s or 200 ms.
    pub rto_min: Option<Duration>,
    /// The largest RTO, and the cap of its back-off.
    pub rto_max: Duration,
    /// The RTO before the first round-trip sample (RFC 6298 section 2.1).
    pub rto_initial: Duration,
    /// The granularity of the timers, and of the clock by which Linux's CUBIC computes its growth: 1 ms with `HZ` 1000, 4
    /// ms with 250.
    pub tick: Duration,
    /// The basis of ssthresh.
    pub ssthresh_base: SsthreshBase,
    /// Each ACK of new data counts as one whole segment in growth, however little it acknowledges: stacks before byte
    /// counting (RFC 3465), which a receiver could deceive by ACK division.
    pub count_acks: bool,
    /// How far duplicate ACKs inflate cwnd in the fast recovery of Reno and `NewReno`.
    pub inflation: Inflation,
    /// The probability that a new segment is left out until data above it are SACKed. A receiver that acknowledges it before it
    /// leaves acknowledges what it has not received (optimistic ACKs): its connection is reset. Needs RACK.
    pub skip_probability: Probability,
    /// The seed of these choices.
    #[serde(skip)]
    pub skip_seed: u64,
    /// ECN nonces (RFC 3540, historic): new segments leave as ECT(0) or ECT(1) at random, and ACKs return the sum. A receiver that
    /// conceals marks or losses has to guess it, and is answered by a window of one segment. Needs `ecn = "rfc3168"`, and queues
    /// to which ECT(1) is no signal and not L4S.
    pub ecn_nonce: bool,
    /// The seed of the nonces.
    #[serde(skip)]
    pub nonce_seed: u64,
    /// The slow-start threshold of a new connection with a window-based controller, in segments; without it there is none
    /// (Linux: `ssthresh` of a route).
    #[schemars(range(min = 1), extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub initial_ssthresh: Option<u32>,
    /// A new connection starts with the slow-start threshold that an earlier one of the same flow left when it ended (Linux:
    /// `tcp_no_ssthresh_metrics_save` = 0, until 2020 the default); `initial_ssthresh` counts as left before the first.
    pub ssthresh_metrics_save: bool,
    /// Which ACKs grow cwnd while the application or the receiver, not cwnd, limits the sender; `true` is `linux`, and
    /// `false` is `none`.
    #[schemars(schema_with = "GrowthGate::schema")]
    #[serde(deserialize_with = "GrowthGate::read")]
    pub growth_gate: GrowthGate,
    /// What an idle time does to cwnd.
    pub idle: IdleRule,
    /// Factor on `cwnd / srtt` at which departures are paced below half of ssthresh (Linux: 2.0).
    #[schemars(range(min = 0.1))]
    pub pacing_ss_ratio: f64,
    /// The same above (Linux: 1.2).
    #[schemars(range(min = 0.1))]
    pub pacing_ca_ratio: f64,
    /// Departures are paced at this rate of payload at most (`SO_MAX_PACING_RATE`), whatever cwnd allows; setting it turns pacing
    /// on.
    pub max_pacing_rate: Option<Rate>,
    /// Segments leave in bursts (TSO, GSO) of about 1 ms at the pacing rate, and new data wait for the next ACK where
    /// that makes a larger burst; with `false` each segment leaves when cwnd allows it.
    pub gso: bool,
    /// The largest burst.
    pub gso_max: Bytes,
    /// TCP small queues: the first link of the flow's way is the sender's own interface, and the memory that the flow
    /// occupies in its queue is limited to 1 ms at the pacing rate, or to two packets; each counts its payload, its
    /// `header_block`, and 256 bytes.
    pub small_queues: bool,
    /// The largest limit of small queues (Linux `tcp_limit_output_bytes`; 4 MiB since Linux 6.16).
    pub limit_output_bytes: Bytes,
    /// Scheduling noise of the sender's host: the longest random delay between an ACK and the segments that it
    /// releases.
    pub jitter: Duration,
    /// The seed of these delays.
    #[serde(skip)]
    pub jitter_seed: u64,
    /// The receive buffer: the largest window that the receiver offers.
    pub receive_window: Bytes,
    /// The memory that a packet occupies in the receive buffer. The window offered is a share of that buffer.
    pub truesize: Truesize,
    /// The block of memory in which the sender's kernel keeps the headers of a packet: for the longest headers that it was
    /// built for. Between namespaces the receiver has it too (`truesize = "sender"`). 576 bytes in a small kernel, 640 with
    /// wireless devices, 704 with tunnels as well, as distributions have them (Linux 6.14 and later).
    pub header_block: Bytes,
    /// The window starts at half of the buffer's memory and grows by two segments for each that arrives, up to the buffer;
    /// with `false` the whole buffer is offered at once.
    pub window_growth: bool,
    /// When a longer segment shows how much of the memory is data, the window that grows is adapted at once: at most the new
    /// largest window, and at least what has been offered if that became larger (`tcp_set_window_clamp` in
    /// `tcp_measure_rcv_mss`, so in Linux 6.18). With `false`, as in Linux 7.3, it only goes on from where it is.
    pub set_window_clamp: bool,
    /// The buffer starts at a window of 64 KiB and follows twice what the application reads in a round trip (Linux's
    /// receive buffer autotuning), up to `receive_window`; with `false` the whole buffer is there from the start.
    pub autotuning: bool,
    /// How much the application hands over with one call at most. The segment with the last byte of a call carries PSH, by which
    /// Linux's receiver acknowledges it at once even if it is alone; so does one after each half of the largest receive
    /// window. With 0 B nothing but the end of all data is pushed, as by stacks other than Linux.
    pub write_size: Bytes,
    /// The largest send buffer, in the kernel's memory (Linux `tcp_wmem[2]`; 2280 bytes for a segment of 1448): how far the
    /// application can write ahead. If left out, it never limits the sender.
    pub send_buffer: Option<Bytes>,
    /// The send buffer at first, in the same memory (Linux `tcp_wmem[1]`). It has room for two initial windows at least.
    pub initial_send_buffer: Bytes,
    /// The send buffer grows: it follows twice cwnd, or as many windows as the controller asks for, up to `send_buffer`; with
    /// `false` all of it is there from the start (`SO_SNDBUF`).
    pub send_autotuning: bool,
    /// The sender asks its receiver for one ACK per this many full segments (TARR,
    /// draft-ietf-tcpm-ack-rate-request); it repeats the request once per round trip.
    #[schemars(range(min = 1, max = 127), extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub ack_ratio: Option<u32>,
    /// The sender asks for this many ACKs in a round trip: its ratio is cwnd over this number, 127 segments at most.
    #[schemars(range(min = 1, max = 1000), extend("x-unit" = "ACKs"))]
    pub acks_per_rtt: Option<u32>,
    /// The controller says how many ACKs it needs.
    #[serde(skip)]
    pub controller_asks_acks: bool,
    /// The receiver's network card merges segments that arrive within this time into one (GRO); without it none are
    /// merged.
    pub gro: Option<Duration>,
    /// The receiver limits its sender by this controller (rLEDBAT, RFC 9840).
    #[serde(skip)]
    pub rledbat: Option<ReceiverController>,
}

/// How losses are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By time of transmission; the first loss also by `dupthresh` (RFC 8985).
    #[default]
    Rack,
    /// By the amount SACKed above a segment (RFC 6675); without SACK, by duplicate ACKs as in `NewReno`.
    Rfc6675,
    /// Third duplicate ACK, then one loss per partial ACK (RFC 6582); no SACK.
    Newreno,
    /// Third duplicate ACK; any new ACK ends the recovery (Jacobson 1990); no SACK.
    Reno,
    /// Third duplicate ACK, then slow start from the lost segment on (Jacobson 1988); no SACK.
    Tahoe,
}

/// How far duplicate ACKs inflate cwnd in fast recovery without SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inflation {
    /// By the segments that are outstanding, those sent meanwhile among them (Linux's count of duplicate ACKs).
    #[default]
    Outstanding,
    /// By the segments that were outstanding when the loss was detected (RFC 5681 section 3.2): a receiver that makes up
    /// duplicate ACKs gains no more.
    Entry,
    /// By one segment for each duplicate ACK (Jacobson 1990).
    Unlimited,
}

/// How cwnd is approached while congestion is answered (spec/congestion-control section 1.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Proportional rate reduction (RFC 9937; Linux).
    #[default]
    Prr,
    /// RFC 6937 with the conservative bound.
    PrrCrb,
    /// RFC 6937 with the slow-start bound.
    PrrSsrb,
    /// One segment for every two delivered (Linux before 3.2).
    RateHalving,
    /// cwnd is reduced at once; sending resumes when less is in flight (RFC 6675).
    None,
}

/// How the retransmission timeout is computed (spec/congestion-control section 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoRule {
    /// srtt plus a variance term of at least 200 ms, kept per round trip.
    #[default]
    Linux,
    /// RFC 6298: srtt + 4 rttvar, at least 1 s.
    Rfc6298,
}

/// What an idle time does to cwnd (spec/congestion-control section 1.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRule {
    /// Halves it for each RTO (RFC 2861; Linux).
    #[default]
    Rfc2861,
    /// The initial window after an RTO (RFC 5681 section 4.1).
    Rfc5681,
    /// Validated windows (RFC 7661).
    Rfc7661,
    /// Nothing.
    None,
}

impl Default for TcpParams {
    fn default() -> TcpParams {
        TcpParams {
            sack: true,
            timestamps: true,
            loss_detection: LossDetection::default(),
            ecn_pp: EcnPp::default(),
            reduction: Reduction::default(),
            tlp: true,
            frto: true,
            undo: true,
            limited_transmit: true,
            dupthresh: 3,
            rto: RtoRule::default(),
            rto_min: None,
            rto_max: Duration::from_secs(120),
            rto_initial: Duration::from_secs(1),
            tick: Duration::from_millis(1),
            ssthresh_base: SsthreshBase::default(),
            count_acks: false,
            inflation: Inflation::default(),
            skip_probability: Probability::ZERO,
            skip_seed: 0,
            ecn_nonce: false,
            nonce_seed: 0,
            initial_ssthresh: None,
            ssthresh_metrics_save: false,
            growth_gate: GrowthGate::default(),
            idle: IdleRule::default(),
            pacing_ss_ratio: 2.0,
            pacing_ca_ratio: 1.2,
            max_pacing_rate: None,
            gso: false,
            gso_max: Bytes::new(65_536),
            small_queues: false,
            limit_output_bytes: Bytes::new(4 << 20),
            jitter: Duration::ZERO,
            jitter_seed: 0,
            receive_window: Bytes::new(1 << 30),
            truesize: Truesize::default(),
            header_block: Bytes::new(576),
            window_growth: true,
            set_window_clamp: true,
            autotuning: true,
            write_size: Bytes::new(128 << 10),
            send_buffer: None,
            initial_send_buffer: Bytes::new(16 << 10),
            send_autotuning: true,
            ack_ratio: None,
            acks_per_rtt: None,
            controller_asks_acks: false,
            gro: None,
            rledbat: None,
        }
    }
}

impl TcpParams {
    /// Whether anything is left to chance: then each connection needs seeds, and parameters of its own.
    pub fn is_random(&self) -> bool {
        !self.jitter.is_zero() || self.skip_probability > Probability::ZERO || self.ecn_nonce
    }

    /// True if the sender may ask for an ACK rate.
    pub fn asks_ack_rate(&self) -> bool {
        self.ack_ratio.is_some() || self.acks_per_rtt.is_some() || self.controller_asks_acks
    }

    fn check_ack_requests(&self) -> Result<(), OutOfRange> {
        if let Some(ratio) = self.ack_ratio {
            if !(1..=u32::from(AckRate::MOST)).contains(&ratio) {
                return Err(OutOfRange::new("ack_ratio", ratio, "1 to 127 segments"));
            }
            if self.acks_per_rtt.is_some() {
                let allowed = "absent, since `acks_per_rtt` sets the ratio from cwnd";
                return Err(OutOfRange::new("ack_ratio", ratio, allowed));
            }
        }
        match self.acks_per_rtt {
            Some(acks) if !(1..=1000).contains(&acks) => {
                Err(OutOfRange::new("acks_per_rtt", acks, "1 to 1000 ACKs"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the mechanisms fit together and that every number is within its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let classic = matches!(
            self.loss_detection,
            LossDetection::Newreno | LossDetection::Reno | LossDetection::Tahoe
        );
        if !self.sack && self.loss_detection == LossDetection::Rack {
            return Err(OutOfRange::new(
                "sack",
                false,
                "true: RACK needs SACK (or loss_detection = \"newreno\")",
            ));
        }
        if self.sack && classic {
            return Err(OutOfRange::new("sack", true, "false: this loss_detection knows no SACK"));
        }
        if self.dupthresh == 0 || self.dupthresh > 300 {
            return Err(OutOfRange::new("dupthresh", self.dupthresh, "1 to 300"));
        }
        if self.skip_probability > Probability::ZERO && self.loss_detection != LossDetection::Rack {
            return Err(OutOfRange::new(
                "skip_probability",
                self.skip_probability,
                "0 %: only with loss_detection = \"rack\" is a segment that leaves late no loss",
            ));
        }
        self.check_ack_requests()?;
        if self.initial_ssthresh == Some(0) {
            return Err(OutOfRange::new("initial_ssthresh", 0, "1 segment or more"));
        }
        for (name, value) in
            [("pacing_ss_ratio", self.pacing_ss_ratio), ("pacing_ca_ratio", self.pacing_ca_ratio)]
        {
            if !(0.1..=100.0).contains(&value) {
                return Err(OutOfRange::new(name, value, "0.1 to 100"));
            }
        }
        for (name, value) in
            [("rto_max", self.rto_max), ("rto_initial", self.rto_initial), ("tick", self.tick)]
        {
            if value.is_zero() {
                return Err(OutOfRange::new(name, value, "more than 0 s"));
            }
        }
        if self.max_pacing_rate == Some(Rate::ZERO) {
            return Err(OutOfRange::new("max_pacing_rate", Rate::ZERO, "more than 0 bit/s"));
        }
        if self.rto_max < self.rto_min() {
            return Err(OutOfRange::new("rto_max", self.rto_max, "at least rto_min"));
        }
        for (name, value) in [("gso_max", self.gso_max), ("limit_output_bytes", self.limit_output_bytes)] {
            if value == Bytes::ZERO {
                return Err(OutOfRange::new(name, value, "1 byte or more"));
            }
        }
        if self.receive_window < Bytes::new(1) || self.receive_window > Bytes::new(1 << 30) {
            return Err(OutOfRange::new("receive_window", self.receive_window, "1 byte to 1 GiB (RFC 7323)"));
        }
        if self.header_block < Bytes::new(1) || self.header_block > LARGEST_HEADER_BLOCK {
            return Err(OutOfRange::new("header_block", self.header_block, "1 byte to 4096 bytes"));
        }
        for (name, size) in [
            ("send_buffer", self.send_buffer.unwrap_or(LEAST_SEND_BUFFER)),
            ("initial_send_buffer", self.initial_send_buffer),
        ] {
            if size < LEAST_SEND_BUFFER || size > Bytes::new(1 << 30) {
                return Err(OutOfRange::new(name, size, "4608 bytes (Linux's least) to 1 GiB"));
            }
        }
        Ok(())
    }

    /// The whole window is offered from the SYN|ACK on.
    pub fn has_fixed_window(&self) -> bool {
        !self.window_growth && !self.autotuning
    }

    /// The longest delay that the ACK of a lone segment may meet (RFC 8985 section 7.2). Linux uses its least
    /// variance term (`tcp_rto_min`).
    pub(crate) fn max_ack_delay(&self) -> Duration {
        match self.rto {
            RtoRule::Linux => self.rto_min(),
            RtoRule::Rfc6298 => Duration::from_millis(200),
        }
    }

    /// The least RTO, or the least variance term in it.
    pub fn rto_min(&self) -> Duration {
        self.rto_min.unwrap_or(match self.rto {
            RtoRule::Linux => Duration::from_millis(200),
            RtoRule::Rfc6298 => Duration::from_secs(1),
        })
    }
}
