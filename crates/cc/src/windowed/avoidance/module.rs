//! Avoidances as Linux's modules are written: they count the window in whole segments and watch the path in every phase.
//!
//! [`Module`] has the calls of Linux's `tcp_congestion_ops` (spec/congestion-control section 0.3). [`InSegments`] turns
//! one into an [`Avoidance`] and does what all have in common: growth by [`CwndCnt`], which a response forgets, and an undo
//! that restores the window alone.

use std::fmt::Debug;

use windtunnel_units::{Bytes, Duration};

use super::{Avoidance, Steered, Unit, Window, segments};
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::cwnd_cnt::CwndCnt;

/// The window in whole segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segments {
    /// The congestion window.
    pub(super) w: u64,
    /// The slow-start threshold; [`Segments::INFINITE`] while none is known.
    pub(super) ssthresh: u64,
}

impl Segments {
    /// The threshold while none is known.
    pub(super) const INFINITE: u64 = u64::MAX;

    fn of(window: &Window, mss: Bytes) -> Segments {
        let ssthresh = if window.ssthresh == Bytes::MAX { Segments::INFINITE } else { window.ssthresh / mss };
        Segments { w: window.cwnd / mss, ssthresh }
    }

    fn bytes(self, mss: Bytes) -> Window {
        let ssthresh = if self.ssthresh == Segments::INFINITE { Bytes::MAX } else { mss * self.ssthresh };
        Window { cwnd: mss * self.w, ssthresh }
    }

    /// True if slow start grows the window.
    pub(super) const fn in_slow_start(self) -> bool {
        self.w < self.ssthresh
    }
}

/// A controller as Linux's modules are written. Each call is explained at [`Avoidance`].
pub(super) trait Module: Clone + Debug + Send + Sync {
    /// What the module needs in addition to the needs of slow start and response.
    fn needs(&self, needs: Needs) -> Needs {
        Needs { delivery_reports: true, states: true, ..needs }
    }

    /// Linux `init`.
    fn init(&mut self, _window: &mut Segments, _path: &PathView) {}

    /// Linux `pkts_acked`.
    fn pkts_acked(&mut self, _delivery: &Delivery, _w: u64, _path: &PathView) {}

    /// The ACK is about to grow the window (the first part of Linux `cong_avoid`, and of what modules do at every ACK).
    fn steer(&mut self, _window: &mut Segments, _ack: &AckSample, _path: &PathView) -> Steered {
        Steered::Grow
    }

    /// Returns the window after `n` segments were delivered in congestion avoidance, and the growth gate is open.
    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64;

    /// The ACK has grown the window (the last part of Linux `cong_avoid`).
    fn settled(&mut self, _window: &mut Segments, _ack: &AckSample, _path: &PathView) {}

    /// Linux `ssthresh`.
    fn ssthresh(&mut self, w: u64, path: &PathView) -> u64;

    /// Linux `set_state`.
    fn set_state(&mut self, _state: CaState, _path: &PathView) {}

    /// Linux `CA_EVENT_CWND_RESTART`.
    fn cwnd_restart(&mut self, _path: &PathView) {}

    /// Linux `CA_EVENT_TX_START`.
    fn tx_start(&mut self, _path: &PathView) {}

    /// Linux `CA_EVENT_COMPLETE_CWR`.
    fn complete_cwr(&mut self, _path: &PathView) {}

    /// True once if the module enters CWR by itself.
    fn asks_reduction(&mut self) -> bool {
        false
    }

    /// Reports named internal numbers.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// Half of the window, at least two segments: Reno's answer.
pub(super) fn half(w: u64) -> u64 {
    (w / 2).max(2)
}

/// Returns a window that grows by a segment for each `cnt` of `n` segments delivered (Linux
/// `tcp_cong_avoid_ai`).
pub(super) fn cong_avoid_ai(w: u64, cnt: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
    w + cwnd_cnt.add(cnt.max(1) as f64, n as f64)
}

/// An avoidance that counts in segments.
#[derive(Clone, Debug)]
pub(super) struct InSegments<M> {
    module: M,
    cwnd_cnt: CwndCnt,
    /// The share of the window that the last response left; Reno's before the first.
    md: f64,
}

impl<M: Module> InSegments<M> {
    pub(super) fn new(module: M) -> InSegments<M> {
        InSegments { module, cwnd_cnt: CwndCnt::default(), md: 0.5 }
    }
}

impl<M: Module> Avoidance for InSegments<M> {
    const STEERS: bool = true;
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        self.md
    }

    fn needs(&self, needs: Needs) -> Needs {
        self.module.needs(needs)
    }

    fn established(&mut self, window: &mut Window, path: &PathView) {
        let mut segments = Segments::of(window, path.mss);
        let before = segments;
        self.module.init(&mut segments, path);
        if segments != before {
            *window = segments.bytes(path.mss);
        }
    }

    fn delivered(&mut self, delivery: &Delivery, window: &Window, path: &PathView) {
        self.module.pkts_acked(delivery, window.cwnd / path.mss, path);
    }

    fn steer(&mut self, window: &mut Window, ack: &AckSample, path: &PathView) -> Steered {
        let mut segments = Segments::of(window, path.mss);
        let before = segments;
        let steered = self.module.steer(&mut segments, ack, path);
        if segments != before {
            *window = segments.bytes(path.mss);
        }
        steered
    }

    fn settled(&mut self, window: &mut Window, ack: &AckSample, path: &PathView) {
        let mut segments = Segments::of(window, path.mss);
        let before = segments;
        self.module.settled(&mut segments, ack, path);
        if segments != before {
            *window = segments.bytes(path.mss);
        }
    }

    fn congestion_event(&mut self, window: &Window, path: &PathView) {
        let w = (window.cwnd / path.mss).max(1);
        let left = self.module.ssthresh(w, path).min(w);
        self.md = left as f64 / w as f64;
    }

    fn state(&mut self, state: CaState, path: &PathView) {
        self.module.set_state(state, path);
    }

    fn asks_reduction(&mut self) -> bool {
        self.module.asks_reduction()
    }

    fn recovered(&mut self, _window: &mut Window, path: &PathView) {
        self.module.complete_cwr(path);
    }

    fn restarted(&mut self, path: &PathView) {
        self.module.cwnd_restart(path);
    }

    fn idled(&mut self, _idle: Duration, path: &PathView) {
        self.module.tx_start(path);
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let w = cwnd / path.mss;
        let grown = self.module.cong_avoid(w, segments(amount, path.mss), &mut self.cwnd_cnt);
        cwnd + path.mss * grown.saturating_sub(w)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.module.probe(out);
        out("credit_segments", self.cwnd_cnt.get());
    }
}
