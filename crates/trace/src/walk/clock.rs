//! How far the sender is from the capture point: the least time in which it answers.

use std::collections::BTreeMap;

use super::Known;
use crate::frame::{ACK, SYN};
use crate::segments::{Row, Segments};

/// Nearer than this part of the round trip, the sender counts as being at the capture point.
const NEAR: u64 = 10;

/// The way from the capture point to a connection's sender and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct WayBack {
    /// `u64::MAX` if nothing shows it.
    pub(super) least_ns: u64,
    pub(super) at_sender: bool,
}

/// The way back of each connection. Timestamps show it for every acknowledgement, the handshake once.
pub(super) fn least_way_back(segments: &Segments, connections: &[Known]) -> Vec<WayBack> {
    let mut clocks: Vec<Clock> =
        connections.iter().map(|connection| Clock::new(connection.timestamps)).collect();
    for row in segments.rows() {
        if let Some(clock) = clocks.get_mut(row.flow as usize) {
            clock.segment(row);
        }
    }
    clocks.iter().map(Clock::way_back).collect()
}

#[derive(Debug)]
struct Clock {
    timestamps: bool,
    /// Of each side: when the first segment with its newest timestamp passed, and that timestamp.
    newest: [Option<(u64, u64)>; 2],
    /// The least time to the side and back, of each.
    least: [u64; 2],
    /// When the SYN of each side passed.
    syn: [Option<u64>; 2],
}

impl Clock {
    fn new(timestamps: bool) -> Clock {
        Clock { timestamps, newest: [None; 2], least: [u64::MAX; 2], syn: [None; 2] }
    }

    fn segment(&mut self, row: &Row) {
        let (side, other) = (usize::from(row.dir & 1), usize::from(1 - (row.dir & 1)));
        if row.has(SYN) {
            self.syn[side] = Some(row.t_ns);
        }
        // The answer to a SYN, and the answer to that.
        let answers = row.has(ACK) && row.ack == 1 && self.syn[other].is_some();
        if answers && let Some(asked) = self.syn[other].take() {
            self.sample(side, row.t_ns.saturating_sub(asked));
        }
        if !self.timestamps || row.has(SYN) {
            return;
        }
        // Only the first segment that echoes a timestamp answers it, and the sender's answers at once only if it has
        // data: the least of many such times is taken.
        if let Some((passed, value)) = self.newest[other]
            && row.ts_ecr == value
        {
            self.sample(side, row.t_ns.saturating_sub(passed));
            self.newest[other] = None;
        }
        if self.newest[side].is_none_or(|(_, value)| row.ts_val > value) {
            self.newest[side] = Some((row.t_ns, row.ts_val));
        }
    }

    fn sample(&mut self, side: usize, time: u64) {
        self.least[side] = self.least[side].min(time);
    }

    fn way_back(&self) -> WayBack {
        let [back, forth] = self.least;
        let whole = if forth == u64::MAX { 0 } else { back.saturating_add(forth) };
        WayBack { least_ns: back, at_sender: back == u64::MAX || back <= whole / NEAR }
    }
}

/// When each timestamp of the acknowledgements first passed, until the sender echoes it.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    passed: BTreeMap<u64, u64>,
    newest: u64,
}

impl Echoes {
    pub(super) fn passed(&mut self, value: u64, t_ns: u64) {
        if value > self.newest || self.passed.is_empty() {
            self.newest = value;
            self.passed.insert(value, t_ns);
        }
    }

    /// The time since the timestamp that `echo` answers passed: only for the first answer.
    pub(super) fn answered(&mut self, echo: u64, t_ns: u64) -> Option<u64> {
        let since = self.passed.remove(&echo)?;
        // Older ones were never answered: a segment that did not let the sender send.
        self.passed = self.passed.split_off(&echo);
        Some(t_ns.saturating_sub(since))
    }
}
