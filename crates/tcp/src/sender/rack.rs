//! RACK: losses found by time of transmission (RFC 8985 section 6; spec/congestion-control section 1.9).
//!
//! A segment is lost when one that was sent later has been delivered, and a round trip plus a reordering window has
//! passed since the segment was sent. Only the latest transmission matters, so lost retransmissions are found like
//! lost originals.
//!
//! The reordering window is a quarter of `min_rtt`, which RFC 8985 section 3.2 found to be enough for most
//! reordering. It is zero in recovery, and from `dupthresh` SACKed segments on, until reordering is seen. D-SACKs,
//! which say that the window was too small, add a quarter each; sixteen recoveries without one take that back
//! (section 6.2 step 4). As in Linux, recoveries that were undone do not count (`net/ipv4/tcp_input.c`,
//! `tcp_try_undo_recovery` and `tcp_try_undo_dsack`), and neither does every D-SACK (`dsack`).
//!
//! Where one ACK delivers segments with different round trips, RFC 8985 section 6.2 step 2 goes through them in order
//! of transmission, so that `RACK.rtt` belongs to the one sent last. Here, as in Linux (`tcp_sacktag_one`,
//! `tcp_clean_rtx_queue`), it belongs to the highest one acknowledged cumulatively, or else to the highest one
//! SACKed. After a timeout caused only by delayed ACKs, the ACK of the retransmission and of segments sent long
//! before it therefore gives the rest of the flight more time.
//!
//! The timer of step 5 runs for what is left of the wait of the segment sent last, and for 2 ms more, as in Linux
//! (`tcp_rack_mark_lost` adds `TCP_TIMEOUT_MIN_US` to what is left; it is no lower limit).
//!
//! Cost: the segments are in order of transmission, and the lost ones come first. The timer needs the last segment
//! sent before the delivered one: the scoreboard passes each segment once to find it.

use windtunnel_units::{Duration, Seq, Time};

use super::rto::LEAST_TIMEOUT;
use super::scoreboard::{Amount, QueuedSegment, Scoreboard};

/// The reordering window's largest factor (spec section 1.9; Linux).
const MULT_MAX: u64 = 255;
/// Recoveries without a D-SACK after which the factor is 1 again (RFC 8985 section 6.2).
const PERSIST: u32 = 16;

/// What the detection needs to know about the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackContext {
    /// The simulated clock.
    pub(crate) now: Time,
    /// The least round-trip time.
    pub(crate) min_rtt: Duration,
    /// The smoothed round-trip time.
    pub(crate) srtt: Duration,
    /// The sender is in Recovery or Loss.
    pub(crate) recovering: bool,
    /// The number of SACKed segments from which on reordering is not waited for, if it was never seen.
    pub(crate) dupthresh: u32,
    /// Reordering was seen.
    pub(crate) reordering_seen: bool,
}

/// The result of the detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detection {
    /// Newly marked lost.
    pub(crate) lost: Amount,
    /// When to look again, if nothing is delivered by then: the reordering timer.
    pub(crate) timer: Option<Time>,
}

/// The ACK that is being processed.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentAck {
    now: Time,
    min_rtt: Duration,
    echo: Option<Time>,
    /// It acknowledged a segment with a known round trip.
    acked: bool,
}

/// RACK's state (RFC 8985 section 5.3).
#[derive(Debug)]
pub(crate) struct Rack {
    /// Transmission time and end of the most recently sent segment that was delivered: `RACK.xmit_ts`, `RACK.end_seq`.
    newest: Option<(Time, Seq)>,
    /// The round trip of the segment delivered last: `RACK.rtt`.
    rtt: Duration,
    mult: u64,
    persist: u32,
    /// SND.NXT when the factor last grew: it grows once per round trip.
    dsack_round: Option<Seq>,
    ack: CurrentAck,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            newest: None,
            rtt: Duration::ZERO,
            mult: 1,
            persist: PERSIST,
            dsack_round: None,
            ack: CurrentAck::default(),
        }
    }
}

impl Rack {
    /// Processing of an ACK starts. `echo` is its timestamp echo, if the connection has timestamps.
    pub(crate) fn on_ack_begin(&mut self, now: Time, min_rtt: Duration, echo: Option<Time>) {
        self.ack = CurrentAck { now, min_rtt, echo, acked: false };
    }

    /// The ACK acknowledged a segment cumulatively. An echo older than the last transmission belongs to an earlier
    /// one.
    #[inline]
    pub(crate) fn on_acked(&mut self, segment: &QueuedSegment) {
        let of_earlier = self.ack.echo.is_some_and(|echo| echo < segment.sent());
        if segment.ever_retransmitted() && of_earlier {
            return;
        }
        if let Some(rtt) = self.advance(segment) {
            self.rtt = rtt;
            self.ack.acked = true;
        }
    }

    /// The ACK delivered a segment by SACK. It may echo an older segment's timestamp, which proves nothing about this
    /// one: otherwise no SACKed probe or retransmission would ever count.
    pub(crate) fn on_sacked(&mut self, segment: &QueuedSegment) {
        if let Some(rtt) = self.advance(segment)
            && !self.ack.acked
        {
            self.rtt = rtt;
        }
    }

    /// Step 2; the round trip. A delivery sooner after a retransmission than a round trip takes is the delivery of an
    /// earlier transmission, and says nothing about the later one.
    #[inline]
    fn advance(&mut self, segment: &QueuedSegment) -> Option<Duration> {
        let rtt = self.ack.now.since(segment.sent());
        if segment.ever_retransmitted() && rtt < self.ack.min_rtt {
            return None;
        }
        let this = (segment.sent(), segment.end());
        if self.newest.is_none_or(|newest| newest < this) {
            self.newest = Some(this);
        }
        Some(rtt)
    }

    /// A retransmission that this detection caused was needless. Step 4: once per round trip the window grows by a
    /// quarter of `min_rtt`.
    pub(crate) fn on_dsack(&mut self, una: Seq, nxt: Seq) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(nxt);
            self.mult = (self.mult + 1).min(MULT_MAX);
            self.persist = PERSIST;
        }
    }

    /// Recovery or Loss ended and was not undone. Step 4: the window shrinks after enough of them without a D-SACK.
    pub(crate) fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// D-SACKs undid a recovery, mostly after it had ended and was counted: the count is taken back.
    pub(crate) fn on_recovery_revoked(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// Marks lost segments; step 5. Call it after each ACK and when the timer expires.
    pub(crate) fn detect_losses(&self, scoreboard: &mut Scoreboard, context: &RackContext) -> Detection {
        let Some(newest) = self.newest else { return Detection::default() };
        let wait = self.rtt + self.reo_wnd(scoreboard, context);
        let sent_before = |segment: &QueuedSegment| (segment.sent(), segment.end()) < newest;
        let lost = mark_oldest_while(scoreboard, |segment| {
            sent_before(segment) && context.now >= segment.sent() + wait
        });
        let timer = scoreboard.last_sent_while(sent_before).map(|last| last.sent() + wait + LEAST_TIMEOUT);
        Detection { lost, timer }
    }

    /// The retransmission timer expired (RFC 8985 section 6.3): the head is lost, and so is every segment sent a
    /// round trip ago.
    pub(crate) fn mark_timed_out(&self, scoreboard: &mut Scoreboard, now: Time) -> Amount {
        let head = scoreboard.head().and_then(|head| scoreboard.get(head)).map(QueuedSegment::payload);
        let head = head.filter(|_| scoreboard.mark_head_lost()).map_or(Amount::ZERO, Amount::one);
        head + mark_oldest_while(scoreboard, |segment| now >= segment.sent() + self.rtt)
    }

    /// The reordering window.
    pub(crate) fn reo_wnd(&self, scoreboard: &Scoreboard, context: &RackContext) -> Duration {
        let enough = context.recovering || scoreboard.sacked().segments >= u64::from(context.dupthresh);
        if !context.reordering_seen && enough {
            return Duration::ZERO;
        }
        (context.min_rtt * self.mult / 4).min(context.srtt)
    }
}

/// Marks segments, in order of transmission, until `lost` is false for one.
fn mark_oldest_while(scoreboard: &mut Scoreboard, lost: impl Fn(&QueuedSegment) -> bool) -> Amount {
    let mut marked = Amount::ZERO;
    while let Some(id) = scoreboard.oldest_sent()
        && let Some(segment) = scoreboard.get(id)
        && lost(segment)
    {
        marked += Amount::one(segment.payload());
        scoreboard.mark_lost(id);
    }
    marked
}

#[cfg(test)]
mod tests;
