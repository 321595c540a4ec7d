//! The smallest controller with a model of the path that still uses the whole interface. It paces at the highest
//! delivery rate of its last samples, holds twice what the path holds, probes in every eighth round trip at a phase of
//! its own, and records everything it is told. The tests of the senders run it too.

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, ControllerParams, Feedback, FlowInit,
    LostSegment, Needs, OutOfRange, Pacing, PacingNeed, Params, PathView, Phase, SentSegment, Trigger, check,
};
use windtunnel_units::{Bytes, Duration, Rate};

/// What the controller was told.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    Established,
    Ack(AckSample),
    /// With what is in flight and sent next.
    Sent(SentSegment, PathView),
    Lost(LostSegment),
    Congestion(Trigger),
    Rto {
        new_episode: bool,
    },
    Undo,
    Recovered,
    TxStart(Duration),
}

pub(crate) type Log = Arc<Mutex<Vec<Heard>>>;

/// Parameters of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "the tests"))]
pub(crate) struct CruiseParams {
    /// The window, as a multiple of what the path holds.
    pub(crate) windows: f64,
    /// How much leaves at once, in segments; the sender decides if it is left out.
    pub(crate) quantum: Option<u32>,
    /// In every eighth round it holds back, and declares its samples invalid.
    pub(crate) rests: bool,
}

impl Default for CruiseParams {
    fn default() -> CruiseParams {
        CruiseParams { windows: 2.0, quantum: None, rests: false }
    }
}

impl Params for CruiseParams {
    const NAME: &'static str = "cruise";
    const SUMMARY: &'static str = "Paces at the highest delivery rate of its last samples";

    fn check(&self) -> Result<(), OutOfRange> {
        check::positive("windows", self.windows)
    }
}

impl ControllerParams for CruiseParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Cruise::new(self.clone(), init, Log::default()))
    }
}

/// Rounds over which the highest rate counts; also the length of the cycle of gains.
const ROUNDS: usize = 8;
/// How far the rate must grow within a round for the start to go on, and how fast the start is (BBR's).
const GROWTH: f64 = 1.25;
const START_GAIN: f64 = 2.885;

/// The controller.
#[derive(Debug)]
pub(crate) struct Cruise {
    params: CruiseParams,
    init: FlowInit,
    log: Log,
    /// The highest rate of each of the last rounds.
    rates: [Rate; ROUNDS],
    round: usize,
    /// The highest rate at the last time that the start saw it grow; `None` once the start is over.
    start: Option<(Rate, u32)>,
    min_rtt: Duration,
}

impl Cruise {
    pub(crate) fn new(params: CruiseParams, init: FlowInit, log: Log) -> Cruise {
        let round = (init.random().uniform() * ROUNDS as f64) as usize;
        Cruise {
            params,
            init,
            log,
            rates: [Rate::ZERO; ROUNDS],
            round,
            start: Some((Rate::ZERO, 0)),
            min_rtt: Duration::ZERO,
        }
    }

    fn hear(&self, heard: Heard) {
        self.log.lock().expect("one thread").push(heard);
    }

    fn rate(&self) -> Rate {
        self.rates.into_iter().max().unwrap_or(Rate::ZERO)
    }

    fn start_round(&mut self) {
        let rate = self.rate();
        self.start = self.start.and_then(|(before, rounds)| {
            if rate.bits_per_sec() as f64 >= before.bits_per_sec() as f64 * GROWTH {
                Some((rate, 0))
            } else {
                (rounds < 2).then_some((before, rounds + 1))
            }
        });
        self.round += 1;
        self.rates[self.round % ROUNDS] = Rate::ZERO;
    }

    fn gain(&self) -> f64 {
        match (self.start, self.round % ROUNDS) {
            (Some(_), _) => START_GAIN,
            (None, 0) => 1.25,
            (None, 1) => 0.75,
            (None, _) => 1.0,
        }
    }

    fn rests(&self) -> bool {
        self.params.rests && self.start.is_none() && self.round % ROUNDS == 4
    }
}

impl CongestionControl for Cruise {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            feedback: Feedback::None,
            rate_samples: true,
            departures: true,
            loss_reports: true,
            every_ack: true,
            own_window: true,
            ..Needs::default()
        }
    }

    fn on_established(&mut self, path: &PathView) {
        self.min_rtt = path.min_rtt;
        self.hear(Heard::Established);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.min_rtt = path.min_rtt;
        if ack.round_start {
            self.start_round();
        }
        if let Some(sample) = ack.rate.filter(|sample| !sample.departure.app_limited) {
            let best = &mut self.rates[self.round % ROUNDS];
            *best = (*best).max(sample.rate);
        }
        self.hear(Heard::Ack(*ack));
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _: &PathView) -> bool {
        self.hear(Heard::Congestion(event.trigger));
        false
    }

    fn on_rto(&mut self, new_episode: bool, _: &PathView) {
        self.hear(Heard::Rto { new_episode });
    }

    fn on_sent(&mut self, sent: &SentSegment, path: &PathView) {
        self.hear(Heard::Sent(*sent, *path));
    }

    fn on_lost(&mut self, segment: &LostSegment, _: &PathView) {
        self.hear(Heard::Lost(*segment));
    }

    fn on_tx_start(&mut self, idle: Duration, _: &PathView) {
        self.hear(Heard::TxStart(idle));
    }

    fn on_undo(&mut self, _: &PathView) {
        self.hear(Heard::Undo);
    }

    fn on_recovered(&mut self, _: &PathView) {
        self.hear(Heard::Recovered);
    }

    fn control(&self) -> Control {
        let rate = self.rate();
        let bdp = Bytes::new((rate.bits_per_sec() as f64 / 8.0 * self.min_rtt.as_secs_f64()) as u64);
        let window = if self.rests() { self.init.min_cwnd } else { bdp.scale(self.params.windows) };
        let paced = (rate.bits_per_sec() as f64 * self.gain()) as u64;
        Control {
            pacing: Pacing::Rate(Rate::from_bits_per_sec(paced)),
            send_quantum: self.params.quantum.map(|segments| self.init.mss * u64::from(segments)),
            app_limited: self.rests(),
            phase: if self.start.is_some() { Phase::SlowStart } else { Phase::CongestionAvoidance },
            ..Control::window(if rate == Rate::ZERO { self.init.iw } else { window.max(self.init.min_cwnd) })
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("rate_bps", self.rate().bits_per_sec() as f64);
        out("round", self.round as f64);
    }
}
