//! Puts what a sender did and heard in its own order, and finds where it had to answer congestion.

use super::{Cause, Episode, Event, Heard, Story};
use crate::walk::{AckKind, SendKind};

/// An episode that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The end of what was in flight when it began.
    end: u64,
    before: u64,
    cause: Cause,
    /// Segments that were sent again and whose first copy is not known to have arrived, too.
    repaired: u64,
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
            episode: None,
            last: None,
            recent: [0; 2],
        }
    }

    /// Tells the story. Returns the round trips that belong to no stretch.
    pub(super) fn tell(mut self) -> Vec<bool> {
        let Heard { sends, acks, .. } = self.heard;
        let (mut send, mut ack) = (0, 0);
        while send < sends.t_ns.len() || ack < acks.t_ns.len() {
            let arrives = acks.t_ns.get(ack).map(|at| at.saturating_add(self.back));
            let departs = sends.t_ns.get(send).copied();
            let round = match (arrives, departs) {
                (Some(arrives), departs) if departs.is_none_or(|departs| arrives <= departs) => {
                    self.advance(arrives, acks.round[ack]);
                    self.hears(ack);
                    ack += 1;
                    acks.round[ack - 1]
                }
                (_, departs) => {
                    self.advance(departs.unwrap_or(self.now), sends.round[send]);
                    self.sends(send);
                    send += 1;
                    sends.round[send - 1]
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
        let recovers = self.ends_episode(round);
        if acks.kind[row] & AckKind::DSACK > 0 {
            self.arrived_twice();
        }
        let answers = (acks.marked[row] && self.episode.is_none()).then_some(before);
        if answers.is_some() {
            self.episode = Some(Open { end: self.nxt, before, cause: Cause::Marks, repaired: 0 });
        }
        let rtt_ns = acks.rtt_ns[row];
        self.push(Event::Ack {
            una: self.una,
            acked: acks.acked[row],
            delivered: acks.acked[row] + acks.sacked[row],
            rtt_ns: if rtt_ns > 0 { rtt_ns.saturating_add(self.back) } else { 0 },
            in_flight: acks.in_flight[row],
            marked: acks.marked[row],
            may_raise: self.episode.is_none_or(|open| open.cause == Cause::Timeout),
            recovers,
            answers,
        });
    }

    /// Whether all is acknowledged that was in flight when the episode began.
    fn ends_episode(&mut self, round: usize) -> bool {
        let una = self.una;
        let Some(ended) = self.episode.take_if(|open| una >= open.end) else { return false };
        self.recent = [0; 2];
        let after = self.story.flight.get(round + 1).copied().unwrap_or(0);
        self.story.episodes.push(Episode { round, before: ended.before, after, cause: ended.cause });
        // What the answer left shows in the next round trip, before a shadow takes over the flight.
        if let Some(next) = self.lossy.get_mut(round + 1) {
            *next = true;
        }
        self.last = Some(ended);
        true
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
        // Losses of what was in flight when an answer to a loss began belong to it.
        let is_known = self.episode.is_some_and(|open| open.cause != Cause::Marks && seq < open.end);
        let is_new_loss = (is(SendKind::FastRetransmit) || is(SendKind::Unseen)) && !is_known;
        let before = self.window(round);
        if is(SendKind::Timeout) {
            let in_flight = sends.in_flight[row].saturating_sub(payload);
            self.push(Event::TimedOut { new_episode: !is_known, in_flight });
        } else if is_new_loss {
            self.push(Event::Loss { before });
        }
        self.nxt = self.nxt.max(seq.saturating_add(payload));
        self.recent[1] = self.recent[1].max(sends.in_flight[row]);
        if is(SendKind::Timeout) || is_new_loss {
            let cause = if is(SendKind::Timeout) { Cause::Timeout } else { Cause::Loss };
            let before = self.episode.map_or(before, |open| open.before);
            self.episode = Some(Open { end: self.nxt, before, cause, repaired: 0 });
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
