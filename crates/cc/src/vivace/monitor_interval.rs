//! A monitor interval: a time of sending at one rate, and what became of the packets that left in it.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::utility::Measurement;
use crate::regression::Regression;
use crate::sample::PathView;

/// How many packets an interval has at least: fewer tell nothing of loss.
const LEAST_PACKETS: u64 = 10;
/// A smaller slope of the round trip is noise (section 4.3 of the paper).
const LEAST_GRADIENT: f64 = 0.01;

/// One monitor interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonitorInterval {
    start: Time,
    length: Duration,
    sent: Bytes,
    packets: u64,
    lost: Bytes,
    lost_packets: u64,
    /// Round trips over times of departure, in seconds, both relative to the first of them.
    rtts: Regression,
    first_rtt: Option<Duration>,
    /// When the first packet after the interval left, and the first byte that was new then.
    end: Option<(Time, Seq)>,
}

impl MonitorInterval {
    pub(super) fn new(start: Time, length: Duration) -> MonitorInterval {
        MonitorInterval {
            start,
            length,
            sent: Bytes::ZERO,
            packets: 0,
            lost: Bytes::ZERO,
            lost_packets: 0,
            rtts: Regression::default(),
            first_rtt: None,
            end: None,
        }
    }

    /// True if a packet that leaves now belongs to the next interval.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.packets >= LEAST_PACKETS && now.since(self.start) >= self.length
    }

    /// The packet that leaves now is the first of the next interval; new data start at `nxt`.
    pub(super) const fn close(&mut self, now: Time, nxt: Seq) {
        self.end = Some((now, nxt));
    }

    pub(super) fn on_sent(&mut self, payload: Bytes) {
        self.sent += payload;
        self.packets += 1;
    }

    /// True if a packet that left then belongs to this interval.
    pub(super) fn contains(&self, sent: Time) -> bool {
        sent >= self.start && self.end.is_none_or(|(end, _)| sent < end)
    }

    /// A packet of this interval made a round trip.
    pub(super) fn on_rtt(&mut self, sent: Time, rtt: Duration) {
        let first = *self.first_rtt.get_or_insert(rtt);
        self.rtts.add(sent.since(self.start).as_secs_f64(), rtt.as_secs_f64() - first.as_secs_f64());
    }

    pub(super) fn on_lost(&mut self, payload: Bytes) {
        self.lost += payload;
        self.lost_packets += 1;
    }

    /// True if it is known of every packet whether it arrived: all data until the interval's end are acknowledged, or a
    /// packet that left a quarter of a round trip later arrived. RACK (RFC 8985) has found all losses by then. `newest` is
    /// when the newest packet known to have arrived left.
    pub(super) fn is_complete(&self, newest: Time, path: &PathView) -> bool {
        self.end.is_some_and(|(end, nxt)| path.una >= nxt || newest >= end + path.min_rtt / 4)
    }

    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(super) const fn lost_packets(&self) -> u64 {
        self.lost_packets
    }

    /// What was measured, after the interval has ended, with `forgiven` of its lost packets not counted.
    pub(super) fn measured(&self, forgiven: u64) -> Measurement {
        let span = self.end.map_or(Duration::ZERO, |(end, _)| end.since(self.start));
        let counted = self.lost_packets.saturating_sub(forgiven);
        let share = if counted == 0 { 0.0 } else { counted as f64 / self.lost_packets as f64 };
        let slope = self.rtts.slope().unwrap_or(0.0);
        Measurement {
            rate: if span.is_zero() { 0.0 } else { self.sent.as_f64() * 8e-6 / span.as_secs_f64() },
            rtt_gradient: if slope.abs() < LEAST_GRADIENT { 0.0 } else { slope },
            loss: share * self.lost.as_f64() / self.sent.as_f64().max(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);
    const LENGTH: Duration = Duration::from_millis(20);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// An interval from 100 ms on with a packet in each ms, closed when the first packet that no longer belongs to it leaves.
    fn sent() -> MonitorInterval {
        let mut interval = MonitorInterval::new(at(100), LENGTH);
        for ms in 100.. {
            if interval.is_over(at(ms)) {
                interval.close(at(ms), Seq::new(20_001));
                return interval;
            }
            interval.on_sent(MSS);
        }
        interval
    }

    fn path(una: u64) -> PathView {
        PathView {
            now: at(0),
            mss: MSS,
            srtt: LENGTH,
            min_rtt: LENGTH,
            in_flight: Bytes::ZERO,
            una: Seq::new(una),
            nxt: Seq::new(30_001),
        }
    }

    /// 20 packets of 1000 bytes in 20 ms are 8 Mbit/s. A packet belongs to where it left, wherever it is when it is lost.
    #[test]
    fn packets_belong_to_the_interval_in_which_they_left() {
        let mut interval = sent();
        assert!(interval.contains(at(100)) && interval.contains(at(119)));
        assert!(!interval.contains(at(99)) && !interval.contains(at(120)));
        interval.on_lost(MSS);
        let measured = interval.measured(0);
        assert!((measured.rate - 8.0).abs() < 1e-12 && (measured.loss - 0.05).abs() < 1e-12);
        assert!(interval.measured(1).loss < 1e-12);
    }

    /// A short round trip still gives ten packets.
    #[test]
    fn an_interval_has_ten_packets() {
        let mut interval = MonitorInterval::new(at(0), Duration::from_millis(3));
        for _ in 0..9 {
            interval.on_sent(MSS);
        }
        assert!(!interval.is_over(at(9)));
        interval.on_sent(MSS);
        assert!(interval.is_over(at(10)) && !interval.is_over(at(2)));
    }

    /// The round trip grows by 0.2 ms in each ms of departures: a queue that gets 20 % too much. A slope below 1 % is noise.
    #[test]
    fn gradient_of_the_round_trip() {
        for (per_ms, expected) in [(200_u64, 0.2), (9, 0.0), (11, 0.011)] {
            let mut interval = sent();
            for ms in 100..120 {
                interval.on_rtt(at(ms), LENGTH + Duration::from_micros(per_ms) * (ms - 100));
            }
            let gradient = interval.measured(0).rtt_gradient;
            assert!((gradient - expected).abs() < 1e-9, "{gradient}, not {expected}");
        }
    }

    /// Complete at the ACK of everything, or 5 ms of departures after the end at 120 ms.
    #[test]
    fn complete_once_all_is_known() {
        let interval = sent();
        assert!(!interval.is_complete(at(119), &path(19_001)));
        assert!(interval.is_complete(at(119), &path(20_001)));
        assert!(!interval.is_complete(at(124), &path(5_001)));
        assert!(interval.is_complete(at(125), &path(5_001)));
        assert!(!MonitorInterval::new(at(0), LENGTH).is_complete(at(200), &path(30_001)), "still open");
    }
}
