//! The data units that were sent, and what reports tell about them.
//!
//! A unit below the highest one reported is *missing*. It counts as lost when it has been missing for the reordering window: a
//! quarter of the least round trip, as in RFC 8985, or the longest time after which a missing unit has arrived, if that
//! is longer. A unit that no report can cover any more is settled.

use std::collections::VecDeque;

use windtunnel_cc::{Departure, LossFinder, LostSegment, Marked};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::queue::DataUnit;
use super::{COVERED, Report};

/// A data unit that was sent.
#[derive(Debug)]
struct Sent {
    seq: Seq,
    payload: Bytes,
    frame: u64,
    departure: Departure,
    fate: Fate,
}

/// What is known of a data unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    /// Since then a later one is known to have arrived.
    Missing(Time),
    /// It counts as lost; it was missing since then.
    Lost(Time),
    Arrived,
}

/// A data unit that newly arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) frame: u64,
    pub(super) payload: Bytes,
    pub(super) sent: Time,
    /// By how much its number is below the highest.
    pub(super) below: usize,
}

/// What a report newly tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) delivered: Marked,
    /// By how much the highest unit that arrived has moved on.
    pub(super) advanced: Bytes,
    /// The round trip of the highest unit, without the receiver's wait.
    pub(super) rtt: Option<Duration>,
    pub(super) one_way: Option<Duration>,
}

/// The data units that a report may still cover.
#[derive(Debug)]
pub(super) struct Flight {
    /// The number of the first of them.
    first: u64,
    units: VecDeque<Sent>,
    /// The highest number that is known to have arrived, or is no longer waited for.
    highest: u64,
    /// The byte after that unit, and after the last one sent.
    una: Seq,
    nxt: Seq,
    delivered: Bytes,
    lost: Bytes,
    /// How many are missing.
    missing: usize,
    /// The longest time after which a missing unit arrived.
    reordering: Duration,
}

impl Flight {
    pub(super) const fn new() -> Flight {
        Flight {
            first: 1,
            units: VecDeque::new(),
            highest: 0,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            missing: 0,
            reordering: Duration::ZERO,
        }
    }

    /// The byte after the highest data unit that arrived.
    pub(super) const fn una(&self) -> Seq {
        self.una
    }

    /// The byte after the last one sent.
    pub(super) const fn nxt(&self) -> Seq {
        self.nxt
    }

    /// From the highest data unit that arrived to the last one sent: a lost unit counts until a later one arrives.
    pub(super) fn bytes(&self) -> Bytes {
        self.nxt - self.una
    }

    pub(super) const fn delivered(&self) -> Bytes {
        self.delivered
    }

    pub(super) const fn lost(&self) -> Bytes {
        self.lost
    }

    /// The number of data units sent.
    pub(super) fn sent(&self) -> u64 {
        self.first + self.units.len() as u64 - 1
    }

    /// A data unit leaves. Returns its number and its first byte.
    pub(super) fn send(&mut self, unit: DataUnit, app_limited: bool, now: Time) -> (u64, Seq) {
        let seq = self.nxt;
        self.nxt = self.nxt + unit.payload;
        let departure = Departure {
            sent: now,
            in_flight: self.bytes(),
            delivered: self.delivered,
            lost: self.lost,
            app_limited,
        };
        let (payload, frame) = (unit.payload, unit.frame);
        self.units.push_back(Sent { seq, payload, frame, departure, fate: Fate::Unknown });
        (self.sent(), seq)
    }

    /// A report came. Calls `arrived` with each data unit that newly arrived.
    pub(super) fn acknowledge(
        &mut self,
        report: &Report,
        now: Time,
        mut arrived: impl FnMut(&Arrived),
    ) -> News {
        let mut news = News::default();
        for number in report.numbers() {
            let Some(index) = self.index(number) else { continue };
            let unit = &mut self.units[index];
            let (fate, frame, payload) = (unit.fate, unit.frame, unit.payload);
            let sent = unit.departure.sent;
            if fate == Fate::Arrived {
                continue;
            }
            unit.fate = Fate::Arrived;
            if let Fate::Missing(since) | Fate::Lost(since) = fate {
                self.reordering = self.reordering.max(now.since(since));
                self.missing -= usize::from(fate == Fate::Missing(since));
            }
            self.delivered += payload;
            news.delivered += Marked { bytes: payload, packets: 1 };
            arrived(&Arrived { frame, payload, sent, below: (report.highest - number) as usize });
            if number == report.highest {
                news.rtt = Some(now.since(sent).saturating_sub(report.sent.since(report.arrival)));
                news.one_way = Some(report.arrival.since(sent));
            }
        }
        news.advanced = self.advance(report.highest, now);
        news
    }

    /// The highest number that arrived is `to`: those passed over are missing. Returns the bytes passed.
    fn advance(&mut self, to: u64, now: Time) -> Bytes {
        let before = self.una;
        while self.highest < to {
            self.highest += 1;
            let Some(index) = self.index(self.highest) else { continue };
            let unit = &mut self.units[index];
            self.una = unit.seq + unit.payload;
            if unit.fate == Fate::Unknown {
                unit.fate = Fate::Missing(now);
                self.missing += 1;
            }
        }
        self.una - before
    }

    /// Calls `lost` with the missing data units that now count as lost. Returns their bytes.
    pub(super) fn find_losses(
        &mut self,
        least_rtt: Duration,
        now: Time,
        lost: impl FnMut(&LostSegment),
    ) -> Bytes {
        if self.missing == 0 {
            return Bytes::ZERO;
        }
        let window = self.reordering.max(least_rtt / 4);
        let bound = self.highest.saturating_sub(COVERED - 1);
        let is_lost = |number, since| number < bound || now.since(since) >= window;
        self.declare(LossFinder::Ack, is_lost, lost)
    }

    /// No report came for too long: everything in flight counts as lost.
    pub(super) fn lose_all(&mut self, now: Time, lost: impl FnMut(&LostSegment)) -> Bytes {
        let sent = self.sent();
        self.advance(sent, now);
        self.declare(LossFinder::RetransmissionTimer, |_, _| true, lost)
    }

    fn declare(
        &mut self,
        found_by: LossFinder,
        is_lost: impl Fn(u64, Time) -> bool,
        mut lost: impl FnMut(&LostSegment),
    ) -> Bytes {
        let before = self.lost;
        for (number, unit) in (self.first..).zip(&mut self.units) {
            if self.missing == 0 {
                break;
            }
            if let Fate::Missing(since) = unit.fate
                && is_lost(number, since)
            {
                unit.fate = Fate::Lost(since);
                self.missing -= 1;
                self.lost += unit.payload;
                let Sent { seq, payload, departure, .. } = *unit;
                lost(&LostSegment { seq, payload, departure, lost: self.lost, found_by });
            }
        }
        self.lost - before
    }

    /// Forgets the data units that no report will cover. Calls `settled` with the frame of each that did not arrive.
    pub(super) fn forget(&mut self, mut settled: impl FnMut(u64)) {
        while self.first + COVERED <= self.highest
            && let Some(unit) = self.units.pop_front()
        {
            self.first += 1;
            if unit.fate != Fate::Arrived {
                settled(unit.frame);
            }
        }
    }

    fn index(&self, number: u64) -> Option<usize> {
        let index = number.checked_sub(self.first)? as usize;
        (index < self.units.len()).then_some(index)
    }
}
