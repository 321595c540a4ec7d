//! The log of the path: what queues did to the packets of a flow.
//!
//! No schema for queues is standardised. The events are of the namespace `windtunnel`: `queue_updated` when a packet leaves a
//! queue (`queue`, `sojourn` in milliseconds, its own serialisation included), `packet_marked` (`queue`, the code points `old` and `new`), and `packet_dropped`
//! (`trigger`, and `queue` if it was in one). The header is that of the packet at its sender; a datagram of a QUIC stack has its
//! length. `to` tells the direction.

use std::collections::BTreeMap;

use super::flow::header;
use super::record::{Millis, Object, Text};
use crate::packets::Row;
use crate::pcapng::Point;

const TCP: u8 = 6;
const CODE_POINTS: [&str; 4] = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
const DROPS: [&str; 6] = ["full", "aqm", "wire", "overlimit", "policed", "filtered"];

/// The packets that are in queues: their memory is that of these queues.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// By identity: since when, with which code point.
    waiting: BTreeMap<u64, (u64, u8)>,
}

impl Network {
    /// A packet was seen at `point`; `number` is its packet number.
    pub(super) fn seen(
        &mut self,
        row: &Row,
        point: Point,
        number: Option<u64>,
        queues: &[String],
        text: &mut Text,
    ) {
        let queue = queues.get(row.queue as usize).map(String::as_str);
        let packet = |data: &mut Object<'_>| {
            if row.proto == TCP {
                header(data, row, number);
            } else {
                data.object("raw", |raw| raw.number("length", row.payload));
            }
            data.text("to", if row.is_ack_direction() { "client" } else { "server" });
            if let Some(queue) = queue {
                data.text("queue", queue);
            }
        };
        match point {
            // One that is dropped in the queue does not leave it.
            Point::QueueIn if row.drop == 0 => {
                self.waiting.insert(row.id, (row.t_ns, row.ecn));
            }
            Point::QueueOut => {
                let Some((since, ecn)) = self.waiting.remove(&row.id) else { return };
                if ecn != row.ecn {
                    text.event(row.t_ns, "windtunnel:packet_marked", |data| {
                        packet(data);
                        data.text("old", code_point(ecn));
                        data.text("new", code_point(row.ecn));
                    });
                }
                text.event(row.t_ns, "windtunnel:queue_updated", |data| {
                    packet(data);
                    data.number("sojourn", Millis(row.t_ns.saturating_sub(since)));
                });
            }
            _ => {}
        }
        if row.drop > 0 {
            text.event(row.t_ns, "windtunnel:packet_dropped", |data| {
                packet(data);
                data.text("trigger", DROPS.get(usize::from(row.drop - 1)).copied().unwrap_or("unknown"));
            });
        }
    }
}

pub(super) fn code_point(ecn: u8) -> &'static str {
    CODE_POINTS[usize::from(ecn & 3)]
}
