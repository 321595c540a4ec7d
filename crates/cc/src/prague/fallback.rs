//! Rule 9: where the handshake agreed on no counts of marks (AccECN), Linux's Reno controls the flow.

use windtunnel_units::{Bytes, Duration};

use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::{CongestionControl, ControllerParams};
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, PathView};
use crate::style::Style;
use crate::windowed::WindowedConfig;

/// Rules of Prague, and what controls the flow where its marks are not counted.
#[derive(Debug)]
pub(super) struct WithFallback<R> {
    rules: R,
    /// Gone once the handshake agreed on counts.
    reno: Option<Box<dyn CongestionControl>>,
    /// The handshake is over.
    negotiated: bool,
}

impl<R: CongestionControl> WithFallback<R> {
    pub(super) fn new(rules: R, init: FlowInit) -> WithFallback<R> {
        let mut config = WindowedConfig::default();
        config.resolve(Style::Linux);
        WithFallback { rules, reno: Some(config.build(init)), negotiated: false }
    }

    fn current(&mut self) -> &mut dyn CongestionControl {
        match &mut self.reno {
            Some(reno) => reno.as_mut(),
            None => &mut self.rules,
        }
    }
}

impl<R: CongestionControl> CongestionControl for WithFallback<R> {
    /// Asked again after the handshake: Reno needs less.
    fn needs(&self) -> Needs {
        let own = Needs {
            pacing: PacingNeed::Always,
            feedback: Feedback::Counts,
            scalable: true,
            rate_samples: true,
            loss_after_ce: true,
            own_window: true,
            ..Needs::default()
        };
        match &self.reno {
            Some(_) if self.negotiated => Needs { own_window: false, loss_after_ce: false, ..own },
            _ => own,
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.negotiated = true;
        if heard == Feedback::Counts {
            self.reno = None;
        }
    }

    fn on_established(&mut self, path: &PathView) {
        self.current().on_established(path);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.current().on_ack(ack, path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        self.current().on_congestion(event, path)
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        self.current().on_rto(new_episode, path);
    }

    fn on_tx_start(&mut self, idle: Duration, path: &PathView) {
        self.current().on_tx_start(idle, path);
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.current().on_cwnd_validation(cwnd, path);
    }

    fn on_undo(&mut self, path: &PathView) {
        self.current().on_undo(path);
    }

    fn on_recovered(&mut self, path: &PathView) {
        self.current().on_recovered(path);
    }

    fn control(&self) -> Control {
        let Some(reno) = &self.reno else { return self.rules.control() };
        let control = reno.control();
        // Linux's factors on cwnd / srtt, where the sender's own do not apply.
        let gain = if control.phase == Phase::SlowStart { 2.0 } else { 1.2 };
        Control { pacing: Pacing::Gain(gain), ..control }
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.reno.as_ref().map_or_else(|| self.rules.slow_start_exit(), |reno| reno.slow_start_exit())
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.rules.probe(out);
        out("is_reno", f64::from(u8::from(self.reno.is_some())));
    }
}
