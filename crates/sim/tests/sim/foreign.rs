//! A foreign stack takes the place of ours: a stop-and-wait protocol with its own packets and its own clock runs
//! through links, losses, captures and the recorder. Expectations are computed by hand from the protocol (one frame per
//! round trip, a timeout for each loss).

use std::sync::Arc;

use windtunnel_sim::application::{ApplicationConfig, Protocol, TransferParams};
use windtunnel_sim::element::ScriptedLossParams;
use windtunnel_sim::endpoint::{
    Arrival, Completion, Counted, Counters, Feedback, FlowContext, Halves, Reading, ReceiverHalf, SenderHalf,
    SenderState, Stack,
};
use windtunnel_sim::recorder::columns::Column;
use windtunnel_sim::{Network, RunResult, Simulation, Transport};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, FlowId, Packet};

use crate::fixtures::{path, reno, run};

/// IPv4, UDP, and the frame's own header.
const HEADERS: Bytes = Bytes::new(28 + FRAME_HEADER as u64);
const FRAME_HEADER: usize = 5;
const TIMEOUT_TICKS: u64 = 100;

/// The stack's clock: milliseconds since the stack was made, as such libraries count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ticks(u64);

impl Ticks {
    fn at(now: Time) -> Ticks {
        Ticks(now.as_nanos() / 1_000_000)
    }

    fn time(self) -> Time {
        Time::ZERO + Duration::from_millis(self.0)
    }
}

/// A frame on the wire: its kind, its number, and how much data follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Data { number: u16, length: u16 },
    Ack { number: u16 },
}

impl Frame {
    fn encode(self) -> [u8; FRAME_HEADER] {
        let (kind, number, length) = match self {
            Frame::Data { number, length } => (1, number, length),
            Frame::Ack { number } => (2, number, 0),
        };
        let ([a, b], [c, d]) = (number.to_be_bytes(), length.to_be_bytes());
        [kind, a, b, c, d]
    }

    fn decode(bytes: &[u8]) -> Option<Frame> {
        let [kind, a, b, c, d] = *bytes else { return None };
        let (number, length) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        match kind {
            1 => Some(Frame::Data { number, length }),
            2 => Some(Frame::Ack { number }),
            _ => None,
        }
    }

    fn packet(self, flow: FlowId) -> Packet {
        let payload = match self {
            Frame::Data { length, .. } => Bytes::new(u64::from(length)),
            Frame::Ack { .. } => Bytes::ZERO,
        };
        let mut packet = Packet::new(flow, HEADERS + payload, payload);
        packet.set_content(Arc::from(self.encode()));
        packet
    }

    fn of(packet: &Packet) -> Option<Frame> {
        packet.content().map(|content| &**content).and_then(Frame::decode)
    }
}

/// Sends a frame, waits for its ACK, and sends it again after 100 ticks without one.
#[derive(Debug)]
struct StopAndWait {
    flow: FlowId,
    frame: u64,
    size: Bytes,
    left: Bytes,
    number: u16,
    /// When the frame under way was first and last sent, and how long it is.
    waiting: Option<(Time, Ticks, u16)>,
    due: bool,
    again: bool,
    started: Time,
    finished: bool,
    srtt: Duration,
    counters: Counters,
}

impl SenderHalf for StopAndWait {
    fn start(&mut self, now: Time) {
        self.started = now;
        self.left = self.size;
        self.counters.messages += 1;
    }

    fn stop(&mut self) {
        self.left = Bytes::ZERO;
    }

    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        let (Some(Frame::Ack { number }), Some((first, last, length))) = (Frame::of(packet), self.waiting)
        else {
            return Feedback::default();
        };
        if number != self.number {
            return Feedback::default();
        }
        self.waiting = None;
        self.due = false;
        self.number += 1;
        self.counters.delivered += Bytes::new(u64::from(length));
        self.finished = self.left == Bytes::ZERO;
        // Karn: if a frame was sent twice, it is not known which copy was acknowledged.
        let rtt = (last == Ticks::at(first)).then(|| now.since(first));
        self.srtt = rtt.unwrap_or(self.srtt);
        Feedback { rtt, cwnd_limited: true, ..Feedback::default() }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        let ticks = Ticks::at(now);
        let length = match self.waiting {
            None if self.left > Bytes::ZERO => {
                let length = self.left.get().min(self.frame) as u16;
                self.left -= Bytes::new(u64::from(length));
                self.waiting = Some((now, ticks, length));
                self.again = false;
                length
            }
            Some((first, _, length)) if self.due => {
                self.waiting = Some((first, ticks, length));
                self.counters.retransmits += 1;
                self.again = true;
                length
            }
            _ => return None,
        };
        self.due = false;
        self.counters.sent += 1;
        Some(Frame::Data { number: self.number, length }.packet(self.flow))
    }

    fn next_timer(&self) -> Time {
        self.waiting.map_or(Time::NEVER, |(_, last, _)| Ticks(last.0 + TIMEOUT_TICKS).time())
    }

    fn on_timer(&mut self, now: Time) -> bool {
        let expired =
            |(_, last, _): (Time, Ticks, u16)| Ticks::at(now).0.saturating_sub(last.0) >= TIMEOUT_TICKS;
        self.due = self.waiting.is_some_and(expired);
        self.counters.rtos += u64::from(self.due);
        false
    }

    fn observe(&self) -> SenderState {
        let in_flight = self.waiting.map_or(Bytes::ZERO, |(_, _, length)| Bytes::new(u64::from(length)));
        SenderState { cwnd: Some(Bytes::new(self.frame)), in_flight, srtt: self.srtt, cwnd_limited: true }
    }

    fn sent_again(&self) -> bool {
        self.again
    }

    fn completion(&mut self, _now: Time) -> Option<Completion> {
        std::mem::take(&mut self.finished).then_some(Completion { written: self.started, size: self.size })
    }

    fn reading(&self) -> Reading {
        Reading { counters: self.counters, info: None }
    }
}

/// Acknowledges every frame, and delivers each once.
#[derive(Debug)]
struct Acknowledger {
    flow: FlowId,
    next: u16,
    owed: Option<u16>,
}

impl ReceiverHalf for Acknowledger {
    fn on_packet(&mut self, packet: &Packet, _now: Time) -> Arrival {
        let Some(Frame::Data { number, length }) = Frame::of(packet) else { return Arrival::default() };
        self.owed = Some(number);
        let new = number == self.next;
        self.next += u16::from(new);
        let delivered = if new { Bytes::new(u64::from(length)) } else { Bytes::ZERO };
        Arrival { delivered, ..Arrival::default() }
    }

    fn poll(&mut self, _now: Time) -> Option<Packet> {
        self.owed.take().map(|number| Frame::Ack { number }.packet(self.flow))
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _now: Time) -> Bytes {
        Bytes::ZERO
    }

    fn has_timer(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct StopAndWaitStack;

impl Stack for StopAndWaitStack {
    fn name(&self) -> &'static str {
        "stop-and-wait"
    }

    fn protocol(&self) -> Protocol {
        Protocol::Udp
    }

    fn counts(&self) -> Counted {
        Counted::SENT | Counted::DELIVERED | Counted::RETRANSMITS | Counted::RTOS
    }

    fn halves(&self, context: &FlowContext<'_>) -> Option<Halves> {
        let ApplicationConfig::Transfer(TransferParams { size, .. }) = context.application else {
            return None;
        };
        let sender = StopAndWait {
            flow: context.flow,
            frame: (context.mtu - HEADERS).get(),
            size: *size,
            left: Bytes::ZERO,
            number: 0,
            waiting: None,
            due: false,
            again: false,
            started: Time::ZERO,
            finished: false,
            srtt: Duration::ZERO,
            counters: Counters::default(),
        };
        let receiver = Acknowledger { flow: context.flow, next: 0, owed: None };
        Some(Halves { sender: Box::new(sender), receiver: Box::new(receiver) })
    }
}

/// Ten full frames over 10 Mbit/s and 20 ms; the packets numbered in `lost` vanish on the way there.
fn transfer(lost: Vec<u64>) -> Network {
    let size = (Bytes::new(1500) - HEADERS) * 10;
    let application = ApplicationConfig::Transfer(TransferParams { size, ..TransferParams::default() });
    let script = ScriptedLossParams { packets: lost, ..ScriptedLossParams::default() };
    let traffic = vec![(Transport::Foreign(Arc::new(StopAndWaitStack)), application)];
    path(traffic, 20, vec![Arc::new(script)], vec![], 2)
}

fn column<'r>(result: &'r RunResult, table: &str, column: &str) -> &'r Column {
    let table = result.tables.iter().find(|t| t.name == table).expect("the table is there");
    &table.columns.iter().find(|(name, _)| *name == column).expect("the column is there").1
}

/// A frame of 1500 bytes takes 1.2 ms at 10 Mbit/s, its ACK nothing: one frame per 21.2 ms, ten in 212 ms.
#[test]
fn one_frame_per_round_trip() {
    let result = run(transfer(vec![]));
    let flow = &result.summary.flows[0];
    assert_eq!((result.summary.packets, flow.sender.retransmits, flow.sender.rtos), (10, Some(0), Some(0)));
    let transfers = flow.transfers.as_ref().expect("it makes a transfer");
    assert_eq!(transfers.completed, 1);
    let Column::F64(times) = column(&result, "transfers", "time_ms") else { panic!("milliseconds") };
    assert!((times[0] - 212.0).abs() < 1e-9, "{times:?}");
    assert!((flow.rtt_ms.as_ref().expect("it has samples").max - 21.2).abs() < 0.1);
}

/// Frames 3 and 7 are lost once each. Each costs 100 ticks of the stack's clock, counted from the millisecond in which the frame left:
/// the third leaves at 42.4 ms and again at 142 ms; the seventh, 4 * 21.2 ms later, at 226.8 ms and again at 326 ms. Four frames follow.
#[test]
fn losses_are_timed_out_by_the_stacks_own_clock() {
    let mut network = transfer(vec![3, 8]);
    network.record.packets = true;
    let result = run(network);
    let flow = &result.summary.flows[0];
    assert_eq!((flow.sender.retransmits, flow.sender.rtos), (Some(2), Some(2)));
    let Column::F64(times) = column(&result, "transfers", "time_ms") else { panic!("milliseconds") };
    assert!((times[0] - (326.0 + 4.0 * 21.2)).abs() < 1e-9, "{times:?}");
    let Column::Bool(again) = column(&result, "packets", "retransmission") else { panic!("flags") };
    let Column::U8(taps) = column(&result, "packets", "tap") else { panic!("places") };
    let Column::U8(directions) = column(&result, "packets", "dir") else { panic!("directions") };
    let left = |row: &usize| taps[*row] == 0 && directions[*row] == 0;
    assert_eq!((0..again.len()).filter(left).filter(|row| again[*row]).count(), 2);
    assert_eq!((0..again.len()).filter(left).count(), 12);
}

/// A stack that cannot carry an application says so before the run, with the flow and both names.
#[test]
fn it_carries_transfers_alone() {
    let foreign = Transport::Foreign(Arc::new(StopAndWaitStack));
    let unfit = Simulation::try_new(path(vec![(foreign, ApplicationConfig::Bulk)], 20, vec![], vec![], 1));
    let message = unfit.map(|_| ()).expect_err("it takes transfers only").to_string();
    assert!(message.ends_with(": stop-and-wait cannot carry `bulk`"), "{message}");
}

/// A stack is told the ECN field that its flow has: none without ECN.
#[test]
fn it_is_told_of_ecn() {
    #[derive(Debug)]
    struct Asked(std::sync::Mutex<Vec<Ecn>>);

    impl Stack for Asked {
        fn name(&self) -> &'static str {
            "asked"
        }

        fn protocol(&self) -> Protocol {
            Protocol::Udp
        }

        fn halves(&self, context: &FlowContext<'_>) -> Option<Halves> {
            self.0.lock().expect("one thread").push(context.ecn);
            StopAndWaitStack.halves(context)
        }
    }

    let stack = Arc::new(Asked(std::sync::Mutex::default()));
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut network = transfer(vec![]);
        network.flows[0].transport = Transport::Foreign(stack.clone());
        network.flows[0].endpoint.ecn = ecn;
        run(network);
    }
    assert_eq!(*stack.0.lock().expect("one thread"), [Ecn::NotEct, Ecn::Ect0]);
}

/// The stack shares a queue with Linux's TCP: every packet that enters the network leaves it, and equal runs have equal
/// digests.
#[test]
fn it_shares_a_queue() {
    let network = || {
        let size = Bytes::new(50_000);
        let foreign = Transport::Foreign(Arc::new(StopAndWaitStack));
        let transfer = ApplicationConfig::Transfer(TransferParams { size, ..TransferParams::default() });
        path(vec![(foreign, transfer), (reno(), ApplicationConfig::Bulk)], 20, vec![], vec![], 3)
    };
    let (one, two) = (run(network()), run(network()));
    assert_eq!(one.summary.digest, two.summary.digest);
    let transfers = one.summary.flows[0].transfers.as_ref().expect("it makes a transfer");
    assert_eq!(transfers.completed, 1);
    assert!(one.summary.flows[1].throughput_mbps > 8.0);
}
