//! What no header shows, as comments of a packet: one comment per fact, so that a display filter finds it
//! (`frame.comment contains "drop:"`).
//!
//! Analysers list each comment among their remarks (Wireshark's expert information), so the sender's state is told where it
//! changes, and not with every packet. What changes with every packet is in the tables `packets` and `cc`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::iter;

use super::{Point, Row};

/// Of Linux: Open, Disorder, CWR, Recovery, Loss.
const STATES: [&str; 5] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];
const LIMITS: [&str; 7] = ["cwnd", "application", "receiver", "pacing", "handshake", "host", "send_buffer"];
const DROPS: [&str; 6] = ["full", "aqm", "wire", "overlimit", "policed", "filtered"];

/// The comments of a packet. Their memory is used again for those of the next.
#[derive(Debug, Default)]
pub(super) struct Comments {
    /// One after the other.
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// What was told last of each sender, by flow and connection.
    told: BTreeMap<(u32, u32), Told>,
}

/// The parts of a sender's state that make a comment: Linux's state, and ssthresh. What limits a paced sender may change with
/// every packet.
type Told = (u8, u64);

impl Comments {
    /// Replaces them with those of `row`.
    pub(super) fn write(&mut self, row: &Row, point: Point) {
        self.text.clear();
        self.ends.clear();
        if row.retransmission && !row.is_ack_direction() {
            self.add(format_args!("retransmission"));
        }
        if row.copy_of > 0 {
            self.add(format_args!("copy of packet {}", row.copy_of));
        }
        if point == Point::Sender && row.cwnd > 0 && self.has_changed(row) {
            self.add_hidden_state(row);
        }
        if row.drop > 0 {
            self.add(format_args!("drop:{}", name(&DROPS, row.drop - 1)));
        }
    }

    /// Whether the sender's state is not what was told of it last; it counts as told from now on.
    fn has_changed(&mut self, row: &Row) -> bool {
        let now = (row.state, row.ssthresh);
        self.told.insert((row.flow, row.connection), now) != Some(now)
    }

    /// The state of the sender after it has sent the packet.
    fn add_hidden_state(&mut self, row: &Row) {
        let Row { cwnd, in_flight, .. } = row;
        let ssthresh = Finite(row.ssthresh);
        let (state, limit) = (name(&STATES, row.state), name(&LIMITS, row.limit));
        let srtt_us = row.srtt_ns / 1000;
        let (ms, us) = (srtt_us / 1000, srtt_us % 1000);
        self.add(format_args!(
            "cwnd={cwnd} ssthresh={ssthresh} in_flight={in_flight} srtt_ms={ms}.{us:03} state={state} limited_by={limit}"
        ));
    }

    fn add(&mut self, comment: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(comment);
        self.ends.push(self.text.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

/// A number whose greatest value stands for infinity.
struct Finite(u64);

impl fmt::Display for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == u64::MAX { f.write_str("inf") } else { self.0.fmt(f) }
    }
}

fn name(names: &[&'static str], code: u8) -> &'static str {
    names.get(usize::from(code)).copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sender's state appears only at the sender, the drop where it happens; all codes have names.
    #[test]
    fn facts_at_their_places() {
        let row = Row {
            retransmission: true,
            cwnd: 14_480,
            ssthresh: u64::MAX,
            srtt_ns: 20_100_999,
            state: 3,
            limit: 3,
            in_flight: 2896,
            drop: 2,
            ..Row::default()
        };
        let mut comments = Comments::default();
        let mut at = |row: &Row, point| {
            comments.write(row, point);
            comments.iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let state = "cwnd=14480 ssthresh=inf in_flight=2896 srtt_ms=20.100 state=Recovery limited_by=pacing";
        let more = Row { cwnd: 15_928, in_flight: 4344, ..row };
        assert_eq!(at(&row, Point::Sender), ["retransmission", state, "drop:aqm"]);
        assert_eq!(at(&row, Point::QueueIn), ["retransmission", "drop:aqm"]);
        assert_eq!(at(&more, Point::Sender), ["retransmission", "drop:aqm"], "told already");
        assert_eq!(at(&Row { connection: 1, ..more }, Point::Sender).len(), 3, "another connection");
        assert_eq!(at(&Row { limit: 0, ..more }, Point::Sender).len(), 2, "limited by something else");
        assert_eq!(at(&Row { state: 0, ..more }, Point::Sender).len(), 3, "another state");
        assert_eq!(at(&Row { ssthresh: 14_480, ..more }, Point::Sender).len(), 3, "another ssthresh");
        let copy = Row { copy_of: 34, ..row };
        assert_eq!(at(&copy, Point::QueueIn), ["retransmission", "copy of packet 34", "drop:aqm"]);
        assert!(at(&Row { dir: 1, ..Row::default() }, Point::Sender).is_empty());
    }
}
