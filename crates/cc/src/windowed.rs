//! Window-based controllers: slow start x avoidance x response.
//!
//! [`Windowed`] owns what the three share: cwnd and ssthresh, the phase, and the hold-off that makes at
//! most one congestion response per round (spec/mds section 2). Within one ACK the order is: the signal
//! (CE first, by `on_congestion`; SCE only without CE), then growth (spec/mds sections 2 and 8). A slow
//! start that ends by a signal leaves the rest of the ACK to the avoidance; one that ends by delay is
//! done with it.

use windtunnel_units::{Bytes, Duration};

use crate::CongestionControl;
use crate::avoidance::Avoidance;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::hold_off::HoldOff;
use crate::response::Response;
use crate::sample::{AckSample, CongestionEvent, FlowInit, PathView, Trigger};
use crate::slow_start::{SlowStart, Verdict};

/// A window-based congestion controller.
#[derive(Debug)]
pub(crate) struct Windowed<A> {
    mss: Bytes,
    min_cwnd: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    stage: Stage,
    avoidance: A,
    response: Response,
    hold_off: HoldOff,
    exit: Option<ExitReason>,
    undo: Option<Undo<A>>,
}

/// Which part of the controller grows cwnd.
#[derive(Debug)]
enum Stage {
    /// The flow's own slow start, at its begin.
    Seeking(Box<dyn SlowStart>),
    /// Back up to ssthresh, by what is acknowledged (RFC 5681 section 3.1), after a timeout.
    Recovering,
    /// Congestion avoidance.
    Avoiding,
}

/// What a loss response replaced, should the loss turn out to have been none.
#[derive(Clone, Debug)]
struct Undo<A> {
    cwnd: Bytes,
    ssthresh: Bytes,
    avoiding: bool,
    avoidance: A,
}

impl<A: Avoidance> Windowed<A> {
    pub(crate) fn new(
        init: FlowInit,
        slow_start: Box<dyn SlowStart>,
        avoidance: A,
        response: Response,
    ) -> Windowed<A> {
        Windowed {
            mss: init.mss,
            min_cwnd: init.min_cwnd,
            cwnd: init.iw.max(init.min_cwnd),
            ssthresh: Bytes::MAX,
            stage: Stage::Seeking(slow_start),
            avoidance,
            response,
            hold_off: HoldOff::new(),
            exit: None,
            undo: None,
        }
    }

    /// Multiplies cwnd. The floor never raises it: after a timeout cwnd is below.
    fn decrease(&mut self, factor: f64, path: &PathView) {
        let before = self.cwnd;
        self.cwnd = before.scale(factor).max(self.min_cwnd).min(before);
        self.ssthresh = self.cwnd;
        self.avoidance.decreased(before, self.cwnd, path);
    }

    /// Ends the flow's own slow start without a loss.
    fn leave_slow_start(&mut self, reason: ExitReason, rtt: Option<Duration>, path: &PathView) {
        if let Stage::Seeking(slow_start) = &self.stage {
            let cwnd = slow_start.exit_cwnd(self.cwnd, rtt, path);
            self.cwnd = cwnd.max(self.min_cwnd).min(self.cwnd);
        }
        self.exit = Some(reason);
        self.hold_off.begin(path.nxt);
        self.avoid(path);
    }

    /// Begins congestion avoidance at the present cwnd.
    fn avoid(&mut self, path: &PathView) {
        self.ssthresh = self.cwnd;
        self.stage = Stage::Avoiding;
        self.avoidance.begin(self.cwnd, path);
    }

    /// Answers an echo of CE, at most once per round.
    fn on_ce(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        if let Stage::Seeking(slow_start) = &mut self.stage {
            match slow_start.on_ce(&mut self.cwnd, event.rtt, path) {
                Verdict::Stay => return false,
                Verdict::Respond => return true,
                Verdict::Exit(ExitReason::Unused) => self.leave_unused(path),
                Verdict::Exit(reason) => {
                    self.leave_slow_start(reason, event.rtt, path);
                    return true;
                }
            }
        }
        if !self.hold_off.allows(path.una) {
            return false;
        }
        self.respond(self.response.ce, path);
        self.undo = None;
        true
    }

    /// Keeps what a response to a loss is about to replace.
    fn remember(&mut self) {
        self.undo = Some(Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            avoiding: matches!(self.stage, Stage::Avoiding),
            avoidance: self.avoidance.clone(),
        });
    }

    /// Answers a loss. The sender reports each episode once: no hold-off.
    fn on_loss(&mut self, path: &PathView) {
        if let Stage::Seeking(_) = self.stage {
            self.exit = Some(ExitReason::Loss);
        }
        self.remember();
        self.respond(self.response.loss, path);
    }

    /// A congestion response: decreases cwnd and begins a round without further ones.
    fn respond(&mut self, factor: f64, path: &PathView) {
        self.stage = Stage::Avoiding;
        self.decrease(factor, path);
        self.hold_off.begin(path.nxt);
    }

    /// Answers the SCE of an ACK, one by one. A place in the limiter is used even where the hold-off
    /// then refuses the response (spec/mds section 8); it does not begin a round.
    fn on_sce(&mut self, marks: u32, path: &PathView) {
        let allowed = self.hold_off.allows(path.una);
        for _ in 0..marks {
            let Some(factor) = self.response.sce(path.now, path.srtt) else { break };
            if allowed {
                self.stage = Stage::Avoiding;
                self.decrease(factor, path);
            }
        }
    }

    /// Slow start is not used: nothing was learned, so no exit response and no hold-off.
    fn leave_unused(&mut self, path: &PathView) {
        self.exit = Some(ExitReason::Unused);
        self.avoid(path);
    }

    /// Growth after a timeout; what would lead beyond ssthresh is left to the avoidance's next ACK.
    fn recover(&mut self, ack: &AckSample, path: &PathView) {
        self.cwnd = (self.cwnd + ack.acked).min(self.ssthresh);
        if self.cwnd >= self.ssthresh {
            self.avoid(path);
        }
    }
}

impl<A: Avoidance> CongestionControl for Windowed<A> {
    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        let mut sce = ack.ecn.sce.packets;
        if let Stage::Seeking(slow_start) = &mut self.stage {
            match slow_start.on_ack(&mut self.cwnd, ack, path) {
                Verdict::Stay | Verdict::Respond => return,
                Verdict::Exit(ExitReason::Unused) => self.leave_unused(path),
                Verdict::Exit(reason) => {
                    self.leave_slow_start(reason, ack.rtt, path);
                    if reason == ExitReason::Delay {
                        return;
                    }
                    // Leaving was the answer to them: they take no place in the limiter.
                    sce = 0;
                }
            }
        }
        if sce > 0 {
            self.on_sce(sce, path);
        }
        if ack.acked == Bytes::ZERO {
            return;
        }
        match self.stage {
            Stage::Recovering => self.recover(ack, path),
            _ => self.cwnd = self.avoidance.grow(self.cwnd, ack, path).max(self.min_cwnd),
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        match event.trigger {
            Trigger::Ce => self.on_ce(event, path),
            Trigger::Loss => {
                self.on_loss(path);
                true
            }
        }
    }

    /// RFC 5681 section 3.1: ssthresh from the flight (equation 4), cwnd one segment more than
    /// is in flight.
    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if new_episode {
            if let Stage::Seeking(_) = self.stage {
                self.exit = Some(ExitReason::Loss);
            }
            self.remember();
            let flight = (path.nxt - path.una).min(self.cwnd);
            self.ssthresh = flight.scale(self.response.loss).max(self.min_cwnd);
            self.hold_off.begin(path.nxt);
            self.avoidance.timed_out(path);
        }
        self.cwnd = path.in_flight + self.mss;
        self.stage = Stage::Recovering;
    }

    fn on_undo(&mut self, path: &PathView) {
        let Some(undo) = self.undo.take() else { return };
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
        self.avoidance = undo.avoidance;
        if undo.avoiding {
            self.stage = Stage::Avoiding;
        } else if self.cwnd < self.ssthresh {
            self.stage = Stage::Recovering;
        } else {
            self.avoid(path);
        }
    }

    fn control(&self) -> Control {
        let phase = match &self.stage {
            Stage::Seeking(_) | Stage::Recovering => Phase::SlowStart,
            Stage::Avoiding => Phase::CongestionAvoidance,
        };
        Control { cwnd: self.cwnd, ssthresh: self.ssthresh, pacing: self.pacing(), phase }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(match &self.stage {
            Stage::Seeking(slow_start) => slow_start.pacing_gain(),
            Stage::Recovering | Stage::Avoiding => 1.0,
        })
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match &self.stage {
            Stage::Seeking(slow_start) => slow_start.probe(out),
            Stage::Recovering | Stage::Avoiding => out("recover", self.hold_off.recover().get() as f64),
        }
        self.avoidance.probe(out);
        if let Some(n) = self.response.sce_in_window() {
            out("sce_in_window", n as f64);
        }
    }
}
