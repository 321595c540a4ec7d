//! Puts what a sender did and heard in its own order, and finds where it had to answer congestion.

use super::{Cause, Episode, Event, Heard, Story};
use crate::walk::{AckKind, SendKind};

/// The most recoveries, one at once after the other, that are one episode.
const CHAIN: u32 = 4;

/// An episode that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The end of what was in flight when it began.
    end: u64,
    before: u64,
    cause: Cause,
    /// Segments that were sent again and whose first copy is not known to have arrived, too.
    repaired: u64,
    /// Lost segments are repaired. An answer to marks may come to that; it makes no second reduction (Linux
    /// `tcp_enter_recovery`).
    repairs: bool,
    /// The end of the last data that were sent in a repair and lost. TCP answers them once the repair has ended.
    lost_since: u64,
    /// Recoveries that followed the first one at once.
    relapses: u32,
}

impl Open {
    fn new(end: u64, before: u64, cause: Cause) -> Open {
        Open { end, before, cause, repaired: 0, repairs: cause != Cause::Marks, lost_since: 0, relapses: 0 }
    }

    /// Whether the answer is over: all is acknowledged that was in flight when it began, and after a mark something more, so
    /// that CWR has reached the receiver (Linux, `TCP_CA_CWR`).
    fn is_over(&self, una: u64) -> bool {
        if self.repairs { una >= self.end } else { una > self.end }
    }

    /// A segment is sent again that was sent in this answer, or before it.
    fn lost(&mut self, seq: u64, end: u64, nxt: u64) {
        if !self.repairs {
            (self.repairs, self.end) = (true, nxt);
        } else if seq >= self.end {
            self.lost_since = self.lost_since.max(end);
        }
    }
}

#[derive(Debug)]
pub(super) struct Teller<'a> {
    heard: &'a Heard<'a>,
    /// By round trip: the departure with the most in flight.
    peaks: &'a [usize],
    story: &'a mut Story,
    /// By round trip: it has an episode, or is the one after that.
    lossy: Vec<bool>,
    now: u64,
    round: Option<usize>,
    /// The way from the capture point to the sender and back, which an acknowledgement has still to go.
    back: u64,
    nxt: u64,
    una: u64,
    /// The next departure, or the present one.
    send: usize,
    /// When acknowledgements arrived, and all that was delivered by then.
    delivered: Vec<(u64, u64)>,
    episode: Option<Open>,
    last: Option<Open>,
    /// The most in flight in the last round trip and in this one, since the last answer.
    recent: [u64; 2],
}

impl<'a> Teller<'a> {
    pub(super) fn new(heard: &'a Heard<'a>, peaks: &'a [usize], story: &'a mut Story) -> Teller<'a> {
        Teller {
            heard,
            peaks,
            lossy: vec![false; story.flight.len()],
            story,
            now: 0,
            round: None,
            back: heard.sends.back_ns.iter().copied().find(|back| *back > 0).unwrap_or(0),
            nxt: 0,
            una: 0,
            send: 0,
            delivered: Vec::with_capacity(heard.acks.t_ns.len()),
            episode: None,
            last: None,
            recent: [0; 2],
        }
    }

    /// Tells the story. Returns the round trips that belong to no stretch.
    pub(super) fn tell(mut self) -> Vec<bool> {
        let Heard { sends, acks, .. } = self.heard;
        let mut ack = 0;
        while self.send < sends.t_ns.len() || ack < acks.t_ns.len() {
            let arrives = acks.t_ns.get(ack).map(|at| at.saturating_add(self.back));
            let departs = sends.t_ns.get(self.send).copied();
            let round = match (arrives, departs) {
                (Some(arrives), departs) if departs.is_none_or(|departs| arrives <= departs) => {
                    self.advance(arrives, acks.round[ack]);
                    self.hears(ack);
                    ack += 1;
                    acks.round[ack - 1]
                }
                (_, departs) => {
                    let round = sends.round[self.send];
                    self.advance(departs.unwrap_or(self.now), round);
                    self.sends(self.send);
                    self.send += 1;
                    round
                }
            };
            self.lossy[round as usize] |= self.episode.is_some();
        }
        self.lossy
    }

    fn push(&mut self, event: Event) {
        self.story.events.push((self.now, event));
    }

    fn advance(&mut self, now: u64, round: u32) {
        self.now = self.now.max(now);
        let round = round as usize;
        if self.round.is_none_or(|current| round > current) {
            self.recent = [self.recent[1], 0];
            self.round = Some(round);
            self.push(Event::Round(round));
        }
        self.lossy[round] |= self.episode.is_some();
    }

    /// The window now, as the flight shows it.
    fn window(&self, round: usize) -> u64 {
        self.recent.into_iter().max().filter(|flight| *flight > 0).unwrap_or(self.story.flight[round])
    }

    fn hears(&mut self, row: usize) {
        let acks = &self.heard.acks;
        let round = acks.round[row] as usize;
        let before = self.window(round);
        self.una = self.una.max(acks.ack[row]);
        let goes_on = self.relapses();
        let ended = if goes_on { None } else { self.ends_episode(round) };
        if acks.kind[row] & AckKind::DSACK > 0 {
            self.arrived_twice();
        }
        let relapses = ended.is_some_and(|ended| !self.heard.answers_at_once && ended.lost_since > self.una);
        let answers = acks.marked[row] && self.episode.is_none() && !relapses;
        let sends = &self.heard.sends;
        let before = match ended {
            Some(_) => sends.in_flight.get(self.send).copied().unwrap_or(acks.in_flight[row]),
            None => before,
        };
        if relapses || answers {
            self.cut(before);
            self.episode =
                Some(Open::new(self.nxt, before, if relapses { Cause::Loss } else { Cause::Marks }));
        }
        let rtt_ns = if acks.rtt_ns[row] > 0 { acks.rtt_ns[row].saturating_add(self.back) } else { 0 };
        let delivered = self.delivered.last().map_or(0, |last| last.1) + acks.delivered[row];
        self.delivered.push((self.now, delivered));
        let since_departure = delivered - self.delivered_by(self.now.saturating_sub(rtt_ns));
        self.push(Event::Ack {
            una: self.una,
            acked: acks.acked[row],
            delivered: acks.delivered[row],
            rtt_ns,
            since_departure,
            in_flight: acks.in_flight[row],
            marked: acks.marked[row],
            may_raise: self.episode.is_none_or(|open| open.cause == Cause::Timeout),
            recovers: goes_on || ended.is_some(),
            answers: answers.then_some(before),
        });
        if goes_on || relapses {
            self.push(Event::Loss { before: relapses.then_some(before) });
        }
    }

    /// Whether the next recovery follows at once, because of losses that were found in this one (RFC 6675 section 5; Linux
    /// `tcp_time_to_recover`). While so much is lost, the flight may be less than the window: what is compared is what all
    /// of some recoveries leave.
    fn relapses(&mut self) -> bool {
        let (una, nxt, at_once) = (self.una, self.nxt, self.heard.answers_at_once);
        let Some(open) = self.episode.as_mut().filter(|open| open.is_over(una)) else { return false };
        let relapses = !at_once && open.lost_since > una && open.relapses < CHAIN;
        if relapses {
            (open.end, open.lost_since, open.relapses) = (nxt, 0, open.relapses + 1);
        }
        relapses
    }

    /// Another answer begins before the round trip is over that would have shown what the last one left: this much is in
    /// flight now.
    fn cut(&mut self, flight: u64) {
        let index = self.story.episodes.len().wrapping_sub(1);
        let Some(last) = self.story.episodes.last_mut() else { return };
        let peak = self.peaks.get(last.round + 1).copied().unwrap_or(usize::MAX);
        if peak >= self.send && !last.cut {
            (last.after, last.cut) = (flight, true);
            self.push(Event::Cut(index));
        }
    }

    /// What had been delivered when a segment left; acknowledgements of that moment came before it.
    fn delivered_by(&self, time: u64) -> u64 {
        let after = self.delivered.partition_point(|(at, _)| *at <= time);
        after.checked_sub(1).map_or(0, |last| self.delivered[last].1)
    }

    /// The episode that ends, if all is acknowledged that was in flight when it began.
    fn ends_episode(&mut self, round: usize) -> Option<Open> {
        let una = self.una;
        let ended = self.episode.take_if(|open| open.is_over(una))?;
        self.recent = [0; 2];
        let after = self.story.flight.get(round + 1).copied().unwrap_or(0);
        let Open { before, cause, .. } = ended;
        self.story.episodes.push(Episode { round, before, after, cause, cut: false });
        // What the answer left shows in the next round trip, before a shadow takes over the flight.
        if let Some(next) = self.lossy.get_mut(round + 1) {
            *next = true;
        }
        self.last = Some(ended);
        Some(ended)
    }

    /// RFC 2883: both copies of a segment arrived. Once that is so of all, nothing was lost (Linux `undo_retrans`).
    fn arrived_twice(&mut self) {
        let episode = self.episode.as_mut().or(self.last.as_mut());
        if let Some(open) = episode.filter(|open| open.repaired > 0) {
            open.repaired -= 1;
            if open.repaired == 0 {
                self.push(Event::Undone);
            }
        }
    }

    fn sends(&mut self, row: usize) {
        let sends = &self.heard.sends;
        let (seq, payload) = (sends.seq[row], u64::from(sends.payload[row]));
        let (round, kind) = (sends.round[row] as usize, sends.kind[row]);
        let is = |other: SendKind| kind == other as u8;
        let again = !is(SendKind::New) && !is(SendKind::Overtaken);
        let is_loss = is(SendKind::FastRetransmit) || is(SendKind::Unseen);
        // Losses of what was in flight when an answer began belong to it. TCP's recovery ends before it answers others.
        let is_known = self.episode.is_some_and(|open| seq < open.end);
        let is_new_loss = is_loss && !is_known && (self.episode.is_none() || self.heard.answers_at_once);
        let before = self.window(round);
        if let Some(open) = self.episode.as_mut().filter(|_| is_loss && !is_new_loss) {
            open.lost(seq, seq.saturating_add(payload), self.nxt);
        }
        if is(SendKind::Timeout) {
            let in_flight = sends.in_flight[row].saturating_sub(payload);
            self.push(Event::TimedOut { new_episode: !is_known, in_flight });
        } else if is_new_loss {
            self.push(Event::Loss { before: Some(before) });
        }
        self.nxt = self.nxt.max(seq.saturating_add(payload));
        self.recent[1] = self.recent[1].max(sends.in_flight[row]);
        if is(SendKind::Timeout) || is_new_loss {
            let cause = if is(SendKind::Timeout) { Cause::Timeout } else { Cause::Loss };
            let before = self.episode.map_or(before, |open| open.before);
            self.episode = Some(Open::new(self.nxt, before, cause));
        }
        if let Some(open) = self.episode.as_mut().filter(|_| again) {
            open.repaired += 1;
        }
        if sends.back_ns[row] > 0 {
            self.back = sends.back_ns[row];
        }
        self.push(Event::Sent {
            seq,
            payload: payload.max(1),
            again,
            in_flight: sends.in_flight[row],
            nxt: self.nxt,
            peak: (self.peaks[round] == row).then_some(round),
        });
    }
}
