//! A controller that does not answer congestion: a misbehaving flow, or a test of what a queue does against one.
//!
//! It is any controller whose signals are withheld: it grows as ever and never learns of marks, of losses, or of either. What
//! the sender does by itself (retransmissions, no growth while it repairs losses) stays.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration, Rate};

use crate::control::{Control, ExitReason, Pacing};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs};
use crate::sample::{
    AckSample, ArrivedPacket, CongestionEvent, Delivery, EcnFeedback, LostSegment, MediaFrame, PathView,
    SentSegment, Trigger,
};
use crate::state::CaState;
use crate::subflow::Subflow;

/// What a flow does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ignored {
    /// Marks: CE and SCE.
    Marks,
    /// Losses and timeouts.
    Losses,
    /// All of them.
    All,
}

impl Ignored {
    const fn marks(self) -> bool {
        matches!(self, Ignored::Marks | Ignored::All)
    }

    const fn losses(self) -> bool {
        matches!(self, Ignored::Losses | Ignored::All)
    }
}

/// A controller from which signals are withheld.
#[derive(Debug)]
pub struct Unresponsive {
    inner: Box<dyn CongestionControl>,
    ignored: Ignored,
}

impl Unresponsive {
    /// Withholds the signals that are `ignored` from a controller.
    pub fn new(inner: Box<dyn CongestionControl>, ignored: Ignored) -> Unresponsive {
        Unresponsive { inner, ignored }
    }

    /// What the controller learns of these marks.
    fn heard(&self, ecn: EcnFeedback) -> EcnFeedback {
        if self.ignored.marks() { EcnFeedback::default() } else { ecn }
    }
}

impl CongestionControl for Unresponsive {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn join(&mut self, subflow: Subflow) {
        self.inner.join(subflow);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        let newly_lost = if self.ignored.losses() { Bytes::ZERO } else { ack.newly_lost };
        self.inner.on_ack(&AckSample { ecn: self.heard(ack.ecn), newly_lost, ..*ack }, path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        let ignored = match event.trigger {
            Trigger::Ce => self.ignored.marks(),
            Trigger::Loss => self.ignored.losses(),
            Trigger::Controller => false,
        };
        !ignored && self.inner.on_congestion(event, path)
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if !self.ignored.losses() {
            self.inner.on_rto(new_episode, path);
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.inner.on_negotiated(heard);
    }

    fn on_sack_refused(&mut self) {
        self.inner.on_sack_refused();
    }

    fn ack_ratio(&self) -> Option<u32> {
        self.inner.ack_ratio()
    }

    fn on_established(&mut self, path: &PathView) {
        self.inner.on_established(path);
    }

    fn on_arrival(&mut self, packet: &ArrivedPacket, path: &PathView) {
        self.inner.on_arrival(packet, path);
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathView) {
        self.inner.on_delivery(&Delivery { ecn: self.heard(delivery.ecn), ..*delivery }, path);
    }

    fn is_conventional(&self) -> bool {
        self.inner.is_conventional()
    }

    fn on_sent(&mut self, sent: &SentSegment, path: &PathView) {
        self.inner.on_sent(sent, path);
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        if !self.ignored.losses() {
            self.inner.on_lost(segment, path);
        }
    }

    fn on_tx_start(&mut self, idle: Duration, path: &PathView) {
        self.inner.on_tx_start(idle, path);
    }

    fn on_state(&mut self, state: CaState, path: &PathView) {
        self.inner.on_state(state, path);
    }

    fn asks_reduction(&mut self) -> bool {
        self.inner.asks_reduction()
    }

    fn recovers_itself(&self) -> bool {
        self.inner.recovers_itself()
    }

    fn on_cwnd_restart(&mut self, path: &PathView) {
        self.inner.on_cwnd_restart(path);
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.inner.on_cwnd_validation(cwnd, path);
    }

    fn on_undo(&mut self, path: &PathView) {
        self.inner.on_undo(path);
    }

    fn on_recovered(&mut self, path: &PathView) {
        self.inner.on_recovered(path);
    }

    fn control(&self) -> Control {
        self.inner.control()
    }

    fn on_frame(&mut self, frame: &MediaFrame, path: &PathView) {
        self.inner.on_frame(frame, path);
    }

    fn target_bitrate(&self) -> Option<Rate> {
        self.inner.target_bitrate()
    }

    fn cwnd(&self) -> Bytes {
        self.inner.cwnd()
    }

    fn pacing(&self) -> Pacing {
        self.inner.pacing()
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.inner.slow_start_exit()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.inner.probe(out);
    }
}
