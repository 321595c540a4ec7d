//! The discrete-time simulation by which the authors of CNQ and LFQ check them (*lfqsim*): flows that do not respond, on
//! a link that takes a tick for each byte. A tick is a microsecond here.

use windtunnel_qdisc::{BrickWallParams, Limit, QueueParams, QueueSpec};
use windtunnel_units::{Bytes, Rate};

use crate::bench::{Bench, Kind};

const TICK: u64 = 1_000;

/// A number that varies uniformly by up to `by` in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Varied {
    of: u64,
    by: u64,
}

impl Varied {
    /// The same, varied by `by` at least.
    pub(crate) fn or(self, by: u64) -> Varied {
        Varied { by: self.by.max(by), ..self }
    }
}

/// A number that does not vary.
pub(crate) const fn exactly(of: u64) -> Varied {
    Varied { of, by: 0 }
}

/// A number that varies.
pub(crate) const fn about(of: u64, by: u64) -> Varied {
    Varied { of, by }
}

/// A flow: what it sends at once, how often, and in packets of what size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) size: Varied,
    pub(crate) interval: Varied,
    /// The number is drawn anew before each packet of a burst, which shortens bursts.
    pub(crate) burst: Varied,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) sent: u64,
    pub(crate) bytes: u64,
    pub(crate) offered: u64,
    sojourns: u64,
    /// The largest sequence number that has left so far, and how many left behind a larger one.
    last: Option<u64>,
    pub(crate) late: u64,
}

impl Outcome {
    /// Bytes per 1000 ticks.
    pub(crate) fn throughput(&self, ticks: u64) -> f64 {
        self.bytes as f64 * 1e3 / ticks as f64
    }

    /// The mean sojourn in ticks.
    pub(crate) fn sojourn(&self) -> f64 {
        self.sojourns as f64 / self.sent as f64
    }
}

struct Dice(u64);

impl Dice {
    /// A linear congruential generator (Knuth, MMIX).
    fn vary(&mut self, Varied { of, by }: Varied) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of + (self.0 >> 33) % (2 * by + 1) - by
    }
}

/// Runs flows over a queue without an AQM that holds `bytes`.
pub(crate) fn run(
    queue: impl QueueParams,
    bytes: u64,
    flows: &[Flow],
    ticks: u64,
    seed: u64,
) -> Vec<Outcome> {
    let spec = QueueSpec::new(queue).with("aqm", BrickWallParams::default());
    let mut bench = Bench::new(&spec, Limit::Bytes(Bytes::new(bytes)));
    bench.cx.deliver_drops = false;
    bench.cx.rate = Rate::from_mbps(8);
    let mut dice = Dice(seed);
    let mut next: Vec<u64> = vec![0; flows.len()];
    let mut outcomes = vec![Outcome::default(); flows.len()];
    let mut free = 0;
    for tick in 0..ticks {
        for (index, flow) in flows.iter().enumerate() {
            if next[index] != tick {
                continue;
            }
            let mut packets = 0;
            while packets < dice.vary(flow.burst) {
                let packet = bench.packet(index as u32, dice.vary(flow.size), Kind::NotEct);
                bench.enqueue(tick * TICK, packet);
                packets += 1;
            }
            outcomes[index].offered += packets;
            next[index] += dice.vary(flow.interval);
        }
        if tick == free {
            let before = bench.stats().departed_bytes;
            free += 1;
            if let Some(left) = bench.dequeue(tick * TICK) {
                let outcome = &mut outcomes[left.flow as usize];
                let size = (bench.stats().departed_bytes - before).get();
                outcome.sent += 1;
                outcome.bytes += size;
                outcome.sojourns += left.sojourn.as_nanos() / TICK;
                outcome.late += u64::from(outcome.last > Some(left.seq));
                outcome.last = outcome.last.max(Some(left.seq));
                free = tick + size;
            }
        }
    }
    outcomes
}
