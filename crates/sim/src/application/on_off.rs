//! Periods of sending and of silence.
//!
//! With a rate, the application writes a segment's payload whenever that much is due, and the rest at the end of the
//! period. Without a rate it always has more to send; data unsent at the end of the period are never sent.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::config::OnOffParams;
use super::stream::Wish;
use crate::random::Random;

/// An on/off source.
#[derive(Debug)]
pub(super) struct OnOff {
    params: OnOffParams,
    random: Random,
    /// The size of one write.
    chunk: Bytes,
    period: Period,
}

#[derive(Clone, Copy, Debug)]
enum Period {
    Stopped,
    On { start: Time, end: Time, written: Bytes },
    Off { end: Time },
}

impl OnOff {
    pub(super) fn new(params: OnOffParams, mss: Bytes, seed: u64) -> OnOff {
        OnOff { params, random: Random::new(seed), chunk: mss, period: Period::Stopped }
    }

    pub(super) fn start(&mut self, now: Time) -> Wish {
        let span = self.random.draw(&self.params.on);
        self.period = Period::On { start: now, end: now + span, written: Bytes::ZERO };
        match self.params.rate {
            Some(_) => Wish::Nothing,
            None => Wish::Write(Bytes::MAX),
        }
    }

    pub(super) fn stop(&mut self) {
        self.period = Period::Stopped;
    }

    /// Writes at another rate from now on.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Time) {
        self.params.rate = Some(rate);
        if let Period::On { start, written, .. } = &mut self.period {
            (*start, *written) = (now, Bytes::ZERO);
        }
    }

    pub(super) fn next_timer(&self) -> Time {
        match self.period {
            Period::Stopped => Time::NEVER,
            Period::Off { end } => end,
            Period::On { start, end, written } => {
                let due = |rate| start + transfer_time(rate, written + self.chunk);
                self.params.rate.map_or(end, |rate| end.min(due(rate)))
            }
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) -> Wish {
        match self.period {
            Period::Stopped => Wish::Nothing,
            Period::Off { end } if now < end => Wish::Nothing,
            Period::Off { .. } => self.start(now),
            Period::On { start, end, written } => {
                let over = now >= end;
                let due = self.params.rate.map(|rate| rate * now.min(end).since(start) - written);
                if over {
                    self.period = Period::Off { end: now + self.random.draw(&self.params.off) };
                } else {
                    self.period = Period::On { start, end, written: written + due.unwrap_or_default() };
                }
                match due {
                    Some(Bytes::ZERO) => Wish::Nothing,
                    Some(due) => Wish::Write(due),
                    None if over => Wish::Stop,
                    None => Wish::Nothing,
                }
            }
        }
    }
}

/// Rounded up, so that the amount is due when the time has passed.
fn transfer_time(rate: Rate, amount: Bytes) -> Duration {
    rate.transfer_time(amount) + Duration::from_nanos(1)
}
