//! Controllers from which signals are withheld: what reaches them, and what they answer.

use std::sync::{Arc, Mutex};

use windtunnel_cc::{
    AckSample, CaState, CongestionControl, CongestionEvent, Control, Delivery, Departure, EcnFeedback,
    ExitReason, Feedback, FlowInit, Ignored, LossFinder, LostSegment, Marked, MediaFrame, Needs, Pacing,
    PathView, SentSegment, Trigger, Unresponsive,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::cruise::{Cruise, CruiseParams, Log};
use crate::driver::MSS;

const SECOND: Duration = Duration::SECOND;

/// A controller that notes what it is told, and answers each question as no other does.
#[derive(Debug, Default)]
struct Listener {
    notes: Arc<Mutex<Vec<String>>>,
    answer: bool,
}

impl Listener {
    fn note(&self, note: impl Into<String>) {
        self.notes.lock().expect("one thread").push(note.into());
    }
}

impl CongestionControl for Listener {
    fn needs(&self) -> Needs {
        Needs { one_way: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample, _: &PathView) {
        self.note(format!(
            "ack of {}, {} CE, {} lost",
            ack.acked / MSS,
            ack.ecn.ce.packets,
            ack.newly_lost / MSS
        ));
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _: &PathView) -> bool {
        self.note(format!("{:?}", event.trigger));
        self.answer
    }

    fn on_rto(&mut self, new_episode: bool, _: &PathView) {
        self.note(format!("timeout {new_episode}"));
    }

    fn on_established(&mut self, _: &PathView) {
        self.note("established");
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.note(format!("negotiated {heard:?}"));
    }

    fn on_delivery(&mut self, delivery: &Delivery, _: &PathView) {
        self.note(format!("delivery of {}, {} CE", delivery.acked / MSS, delivery.ecn.ce.packets));
    }

    fn on_sent(&mut self, _: &SentSegment, _: &PathView) {
        self.note("sent");
    }

    fn on_lost(&mut self, _: &LostSegment, _: &PathView) {
        self.note("lost");
    }

    fn on_tx_start(&mut self, _: Duration, _: &PathView) {
        self.note("start");
    }

    fn on_state(&mut self, state: CaState, _: &PathView) {
        self.note(state.name());
    }

    fn asks_reduction(&mut self) -> bool {
        self.answer
    }

    fn on_cwnd_restart(&mut self, _: &PathView) {
        self.note("restart");
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, _: &PathView) {
        self.note(format!("validation to {}", cwnd / MSS));
    }

    fn on_undo(&mut self, _: &PathView) {
        self.note("undo");
    }

    fn on_recovered(&mut self, _: &PathView) {
        self.note("recovered");
    }

    fn control(&self) -> Control {
        Control::window(MSS * 7)
    }

    fn on_frame(&mut self, _: &MediaFrame, _: &PathView) {
        self.note("frame");
    }

    fn target_bitrate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(9))
    }

    fn cwnd(&self) -> Bytes {
        MSS * 8
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(3.0)
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        Some(ExitReason::Growth)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("answer", f64::from(u8::from(self.answer)));
    }
}

fn path() -> PathView {
    PathView {
        now: Time::ZERO,
        mss: MSS,
        srtt: SECOND,
        min_rtt: SECOND,
        in_flight: MSS,
        una: Seq::FIRST_DATA,
        nxt: Seq::FIRST_DATA,
    }
}

/// All that a sender reports, marks and losses among it.
fn tell(cc: &mut dyn CongestionControl) {
    let path = path();
    let departure = Departure {
        sent: Time::ZERO,
        in_flight: MSS,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        app_limited: false,
    };
    let segment =
        LostSegment { seq: Seq::FIRST_DATA, payload: MSS, departure, lost: MSS, found_by: LossFinder::Ack };
    let rate = Rate::from_bits_per_sec(1);
    let frame = MediaFrame { size: MSS, period: SECOND, waited: SECOND, least: rate, most: rate };
    let ecn = EcnFeedback { ce: Marked { bytes: MSS, packets: 1 }, ..EcnFeedback::default() };
    cc.on_negotiated(Feedback::Counts);
    cc.on_established(&path);
    cc.on_sent(&SentSegment { seq: Seq::FIRST_DATA, payload: MSS, retransmission: false }, &path);
    cc.on_delivery(&Delivery { acked: MSS * 2, ecn, ..Delivery::default() }, &path);
    cc.on_lost(&segment, &path);
    for trigger in [Trigger::Ce, Trigger::Loss, Trigger::Controller] {
        cc.on_congestion(&CongestionEvent { trigger, window: MSS, lost: MSS, rtt: None }, &path);
    }
    cc.on_state(CaState::Recovery, &path);
    cc.on_ack(&AckSample { acked: MSS * 3, ecn, newly_lost: MSS * 4, ..AckSample::default() }, &path);
    cc.on_rto(true, &path);
    cc.on_undo(&path);
    cc.on_recovered(&path);
    cc.on_cwnd_restart(&path);
    cc.on_cwnd_validation(MSS * 5, &path);
    cc.on_tx_start(SECOND, &path);
    cc.on_frame(&frame, &path);
}

/// Marks or losses do not reach the controller if they are ignored, in ACKs neither; all else does, in the same
/// order.
#[test]
fn what_is_withheld() {
    for ignored in [Ignored::Marks, Ignored::Losses, Ignored::All] {
        let (marks, losses) = (ignored != Ignored::Losses, ignored != Ignored::Marks);
        let listener = Listener::default();
        let notes = Arc::clone(&listener.notes);
        tell(&mut Unresponsive::new(Box::new(listener), ignored));
        let (ce, lost) = (u32::from(!marks), if losses { 0 } else { 4 });
        let delivery = format!("delivery of 2, {ce} CE");
        let ack = format!("ack of 3, {ce} CE, {lost} lost");
        let expected = [
            (true, "negotiated Counts"),
            (true, "established"),
            (true, "sent"),
            (true, delivery.as_str()),
            (!losses, "lost"),
            (!marks, "Ce"),
            (!losses, "Loss"),
            (true, "Controller"),
            (true, "Recovery"),
            (true, ack.as_str()),
            (!losses, "timeout true"),
            (true, "undo"),
            (true, "recovered"),
            (true, "restart"),
            (true, "validation to 5"),
            (true, "start"),
            (true, "frame"),
        ];
        let heard: Vec<&str> =
            expected.into_iter().filter_map(|(heard, note)| heard.then_some(note)).collect();
        assert_eq!(*notes.lock().expect("one thread"), heard, "{ignored:?}");
    }
}

/// The sender hears the controller's own answers. To what was withheld the answer is that nothing was reduced.
#[test]
fn what_is_answered() {
    for answer in [true, false] {
        let listener = Listener { answer, ..Listener::default() };
        let mut cc = Unresponsive::new(Box::new(listener), Ignored::Marks);
        assert_eq!(cc.needs(), Needs { one_way: true, ..Needs::default() });
        assert_eq!((cc.control(), cc.cwnd()), (Control::window(MSS * 7), MSS * 8));
        assert_eq!((cc.pacing(), cc.asks_reduction()), (Pacing::Gain(3.0), answer));
        assert_eq!(cc.target_bitrate(), Some(Rate::from_bits_per_sec(9)));
        assert_eq!(cc.slow_start_exit(), Some(ExitReason::Growth));
        let mut numbers = Vec::new();
        cc.probe(&mut |name, value| numbers.push((name, value)));
        assert_eq!(numbers, [("answer", f64::from(u8::from(answer)))]);
        for (trigger, reduced) in
            [(Trigger::Ce, false), (Trigger::Loss, answer), (Trigger::Controller, answer)]
        {
            let event = CongestionEvent { trigger, window: MSS, lost: MSS, rtt: None };
            assert_eq!(cc.on_congestion(&event, &path()), reduced, "{trigger:?}");
        }
    }
}

/// A controller that says nothing of it neither asks for reductions nor steers a source.
#[test]
fn the_answers_of_a_plain_controller() {
    let mut cc = Cruise::new(CruiseParams::default(), FlowInit::new(MSS), Log::default());
    assert!(!cc.asks_reduction());
    assert_eq!(cc.target_bitrate(), None);
}
