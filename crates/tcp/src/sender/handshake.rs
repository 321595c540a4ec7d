//! The handshake: SYN with retransmission and back-off, the options that it negotiates, and the cost of a lost SYN.
//!
//! RFC 9293 section 3.5, RFC 6298 section 5.7, RFC 3168 section 6.1.1; spec/congestion-control section 1.2,
//! spec/queues-and-signalling section 17.1.

use std::sync::Arc;

use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Options, Packet, TcpFlags};

use super::Sender;
use super::detection::Detector;
use super::ecn::mds_offer;
use super::limits::Limited;
use super::tlp::Tlp;
use super::transmit::Forced;
use crate::ack_report::AckReport;
use crate::connection::ConnectionState;
use crate::params::{LossDetection, RtoRule, TcpParams};
use crate::receiver::option_size;

/// The number of SYNs that ask for ECN: after the second one, a network that drops them gets SYNs without ECN (RFC
/// 3168 section 6.1.1.1).
const SYNS_WITH_ECN: u32 = 2;

/// How many times Linux repeats a SYN before it doubles its timeout (`tcp_syn_linear_timeouts`, since 6.5): most lost
/// SYNs are lost singly.
const LINEAR_TIMEOUTS: u32 = 4;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    SynSent,
    Established,
    /// The connection is given up, and the RST has yet to leave.
    Resetting,
    Reset,
}

/// The opening of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    stage: Stage,
    /// SYNs sent.
    syns: u32,
    sent_at: Time,
    /// When the SYN is sent again.
    due: Time,
    timeout: Duration,
    /// The number of timeouts that are not doubled.
    linear: u32,
    expired: bool,
    /// The last SYN asked for ECN.
    asked_ecn: bool,
}

impl Handshake {
    pub(crate) fn new(params: &TcpParams) -> Handshake {
        Handshake {
            stage: Stage::Closed,
            syns: 0,
            sent_at: Time::ZERO,
            due: Time::NEVER,
            timeout: params.rto_initial.min(params.rto_max),
            linear: match params.rto {
                RtoRule::Linux => LINEAR_TIMEOUTS,
                RtoRule::Rfc6298 => 0,
            },
            expired: false,
            asked_ecn: false,
        }
    }

    #[inline]
    pub(crate) fn established(&self) -> bool {
        self.stage == Stage::Established
    }

    pub(crate) const fn state(&self) -> ConnectionState {
        match self.stage {
            Stage::Closed | Stage::Resetting | Stage::Reset => ConnectionState::Closed,
            Stage::SynSent => ConnectionState::SynSent,
            Stage::Established => ConnectionState::Established,
        }
    }

    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// The SYN was not answered in time.
    pub(crate) fn on_timer(&mut self, now: Time) {
        if now >= self.due {
            self.due = Time::NEVER;
            self.expired = true;
        }
    }

    /// The connection is given up.
    pub(crate) fn reset(&mut self) {
        self.stage = Stage::Resetting;
        self.due = Time::NEVER;
    }

    pub(crate) const fn is_reset(&self) -> bool {
        matches!(self.stage, Stage::Resetting | Stage::Reset)
    }

    /// The RST leaves now, if it has not left.
    pub(crate) fn take_reset(&mut self) -> bool {
        let owed = self.stage == Stage::Resetting;
        if owed {
            self.stage = Stage::Reset;
        }
        owed
    }

    /// A SYN may leave now.
    fn may_send(&self) -> bool {
        match self.stage {
            Stage::Closed => true,
            Stage::SynSent => self.expired,
            Stage::Established | Stage::Resetting | Stage::Reset => false,
        }
    }

    /// Exponential back-off, as for data (RFC 6298 section 5.5), after the linear timeouts.
    fn sent(&mut self, now: Time, asked_ecn: bool, rto_max: Duration) {
        if self.syns > self.linear {
            self.timeout = (self.timeout * 2).min(rto_max);
        }
        self.syns += 1;
        self.stage = Stage::SynSent;
        self.sent_at = now;
        self.due = now + self.timeout;
        self.expired = false;
        self.asked_ecn = asked_ecn;
    }
}

impl Sender {
    /// The SYN, if it is due.
    pub(super) fn poll_syn(&mut self, now: Time) -> Option<Packet> {
        if let Some(reset) = self.poll_reset(now) {
            return Some(reset);
        }
        if self.unsent == Bytes::ZERO || !self.handshake.may_send() {
            let limit = if self.unsent == Bytes::ZERO { Limited::Application } else { Limited::Handshake };
            self.limits.set(limit, now, &mut self.stats.limited);
            return None;
        }
        let ask_ecn = self.endpoint.feedback.uses_ecn() && self.handshake.syns < SYNS_WITH_ECN;
        self.stats.control_retransmits += u64::from(self.handshake.syns > 0);
        self.handshake.sent(now, ask_ecn, self.params.rto_max);
        let mds = self.endpoint.feedback.is_mds() && ask_ecn;
        let options = Options {
            sack_permitted: self.params.sack,
            mds_capable: mds.then(|| mds_offer(&self.needs)),
            ack_rate: self.ack_rate_offer(),
            ..Options::default()
        };
        let mut packet = self.packet(self.endpoint.syn_headers(&options), Bytes::ZERO, now);
        packet.seq = Seq::SYN;
        packet.ack = Seq::SYN;
        packet.flags = TcpFlags::SYN;
        if ask_ecn {
            self.ecn.stamp_syn(&self.endpoint, self.handshake.syns > 1, &mut packet);
        }
        packet.set_options(options);
        self.syn_enters_host();
        Some(packet)
    }

    /// A packet while the connection is not established, or one of a handshake that is over.
    pub(super) fn on_handshake_packet(&mut self, packet: &Packet, now: Time) -> AckReport {
        let answer = packet.flags.contains(TcpFlags::SYN | TcpFlags::ACK) && packet.ack == Seq::FIRST_DATA;
        if self.handshake.stage != Stage::SynSent || !answer {
            if answer && self.handshake.established() {
                self.on_another_syn_ack(packet);
            }
            return AckReport::default();
        }
        self.handshake.stage = Stage::Established;
        self.handshake.due = Time::NEVER;
        if !packet.options().is_some_and(|options| options.sack_permitted) {
            self.go_without_sack();
        }
        self.negotiate_ack_requests(packet);
        let (asked, sack) = (self.handshake.asked_ecn, self.params.sack);
        self.ecn.on_syn_ack(&self.endpoint, asked, sack, &self.needs, packet);
        self.forced = Some(Forced::HandshakeAck);
        self.update_send_window(packet);
        self.push.on_established(Seq::FIRST_DATA, self.largest_window);
        self.ts_recent = packet.ts_val;
        let rtt = self.handshake_rtt(packet, now);
        match rtt {
            Some(rtt) => {
                self.rtt.observe_least(rtt, now);
                self.rtt.sample(rtt, Seq::FIRST_DATA, Seq::FIRST_DATA);
                self.tlp.on_rtt_sample();
            }
            None => self.rtt.syn_timed_out(),
        }
        self.stats.handshake_rtt = rtt;
        if !self.params.sack {
            self.cc.on_sack_refused();
        }
        self.cc.on_negotiated(self.ecn.agreed(self.endpoint.feedback));
        self.needs = self.cc.needs();
        let path = self.path(now);
        self.cc.on_established(&path);
        self.answer_troubled_syn(now);
        self.cwnd = self.cc.cwnd();
        self.last_sent = now;
        // cwnd has been set just now (Linux `tcp_init_transfer`).
        self.validation.restart(now);
        self.update_pacing();
        AckReport { rtt, ..AckReport::default() }
    }

    /// A SYN/ACK came again: its ACK was lost.
    fn on_another_syn_ack(&mut self, packet: &Packet) {
        self.ecn.on_another_syn_ack(packet.ecn);
        if self.forced.is_none() {
            self.forced = Some(Forced::HandshakeAck);
        }
    }

    /// The ACK of the SYN/ACK, before any data (Linux `tcp_rcv_synsent_state_process`: the application that has data
    /// to write hears of the connection later).
    pub(super) fn handshake_ack(&mut self, now: Time) -> Packet {
        let Some((flags, option)) = self.ecn.third_ack() else { return self.pure_ack(now) };
        let headers = self.endpoint.headers + option_size(&option);
        let mut packet = self.packet(headers, Bytes::ZERO, now);
        packet.seq = Seq::FIRST_DATA;
        packet.flags = flags;
        self.ecn.stamp_handshake_ack(&mut packet);
        packet.set_options(Options { accecn: Some(option), ..Options::default() });
        packet
    }

    /// The receiver permits no SACK (RFC 2018 section 2): losses are found by duplicate ACKs (RFC 6582), and there
    /// are neither tail loss probes nor skips.
    fn go_without_sack(&mut self) {
        if self.params.sack {
            let params = Arc::make_mut(&mut self.params);
            params.sack = false;
            params.loss_detection = LossDetection::Newreno;
            self.detector = Detector::new(&self.params);
            self.tlp = Tlp::new(false);
            self.skip = None;
        }
    }

    /// Karn: the answer to a SYN that was sent again gives no sample, unless its timestamp names the SYN that it
    /// answers.
    fn handshake_rtt(&self, packet: &Packet, now: Time) -> Option<Duration> {
        if self.params.timestamps {
            Some(now.since(packet.ts_ecr))
        } else {
            (self.handshake.syns == 1).then(|| now.since(self.handshake.sent_at))
        }
    }

    /// A lost SYN shows congestion before any data were sent: the data start with one segment (RFC 5681 section 3.1).
    /// Linux ignores the first lost SYN, because its timeout of 1 s may have been too short. A mark shows congestion too
    /// (draft-ietf-tcpm-generalized-ecn section 3.2.1).
    fn answer_troubled_syn(&mut self, now: Time) {
        let forgiven = match self.params.rto {
            RtoRule::Linux => 1,
            RtoRule::Rfc6298 => 0,
        };
        if self.handshake.syns - 1 > forgiven || self.ecn.syn_was_marked() {
            let path = self.path(now);
            self.cc.on_cwnd_validation(self.mss, &path);
        }
    }
}
