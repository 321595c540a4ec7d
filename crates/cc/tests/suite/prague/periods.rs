//! The time from answer to answer under independent marks of 4 %, where a packet arrives each half of a millisecond.
//!
//! The packet after the round trip R of an answer may be answered. From there to a mark are `1 / p` packets, w, in the mean.
//! UDP Prague and the draft answer the first mark from `max(R, 25 ms)` on: the period is that and w. In the module a mark
//! before 25 ms starts a round again, so that the k-th mark that could be answered comes after k round trips and k waits, and
//! the first of them from 25 ms on is answered: `E[k] (R + w)` by Wald's equation, where `E[k]` is 1 and, for each k, the
//! probability that k marks are among the packets of `25 ms - k R`.

use windtunnel_cc::{
    AckSample, CongestionEvent, ControllerParams, EcnFeedback, Feedback, Marked, PathView, PragueMode,
    PragueParams, PragueVariant, RandomStream, Trigger,
};
use windtunnel_units::{Bytes, Duration, Probability, Seq, Time};

use crate::driver::{MSS, init};

const P: f64 = 0.04;
const GAP: Duration = Duration::from_micros(500);
/// The target, in packets.
const TARGET: u64 = 50;

/// The periods between answers at a round trip of `flight` packets, in packets.
fn periods(params: &PragueParams, flight: u64) -> Vec<f64> {
    let mut cc = params.build(init(MSS * 100));
    cc.on_negotiated(Feedback::Counts);
    let mut random = RandomStream::new(11);
    let chance = Probability::clamped(P);
    let rtt = GAP * flight;
    let path = |packet: u64| PathView {
        now: Time::ZERO + rtt + GAP * packet,
        mss: MSS,
        srtt: rtt,
        min_rtt: rtt,
        in_flight: MSS * flight,
        una: Seq::FIRST_DATA + MSS * packet,
        nxt: Seq::FIRST_DATA + MSS * (packet + flight),
    };
    cc.on_established(&path(0));
    let mut answers: Vec<u64> = Vec::new();
    for packet in 1..300_000 {
        let path = path(packet);
        let marked = u32::from(random.chance(chance));
        let ecn = EcnFeedback {
            ce: Marked { bytes: MSS * u64::from(marked), packets: marked },
            ..EcnFeedback::default()
        };
        if marked > 0 {
            let event = CongestionEvent {
                trigger: Trigger::Ce,
                window: cc.cwnd(),
                lost: Bytes::ZERO,
                rtt: Some(rtt),
            };
            if cc.on_congestion(&event, &path) {
                answers.push(packet);
            }
        }
        let ack = AckSample { acked: MSS, newly_delivered: MSS, rtt: Some(rtt), ecn, ..AckSample::default() };
        cc.on_ack(&ack, &path);
    }
    // The first rounds have no average yet, and the module is in slow start.
    answers[100..].windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

fn params(variant: PragueVariant) -> PragueParams {
    match variant {
        PragueVariant::Udp | PragueVariant::Linux2020 => PragueParams { variant, ..PragueParams::default() },
        _ => PragueParams { variant, prague_cwnd_mode: PragueMode::Window, ..PragueParams::default() },
    }
}

/// The probability of at least `least` marks among `packets`.
fn at_least(least: u64, packets: u64) -> f64 {
    let mut exactly = libm::pow(1.0 - P, packets as f64);
    let mut fewer = 0.0;
    for marks in 0..least {
        fewer += exactly;
        exactly *= packets.saturating_sub(marks) as f64 / (marks + 1) as f64 * P / (1.0 - P);
    }
    1.0 - fewer
}

/// The mean number of round trips from answer to answer in the module.
fn round_trips(flight: u64) -> f64 {
    1.0 + (1..TARGET).map(|k| at_least(k, TARGET.saturating_sub(k * flight + 1))).sum::<f64>()
}

#[test]
fn from_answer_to_answer() {
    for ms in [5, 10, 12, 13, 20, 24, 26, 50] {
        let flight = 2 * ms;
        let (rtt, wait) = (flight as f64, 1.0 / P);
        // From 25 ms on the packet at 25 ms counts; from a round trip on, the one after it.
        let independent = if flight < TARGET { TARGET as f64 - 1.0 + wait } else { rtt + wait };
        for (variant, least, mean) in [
            (PragueVariant::Linux, flight.max(TARGET), round_trips(flight) * (rtt + wait)),
            (PragueVariant::Draft, flight.max(TARGET), independent),
            (PragueVariant::Udp, flight.max(TARGET), independent),
            (PragueVariant::Linux2020, flight, rtt + wait),
        ] {
            let periods = periods(&params(variant), flight);
            let shortest = periods.iter().copied().fold(f64::INFINITY, f64::min);
            let actual = periods.iter().sum::<f64>() / periods.len() as f64;
            let what =
                format!("{variant:?} at {ms} ms: {actual:.2} packets, not {mean:.2}; from {shortest:.2}");
            assert!(shortest >= least as f64, "{what}");
            assert!((actual / mean - 1.0).abs() < 0.02, "{what}");
        }
    }
}
