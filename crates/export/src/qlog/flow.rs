//! The logs of one flow.

use super::acks::{Ranges, Replies};
use super::data::Data;
use super::datagrams::Datagrams;
use super::network::{Network, code_point};
use super::numbers::Numbers;
use super::record::{Object, Text};
use super::state::{LOSS, RECOVERY, State};
use super::{Vantage, Version};
use crate::packets::Row;
use crate::pcapng::Point;

pub(super) const FIN: u32 = 0x01;
const SYN: u32 = 0x02;
const ACK: u32 = 0x10;
const ECE: u32 = 0x40;
/// The three bits in which AccECN counts marks (RFC 9768 section 3.2.2): AE, CWR, ECE.
const ACE_SHIFT: u32 = 6;
const ACE_MASK: u32 = 7;

/// What is known of a flow besides its packets.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Its number in the table.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Address and port of the sender, and of the receiver.
    pub ends: [(String, u16); 2],
    /// Data in a full segment.
    pub mss: u32,
    /// The initial window, in bytes.
    pub initial_window: u64,
    /// Segments that may be reordered.
    pub reordering_threshold: u32,
    /// Losses are found by time (RFC 8985).
    pub by_time: bool,
    /// The resolution of its timers, in ms.
    pub granularity: u32,
    /// The modes of a controller that has its own: when each was entered.
    pub modes: Vec<(u64, String)>,
    /// It is a flow over a QUIC stack, whose packets are not known.
    pub over_stack: bool,
    /// When such a stack has found packets lost, and how many.
    pub lost: Vec<(u64, u64)>,
}

/// The logs of a flow while they are written: their texts by vantage point, and what has to be remembered.
#[derive(Debug)]
pub(super) struct FlowLogs {
    pub(super) flow: Flow,
    pub(super) version: Version,
    pub(super) datagrams: Datagrams,
    pub(super) texts: [Option<Text>; 3],
    numbers: Numbers,
    /// What was told of data at the sender, and at the receiver.
    sent: Data,
    arrived: Data,
    replies: Replies,
    pub(super) state: State,
    network: Network,
    /// What has arrived since the receiver's last acknowledgement.
    received: Ranges,
    marks: Marks,
    /// The limit that was written last.
    limit: u64,
    /// Its first packet was seen.
    begun: bool,
    /// The code point of its data, once they are ECN-capable.
    code_point: u8,
}

impl FlowLogs {
    pub(super) fn new(flow: Flow, title: &str, vantages: &[Vantage], version: Version) -> FlowLogs {
        let texts = Vantage::ALL.map(|vantage| {
            vantages.contains(&vantage).then(|| {
                let mut text = Text::default();
                first_record(&mut text, &flow, title, vantage, version);
                text
            })
        });
        FlowLogs {
            flow,
            version,
            datagrams: Datagrams::default(),
            texts,
            numbers: Numbers::default(),
            sent: Data::default(),
            arrived: Data::default(),
            replies: Replies::default(),
            state: State::default(),
            network: Network::default(),
            received: Ranges::default(),
            marks: Marks::default(),
            limit: 0,
            begun: false,
            code_point: 0,
        }
    }

    /// A packet of the flow at a place.
    pub(super) fn row(&mut self, row: &Row, point: Point, queues: &[String]) {
        if self.flow.over_stack {
            self.datagram(row, point);
            if let Some(text) = &mut self.texts[Vantage::Network as usize] {
                self.network.seen(row, point, None, queues, text);
            }
            return;
        }
        if !std::mem::replace(&mut self.begun, true) {
            self.begins(row.t_ns);
        }
        if let (Point::Sender, Some(text)) = (point, &mut self.texts[Vantage::Client as usize]) {
            self.state.modes(row.t_ns, &self.flow.modes, self.version, text);
        }
        match (point, row.is_ack_direction()) {
            (Point::Sender, false) => self.departs(row),
            (Point::Sender, true) => self.acknowledged(row),
            (Point::Receiver, false) => self.arrives(row),
            (Point::Receiver, true) => self.replies(row),
            _ => {}
        }
        let number = if row.is_ack_direction() {
            self.replies.number(row.original())
        } else {
            self.numbers.number(row.original())
        };
        if let Some(text) = &mut self.texts[Vantage::Network as usize] {
            self.network.seen(row, point, number, queues, text);
        }
    }

    /// The first packet: both ends tell who they are, the sender its parameters, too.
    fn begins(&mut self, t_ns: u64) {
        for vantage in [Vantage::Client, Vantage::Server] {
            if let Some(text) = &mut self.texts[vantage as usize] {
                started(text, t_ns, &self.flow, vantage, self.version);
            }
        }
        if let Some(text) = &mut self.texts[Vantage::Client as usize] {
            parameters(text, t_ns, &self.flow, self.version);
        }
    }

    /// A segment leaves the sender. Segments without data are not written, but for SYNs.
    fn departs(&mut self, row: &Row) {
        let text = &mut self.texts[Vantage::Client as usize];
        if row.flags & SYN != 0 {
            if let Some(text) = text {
                handshake(text, row, self.version.names().sent, false);
            }
            return;
        }
        let length = u64::from(row.payload) + u64::from(row.flags & FIN);
        if length == 0 {
            return;
        }
        let number = self.numbers.send(row.id, row.t_ns, row.seq, row.seq + length);
        let Some(text) = text else { return };
        if row.ecn != 0 && self.code_point == 0 {
            self.code_point = row.ecn;
            text.event(row.t_ns, self.version.names().ecn, |data| {
                data.text("new", "capable");
                data.text("code_point", code_point(row.ecn));
            });
        }
        let (lost, sent) = match row.state {
            LOSS => ("pto_expired", "retransmit_timeout"),
            RECOVERY if self.flow.by_time => ("time_threshold", "retransmit_reordered"),
            RECOVERY => ("reordering_threshold", "retransmit_reordered"),
            _ => ("pto_expired", "pto_probe"),
        };
        for number in &self.numbers.lost {
            text.event(row.t_ns, self.version.names().lost, |data| {
                packet_header(data, "1RTT", Some(*number));
                data.text("trigger", lost);
            });
        }
        text.event(row.t_ns, self.version.names().sent, |data| {
            self.sent.packet(data, row, Some(number), self.version);
            if row.retransmission {
                data.text("trigger", sent);
            }
            if row.ecn != self.code_point {
                data.text("ecn", code_point(row.ecn));
            }
        });
        self.state.after(row, !self.flow.modes.is_empty(), self.version, text);
    }

    /// An acknowledgement reaches the sender.
    fn acknowledged(&mut self, row: &Row) {
        let number = self.replies.arrived(row.original());
        let text = &mut self.texts[Vantage::Client as usize];
        if row.flags & SYN != 0 {
            if let Some(text) = text {
                handshake(text, row, self.version.names().received, true);
            }
            self.marks.agreed(row);
            self.limit = row.ack.saturating_add(row.window).saturating_sub(1);
            return;
        }
        if row.flags & ACK == 0 {
            return;
        }
        self.numbers.acknowledge(row.t_ns, row.ack, row.sack());
        if let Some(rtt) = self.numbers.rtt_ns {
            self.state.round_trip(rtt);
        }
        let marks = self.marks.count(row);
        // Data have number 1 onwards.
        let limit = row.ack.saturating_add(row.window).saturating_sub(1);
        let stale = limit > self.limit
            && self.limit.saturating_sub(self.numbers.next().saturating_sub(1)) < row.window / 2;
        let Some(text) = text else { return };
        text.event(row.t_ns, self.version.names().received, |data| {
            sized_header(data, row, number, self.version);
            let max_data = stale.then_some(|frame: &mut Object<'_>| {
                frame.text("frame_type", "max_data");
                frame.number("maximum", limit);
            });
            data.one_or_two("frames", |frame| ack_frame(frame, &self.numbers.acked, marks), max_data);
        });
        if stale {
            self.limit = limit;
        }
    }

    /// Data reach the receiver.
    fn arrives(&mut self, row: &Row) {
        let text = &mut self.texts[Vantage::Server as usize];
        if row.flags & SYN != 0 {
            if let Some(text) = text {
                handshake(text, row, self.version.names().received, false);
            }
            return;
        }
        if row.payload == 0 && row.flags & FIN == 0 {
            return;
        }
        let number = self.numbers.number(row.original());
        if let Some(number) = number {
            self.received.push(number);
        }
        if let Some(text) = text {
            text.event(row.t_ns, self.version.names().received, |data| {
                self.arrived.packet(data, row, number, self.version);
            });
        }
    }

    /// The receiver sends an acknowledgement.
    fn replies(&mut self, row: &Row) {
        let syn = row.flags & SYN != 0;
        let number = (!syn).then(|| self.replies.sent(row.id));
        let text = &mut self.texts[Vantage::Server as usize];
        if let Some(text) = text {
            if syn {
                handshake(text, row, self.version.names().sent, true);
            } else if row.flags & ACK != 0 {
                self.received.sort();
                text.event(row.t_ns, self.version.names().sent, |data| {
                    sized_header(data, row, number, self.version);
                    let none = None::<fn(&mut Object<'_>)>;
                    data.one_or_two("frames", |frame| ack_frame(frame, &self.received, None), none);
                });
            }
        }
        self.received.clear();
    }
}

/// The marks that acknowledgements report.
#[derive(Debug, Default)]
struct Marks {
    accecn: bool,
    /// The three bits of the last acknowledgement.
    ace: Option<u32>,
    count: u64,
}

impl Marks {
    /// The SYN-ACK agrees to AccECN where it has one of the three bits, but not ECE alone (RFC 9768 section 3.1.1).
    fn agreed(&mut self, row: &Row) {
        let ace = row.flags >> ACE_SHIFT & ACE_MASK;
        self.accecn = ace != 0 && ace != 1 && ace != ACE_MASK;
    }

    /// Marks up to an acknowledgement; none before the first.
    fn count(&mut self, row: &Row) -> Option<u64> {
        let ace = row.flags >> ACE_SHIFT & ACE_MASK;
        if self.accecn {
            let before = self.ace.replace(ace);
            self.count += u64::from(before.map_or(0, |before| ace.wrapping_sub(before) & ACE_MASK));
        } else {
            self.count += u64::from(row.flags & ECE != 0);
        }
        (self.count > 0).then_some(self.count)
    }
}

/// Names that differ between versions.
pub(super) struct Names {
    pub(super) sent: &'static str,
    pub(super) received: &'static str,
    pub(super) lost: &'static str,
    ecn: &'static str,
}

impl Version {
    pub(super) const fn names(self) -> &'static Names {
        match self {
            Version::V03 => &Names {
                sent: "transport:packet_sent",
                received: "transport:packet_received",
                lost: "recovery:packet_lost",
                ecn: "recovery:ecn_state_updated",
            },
            Version::Current => &Names {
                sent: "quic:packet_sent",
                received: "quic:packet_received",
                lost: "quic:packet_lost",
                ecn: "quic:ecn_state_updated",
            },
        }
    }
}

/// The header of a packet: SYNs are the initial ones.
pub(super) fn header(data: &mut Object<'_>, row: &Row, number: Option<u64>) {
    let is_syn = row.flags & SYN != 0;
    packet_header(data, if is_syn { "initial" } else { "1RTT" }, if is_syn { Some(0) } else { number });
}

fn packet_header(data: &mut Object<'_>, kind: &str, number: Option<u64>) {
    data.object("header", |header| {
        header.text("packet_type", kind);
        if let Some(number) = number {
            header.number("packet_number", number);
        }
    });
}

/// The header of an acknowledgement. qvis counts the lengths of all packets.
fn sized_header(data: &mut Object<'_>, row: &Row, number: Option<u64>, version: Version) {
    header(data, row, number);
    if version == Version::V03 {
        data.object("raw", |raw| raw.number("length", row.size));
    }
}

fn ack_frame(frame: &mut Object<'_>, acked: &Ranges, marks: Option<u64>) {
    frame.text("frame_type", "ack");
    if !acked.is_empty() {
        frame.ranges("acked_ranges", acked.as_slice());
    }
    if let Some(marks) = marks {
        frame.number("ce", marks);
    }
}

/// A SYN, or its answer.
fn handshake(text: &mut Text, row: &Row, event: &str, answer: bool) {
    text.event(row.t_ns, event, |data| {
        header(data, row, None);
        data.object("raw", |raw| raw.number("length", row.size));
        if answer {
            let limit = row.ack.saturating_add(row.window).saturating_sub(1);
            data.one_or_two(
                "frames",
                |frame| {
                    frame.text("frame_type", "ack");
                    frame.ranges("acked_ranges", &[(0, 0)]);
                },
                Some(|frame: &mut Object<'_>| {
                    frame.text("frame_type", "max_data");
                    frame.number("maximum", limit);
                }),
            );
        }
    });
}

/// The first record of a log.
fn first_record(text: &mut Text, flow: &Flow, title: &str, vantage: Vantage, version: Version) {
    text.record(|file| {
        match version {
            Version::V03 => {
                file.text("qlog_version", "0.3");
                file.text("qlog_format", "JSON-SEQ");
            }
            Version::Current => {
                file.text("file_schema", "urn:ietf:params:qlog:file:sequential");
                file.text("serialization_format", "application/qlog+json-seq");
            }
        }
        file.text("title", title);
        let protocol = if flow.over_stack { "QUIC" } else { "TCP" };
        file.object("trace", |trace| {
            trace.text("title", &flow.name);
            trace.object("common_fields", |common| {
                common.text("group_id", &flow.name);
                match version {
                    Version::V03 => {
                        common.text("time_format", "relative");
                        common.number("reference_time", crate::pcapng::EPOCH.as_millis());
                        common.texts("protocol_type", &[protocol]);
                    }
                    Version::Current => {
                        common.text("time_format", "relative_to_epoch");
                        common.object("reference_time", |time| {
                            time.text("clock_type", "system");
                            time.text("epoch", "2020-01-01T00:00:00.000Z");
                        });
                        common.texts("protocol_types", &[protocol]);
                    }
                }
            });
            trace.object("vantage_point", |point| {
                point.text("name", concat!("windtunnel ", env!("CARGO_PKG_VERSION")));
                point.text("type", vantage.name());
                if vantage == Vantage::Network {
                    point.text("flow", "client");
                }
            });
            if version == Version::Current {
                trace.texts(
                    "event_schemas",
                    match vantage {
                        Vantage::Network => &["urn:windtunnel:qlog:events:queues"],
                        _ => &["urn:ietf:params:qlog:events:quic-12"],
                    },
                );
            }
        });
    });
}

/// The ends of the connection: the log's own comes first.
pub(super) fn started(text: &mut Text, t_ns: u64, flow: &Flow, vantage: Vantage, version: Version) {
    let [sender, receiver] = &flow.ends;
    let (local, remote) = if vantage == Vantage::Client { (sender, receiver) } else { (receiver, sender) };
    match version {
        Version::V03 => text.event(t_ns, "connectivity:connection_started", |data| {
            data.text("ip_version", "ipv4");
            data.text("src_ip", &local.0);
            data.text("dst_ip", &remote.0);
            data.number("src_port", local.1);
            data.number("dst_port", remote.1);
        }),
        Version::Current => text.event(t_ns, "quic:connection_started", |data| {
            for (key, end) in [("local", local), ("remote", remote)] {
                data.object(key, |tuple| {
                    tuple.text("ip_v4", &end.0);
                    tuple.number("port_v4", end.1);
                });
            }
        }),
    }
}

fn parameters(text: &mut Text, t_ns: u64, flow: &Flow, version: Version) {
    let event = match version {
        Version::V03 => "recovery:parameters_set",
        Version::Current => "quic:recovery_parameters_set",
    };
    text.event(t_ns, event, |data| {
        data.number("reordering_threshold", flow.reordering_threshold);
        data.number("timer_granularity", flow.granularity);
        data.number("max_datagram_size", flow.mss);
        data.number("initial_congestion_window", flow.initial_window);
    });
}
