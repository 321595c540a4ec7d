//! How the window-based controller answers what tells of congestion: losses, CE, SCE, and a wish of its avoidance.
//!
//! Each answer leaves a part of the window, which the flow's response decides, and starts a round without further
//! answers to CE. An answer to a loss can be undone, so the state before it is saved.

use windtunnel_units::Bytes;

use super::{Stage, Undo, Windowed};
use crate::control::ExitReason;
use crate::sample::{AckSample, CongestionEvent, PathView, SsthreshBase};
use crate::windowed::avoidance::Avoidance;
use crate::windowed::response::{Kept, Moment};
use crate::windowed::slow_start::SlowStartVerdict;

impl<A: Avoidance> Windowed<A> {
    /// Answers an echo of CE, at most once per round.
    pub(super) fn on_ce(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        if self.stage == Stage::SlowStart {
            match self.slow_start.on_ce(&mut self.cwnd, event.rtt, path) {
                SlowStartVerdict::Stay => return false,
                SlowStartVerdict::Respond => return true,
                SlowStartVerdict::Exit(reason) if self.slow_start.exits_by_md() => {
                    if self.hold_off.allows(path.una) {
                        self.exit = Some(reason);
                    }
                }
                SlowStartVerdict::Exit(reason) => {
                    self.leave_slow_start(reason, event.rtt, path);
                    return true;
                }
                SlowStartVerdict::Leave(reason) => self.leave_at_cwnd(reason, path),
            }
        }
        if !self.hold_off.allows(path.una) {
            return false;
        }
        self.end_recovery(path);
        self.avoidance.congestion_event(&self.window(), path);
        // CE halves cwnd, not the flight (RFC 3168 section 6.1.2).
        let kept = self.response.ce(&self.moment(path));
        self.respond(self.cwnd, kept, event.lost, path);
        self.undo = None;
        true
    }

    /// Answers a loss. The sender reports each episode once, so there is no hold-off.
    pub(super) fn on_loss(&mut self, event: &CongestionEvent, path: &PathView) {
        self.end_recovery(path);
        self.init_undo();
        self.avoidance.congestion_event(&self.window(), path);
        let factor = self.response.loss(self.avoidance.md());
        self.respond(self.loss_base(event.window, path), Kept::Factor(factor), event.lost, path);
    }

    /// Answers a wish of the avoidance itself.
    pub(super) fn on_own_wish(&mut self, path: &PathView) {
        self.undo = None;
        self.end_recovery(path);
        self.avoidance.congestion_event(&self.window(), path);
        self.respond(self.cwnd, Kept::Factor(self.avoidance.md()), Bytes::ZERO, path);
    }

    /// Answers the SCE of an ACK, one by one. An SCE uses a place in the limiter even if the hold-off then refuses the
    /// response (spec/mds section 8). It does not start a round.
    pub(super) fn on_sce(&mut self, marks: u32, path: &PathView) {
        let allowed = !self.sce_rules.held_off || self.hold_off.allows(path.una);
        for _ in 0..marks {
            let Some(kept) = self.response.sce(&self.moment(path)) else { break };
            if allowed {
                let before = self.cwnd;
                let left = match kept {
                    Kept::Factor(factor) => before.scale(factor),
                    Kept::Window(left) => left,
                };
                self.cwnd = left.max(self.min_cwnd).min(before);
                self.ssthresh = self.cwnd;
                self.stage = Stage::CongestionAvoidance;
                if self.sce_rules.flattens {
                    self.avoidance.flattened(self.cwnd, path);
                } else {
                    self.avoidance.scaled(before, self.cwnd, path);
                }
            }
        }
    }

    /// Takes from cwnd what a response to CE spread over a round takes for this ACK.
    pub(super) fn spread_ce(&mut self, segments: u32, path: &PathView) {
        let left = self.response.ce_of_ack(segments, &self.moment(path));
        self.cwnd = left.max(self.min_cwnd).min(self.cwnd);
        self.ssthresh = self.cwnd;
    }

    /// Responds to congestion: leaves what is `kept` of `base`, and starts a round without further responses. The floor
    /// never raises cwnd: after a timeout cwnd may be below the floor, and ssthresh is then above cwnd. A slow start may
    /// have a recovery of its own instead, which begins with the bytes `lost`.
    fn respond(&mut self, base: Bytes, kept: Kept, lost: Bytes, path: &PathView) {
        let before = self.cwnd;
        let (left, factor) = match kept {
            Kept::Factor(factor) => (self.avoidance.kept(base, factor, self.mss), factor),
            Kept::Window(left) => (left, left.as_f64() / base.as_f64()),
        };
        if self.stage == Stage::SlowStart
            && let Some(mut recovery) = self.slow_start.recovery(base, factor, path)
        {
            recovery.begin(lost);
            self.recovery = Some(recovery);
            self.stage = Stage::CongestionAvoidance;
            self.follow_recovery();
            self.avoidance.clear_cwnd_cnt();
            self.hold_off.start(path.nxt);
            return;
        }
        self.ssthresh = left.max(self.avoidance.least(self.min_cwnd, self.mss));
        self.cwnd = self.ssthresh.min(before);
        self.stage =
            if self.cwnd < self.ssthresh { Stage::BelowSsthresh } else { Stage::CongestionAvoidance };
        self.avoidance.decreased(before, self.cwnd, factor, path);
        self.avoidance.clear_cwnd_cnt();
        self.hold_off.start(path.nxt);
    }

    /// Takes the window of the recovery that slow start has handed over; it never rises.
    pub(super) fn follow_recovery(&mut self) {
        let Some(recovery) = &self.recovery else { return };
        self.cwnd = recovery.cwnd().min(self.cwnd);
        self.ssthresh = self.cwnd;
    }

    /// An ACK arrives during that recovery. It ends at the latest with the first ACK of what was sent after its beginning.
    pub(super) fn recover(&mut self, ack: &AckSample, path: &PathView) {
        if let Some(recovery) = &mut self.recovery {
            recovery.on_ack(ack.newly_delivered, path);
            self.follow_recovery();
        }
        if self.hold_off.allows(path.una) {
            self.end_recovery(path);
        }
    }

    /// Ends that recovery, if there is one: congestion avoidance hears of a response that left ssthresh as it is.
    pub(super) fn end_recovery(&mut self, path: &PathView) {
        let Some(mut recovery) = self.recovery.take() else { return };
        if path.una >= self.hold_off.recover() {
            recovery.settle();
        }
        self.cwnd = recovery.cwnd().min(self.cwnd);
        self.ssthresh = recovery.ssthresh().max(self.cwnd);
        if self.cwnd < self.ssthresh {
            self.stage = Stage::BelowSsthresh;
        }
        self.avoidance.decreased(recovery.peak(), self.ssthresh, recovery.kept(), path);
    }

    /// The moment at which a signal is answered.
    fn moment(&self, path: &PathView) -> Moment {
        Moment { cwnd: self.cwnd, mss: self.mss, now: path.now, srtt: path.srtt, md: self.avoidance.md() }
    }

    /// Returns the base from which a loss computes ssthresh: at most the window in force, although limited transmit may have
    /// sent more.
    pub(super) fn loss_base(&self, window: Bytes, path: &PathView) -> Bytes {
        match self.base {
            SsthreshBase::Cwnd => window,
            SsthreshBase::Flight => (path.nxt - path.una).min(window),
        }
    }

    /// Saves the state that a response to a loss is about to replace.
    pub(super) fn init_undo(&mut self) {
        let undo = Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            stage: self.stage,
            exit: self.exit,
            avoidance: self.avoidance.clone(),
        };
        match &mut self.undo {
            Some(before) => **before = undo,
            None => self.undo = Some(Box::new(undo)),
        }
        if self.stage == Stage::SlowStart {
            self.exit = Some(ExitReason::Loss);
        }
    }
}
