//! An experiment: one monitor interval, or two in succession, with a rate for each.

use windtunnel_units::{Duration, Time};

use super::monitor_interval::MonitorInterval;
use crate::sample::{LostSegment, PathView, SentSegment};

/// A rate to try, in Mbit/s, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) rate: f64,
    pub(super) length: Duration,
}

/// The intervals of one decision. After the last of them the sender waits for what became of their packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experiment {
    trials: [Option<Trial>; 2],
    intervals: [Option<MonitorInterval>; 2],
    /// The trial that is being sent; past the last one, none is.
    current: usize,
}

impl Experiment {
    pub(super) const fn single(trial: Trial) -> Experiment {
        Experiment { trials: [Some(trial), None], intervals: [None; 2], current: 0 }
    }

    pub(super) const fn pair(first: Trial, second: Trial) -> Experiment {
        Experiment { trials: [Some(first), Some(second)], intervals: [None; 2], current: 0 }
    }

    fn trial(&self) -> Option<Trial> {
        self.trials.get(self.current).copied().flatten()
    }

    /// The rate to send at; none while waiting.
    pub(super) fn rate(&self) -> Option<f64> {
        self.trial().map(|trial| trial.rate)
    }

    /// A segment leaves: it ends an interval, starts one, or belongs to the one that runs.
    pub(super) fn on_sent(&mut self, segment: &SentSegment, path: &PathView) {
        let Some(trial) = self.trial() else { return };
        let interval =
            self.intervals[self.current].get_or_insert(MonitorInterval::new(path.now, trial.length));
        if interval.is_over(path.now) {
            interval.close(path.now, if segment.retransmission { path.nxt } else { segment.seq });
            self.current += 1;
            return self.on_sent(segment, path);
        }
        interval.on_sent(segment.payload);
    }

    /// The interval in which a packet left.
    fn of(&mut self, sent: Time) -> Option<&mut MonitorInterval> {
        self.intervals.iter_mut().flatten().find(|interval| interval.contains(sent))
    }

    pub(super) fn on_rtt(&mut self, sent: Time, rtt: Duration) {
        if let Some(interval) = self.of(sent) {
            interval.on_rtt(sent, rtt);
        }
    }

    pub(super) fn on_lost(&mut self, segment: &LostSegment) {
        if let Some(interval) = self.of(segment.departure.sent) {
            interval.on_lost(segment.payload);
        }
    }

    /// True once it is known what became of all packets of all intervals.
    pub(super) fn is_complete(&self, newest: Time, path: &PathView) -> bool {
        self.trial().is_none()
            && self.intervals.iter().flatten().all(|interval| interval.is_complete(newest, path))
    }

    /// The intervals, the one with the lower rate first.
    pub(super) fn by_rate(&self) -> impl Iterator<Item = (Trial, &MonitorInterval)> {
        let [first, second] = [0, 1].map(|i| self.trials[i].zip(self.intervals[i].as_ref()));
        match (first, second) {
            (Some(a), Some(b)) if a.0.rate > b.0.rate => [second, first],
            _ => [first, second],
        }
        .into_iter()
        .flatten()
    }
}
