//! A Reno flow and a scalable one share a DualPI2 queue: the equilibrium that RFC 9332 and the PI2 paper calculate
//! (spec/queues-and-signalling section 8, "Facts for tests").

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{DualPi2Params, Limit, QueueSpec};
use windtunnel_wire::Ecn;

use crate::bench::{Bench, Kind};

/// 1500 bytes at 40 Mbit/s.
const SERVICE: u64 = 300_000;

const MS: u64 = 1_000_000;

/// A sender with a window, and nothing else: no slow start, no losses, an ACK for each packet.
struct Sender {
    kind: Kind,
    /// A round trip without the queue.
    rtt: u64,
    window: f64,
    in_flight: f64,
    /// A Reno sender answers one mark per round trip: not before this time.
    deaf_until: u64,
}

impl Sender {
    const fn new(kind: Kind, rtt: u64) -> Sender {
        Sender { kind, rtt, window: 20.0, in_flight: 0.0, deaf_until: 0 }
    }

    /// Reno halves its window, or a scalable sender takes half a packet for each mark (DCTCP in the mean). Both add a packet
    /// per round trip.
    fn ack(&mut self, now: u64, marked: bool) {
        self.in_flight -= 1.0;
        match (self.kind, marked) {
            (_, false) => self.window += 1.0 / self.window,
            (Kind::Ect1, true) => self.window = (self.window - 0.5).max(2.0),
            (_, true) if now >= self.deaf_until => {
                self.window = (self.window / 2.0).max(2.0);
                self.deaf_until = now + self.rtt + 15 * MS;
            }
            (_, true) => {}
        }
    }

    fn send(&mut self, flow: u32, now: u64, bench: &mut Bench) {
        while self.in_flight + 1.0 <= self.window {
            let packet = bench.packet(flow, 1_500, self.kind);
            bench.enqueue(now, packet);
            self.in_flight += 1.0;
        }
    }
}

/// Means over a run: of each window, of `p_C` and `p_CL` per departure; each flow's packets, and the share of scalable ones
/// with a native mark.
#[derive(Debug, Default)]
struct Means {
    windows: [f64; 2],
    p_c: f64,
    p_cl: f64,
    packets: [f64; 2],
    native: f64,
}

fn run(params: DualPi2Params, mut senders: [Sender; 2], seconds: u64) -> Means {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(10_000));
    bench.cx.deliver_drops = false;
    let mut acks: BinaryHeap<Reverse<(u64, u32, bool)>> = BinaryHeap::new();
    let (warm_up, end) = (20_000 * MS, (20_000 + seconds * 1_000) * MS);
    let (mut means, mut n, mut now) = (Means::default(), 0.0, 0);
    let mut native = 0;
    while now < end {
        while let Some(Reverse((at, flow, marked))) =
            acks.peek().copied().filter(|Reverse((at, ..))| *at <= now)
        {
            acks.pop();
            senders[flow as usize].ack(at, marked);
        }
        for (flow, sender) in (0..).zip(&mut senders) {
            sender.send(flow, now, &mut bench);
        }
        if let Some(left) = bench.dequeue(now) {
            let rtt = senders[left.flow as usize].rtt;
            let marked = matches!(left.outcome, Outcome::Marked(_));
            assert_eq!(marked, left.ecn == Ecn::Ce);
            acks.push(Reverse((now + SERVICE + rtt, left.flow, marked)));
            if now >= warm_up {
                n += 1.0;
                means.packets[left.flow as usize] += 1.0;
                means.p_c += bench.probed("p_c").expect("p_C");
                means.p_cl += bench.probed("p_cl").expect("p_CL");
                for (mean, sender) in means.windows.iter_mut().zip(&senders) {
                    *mean += sender.window;
                }
            } else {
                native = bench.probe("native_marks");
            }
        }
        now += SERVICE;
    }
    assert_eq!(bench.stats().drops(), 0);
    for mean in means.windows.iter_mut().chain([&mut means.p_c, &mut means.p_cl]) {
        *mean /= n;
    }
    means.native = (bench.probe("native_marks") - native) as f64 / means.packets[1].max(1.0);
    means
}

const fn reno(rtt: u64) -> Sender {
    Sender::new(Kind::Ect0, rtt)
}

const fn scalable(rtt: u64) -> Sender {
    Sender::new(Kind::Ect1, rtt)
}

/// Reno's window is `1.22 / sqrt(p_C)`, a scalable one `2 / p_CL`; random marks and the loop's own swings allow 10 %.
#[test]
fn response_functions() {
    let means = run(DualPi2Params::default(), [reno(20 * MS), scalable(20 * MS)], 180);
    let [reno, scalable] = means.windows;
    assert!((reno * means.p_c.sqrt() / 1.22 - 1.0).abs() < 0.1, "{means:?}");
    assert!((scalable * means.p_cl / 2.0 - 1.0).abs() < 0.1, "{means:?}");
}

/// Equal windows at k = 1.64, where 1.22 / p' is 2 / (k p'); k = 2 favours Reno by 1.22.
#[test]
fn coupling_factor() {
    for (coupling_factor, ratio) in [(1.64, 1.0), (2.0, 1.22)] {
        let params = DualPi2Params { coupling_factor, ..DualPi2Params::default() };
        let means = run(params, [reno(20 * MS), scalable(20 * MS)], 180);
        let [reno, scalable] = means.windows;
        assert!((reno / scalable / ratio - 1.0).abs() < 0.1, "{coupling_factor}: {means:?}");
        // The native mark is for queues of its own making, and rare here.
        assert!(means.native < 0.05, "{means:?}");
    }
}
