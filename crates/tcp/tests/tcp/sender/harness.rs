//! A sender, a path of fixed delay whose losses, delays and marks are scripted, and a plain receiver.
//!
//! Data leave the bottleneck 1 us apart, so that the order in time is the order of transmission, and times can still be
//! computed by hand: they are given in ms, rounded. Data transmissions are numbered from 0 in the order in which they
//! leave, retransmissions included; segments from 1 in the order of their sequence numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use windtunnel_cc::CongestionControl;
use windtunnel_tcp::{CaState, Endpoint, FeedbackScheme, HEADERS, Sender, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

use super::plain_receiver::PlainReceiver;
use super::reno::Reno;
pub(crate) use super::reno::Told;

pub(crate) const MSS: Bytes = Bytes::new(1448);

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

pub(crate) fn endpoint() -> Endpoint {
    Endpoint {
        flow: FlowId::new(0),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced: false,
        needs_ecn: false,
        ecn: Ecn::NotEct,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    }
}

/// One data transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) time: Time,
    /// Counted from 1.
    pub(crate) segment: u64,
    pub(crate) again: bool,
    pub(crate) flags: TcpFlags,
    pub(crate) ecn: Ecn,
    /// After it was sent.
    pub(crate) state: CaState,
    pub(crate) cwnd: u64,
    pub(crate) in_flight: Bytes,
}

/// What happens to the transmissions.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Data transmissions that are lost.
    pub(crate) lost: BTreeSet<u64>,
    /// Data transmissions that take longer, and by how much.
    pub(crate) late: BTreeMap<u64, Duration>,
    /// Data transmissions that arrive with CE or SCE.
    pub(crate) marked: BTreeMap<u64, Ecn>,
    /// SYNs and SYN-ACKs lost.
    pub(crate) syns_lost: u32,
    pub(crate) syn_acks_lost: u32,
    /// ACKs, counted from 0, that are lost.
    pub(crate) acks_lost: BTreeSet<u64>,
    /// All ACKs that leave the receiver within this span of time arrive at the end of the span.
    pub(crate) ack_outage: Option<(Time, Time)>,
}

#[derive(Debug)]
enum Event {
    Data(Packet),
    Ack(Packet),
}

/// Sender, path and receiver.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) sender: Sender,
    receiver: PlainReceiver,
    pub(crate) now: Time,
    pub(crate) one_way: Duration,
    /// When the last packet in order arrives, and how far apart packets leave the bottleneck.
    arrival: Time,
    pub(crate) spacing: Duration,
    pub(crate) script: Script,
    /// Data transmissions that arrive with CE if they can.
    pub(crate) mark_if_capable: BTreeSet<u64>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    data: u64,
    acks: u64,
    pub(crate) sent: Vec<Sent>,
    pub(crate) syns: Vec<(Time, TcpFlags)>,
    told: Arc<Mutex<Vec<Told>>>,
    barred: Arc<Mutex<u64>>,
}

/// How a lab is built.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) params: TcpParams,
    pub(crate) endpoint: Endpoint,
    /// In segments; a window that never grows if `fixed`.
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    pub(crate) fixed: bool,
    /// Slow start adds one segment for each ACK (RFC 5681), not what it delivers.
    pub(crate) per_ack: bool,
    pub(crate) ignores_ce: bool,
    pub(crate) rtt: Duration,
    /// The number of segments that the receiver acknowledges at a time.
    pub(crate) every: u32,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            params: crate::fixed_window(),
            endpoint: endpoint(),
            cwnd: 10,
            ssthresh: u64::MAX,
            fixed: false,
            per_ack: false,
            ignores_ce: false,
            rtt: ms(40),
            every: 1,
        }
    }
}

impl Lab {
    pub(crate) fn new(setup: Setup, script: Script) -> Lab {
        let (told, barred) = (Arc::default(), Arc::default());
        let Setup { params, endpoint, cwnd, ssthresh, fixed, per_ack, ignores_ce, rtt, every } = setup;
        let cc = Reno {
            cwnd,
            ssthresh,
            credit: 0,
            prior: None,
            fixed,
            per_ack,
            ignores_ce,
            told: Arc::clone(&told),
            barred: Arc::clone(&barred),
        };
        let setup = Setup { params, endpoint, rtt, every, ..Setup::default() };
        Lab { told, barred, ..Lab::with(Box::new(cc), setup, script) }
    }

    /// A lab with a controller other than Reno; the controller in `setup` is ignored.
    pub(crate) fn with(cc: Box<dyn CongestionControl>, setup: Setup, script: Script) -> Lab {
        let Setup { params, endpoint, rtt, every, .. } = setup;
        Lab {
            sender: Sender::new(endpoint, &Arc::new(params.clone()), cc),
            receiver: PlainReceiver {
                nxt: 1,
                islands: Vec::new(),
                sack: params.sack,
                every,
                pending: 0,
                ecn: endpoint.ecn != Ecn::NotEct,
                ece: false,
                esce: false,
                nonces: params.ecn_nonce.then(BTreeSet::new),
                ts_recent: Time::ZERO,
                window: u16::MAX,
            },
            now: Time::ZERO,
            one_way: rtt / 2,
            arrival: Time::ZERO,
            spacing: Duration::from_micros(1),
            script,
            mark_if_capable: BTreeSet::new(),
            events: BTreeMap::new(),
            count: 0,
            data: 0,
            acks: 0,
            sent: Vec::new(),
            syns: Vec::new(),
            told: Arc::default(),
            barred: Arc::default(),
        }
    }

    /// The reports to the controller, except for the starts of flights.
    pub(crate) fn told(&self) -> Vec<Told> {
        let told = self.told.lock().expect("one thread");
        told.iter().copied().filter(|told| !matches!(told, Told::TxStart(_))).collect()
    }

    pub(crate) fn told_starts(&self) -> Vec<Duration> {
        let told = self.told.lock().expect("one thread");
        told.iter()
            .filter_map(|told| if let Told::TxStart(idle) = told { Some(*idle) } else { None })
            .collect()
    }

    /// ACKs on which growth was not allowed.
    pub(crate) fn barred(&self) -> u64 {
        *self.barred.lock().expect("one thread")
    }

    pub(crate) fn write(&mut self, segments: u64) {
        self.sender.write(MSS * segments);
        self.transmit();
    }

    pub(crate) fn write_endless(&mut self) {
        self.sender.write(Bytes::MAX);
        self.transmit();
    }

    pub(crate) fn set_window(&mut self, window: u16) {
        self.receiver.window = window;
    }

    /// The receiver does not know ECN.
    pub(crate) fn refuse_ecn(&mut self) {
        self.receiver.ecn = false;
    }

    /// Runs all events up to and at `end`, rounded to ms.
    pub(crate) fn run_until(&mut self, end: Time) {
        let end = end + Duration::from_micros(400);
        while self.step(end) {}
        self.now = end;
    }

    /// Runs all events up to and at `end`.
    pub(crate) fn run_exactly_until(&mut self, end: Time) {
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// Runs until all written data are acknowledged; at most a day. A stuck sender has no timer, or backs off for ever. One
    /// that recovers may need more than an hour: without SACK each of some hundred lost packets can cost a timeout, and
    /// timeouts grow to 120 s (`rto_max`), because a round-trip sample by timestamps includes the wait for the timer.
    pub(crate) fn run_to_the_end(&mut self) {
        let day = self.now + Duration::from_secs(86_400);
        while !self.sender.is_drained() {
            assert!(self.step(day), "nothing moves any more: {:?}", self.sender);
        }
    }

    /// The next event, if it is not after `end`.
    fn step(&mut self, end: Time) -> bool {
        let event = self.events.first_key_value().map(|(key, _)| key.0);
        let timer = self.sender.next_timer().map(|due| due.max(self.now));
        let next = event.unwrap_or(Time::NEVER).min(timer.unwrap_or(Time::NEVER));
        if next > end || next == Time::NEVER {
            return false;
        }
        self.now = next;
        if event == Some(next) {
            let (_, event) = self.events.pop_first().expect("it was there");
            match event {
                Event::Data(packet) => {
                    if let Some(ack) = self.receiver.on_segment(&packet, self.now) {
                        self.send_ack(ack);
                    }
                    return true;
                }
                Event::Ack(packet) => {
                    self.sender.on_ack(&packet, self.now);
                }
            }
        } else {
            self.sender.on_timer(self.now);
        }
        self.transmit();
        true
    }

    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    fn send_ack(&mut self, ack: Packet) {
        let syn = ack.flags.contains(TcpFlags::SYN);
        if syn && self.script.syn_acks_lost > 0 {
            self.script.syn_acks_lost -= 1;
            return;
        }
        if !syn {
            self.acks += 1;
            if self.script.acks_lost.contains(&(self.acks - 1)) {
                return;
            }
        }
        let mut arrival = self.now + self.one_way;
        if let Some((from, to)) = self.script.ack_outage
            && self.now >= from
            && self.now < to
        {
            arrival = to + self.one_way;
        }
        self.at(arrival, Event::Ack(ack));
    }

    fn transmit(&mut self) {
        while let Some(mut packet) = self.sender.poll_transmit(self.now) {
            let mut arrival = self.now + self.one_way;
            if packet.flags.contains(TcpFlags::SYN) {
                self.syns.push((self.now, packet.flags));
                if self.script.syns_lost > 0 {
                    self.script.syns_lost -= 1;
                    continue;
                }
            } else if packet.payload() > Bytes::ZERO || packet.flags.contains(TcpFlags::FIN) {
                let segment = (packet.seq.get() - 1) / MSS.get() + 1;
                let again = self.sent.iter().any(|sent| sent.segment == segment);
                self.sent.push(Sent {
                    time: self.now,
                    segment,
                    again,
                    flags: packet.flags,
                    ecn: packet.ecn,
                    state: self.sender.state(),
                    cwnd: self.sender.cwnd() / MSS,
                    in_flight: self.sender.in_flight(),
                });
                let index = self.data;
                self.data += 1;
                if self.script.lost.contains(&index) {
                    continue;
                }
                if let Some(late) = self.script.late.get(&index) {
                    arrival += *late;
                } else {
                    arrival = arrival.max(self.arrival + self.spacing);
                    self.arrival = arrival;
                }
                if self.mark_if_capable.contains(&index) && packet.ecn != Ecn::NotEct {
                    packet.ecn = Ecn::Ce;
                }
                if let Some(mark) = self.script.marked.get(&index) {
                    assert_ne!(packet.ecn, Ecn::NotEct, "only ECN-capable packets are marked");
                    packet.ecn = *mark;
                }
            }
            self.at(arrival, Event::Data(packet));
        }
    }

    /// What the receiver has in order.
    pub(crate) fn received(&self) -> Bytes {
        Bytes::new(self.receiver.nxt - 1)
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.sender.cwnd() / MSS
    }

    /// The segments sent at `time`, rounded to ms, in order.
    pub(crate) fn sent_at(&self, time: Time) -> Vec<u64> {
        self.sent.iter().filter(|sent| at(rounded(sent.time)) == time).map(|sent| sent.segment).collect()
    }

    /// The segments sent again, with their times rounded to ms.
    pub(crate) fn retransmissions(&self) -> Vec<(u64, u64)> {
        let again = self.sent.iter().filter(|sent| sent.again);
        again.map(|sent| (sent.segment, rounded(sent.time))).collect()
    }
}

fn rounded(time: Time) -> u64 {
    (time.as_nanos() + 500_000) / 1_000_000
}

/// Transmissions by number.
pub(crate) fn lost(indices: impl IntoIterator<Item = u64>) -> Script {
    Script { lost: indices.into_iter().collect(), ..Script::default() }
}
