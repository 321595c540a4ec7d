//! A controller that can be followed by hand.

use std::sync::{Arc, Mutex};

use windtunnel_cc::{AckSample, CongestionControl, CongestionEvent, Control, PathView, Phase, Trigger};
use windtunnel_units::{Bytes, Duration};

use super::harness::MSS;

/// The sender's reports to the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Told {
    Loss,
    Ce,
    Rto { new_episode: bool },
    Undo,
    Validation(u64),
    TxStart(Duration),
    Sce(u32),
    CeMarks(u32),
}

/// Reno in whole segments (spec/congestion-control sections 0.4, 1.4 and 3.2): slow start by the segments delivered,
/// `AI(W, N)`, floor(W/2). It records what the sender reports.
#[derive(Debug)]
pub(crate) struct Reno {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    pub(super) credit: u64,
    pub(super) prior: Option<(u64, u64)>,
    pub(super) fixed: bool,
    pub(super) per_ack: bool,
    pub(super) ignores_ce: bool,
    pub(super) told: Arc<Mutex<Vec<Told>>>,
    pub(super) barred: Arc<Mutex<u64>>,
}

impl Reno {
    fn tell(&self, told: Told) {
        self.told.lock().expect("one thread").push(told);
    }

    fn halve(&mut self) {
        self.prior = Some((self.cwnd, self.ssthresh));
        self.ssthresh = (self.cwnd / 2).max(2);
        self.credit = 0;
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckSample, _: &PathView) {
        if ack.ecn.sce.any() {
            self.tell(Told::Sce(ack.ecn.sce.packets));
        }
        if ack.ecn.ce.any() {
            self.tell(Told::CeMarks(ack.ecn.ce.packets));
        }
        *self.barred.lock().expect("one thread") += u64::from(ack.growth_barred);
        if ack.growth_barred || self.fixed {
            return;
        }
        let mut n = ack.newly_delivered.get() / MSS.get();
        if self.cwnd < self.ssthresh {
            if self.per_ack {
                n = n.min(1);
            }
            let grown = (self.cwnd + n).min(self.ssthresh);
            n -= grown - self.cwnd;
            self.cwnd = grown;
        }
        if self.credit >= self.cwnd {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += n;
        let whole = self.credit / self.cwnd;
        self.credit -= whole * self.cwnd;
        self.cwnd += whole;
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _: &PathView) -> bool {
        let ce = event.trigger == Trigger::Ce;
        if ce && self.ignores_ce {
            return false;
        }
        self.tell(if ce { Told::Ce } else { Told::Loss });
        self.halve();
        self.cwnd = self.ssthresh;
        true
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        self.tell(Told::Rto { new_episode });
        if new_episode {
            self.halve();
        }
        self.cwnd = path.in_flight / MSS + 1;
    }

    fn on_undo(&mut self, _: &PathView) {
        self.tell(Told::Undo);
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, _: &PathView) {
        self.tell(Told::Validation(cwnd / MSS));
        self.ssthresh = self.ssthresh.max(self.cwnd * 3 / 4);
        self.cwnd = cwnd / MSS;
    }

    fn on_tx_start(&mut self, idle: Duration, _: &PathView) {
        self.tell(Told::TxStart(idle));
    }

    fn control(&self) -> Control {
        Control {
            ssthresh: if self.ssthresh == u64::MAX { Bytes::MAX } else { MSS * self.ssthresh },
            phase: if self.cwnd < self.ssthresh { Phase::SlowStart } else { Phase::CongestionAvoidance },
            ..Control::window(MSS * self.cwnd)
        }
    }
}
