//! A datagram source that responds to losses as a simple media application may: additive increase, multiplicative
//! decrease of its rate, once per report (the form of RFC 8085 section 3.1.1, without a formula).
//!
//! Each datagram carries the number of a round. The receiver answers the first one of a new round with a report, and the
//! sender starts the next round with the report: one report per round trip, even if the first datagrams of a round are
//! lost. A report of losses or CE marks halves the rate; one without adds a twentieth of the full rate. The report
//! after a decrease is about datagrams sent before it, whose congestion the source has already answered: it changes
//! nothing. A round of four round trips (1 s at first) without a report counts as a loss.

use windtunnel_units::{Duration, Rate, Time};

use super::config::CbrParams;

/// The rate of a responsive source.
#[derive(Debug)]
pub(super) struct Responsive {
    full: Rate,
    least: Rate,
    rate: Rate,
    srtt: Option<Duration>,
    round: u64,
    /// When the round started.
    since: Option<Time>,
    /// The next report is about datagrams sent before the last decrease.
    answered: bool,
}

impl Responsive {
    /// Starts with the full rate, as media do.
    pub(super) const fn new(params: &CbrParams) -> Responsive {
        let (full, least) = (params.rate, params.min_rate);
        Responsive { full, least, rate: full, srtt: None, round: 1, since: None, answered: false }
    }

    /// The rate without losses; a rate above it falls to it.
    pub(super) fn set_full(&mut self, full: Rate) {
        self.full = full;
        self.rate = self.rate.min(full);
    }

    pub(super) const fn rate(&self) -> Rate {
        self.rate
    }

    /// A datagram leaves. Returns its round.
    pub(super) fn round(&mut self, now: Time) -> u64 {
        let patience = self.srtt.map_or(Duration::SECOND, |srtt| srtt * 4);
        let since = *self.since.get_or_insert(now);
        if now.since(since) >= patience {
            self.decrease();
            self.round += 1;
            self.since = Some(now);
        }
        self.round
    }

    /// The report of a round arrived.
    pub(super) fn on_report(&mut self, round: u64, losses: u16, rtt: Duration) {
        if round != self.round {
            return;
        }
        self.round += 1;
        self.since = None;
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        if std::mem::take(&mut self.answered) {
            return;
        }
        if losses > 0 {
            self.decrease();
        } else {
            let step = self.full.bits_per_sec() / 20;
            self.rate = self.full.min(Rate::from_bits_per_sec(self.rate.bits_per_sec() + step));
        }
    }

    fn decrease(&mut self) {
        self.answered = true;
        self.rate = self.least.max(Rate::from_bits_per_sec(self.rate.bits_per_sec() / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10 Mbit/s at first; a loss halves it, the report after that changes nothing, each one without a loss adds
    /// 0.5 Mbit/s, up to the full rate; never below the lowest rate.
    #[test]
    fn one_step_per_report() {
        let params =
            CbrParams { rate: Rate::from_mbps(10), min_rate: Rate::from_mbps(1), ..CbrParams::default() };
        let mut source = Responsive::new(&params);
        let mut now = Time::ZERO;
        let mut report = |losses| {
            now += Duration::from_millis(100);
            let round = source.round(now);
            source.on_report(round, losses, Duration::from_millis(50));
            // Duplicated by the network: its round is over.
            source.on_report(round, losses, Duration::from_millis(50));
            source.rate().bits_per_sec() / 100_000
        };
        let losses = [0, 3, 9, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0];
        let rates = losses.map(&mut report);
        assert_eq!(rates, [100, 50, 50, 55, 60, 30, 30, 15, 15, 10, 10, 10, 10]);
        let back: Vec<u64> = (0..20).map(|_| report(0)).collect();
        assert_eq!((back[0], back[17], back[19]), (15, 100, 100));
    }

    /// Without a report a new round starts after 1 s, and later after four round trips, at half the rate.
    #[test]
    fn a_missing_report_is_a_loss() {
        let mut source = Responsive::new(&CbrParams { rate: Rate::from_mbps(10), ..CbrParams::default() });
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!([0, 999, 1000].map(|ms| source.round(at(ms))), [1, 1, 2]);
        assert_eq!(source.rate(), Rate::from_mbps(5));
        source.on_report(2, 0, Duration::from_millis(50));
        assert_eq!([1100, 1299, 1300].map(|ms| source.round(at(ms))), [3, 3, 4]);
        assert_eq!(source.rate().bits_per_sec(), 2_500_000);
    }
}
