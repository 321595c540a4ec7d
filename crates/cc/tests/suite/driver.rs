//! A sender reduced to what a controller sees: ACKs whose times and marks the test chooses.

use windtunnel_cc::{
    AckSample, CaState, CongestionControl, CongestionEvent, ControllerParams, Delivery, EcnFeedback,
    FlowInit, Marked, PathView, Phase, Trigger, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};

pub(crate) const MSS: Bytes = Bytes::new(1448);

/// Marks on the segments that an ACK acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) ce: u32,
    pub(crate) sce: u32,
}

/// No marks.
pub(crate) const CLEAN: Marks = Marks { ce: 0, sce: 0 };
/// One CE.
pub(crate) const CE: Marks = Marks { ce: 1, sce: 0 };
/// One SCE.
pub(crate) const SCE: Marks = Marks { ce: 0, sce: 1 };

/// A paced flow with a floor of two segments.
pub(crate) fn init(iw: Bytes) -> FlowInit {
    FlowInit { iw, paced: true, ..FlowInit::new(MSS) }
}

/// A controller and the connection around it. The flight is as large as cwnd allows.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the ACKs")]
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) now: Time,
    pub(crate) rtt: Duration,
    /// Whether ACKs give an RTT sample.
    pub(crate) sampled: bool,
    /// Whether ACKs arrive while growth is not allowed.
    pub(crate) barred: bool,
    /// cwnd was not used enough to grow.
    pub unused: bool,
    /// The application limits what is sent.
    pub app_limited: bool,
    /// The largest flight since cwnd was reduced, where growth depends on it.
    pub(crate) max_flight: Option<Bytes>,
    min_rtt: Duration,
    una: Seq,
}

impl Driver {
    /// A connection with a constant round trip, just established, one round trip after the start of the run.
    pub(crate) fn new(config: &WindowedConfig, iw: Bytes, rtt: Duration) -> Driver {
        Driver::from_init(config, init(iw), rtt)
    }

    /// A connection that starts as `init` says.
    pub(crate) fn from_init(config: &WindowedConfig, init: FlowInit, rtt: Duration) -> Driver {
        Driver::of(config.build(init), rtt)
    }

    /// A connection under this controller.
    pub(crate) fn of(cc: Box<dyn CongestionControl>, rtt: Duration) -> Driver {
        let mut driver = Driver {
            cc,
            now: Time::ZERO + rtt,
            rtt,
            sampled: true,
            barred: false,
            unused: false,
            app_limited: false,
            max_flight: None,
            min_rtt: rtt,
            una: Seq::FIRST_DATA,
        };
        let path = driver.path();
        driver.cc.on_established(&path);
        driver
    }

    pub(crate) fn cwnd(&self) -> Bytes {
        self.cc.control().cwnd
    }

    pub(crate) fn segments(&self) -> f64 {
        self.cwnd().as_f64() / MSS.as_f64()
    }

    pub(crate) fn avoids(&self) -> bool {
        self.cc.control().phase == Phase::CongestionAvoidance
    }

    pub(crate) fn path(&self) -> PathView {
        let in_flight = MSS * (self.cwnd() / MSS);
        PathView {
            now: self.now,
            mss: MSS,
            srtt: self.rtt,
            min_rtt: self.min_rtt,
            in_flight,
            una: self.una,
            nxt: self.una + in_flight,
        }
    }

    /// An ACK of `segments` segments arrives, after the clock moved on by `after`. Returns what
    /// `on_congestion` said, if it was called.
    pub(crate) fn ack(&mut self, after: Duration, segments: u64, marks: Marks) -> Option<bool> {
        self.now += after;
        self.min_rtt = self.min_rtt.min(self.rtt);
        // The data in flight were sent before: the ACK moves una, not nxt.
        let mut path = self.path();
        self.una = self.una + MSS * segments;
        path.una = self.una;
        path.nxt = path.nxt.max(self.una);
        path.in_flight = path.nxt - path.una;
        let marked = |packets: u32| Marked { bytes: MSS * u64::from(packets), packets };
        let ecn = EcnFeedback { ce: marked(marks.ce), sce: marked(marks.sce), ..EcnFeedback::default() };
        let rtt = self.sampled.then_some(self.rtt);
        if self.cc.needs().delivery_reports {
            let delivered = Marked { bytes: MSS * segments, packets: segments as u32 };
            self.cc.on_delivery(
                &Delivery { acked: delivered.bytes, rtt, delivered, ecn, slow_path: false },
                &path,
            );
        }
        let window = self.cc.cwnd();
        let event = CongestionEvent { trigger: Trigger::Ce, window, lost: Bytes::ZERO, rtt };
        let responded = ecn.ce.any().then(|| self.cc.on_congestion(&event, &path));
        let ack = AckSample {
            acked: MSS * segments,
            newly_delivered: MSS * segments,
            may_raise: !self.barred,
            growth_barred: self.barred,
            window_unused: self.unused,
            app_limited: self.app_limited,
            max_flight: self.max_flight,
            rtt,
            // Only the changes of a one-way delay count: all of them are on the data's way.
            one_way: rtt.filter(|_| self.cc.needs().one_way),
            ecn,
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
        responded
    }

    /// A loss is detected.
    pub(crate) fn lose(&mut self) {
        let flight = self.path().in_flight;
        self.lose_of(flight);
    }

    /// A loss is detected while `flight` is sent and not acknowledged.
    pub(crate) fn lose_of(&mut self, flight: Bytes) {
        let window = self.cc.cwnd();
        self.lose_within(window, flight);
    }

    /// The same while a window of `window` is in force.
    pub(crate) fn lose_within(&mut self, window: Bytes, flight: Bytes) {
        let event = CongestionEvent { trigger: Trigger::Loss, window, lost: MSS, rtt: None };
        let path = PathView { in_flight: flight, nxt: self.una + flight, ..self.path() };
        self.cc.on_congestion(&event, &path);
    }

    /// The first segment leaves after an idle time.
    pub(crate) fn idle(&mut self, idle: Duration) {
        self.now += idle;
        let path = PathView { in_flight: Bytes::ZERO, nxt: self.una, ..self.path() };
        self.cc.on_tx_start(idle, &path);
    }

    /// The sender lowers a window that it does not use.
    pub(crate) fn validate(&mut self, cwnd: Bytes) {
        let path = self.path();
        self.cc.on_cwnd_validation(cwnd, &path);
    }

    /// The retransmission timer expires: everything in flight is considered lost. It is not a `new_episode` if it was
    /// considered lost before.
    pub(crate) fn time_out(&mut self, new_episode: bool) {
        let path = PathView { in_flight: Bytes::ZERO, ..self.path() };
        self.cc.on_rto(new_episode, &path);
    }

    /// The sender's state changes.
    pub(crate) fn state(&mut self, state: CaState) {
        let path = self.path();
        self.cc.on_state(state, &path);
    }

    /// The last loss turns out to be spurious.
    pub(crate) fn undo(&mut self) {
        let path = self.path();
        self.cc.on_undo(&path);
    }

    /// A round trip in which all of cwnd is acknowledged, evenly spread, without marks; one ACK for
    /// each `per_ack` segments.
    pub(crate) fn round(&mut self, per_ack: u64) {
        let acks = (self.cwnd() / MSS / per_ack).max(1);
        let end = self.now + self.rtt;
        let gap = self.rtt / acks;
        for _ in 1..acks {
            self.ack(gap, per_ack, CLEAN);
        }
        let rest = end - self.now;
        self.ack(rest, per_ack, CLEAN);
    }

    /// A named internal number of the controller.
    pub(crate) fn probe(&self, name: &str) -> Option<f64> {
        let mut number = None;
        self.cc.probe(&mut |key, value| {
            if key == name {
                number = Some(value);
            }
        });
        number
    }
}
