//! Random valid scenarios: any network, any mechanisms, with a preference for the ends of the allowed ranges.
//!
//! Each key has its own line, so that a failing scenario can be reduced line by line. The length is chosen so that most
//! runs have some thousand packets.

mod applications;
mod controllers;
mod endpoints;
mod links;
mod mechanisms;
mod queues;
mod signals;
mod trace;

use std::env;
use std::fmt::{Display, Write};

use windtunnel_scenario::{Reading, Registry, Scenario, ScenarioError};

use crate::random::Random;

/// A scenario's text as it grows, and what its parts must know about each other.
#[derive(Debug)]
pub(crate) struct Draft {
    random: Random,
    text: String,
    /// Loss-free endpoints.
    ideal: bool,
    /// The rate of the slowest link, in bit/s.
    rate: u64,
    mtu: u64,
    /// The shortest round-trip time, in nanoseconds; links take some of it.
    rtt: u64,
    /// The length of the run, in nanoseconds.
    duration: u64,
    /// Whether the link has a bandwidth-delay product.
    has_bdp: bool,
    /// Each link has a fixed delay, so that a run over several links can be divided.
    apart: bool,
}

/// Reads a random scenario, which may name traces in the folder for temporary files.
pub(crate) fn read(text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    read_from(None, text, overrides)
}

/// Reads a scenario of this file, which may also name traces in its folder.
pub(crate) fn read_from(
    file: Option<&str>,
    text: &str,
    overrides: &[String],
) -> Result<Scenario, ScenarioError> {
    let (registry, folders) = (Registry::default(), [env::temp_dir()]);
    Scenario::read(text, &Reading { file, overrides, allow_read: &folders, ..Reading::new(&registry) })
}

/// Seeds from here on give up to a dozen flows over several links in a row, each with a fixed delay.
pub(crate) const ROWS: u64 = 1 << 32;

/// The scenario with this seed.
pub(crate) fn generate(seed: u64) -> String {
    let mut draft = Draft { apart: seed >= ROWS, ..draft(seed) };
    draft.top(seed);
    if draft.apart {
        let (hops, back) = (2 + draft.random.below(4), !draft.one_in(3));
        draft.chain(hops, back);
        for flow in 0..2 + draft.random.below(10) {
            draft.table("[[flow]]");
            draft.way(hops, back);
            draft.flow(flow);
        }
    } else {
        draft.network();
    }
    draft.text
}

fn draft(seed: u64) -> Draft {
    let mut random = Random::new(seed);
    let ideal = random.one_in(8);
    let mtu = [1500, 1500, 1500, 1500, 576, 9000, 68, 60, 65_535][random.below(9)];
    let rate = [random.log(1_000, 10_000_000_000), random.log(1_000_000, 1_000_000_000)][random.below(2)];
    let rtt = match random.below(10) {
        0 => 1_000,
        1 => random.log(1_000, 100_000_000_000),
        _ => random.log(100_000, 500_000_000),
    };
    let packets = random.log(50, 20_000);
    let of_packets = u128::from(packets * mtu * 8) * 1_000_000_000 / u128::from(rate);
    let of_round_trips = rtt * random.log(2, 300);
    let duration = (of_packets as u64).max(of_round_trips).clamp(1_000_000, 1_000_000_000_000);
    let text = String::new();
    Draft { random, text, ideal, rate, mtu, rtt, duration, has_bdp: false, apart: false }
}

impl Random {
    /// True with a probability of one in `n`.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A number between these: a power of two is as likely as any other, and so are the ends.
    fn log(&mut self, least: u64, most: u64) -> u64 {
        let (least, most) = (least.max(1), most.max(least).max(1));
        let exponents = most.ilog2() - least.ilog2() + 1;
        let low = 1_u64 << (least.ilog2() as usize + self.below(exponents as usize));
        (low + self.next() % low).clamp(least, most)
    }
}

impl Draft {
    fn top(&mut self, seed: u64) {
        let (mtu, duration) = (self.mtu, self.duration);
        self.key("title", format_args!("seed {seed}"));
        self.time("duration", duration);
        self.bare("seed", seed);
        self.key("mtu", format_args!("{mtu} B"));
        if self.ideal {
            self.key("endpoints", "ideal");
        } else if self.one_in(2) {
            self.table("[tcp]");
            self.tcp();
        }
        self.table("[record]");
        let interval = (duration / self.random.log(1, 1000)).max(1_000_000);
        self.time("interval", interval);
        for key in ["events", "packets"] {
            let value = self.one_in(3);
            self.bare(key, value);
        }
        if self.one_in(4) {
            self.table("[[window]]");
            let (from, span) = (self.random.log(1, duration / 2), self.random.log(1, duration / 2));
            self.key("name", "some time");
            self.time("from", from);
            self.time("to", from + span);
        }
        if self.one_in(4) {
            self.table("[[claim]]");
            self.key("text", "The queue is short.");
            self.key("check", "p99(queue.sojourn_ms) < 5");
            if self.one_in(2) {
                self.key("name", "short");
            }
        }
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.random.one_in(n)
    }

    /// The header of a table.
    fn table(&mut self, header: &str) {
        self.text.push('\n');
        self.text.push_str(header);
        self.text.push('\n');
    }

    /// A key with a text.
    fn key(&mut self, key: &str, value: impl Display) {
        writeln!(self.text, "{key} = \"{value}\"").expect("memory is enough");
    }

    /// A key with a number, `true` or `false`.
    fn bare(&mut self, key: &str, value: impl Display) {
        writeln!(self.text, "{key} = {value}").expect("memory is enough");
    }

    fn time(&mut self, key: &str, nanoseconds: u64) {
        self.key(key, format_args!("{nanoseconds} ns"));
    }

    /// A time between these, in nanoseconds, uniform in its logarithm.
    fn some_time(&mut self, key: &str, least: u64, most: u64) {
        let time = self.random.log(least, most);
        self.time(key, time);
    }

    fn some_rate(&mut self, key: &str, least: u64, most: u64) {
        let rate = self.random.log(least, most);
        self.key(key, format_args!("{rate} bit/s"));
    }

    fn some_size(&mut self, key: &str, least: u64, most: u64) {
        let size = self.random.log(least, most);
        self.key(key, format_args!("{size} B"));
    }

    fn some_number(&mut self, key: &str, least: u64, most: u64) {
        let number = self.random.log(least, most);
        self.bare(key, number);
    }

    fn some_switch(&mut self, key: &str) {
        let value = self.one_in(2);
        self.bare(key, value);
    }

    fn one_of(&mut self, key: &str, values: &[&str]) {
        let value = self.random.pick(values);
        self.key(key, value);
    }

    /// A probability: mostly small, sometimes 1.
    fn some_probability(&mut self, key: &str) {
        let value = match self.random.below(8) {
            0 => 100.0,
            1 | 2 => self.random.log(100, 9_900) as f64 / 100.0,
            _ => self.random.log(1, 500) as f64 / 100.0,
        };
        self.key(key, format_args!("{value} %"));
    }
}
