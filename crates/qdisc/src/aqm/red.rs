//! RED, Random Early Detection: signals with a probability that rises with the average queue; gentle and adaptive RED.
//!
//! Source: Floyd and Jacobson 1993, section 4 and figure 17; Floyd's note on the gentle variant 2000; Floyd, Gummadi
//! and Shenker, "Adaptive RED", 2001; Linux `red.h` and `sch_red`; spec/queues-and-signalling section 3. An arriving
//! packet updates the average ([`super::red_average`]). Below `min` nothing is signalled; from `min` to `max` the
//! probability rises from 0 to `max_p`; above, every packet is signalled, or, gently, with a probability that rises to
//! 1 at twice `max`.
//!
//! Why the constants are what they are. Bursts should pass and standing queues should not, so the weight of the average
//! lets `burst` packets pass ([`super::red_params`]). Independent coins would cluster signals; the gap between two
//! signals is therefore uniform from 1 to 1/p packets: with R uniform in 0 to 1, the packet `count` of the gap is
//! signalled once `count * p >= R`. `max_p` is 0.02 in Linux; Adaptive RED moves it instead, within 1 % to 50 %: every
//! half second by at most 0.01 or a quarter of itself up, by a tenth of itself down, slowly enough not to fight the
//! average, until the average is in the middle fifth of the band.
//!
//! A packet that does not fit into the queue is lost before RED hears of it, as with every AQM here; Linux updates the
//! average first. If a queue overflows before its average reaches `max`, its thresholds are wrong in any case.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Duration, Rate, Time};

use super::likelihood::Recur;
use super::mds::Probable;
use super::red_average::QueueAverage;
use super::red_params::{Band, RedParams, RedRandom};
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::AqmInit;

/// RED's variables.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    random: RandomStream,
    band: Band,
    average: QueueAverage,
    /// The probability at `max`.
    max_p: f64,
    /// Packets since the last signal; nothing outside of the band.
    count: Option<u64>,
    /// R: the uniform number that ends the gap.
    r: f64,
    /// The sum of probabilities since the last signal, where they are added up.
    sum: Recur,
    /// The link's rate that the band is meant for, where it depends on it.
    rate: Option<Rate>,
    next_adaptation: Time,
}

impl Red {
    /// How often, and within which range, the probability at `max` is adapted (Adaptive RED, section 4).
    const ADAPTATION: Duration = Duration::from_millis(500);
    const LEAST_MAX_P: f64 = 0.01;
    const MOST_MAX_P: f64 = 0.5;
    /// Its increase is this or a quarter of it, whichever is less; and what a decrease leaves of it.
    const INCREASE: f64 = 0.01;
    const DECREASE: f64 = 0.9;
    /// The target: from here to here within the band.
    const TARGET: [f64; 2] = [0.4, 0.6];

    /// RED with its own random stream. After idle time, only the phase of the adaptation and the adapted probability at
    /// `max` differ from the initial state.
    pub fn new(params: RedParams, init: &AqmInit) -> Red {
        let band = params.band(init.limit);
        let mut red = Red {
            random: RandomStream::new(init.seed),
            average: QueueAverage::new(band.weight, params.avpkt, params.bandwidth, params.idle),
            band,
            max_p: params.probability.get(),
            count: None,
            r: 0.0,
            sum: Recur::default(),
            rate: None,
            next_adaptation: init.next_tick(Red::ADAPTATION, Red::ADAPTATION),
            params,
        };
        let mut adaptations = init.age.as_nanos() / Red::ADAPTATION.as_nanos();
        while red.params.adapts() && adaptations > 0 && red.max_p >= Red::LEAST_MAX_P {
            red.adapt(0.0);
            adaptations -= 1;
        }
        red
    }

    /// Starts anew, as for a queue that has just got its first packet.
    pub(crate) fn restart(&mut self) {
        self.average.restart();
        self.count = None;
    }

    /// Updates the band if it depends on the link's rate.
    #[inline]
    fn follow(&mut self, rate: Rate) {
        if self.params.adaptive_auto && self.rate != Some(rate) {
            let RedParams { avpkt, idle, .. } = self.params;
            self.rate = Some(rate);
            self.band = self.params.automatic_band(rate);
            self.average.retune(QueueAverage::new(self.band.weight, avpkt, rate, idle));
        }
    }

    /// The probability at an average; nothing where every packet is signalled.
    #[inline]
    fn probability(&self, avg: f64) -> Option<f64> {
        let Band { min, max, .. } = self.band;
        if avg < max {
            Some((self.max_p * (avg - min) / (max - min)).max(0.0))
        } else if self.params.gentle && avg < 2.0 * max {
            Some(self.max_p + (1.0 - self.max_p) * (avg - max) / max)
        } else {
            None
        }
    }

    /// Whether a packet in the band is signalled, with probability `p`.
    fn signals(&mut self, p: f64) -> bool {
        match self.params.random {
            RedRandom::Uniform => self.ends_gap(p),
            RedRandom::Coin => self.random.uniform() < p,
            RedRandom::Recur => self.sum.signals(p),
        }
    }

    /// The first packet in the band starts a gap and is not part of it.
    fn ends_gap(&mut self, p: f64) -> bool {
        let Some(count) = &mut self.count else {
            self.count = Some(0);
            self.r = self.random.uniform();
            return false;
        };
        *count += 1;
        let ends = *count as f64 * p >= self.r;
        if ends {
            *count = 0;
            self.r = self.random.uniform();
        }
        ends
    }

    /// What a signal does to a packet. `hard`: every packet gets one.
    fn signal(&self, packet: &PacketView, hard: bool) -> Verdict {
        let RedParams { ecn, harddrop, nodrop, .. } = self.params;
        if !ecn || (hard && harddrop) {
            Verdict::Drop
        } else if nodrop && !packet.markable() {
            Verdict::Pass
        } else {
            Verdict::Mark(Signal::Ce)
        }
    }

    /// Moves `max_p` so that the average comes to the middle of the band.
    fn adapt(&mut self, avg: f64) {
        let Band { min, max, .. } = self.band;
        let [low, high] = Red::TARGET.map(|part| min + part * (max - min));
        if avg > high && self.max_p <= Red::MOST_MAX_P {
            self.max_p += Red::INCREASE.min(self.max_p / 4.0);
        } else if avg < low && self.max_p >= Red::LEAST_MAX_P {
            self.max_p *= Red::DECREASE;
        }
    }
}

impl Aqm for Red {
    fn is_on_arrival(&self) -> bool {
        true
    }

    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        self.follow(queue.rate);
        let avg = self.average.arrived(queue);
        if avg < self.band.min {
            self.count = None;
            return Verdict::Pass;
        }
        match self.probability(avg) {
            Some(p) if self.signals(p) => self.signal(packet, false),
            Some(_) => Verdict::Pass,
            None => {
                self.count = None;
                self.signal(packet, true)
            }
        }
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        if queue.packets == 0 {
            self.average.emptied(queue.now + queue.rate.transfer_time(packet.size));
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Option<Time> {
        self.params.adapts().then_some(self.next_adaptation)
    }

    fn on_timer(&mut self, queue: &QueueView) {
        self.follow(queue.rate);
        self.adapt(self.average.now(queue));
        self.next_adaptation = queue.now + Red::ADAPTATION;
    }

    /// The average in bytes, as the last arrival left it.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let avg = self.average.last();
        out("avg_bytes", avg);
        out("p", self.probability(avg).unwrap_or(1.0));
        out("max_p", self.max_p);
    }
}

impl Probable for Red {
    /// The probability is 1 where every packet is signalled.
    fn arrived(&mut self, _packet: &PacketView, queue: &QueueView) -> (f64, Verdict) {
        self.follow(queue.rate);
        let avg = self.average.arrived(queue);
        let p = if avg < self.band.min { 0.0 } else { self.probability(avg).unwrap_or(1.0) };
        let is_dropped = self.params.harddrop && p >= 1.0;
        (p, if is_dropped { Verdict::Drop } else { Verdict::Mark(Signal::Ce) })
    }
}
