//! AQMs in the slots of DualPI2: what each is told, and that the queues do not mix (spec/queues-and-signalling
//! section 8).

use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Map, Value};
use windtunnel_algorithm::AnyParams;
use windtunnel_qdisc::{
    Aqm, AqmInit, AqmParams, DualPi2Params, Limit, OutOfRange, PacketView, QueueSpec, QueueView, Verdict,
};
use windtunnel_units::{Duration, Time};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// The bands.
const L: usize = 0;
const C: usize = 1;

/// What an AQM is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Built { seed: u64 },
    Enqueue,
    Full,
    Dequeue { replaces: bool },
    Empty,
    Timer { at_ms: u64 },
}

use Call::{Dequeue, Empty, Enqueue, Full, Timer};

const LEAVES: Call = Dequeue { replaces: false };

/// An AQM that repeats what it is told under its name, and drops the first packets that leave.
#[derive(Debug)]
struct Witness {
    params: WitnessParams,
    dropped: u32,
    next_timer: Time,
}

#[derive(Clone, Debug)]
struct WitnessParams {
    name: &'static str,
    drops: u32,
    every: Duration,
    calls: Sender<(&'static str, Call)>,
}

impl WitnessParams {
    fn tell(&self, call: Call) {
        self.calls.send((self.name, call)).expect("the test listens");
    }
}

impl AnyParams for WitnessParams {
    fn name(&self) -> &str {
        self.name
    }

    fn to_map(&self) -> Map<String, Value> {
        Map::new()
    }

    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

impl AqmParams for WitnessParams {
    fn build(&self, init: &AqmInit) -> Box<dyn Aqm> {
        self.tell(Call::Built { seed: init.seed });
        Box::new(Witness { params: self.clone(), dropped: 0, next_timer: init.now + self.every })
    }
}

impl Aqm for Witness {
    fn on_enqueue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
        self.params.tell(Enqueue);
        Verdict::Pass
    }

    fn on_full(&mut self, _now: Time) {
        self.params.tell(Full);
    }

    fn on_dequeue(&mut self, packet: &PacketView, _queue: &QueueView) -> Verdict {
        self.params.tell(Dequeue { replaces: packet.replaces });
        if self.dropped == self.params.drops {
            return Verdict::Pass;
        }
        self.dropped += 1;
        Verdict::Drop
    }

    fn on_empty(&mut self, _now: Time) {
        self.params.tell(Empty);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_timer)
    }

    fn on_timer(&mut self, queue: &QueueView) {
        self.params.tell(Timer { at_ms: queue.now.as_nanos() / MS });
        self.next_timer = queue.now + self.params.every;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out(self.params.name, f64::from(self.dropped));
    }
}

/// What the AQMs have been told since the last time.
#[derive(Debug)]
struct Told(Receiver<(&'static str, Call)>);

impl Told {
    fn now(&self) -> Vec<(&'static str, Call)> {
        self.0.try_iter().collect()
    }
}

/// A queue of at most `limit` packets with witnesses in the slots with these keys. The witness of the low-latency queue
/// drops its first packets; their timers run every 5 and 8 ms.
fn witnessed(keys: &[&'static str], drops: u32, limit: usize) -> (Bench, Told) {
    let (calls, told) = channel();
    let mut spec = QueueSpec::new(DualPi2Params::default());
    for key in keys {
        let (name, drops, every) = if *key == "classic" { ("C", 0, 8) } else { ("L", drops, 5) };
        let every = Duration::from_millis(every);
        spec = spec.with(key, WitnessParams { name, drops, every, calls: calls.clone() });
    }
    let mut bench = Bench::new(&spec, Limit::Packets(limit));
    bench.cx.deliver_drops = false;
    (bench, Told(told))
}

const BOTH: [&str; 2] = ["low_latency", "classic"];

/// Each AQM is told of its own queue: of arrivals, of packets that the full discipline refuses, of departures, and,
/// once after its packets have left, that the link has found its queue empty.
#[test]
fn each_hears_of_its_own_queue() {
    let (mut bench, told) = witnessed(&BOTH, 0, 2);
    told.now();
    for (at, kind, expected) in [
        (0, Kind::Ect1, ("L", Enqueue)),
        (1, Kind::Ect0, ("C", Enqueue)),
        (2, Kind::Ect0, ("C", Full)),
        (3, Kind::Ect1, ("L", Full)),
    ] {
        bench.arrive(at, kind);
        assert_eq!(told.now(), [expected]);
    }
    for (at, expected) in [
        (4, vec![("L", LEAVES)]),
        (5, vec![("L", Empty), ("C", LEAVES)]),
        (6, vec![("C", Empty)]),
        (7, vec![]),
    ] {
        bench.dequeue(at);
        assert_eq!(told.now(), expected, "{at}");
    }
    bench.arrive(8, Kind::Ect1);
    assert_eq!(told.now(), [("L", Enqueue)]);
    for (at, expected) in [(9, vec![("L", LEAVES)]), (10, vec![("L", Empty)]), (11, vec![])] {
        bench.dequeue(at);
        assert_eq!(told.now(), expected, "{at}");
    }
}

/// The AQM of one queue hears nothing of the other, which has the step or p'^2.
#[test]
fn alone_in_its_slot() {
    for (key, own, name) in [("classic", Kind::Ect0, "C"), ("low_latency", Kind::Ect1, "L")] {
        let (mut bench, told) = witnessed(&[key], 0, 10);
        told.now();
        for kind in [Kind::Ect0, Kind::Ect1] {
            bench.arrive(0, kind);
            bench.dequeue(0);
            let heard = told.now().into_iter().filter(|(_, call)| *call != Empty).collect::<Vec<_>>();
            let expected = if kind == own { vec![(name, Enqueue), (name, LEAVES)] } else { vec![] };
            assert_eq!(heard, expected, "{key} {kind:?}");
        }
    }
}

/// A packet that leaves in place of one that its own AQM has just dropped replaces it; one of the other queue does
/// not.
#[test]
fn replacements() {
    let (mut bench, told) = witnessed(&BOTH, 2, 10);
    for kind in [Kind::Ect1, Kind::Ect1, Kind::Ect0] {
        bench.arrive(0, kind);
    }
    told.now();
    assert_eq!(bench.dequeue(0).map(|left| left.seq), Some(2));
    assert_eq!(told.now(), [("L", LEAVES), ("L", Dequeue { replaces: true }), ("L", Empty), ("C", LEAVES)]);
    assert_eq!(bench.stats().drops_aqm, 2);
}

/// The timers of both AQMs run when they are due, as does that of p' at 16 ms.
#[test]
fn timers() {
    let (mut bench, told) = witnessed(&BOTH, 0, 10);
    bench.arrive(0, Kind::Ect0);
    told.now();
    bench.run_timers(15 * MS);
    assert_eq!(bench.probed("p_prime"), Some(0.0));
    bench.run_timers(20 * MS);
    assert!(bench.probed("p_prime").unwrap() > 0.0);
    let expected = [("L", 5), ("C", 8), ("L", 10), ("L", 15), ("C", 16), ("L", 20)];
    assert_eq!(told.now(), expected.map(|(name, at_ms)| (name, Timer { at_ms })));
    assert_eq!(bench.next_timer(), Some(Time::from_nanos(24 * MS)));
}

/// Each AQM has random numbers of its own: its seed is not that of the other, nor that of the queue, 1, which p'
/// uses.
#[test]
fn seeds() {
    let (_, told) = witnessed(&BOTH, 0, 10);
    let mut seeds = vec![1];
    for (_, call) in told.now() {
        let Call::Built { seed } = call else { panic!("{call:?}") };
        assert!(!seeds.contains(&seed), "{seed} of {seeds:?}");
        seeds.push(seed);
    }
    assert_eq!(seeds.len(), 3);
}

/// A band reports the numbers of the AQM in its slot, if there is one, and its own: the low-latency queue its
/// probabilities and the credit, the classic queue p' and its square.
#[test]
fn numbers_of_the_bands() {
    for keys in [&BOTH[..], &BOTH[..1], &BOTH[1..], &[]] {
        let (bench, _told) = witnessed(keys, 0, 10);
        for (band, key, name, own, foreign) in [
            (L, "low_latency", "L", ["p_cl", "credit_bytes"], "p_prime"),
            (C, "classic", "C", ["p_prime", "p_c"], "p_cl"),
        ] {
            assert_eq!(bench.probed_band(band, name), keys.contains(&key).then_some(0.0), "{keys:?} {name}");
            assert_eq!(bench.probed_band(1 - band, name), None, "{keys:?} {name}");
            assert!(own.into_iter().all(|own| bench.probed_band(band, own).is_some()), "{keys:?} {name}");
            assert_eq!(bench.probed_band(band, foreign), None, "{keys:?} {name}");
        }
    }
}
