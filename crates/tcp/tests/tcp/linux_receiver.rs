//! The receiver compared with Linux's own: the same segments arrive at the same times, and every ACK has to be equal.
//!
//! The expectation is what a Linux kernel's unmodified receiver answered (`data/linux_receiver.json` of the validation,
//! recorded by `python -m windtunnel.validation.recorder --receiver`; five recordings of each script): after which
//! segment each ACK left, what it acknowledged, its window, SACK blocks, ECE and FIN. ACKs that a timer sent may be
//! later there by three of the kernel's ticks: the round trip that bounds the delay, the start and the end of the timer
//! are rounded up. Timers of 64 ticks and more, which repeat a FIN, are rounded up to eight ticks, those of 512 and
//! more to 64, because the kernel keeps them on coarser wheels (Documentation/timers, `kernel/time/timer.c`).

use std::path::Path;

use serde_json::Value;
use windtunnel_tcp::{
    AckParams, AckPolicy, Endpoint, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, LossDetection,
    Receiver, TcpParams, WindowScale,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Options, Packet, TcpFlags};

/// The largest window: what Linux makes of `tcp_rmem[2]`, whose packets of 1500 bytes take 2304 bytes each.
fn receive_window(largest_buffer: u64, mss: u64, headers: u64) -> Bytes {
    let block = (64 + mss + headers + 320).next_power_of_two() + 256;
    Bytes::new(largest_buffer * (mss * 256 / block) / 256)
}

/// No ACK is delayed longer (Linux `TCP_DELACK_MAX`), and every recording goes on for this time after its last ACK.
const QUIET: Duration = Duration::from_millis(200);

#[derive(Debug, PartialEq)]
struct Answer {
    after: u64,
    ack: u64,
    window: u64,
    ece: bool,
    fin: bool,
    blocks: Vec<u64>,
}

/// An answer, and when it left, in us since the handshake.
type Timed = (u64, Answer);

struct Script<'a>(&'a Value);

impl Script<'_> {
    fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().expect(key)
    }

    fn flag(&self, key: &str) -> bool {
        self.0[key].as_bool().expect(key)
    }

    fn rows(&self, key: &str) -> Vec<Vec<u64>> {
        let row = |row: &Value| row.as_array().expect(key).iter().map(|n| n.as_u64().expect(key)).collect();
        self.0[key].as_array().expect(key).iter().map(row).collect()
    }

    fn receiver(&self) -> (Receiver, u32) {
        let timestamps = self.flag("timestamps");
        let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
        let mss = self.number("mss");
        let sack = self.flag("sack");
        let params = TcpParams {
            sack,
            timestamps,
            loss_detection: if sack { LossDetection::Rack } else { LossDetection::Newreno },
            receive_window: receive_window(self.number("largest_buffer"), mss, headers.get()),
            ..TcpParams::default()
        };
        let endpoint = Endpoint {
            flow: FlowId::new(0),
            mtu: Bytes::new(mss) + headers,
            headers,
            iw: Bytes::new(mss * 10),
            paced: false,
            needs_ecn: false,
            ecn: if self.flag("ecn") { Ecn::Ect0 } else { Ecn::NotEct },
            feedback: if self.flag("ecn") { FeedbackScheme::Rfc3168 } else { FeedbackScheme::None },
            dscp: Dscp::DEFAULT,
        };
        let ack = AckParams { policy: AckPolicy::Linux, ..AckParams::default() };
        (Receiver::new(endpoint, &params, ack), WindowScale::new(&endpoint, &params).shift)
    }
}

/// What our receiver answers, with the time of each ACK in microseconds.
fn replay(script: &Script<'_>) -> (u64, Vec<(u64, Answer)>) {
    let (mut receiver, shift) = script.receiver();
    let rtt = Duration::from_millis(script.number("rtt_ms"));
    let timestamps = script.flag("timestamps");
    let ecn =
        TcpFlags::NONE.with_if(TcpFlags::ECE, script.flag("ecn")).with_if(TcpFlags::CWR, script.flag("ecn"));
    let packet = |seq: u64, len: u64, flags, now: Time| {
        let mut packet = Packet::new(FlowId::new(0), Bytes::new(len + 60), Bytes::new(len));
        packet.seq = Seq::new(seq);
        packet.flags = flags;
        if timestamps {
            packet.ts_val = now;
            packet.ts_ecr = Time::ZERO + (now.since(Time::ZERO + rtt));
        }
        packet
    };
    // The SYN arrives late enough that no timestamp is zero.
    let start = Time::ZERO + Duration::SECOND;
    let mut syn = packet(0, 0, TcpFlags::SYN | ecn, start);
    syn.set_options(Options { sack_permitted: script.flag("sack"), ..Options::default() });
    receiver.on_segment(&syn, start);
    let syn_ack = receiver.poll_ack(start).expect("a SYN|ACK");
    let established = start + rtt;
    receiver.on_segment(&packet(1, 0, TcpFlags::ACK, established), established);
    let mut answers = Vec::new();
    let mut collect = |receiver: &mut Receiver, after: usize, now: Time| {
        while let Some(ack) = receiver.poll_ack(now) {
            let edges = |options: &Options| {
                options.sack.as_slice().iter().flat_map(|b| [b.start.get() - 1, b.end.get() - 1]).collect()
            };
            answers.push((
                now.since(established).as_nanos() / 1000,
                Answer {
                    after: after as u64,
                    ack: ack.ack.get() - 1,
                    window: u64::from(ack.window) << shift,
                    ece: ack.flags.contains(TcpFlags::ECE),
                    fin: ack.flags.contains(TcpFlags::FIN),
                    blocks: ack.options().map(edges).unwrap_or_default(),
                },
            ));
        }
    };
    let arrivals = script.rows("arrivals");
    for (n, arrival) in arrivals.iter().enumerate() {
        let [at_us, first, length, push, cwr, ecn] = arrival[..] else { panic!("six columns") };
        let now = established + Duration::from_micros(at_us);
        while let Some(timer) = receiver.next_timer().filter(|timer| *timer < now) {
            receiver.on_timer(timer);
            collect(&mut receiver, n, timer);
        }
        let flags = TcpFlags::ACK
            .with_if(TcpFlags::PSH, push & 1 == 1)
            .with_if(TcpFlags::FIN, push & 2 == 2)
            .with_if(TcpFlags::CWR, cwr == 1);
        let mut segment = packet(1 + first, length, flags, now);
        segment.ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn as usize];
        receiver.on_segment(&segment, now);
        collect(&mut receiver, n + 1, now);
    }
    // A FIN without an ACK is sent again without end.
    let last_us = script.rows("answers").last().map_or(0, |row| row[0]);
    let end = established + Duration::from_micros(last_us) + QUIET;
    while let Some(timer) = receiver.next_timer().filter(|timer| *timer < end) {
        receiver.on_timer(timer);
        collect(&mut receiver, arrivals.len(), timer);
    }
    (u64::from(syn_ack.window), answers)
}

/// Every ACK of every script.
#[test]
fn equals_linux() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../python/windtunnel/validation/data/linux_receiver.json");
    let file: Value = serde_json::from_slice(&std::fs::read(data).expect("the recordings")).expect("JSON");
    let tick_us = (file["origin"]["tick_ms"].as_f64().expect("a tick") * 1000.0) as u64;
    let mut failures = Vec::new();
    for (name, script) in file["scripts"].as_object().expect("scripts") {
        let script = Script(script);
        let (window, ours) = replay(&script);
        assert_eq!(window, script.number("initial_window"), "{name}: the SYN|ACK's window");
        let linux: Vec<Timed> = script
            .rows("answers")
            .into_iter()
            .map(|row| {
                let answer = Answer {
                    after: row[1],
                    ack: row[2],
                    window: row[3],
                    ece: row[4] & 1 == 1,
                    fin: row[4] & 2 == 2,
                    blocks: row[5..].to_vec(),
                };
                (row[0], answer)
            })
            .collect();
        // A FIN that is repeated is late by the sum of the delays of its timers.
        let (mut late, mut last) = (0, 0);
        let allowed: Vec<u64> = linux
            .iter()
            .map(|(at, answer)| {
                let wait = (at - std::mem::replace(&mut last, *at)) / tick_us;
                let repeated = answer.fin && wait >= 64;
                late += if repeated { 8_u64.pow((wait / 8).ilog(8)) * tick_us } else { 0 };
                3 * tick_us + late
            })
            .collect();
        let differs = |((ours, linux), allowed): ((&Timed, &Timed), &u64)| {
            ours.1 != linux.1 || linux.0.abs_diff(ours.0) > *allowed
        };
        let first = ours.iter().zip(&linux).zip(&allowed).position(&differs);
        if let Some(n) = first.or((ours.len() != linux.len()).then_some(ours.len().min(linux.len()))) {
            let count = ours.iter().zip(&linux).zip(&allowed).filter(|pair| differs(*pair)).count();
            failures.push(format!(
                "{name}: {} ACKs, Linux {}; {count} differ; first ACK {n}:\n  ours  {:?}\n  Linux {:?}",
                ours.len(),
                linux.len(),
                ours.get(n),
                linux.get(n),
            ));
        }
    }
    assert!(failures.is_empty(), "{} scripts differ\n{}", failures.len(), failures.join("\n"));
}
