//! A receiver's record of datagram numbers: which are new, and how many are missing.

use windtunnel_units::{Duration, Time};

/// What a datagram's arrival tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// It was not received before.
    pub new: bool,
    /// How many datagrams more than before are known to have been sent.
    pub expected: u64,
    /// Its one-way delay.
    pub one_way: Duration,
    /// The difference between its delay and that of the datagram received before (RFC 3393).
    pub variation: Option<Duration>,
}

/// The numbers received, from 1 on.
#[derive(Debug)]
pub struct Receipts {
    /// One more than the highest number.
    next: u64,
    received: u64,
    /// Whether each of the last numbers was received, by number modulo [`Receipts::SPAN`].
    seen: [u64; Receipts::SPAN as usize / 64],
    last_delay: Option<Duration>,
}

impl Default for Receipts {
    fn default() -> Receipts {
        Receipts::new()
    }
}

impl Receipts {
    /// How far below the highest number a late datagram can be told from a duplicate; older ones count as duplicates.
    const SPAN: u64 = 4096;

    /// None yet.
    pub const fn new() -> Receipts {
        Receipts { next: 1, received: 0, seen: [0; Receipts::SPAN as usize / 64], last_delay: None }
    }

    /// The datagram `number`, which was `sent` then, arrives.
    pub fn record(&mut self, number: u64, sent: Time, now: Time) -> Receipt {
        let before = self.next;
        while self.next <= number {
            let (word, bit) = Receipts::position(self.next);
            self.seen[word] &= !bit;
            self.next += 1;
        }
        let (word, bit) = Receipts::position(number);
        let new = number + Receipts::SPAN >= self.next && self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        self.received += u64::from(new);
        let one_way = now.since(sent);
        let last = self.last_delay.replace(one_way);
        let variation = last.map(|last| one_way.max(last) - one_way.min(last));
        Receipt { new, expected: self.next - before, one_way, variation }
    }

    /// Datagrams with a lower number than the highest that did not arrive (yet).
    pub(super) const fn missing(&self) -> u64 {
        self.next - 1 - self.received
    }

    const fn position(number: u64) -> (usize, u64) {
        let slot = number % Receipts::SPAN;
        ((slot / 64) as usize, 1 << (slot % 64))
    }
}
