//! BBR's Startup as a slow start: it ends when the delivery rate does not grow any more, not when something is lost.
//!
//! draft-ietf-ccwg-bbr section 5.3.1; spec/congestion-control section 3.22. In each round the largest delivery rate is compared:
//! after three rounds in which it has grown by less than a quarter, the path is full, as a policy that doubles would have seen
//! twice the rate twice over. Until then departures are paced at 2/ln 2 of the rate, the least gain that doubles it in a round;
//! cwnd is twice what was delivered in a round, so that this is 1/ln 2 of cwnd per round trip. cwnd may grow to 2/ln 2 products
//! of rate and least round trip. At the end it is one product (BBR's Drain): the queue is gone after a round trip.

use std::num::NonZeroU32;

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration, Rate};

use super::{SlowStart, SlowStartParams, SlowStartVerdict};
use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};

/// 1/ln 2: the pace as a share of cwnd per round trip.
const PACE: f64 = std::f64::consts::LOG2_E;
/// 2/ln 2: cwnd as a multiple of the product.
const CWND: f64 = 2.0 * PACE;
/// The path is full after this many rounds without this growth.
const ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;

/// BBR's Startup has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-ietf-ccwg-bbr section 5.3.1", "x-title" = "BBR Startup"))]
pub struct BbrStartupParams {}

impl Params for BbrStartupParams {
    const NAME: &'static str = "bbr-startup";
    const SUMMARY: &'static str = "BBR's Startup: until the delivery rate does not grow for three rounds";
}

impl SlowStartParams for BbrStartupParams {
    fn paces(&self) -> bool {
        true
    }

    fn samples_rates(&self) -> bool {
        true
    }

    fn build(&self, _flow: &FlowInit, _tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(BbrStartup { rate: Rate::ZERO, baseline: Rate::ZERO, rounds: 0 })
    }
}

/// The state of the search.
#[derive(Clone, Copy, Debug)]
struct BbrStartup {
    /// The largest delivery rate.
    rate: Rate,
    /// The rate from which growth counts, and the rounds since it was reached.
    baseline: Rate,
    rounds: u32,
}

impl BbrStartup {
    /// This many products of the rate and the least round trip.
    fn products(&self, count: f64, path: &PathView) -> Bytes {
        Bytes::from_f64(count * self.rate.bits_per_sec() as f64 / 8.0 * path.min_rtt.as_secs_f64())
    }

    /// A round starts. True if the path is full.
    fn is_full(&mut self) -> bool {
        if self.rate.bits_per_sec() as f64 >= GROWTH * self.baseline.bits_per_sec() as f64 {
            self.baseline = self.rate;
            self.rounds = 0;
        } else {
            self.rounds += 1;
        }
        self.rounds >= ROUNDS
    }
}

impl SlowStart for BbrStartup {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Exit(ExitReason::Ce)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        if let Some(sample) = &ack.rate {
            let limited = sample.departure.app_limited;
            if !limited || sample.rate > self.rate {
                self.rate = self.rate.max(sample.rate);
            }
            if ack.round_start && !limited && self.is_full() {
                return SlowStartVerdict::Exit(ExitReason::Other("bandwidth plateau"));
            }
        }
        if self.rate == Rate::ZERO || *cwnd < self.products(CWND, path) {
            *cwnd += ack.growth(ack.acked);
        }
        SlowStartVerdict::Stay
    }

    fn exit_cwnd(&self, cwnd: Bytes, _rtt: Option<Duration>, path: &PathView) -> Bytes {
        if self.rate == Rate::ZERO { cwnd } else { cwnd.min(self.products(1.0, path)) }
    }

    fn pacing_gain(&self) -> f64 {
        PACE
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("startup_rate_bit_per_s", self.rate.bits_per_sec() as f64);
        out("startup_flat_rounds", f64::from(self.rounds));
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Seq, Time};

    use super::*;
    use crate::sample::{Departure, RateSample};

    const MSS: Bytes = Bytes::new(1000);

    fn path() -> PathView {
        PathView {
            now: Time::ZERO,
            mss: MSS,
            srtt: Duration::from_millis(150),
            min_rtt: Duration::from_millis(100),
            in_flight: Bytes::ZERO,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
        }
    }

    fn start() -> Box<dyn SlowStart> {
        BbrStartupParams {}.build(&FlowInit::new(MSS), NonZeroU32::MIN)
    }

    /// An ACK of a segment with a sample of this many kbit/s.
    fn ack(kbps: u64, round_start: bool, app_limited: bool) -> AckSample {
        let departure = Departure {
            sent: Time::ZERO,
            in_flight: MSS,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited,
        };
        let rate = RateSample {
            rate: Rate::from_bits_per_sec(kbps * 1_000),
            interval: Duration::from_millis(1),
            delivered: MSS,
            lost: Bytes::ZERO,
            departure,
        };
        AckSample { acked: MSS, rate: Some(rate), round_start, ..AckSample::default() }
    }

    /// draft-ietf-ccwg-bbr section 5.3.1.2: the path is full in the third round in which the rate has grown by less
    /// than a quarter of what it was; ACKs within a round and rounds that the application limits do not count.
    #[test]
    fn three_flat_rounds_end_startup() {
        let cases: [(&[u64], Option<usize>); 4] = [
            (&[10_000, 10_000, 10_000, 10_000], Some(4)),
            (&[10_000, 11_000, 12_000, 12_499], Some(4)),
            (&[10_000, 11_000, 12_000, 12_500, 13_000, 14_000, 15_000], Some(7)),
            (&[10_000, 12_500, 16_000, 20_000, 25_000], None),
        ];
        for (rates, full_in) in cases {
            let (mut startup, mut cwnd) = (start(), MSS * 10);
            let mut plateau = None;
            for (round, kbps) in (1..).zip(rates) {
                for (round_start, app_limited) in [(true, false), (false, false), (true, true)] {
                    let ack = ack(*kbps, round_start, app_limited);
                    let verdict = startup.on_ack(&mut cwnd, &ack, &path());
                    if verdict != SlowStartVerdict::Stay {
                        assert_eq!(verdict, SlowStartVerdict::Exit(ExitReason::Other("bandwidth plateau")));
                        assert!(round_start && !app_limited);
                        plateau = plateau.or(Some(round));
                    }
                }
            }
            assert_eq!(plateau, full_in, "{rates:?}");
        }
    }

    /// At 8 Mbit/s and 100 ms the product is 100,000 bytes: cwnd grows below 2/ln 2 of it, 288,539 bytes, and without
    /// a rate always. Startup leaves one product. A sample that the application limits counts if it is larger.
    #[test]
    fn cwnd_holds_products() {
        let (mut startup, mut cwnd) = (start(), MSS * 400);
        assert_eq!(startup.exit_cwnd(cwnd, None, &path()), cwnd);
        startup.on_ack(&mut cwnd, &AckSample { acked: MSS, ..AckSample::default() }, &path());
        assert_eq!(cwnd, MSS * 401);
        for kbps in [4_000, 8_000, 2_000] {
            startup.on_ack(&mut cwnd, &ack(kbps, false, true), &path());
        }
        let mut numbers = Vec::new();
        startup.probe(&mut |name, value| numbers.push((name, value)));
        assert_eq!(numbers, [("startup_rate_bit_per_s", 8e6), ("startup_flat_rounds", 0.0)]);
        for (bytes, grown) in [(288_538, 289_538), (288_539, 288_539), (300_000, 300_000)] {
            let mut cwnd = Bytes::new(bytes);
            startup.on_ack(&mut cwnd, &ack(1_000, false, false), &path());
            assert_eq!(cwnd, Bytes::new(grown));
        }
        for (bytes, left) in [(150_000, 100_000), (90_000, 90_000)] {
            assert_eq!(startup.exit_cwnd(Bytes::new(bytes), None, &path()), Bytes::new(left));
        }
    }

    /// The pace of 2/ln 2 rates is 1/ln 2 of a cwnd of two products per round trip; it needs pacing and rate samples.
    #[test]
    fn startup_paces() {
        let params = BbrStartupParams {};
        assert!(params.paces() && params.samples_rates());
        assert!((start().pacing_gain() - 1.0 / std::f64::consts::LN_2).abs() < 1e-12);
    }
}
