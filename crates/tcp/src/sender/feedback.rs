//! What the controller hears about an ACK and about the path (steps 8 and 9 of spec/congestion-control section 1.1),
//! and the pacing rate that follows from its answer.

use windtunnel_cc::{AckSample, Delivery, Pacing, PathView};
use windtunnel_units::Time;

use super::Sender;
use super::ack::Ack;
use super::ecn;
use super::pacing::Load;
use super::rate_sample::Sample;

impl Sender {
    /// Tells the controller what was delivered, and whether it may grow (step 8).
    #[inline]
    pub(super) fn inform_controller(&mut self, ack: &Ack, sample: &Sample) {
        if ack.delivered.is_zero() {
            if !self.needs.every_ack {
                return;
            }
        } else if let Some(pipe) = &mut self.validation.pipe_ack {
            pipe.on_ack(
                (ack.delivered - ack.twice).bytes,
                self.board.una(),
                self.board.nxt(),
                self.rtt.srtt(),
                ack.now,
            );
            self.validate_period(ack.now);
        }
        let may_raise = self.may_raise_cwnd(ack);
        if may_raise {
            self.validation.restart(ack.now);
        }
        let sample = AckSample {
            acked: ack.acked.bytes,
            newly_delivered: ack.delivered.bytes,
            may_raise,
            growth_barred: !(may_raise && self.validation.grows(self.cwnd, || self.in_slow_start())),
            newly_lost: self.newly_lost,
            delivered: self.rate.delivered(),
            lost: self.rate.lost(),
            rtt: ack.rtt,
            one_way: ack.one_way,
            rate: sample.rate,
            ecn: self.ecn.counts(ack.ece, ack.esce, ack.delivered - ack.twice),
            app_limited: self.rate.is_app_limited(),
            cwnd_limited: self.validation.limited(),
            round_start: sample.round_start,
        };
        let path = self.path(ack.now);
        self.cc.on_ack(&sample, &path);
    }

    /// Tells the controller what an ACK delivered, before anything is concluded from it (Linux `in_ack_event`).
    #[cold]
    pub(super) fn report_delivery(&mut self, ack: &Ack) {
        let news = ack.delivered - ack.twice;
        if news.is_zero() {
            return;
        }
        let ecn = self.ecn.foretold_counts(ack.ece, ack.esce, news);
        let path = self.path(ack.now);
        let delivery = Delivery { acked: ack.acked.bytes, rtt: ack.rtt, delivered: ecn::all(news), ecn };
        self.cc.on_delivery(&delivery, &path);
    }

    /// False while cwnd is being reduced, and for an ACK that acknowledges no data in order; on a path that is known to
    /// reorder, data that it SACKs are enough (Linux `tcp_may_raise_cwnd`).
    #[inline]
    fn may_raise_cwnd(&self, ack: &Ack) -> bool {
        let reorders = self.reordering.dupthresh() > self.params.dupthresh;
        let progress = !ack.acked.is_zero() || (reorders && ack.sacked);
        progress && !self.state.is_reducing()
    }

    #[inline]
    pub(super) fn update_pacing(&mut self) {
        if !self.pacer.on() && !self.tso.is_on() && self.small_queues.is_none() {
            return;
        }
        let control = self.cc.control();
        let rate = self.pacer.update(
            control.pacing,
            Load {
                window: self.cwnd.max(self.mss * self.board.outstanding().segments),
                srtt: self.rtt.srtt(),
                far_below_ssthresh: self.cwnd < control.ssthresh / 2,
            },
        );
        if self.tso.is_on() {
            match control.send_quantum {
                None => self.tso.resize(rate, self.rtt.min()),
                Some(quantum) => self.tso.set_full(quantum),
            }
        }
        if control.app_limited {
            self.rate.on_app_limited(self.board.in_flight().bytes);
        }
    }

    /// After an event that is not an ACK: the controller may have changed its own rate. A rate that follows from cwnd
    /// waits for the next ACK, as in Linux.
    pub(super) fn update_own_rate(&mut self) {
        if let Pacing::Rate(_) = self.cc.pacing() {
            self.update_pacing();
        }
    }

    /// The connection as the controller sees it. The amount in flight counts in whole segments, as cwnd does.
    #[inline]
    pub(super) fn path(&self, now: Time) -> PathView {
        PathView {
            now,
            mss: self.mss,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            in_flight: self.mss * self.board.in_flight().segments,
            una: self.board.una(),
            nxt: self.board.nxt(),
        }
    }
}
