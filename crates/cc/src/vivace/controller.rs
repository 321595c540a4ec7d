//! The events of Vivace. Rates are real numbers of Mbit/s, the unit of its utility.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::ascent::Ascent;
use super::experiment::{Experiment, Trial};
use super::monitor_interval::MonitorInterval;
use super::params::VivaceParams;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, LostSegment, PathView, SentSegment};

/// The window, in round trips of the rate: large enough that the rate alone governs.
const WINDOW_ROUNDS: f64 = 2.0;
/// The least window, in segments.
const LEAST_CWND: f64 = 4.0;
/// The largest, in segments: TCP's window field, scaled, covers 2^30 bytes.
const LARGEST_CWND: f64 = 1_048_576.0;
/// The least rate, in segments per second: an interval of ten packets then takes no more than about a second.
const LEAST_RATE: f64 = 8.0;
/// An interval is up to this much longer than a round trip.
const JITTER: f64 = 0.1;
/// How many lost packets the start does not count.
const FORGIVEN: u64 = 50;
/// The slope of the round trip that the start does not count.
const FORGIVEN_GRADIENT: f64 = 0.2;
/// By how many packets an interval must have lost more than a faster one to be doubted.
const DOUBT: u64 = 2;
/// The least share of losses at which that is doubted.
const DOUBTED_LOSS: f64 = 0.05;

/// How the rate is sought.
#[derive(Clone, Copy, Debug)]
enum Search {
    /// The rate doubles while utility grows. With the last utility, and how many losses remain forgiven.
    Starting { last: f64, forgiven: u64 },
    /// The rate follows the gradient. With the gradient that is checked again, if it was doubtful.
    Probing { doubtful: Option<f64> },
}

/// PCC Vivace.
#[derive(Debug)]
pub(super) struct Vivace {
    params: VivaceParams,
    mss: Bytes,
    iw: Bytes,
    random: RandomStream,
    search: Search,
    ascent: Ascent,
    /// The base rate; zero before the first round trip.
    rate: f64,
    /// None before the first round trip.
    experiment: Option<Experiment>,
    /// When the newest packet that arrived left.
    newest: Time,
    exit: Option<ExitReason>,
    /// What the last interval was worth, and the last gradient: for recorders.
    utility: f64,
    gradient: f64,
    cwnd: Bytes,
    pace: Rate,
}

impl Vivace {
    pub(super) fn new(params: VivaceParams, init: FlowInit) -> Vivace {
        let ascent = Ascent::new(params.theta, params.omega, params.delta);
        Vivace {
            params,
            mss: init.mss,
            iw: init.iw,
            random: init.random(),
            search: Search::Starting { last: 0.0, forgiven: FORGIVEN },
            ascent,
            rate: 0.0,
            experiment: None,
            newest: Time::ZERO,
            exit: None,
            utility: f64::NAN,
            gradient: f64::NAN,
            cwnd: init.iw,
            pace: Rate::ZERO,
        }
    }

    /// The rate, in Mbit/s, of this number of segments per round trip.
    fn rate_of(&self, segments: f64, srtt: Duration) -> f64 {
        segments * self.mss.as_f64() * 8e-6 / srtt.as_secs_f64()
    }

    /// The first round trip is known: the initial window spread over it is the first rate.
    fn start(&mut self, path: &PathView) {
        self.rate = self.rate_of(self.iw.as_f64() / self.mss.as_f64(), path.srtt);
        self.plan(path);
    }

    /// A rate to try, for about a round trip.
    fn trial(&mut self, rate: f64, path: &PathView) -> Trial {
        Trial { rate, length: path.srtt.scale(1.0 + JITTER * self.random.uniform()) }
    }

    /// The next experiment around the base rate. Which rate of a pair comes first is random.
    fn plan(&mut self, path: &PathView) {
        let least = self.rate_of(LEAST_RATE, Duration::SECOND);
        let largest = self.rate_of(LARGEST_CWND / WINDOW_ROUNDS, path.srtt);
        self.rate = self.rate.min(largest).max(least);
        self.experiment = Some(match self.search {
            Search::Starting { .. } => Experiment::single(self.trial(self.rate, path)),
            Search::Probing { .. } => {
                let sign = if self.random.uniform() < 0.5 { 1.0 } else { -1.0 };
                let [first, second] = [sign, -sign]
                    .map(|sign| self.trial(self.rate * (1.0 + sign * self.params.epsilon), path));
                Experiment::pair(first, second)
            }
        });
        self.apply(path);
    }

    /// The rate at present: what is tried, or what is known to be good while the sender waits.
    fn present(&self) -> f64 {
        let tried = self.experiment.as_ref().and_then(Experiment::rate);
        tried.unwrap_or(match self.search {
            Search::Starting { .. } => self.rate / 2.0,
            Search::Probing { .. } => self.rate,
        })
    }

    /// Sets pace and window.
    fn apply(&mut self, path: &PathView) {
        let rate = self.present();
        self.pace = Rate::from_bits_per_sec((rate * 1e6) as u64);
        let segments = WINDOW_ROUNDS * rate / self.rate_of(1.0, path.srtt);
        self.cwnd = self.mss * segments.clamp(LEAST_CWND, LARGEST_CWND) as u64;
    }

    /// Decides once it is known what became of all packets of the experiment.
    fn decide(&mut self, path: &PathView) {
        if !self.experiment.as_ref().is_some_and(|experiment| experiment.is_complete(self.newest, path)) {
            return;
        }
        let Some(experiment) = self.experiment.take() else { return };
        if !self.fell_short(&experiment) {
            match self.search {
                Search::Starting { last, forgiven } => self.double(&experiment, last, forgiven),
                Search::Probing { doubtful } => self.climb(&experiment, doubtful),
            }
        }
        self.plan(path);
    }

    /// True if the sender did not send at the rates to be tried: the application, the receiver or a pause kept it. The
    /// experiment then says nothing and is repeated; but if it lost packets, the rate becomes what was sent.
    fn fell_short(&mut self, experiment: &Experiment) -> bool {
        let enough = 1.0 - self.params.epsilon / 2.0;
        let short = experiment
            .by_rate()
            .map(|(trial, it)| (trial.rate, it.measured(0)))
            .find(|(rate, it)| it.rate < enough * rate);
        if let Some((_, measured)) = short
            && measured.loss > 0.0
        {
            self.rate = self.rate.min(measured.rate);
        }
        short.is_some()
    }

    /// The start: utility grew, and the rate doubles; or it fell, and the rate before was the better one.
    fn double(&mut self, experiment: &Experiment, last: f64, forgiven: u64) {
        let Some((_, interval)) = experiment.by_rate().next() else { return };
        let mut measured = interval.measured(forgiven);
        if measured.rtt_gradient.abs() < FORGIVEN_GRADIENT {
            measured.rtt_gradient = 0.0;
        }
        self.utility = self.params.utility_of(&measured);
        if self.utility > last {
            let forgiven = forgiven.saturating_sub(interval.lost_packets());
            self.search = Search::Starting { last: self.utility, forgiven };
            self.rate *= 2.0;
        } else {
            self.exit.get_or_insert(ExitReason::Other("utility"));
            self.search = Search::Probing { doubtful: None };
            self.rate /= 2.0;
        }
    }

    /// Online learning: the rate moves up the gradient between the two intervals. What the higher rate can hardly have caused, fewer
    /// losses or a round trip that grows less, is checked a second time. A tiny epsilon can be less than what the spacing of packets
    /// makes of the rates: the pair is then repeated.
    fn climb(&mut self, experiment: &Experiment, doubtful: Option<f64>) {
        let mut intervals = experiment.by_rate().map(|(_, interval)| interval);
        let (Some(slow), Some(fast)) = (intervals.next(), intervals.next()) else { return };
        let (low, high) = (slow.measured(0), fast.measured(0));
        if high.rate <= low.rate {
            return;
        }
        self.utility = self.params.utility_of(&high);
        self.gradient = (self.utility - self.params.utility_of(&low)) / (high.rate - low.rate);
        let surprising =
            lost_less(slow, fast) || (self.params.counts_delay() && high.rtt_gradient < low.rtt_gradient);
        self.search = match doubtful {
            None if surprising => Search::Probing { doubtful: Some(self.gradient) },
            _ => {
                self.gradient = doubtful.map_or(self.gradient, |first| first.midpoint(self.gradient));
                self.rate += self.ascent.step(self.gradient, self.rate);
                Search::Probing { doubtful: None }
            }
        };
    }
}

/// True if many were lost, but fewer at the higher rate. With few losses that is chance: then to check only what speaks for a higher rate
/// would lower it.
fn lost_less(slow: &MonitorInterval, fast: &MonitorInterval) -> bool {
    let lost = slow.lost_packets() + fast.lost_packets();
    let share = lost as f64 / (slow.packets() + fast.packets()).max(1) as f64;
    share >= DOUBTED_LOSS && slow.lost_packets() > fast.lost_packets() + DOUBT
}

impl CongestionControl for Vivace {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            paces_first: true,
            feedback: Feedback::None,
            departures: true,
            loss_reports: true,
            own_window: true,
            ..Needs::default()
        }
    }

    fn on_established(&mut self, path: &PathView) {
        if !path.srtt.is_zero() {
            self.start(path);
        }
    }

    fn on_sent(&mut self, segment: &SentSegment, path: &PathView) {
        if let Some(experiment) = &mut self.experiment {
            let before = experiment.rate();
            experiment.on_sent(segment, path);
            if experiment.rate() != before {
                self.apply(path);
            }
        }
    }

    fn on_lost(&mut self, segment: &LostSegment, _path: &PathView) {
        if let Some(experiment) = &mut self.experiment {
            experiment.on_lost(segment);
        }
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        if let Some(rtt) = ack.rtt {
            let sent = Time::ZERO + path.now.since_start().saturating_sub(rtt);
            self.newest = self.newest.max(sent);
            match &mut self.experiment {
                Some(experiment) => experiment.on_rtt(sent, rtt),
                None => self.start(path),
            }
        }
        self.decide(path);
    }

    /// Losses count in utility alone.
    fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
        false
    }

    /// Nothing is known of what was sent: the rate halves, and the start is repeated from there. Its first doubling returns to the rate
    /// before; an outage of several timeouts leaves so little that gradients would take long.
    fn on_rto(&mut self, _new_episode: bool, path: &PathView) {
        if self.experiment.is_none() {
            return;
        }
        self.exit.get_or_insert(ExitReason::Loss);
        self.rate /= 2.0;
        self.ascent.reset();
        self.search = Search::Starting { last: 0.0, forgiven: 0 };
        self.plan(path);
    }

    fn control(&self) -> Control {
        Control {
            pacing: self.pacing(),
            send_quantum: Some(self.mss),
            phase: match self.search {
                Search::Starting { .. } => Phase::SlowStart,
                Search::Probing { .. } => Phase::CongestionAvoidance,
            },
            ..Control::window(self.cwnd)
        }
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(self.pace)
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("base_rate_mbps", if self.rate > 0.0 { self.rate } else { f64::NAN });
        out("utility", self.utility);
        out("gradient", self.gradient);
        out("confidence", self.ascent.confidence());
        out("boundary", self.ascent.boundary());
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Seq;

    use super::*;
    use crate::sample::{Departure, LossFinder, Trigger};
    use crate::vivace::VivaceUtility;

    const MSS: Bytes = Bytes::new(1000);
    const RTT: Duration = Duration::from_millis(50);

    fn path(now: Time) -> PathView {
        let (una, nxt) = (Seq::FIRST_DATA, Seq::FIRST_DATA);
        PathView { now, mss: MSS, srtt: RTT, min_rtt: RTT, in_flight: Bytes::ZERO, una, nxt }
    }

    fn vivace(params: VivaceParams) -> Vivace {
        Vivace::new(params, FlowInit::new(MSS))
    }

    /// What one interval of an experiment meets: its share of losses in percent, and the slope of its round trips.
    #[derive(Clone, Copy, Default)]
    struct Met {
        lost: u64,
        slope: f64,
    }

    /// An experiment with 100 packets of 1000 bytes in each interval. The packets leave at this part of the rate, in
    /// Mbit/s.
    fn experiment(part: f64, tried: &[(f64, Met)]) -> Experiment {
        let gap = |rate: f64| Duration::from_secs_f64(0.008 / (rate * part));
        let trial = |index: usize| {
            let rate = tried[index].0;
            Trial { rate, length: gap(rate) * 100 - Duration::from_nanos(50) }
        };
        let mut experiment = if tried.len() == 1 {
            Experiment::single(trial(0))
        } else {
            Experiment::pair(trial(0), trial(1))
        };
        let segment = SentSegment { seq: Seq::FIRST_DATA, payload: MSS, retransmission: false };
        let mut now = Time::ZERO + RTT;
        for (rate, met) in tried {
            let start = now;
            for packet in 0..100 {
                experiment.on_sent(&segment, &path(now));
                if packet < met.lost {
                    let zero = Bytes::ZERO;
                    let departure = Departure {
                        sent: now,
                        in_flight: zero,
                        delivered: zero,
                        lost: zero,
                        app_limited: false,
                    };
                    let (seq, payload, found_by) = (segment.seq, MSS, LossFinder::Ack);
                    experiment.on_lost(&LostSegment { seq, payload, departure, lost: MSS, found_by });
                }
                let rtt = 0.1 + met.slope * now.since(start).as_secs_f64();
                experiment.on_rtt(now, Duration::from_secs_f64(rtt));
                now += gap(*rate);
            }
        }
        experiment.on_sent(&segment, &path(now));
        experiment
    }

    /// Losses are doubted if they are 5 % of both intervals and the slower one lost more than two packets more.
    #[test]
    fn fewer_losses_at_the_higher_rate_are_doubted() {
        let interval = |lost: u64| {
            let mut interval = MonitorInterval::new(Time::ZERO, RTT);
            (0..100).for_each(|_| interval.on_sent(MSS));
            (0..lost).for_each(|_| interval.on_lost(MSS));
            interval
        };
        for (slow, fast, doubted) in
            [(10, 0, true), (9, 0, false), (10, 8, false), (11, 8, true), (0, 30, false), (2, 0, false)]
        {
            assert_eq!(lost_less(&interval(slow), &interval(fast)), doubted, "{slow} {fast}");
        }
    }

    /// A surprising pair is checked once, and the mean of both gradients then counts; any other moves the rate at
    /// once. A round trip that grows less at the higher rate surprises only where it enters the utility.
    #[test]
    fn surprising_gradients_are_checked() {
        let met = |lost, slope| Met { lost, slope };
        for (utility, slow, fast, surprises) in [
            (VivaceUtility::Latency, met(0, 0.0), met(0, 0.0), false),
            (VivaceUtility::Latency, met(0, 0.1), met(0, 0.0), true),
            (VivaceUtility::Latency, met(0, 0.0), met(0, 0.1), false),
            (VivaceUtility::Latency, met(20, 0.0), met(0, 0.0), true),
            (VivaceUtility::Loss, met(0, 0.1), met(0, 0.0), false),
            (VivaceUtility::Loss, met(20, 0.0), met(0, 0.0), true),
        ] {
            let mut vivace = vivace(VivaceParams { utility, ..VivaceParams::default() });
            vivace.search = Search::Probing { doubtful: None };
            vivace.rate = 10.0;
            vivace.climb(&experiment(1.0, &[(9.5, slow), (10.5, fast)]), None);
            let Search::Probing { doubtful } = vivace.search else { panic!("it still probes") };
            let moved = (vivace.rate - 10.0).abs() > 1e-9;
            assert_eq!((doubtful.is_some(), moved), (surprises, !surprises), "{utility:?}");
            if let Some(first) = doubtful {
                let again = experiment(1.0, &[(9.5, Met::default()), (10.5, Met::default())]);
                vivace.climb(&again, doubtful);
                // Without losses and delays: (10.5^0.9 - 9.5^0.9)/1.
                let second = libm::pow(10.5, 0.9) - libm::pow(9.5, 0.9);
                assert!((vivace.gradient - f64::midpoint(first, second)).abs() < 1e-3, "{}", vivace.gradient);
                assert!(vivace.rate > 10.0);
            }
        }
    }

    /// A sender that sends less than 0.975 of what is tried tells nothing; with losses, the rate becomes what it
    /// sent.
    #[test]
    fn less_than_the_rate_says_nothing() {
        for (part, lost, short, rate) in
            [(0.98, 10, false, 10.0), (0.97, 0, true, 10.0), (0.97, 10, true, 9.7), (1.1, 10, false, 10.0)]
        {
            let mut vivace = vivace(VivaceParams::default());
            vivace.rate = 10.0;
            let experiment = experiment(part, &[(10.0, Met { lost, slope: 0.0 })]);
            assert_eq!(vivace.fell_short(&experiment), short, "{part}");
            assert!((vivace.rate - rate).abs() < 1e-3, "{part}: {}", vivace.rate);
        }
    }

    /// The start does not count a slope of the round trip below 0.2, either way. A slope of 0.21 costs 900 * 0.21
    /// times the rate, and the start ends at half the rate.
    #[test]
    fn the_start_forgives_small_slopes() {
        for (slope, rate) in [(0.19, 20.0), (-0.19, 20.0), (0.21, 5.0)] {
            let mut vivace = vivace(VivaceParams::default());
            vivace.rate = 10.0;
            vivace.double(&experiment(1.0, &[(10.0, Met { lost: 0, slope })]), 0.0, 0);
            assert!((vivace.rate - rate).abs() < 1e-9, "{slope}: {}", vivace.rate);
            if slope.abs() < 0.2 {
                assert!((vivace.utility - libm::pow(10.0, 0.9)).abs() < 1e-3, "{slope}: {}", vivace.utility);
            }
        }
    }

    /// An interval lasts from a round trip to 1.1 of it. The rate is at most what a window of 2^20 segments allows in
    /// two round trips. Its pace ends with the first packet behind the interval. Congestion signals change nothing
    /// and need no answer.
    #[test]
    fn plans() {
        let mut vivace = vivace(VivaceParams::default());
        let start = Time::ZERO + RTT;
        let lengths: Vec<f64> = (0..100).map(|_| vivace.trial(1.0, &path(start)).length.ratio(RTT)).collect();
        assert!(lengths.iter().all(|length| (1.0..=1.1).contains(length)), "{lengths:?}");
        assert!(lengths.iter().any(|length| *length > 1.08) && lengths.iter().any(|length| *length < 1.02));

        vivace.rate = 1e9;
        vivace.plan(&path(start));
        let largest = 524_288.0 * 8e-3 / 0.05;
        assert!((vivace.rate - largest).abs() < 1e-6 * largest, "{}", vivace.rate);

        vivace.rate = 10.0;
        vivace.plan(&path(start));
        let segment = SentSegment { seq: Seq::FIRST_DATA, payload: MSS, retransmission: false };
        for _ in 0..10 {
            assert_eq!(vivace.pace, Rate::from_mbps(10));
            vivace.on_sent(&segment, &path(start));
        }
        vivace.on_sent(&segment, &path(start + RTT * 2));
        assert_eq!(vivace.pace, Rate::from_mbps(5));
        assert_eq!(vivace.control().send_quantum, Some(MSS));
        let event = CongestionEvent { trigger: Trigger::Loss, window: vivace.cwnd, lost: MSS, rtt: None };
        assert!(!vivace.on_congestion(&event, &path(start)));
    }
}
