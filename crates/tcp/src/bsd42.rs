//! A sender from before congestion control, as 4.2BSD (1983) had it: a fixed window, a timer, and nothing else.
//!
//! spec/congestion-control section 1.18; RFC 793 section 3.7; Jacobson & Karels 1988. The window is sent back to back
//! at once, and whenever it slides. When the timer expires, all of the window is sent again (go-back-N), whether it
//! was lost or still waits in a queue; the timer does not back off. Duplicate ACKs are ignored. A network full of
//! such senders carries ever more copies of the same data: this is the congestion collapse of RFC 896, which was seen
//! in October 1986 and is the reason for congestion control.
//!
//! Timer and round-trip times are counted in ticks of 500 ms, the slow timer of the BSD kernel. RTO is `beta * srtt`
//! within 1 s and 60 s, with the example values of RFC 793 (0.8 to 0.9 for alpha, 1.3 to 2.0 for beta). One segment
//! is timed at a time. Retransmitted ones are timed too, from their last transmission: when the ACK of an earlier
//! copy comes, the sample is too short, and with it the next RTO (Karn & Partridge 1987 put an end to that). 16
//! segments of 512 bytes are the 8 KiB that a socket of the time buffered. There were no options: no timestamps, no
//! SACK, no window scale.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, Duration, OutOfRange, Seq, Time};
use windtunnel_wire::{Packet, TcpFlags};

use crate::ack_policy::{AckParams, AckPolicy};
use crate::ack_report::AckReport;
use crate::config::{Endpoint, WindowScale};
use crate::info::TcpInfo;
use crate::params::{LossDetection, TcpParams};
use crate::receiver::Receiver;

/// A pair of endpoints without congestion control. Its segments are those of the flow: 512 bytes of data have an MTU
/// of 552.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 793; RFC 896; 4.2BSD", "x-title" = "4.2BSD", "x-traits" = ["fixed"]))]
pub struct Bsd42Params {
    /// The window: what the send buffer holds.
    #[schemars(range(min = 1, max = 65_536), extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub window: u32,
    /// The share of the old srtt that is kept when there is a new sample.
    #[schemars(range(min = 0, max = 1))]
    pub alpha: f64,
    /// How many times srtt the RTO is.
    #[schemars(range(min = 1, max = 100))]
    pub beta: f64,
    /// The RTO before the first sample.
    pub rto_initial: Duration,
    /// The least RTO.
    pub rto_min: Duration,
    /// The largest RTO, and the cap of the back-off.
    pub rto_max: Duration,
    /// The granularity of the timer and of round-trip times.
    pub tick: Duration,
    /// What a timer expiry does to the next RTO.
    pub backoff: Backoff,
    /// What the receiver does with data above a gap.
    pub out_of_order: OutOfOrder,
}

/// What a timer expiry does to the next RTO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// Nothing.
    #[default]
    None,
    /// Doubles it, until new data are acknowledged.
    Exp,
}

/// What a receiver does with data above a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfOrder {
    /// It keeps them until the gap is filled.
    #[default]
    Keep,
    /// It throws them away.
    Drop,
}

/// The receiver of the same time: it knows no options and offers the largest window that existed then.
fn receiver_params() -> TcpParams {
    TcpParams {
        sack: false,
        timestamps: false,
        loss_detection: LossDetection::Newreno,
        receive_window: Bytes::new(1 << 16),
        window_growth: false,
        autotuning: false,
        ..TcpParams::default()
    }
}

impl Default for Bsd42Params {
    fn default() -> Bsd42Params {
        Bsd42Params {
            window: 16,
            alpha: 0.875,
            beta: 2.0,
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            tick: Duration::from_millis(500),
            backoff: Backoff::None,
            out_of_order: OutOfOrder::Keep,
        }
    }
}

impl Bsd42Params {
    /// Whether every number is within its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        if self.window == 0 || self.window > 65_536 {
            return Err(OutOfRange::new("window", self.window, "1 to 65536"));
        }
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(OutOfRange::new("alpha", self.alpha, "0 to 1"));
        }
        if !(1.0..=100.0).contains(&self.beta) {
            return Err(OutOfRange::new("beta", self.beta, "1 to 100"));
        }
        for (key, value) in
            [("rto_initial", self.rto_initial), ("rto_min", self.rto_min), ("tick", self.tick)]
        {
            if value.is_zero() {
                return Err(OutOfRange::new(key, value, "more than 0 s"));
            }
        }
        if self.rto_max < self.rto_min {
            return Err(OutOfRange::new("rto_max", self.rto_max, "at least rto_min"));
        }
        Ok(())
    }

    /// What the window field of its receiver's packets means.
    pub fn window_scale(endpoint: &Endpoint) -> WindowScale {
        WindowScale::new(endpoint, &receiver_params())
    }

    /// The receiver of the same time: it acknowledges every segment, cumulatively, and offers 64 KiB, the most that
    /// an unscaled window can express.
    pub fn receiver(&self, endpoint: Endpoint) -> Receiver {
        let ack = AckParams { policy: AckPolicy::Immediate, ..AckParams::default() };
        let receiver = Receiver::new(endpoint, &receiver_params(), ack);
        match self.out_of_order {
            OutOfOrder::Keep => receiver,
            OutOfOrder::Drop => receiver.dropping_out_of_order(),
        }
    }
}

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with data, copies included.
    pub segments_sent: u64,
    /// Of these, segments that repeat some data.
    pub retransmits: u64,
    /// Expiries of the timer.
    pub rtos: u64,
    /// Data acknowledged.
    pub delivered: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Established,
}

/// The one segment whose round trip is timed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    end: Seq,
    sent_at: Time,
}

/// A sender without congestion control.
#[derive(Debug)]
pub struct Sender {
    endpoint: Endpoint,
    params: Bsd42Params,
    state: State,
    /// What the receiver offers.
    offered: Bytes,
    snd_una: Seq,
    /// The next byte to send; an expiry sets it back.
    snd_nxt: Seq,
    /// The byte after the last one ever sent.
    snd_max: Seq,
    /// The byte after the last one that the application wrote.
    written: Seq,
    timed: Option<Timed>,
    srtt: Option<Duration>,
    /// Expiries since data were last acknowledged.
    expiries: u32,
    timer: Option<Time>,
    stats: SenderStats,
}

impl Sender {
    /// A sender for `endpoint`.
    pub fn new(endpoint: Endpoint, params: Bsd42Params) -> Sender {
        Sender {
            endpoint,
            params,
            state: State::Closed,
            offered: Bytes::ZERO,
            snd_una: Seq::SYN,
            snd_nxt: Seq::SYN,
            snd_max: Seq::SYN,
            written: Seq::FIRST_DATA,
            timed: None,
            srtt: None,
            expiries: 0,
            timer: None,
            stats: SenderStats::default(),
        }
    }

    /// The application adds to its stream; [`Bytes::MAX`] makes it endless.
    pub fn write(&mut self, bytes: Bytes) {
        self.written = Seq::new(self.written.get().saturating_add(bytes.get()));
    }

    /// The application writes no more. Unsent data are dropped; the rest is still delivered reliably.
    pub fn stop(&mut self) {
        self.written = self.snd_max.max(Seq::FIRST_DATA);
    }

    /// The next packet to send; call until there is none. The first call after a write sends the SYN.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match self.state {
            State::Closed if self.written > Seq::FIRST_DATA => {
                self.state = State::SynSent;
                Some(self.syn(now))
            }
            State::SynSent if self.snd_nxt == Seq::SYN => Some(self.syn(now)),
            State::Closed | State::SynSent => None,
            State::Established => self.next_segment(now),
        }
    }

    /// An ACK arrived. One that acknowledges nothing new is ignored.
    pub fn on_ack(&mut self, packet: &Packet, now: Time) -> AckReport {
        let answers_syn = packet.flags.contains(TcpFlags::SYN);
        if self.state == State::Closed || answers_syn != (self.state == State::SynSent) {
            return AckReport::default();
        }
        if packet.ack > self.snd_una && packet.ack <= self.snd_max {
            self.offered = Bsd42Params::window_scale(&self.endpoint).window(packet);
            self.state = State::Established;
            return self.on_new_ack(packet.ack, now);
        }
        AckReport::default()
    }

    /// When [`Sender::on_timer`] wants to be called.
    pub const fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    /// The timer has expired: go back to the first unacknowledged byte. The caller then calls
    /// [`Sender::poll_transmit`].
    pub fn on_timer(&mut self, now: Time) {
        if self.timer.is_none_or(|timer| now < timer) {
            return;
        }
        self.stats.rtos += 1;
        self.expiries += 1;
        self.timer = None;
        self.timed = None;
        self.snd_nxt = self.snd_una;
    }

    /// What it has counted.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The window: the send buffer, or the receiver's window if that is smaller. It never changes.
    pub fn cwnd(&self) -> Bytes {
        self.buffer()
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> Bytes {
        self.snd_max - self.snd_una
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.srtt.unwrap_or(Duration::ZERO)
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Duration {
        let p = &self.params;
        let rto = self.srtt.map_or(p.rto_initial, |srtt| srtt.scale(p.beta).clamp(p.rto_min, p.rto_max));
        match p.backoff {
            Backoff::None => rto,
            Backoff::Exp => (rto * (1 << self.expiries.min(32))).min(p.rto_max),
        }
    }

    /// The state that no packet shows: only the timer.
    pub fn info(&self) -> TcpInfo {
        let backoff = if self.params.backoff == Backoff::Exp { self.expiries } else { 0 };
        TcpInfo {
            rto: self.rto(),
            backoff,
            consecutive_rtos: self.expiries,
            unacked: self.in_flight(),
            ..TcpInfo::default()
        }
    }

    /// The first byte that is not acknowledged.
    pub const fn snd_una(&self) -> Seq {
        self.snd_una
    }

    /// The next byte to send; after an expiry this is the first one not acknowledged.
    pub const fn snd_nxt(&self) -> Seq {
        self.snd_nxt
    }

    /// Everything that was written is acknowledged.
    pub fn is_drained(&self) -> bool {
        self.snd_una.max(Seq::FIRST_DATA) >= self.written
    }

    fn on_new_ack(&mut self, ack: Seq, now: Time) -> AckReport {
        let newly_delivered = ack - self.snd_una.max(Seq::FIRST_DATA);
        self.stats.delivered += newly_delivered;
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
        self.expiries = 0;
        let timed = self.timed.filter(|timed| timed.end <= ack);
        let rtt = timed.map(|timed| self.params.tick * (self.ticks(now) - self.ticks(timed.sent_at)));
        if let Some(rtt) = rtt {
            self.timed = None;
            let alpha = self.params.alpha;
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt.scale(alpha) + rtt.scale(1.0 - alpha)));
        }
        self.timer = (self.snd_una < self.snd_max).then(|| self.expiry(now));
        AckReport { rtt, newly_delivered, ..AckReport::default() }
    }

    /// Everything that the window has room for, in whole segments; the last one of the stream may be short.
    fn next_segment(&mut self, now: Time) -> Option<Packet> {
        let unsent = self.written.get().saturating_sub(self.snd_nxt.get());
        let wanted = self.endpoint.mss().min(Bytes::new(unsent));
        let window = self.buffer().min(self.offered);
        if wanted == Bytes::ZERO || self.snd_nxt + wanted > self.snd_una + window {
            return None;
        }
        let end = self.snd_nxt + wanted;
        self.stats.segments_sent += 1;
        self.stats.retransmits += u64::from(self.snd_nxt < self.snd_max);
        Some(self.packet(TcpFlags::ACK, wanted, end, now))
    }

    fn syn(&mut self, now: Time) -> Packet {
        self.packet(TcpFlags::SYN, Bytes::ZERO, Seq::FIRST_DATA, now)
    }

    /// Sends a packet from `snd_nxt` up to `end` and starts the timer if it does not run yet.
    fn packet(&mut self, flags: TcpFlags, payload: Bytes, end: Seq, now: Time) -> Packet {
        let mut packet = Packet::new(self.endpoint.flow, self.endpoint.headers + payload, payload);
        packet.seq = self.snd_nxt;
        packet.ack = if self.state == State::Established { Seq::FIRST_DATA } else { Seq::SYN };
        packet.flags = flags;
        packet.dscp = self.endpoint.dscp;
        self.timed.get_or_insert(Timed { end, sent_at: now });
        self.snd_nxt = end;
        self.snd_max = self.snd_max.max(end);
        if self.timer.is_none() {
            self.timer = Some(self.expiry(now));
        }
        packet
    }

    fn buffer(&self) -> Bytes {
        self.endpoint.mss() * u64::from(self.params.window)
    }

    fn ticks(&self, time: Time) -> u64 {
        time.as_nanos() / self.params.tick.as_nanos()
    }

    /// When a timer that starts now expires: at the tick that completes the RTO, counted in ticks.
    fn expiry(&self, now: Time) -> Time {
        let ticks = self.rto().as_nanos().div_ceil(self.params.tick.as_nanos());
        Time::ZERO + self.params.tick * (self.ticks(now) + ticks)
    }
}
