//! A TCP flow that is logged in the terms of QUIC, as the segments that a capture would show: stream 0 has its bytes, and packet
//! numbers say which transmission was acknowledged.

use std::collections::BTreeMap;

use super::event::{Data, Frame};
use crate::frame::{ACK, FIN, SYN};
use crate::segments::{MAX_SACK, Row, Segments};

const ECE: u32 = 0x40;

/// What the sender and the receiver have, as the log tells it.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    flow: u32,
    /// The bytes of each transmission that was not acknowledged.
    sent: BTreeMap<u64, (u64, u64)>,
    /// What the receiver has above the first hole: ranges that do not touch.
    received: BTreeMap<u64, u64>,
    /// The receiver has all below.
    ack: u64,
    limit: u64,
    /// Where the data end that were sent so far: a packet without frames carries what follows.
    end: u64,
    /// The length of the last packet's headers, once it is told.
    headers: Option<u64>,
    ce: u64,
    ecn: u8,
    /// Segments with data, and acknowledgements.
    pub(super) segments: u64,
    pub(super) acks: u64,
    pub(super) largest: u64,
}

impl Bytes {
    pub(super) fn new(flow: u32) -> Bytes {
        Bytes { flow, ack: 1, end: 1, ..Bytes::default() }
    }

    /// The receiver's limit for the bytes of the stream. Data have number 1 onwards.
    pub(super) fn limited(&mut self, bytes: u64) {
        self.limit = self.limit.max(bytes.saturating_add(1));
    }

    pub(super) const fn limit_known(&self) -> bool {
        self.limit > 0
    }

    /// The SYN, or its answer.
    pub(super) fn handshake(&mut self, t_ns: u64, answer: bool, rows: &mut Segments) {
        if answer {
            self.row(t_ns, 1, SYN | ACK, (0, 0), &[], rows);
        } else {
            self.row(t_ns, 0, SYN, (0, 0), &[], rows);
        }
    }

    /// A transmission. One that carries no data, and does not end the stream, is no segment.
    pub(super) fn sends(&mut self, t_ns: u64, number: u64, data: &Data, rows: &mut Segments) {
        let raw = &data.raw.0;
        let (whole, payload) = (raw.length.whole(), raw.payload_length.whole());
        if let (Some(whole), Some(payload)) = (whole, payload) {
            self.headers = Some(whole.saturating_sub(payload));
        }
        let frame = data.frames.0.iter().map(|part| &part.0).find(|f| f.frame_type.text() == "stream");
        if frame.is_none() && !data.frames.0.is_empty() {
            return;
        }
        let length = frame
            .and_then(|frame| frame.length.whole().or_else(|| frame.raw.0.payload_length.whole()))
            .or(payload)
            .or_else(|| Some(whole?.saturating_sub(self.headers?)))
            .unwrap_or(0)
            .min(u64::from(u32::MAX));
        let start = frame.map_or(self.end, |frame| frame.offset.whole().unwrap_or(0).min(1 << 62) + 1);
        let fin = frame.is_some_and(|frame| frame.fin.is_true());
        if length == 0 && !fin {
            return;
        }
        self.end = self.end.max(start + length + u64::from(fin));
        self.sent.insert(number, (start, start + length + u64::from(fin)));
        self.segments += u64::from(length > 0);
        self.largest = self.largest.max(length);
        self.row(t_ns, 0, if fin { ACK | FIN } else { ACK }, (start, length), &[], rows);
        if let (Some(ecn), Some(row)) = (code_point(data.ecn.text()), rows.last_mut()) {
            row.class = Row::class(0, ecn);
        }
    }

    /// A transmission is lost: it is not acknowledged.
    pub(super) fn lost(&mut self, number: u64) {
        self.sent.remove(&number);
    }

    /// Packets of the sender have this code point from now on.
    pub(super) fn ecn(&mut self, name: &str) {
        self.ecn = code_point(name).unwrap_or(0);
    }

    /// An acknowledgement, as one row for each four ranges that it reports above the first hole.
    pub(super) fn acknowledged(&mut self, t_ns: u64, frame: &Frame, rows: &mut Segments) {
        let mut new = Vec::new();
        for range in &frame.acked_ranges.0 {
            let Some(first) = range.0.first().and_then(super::Value::whole) else { continue };
            let last = range.0.get(1).and_then(super::Value::whole).unwrap_or(first);
            if last < first {
                continue;
            }
            while let Some((&number, &bytes)) = self.sent.range(first..=last).next() {
                self.sent.remove(&number);
                self.receive(bytes);
                new.push(bytes.0);
            }
        }
        while let Some((_, end)) = self.received.first_key_value().filter(|(start, _)| **start <= self.ack) {
            self.ack = self.ack.max(*end);
            self.received.pop_first();
        }
        // As RFC 2018 section 4 has it, what is new comes first.
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        for start in new.into_iter().rev().filter(|start| *start >= self.ack) {
            let block = self.received.range(..=start).next_back().map(|(start, end)| (*start, *end));
            blocks.extend(block.filter(|block| !blocks.contains(block)));
        }
        if blocks.is_empty() {
            blocks.extend(self.received.last_key_value().map(|(start, end)| (*start, *end)));
        }
        let marked = frame.ce.whole().is_some_and(|ce| ce > self.ce);
        self.ce = self.ce.max(frame.ce.whole().unwrap_or(0));
        self.acks += 1;
        let flags = if marked { ACK | ECE } else { ACK };
        self.row(t_ns, 1, flags, (1, 0), blocks.get(..MAX_SACK).unwrap_or(&blocks), rows);
        for more in blocks.chunks(MAX_SACK).skip(1) {
            self.row(t_ns, 1, flags, (1, 0), more, rows);
        }
    }

    /// Adds bytes to what the receiver has.
    fn receive(&mut self, (mut start, mut end): (u64, u64)) {
        while let Some((&from, &to)) = self.received.range(..=end).next_back().filter(|(_, to)| **to >= start)
        {
            (start, end) = (start.min(from), end.max(to));
            self.received.remove(&from);
        }
        self.received.insert(start, end);
    }

    fn row(
        &self,
        t_ns: u64,
        dir: u8,
        flags: u32,
        (seq, payload): (u64, u64),
        sack: &[(u64, u64)],
        rows: &mut Segments,
    ) {
        let ack = match (flags & ACK, dir) {
            (0, _) => 0,
            (_, 0) => 1,
            _ => self.ack,
        };
        let row = Row {
            t_ns,
            seq,
            ack,
            window: self.limit.saturating_sub(self.ack),
            flow: self.flow,
            payload: payload as u32,
            flags: flags as u16,
            dir,
            class: if dir == 0 && flags & SYN == 0 { Row::class(0, self.ecn) } else { 0 },
            ..Row::default()
        };
        rows.push(row, sack);
    }
}

/// ECN code points by their names in qlog (RFC 3168 section 5).
fn code_point(name: &str) -> Option<u8> {
    ["Not-ECT", "ECT(1)", "ECT(0)", "CE"]
        .iter()
        .position(|code_point| *code_point == name)
        .map(|position| position as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(offset: u64, length: u64) -> Data {
        let text = format!(
            r#"{{"frames":[{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":{length}}}]}}"#
        );
        serde_json::from_str(&text).expect("data")
    }

    fn ack(ranges: &str) -> Frame {
        serde_json::from_str(&format!(r#"{{"frame_type":"ack","acked_ranges":{ranges}}}"#)).expect("a frame")
    }

    /// A packet without frames carries what follows the data so far, as long as its headers are those of the packet before.
    #[test]
    fn what_is_not_told() {
        let (mut bytes, mut rows) = (Bytes::new(0), Segments::default());
        for (number, text) in [
            (0, r#"{"raw":{"length":152},"frames":[{"frame_type":"max_data"}]}"#),
            (1, r#"{"raw":{"length":152}}"#),
            (
                2,
                r#"{"raw":{"length":152,"payload_length":100},"frames":[{"frame_type":"stream","offset":0}]}"#,
            ),
            (3, r#"{"raw":{"length":152}}"#),
            (4, r#"{"raw":{"length":92}}"#),
            (5, r#"{"raw":{"length":152},"frames":[{"frame_type":"stream","offset":100}]}"#),
            (6, r#"{"raw":{"length":160,"payload_length":100}}"#),
            (7, r#"{"raw":{"length":160},"frames":[{"frame_type":"stream","offset":440,"fin":true}]}"#),
            (8, r#"{"raw":{"length":160}}"#),
        ] {
            bytes.sends(number, number, &serde_json::from_str(text).expect("data"), &mut rows);
        }
        assert!(rows.rows().map(|row| row.t_ns).eq(2..=8));
        assert!(rows.rows().map(|row| row.seq).eq([1, 101, 201, 101, 241, 441, 542]));
        assert!(rows.rows().map(|row| row.payload).eq([100, 100, 40, 100, 100, 100, 100]));
    }

    /// A loss: the acknowledgements are those of RFC 2018 section 4, whose newest block comes first.
    #[test]
    fn cumulative_and_selective() {
        let (mut bytes, mut rows) = (Bytes::new(3), Segments::default());
        bytes.limited(10_000);
        for n in 0..8 {
            bytes.sends(n, n, &data(100 * n, 100), &mut rows);
        }
        for (ranges, number, blocks) in [
            ("[[0]]", 101, &[][..]),
            ("[[2,3]]", 101, &[(201, 401)]),
            ("[[5]]", 101, &[(501, 601)]),
            ("[[7]]", 101, &[(701, 801)]),
            ("[[7]]", 101, &[(701, 801)]),
            ("[[4],[6]]", 101, &[(201, 801)]),
        ] {
            bytes.acknowledged(20, &ack(ranges), &mut rows);
            let (row, sack) = rows.with_sack().last().expect("a row");
            assert_eq!((row.ack, sack), (number, blocks), "{ranges}");
        }
        bytes.sends(30, 8, &data(100, 100), &mut rows);
        bytes.acknowledged(40, &ack("[[8]]"), &mut rows);
        let (row, sack) = rows.with_sack().last().expect("a row");
        assert_eq!((row.ack, row.window, sack.len()), (801, 10_001 - 801, 0));
        bytes.lost(1);
        assert!(bytes.received.is_empty() && bytes.sent.is_empty());
    }
}
