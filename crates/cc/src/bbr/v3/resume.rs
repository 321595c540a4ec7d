//! Careful Resume with BBR (RFC 9959, read as draft-ietf-tsvwg-careful-resume-24, "Implementation Notes for using BBR").
//!
//! - *Reconnaissance* is Startup, until the initial window is acknowledged and a round starts.
//! - *Unvalidated*: for two rounds the pace is at least the probing rate, half of the saved bandwidth, and cwnd has room for
//!   it at Startup's gain. By then all that the first of these rounds sent is acknowledged, and rates that were measured
//!   show what the path carries.
//! - *Safe Retreat*: congestion in the two rounds leads to Drain. Rates that are measured there do not count, since the
//!   queue is the jump's own.
//!
//! The saved bandwidth is `saved_cwnd / saved_rtt`: over the round trip of now, a path of half the saved one would get all
//! of the former bandwidth at once. Any loss or mark is congestion here, as with a window.

use super::controller::{Bbr3, Mode};
use crate::control::ExitReason;
use crate::sample::{AckSample, PathView};
use crate::saved_path::SavedPath;

/// For how many rounds unvalidated packets may leave.
const ROUNDS: u64 = 2;

/// The phase (`CC.CRPhase`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Resume {
    Reconnaissance(SavedPath),
    /// `carefully-resuming`, at this probing rate in bytes per second, until that round.
    Unvalidated {
        rate: f64,
        until: u64,
    },
    /// Congestion was found: Drain follows.
    Congested,
    /// Drain.
    SafeRetreat,
    Normal,
}

impl Resume {
    /// A loss or a mark was found.
    pub(super) fn on_congestion(&mut self) {
        match self {
            Resume::Reconnaissance(_) => *self = Resume::Normal,
            Resume::Unvalidated { .. } => *self = Resume::Congested,
            Resume::Congested | Resume::SafeRetreat | Resume::Normal => {}
        }
    }

    /// The number of the phase, as in the log of RFC 9959's authors; there is no validation of its own.
    pub(super) const fn number(self) -> f64 {
        match self {
            Resume::Reconnaissance(_) => 1.0,
            Resume::Unvalidated { .. } => 2.0,
            Resume::Congested | Resume::SafeRetreat => 4.0,
            Resume::Normal => 5.0,
        }
    }
}

impl Bbr3 {
    /// A flow over a path that an earlier connection has measured.
    pub(super) fn resuming(mut self, saved: SavedPath) -> Bbr3 {
        self.resume = Some(Resume::Reconnaissance(saved));
        self
    }

    /// The pace that resumption asks for, in bytes per second; zero for none.
    pub(super) fn probing_rate(&self) -> f64 {
        match self.resume {
            Some(Resume::Unvalidated { rate, .. }) => rate,
            _ => 0.0,
        }
    }

    /// Whether rates that are measured say nothing of the path.
    pub(super) fn discards_rates(&self) -> bool {
        matches!(self.resume, Some(Resume::SafeRetreat))
    }

    /// The next phase, before gains, pace and window follow.
    #[inline]
    pub(super) fn update_resume(&mut self, ack: &AckSample, path: &PathView) {
        if self.resume.is_some() {
            self.resume_carefully(ack, path);
        }
    }

    #[cold]
    fn resume_carefully(&mut self, ack: &AckSample, path: &PathView) {
        let Some(resume) = &mut self.resume else { return };
        if ack.ecn.any() {
            resume.on_congestion();
        }
        match *resume {
            Resume::Reconnaissance(saved) => self.reconnoitre(saved, path),
            Resume::Unvalidated { until, .. } if self.round.count >= until => {
                *resume = Resume::Normal;
                // Startup's pace only grows: it starts again from what was measured.
                self.pacing_rate = 0.0;
            }
            Resume::Congested => {
                *resume = Resume::Normal;
                if self.mode == Mode::Startup {
                    self.resume = Some(Resume::SafeRetreat);
                    self.ended_by_loss(Mode::Startup);
                    self.leave_full_startup();
                    self.enter_drain(ExitReason::Other("careful resume"), ack, path);
                }
            }
            Resume::SafeRetreat if self.mode != Mode::Drain => *resume = Resume::Normal,
            Resume::Unvalidated { .. } | Resume::SafeRetreat | Resume::Normal => {}
        }
    }

    /// The initial window is acknowledged, and a round starts: the path is the saved one, or is not.
    fn reconnoitre(&mut self, saved: SavedPath, path: &PathView) {
        if !self.round.start || self.delivered.as_f64() < self.iw {
            return;
        }
        let rate = saved.jump.as_f64() / saved.rtt.as_secs_f64();
        if self.mode != Mode::Startup || !saved.confirms(path.min_rtt) || rate <= self.bw() {
            self.resume = Some(Resume::Normal);
        } else if !self.app_limited {
            self.resume = Some(Resume::Unvalidated { rate, until: self.round.count + ROUNDS });
            self.cwnd = self.cwnd.max(self.inflight(rate, self.rules.startup_cwnd));
        }
    }
}
