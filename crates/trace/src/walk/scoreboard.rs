//! What a sender has in flight, from its segments and what was acknowledged (RFC 6675's pipe).
//!
//! A segment counts as lost when data three segments above it were acknowledged, as RFC 6675 section 4 has it, or when
//! it is sent again, because its sender may know more than the headers show (RACK, a timeout).

use std::collections::VecDeque;

/// Segments above a hole that show a loss.
const DUP_THRESH: u64 = 3;

/// A stretch of data that was sent as one.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    /// When it was last sent.
    t_ns: u64,
    again: bool,
    /// Its bytes were never seen here: it stands for a gap.
    unseen: bool,
    fate: Fate,
}

/// What the acknowledgements say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Sacked,
    Lost,
}

impl Sent {
    fn in_flight(&self) -> u64 {
        if self.fate == Fate::InFlight { self.end - self.start } else { 0 }
    }
}

impl Sent {
    fn lose(&mut self) {
        if self.fate == Fate::InFlight {
            self.fate = Fate::Lost;
        }
    }
}

/// What an acknowledgement did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    /// Newly acknowledged cumulatively.
    pub(super) in_order: u64,
    /// Newly acknowledged, cumulatively or by SACK: no byte counts twice.
    pub(super) delivered: u64,
    /// When the newest delivered segment was sent, of those sent once.
    pub(super) sent_at: Option<u64>,
    /// The number is within a segment.
    pub(super) partial: bool,
}

/// The sender's unacknowledged data.
#[derive(Debug)]
pub(super) struct Scoreboard {
    sent: VecDeque<Sent>,
    mss: u64,
    pub(super) una: u64,
    pub(super) nxt: u64,
    high_sack: u64,
    /// All below were examined for losses.
    looked: u64,
    pub(super) in_flight: u64,
    /// Bytes that duplicate acknowledgements without SACK stand for.
    duplicates: u64,
}

impl Scoreboard {
    pub(super) fn new(mss: u64) -> Scoreboard {
        Scoreboard {
            sent: VecDeque::new(),
            mss: mss.max(1),
            una: 0,
            nxt: 0,
            high_sack: 0,
            looked: 0,
            in_flight: 0,
            duplicates: 0,
        }
    }

    /// Data in flight: without SACK each duplicate acknowledgement stands for a segment that arrived (RFC 6675 has no
    /// use for them; RFC 5681 section 3.2).
    pub(super) fn pipe(&self) -> u64 {
        self.in_flight.saturating_sub(self.duplicates)
    }

    pub(super) fn unacked(&self) -> u64 {
        self.nxt.saturating_sub(self.una)
    }

    /// True if acknowledgements show a hole at `seq` or above it.
    pub(super) fn suspects(&self, seq: u64) -> bool {
        self.duplicates > 0 || self.high_sack > seq
    }

    pub(super) fn sacked(&self, seq: u64) -> bool {
        self.find(seq).is_some_and(|n| self.sent[n].fate == Fate::Sacked)
    }

    /// When data passed that lie above the bytes at `seq`, if these did not pass before.
    pub(super) fn unseen_since(&self, seq: u64) -> Option<u64> {
        self.find(seq).map(|n| &self.sent[n]).filter(|sent| sent.unseen).map(|sent| sent.t_ns)
    }

    /// New data were sent.
    pub(super) fn send_new(&mut self, start: u64, end: u64, t_ns: u64) {
        if self.sent.is_empty() && self.nxt == 0 {
            (self.una, self.nxt) = (start, start);
        }
        if start > self.nxt {
            self.push(self.nxt, start, t_ns, true);
        }
        self.push(start.max(self.nxt), end, t_ns, false);
    }

    fn push(&mut self, start: u64, end: u64, t_ns: u64, unseen: bool) {
        if end <= start {
            return;
        }
        self.nxt = end;
        let start = start.max(self.una);
        if end > start {
            self.in_flight += end - start;
            self.sent.push_back(Sent { start, end, t_ns, again: unseen, unseen, fate: Fate::InFlight });
        }
    }

    /// Data were sent again: they count as lost, and once more as in flight.
    pub(super) fn send_again(&mut self, start: u64, end: u64, t_ns: u64) {
        self.each(start, end, |sent| {
            sent.t_ns = t_ns;
            sent.again = true;
            if sent.fate == Fate::Lost {
                sent.fate = Fate::InFlight;
            }
            sent.unseen = false;
        });
    }

    /// A timeout: all that is not acknowledged is lost (RFC 6298 section 5; RFC 5681 section 3.1).
    pub(super) fn time_out(&mut self) {
        let (una, nxt) = (self.una, self.nxt);
        self.each(una, nxt, Sent::lose);
        self.duplicates = 0;
    }

    /// The receiver has all up to `ack`, and `blocks`.
    pub(super) fn acknowledge(&mut self, ack: u64, blocks: &[(u64, u64)]) -> Acked {
        let mut done = Acked::default();
        if ack > self.una {
            done.partial = self.split(ack);
            done.in_order = ack - self.una;
            let mut sacked_before = 0;
            while let Some(sent) = self.sent.front().copied().filter(|sent| sent.end <= ack) {
                self.sent.pop_front();
                self.in_flight -= sent.in_flight();
                if sent.fate == Fate::Sacked {
                    sacked_before += sent.end - sent.start.max(self.una);
                } else {
                    newest(&mut done.sent_at, &sent);
                }
            }
            done.delivered = done.in_order.saturating_sub(sacked_before);
            self.una = ack;
            self.nxt = self.nxt.max(ack);
            self.duplicates = 0;
        }
        for &(start, end) in blocks {
            // Below: data that arrived twice (RFC 2883).
            if end > self.una && start < end && end <= self.nxt {
                self.high_sack = self.high_sack.max(end);
                let (mut sacked, mut sent_at) = (0, done.sent_at);
                self.each(start.max(self.una), end, |sent| {
                    if sent.fate != Fate::Sacked {
                        sacked += sent.end - sent.start;
                        newest(&mut sent_at, sent);
                    }
                    sent.fate = Fate::Sacked;
                });
                done.delivered += sacked;
                done.sent_at = sent_at;
            }
        }
        self.find_lost();
        done
    }

    /// A duplicate acknowledgement without SACK: one more segment has left the network.
    pub(super) fn duplicate(&mut self) {
        self.duplicates = (self.duplicates + self.mss).min(self.unacked());
        if self.duplicates == DUP_THRESH * self.mss {
            let (una, end) = (self.una, self.sent.front().map_or(self.una, |sent| sent.end));
            self.each(una, end, |sent| {
                if !sent.again {
                    sent.lose();
                }
            });
        }
    }

    fn find_lost(&mut self) {
        let limit = self.high_sack.saturating_sub(DUP_THRESH * self.mss);
        let from = self.looked.max(self.una);
        if limit > from {
            let mut first = self.sent.partition_point(|sent| sent.end <= from);
            while let Some(sent) = self.sent.get_mut(first).filter(|sent| sent.end <= limit) {
                if !sent.again {
                    self.in_flight -= sent.in_flight();
                    sent.lose();
                    self.in_flight += sent.in_flight();
                }
                self.looked = sent.end;
                first += 1;
            }
        }
    }

    fn find(&self, seq: u64) -> Option<usize> {
        let n = self.sent.partition_point(|sent| sent.end <= seq);
        self.sent.get(n).filter(|sent| sent.start <= seq).map(|_| n)
    }

    /// Splits the segment that contains `seq`. Returns whether there is one: for data that were not captured, the ends
    /// of segments are unknown.
    fn split(&mut self, seq: u64) -> bool {
        let Some(n) = self.find(seq).filter(|&n| self.sent[n].start < seq) else { return false };
        let mut upper = self.sent[n];
        upper.start = seq;
        self.sent[n].end = seq;
        self.sent.insert(n + 1, upper);
        !upper.unseen
    }

    /// Changes all data from `start` to `end`, and keeps count of what is in flight.
    fn each(&mut self, start: u64, end: u64, mut change: impl FnMut(&mut Sent)) {
        self.split(start);
        self.split(end);
        let mut n = self.sent.partition_point(|sent| sent.end <= start);
        while let Some(sent) = self.sent.get_mut(n).filter(|sent| sent.end <= end) {
            self.in_flight -= sent.in_flight();
            change(sent);
            self.in_flight += sent.in_flight();
            n += 1;
        }
    }
}

fn newest(at: &mut Option<u64>, sent: &Sent) {
    if !sent.again {
        *at = Some(at.map_or(sent.t_ns, |t| t.max(sent.t_ns)));
    }
}
