//! What one ACK says: SND.UNA, the scoreboard, the round-trip time (steps 1 to 3 of spec/congestion-control section
//! 1.1).

use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Packet, SackBlock};

use super::Sender;
use super::detection::Detector;
use super::ecn::Progress;
use super::scoreboard::{Acked, Amount, QueuedSegment, d_sack};
use crate::params::RtoRule;

/// The facts of an ACK.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one ACK")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) now: Time,
    /// SND.UNA before it.
    pub(crate) prior_una: Seq,
    /// What was in flight before it, if the controller wants rate samples.
    pub(crate) prior_in_flight: u64,
    /// SND.UNA moved.
    pub(crate) advanced: bool,
    /// Whole segments acknowledged cumulatively: the `Nc` of the spec.
    pub(crate) acked: Amount,
    /// Whole segments delivered, cumulatively or by SACK: the `N` of the spec.
    pub(crate) delivered: Amount,
    /// The round-trip time of the newest segment delivered.
    pub(crate) rtt: Option<Duration>,
    /// `rtt` is that of the echo: the segments were sent more than once.
    pub(crate) rtt_by_echo: bool,
    /// The timestamp's echo, if the connection has timestamps.
    pub(crate) echo: Option<Time>,
    /// From the departure of the newest segment delivered to the departure of the ACK.
    pub(crate) one_way: Option<Duration>,
    /// The block that was received twice.
    pub(crate) dsack: Option<SackBlock>,
    /// Of `delivered`: the retransmitted data that a D-SACK reports.
    pub(crate) twice: Amount,
    /// SACK delivered something.
    pub(crate) sacked: bool,
    /// A duplicate ACK (RFC 5681 section 2).
    pub(crate) duplicate: bool,
    /// It delivered data of the episode's flight that were never sent again.
    pub(crate) originals: bool,
    /// It reports CE.
    pub(crate) ece: bool,
    /// It reports SCE.
    pub(crate) esce: bool,
    /// The retransmission timer restarts.
    pub(crate) restart_timer: bool,
    /// A reduction started with it.
    pub(crate) reduction_began: bool,
}

impl Ack {
    /// A timer expiry, expressed as an ACK that says nothing.
    pub(crate) fn of_timer(now: Time, una: Seq) -> Ack {
        Ack {
            now,
            prior_una: una,
            prior_in_flight: 0,
            advanced: false,
            acked: Amount::ZERO,
            delivered: Amount::ZERO,
            rtt: None,
            rtt_by_echo: false,
            echo: None,
            one_way: None,
            dsack: None,
            twice: Amount::ZERO,
            sacked: false,
            duplicate: false,
            originals: false,
            ece: false,
            esce: false,
            restart_timer: false,
            reduction_began: false,
        }
    }
}

/// When the segments that an ACK delivers were sent; segments that were sent more than once are left out (Karn).
#[derive(Clone, Copy, Debug, Default)]
struct SendTimes {
    first_acked: Option<Time>,
    first_sacked: Option<Time>,
    newest: Option<Time>,
    originals: bool,
}

impl SendTimes {
    #[inline]
    fn take(&mut self, segment: &QueuedSegment, high_seq: Seq) -> bool {
        if segment.ever_retransmitted() {
            return false;
        }
        self.newest = self.newest.max(Some(segment.sent()));
        self.originals |= segment.end() <= high_seq;
        true
    }
}

impl Sender {
    /// Takes an ACK for sent data into the scoreboard.
    #[inline]
    pub(super) fn take_ack(&mut self, packet: &Packet, now: Time) -> Ack {
        self.newly_lost = Bytes::ZERO;
        let window_moved = self.update_send_window(packet);
        let echo = self.params.timestamps.then_some(packet.ts_ecr);
        let prior_una = self.board.una();
        let prior_in_flight = if self.needs.rate_samples { self.board.in_flight().segments } else { 0 };
        let advanced = packet.ack > prior_una;
        let mut times = SendTimes::default();
        let acked = self.take_cumulative(packet.ack, echo, &mut times, now);
        if acked.unexplained {
            self.learn_reordering(acked.removed.segments);
        }
        let mut ack = Ack {
            now,
            prior_una,
            prior_in_flight,
            advanced,
            acked: acked.removed,
            delivered: acked.delivered,
            rtt: None,
            rtt_by_echo: false,
            echo,
            one_way: None,
            dsack: None,
            twice: Amount::ZERO,
            sacked: false,
            duplicate: false,
            originals: false,
            ece: false,
            esce: false,
            restart_timer: !acked.removed.is_zero(),
            reduction_began: false,
        };
        let blocks = packet.options().map_or(&[][..], |options| options.sack.as_slice());
        if self.params.sack && !blocks.is_empty() {
            self.take_sack(blocks, &mut ack, &mut times);
        } else if !advanced {
            let plain = packet.payload() == Bytes::ZERO && !window_moved && packet.ack == self.board.una();
            ack.duplicate = plain && !self.board.is_empty();
            if ack.duplicate && !self.params.sack {
                self.take_duplicate(&mut ack);
            }
        }
        // Without SACK, data that a retransmission released may have been waiting at the receiver: they prove
        // nothing.
        ack.originals = times.originals && (self.params.sack || !acked.retransmitted);
        self.take_round_trip(&mut ack, times, acked.retransmitted);
        if self.needs.one_way && self.params.timestamps {
            ack.one_way = ack.rtt.map(|rtt| rtt.saturating_sub(now.since(packet.ts_val)));
        }
        let progress = Progress {
            advanced,
            delivered: ack.delivered - ack.twice,
            ts_recent: self.ts_recent,
            sack: self.params.sack,
            retransmitted: acked.retransmitted,
            nxt: self.board.nxt(),
        };
        (ack.ece, ack.esce) = self.ecn.hear(packet, progress);
        // A receiver sends no data: every packet that it sends starts at the last ACK of such data, so each timestamp
        // is recorded (RFC 7323 section 4.3), as long as timestamps do not go back.
        self.ts_recent = self.ts_recent.max(packet.ts_val);
        if advanced {
            self.backoff.progressed();
        }
        ack
    }

    /// An ACK that PAWS rejects (RFC 7323 section 5.3) was overtaken by a later one; it is discarded with all of its
    /// options. As in Linux, a duplicate ACK that changes no window may be late by more (`tcp_disordered_ack`).
    #[cold]
    pub(super) fn is_overtaken(&self, packet: &Packet) -> bool {
        let window = self.window_scale.window(packet);
        let duplicate = packet.payload() == Bytes::ZERO
            && packet.ack == self.board.una()
            && packet.ack + window <= self.window_end;
        let late = self.ts_recent.since(packet.ts_val);
        self.params.timestamps && !(duplicate && late <= self.timeout() * 6 / 5)
    }

    /// The right edge of the receive window; it never moves back (RFC 9293 section 3.8.6). True if it moved.
    #[inline]
    pub(super) fn update_send_window(&mut self, packet: &Packet) -> bool {
        let window = self.window_scale.window(packet);
        let end = packet.ack + window;
        self.largest_window = self.largest_window.max(window);
        let moved = end > self.window_end;
        self.window_end = self.window_end.max(end);
        moved
    }

    #[inline]
    fn take_cumulative(&mut self, una: Seq, echo: Option<Time>, times: &mut SendTimes, now: Time) -> Acked {
        let Sender { board, rate, rack, reordering, high_seq, .. } = self;
        let with_rack = self.detector == Detector::Rack;
        if with_rack {
            rack.on_ack_begin(now, self.rtt.min(), echo);
        }
        board.on_ack(una, |_, segment| {
            rate.on_delivered(segment.sent(), segment.end(), segment.snapshot());
            if with_rack {
                rack.on_acked(segment);
                reordering.on_delivered(segment);
            }
            if times.take(segment, *high_seq) {
                times.first_acked = times.first_acked.or(Some(segment.sent()));
            }
        })
    }

    fn take_sack(&mut self, blocks: &[SackBlock], ack: &mut Ack, times: &mut SendTimes) {
        ack.dsack = d_sack(self.board.una(), blocks);
        let overtaken = ack.dsack.and_then(|block| self.board.first_sacked_twice(&block));
        let Sender { board, rate, rack, reordering, high_seq, detector, .. } = self;
        let delivered = board.on_sack(blocks, |_, segment| {
            rate.on_delivered(segment.sent(), segment.end(), segment.snapshot());
            if *detector == Detector::Rack {
                rack.on_sacked(segment);
                reordering.on_delivered(segment);
            }
            if times.take(segment, *high_seq) {
                times.first_sacked = times.first_sacked.or(Some(segment.sent()));
            }
        });
        ack.sacked = !delivered.is_zero();
        ack.delivered += delivered;
        if let Some(block) = ack.dsack {
            self.take_dsack(block, ack);
        }
        if let Some(seq) = overtaken {
            // SACK and D-SACK of a segment above the gap: its original, which counted as lost, arrived too.
            self.reordering.on_late(seq);
        }
    }

    /// The controller and the least round-trip time take the newest segment's round trip; the estimator takes the
    /// oldest one's, so that the timeout allows for delayed ACKs (spec/congestion-control section 1.3).
    #[inline]
    fn take_round_trip(&mut self, ack: &mut Ack, times: SendTimes, retransmitted: bool) {
        let now = ack.now;
        let acked = times.first_acked.filter(|_| !retransmitted);
        let mut sample = acked.or(times.first_sacked).map(|sent| now.since(sent));
        if acked.is_some() || times.first_sacked.is_some() {
            ack.rtt = times.newest.map(|sent| now.since(sent));
        } else if !ack.acked.is_zero() {
            // A timestamp distinguishes the transmissions of a segment.
            sample = ack.echo.map(|echo| now.since(echo));
            ack.rtt_by_echo = true;
            ack.rtt = sample;
        }
        if let Some(rtt) = ack.rtt {
            self.rtt.observe_least(rtt, now);
        }
        if let Some(sample) = sample {
            self.rtt.sample(sample, self.board.una(), self.board.nxt());
            self.backoff.reset();
            self.tlp.on_rtt_sample();
            if ack.acked.is_zero() {
                ack.restart_timer = self.is_sign_of_life(times);
            }
        }
    }

    /// Only SACK delivered data that were sent before the last transmission of the head: the flight still arrives, so
    /// Linux restarts the head's timer (`tcp_clean_rtx_queue`). RFC 6298 section 5.3 requires an ACK of new data.
    /// Data sent after the head do not count, or new data would put off the timeout for ever.
    fn is_sign_of_life(&self, times: SendTimes) -> bool {
        let head = self.board.head().and_then(|head| self.board.get(head));
        let before = |head: &QueuedSegment| times.first_sacked.is_some_and(|sent| sent < head.sent());
        self.params.rto == RtoRule::Linux && head.is_some_and(before)
    }
}
