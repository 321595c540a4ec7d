//! Flows of datagrams: constant bit rate, media, and the probe.
//!
//! A datagram has its number in `seq` (from 1 on), the time at which it was sent in `ts_val`, and its round in `ack`.
//! The receiver answers the first datagram of each new round, and every datagram of a probe. The answer has the same
//! number and round, echoes the time in `ts_ecr`, and carries the losses and marks since the last answer in `window`.
//! Sources that want no answers stay in round 0.

use windtunnel_tcp::Endpoint;
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};
use windtunnel_wire::{Ecn, Packet};

use super::config::ApplicationConfig;
use super::media::Pieces;
use super::receipts::{Receipt, Receipts};
use super::responsive::Responsive;

/// IPv4 and UDP.
const HEADERS: Bytes = Bytes::new(28);
/// An answer has a number, a time, and two counts.
const REPORT: Bytes = Bytes::new(60);

/// The sending end of a flow of datagrams.
#[derive(Debug)]
pub(crate) struct DatagramSender {
    endpoint: Endpoint,
    source: Source,
    sent: u64,
    /// When the next one leaves.
    next: Time,
}

/// The receiving end of a flow of datagrams.
#[derive(Debug)]
pub(crate) struct DatagramReceiver {
    endpoint: Endpoint,
    /// It sends each datagram back.
    reflects: bool,
    receipts: Receipts,
    /// What the last datagram told.
    receipt: Option<Receipt>,
    /// The last round that was answered.
    answered: Seq,
    /// Marks since then.
    marks: u64,
    /// Datagrams that were missing then.
    reported_missing: u64,
    answer: Option<Packet>,
}

/// The source, which decides when datagrams leave.
#[derive(Debug)]
enum Source {
    Constant { size: Bytes, interval: Duration },
    Responsive { size: Bytes, rate: Responsive },
    Media(Pieces),
    Probe { size: Bytes, interval: Duration },
}

impl DatagramSender {
    /// The sender of `config`; `None` if it does not send datagrams.
    pub(crate) fn new(config: &ApplicationConfig, endpoint: Endpoint) -> Option<DatagramSender> {
        let source = match config {
            ApplicationConfig::Cbr(params) if params.responsive => {
                Source::Responsive { size: params.packet_size, rate: Responsive::new(params) }
            }
            ApplicationConfig::Cbr(params) => Source::Constant {
                size: params.packet_size,
                interval: params.rate.transfer_time(params.packet_size),
            },
            ApplicationConfig::Media(params) => Source::Media(Pieces::new(params, endpoint.mtu - HEADERS)),
            ApplicationConfig::Probe(params) => {
                Source::Probe { size: params.size, interval: params.interval }
            }
            ApplicationConfig::Bulk
            | ApplicationConfig::Transfer(_)
            | ApplicationConfig::OnOff(_)
            | ApplicationConfig::RequestResponse(_)
            | ApplicationConfig::Poisson(_) => return None,
        };
        Some(DatagramSender { endpoint, source, sent: 0, next: Time::NEVER })
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.next = now;
    }

    pub(crate) fn stop(&mut self) {
        self.next = Time::NEVER;
    }

    /// The source sends at another rate from the next datagram on.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        match &mut self.source {
            Source::Constant { size, interval } => {
                *interval = rate.transfer_time(*size);
                if self.next != Time::NEVER {
                    self.next = self.next.min(now + *interval);
                }
            }
            Source::Responsive { rate: responsive, .. } => responsive.set_full(rate),
            Source::Media(pieces) => pieces.set_rate(rate),
            Source::Probe { .. } => {}
        }
    }

    /// When the next datagram leaves.
    pub(crate) const fn next_timer(&self) -> Time {
        self.next
    }

    /// Datagrams sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// The next datagram that is due; call until there is none.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.next > now {
            return None;
        }
        let (size, round) = match &mut self.source {
            Source::Constant { size, interval } => {
                self.next += *interval;
                (*size, 0)
            }
            Source::Probe { size, interval } => {
                self.next += *interval;
                (*size, self.sent + 1)
            }
            Source::Responsive { size, rate } => {
                let round = rate.round(now);
                self.next += rate.rate().transfer_time(*size);
                (*size, round)
            }
            Source::Media(pieces) => {
                let payload = pieces.take(now);
                self.next = pieces.next_departure(now);
                (payload + HEADERS, 0)
            }
        };
        self.sent += 1;
        let mut packet = datagram(&self.endpoint, size, now);
        packet.seq = Seq::new(self.sent);
        packet.ecn = self.endpoint.ecn;
        packet.ack = Seq::new(round);
        Some(packet)
    }

    /// An answer reached the sender. Returns the round-trip time.
    pub(crate) fn on_answer(&mut self, packet: &Packet, now: Time) -> Duration {
        let rtt = now.since(packet.ts_ecr);
        if let Source::Responsive { rate, .. } = &mut self.source {
            rate.on_report(packet.ack.get(), packet.window, rtt);
        }
        rtt
    }
}

impl DatagramReceiver {
    /// The receiver of `config`'s datagrams.
    pub(crate) fn new(config: &ApplicationConfig, endpoint: Endpoint) -> DatagramReceiver {
        DatagramReceiver {
            endpoint,
            reflects: matches!(config, ApplicationConfig::Probe(_)),
            receipts: Receipts::new(),
            receipt: None,
            answered: Seq::new(0),
            marks: 0,
            reported_missing: 0,
            answer: None,
        }
    }

    /// A datagram reached the receiver. Returns whether it is new.
    pub(crate) fn receive(&mut self, packet: &Packet, now: Time) -> bool {
        let receipt = self.receipts.record(packet.seq.get(), packet.ts_val, now);
        self.marks += u64::from(packet.ecn == Ecn::Ce);
        let owed = if self.reflects { receipt.new } else { packet.ack > self.answered };
        if owed {
            self.answered = packet.ack;
            self.answer(packet, now);
        }
        self.receipt = Some(receipt);
        receipt.new
    }

    /// What the last datagram told, once.
    pub(crate) fn take_receipt(&mut self) -> Option<Receipt> {
        self.receipt.take()
    }

    /// The receiver's answer, if one is due.
    pub(crate) fn poll_answer(&mut self) -> Option<Packet> {
        self.answer.take()
    }

    /// A probe comes back with its own length; a report is short.
    fn answer(&mut self, packet: &Packet, now: Time) {
        let size = if self.reflects { packet.size() } else { REPORT };
        let missing = self.receipts.missing();
        let losses = missing.saturating_sub(self.reported_missing) + std::mem::take(&mut self.marks);
        self.reported_missing = missing;
        let mut answer = datagram(&self.endpoint, size, now);
        answer.ts_ecr = packet.ts_val;
        answer.seq = packet.seq;
        answer.ack = packet.ack;
        answer.window = u16::try_from(losses).unwrap_or(u16::MAX);
        self.answer = Some(answer);
    }
}

fn datagram(endpoint: &Endpoint, size: Bytes, now: Time) -> Packet {
    let mut packet = Packet::new(endpoint.flow, size, size - HEADERS);
    packet.ts_val = now;
    packet.dscp = endpoint.dscp;
    packet
}
