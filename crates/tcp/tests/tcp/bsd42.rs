//! The sender from before congestion control (spec/congestion-control section 1.18), alone and in a crowd.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use windtunnel_tcp::bsd42::{Backoff, Bsd42Params, OutOfOrder, Sender};
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS_WITHOUT_TIMESTAMPS, Receiver};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Options, Packet, TcpFlags};

const MSS: u64 = 512;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

fn endpoint(flow: u32) -> Endpoint {
    Endpoint {
        flow: FlowId::new(flow),
        mtu: Bytes::new(MSS) + HEADERS_WITHOUT_TIMESTAMPS,
        headers: HEADERS_WITHOUT_TIMESTAMPS,
        iw: Bytes::new(MSS),
        paced: false,
        needs_ecn: false,
        ecn: Ecn::NotEct,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    }
}

fn ack(upto: u64, flags: TcpFlags) -> Packet {
    let mut packet = Packet::new(FlowId::new(0), HEADERS_WITHOUT_TIMESTAMPS, Bytes::ZERO);
    packet.ack = Seq::new(upto);
    packet.flags = TcpFlags::ACK | flags;
    packet.window = 512; // in units of 128 bytes: 64 KiB
    packet
}

/// The numbers of the segments that leave now.
fn burst(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|packet| (packet.seq.get() - 1) / MSS).collect()
}

/// A sender with endless data, whose SYN left at 0 and was answered at `rtt`.
fn established(params: Bsd42Params, rtt: u64) -> Sender {
    let mut sender = Sender::new(endpoint(0), params);
    assert!(sender.poll_transmit(Time::ZERO).is_none(), "nothing was written");
    sender.write(Bytes::MAX);
    let syn = sender.poll_transmit(Time::ZERO).expect("the SYN");
    assert_eq!((syn.flags, syn.size()), (TcpFlags::SYN, Bytes::new(40)));
    assert!(sender.poll_transmit(Time::ZERO).is_none(), "nothing before the answer");
    sender.on_ack(&ack(1, TcpFlags::SYN), at(rtt));
    sender
}

/// The whole window leaves at once, and again whenever it slides; duplicate ACKs do nothing.
#[test]
fn window_back_to_back() {
    let mut sender = established(Bsd42Params::default(), 100);
    assert_eq!(burst(&mut sender, at(100)), (0..16).collect::<Vec<_>>());
    assert_eq!(sender.in_flight(), Bytes::new(16 * MSS));
    for _ in 0..10 {
        sender.on_ack(&ack(1, TcpFlags::NONE), at(200));
        assert!(burst(&mut sender, at(200)).is_empty(), "duplicate ACKs are ignored");
    }
    sender.on_ack(&ack(1 + 5 * MSS, TcpFlags::NONE), at(300));
    assert_eq!(burst(&mut sender, at(300)), [16, 17, 18, 19, 20]);
    assert_eq!(sender.stats().delivered, Bytes::new(5 * MSS));
}

/// The receiver's window, if it is less than the buffer: 64 KiB hold 128 segments.
#[test]
fn receive_window() {
    let mut sender = established(Bsd42Params { window: 200, ..Bsd42Params::default() }, 100);
    assert_eq!(burst(&mut sender, at(100)).len(), 128);
}

/// The first RTO is 3 s: a SYN that is lost leaves again then.
#[test]
fn initial_rto() {
    let mut sender = Sender::new(endpoint(0), Bsd42Params::default());
    sender.write(Bytes::new(100));
    assert!(sender.poll_transmit(Time::ZERO).is_some());
    for n in 1..4 {
        assert_eq!(sender.next_timer(), Some(at(3000 * n)), "and the next one too: no back-off");
        sender.on_timer(at(3000 * n - 1));
        assert!(sender.poll_transmit(at(3000 * n - 1)).is_none(), "not yet");
        sender.on_timer(at(3000 * n));
        assert_eq!(sender.poll_transmit(at(3000 * n)).expect("again").flags, TcpFlags::SYN);
    }
    assert_eq!(sender.stats().rtos, 3);
    sender.on_ack(&ack(1, TcpFlags::SYN), at(9100));
    assert_eq!(sender.poll_transmit(at(9100)).expect("data").payload(), Bytes::new(100));
    assert!(!sender.is_drained());
    sender.on_ack(&ack(101, TcpFlags::NONE), at(9200));
    assert!(sender.is_drained() && sender.next_timer().is_none());
}

/// When the timer expires, the whole window is sent again at once, from the first unacknowledged byte. ACKs of the
/// first copies move the window on past data that were not sent again yet.
#[test]
fn go_back_n() {
    let mut sender = established(Bsd42Params::default(), 100);
    burst(&mut sender, at(100));
    sender.on_ack(&ack(1 + 3 * MSS, TcpFlags::NONE), at(200));
    assert_eq!(burst(&mut sender, at(200)), [16, 17, 18]);
    let expiry = sender.next_timer().expect("a timer");
    assert_eq!(expiry, at(1000), "srtt is below a tick: the shortest RTO, two ticks after the one at 0");
    sender.on_timer(expiry);
    assert_eq!(burst(&mut sender, expiry), (3..19).collect::<Vec<_>>());
    assert_eq!(sender.stats().retransmits, 16);
    assert_eq!(sender.next_timer(), Some(at(2000)), "no back-off");
    sender.on_timer(at(2000));
    assert_eq!(sender.next_timer(), None);
    sender.on_ack(&ack(1 + 10 * MSS, TcpFlags::NONE), at(2000));
    assert_eq!(burst(&mut sender, at(2000)), (10..26).collect::<Vec<_>>(), "on from there");
    assert_eq!(sender.stats().retransmits, 16 + 9, "up to segment 18");
}

/// The timer runs in ticks: started at 400 ms, three seconds are over with the sixth tick after the one at 0.
#[test]
fn ticks() {
    let mut sender = Sender::new(endpoint(0), Bsd42Params::default());
    sender.write(Bytes::MAX);
    assert!(sender.poll_transmit(at(400)).is_some());
    assert_eq!(sender.next_timer(), Some(at(3000)));
    let params = Bsd42Params { tick: ms(100), ..Bsd42Params::default() };
    let mut sender = Sender::new(endpoint(0), params);
    sender.write(Bytes::MAX);
    assert!(sender.poll_transmit(at(450)).is_some());
    assert_eq!(sender.next_timer(), Some(at(3400)));
}

/// RFC 793: srtt = 7/8 srtt + 1/8 r, in ticks, one segment at a time; RTO = 2 srtt within 1 s and 60 s.
#[test]
fn round_trip_time() {
    let mut sender = established(Bsd42Params::default(), 2000);
    assert_eq!((sender.srtt(), sender.rto()), (ms(2000), ms(4000)), "the SYN's");
    burst(&mut sender, at(2000));
    let report = sender.on_ack(&ack(1 + MSS, TcpFlags::NONE), at(3200));
    assert_eq!(report.rtt, Some(ms(1000)), "1.2 s: two ticks");
    assert_eq!(sender.srtt(), ms(1875));
    let report = sender.on_ack(&ack(1 + 2 * MSS, TcpFlags::NONE), at(3300));
    assert_eq!(report.rtt, None, "only the first segment was timed");
    assert_eq!(sender.rto(), ms(3750));
    assert_eq!(sender.next_timer(), Some(at(3000 + 4000)), "7.5 ticks: eight");

    assert_eq!(established(Bsd42Params::default(), 400).rto(), ms(1000), "the least");
    let long = Bsd42Params { rto_initial: Duration::from_secs(60), ..Bsd42Params::default() };
    assert_eq!(established(long, 40_000).rto(), ms(60_000), "the most");
}

/// No Karn: a segment that was sent again is timed from then on, and the late ACK of its first copy makes srtt far
/// too short.
#[test]
fn retransmissions_are_timed() {
    let mut sender = established(Bsd42Params::default(), 2000);
    burst(&mut sender, at(2000));
    let expiry = sender.next_timer().expect("a timer");
    assert_eq!(expiry, at(6000));
    sender.on_timer(expiry);
    assert_eq!(burst(&mut sender, expiry).len(), 16);
    let report = sender.on_ack(&ack(1 + MSS, TcpFlags::NONE), at(6500));
    assert_eq!(report.rtt, Some(ms(500)), "4.5 s were the truth");
    assert_eq!(sender.srtt(), ms(1812) + Duration::from_micros(500));
}

/// The switch `backoff = exp`: doubled by each expiry up to 60 s, until something is acknowledged.
#[test]
fn exponential_backoff() {
    let mut sender = established(Bsd42Params { backoff: Backoff::Exp, ..Bsd42Params::default() }, 0);
    burst(&mut sender, Time::ZERO);
    let mut waits = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..8 {
        let expiry = sender.next_timer().expect("a timer");
        waits.push((expiry - now).as_nanos() / 1_000_000_000);
        now = expiry;
        sender.on_timer(now);
        burst(&mut sender, now);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    sender.on_ack(&ack(1 + MSS, TcpFlags::NONE), now);
    assert!(sender.rto() < ms(2000));
}

/// Odd ACKs change nothing: ACKs of unsent data, of the SYN again, old ones, and any before the SYN.
#[test]
fn odd_acks() {
    let mut closed = Sender::new(endpoint(0), Bsd42Params::default());
    closed.on_ack(&ack(1, TcpFlags::SYN), at(1));
    assert_eq!(closed.snd_una(), Seq::SYN);
    let mut sender = established(Bsd42Params::default(), 100);
    burst(&mut sender, at(100));
    for (upto, flags) in
        [(1 + 17 * MSS, TcpFlags::NONE), (u64::MAX, TcpFlags::NONE), (1, TcpFlags::SYN), (0, TcpFlags::NONE)]
    {
        assert_eq!(sender.on_ack(&ack(upto, flags), at(200)).newly_delivered, Bytes::ZERO);
        assert_eq!((sender.snd_una(), sender.snd_nxt()), (Seq::FIRST_DATA, Seq::new(1 + 16 * MSS)));
    }
}

/// `stop` drops unsent data; sent data are retransmitted until they are acknowledged.
#[test]
fn stop() {
    let mut sender = established(Bsd42Params::default(), 100);
    burst(&mut sender, at(100));
    sender.stop();
    sender.on_ack(&ack(1 + 4 * MSS, TcpFlags::NONE), at(200));
    assert!(burst(&mut sender, at(200)).is_empty());
    let expiry = sender.next_timer().expect("a timer");
    sender.on_timer(expiry);
    assert_eq!(burst(&mut sender, expiry), (4..16).collect::<Vec<_>>());
    sender.on_ack(&ack(1 + 16 * MSS, TcpFlags::NONE), expiry);
    assert!(sender.is_drained() && sender.next_timer().is_none());
}

/// Parameters outside the range for which the algorithm is defined.
#[test]
fn ranges() {
    let ok = Bsd42Params::default;
    assert!(ok().check().is_ok());
    for (key, params) in [
        ("window", Bsd42Params { window: 0, ..ok() }),
        ("alpha", Bsd42Params { alpha: 1.5, ..ok() }),
        ("beta", Bsd42Params { beta: f64::NAN, ..ok() }),
        ("tick", Bsd42Params { tick: Duration::ZERO, ..ok() }),
        ("rto_max", Bsd42Params { rto_max: ms(10), ..ok() }),
    ] {
        assert_eq!(params.check().expect_err("out of range").key, key);
    }
}

/// The borders of these ranges belong to them; a window of more than 65,536 segments does not.
#[test]
fn borders() {
    let ok = Bsd42Params::default;
    for params in [
        Bsd42Params { window: 1, ..ok() },
        Bsd42Params { window: 65_536, ..ok() },
        Bsd42Params { rto_min: ms(2000), rto_max: ms(2000), ..ok() },
    ] {
        assert_eq!(params.check(), Ok(()));
    }
    for window in [65_537, u32::MAX] {
        assert_eq!(Bsd42Params { window, ..ok() }.check().expect_err("too large").key, "window");
    }
}

/// RFC 9293 section 3.10.7.3: in SYN-SENT, only an answer with SYN establishes the connection. The SYN acknowledges
/// nothing, and data acknowledge the SYN|ACK.
#[test]
fn only_a_syn_answers_the_syn() {
    let mut sender = Sender::new(endpoint(0), Bsd42Params::default());
    sender.write(Bytes::MAX);
    assert_eq!(sender.poll_transmit(Time::ZERO).expect("the SYN").ack, Seq::SYN);
    sender.on_ack(&ack(1, TcpFlags::NONE), at(100));
    assert!(sender.poll_transmit(at(100)).is_none(), "an ACK alone is none");
    sender.on_ack(&ack(1, TcpFlags::SYN), at(200));
    assert_eq!(sender.poll_transmit(at(200)).expect("data").ack, Seq::FIRST_DATA);
}

/// What a table shows: the window, which never changes, and the timer's state after two expiries.
#[test]
fn what_no_packet_shows() {
    for (backoff, rto, doublings) in [(Backoff::None, 1000, 0), (Backoff::Exp, 4000, 2)] {
        let mut sender = established(Bsd42Params { backoff, ..Bsd42Params::default() }, 100);
        burst(&mut sender, at(100));
        for _ in 0..2 {
            let expiry = sender.next_timer().expect("a timer");
            sender.on_timer(expiry);
            burst(&mut sender, expiry);
        }
        assert_eq!(sender.cwnd(), Bytes::new(16 * MSS));
        let info = sender.info();
        assert_eq!((info.rto, info.backoff, info.consecutive_rtos), (ms(rto), doublings, 2), "{backoff:?}");
        assert_eq!(info.unacked, Bytes::new(16 * MSS));
    }
}

/// A receiver of that time knows neither SACK nor timestamps, whatever the SYN offers (RFC 2018 section 2; RFC 7323
/// section 3.2).
#[test]
fn the_receiver_knows_no_options() {
    let mut receiver = Bsd42Params::default().receiver(endpoint(0));
    let mut syn = Packet::new(FlowId::new(0), HEADERS_WITHOUT_TIMESTAMPS, Bytes::ZERO);
    (syn.flags, syn.ts_val) = (TcpFlags::SYN, at(5));
    syn.set_options(Options { sack_permitted: true, ..Options::default() });
    receiver.on_segment(&syn, at(10));
    let answer = receiver.poll_ack(at(10)).expect("a SYN|ACK");
    assert_eq!((answer.ts_val, answer.ts_ecr), (Time::ZERO, Time::ZERO));
    assert!(answer.options().is_none_or(|options| !options.sack_permitted));
    let mut data = Packet::new(FlowId::new(0), Bytes::new(MSS), Bytes::new(MSS));
    data.seq = Seq::new(1 + MSS);
    receiver.on_segment(&data, at(20));
    assert!(receiver.poll_ack(at(20)).expect("at once").options().is_none());
}

/// One link that all senders share: 56 kbit/s, as a trunk of the ARPANET had, a tail-drop queue, and 100 ms each way.
struct Network {
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    queue: VecDeque<Packet>,
    capacity: usize,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    packets: std::collections::BTreeMap<u64, Event>,
    next: u64,
    sending: bool,
    busy: Duration,
    drops: u64,
}

enum Event {
    /// The link has sent its packet.
    Sent,
    Data(Packet),
    Ack(Packet),
    Begin(usize),
}

const RATE: Rate = Rate::from_bits_per_sec(56_000);
const DELAY: Duration = Duration::from_millis(100);

impl Network {
    fn at(&mut self, time: Time, event: Event) {
        self.events.push(Reverse((time, self.next)));
        self.packets.insert(self.next, event);
        self.next += 1;
    }

    fn transmit(&mut self, flow: usize, now: Time) {
        while let Some(packet) = self.senders[flow].poll_transmit(now) {
            if self.queue.len() < self.capacity {
                self.queue.push_back(packet);
            } else {
                self.drops += 1;
            }
        }
        self.serve(now);
    }

    fn serve(&mut self, now: Time) {
        if let Some(head) = self.queue.front().filter(|_| !self.sending) {
            let time = RATE.transfer_time(head.size());
            self.busy += time;
            self.sending = true;
            self.at(now + time, Event::Sent);
        }
    }

    fn handle(&mut self, event: Event, now: Time) {
        match event {
            Event::Begin(flow) => self.transmit(flow, now),
            Event::Sent => {
                self.sending = false;
                let packet = self.queue.pop_front().expect("it was being sent");
                self.at(now + DELAY, Event::Data(packet));
                self.serve(now);
            }
            Event::Data(packet) => {
                let flow = packet.flow.index();
                self.receivers[flow].on_segment(&packet, now);
                while let Some(ack) = self.receivers[flow].poll_ack(now) {
                    self.at(now + DELAY, Event::Ack(ack));
                }
            }
            Event::Ack(packet) => {
                let flow = packet.flow.index();
                self.senders[flow].on_ack(&packet, now);
                self.transmit(flow, now);
            }
        }
    }

    /// Runs until `end`; timers before events of the same time.
    fn run(&mut self, end: Time) {
        loop {
            let timer = (0..self.senders.len())
                .filter_map(|flow| self.senders[flow].next_timer().map(|time| (time, flow)))
                .min();
            let event = self.events.peek().map(|Reverse((time, _))| *time);
            match (timer, event) {
                (Some((time, flow)), _) if time <= end && event.is_none_or(|event| time <= event) => {
                    self.senders[flow].on_timer(time);
                    self.transmit(flow, time);
                }
                (_, Some(time)) if time <= end => {
                    let Reverse((_, id)) = self.events.pop().expect("peeked");
                    let event = self.packets.remove(&id).expect("its event");
                    self.handle(event, time);
                }
                _ => return,
            }
        }
    }
}

/// The outcome of a run: shares of the capacity in time and in data, and how often a segment was sent.
#[derive(Debug)]
struct Outcome {
    utilisation: f64,
    goodput: f64,
    copies: f64,
    rtos: u64,
    drops: u64,
}

fn crowd(n: u32, params: &Bsd42Params, capacity: usize) -> Outcome {
    let mut network = Network {
        senders: (0..n).map(|flow| Sender::new(endpoint(flow), params.clone())).collect(),
        receivers: (0..n).map(|flow| params.receiver(endpoint(flow))).collect(),
        queue: VecDeque::new(),
        capacity,
        events: BinaryHeap::new(),
        packets: std::collections::BTreeMap::new(),
        next: 0,
        sending: false,
        busy: Duration::ZERO,
        drops: 0,
    };
    for flow in 0..n as usize {
        network.senders[flow].write(Bytes::MAX);
        network.at(at(97 * flow as u64), Event::Begin(flow));
    }
    let span = Duration::from_secs(600);
    network.run(Time::ZERO + span);
    let delivered: Bytes = network.receivers.iter().map(|receiver| receiver.stats().delivered).sum();
    let segments: u64 = network.senders.iter().map(|sender| sender.stats().segments_sent).sum();
    // Headers count as data: 552 bytes carry 512.
    let carried = delivered.as_f64() * 552.0 / 512.0;
    Outcome {
        utilisation: network.busy.ratio(span),
        goodput: carried / (RATE * span).as_f64(),
        copies: segments as f64 * MSS as f64 / delivered.as_f64(),
        rtos: network.senders.iter().map(|sender| sender.stats().rtos).sum(),
        drops: network.drops,
    }
}

/// One sender fills the trunk (its 16 segments take 1.26 s, the round trip 0.2 s) and retransmits nothing.
#[test]
fn alone() {
    let outcome = crowd(1, &Bsd42Params::default(), 20);
    assert!(outcome.utilisation > 0.99 && outcome.goodput > 0.99, "{outcome:?}");
    assert_eq!((outcome.rtos, outcome.drops), (0, 0));
    assert!(
        outcome.copies < 1.01,
        "only what is in flight at the end is sent and not delivered: {outcome:?}"
    );
}

/// RFC 896: with more senders the trunk is as busy as before, but carries copies: goodput collapses. A longer queue
/// makes it worse, since it holds more copies of each segment; a receiver that drops what is out of order makes it
/// worse still.
#[test]
fn collapse() {
    let drop = Bsd42Params { out_of_order: OutOfOrder::Drop, ..Bsd42Params::default() };
    for n in [2, 8, 16, 32] {
        let short = crowd(n, &Bsd42Params::default(), 20);
        let long = crowd(n, &Bsd42Params::default(), 100);
        let dropped = crowd(n, &drop, 20);
        for outcome in [&short, &long, &dropped] {
            assert!(outcome.utilisation > 0.99, "{n} senders keep the trunk busy: {outcome:?}");
            assert!(outcome.goodput < 0.7, "{n} senders: {outcome:?}");
            assert!(outcome.copies > 4.0, "{n} senders: {outcome:?}");
        }
        assert!(long.goodput < 0.6 * short.goodput, "{n} senders: {short:?}, {long:?}");
        assert!(dropped.goodput < 0.9 * short.goodput, "{n} senders: {short:?}, {dropped:?}");
    }
}

/// The collapse needs no loss: two windows of 16 segments wait 2.5 s in a queue that holds them all, longer than the
/// RTO after the first round trips. That is the case of RFC 896: copies of one segment wait in the queue together.
#[test]
fn collapse_without_loss() {
    let outcome = crowd(2, &Bsd42Params::default(), usize::MAX);
    assert_eq!(outcome.drops, 0);
    assert!(outcome.utilisation > 0.99 && outcome.goodput < 0.3, "{outcome:?}");
}

/// Back-off ends the collapse: the switch `backoff = exp` alone restores most of the goodput.
#[test]
fn backoff_relieves() {
    let exp = Bsd42Params { backoff: Backoff::Exp, ..Bsd42Params::default() };
    for n in [8, 16] {
        let without = crowd(n, &Bsd42Params::default(), 100);
        let with = crowd(n, &exp, 100);
        assert!(with.goodput > 1.5 * without.goodput, "{n} senders: {without:?}, {with:?}");
    }
}
