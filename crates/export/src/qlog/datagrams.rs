//! The logs of a flow over a real QUIC stack, as far as a run records it.
//!
//! Its packets are encrypted, so that a run has their datagrams: when each left and arrived, how long it was, its code point. With
//! each departure it has the stack's own window, flight, ssthresh and smoothed round-trip time. Lost bytes come from the table
//! of the controller's state; the log has a packet without a number for each full datagram of them. Packet numbers, frames
//! and the single round-trip times are missing. In version 0.3 a datagram is a packet of unknown type: qvis takes its axes from
//! packets.

use super::flow::{Flow, FlowLogs, started};
use super::network::code_point;
use super::record::Text;
use super::{Vantage, Version};
use crate::packets::Row;
use crate::pcapng::Point;

/// What is remembered of a flow's datagrams.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    begun: bool,
    /// The entries of the flow's losses that were told.
    lost: usize,
    /// The code points told last: at the sender of what it has sent and received, then at the receiver.
    ecn: [[Option<u8>; 2]; 2],
}

impl FlowLogs {
    /// A datagram of the flow at a place.
    pub(super) fn datagram(&mut self, row: &Row, point: Point) {
        let version = self.version;
        if !std::mem::replace(&mut self.datagrams.begun, true) {
            for vantage in [Vantage::Client, Vantage::Server] {
                if let Some(text) = &mut self.texts[vantage as usize] {
                    started(text, row.t_ns, &self.flow, vantage, version);
                }
            }
        }
        let (vantage, is_sent) = match point {
            Point::Sender => (Vantage::Client, !row.is_ack_direction()),
            Point::Receiver => (Vantage::Server, row.is_ack_direction()),
            Point::QueueIn | Point::QueueOut => return,
        };
        let Some(text) = &mut self.texts[vantage as usize] else { return };
        if vantage == Vantage::Client {
            self.datagrams.losses(row.t_ns, &self.flow, version, text);
            self.state.modes(row.t_ns, &self.flow.modes, version, text);
        }
        let told = &mut self.datagrams.ecn[usize::from(vantage == Vantage::Server)][usize::from(is_sent)];
        let is_new = told.replace(row.ecn) != Some(row.ecn);
        text.event(row.t_ns, name(version, is_sent), |data| match version {
            Version::V03 => {
                data.object("header", |header| header.text("packet_type", "unknown"));
                data.object("raw", |raw| raw.number("length", row.payload));
            }
            Version::Current => {
                data.only("raw", |raw| raw.number("length", row.payload));
                if is_new {
                    data.texts("ecn", &[code_point(row.ecn)]);
                }
            }
        });
        if vantage == Vantage::Client && is_sent {
            self.state.after(row, !self.flow.modes.is_empty(), version, text);
        }
    }
}

impl Datagrams {
    /// The losses up to `t_ns`.
    fn losses(&mut self, t_ns: u64, flow: &Flow, version: Version, text: &mut Text) {
        while let Some((at, packets)) = flow.lost.get(self.lost).filter(|(at, _)| *at <= t_ns) {
            for _ in 0..*packets {
                text.event(*at, version.names().lost, |_| {});
            }
            self.lost += 1;
        }
    }
}

const fn name(version: Version, is_sent: bool) -> &'static str {
    match (version, is_sent) {
        (Version::V03, true) => version.names().sent,
        (Version::V03, false) => version.names().received,
        (Version::Current, true) => "quic:udp_datagrams_sent",
        (Version::Current, false) => "quic:udp_datagrams_received",
    }
}
