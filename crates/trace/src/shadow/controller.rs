//! One shadow: a controller, and what its sender would do for it.

use windtunnel_cc::{
    AckSample, CaState, CongestionControl, CongestionEvent, ControllerParams, Delivery, Departure,
    EcnFeedback, FlowInit, Marked, Needs, PathView, RateSample, SentSegment, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

/// The window that a reduction is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduced {
    /// At least this was in flight, and the shadow takes it over.
    Flight(u64),
    /// The shadow's own.
    Own,
}

/// A controller, and what its sender knows.
pub(super) struct Shadow {
    pub(super) cc: Box<dyn CongestionControl>,
    needs: Needs,
    pub(super) path: PathView,
    mss: u64,
    delivered: Bytes,
    is_established: bool,
    state: CaState,
    /// A reduction that the controller itself asked for goes on, until this is acknowledged.
    answers_itself: bool,
    answered: Seq,
}

impl Shadow {
    pub(super) fn new(params: &dyn ControllerParams, mss: u64) -> Shadow {
        let size = Bytes::new(mss);
        let mut cc = params.build(FlowInit::new(size));
        cc.on_negotiated(cc.needs().feedback);
        Shadow {
            needs: cc.needs(),
            cc,
            path: PathView {
                now: Time::ZERO,
                mss: size,
                srtt: Duration::ZERO,
                min_rtt: Duration::ZERO,
                in_flight: Bytes::ZERO,
                una: Seq::FIRST_DATA,
                nxt: Seq::FIRST_DATA,
            },
            mss,
            delivered: Bytes::ZERO,
            is_established: false,
            state: CaState::Open,
            answers_itself: false,
            answered: Seq::FIRST_DATA,
        }
    }

    pub(super) fn sent(&mut self, seq: u64, payload: u64, again: bool, in_flight: u64, nxt: u64) {
        (self.path.in_flight, self.path.nxt) = (Bytes::new(in_flight), Seq::new(nxt + 1));
        if self.needs.departures {
            let sent =
                SentSegment { seq: Seq::new(seq + 1), payload: Bytes::new(payload), retransmission: again };
            self.cc.on_sent(&sent, &self.path);
        }
    }

    /// The order of calls is that of [`CongestionControl`]. `answers`: marks ask for a reduction of this
    /// window.
    pub(super) fn acked(
        &mut self,
        mut ack: AckSample,
        una: u64,
        in_flight: u64,
        marked: bool,
        recovers: bool,
        answers: Option<Reduced>,
    ) {
        ack.prior_in_flight = self.path.in_flight;
        (self.path.una, self.path.in_flight) = (Seq::new(una + 1), Bytes::new(in_flight));
        if let Some(rtt) = ack.rtt {
            self.sampled(rtt);
        }
        if ack.newly_delivered > Bytes::ZERO && self.is_established {
            let packets = u32::try_from(ack.newly_delivered.get().div_ceil(self.mss)).unwrap_or(u32::MAX);
            let arrived = Marked { bytes: ack.newly_delivered, packets };
            self.delivered += ack.newly_delivered;
            ack.delivered = self.delivered;
            let ce = if marked { arrived } else { Marked::default() };
            ack = AckSample { ecn: EcnFeedback { ce, ..EcnFeedback::default() }, ..ack };
            if self.needs.delivery_reports {
                let delivery = Delivery {
                    acked: ack.acked,
                    rtt: ack.rtt,
                    delivered: arrived,
                    ecn: ack.ecn,
                    slow_path: false,
                };
                self.cc.on_delivery(&delivery, &self.path);
            }
        }
        if recovers || (self.answers_itself && self.path.una >= self.answered) {
            self.recover();
        }
        if let Some(reduced) = answers {
            self.reduce(Trigger::Ce, CaState::Cwr, reduced);
        }
        if ack.newly_delivered == Bytes::ZERO || !self.is_established {
            return;
        }
        // A reduction bars growth until it is over.
        ack.may_raise &= !self.answers_itself;
        ack.growth_barred |= self.answers_itself;
        self.cc.on_ack(&ack, &self.path);
        if self.needs.own_reductions && self.cc.asks_reduction() && self.state == CaState::Open {
            self.reduce(Trigger::Controller, CaState::Cwr, Reduced::Own);
            self.answered = self.path.nxt;
            self.answers_itself = true;
        }
    }

    /// What was delivered within a round trip, for a controller that asks. Losses are not known at departures.
    pub(super) fn rate(&self, delivered: Bytes, rtt: Duration) -> Option<RateSample> {
        self.needs.rate_samples.then(|| RateSample {
            rate: Rate::of(delivered, rtt),
            interval: rtt,
            delivered,
            lost: Bytes::ZERO,
            departure: Departure {
                sent: Time::from_nanos(self.path.now.as_nanos().saturating_sub(rtt.as_nanos())),
                in_flight: self.path.in_flight,
                delivered: self.delivered.saturating_sub(delivered),
                lost: Bytes::ZERO,
                app_limited: false,
            },
        })
    }

    /// RFC 6298 section 2.
    pub(super) fn sampled(&mut self, rtt: Duration) {
        let path = &mut self.path;
        path.srtt = if path.srtt.is_zero() { rtt } else { path.srtt.scale(0.875) + rtt.scale(0.125) };
        path.min_rtt = if path.min_rtt.is_zero() { rtt } else { path.min_rtt.min(rtt) };
        if !std::mem::replace(&mut self.is_established, true) {
            self.cc.on_established(path);
        }
    }

    /// A reduction, if the controller answers.
    pub(super) fn reduce(&mut self, trigger: Trigger, state: CaState, reduced: Reduced) {
        if let Reduced::Flight(before) = reduced {
            self.cc.adopt_window(Bytes::new(before.max(self.mss)));
        }
        let event = CongestionEvent { trigger, window: self.cc.cwnd(), lost: self.path.mss, rtt: None };
        if self.cc.on_congestion(&event, &self.path) {
            self.enter(state);
        }
    }

    fn recover(&mut self) {
        self.answers_itself = false;
        self.cc.on_recovered(&self.path);
        self.enter(CaState::Open);
    }

    pub(super) fn enter(&mut self, state: CaState) {
        if self.needs.states && (state != self.state || state == CaState::Loss) {
            self.cc.on_state(state, &self.path);
        }
        self.state = state;
    }
}
