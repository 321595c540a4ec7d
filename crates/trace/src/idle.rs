//! Connections with too few data to explain: counted and left out, so that a scan of a million ports costs no more than
//! its packets do to read.

use std::fmt;

use crate::connections::{Connection, Side};
use crate::frame::RST;

/// From a single segment nothing follows about the window of its sender, its rate or its controller.
const LEAST_SEGMENTS: u64 = 2;

/// Connections that are named as examples.
const EXAMPLES: usize = 3;

/// Why a connection is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idle {
    Unanswered,
    Refused,
    WithoutData,
    OneSegment,
}

const KINDS: [(Idle, &str); 4] = [
    (Idle::Unanswered, "without an answer"),
    (Idle::Refused, "reset before any data"),
    (Idle::WithoutData, "without data"),
    (Idle::OneSegment, "with a single segment of data"),
];

impl Connection {
    fn idle(&self) -> Option<Idle> {
        let [sender, receiver] = &self.sides;
        // Acknowledgements may tell of data that the capture does not have; one byte may be the FIN.
        if sender.data_segments >= LEAST_SEGMENTS || sender.data_bytes > sender.seen_bytes + 1 {
            return None;
        }
        Some(if sender.data_segments > 0 {
            Idle::OneSegment
        } else if sender.segments == 0 || receiver.segments == 0 {
            Idle::Unanswered
        } else if (sender.flags | receiver.flags) & RST != 0 {
            Idle::Refused
        } else {
            Idle::WithoutData
        })
    }
}

/// What was left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    kinds: [u64; KINDS.len()],
    examples: Vec<String>,
    connections: usize,
}

impl LeftOut {
    /// Looks at all connections: what is left out, and which are kept.
    pub(crate) fn of(connections: &[Connection]) -> (LeftOut, Vec<bool>) {
        let mut left_out = LeftOut { connections: connections.len(), ..LeftOut::default() };
        let kept = connections.iter().map(|connection| left_out.keeps(connection)).collect();
        (left_out, kept)
    }

    fn keeps(&mut self, connection: &Connection) -> bool {
        let Some(why) = connection.idle() else { return true };
        self.kinds[why as usize] += 1;
        if self.examples.len() < EXAMPLES {
            let [sender, receiver] = &connection.sides;
            self.examples.push(format!("{} > {}", end(sender), end(receiver)));
        }
        false
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.kinds == [0; KINDS.len()]
    }
}

fn end(side: &Side) -> String {
    std::net::SocketAddr::new(side.address, side.port).to_string()
}

impl fmt::Display for LeftOut {
    /// A whole sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: u64 = self.kinds.iter().sum();
        write!(
            f,
            "Left out, because they carry too few data: {count} of {} connections, ",
            self.connections
        )?;
        let parts = KINDS.iter().zip(self.kinds).filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts.map(|((_, what), count)| format!("{count} {what}")).collect();
        let more = if count as usize > self.examples.len() { ", ..." } else { "" };
        write!(f, "{} ({}{more}).", parts.join(", "), self.examples.join(", "))
    }
}
