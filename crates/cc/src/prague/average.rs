//! The average share of marked segments, and the rounds over which the shares are taken.

use windtunnel_units::{Seq, Time};

use crate::sample::Marked;

/// The gain of the average.
const GAIN: f64 = 1.0 / 16.0;

/// The average, and the present round.
#[derive(Clone, Debug)]
pub(super) struct Average {
    alpha: f64,
    /// When it was last updated.
    pub(super) updated: Time,
    /// SND.NXT at the round's start.
    end: Seq,
    delivered: Marked,
    marked: Marked,
    /// Rounds since slow start ended.
    pub(super) rounds: u32,
}

impl Average {
    pub(super) fn new(alpha: f64) -> Average {
        Average {
            alpha,
            updated: Time::ZERO,
            end: Seq::FIRST_DATA,
            delivered: Marked::default(),
            marked: Marked::default(),
            rounds: 0,
        }
    }

    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }

    pub(super) fn on_ack(&mut self, delivered: Marked, marked: Marked) {
        self.delivered += delivered;
        self.marked += marked;
    }

    /// The data that were out at the round's start are acknowledged.
    pub(super) fn is_over(&self, una: Seq) -> bool {
        una >= self.end
    }

    /// The round's share enters the average. More marks than segments, which packets without data may have had, are a share
    /// of one.
    pub(super) fn update(&mut self, now: Time) {
        let share = f64::from(self.marked.packets) / f64::from(self.delivered.packets.max(1));
        self.alpha = (self.alpha + GAIN * (share - self.alpha)).min(1.0);
        self.updated = now;
    }

    /// A round starts with what is sent from `nxt` on.
    pub(super) fn start_round(&mut self, nxt: Seq, in_slow_start: bool) {
        self.end = nxt;
        self.delivered = Marked::default();
        self.marked = Marked::default();
        self.rounds = self.rounds.saturating_add(u32::from(!in_slow_start));
    }
}
