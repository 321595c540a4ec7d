//! A sender's packets, followed by their numbers as RFC 9002 does it: what was in flight at each departure, which data were sent
//! again, how long each round trip took. The rows are those of a walk through TCP segments.
//!
//! A window of QUIC counts whole packets (RFC 9002 section 7), so that the payload of a row is the packet's length.

use std::collections::BTreeMap;

use super::event::{Data, Frame, Value};
use crate::walk::{AckKind, SendKind, Walked};

/// Packets that must be acknowledged above one before it is lost (RFC 9002 section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// How far below the greatest acknowledged number a lost packet is remembered, in case it arrives after all.
const REMEMBERED: u64 = 4096;
/// The least silence before a retransmission that counts as a timeout's: that of TCP in use (Linux).
const LEAST_TIMEOUT_NS: u64 = 200_000_000;
/// Round trips for which a round waits until its losses are repaired.
const LONGEST_REPAIR: u32 = 3;
/// A packet without a length: the smallest that every path carries (RFC 9000 section 14).
const USUAL_LENGTH: u64 = 1200;
/// A packet without known frames carries data if it is at least as long: acknowledgements are shorter.
const LEAST_DATA: u64 = 128;
/// Streams whose ends are remembered.
const MOST_STREAMS: usize = 1 << 16;
const UNKNOWN: u64 = u64::MAX;
/// The flag by which TCP's acknowledgements echo a mark.
const ECE: u32 = 0x40;

#[derive(Clone, Copy, Debug)]
struct Sent {
    t_ns: u64,
    length: u64,
    /// It carries data.
    data: bool,
    lost: bool,
    /// The stream and the offset at which its data begin.
    start: Option<(u64, u64)>,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    /// It must be acknowledged.
    eliciting: bool,
    /// Bytes of streams, datagrams included.
    data: u64,
    /// Of these, sent before.
    again: u64,
}

/// The sender's side of a connection.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "the field's word")]
pub(super) struct Flight {
    flow: u32,
    sent: BTreeMap<u64, Sent>,
    /// Where each stream ends so far.
    streams: BTreeMap<u64, u64>,
    /// Of data in streams, where they begin: the last packet that carried them.
    carriers: BTreeMap<(u64, u64), u64>,
    /// Bytes of all streams so far, as a connection's limit counts them.
    stream_bytes: u64,
    limit: Option<u64>,
    next_number: u64,
    next_seq: u64,
    in_flight: u64,
    /// Lost, and not sent again so far; and the part of it for which no round waits any longer.
    missing: u64,
    given_up: u64,
    largest_acked: Option<u64>,
    /// All below were examined for losses.
    looked: u64,
    round: u32,
    /// The round ends when all below this number are acknowledged, and what was lost of them.
    round_end: u64,
    /// The round trips for which it has waited for that, and the number whose acknowledgement ends the next of them.
    waited: u32,
    patience: u64,
    /// The last packet that carried lost data again.
    repair: u64,
    last_ack_ns: Option<u64>,
    last_send_ns: u64,
    srtt_ns: u64,
    latest_rtt_ns: u64,
    ce: u64,
    /// The longest packet with data.
    pub(super) largest: u64,
    /// Packets with data.
    pub(super) packets: u64,
    pub(super) acks: u64,
    pub(super) offsets_known: bool,
}

impl Flight {
    pub(super) fn new(flow: u32) -> Flight {
        Flight {
            flow,
            sent: BTreeMap::new(),
            streams: BTreeMap::new(),
            carriers: BTreeMap::new(),
            stream_bytes: 0,
            limit: None,
            next_number: 0,
            next_seq: 1,
            in_flight: 0,
            missing: 0,
            given_up: 0,
            largest_acked: None,
            looked: 0,
            round: 0,
            round_end: 0,
            waited: 0,
            patience: 0,
            repair: 0,
            last_ack_ns: None,
            last_send_ns: 0,
            srtt_ns: 0,
            latest_rtt_ns: 0,
            ce: 0,
            largest: 0,
            packets: 0,
            acks: 0,
            offsets_known: false,
        }
    }

    /// The peer's limit for the bytes of all streams.
    pub(super) fn limited(&mut self, bytes: u64) {
        self.limit = Some(self.limit.map_or(bytes, |limit| limit.max(bytes)));
    }

    pub(super) const fn limit_known(&self) -> bool {
        self.limit.is_some()
    }

    /// The log's owner sends a packet.
    pub(super) fn sends(&mut self, t_ns: u64, number: u64, data: &Data, out: &mut Walked) {
        let content = self.content(data);
        if number >= self.next_number {
            self.next_number = number.saturating_add(1);
        }
        if !content.eliciting {
            return;
        }
        let length = Flight::length(data, content);
        let is_data = content.data > 0;
        if content.again > 0 {
            self.find_late(t_ns, data);
        }
        let kind = self.kind(t_ns, data, content);
        let start = data.frames.0.iter().find_map(|frame| start_of(&frame.0));
        let sent = Sent { t_ns, length, data: is_data, lost: false, start };
        if let Some(before) = self.sent.insert(number, sent) {
            self.forget(number, before);
            self.leaves(before);
        }
        if let Some(start) = start {
            self.carriers.insert(start, number);
        }
        self.in_flight += length;
        if is_data {
            if kind == SendKind::New {
                self.next_seq += length;
            } else {
                self.found(length);
                self.repair = self.repair.max(number);
            }
            self.largest = self.largest.max(length);
            self.packets += 1;
            self.departure(t_ns, length, kind, out);
        }
        self.last_send_ns = t_ns;
    }

    fn departure(&mut self, t_ns: u64, length: u64, kind: SendKind, out: &mut Walked) {
        let sends = &mut out.sends;
        sends.t_ns.push(t_ns);
        sends.flow.push(self.flow);
        sends.seq.push(self.next_seq.saturating_sub(length));
        sends.payload.push(u32::try_from(length).unwrap_or(u32::MAX));
        sends.kind.push(kind as u8);
        sends.in_flight.push(self.in_flight);
        sends.room.push(self.limit.map_or(UNKNOWN, |limit| limit.saturating_sub(self.stream_bytes)));
        sends.round.push(self.round);
        sends.since_ack_ns.push(self.last_ack_ns.map_or(UNKNOWN, |ack| t_ns.saturating_sub(ack)));
        sends.back_ns.push(0);
        sends.ecn.push(0);
        sends.dscp.push(0);
    }

    fn content(&mut self, data: &Data) -> Content {
        if data.frames.0.is_empty() {
            let carries = length_of(data).is_some_and(|length| length >= LEAST_DATA);
            return Content { eliciting: carries, data: u64::from(carries), again: 0 };
        }
        let mut content = Content::default();
        for frame in &data.frames.0 {
            match frame.0.frame_type.text() {
                "ack" | "ack_ecn" | "padding" | "connection_close" => {}
                "stream" => {
                    content.eliciting = true;
                    self.stream(&frame.0, data, &mut content);
                }
                "datagram" => {
                    content.eliciting = true;
                    content.data += 1;
                }
                _ => content.eliciting = true,
            }
        }
        content
    }

    /// Bytes of a stream: below its end so far they were sent before.
    fn stream(&mut self, frame: &Frame, data: &Data, content: &mut Content) {
        let length = frame
            .length
            .whole()
            .or_else(|| frame.raw.0.payload_length.whole())
            .or_else(|| data.raw.0.payload_length.whole());
        // The end of a stream alone.
        let Some(length) = length.filter(|length| *length > 0) else { return };
        content.data = content.data.saturating_add(length);
        let (Some(offset), Some(stream)) = (frame.offset.whole(), frame.stream_id.whole()) else { return };
        if self.streams.len() == MOST_STREAMS && !self.streams.contains_key(&stream) {
            return;
        }
        self.offsets_known = true;
        let end = self.streams.entry(stream).or_default();
        let new = offset.saturating_add(length).saturating_sub(*end).min(length);
        *end = (*end).max(offset.saturating_add(length));
        self.stream_bytes = self.stream_bytes.saturating_add(new);
        content.again = content.again.saturating_add(length - new);
    }

    fn length(data: &Data, content: Content) -> u64 {
        let length = length_of(data).or((content.data > 1).then_some(content.data));
        // No packet is longer (RFC 9000 section 14.1 counts what UDP can carry).
        length.unwrap_or(USUAL_LENGTH).clamp(1, 1 << 16)
    }

    fn kind(&self, t_ns: u64, data: &Data, content: Content) -> SendKind {
        let again = if self.offsets_known {
            content.again > 0 && content.again >= content.data.saturating_sub(content.again)
        } else {
            // The first departures after a loss are its retransmissions.
            self.missing > self.given_up && content.data > 0
        };
        if !again {
            return SendKind::New;
        }
        let silence = t_ns.saturating_sub(self.last_ack_ns.unwrap_or(0).max(self.last_send_ns));
        match data.trigger.text() {
            "retransmit_timeout" => SendKind::Timeout,
            "pto_probe" => SendKind::Probe,
            _ if self.missing > 0 => SendKind::FastRetransmit,
            _ if silence >= LEAST_TIMEOUT_NS.max(self.srtt_ns) => SendKind::Timeout,
            "retransmit_reordered" => SendKind::FastRetransmit,
            _ => SendKind::Probe,
        }
    }

    /// A packet is in flight no longer, if it was.
    fn leaves(&mut self, sent: Sent) {
        if !sent.lost {
            self.in_flight -= sent.length;
        }
    }

    /// Of what was missing, this much was sent again or has arrived after all.
    fn found(&mut self, length: u64) {
        self.missing = self.missing.saturating_sub(length);
        self.given_up = self.given_up.min(self.missing);
    }

    fn forget(&mut self, number: u64, sent: Sent) {
        if let Some(start) = sent.start.filter(|start| self.carriers.get(start) == Some(&number)) {
            self.carriers.remove(&start);
        }
    }

    /// Data are sent again: the packet that carried them is lost, if a later one was acknowledged and more than the time threshold
    /// has passed (RFC 9002 section 6.1.2). Stacks look at the time before they do so, and not all of them log what they find.
    fn find_late(&mut self, t_ns: u64, data: &Data) {
        let longest = self.srtt_ns.max(self.latest_rtt_ns);
        let late: Vec<u64> = (data.frames.0.iter())
            .filter_map(|frame| start_of(&frame.0))
            .filter_map(|start| {
                self.carriers.range((start.0, 0)..=start).next_back().map(|(_, number)| *number)
            })
            .filter(|number| self.largest_acked.is_some_and(|largest| largest > *number))
            .filter(|number| {
                self.sent
                    .get(number)
                    .is_some_and(|sent| t_ns.saturating_sub(sent.t_ns) >= longest + longest / 8)
            })
            .collect();
        for number in late {
            self.lost(number);
        }
    }

    /// The log says that a packet is lost.
    pub(super) fn lost(&mut self, number: u64) {
        if let Some(sent) = self.sent.get_mut(&number).filter(|sent| !sent.lost) {
            sent.lost = true;
            self.in_flight -= sent.length;
            if sent.data {
                self.missing += sent.length;
            }
        }
    }

    /// An acknowledgement reaches the log's owner.
    pub(super) fn acknowledged(&mut self, t_ns: u64, frame: &Frame, out: &mut Walked) {
        let (mut acked, mut rtt) = (0, 0);
        let mut ahead = false;
        for range in &frame.acked_ranges.0 {
            let Some(first) = range.0.first().and_then(Value::whole) else { continue };
            let last = range.0.get(1).and_then(Value::whole).unwrap_or(first);
            if last < first {
                continue;
            }
            ahead |= last >= self.next_number;
            while let Some((&number, _)) = self.sent.range(first..=last).next_back() {
                let Some(sent) = self.sent.remove(&number) else { break };
                if sent.lost && sent.data {
                    self.found(sent.length);
                }
                self.forget(number, sent);
                self.leaves(sent);
                acked += if sent.data { sent.length } else { 0 };
                let newest = self.largest_acked.is_none_or(|largest| number > largest);
                if newest {
                    rtt = t_ns.saturating_sub(sent.t_ns).max(1);
                }
                self.largest_acked = self.largest_acked.max(Some(number));
            }
        }
        self.find_lost();
        if rtt > 0 {
            self.latest_rtt_ns = rtt;
            self.srtt_ns = if self.srtt_ns == 0 { rtt } else { self.srtt_ns - self.srtt_ns / 8 + rtt / 8 };
        }
        if acked > 0 {
            self.end_round();
        }
        self.last_ack_ns = Some(t_ns);
        let ce = frame.ce.whole().or_else(|| frame.ecn.0.get(2).and_then(Value::whole));
        let marked = ce.is_some_and(|ce| ce > self.ce);
        self.ce = self.ce.max(ce.unwrap_or(0));
        self.acks += 1;
        let acks = &mut out.acks;
        acks.t_ns.push(t_ns);
        acks.flow.push(self.flow);
        acks.ack.push(self.next_seq.saturating_sub(self.in_flight + self.missing - self.given_up));
        acks.acked.push(acked);
        acks.delivered.push(acked);
        acks.rtt_ns.push(rtt);
        acks.in_flight.push(self.in_flight);
        acks.round.push(self.round);
        acks.kind
            .push(if acked == 0 { AckKind::DUPLICATE } else { 0 } | if ahead { AckKind::AHEAD } else { 0 });
        acks.flags.push(if marked { ECE as u16 } else { 0 });
    }

    /// A round trip ends when all packets are acknowledged that were in flight when it began, and, as in TCP, what was lost of
    /// them was sent again and arrived. Data that are not sent again delay it by some round trips only.
    fn end_round(&mut self) {
        let largest = self.largest_acked.unwrap_or(0);
        if largest.saturating_add(1) < self.round_end {
            return;
        }
        let repaired = self.missing == self.given_up && largest >= self.repair;
        if !repaired && self.waited < LONGEST_REPAIR {
            if largest >= self.patience {
                self.waited += 1;
                self.patience = self.next_number;
            }
            return;
        }
        if !repaired {
            self.given_up = self.missing;
        }
        self.round += 1;
        self.waited = 0;
        self.round_end = self.next_number;
        self.patience = self.next_number;
    }

    fn oldest(&self) -> Option<u64> {
        self.sent.first_key_value().map(|(number, _)| *number)
    }

    /// Packets that enough later ones have overtaken are lost; those of long ago are forgotten.
    fn find_lost(&mut self) {
        let Some(largest) = self.largest_acked else { return };
        let overtaken = largest.saturating_sub(PACKET_THRESHOLD - 1);
        let forgotten = largest.saturating_sub(REMEMBERED);
        let numbers: Vec<u64> =
            self.sent.range(self.looked..overtaken.max(self.looked)).map(|(n, _)| *n).collect();
        for number in numbers {
            self.lost(number);
        }
        self.looked = self.looked.max(overtaken);
        while self.oldest().is_some_and(|oldest| oldest < forgotten) {
            if let Some((number, sent)) = self.sent.pop_first() {
                self.forget(number, sent);
                self.leaves(sent);
            }
        }
    }
}

/// The stream and the offset at which a frame's data begin.
fn start_of(frame: &Frame) -> Option<(u64, u64)> {
    (frame.frame_type.text() == "stream").then(|| frame.stream_id.whole().zip(frame.offset.whole())).flatten()
}

fn length_of(data: &Data) -> Option<u64> {
    let Data { header, raw, packet_size, .. } = data;
    [&raw.0.length, &header.0.packet_size, packet_size]
        .into_iter()
        .find_map(Value::whole)
        .filter(|length| *length > 0)
}
