//! One connection's sender, as its segments show it.

use std::collections::VecDeque;

use super::Known;
use super::ahead::Ahead;
use super::clock::{Echoes, WayBack};
use super::rows::{AckKind, SendKind, Walked};
use super::scoreboard::{Acked, Scoreboard};
use crate::frame::{ACK, FIN, SYN};
use crate::segments::Row;

/// The least retransmission timeout that is in use (Linux); RFC 6298 section 2.4 has one second.
const LEAST_RTO_NS: u64 = 200_000_000;
const UNKNOWN: u64 = u64::MAX;

/// Whether the walk makes a departure of a segment.
pub(super) const fn carries_data(row: &Row) -> bool {
    row.dir == 0 && row.payload > 0 && !row.has(SYN)
}

/// Whether the walk makes an acknowledgement of a segment.
pub(super) const fn acknowledges(row: &Row) -> bool {
    row.dir != 0 && row.has(ACK) && !row.has(SYN)
}

#[derive(Debug)]
pub(super) struct Sender {
    connection: Known,
    back: WayBack,
    board: Scoreboard,
    /// Acknowledgements that have not reached the sender.
    under_way: VecDeque<(Row, Vec<(u64, u64)>)>,
    echoes: Echoes,
    ahead: Ahead,
    /// The last byte that the receiver permits.
    edge: u64,
    last_window: u64,
    last_ack_ns: Option<u64>,
    last_send_ns: u64,
    srtt_ns: u64,
    round: u32,
    round_end: u64,
}

impl Sender {
    pub(super) fn new(connection: Known, back: WayBack) -> Sender {
        Sender {
            connection,
            back,
            board: Scoreboard::new(connection.mss),
            under_way: VecDeque::new(),
            echoes: Echoes::default(),
            ahead: Ahead::default(),
            edge: 0,
            last_window: 0,
            last_ack_ns: None,
            last_send_ns: 0,
            srtt_ns: 0,
            round: 0,
            round_end: 0,
        }
    }

    pub(super) fn segment(&mut self, row: &Row, sack: &[(u64, u64)], out: &mut Walked) {
        if row.dir == 0 {
            let back = self.arrived(row, out);
            if carries_data(row) {
                self.sends(row, back, out);
            }
        } else if row.has(ACK) {
            if self.connection.timestamps {
                self.echoes.passed(row.ts_val, row.t_ns);
            }
            if self.back.at_sender {
                self.acknowledged(row, sack, row.t_ns, out);
            } else {
                self.under_way.push_back((*row, sack.to_vec()));
            }
        }
    }

    /// The acknowledgements that were still under way at the end.
    pub(super) fn finish(&mut self, out: &mut Walked) {
        while let Some((ack, sack)) = self.under_way.pop_front() {
            self.acknowledged(&ack, &sack, ack.t_ns.saturating_add(self.back.least_ns), out);
        }
    }

    /// Applies what had reached the sender when it sent `row`. Returns how long its newest echo took.
    fn arrived(&mut self, row: &Row, out: &mut Walked) -> Option<u64> {
        let back = if self.connection.timestamps { self.echoes.answered(row.ts_ecr, row.t_ns) } else { None };
        let (timestamps, least_ns) = (self.connection.timestamps, self.back.least_ns);
        let seen = |ack: &Row| {
            let age = row.t_ns.saturating_sub(ack.t_ns);
            if timestamps { ack.ts_val <= row.ts_ecr } else { age >= least_ns }
        };
        while self.under_way.front().is_some_and(|(ack, _)| seen(ack)) {
            let Some((ack, sack)) = self.under_way.pop_front() else { break };
            self.acknowledged(&ack, &sack, row.t_ns, out);
        }
        back
    }

    fn sends(&mut self, row: &Row, back: Option<u64>, out: &mut Walked) {
        let payload = u64::from(row.payload);
        let (start, end) = (row.seq, row.seq + payload);
        let kind = self.kind(row, start, end);
        self.ahead.seen(start, end, &mut out.acks);
        match kind {
            SendKind::New => self.board.send_new(start, end, row.t_ns),
            SendKind::Timeout => {
                self.board.time_out();
                self.board.send_again(start, end, row.t_ns);
            }
            _ => self.board.send_again(start, end, row.t_ns),
        }
        self.last_send_ns = row.t_ns;
        let sends = &mut out.sends;
        sends.t_ns.push(row.t_ns);
        sends.flow.push(row.flow);
        sends.seq.push(row.seq);
        sends.payload.push(row.payload);
        sends.kind.push(kind as u8);
        debug_assert!(self.board.pipe() <= self.board.unacked(), "what is in flight is not acknowledged");
        sends.in_flight.push(self.board.pipe());
        let room = self.connection.window && self.edge > 0;
        sends.room.push(if room { self.edge.saturating_sub(self.board.nxt) } else { UNKNOWN });
        sends.round.push(self.round);
        sends.since_ack_ns.push(self.last_ack_ns.map_or(UNKNOWN, |t| row.t_ns.saturating_sub(t)));
        sends.back_ns.push(back.unwrap_or(0));
        sends.ecn.push(row.ecn());
        sends.dscp.push(row.dscp());
    }

    fn kind(&self, row: &Row, start: u64, end: u64) -> SendKind {
        let board = &self.board;
        if end > board.nxt {
            return SendKind::New;
        }
        if end <= board.una || board.sacked(start) {
            return SendKind::Needless;
        }
        if let Some(since) = board.unseen_since(start) {
            let sooner = self.back.least_ns < u64::MAX && row.t_ns.saturating_sub(since) < self.back.least_ns;
            return if sooner { SendKind::Overtaken } else { SendKind::Unseen };
        }
        if board.suspects(start) {
            return SendKind::FastRetransmit;
        }
        let heard = self.last_ack_ns.unwrap_or(0).max(self.last_send_ns);
        let silence = row.t_ns.saturating_sub(heard);
        // A probe is the last data sent, or ends with them; a timeout starts again at the first.
        match (start == board.una, end == board.nxt) {
            (true, _) if silence >= LEAST_RTO_NS.max(self.srtt_ns) => SendKind::Timeout,
            (_, true) => SendKind::Probe,
            _ => SendKind::FastRetransmit,
        }
    }

    fn acknowledged(&mut self, row: &Row, blocks: &[(u64, u64)], seen_ns: u64, out: &mut Walked) {
        if row.has(SYN) {
            self.edge = row.ack.saturating_add(row.window);
            return;
        }
        let board = &mut self.board;
        let twice = blocks.first().is_some_and(|&(start, end)| {
            end <= row.ack || blocks.get(1).is_some_and(|&(from, to)| from <= start && end <= to)
        });
        // One more than the data: a FIN.
        let ahead = board.nxt > 0 && row.ack > board.nxt + 1;
        if ahead {
            self.ahead.acknowledged(board.nxt, row.ack, &out.acks);
        }
        let before = board.una;
        let done = if board.nxt == 0 { Acked::default() } else { board.acknowledge(row.ack, blocks) };
        // RFC 5681 section 2.
        let duplicate = row.ack == before
            && board.unacked() > 0
            && row.payload == 0
            && !row.has(FIN)
            && row.window == self.last_window;
        if duplicate && blocks.is_empty() {
            board.duplicate();
        }
        self.last_window = row.window;
        if self.connection.window {
            self.edge = self.edge.max(row.ack.saturating_add(row.window));
        }
        let rtt = done.sent_at.map_or(0, |sent| row.t_ns.saturating_sub(sent).max(1));
        if rtt > 0 {
            self.srtt_ns = if self.srtt_ns == 0 { rtt } else { self.srtt_ns - self.srtt_ns / 8 + rtt / 8 };
        }
        if board.una >= self.round_end && done.in_order > 0 {
            self.round += 1;
            self.round_end = board.nxt;
        }
        self.last_ack_ns = Some(seen_ns);
        let kind = if duplicate { AckKind::DUPLICATE } else { 0 }
            | if ahead { AckKind::AHEAD } else { 0 }
            | if twice { AckKind::DSACK } else { 0 }
            | if done.partial { AckKind::PARTIAL } else { 0 };
        let acks = &mut out.acks;
        acks.t_ns.push(row.t_ns);
        acks.flow.push(row.flow);
        acks.ack.push(row.ack);
        acks.acked.push(done.in_order);
        acks.delivered.push(done.delivered);
        acks.rtt_ns.push(rtt);
        acks.in_flight.push(board.pipe());
        acks.round.push(self.round);
        acks.kind.push(kind);
        acks.flags.push(row.flags);
    }
}
