//! Shadows: what controllers of windtunnel's would have done after the same acknowledgements and losses.
//!
//! A shadow hears what the sender of a connection heard, as far as its segments show it, and decides nothing. Where its
//! window follows the flight, the sender may well have run this controller. The shadow takes over the flight's size
//! before each loss, after each answer has been compared, and at the start of each stretch of a few round trips. What is
//! compared is therefore how much each answer to a loss leaves, and how much the window grows within a stretch; errors
//! do not add up. What many small answers add up to is another question: for it the shadow keeps its own window while
//! losses go on ([`Adopts::FirstLoss`]).

mod controller;
mod tell;

use std::cmp::Reverse;

use windtunnel_cc::{AckSample, CaState, ControllerParams, Trigger};
use windtunnel_units::{Bytes, Duration, Time};

use controller::{Reduced, Shadow};
use tell::Teller;

/// The longest stretch in round trips: long enough for growth to show, short against the time between losses.
const STRETCH: usize = 16;
/// A shorter one shows too little.
const LEAST_STRETCH: usize = 4;

/// One connection's departures and acknowledgements, in the columns of the walk ([`crate::walk::Sends`],
/// [`crate::walk::Acks`]).
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// The payload of a full segment.
    pub mss: u64,
    /// The round trip of the handshake: what the sender knows of the path before its first data.
    pub handshake_ns: Option<u64>,
    /// A loss of what was sent in an answer to congestion is answered at once, as in QUIC (RFC 9002 section 7.3.2); TCP
    /// first ends its recovery.
    pub answers_at_once: bool,
    /// Departures.
    pub sends: HeardSends<'a>,
    /// Acknowledgements.
    pub acks: HeardAcks<'a>,
    /// By round trip: something other than the window limited the sender, and the window may not grow.
    pub unused: &'a [bool],
}

/// Columns of departures.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the columns of the walk")]
pub struct HeardSends<'a> {
    pub t_ns: &'a [u64],
    pub seq: &'a [u64],
    pub payload: &'a [u32],
    pub kind: &'a [u8],
    pub in_flight: &'a [u64],
    pub round: &'a [u32],
    pub back_ns: &'a [u64],
}

/// Columns of acknowledgements; `marked`: it reports marks.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the columns of the walk")]
pub struct HeardAcks<'a> {
    pub t_ns: &'a [u64],
    pub ack: &'a [u64],
    pub acked: &'a [u64],
    pub delivered: &'a [u64],
    pub rtt_ns: &'a [u64],
    pub in_flight: &'a [u64],
    pub round: &'a [u32],
    pub kind: &'a [u8],
    pub marked: &'a [bool],
}

/// What happened, in the sender's order, as every shadow hears it.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The first event of a round trip precedes it.
    Round(usize),
    Sent {
        seq: u64,
        payload: u64,
        again: bool,
        in_flight: u64,
        nxt: u64,
        peak: Option<usize>,
    },
    Ack {
        una: u64,
        acked: u64,
        delivered: u64,
        rtt_ns: u64,
        /// Delivered since the newest of the segments left.
        since_departure: u64,
        in_flight: u64,
        marked: bool,
        may_raise: bool,
        /// It ends an episode.
        recovers: bool,
        /// It starts an episode by its marks; the window was at least this.
        answers: Option<u64>,
    },
    /// A loss that asks for a reduction; the window was at least `before`, or is the shadow's own.
    Loss {
        before: Option<u64>,
    },
    /// Another answer begins before what this episode left has shown itself in a round trip.
    Cut(usize),
    TimedOut {
        new_episode: bool,
        in_flight: u64,
    },
    /// Nothing had been lost in the episode, or in the last one.
    Undone,
}

/// What starts an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A segment is sent again.
    Loss,
    /// An acknowledgement reports marks.
    Marks,
    /// A timeout.
    Timeout,
}

/// When a shadow takes over the flight's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopts {
    /// Before each loss, after each answer, and at the start of each stretch.
    EachLoss,
    /// Before the first loss after each stretch, and at its start.
    FirstLoss,
}

/// An answer to congestion, until all is acknowledged that was in flight when it began.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// The round trip in which it ended.
    pub round: usize,
    /// The flight before it, in bytes.
    pub before: u64,
    /// The flight in the round trip after it, or at its end if another answer followed at once (`cut`).
    pub after: u64,
    /// Another answer followed at once.
    pub cut: bool,
    /// The worst that happened in it.
    pub cause: Cause,
}

/// What shadows hear of a connection.
#[derive(Debug)]
pub struct Story {
    mss: u64,
    handshake: Option<Duration>,
    events: Vec<(u64, Event)>,
    unused: Vec<bool>,
    /// The most in flight in each round trip, in bytes.
    pub flight: Vec<u64>,
    /// Stretches without losses and marks: first and last round trip.
    pub stretches: Vec<(usize, usize)>,
    /// Answers that ended.
    pub episodes: Vec<Episode>,
}

/// What one shadow did.
#[derive(Clone, Debug)]
pub struct Followed {
    /// By round trip: its window in bytes when the most was in flight; NaN where nothing left.
    pub window: Vec<f64>,
    /// By episode: its window when the most was in flight in the round trip after it, or at its end if another one followed
    /// at once; NaN where nothing left then.
    pub after: Vec<f64>,
}

impl Story {
    /// Reads what a sender heard. Columns of a table have equal lengths.
    pub fn new(heard: &Heard<'_>) -> Story {
        let rounds =
            heard.sends.round.iter().chain(heard.acks.round).max().map_or(0, |last| *last as usize + 1);
        let mut story = Story {
            mss: heard.mss,
            handshake: heard.handshake_ns.filter(|ns| *ns > 0).map(Duration::from_nanos),
            events: Vec::new(),
            unused: (0..rounds).map(|round| heard.unused.get(round).copied().unwrap_or(false)).collect(),
            flight: vec![0; rounds],
            stretches: Vec::new(),
            episodes: Vec::new(),
        };
        let mut peaks = vec![usize::MAX; rounds];
        for (row, (round, in_flight)) in heard.sends.round.iter().zip(heard.sends.in_flight).enumerate() {
            let round = *round as usize;
            if *in_flight > story.flight[round] {
                (story.flight[round], peaks[round]) = (*in_flight, row);
            }
        }
        let lossy = Teller::new(heard, &peaks, &mut story).tell();
        story.find_stretches(&lossy);
        story
    }

    fn find_stretches(&mut self, lossy: &[bool]) {
        let good = |round: usize| !lossy[round] && !self.unused[round] && self.flight[round] > 0;
        let mut start = None;
        for round in 0..=lossy.len() {
            let goes_on = round < lossy.len() && good(round);
            if let Some(first) = start {
                let long = round - first >= STRETCH;
                if !goes_on || long {
                    if round - first >= LEAST_STRETCH {
                        self.stretches.push((first, round - 1));
                    }
                    start = None;
                }
            }
            if goes_on && start.is_none() {
                // The last round trip of one stretch is the first of the next.
                start = Some(if self.stretches.last().is_some_and(|(_, last)| last + 1 == round) {
                    round - 1
                } else {
                    round
                });
            }
        }
    }

    /// Lets a controller hear the story.
    pub fn follow(&self, params: &dyn ControllerParams, adopts: Adopts) -> Followed {
        let mut starts: Vec<usize> = self.stretches.iter().map(|(first, _)| *first).collect();
        starts.sort_unstable_by_key(|first| Reverse(*first));
        let mut shadow = Shadow::new(params, self.mss);
        if let Some((at, _)) = self.events.first() {
            shadow.path.now = Time::from_nanos(*at);
        }
        if let Some(rtt) = self.handshake {
            shadow.sampled(rtt);
        }
        let mut followed = Followed {
            window: vec![f64::NAN; self.flight.len()],
            after: vec![f64::NAN; self.episodes.len()],
        };
        let of = |is_own: bool, before: u64| if is_own { Reduced::Own } else { Reduced::Flight(before) };
        let (mut unused, mut episode, mut is_own) = (false, 0, false);
        for (at, event) in &self.events {
            shadow.path.now = Time::from_nanos(*at);
            match *event {
                Event::Round(round) => {
                    unused = self.unused[round];
                    while let Some(first) = starts.pop_if(|first| *first <= round) {
                        // The initial window is the shadow's own.
                        if first == round && round > 0 {
                            is_own = false;
                            shadow.cc.adopt_window(Bytes::new(self.flight[round].max(self.mss)));
                        }
                    }
                }
                Event::Sent { seq, payload, again, in_flight, nxt, peak } => {
                    shadow.sent(seq, payload, again, in_flight, nxt);
                    if let Some(round) = peak {
                        followed.window[round] = shadow.cc.cwnd().as_f64();
                        while let Some(ended) = self.episodes.get(episode).filter(|ended| ended.round < round)
                        {
                            if ended.round + 1 == round && !ended.cut {
                                followed.after[episode] = shadow.cc.cwnd().as_f64();
                                if adopts == Adopts::EachLoss {
                                    shadow.cc.adopt_window(Bytes::new(self.flight[round].max(self.mss)));
                                }
                            }
                            episode += 1;
                        }
                    }
                }
                Event::Ack {
                    una,
                    acked,
                    delivered,
                    rtt_ns,
                    since_departure,
                    in_flight,
                    marked,
                    may_raise,
                    recovers,
                    answers,
                } => {
                    let rtt = (rtt_ns > 0).then_some(Duration::from_nanos(rtt_ns));
                    let ack = AckSample {
                        acked: Bytes::new(acked),
                        newly_delivered: Bytes::new(delivered),
                        may_raise,
                        growth_barred: !may_raise || unused || acked == 0,
                        rtt,
                        // The way back without a queue takes the same time always, and counts as the receiver's delay.
                        one_way: rtt,
                        rate: rtt.and_then(|rtt| shadow.rate(Bytes::new(since_departure), rtt)),
                        window_unused: unused,
                        app_limited: unused,
                        cwnd_limited: !unused,
                        ..AckSample::default()
                    };
                    let answers = answers.map(|before| of(is_own, before));
                    is_own |= answers.is_some() && adopts == Adopts::FirstLoss;
                    shadow.acked(ack, una, in_flight, marked, recovers, answers);
                }
                Event::Loss { before } => {
                    let before = before.map_or(Reduced::Own, |before| of(is_own, before));
                    shadow.reduce(Trigger::Loss, CaState::Recovery, before);
                    is_own |= adopts == Adopts::FirstLoss;
                }
                Event::Cut(episode) => followed.after[episode] = shadow.cc.cwnd().as_f64(),
                Event::TimedOut { new_episode, in_flight } => {
                    shadow.path.in_flight = Bytes::new(in_flight);
                    shadow.cc.on_rto(new_episode, &shadow.path);
                    shadow.enter(CaState::Loss);
                }
                Event::Undone => shadow.cc.on_undo(&shadow.path),
            }
        }
        followed
    }
}
