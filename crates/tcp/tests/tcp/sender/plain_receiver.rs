//! A receiver that can be followed by hand.

use std::collections::BTreeSet;

use windtunnel_tcp::HEADERS;
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Ecn, FlowId, Options, Packet, SackBlock, TcpFlags};

/// A receiver that acknowledges every `every`-th in-order segment, and all others at once.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the receiver")]
#[derive(Debug)]
pub(crate) struct PlainReceiver {
    pub(super) nxt: u64,
    /// Received out of order, the most recent first.
    pub(super) islands: Vec<(u64, u64)>,
    pub(super) sack: bool,
    pub(super) every: u32,
    pub(super) pending: u32,
    pub(super) ecn: bool,
    pub(super) ece: bool,
    pub(super) esce: bool,
    /// The first bytes of what arrived as ECT(1), if that is a nonce (RFC 3540).
    pub(super) nonces: Option<BTreeSet<u64>>,
    pub(super) ts_recent: Time,
    pub(super) window: u16,
}

impl PlainReceiver {
    pub(super) fn on_segment(&mut self, packet: &Packet, now: Time) -> Option<Packet> {
        if packet.flags.contains(TcpFlags::SYN) {
            self.ts_recent = packet.ts_val;
            let asked = packet.flags.contains(TcpFlags::ECE | TcpFlags::CWR);
            let mut answer = self.ack(now, &[]);
            answer.flags = (TcpFlags::SYN | TcpFlags::ACK).with_if(TcpFlags::ECE, asked && self.ecn);
            let offered = packet.options().and_then(|options| options.mds_capable);
            answer.set_options(Options {
                sack_permitted: self.sack,
                mds_capable: offered.filter(|_| asked && self.ecn),
                ..Options::default()
            });
            return Some(answer);
        }
        let fin = u64::from(packet.flags.contains(TcpFlags::FIN));
        if packet.payload() == Bytes::ZERO && fin == 0 {
            return None;
        }
        let (start, end) = (packet.seq.get(), packet.seq.get() + packet.payload().get() + fin);
        if packet.flags.contains(TcpFlags::CWR) {
            self.ece = false;
        }
        self.ece |= packet.ecn == Ecn::Ce;
        match &mut self.nonces {
            Some(nonces) if packet.ecn == Ecn::Ect1 && start >= self.nxt => {
                nonces.insert(start);
            }
            Some(_) => {}
            None => self.esce = packet.ecn == Ecn::Ect1,
        }
        if (start..=end).contains(&self.nxt) {
            self.ts_recent = self.ts_recent.max(packet.ts_val);
        }
        let duplicate = end <= self.nxt || self.islands.iter().any(|&(a, b)| a <= start && end <= b);
        if duplicate {
            let mut blocks = vec![(start, end)];
            blocks.extend(self.islands.iter().take(2).copied());
            return Some(self.ack(now, &blocks));
        }
        if start > self.nxt {
            let (mut a, mut b) = (start, end);
            self.islands.retain(|&(x, y)| {
                let touches = x <= b && y >= a;
                if touches {
                    (a, b) = (a.min(x), b.max(y));
                }
                !touches
            });
            self.islands.insert(0, (a, b));
            return Some(self.ack(now, &[]));
        }
        let filled = !self.islands.is_empty();
        self.nxt = end;
        while let Some(i) = self.islands.iter().position(|&(a, _)| a <= self.nxt) {
            self.nxt = self.nxt.max(self.islands.remove(i).1);
        }
        self.pending += 1;
        if filled || self.pending >= self.every {
            return Some(self.ack(now, &[]));
        }
        None
    }

    /// An ACK with these blocks, or the islands.
    fn ack(&mut self, now: Time, blocks: &[(u64, u64)]) -> Packet {
        self.pending = 0;
        let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
        packet.ack = Seq::new(self.nxt);
        packet.ts_val = now;
        packet.ts_ecr = self.ts_recent;
        packet.window = self.window;
        // The sum starts at 1.
        let one = |nonces: &BTreeSet<u64>| nonces.range(..self.nxt).count().is_multiple_of(2);
        let sum = self.nonces.as_ref().is_some_and(one);
        packet.flags = TcpFlags::ACK.with_if(TcpFlags::ECE, self.ece).with_if(TcpFlags::AE, self.esce || sum);
        let blocks = if blocks.is_empty() { &self.islands[..] } else { blocks };
        if self.sack && !blocks.is_empty() {
            let mut options = Options::default();
            for &(start, end) in blocks.iter().take(3) {
                options.sack.push(SackBlock { start: Seq::new(start), end: Seq::new(end) });
            }
            packet.set_options(options);
        }
        packet
    }
}
