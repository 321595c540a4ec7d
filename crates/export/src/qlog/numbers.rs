//! Packet numbers: each transmission of data has one, and an acknowledgement of data is one of their last transmissions.

use std::collections::VecDeque;

use super::acks::Ranges;

/// Settled transmissions that are kept, because their packets may still be under way to the receiver.
const KEPT: usize = 1024;

/// What has become of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Acknowledged,
    /// All its data were sent again.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The packet's identity.
    id: u64,
    t_ns: u64,
    /// Bytes that it was the last to carry, and that are not acknowledged.
    left: u64,
    fate: Fate,
    /// Its data were sent before.
    again: bool,
}

/// Bytes, and the transmission that carried them last.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    number: u64,
    /// Acknowledged by SACK.
    sacked: bool,
}

/// The transmissions of a sender. Their memory depends on its window.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// In the order of their numbers.
    sent: VecDeque<Sent>,
    /// The number of the first of them.
    first: u64,
    /// In the order of their bytes, without gaps.
    pieces: VecDeque<Piece>,
    acknowledged: u64,
    next: u64,
    /// What the last transmission or acknowledgement has changed.
    pub(super) lost: Vec<u64>,
    pub(super) acked: Ranges,
    /// The greatest number that was acknowledged.
    largest: Option<u64>,
    /// The last round-trip time that an acknowledgement of data sent once has shown.
    pub(super) rtt_ns: Option<u64>,
}

impl Numbers {
    /// The end of all data that were sent.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes from `start` to `end` are sent in the packet `id`. Returns its number; `lost` are those that it makes lost.
    pub(super) fn send(&mut self, id: u64, t_ns: u64, start: u64, end: u64) -> u64 {
        self.lost.clear();
        let number = self.first + self.sent.len() as u64;
        if self.pieces.is_empty() {
            self.next = self.next.max(start);
        }
        let again = start < self.next;
        let mut left = 0;
        if again {
            self.split(start);
            self.split(end);
            let from = self.pieces.partition_point(|piece| piece.end <= start);
            for n in from..self.pieces.len() {
                let piece = self.pieces[n];
                if piece.start >= end {
                    break;
                }
                if !piece.sacked {
                    let length = piece.end - piece.start;
                    left += length;
                    self.settle(piece.number, length, Fate::Lost);
                    self.pieces[n].number = number;
                }
            }
        }
        if end > self.next {
            left += end - self.next;
            self.pieces.push_back(Piece { start: self.next, end, number, sacked: false });
            self.next = end;
        }
        let fate = if left == 0 { Fate::Lost } else { Fate::InFlight };
        self.sent.push_back(Sent { id, t_ns, left, fate, again });
        number
    }

    /// The receiver has all up to `ack`, and `blocks`; `acked` are the transmissions that this acknowledges.
    pub(super) fn acknowledge(&mut self, t_ns: u64, ack: u64, blocks: impl Iterator<Item = (u64, u64)>) {
        self.acked.clear();
        self.rtt_ns = None;
        self.acknowledged = self.acknowledged.max(ack);
        self.split(ack);
        while let Some(piece) = self.pieces.front().copied().filter(|piece| piece.end <= ack) {
            self.pieces.pop_front();
            if !piece.sacked {
                self.settle(piece.number, piece.end - piece.start, Fate::Acknowledged);
            }
        }
        for (start, end) in blocks {
            // Below: data that arrived twice (RFC 2883).
            if end <= self.acknowledged || start >= end || end > self.next {
                continue;
            }
            self.split(start);
            self.split(end);
            let from = self.pieces.partition_point(|piece| piece.end <= start);
            for n in from..self.pieces.len() {
                let piece = self.pieces[n];
                if piece.start >= end {
                    break;
                }
                if !std::mem::replace(&mut self.pieces[n].sacked, true) {
                    self.settle(piece.number, piece.end - piece.start, Fate::Acknowledged);
                }
            }
        }
        self.acked.sort();
        let newest = self.acked.last();
        if let Some(sent) = newest.and_then(|number| self.at(number)).filter(|sent| !sent.again) {
            self.rtt_ns = Some(t_ns.saturating_sub(sent.t_ns));
        }
        self.largest = self.largest.max(newest);
        if self.acked.is_empty()
            && let Some(largest) = self.largest
        {
            self.acked.push(largest);
        }
        while self.sent.len() > KEPT && self.sent.front().is_some_and(|sent| sent.fate != Fate::InFlight) {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    /// The number of the packet `id`, if it is kept.
    pub(super) fn number(&self, id: u64) -> Option<u64> {
        let position = self.sent.binary_search_by_key(&id, |sent| sent.id).ok()?;
        Some(self.first + position as u64)
    }

    fn at(&self, number: u64) -> Option<Sent> {
        let position = number.checked_sub(self.first)?;
        self.sent.get(position as usize).copied()
    }

    /// `length` bytes of a transmission have a new fate; the last of them decide its own.
    fn settle(&mut self, number: u64, length: u64, fate: Fate) {
        let Some(position) = number.checked_sub(self.first) else { return };
        let Some(sent) = self.sent.get_mut(position as usize) else { return };
        sent.left = sent.left.saturating_sub(length);
        if sent.left == 0 && sent.fate == Fate::InFlight {
            sent.fate = fate;
            match fate {
                Fate::Acknowledged => self.acked.push(number),
                _ => self.lost.push(number),
            }
        }
    }

    /// Splits the piece that contains `seq`.
    fn split(&mut self, seq: u64) {
        let n = self.pieces.partition_point(|piece| piece.end <= seq);
        if let Some(piece) = self.pieces.get_mut(n).filter(|piece| piece.start < seq) {
            let upper = Piece { start: seq, ..*piece };
            piece.end = seq;
            self.pieces.insert(n + 1, upper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(numbers: &mut Numbers, ack: u64, blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
        numbers.acknowledge(100, ack, blocks.iter().copied());
        numbers.acked.as_slice().to_vec()
    }

    /// A loss, as in RFC 2018: what was sent again has a new number, and the old one is never acknowledged.
    #[test]
    fn a_number_for_each_transmission() {
        let mut numbers = Numbers::default();
        for n in 0..5 {
            assert_eq!(numbers.send(10 + n, n, 1 + 100 * n, 101 + 100 * n), n);
        }
        assert_eq!(acked(&mut numbers, 101, &[]), [(0, 0)]);
        assert_eq!(numbers.rtt_ns, Some(100), "sent at 0 ns");
        assert_eq!(acked(&mut numbers, 101, &[(201, 401)]), [(2, 3)]);
        assert_eq!(acked(&mut numbers, 101, &[(201, 501)]), [(4, 4)]);
        assert_eq!(numbers.send(20, 6, 101, 201), 5);
        assert_eq!(numbers.lost, [1]);
        assert_eq!(acked(&mut numbers, 101, &[(201, 501)]), [(4, 4)], "nothing new: the greatest");
        assert_eq!(acked(&mut numbers, 501, &[]), [(5, 5)]);
        assert_eq!(numbers.rtt_ns, None, "Karn: of data sent twice no time is known");
        assert_eq!((numbers.number(12), numbers.number(20), numbers.number(99)), (Some(2), Some(5), None));
    }

    /// A retransmission of half a transmission leaves it in flight, one of both halves makes it lost. Bytes that the receiver
    /// has are sent again for nothing.
    #[test]
    fn parts_of_a_transmission() {
        let mut numbers = Numbers::default();
        numbers.send(1, 0, 1, 201);
        numbers.send(2, 0, 1, 101);
        assert!(numbers.lost.is_empty());
        assert_eq!(acked(&mut numbers, 51, &[]), [], "half of a transmission is not acknowledged");
        numbers.send(3, 0, 101, 201);
        assert_eq!(numbers.lost, [0]);
        assert_eq!(acked(&mut numbers, 201, &[]), [(1, 2)]);
        numbers.send(4, 0, 101, 201);
        assert_eq!(acked(&mut numbers, 201, &[(101, 201)]), [(2, 2)], "a duplicate says nothing new");
        numbers.send(5, 0, 201, 301);
        assert_eq!(acked(&mut numbers, 301, &[]), [(4, 4)]);
    }

    /// The memory of a long transfer is that of its window.
    #[test]
    fn settled_transmissions_are_forgotten() {
        let mut numbers = Numbers::default();
        for n in 0..10_000 {
            numbers.send(2 * n, n, 1 + 10 * n, 11 + 10 * n);
            numbers.acknowledge(n, 11 + 10 * n, std::iter::empty());
        }
        assert!(numbers.sent.len() <= KEPT + 1 && numbers.pieces.is_empty());
        assert_eq!(numbers.number(2 * 9_999), Some(9_999));
    }
}
