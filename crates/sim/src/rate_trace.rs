//! A link with listed transmission opportunities: the traces of Mahimahi (Netravali et al., "Mahimahi: Accurate
//! Record-and-Replay for HTTP", 2015, section 4).
//!
//! Each line of a trace is a time in milliseconds at which 1504 bytes may leave (one Ethernet MTU and mahimahi's own
//! header); after the last one the trace repeats, starting from that time. Several packets may share an opportunity,
//! a packet may start in one and end in a later one, and an unused opportunity is lost.

use thiserror::Error;
use windtunnel_units::{Bytes, Duration, Rate, Time};

/// The bytes that may leave at one opportunity.
const OPPORTUNITY: Bytes = Bytes::new(1504);

/// Transmission opportunities that repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// Times since the start of a period, in order.
    opportunities: Vec<Duration>,
}

/// What is wrong with a trace. It says where, and never what the file says there: a scenario from a stranger could name
/// any file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// A line is not a number.
    #[error("line {line} is not a whole number of milliseconds")]
    NotANumber {
        /// The line, from 1 on.
        line: usize,
    },
    /// Time goes backwards.
    #[error("line {line} is earlier than a line before it")]
    NotInOrder {
        /// The line, from 1 on.
        line: usize,
    },
    /// The times are too large for a clock of nanoseconds.
    #[error("line {line} is later than the 100 days that a trace may last")]
    TooLong {
        /// The line, from 1 on.
        line: usize,
    },
    /// All opportunities are at 0 ms.
    #[error("the trace has no opportunity after 0 ms: it would repeat without end")]
    Empty,
    /// Hardly anything can leave.
    #[error(
        "the trace has fewer than one bit in a second: {opportunities} opportunities of 1504 B in {period}"
    )]
    TooSlow {
        /// How many opportunities it has.
        opportunities: usize,
        /// The time after which it repeats.
        period: Duration,
    },
}

/// Reads a Mahimahi trace: one time in milliseconds per line, in order.
pub fn parse_mahimahi(text: &str) -> Result<RateTrace, TraceError> {
    const LONGEST_MS: u64 = 100 * 24 * 3_600_000;
    let mut opportunities = Vec::with_capacity(text.lines().count());
    let mut before = 0;
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let ms = text.parse().map_err(|_| TraceError::NotANumber { line })?;
        if ms < before {
            return Err(TraceError::NotInOrder { line });
        }
        if ms > LONGEST_MS {
            return Err(TraceError::TooLong { line });
        }
        before = ms;
        opportunities.push(Duration::from_millis(ms));
    }
    if before == 0 {
        return Err(TraceError::Empty);
    }
    let trace = RateTrace { opportunities };
    if trace.mean_rate() == Rate::ZERO {
        let (opportunities, period) = (trace.opportunities.len(), trace.period());
        return Err(TraceError::TooSlow { opportunities, period });
    }
    Ok(trace)
}

impl RateTrace {
    /// The time after which it repeats.
    pub fn period(&self) -> Duration {
        self.opportunities.last().copied().unwrap_or(Duration::MAX)
    }

    /// The mean rate.
    pub fn mean_rate(&self) -> Rate {
        Rate::of(OPPORTUNITY * self.opportunities.len() as u64, self.period())
    }
}

/// A position in a trace.
#[derive(Debug, Default)]
pub(crate) struct TraceCursor {
    /// When the current period started.
    period_start: Time,
    /// The current opportunity.
    index: usize,
    /// The part of it that is used.
    used: Bytes,
}

impl TraceCursor {
    /// Takes `amount` from the opportunities from `now` on. Returns the time of the last one used.
    pub(crate) fn transmit(&mut self, trace: &RateTrace, mut amount: Bytes, now: Time) -> Time {
        while self.at(trace) < now {
            self.advance(trace, now);
        }
        loop {
            let at = self.at(trace);
            let left = OPPORTUNITY - self.used;
            if amount <= left {
                self.used += amount;
                return at;
            }
            amount -= left;
            self.advance(trace, at);
        }
    }

    fn at(&self, trace: &RateTrace) -> Time {
        self.period_start + trace.opportunities[self.index]
    }

    /// Moves to the next opportunity; after whole idle periods, to one in the period that contains `now`.
    fn advance(&mut self, trace: &RateTrace, now: Time) {
        self.used = Bytes::ZERO;
        self.index += 1;
        if self.index == trace.opportunities.len() {
            self.index = 0;
            let period = trace.period();
            let whole = now.since(self.period_start).as_nanos() / period.as_nanos();
            self.period_start += period * whole.max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Lines as mahimahi writes them; blank lines at the end are ignored.
    #[test]
    fn reads_a_trace() {
        let trace = parse_mahimahi("0\n1\n1\r\n5\n\n").unwrap();
        assert_eq!(trace.period(), Duration::from_millis(5));
        // 4 * 1504 * 8 bit in 5 ms.
        assert_eq!(trace.mean_rate().bits_per_sec(), 9_625_600);
    }

    /// Messages name the line, and do not quote it.
    #[test]
    fn faults_name_the_line() {
        let fault = |text| parse_mahimahi(text).unwrap_err().to_string();
        assert_eq!(fault("1\n2.5\n"), "line 2 is not a whole number of milliseconds");
        assert_eq!(fault("1\n\n5\n4"), "line 4 is earlier than a line before it");
        assert_eq!(fault(""), fault("0\n0\n"));
        assert!(fault("99999999999999").starts_with("line 1 is later"));
    }

    /// A queue divides by the mean rate, which is in whole bits per second: 12,032 bit in 12,032 s are one.
    #[test]
    fn a_trace_without_a_rate_is_refused() {
        assert!(parse_mahimahi("12032000\n").is_ok());
        let fault = parse_mahimahi("12032001\n").unwrap_err().to_string();
        assert_eq!(
            fault,
            "the trace has fewer than one bit in a second: 1 opportunities of 1504 B in 12032001 ms"
        );
    }

    /// By hand: opportunities at 1, 1 and 4 ms, again at 5, 5, 8 and 9, 9, 12. 1504 bytes leave per opportunity; 3000 bytes
    /// need two; three packets of 500 bytes share one; unused ones are lost.
    #[test]
    fn opportunities_are_taken_in_turn() {
        let trace = parse_mahimahi("1\n1\n4\n").unwrap();
        let mut cursor = TraceCursor::default();
        let mut sent = |bytes, now| cursor.transmit(&trace, Bytes::new(bytes), ms(now));
        assert_eq!(sent(1504, 0), ms(1));
        assert_eq!(sent(1504, 1), ms(1));
        assert_eq!(sent(3000, 1), ms(5));
        // 8 bytes of the first opportunity at 5 ms are left: two packets of 500 take the second one, and the next 500 fit too.
        assert_eq!(sent(500, 5), ms(5));
        assert_eq!(sent(500, 5), ms(5));
        assert_eq!(sent(500, 5), ms(5));
        assert_eq!(sent(500, 5), ms(8));
        // Idle from 8 to 10 ms: the opportunities at 9 are lost.
        assert_eq!(sent(1504, 10), ms(12));
        // Idle for many periods: 1000 * 4 + 1.
        assert_eq!(sent(100, 4001), ms(4001));
        assert_eq!(sent(1504, 4002), ms(4004));
    }
}
