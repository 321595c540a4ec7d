//! What the controller hears about an ACK and about the path (steps 8 and 9 of spec/congestion-control section 1.1),
//! and the pacing rate that follows from its answer.

use windtunnel_cc::rate_sample::Sample;
use windtunnel_cc::{AckSample, Delivery, Pacing, PathView};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::Sender;
use super::ack::Ack;
use super::ecn;
use super::pacing::Load;
use crate::timestamp_clock;

/// What an ACK counts for.
#[derive(Clone, Copy, Debug)]
struct Counted {
    acked: Bytes,
    delivered: Bytes,
}

impl Sender {
    /// Tells the controller what was delivered, and whether it may grow (step 8).
    #[inline]
    pub(super) fn inform_controller(&mut self, ack: &Ack, sample: &Sample) {
        let counted = self.counted(ack);
        if ack.delivered.is_zero() {
            if !self.needs.every_ack && counted.delivered == Bytes::ZERO {
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
        self.observe_flight();
        let window_unused = !self.validation.grows(self.cwnd, || self.in_slow_start());
        let sample = AckSample {
            acked: counted.acked,
            newly_delivered: counted.delivered,
            may_raise,
            growth_barred: !may_raise || window_unused,
            newly_lost: self.newly_lost,
            delivered: self.rate.delivered(),
            lost: self.rate.lost(),
            prior_in_flight: self.mss * ack.prior_in_flight,
            next_departure: self.pacer.scheduled(),
            rtt: ack.rtt,
            one_way: ack.one_way,
            rate: sample.rate,
            ecn: self.ecn.counts(ack.ece, ack.esce, ack.delivered - ack.twice),
            app_limited: self.rate.is_app_limited(),
            cwnd_limited: self.validation.limited(),
            window_unused,
            max_flight: self.validation.max_flight(),
            round_start: sample.round_start,
        };
        let path = self.path(ack.now);
        self.cc.on_ack(&sample, &path);
    }

    /// What an ACK counts for in growth: the whole segments that it acknowledges, unless the stack counts ACKs.
    #[inline]
    fn counted(&self, ack: &Ack) -> Counted {
        if self.params.count_acks && ack.advanced {
            return Counted { acked: self.mss, delivered: self.mss };
        }
        Counted { acked: ack.acked.bytes, delivered: ack.delivered.bytes }
    }

    /// Tells the controller what an ACK delivered, before anything is concluded from it (Linux `in_ack_event`).
    #[cold]
    pub(super) fn report_delivery(&mut self, ack: &Ack, packet: &Packet) {
        let window = self.window_scale.window(packet);
        let slow_path = !ack.advanced || packet.options().is_some() || window != self.reported_window;
        self.reported_window = window;
        let news = ack.delivered - ack.twice;
        if news.is_zero() {
            return;
        }
        let ecn = self.ecn.foretold_counts(ack.ece, ack.esce, news);
        let path = self.path(ack.now);
        let echo = ack.echo.filter(|_| ack.rtt_by_echo);
        let rtt = echo.map_or(ack.rtt, |echo| Some(timestamp_clock::round_trip_of_sender(echo, ack.now)));
        let acked = ack.acked.bytes;
        let delivery = Delivery { acked, rtt, delivered: ecn::all(news), ecn, slow_path };
        self.cc.on_delivery(&delivery, &path);
        if self.endpoint.feedback.is_mds() && self.cc.is_conventional() {
            self.ecn.drop_identifier();
        }
    }

    /// False while cwnd is being reduced, and for an ACK that acknowledges no data in order; on a path that is known to
    /// reorder, data that it SACKs are enough (Linux `tcp_may_raise_cwnd`), and so they are above a hole of the sender's own.
    #[inline]
    fn may_raise_cwnd(&self, ack: &Ack) -> bool {
        let reorders = self.reordering.dupthresh() > self.params.dupthresh;
        let counts = self.params.count_acks && ack.advanced;
        let selective = ack.sacked && (reorders || self.has_made_a_hole());
        let progress = !ack.acked.is_zero() || selective || counts;
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
