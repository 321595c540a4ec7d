//! What is seen of a flow whose halves do not exist: before its start, and once nothing can happen to it any more.
//!
//! The recorder reads each sender at its ticks. A sender that does nothing always gives the same values, so these
//! stand for it, and its memory is needed only while it is at work.

use windtunnel_tcp::Receiver;
use windtunnel_units::Bytes;

use super::{Pair, Reading, SenderHalf, TcpEnd};
use crate::simulation::StreamState;

/// The values that a sender gives as long as nothing happens to it.
#[derive(Debug)]
pub(crate) struct Still {
    pub(crate) window: Option<Bytes>,
    pub(crate) reading: Reading,
    /// What an observer of the run saw of both halves last; nothing before the start.
    pub(crate) last: Option<StreamState>,
    /// The named numbers of its controller.
    numbers: Box<[(&'static str, f64)]>,
}

impl Still {
    /// The values that `half` gives now.
    pub(crate) fn of(half: &impl SenderHalf) -> Still {
        let mut numbers = Vec::new();
        half.probe(&mut |name, value| numbers.push((name, value)));
        Still { window: half.observe().cwnd, reading: half.reading(), last: None, numbers: numbers.into() }
    }

    /// What remains of the two halves of `series` when nothing can happen to them any more.
    pub(crate) fn after(halves: &Pair<TcpEnd, Receiver>, series: u32) -> Still {
        Still { last: Some(StreamState::of(halves, series)), ..Still::of(&halves.sender) }
    }

    /// The named numbers of the sender's controller.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        for (name, value) in &self.numbers {
            out(name, *value);
        }
    }
}
