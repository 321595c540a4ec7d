//! A controller in a TCP sender, and the same one hosted for a QUIC stack, which is told of the same packets.
//!
//! The windows are equal as far as the transports are. TCP has an order, and QUIC has none: ACKs above a hole do not raise a
//! TCP's window, since they acknowledge no data in order, and they do raise that of QUIC. A recovery period ends one ACK later
//! in QUIC, since what leaves as it starts belongs to it (RFC 9002 section 7.3.2; in TCP, the retransmission ends it).

use std::sync::{Arc, Mutex};
use std::time::Instant;

use windtunnel_cc::{
    AckSample, CaState, CongestionControl, CongestionEvent, Control, ControllerParams, FlowInit, LostSegment,
    Needs, PathView, SentSegment, Style, catalogue,
};
use windtunnel_hosted::{HEADERS, Hosted};
use windtunnel_tcp::TcpParams;
use windtunnel_units::{Bytes, Duration, Time};

use super::harness::{Lab, MSS, Setup, at, lost};

/// What a TCP sender told its controller, as a QUIC stack tells its own.
#[derive(Clone, Copy, Debug)]
enum Told {
    Sent { now: Time, bytes: Bytes },
    Lost { now: Time, sent: Time, bytes: Bytes },
    Acked(Acked),
    Recovered,
}

#[derive(Clone, Copy, Debug)]
struct Acked {
    now: Time,
    sent: Time,
    bytes: Bytes,
    srtt: Duration,
    min_rtt: Duration,
    in_flight: Bytes,
    /// It acknowledges data in order, and no reduction is running.
    may_raise: bool,
    /// The controller's window after it.
    window: Bytes,
}

/// A controller whose calls are noted.
#[derive(Debug)]
struct Spy {
    inside: Box<dyn CongestionControl>,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Spy {
    fn note(&self, told: Told) {
        self.told.lock().expect("one thread").push(told);
    }
}

impl CongestionControl for Spy {
    fn needs(&self) -> Needs {
        Needs { departures: true, loss_reports: true, ..self.inside.needs() }
    }

    fn on_established(&mut self, path: &PathView) {
        self.inside.on_established(path);
    }

    fn on_sent(&mut self, sent: &SentSegment, path: &PathView) {
        self.note(Told::Sent { now: path.now, bytes: sent.payload });
        self.inside.on_sent(sent, path);
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        self.note(Told::Lost { now: path.now, sent: segment.departure.sent, bytes: segment.payload });
        self.inside.on_lost(segment, path);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.inside.on_ack(ack, path);
        let Some(rtt) = ack.rtt else { return };
        self.note(Told::Acked(Acked {
            now: path.now,
            sent: Time::ZERO + (path.now.since_start() - rtt),
            bytes: ack.newly_delivered,
            srtt: path.srtt,
            min_rtt: path.min_rtt,
            in_flight: path.in_flight,
            may_raise: ack.may_raise,
            window: self.inside.cwnd(),
        }));
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        self.inside.on_congestion(event, path)
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        self.inside.on_rto(new_episode, path);
    }

    fn on_tx_start(&mut self, idle: Duration, path: &PathView) {
        self.inside.on_tx_start(idle, path);
    }

    fn on_state(&mut self, state: CaState, path: &PathView) {
        self.inside.on_state(state, path);
    }

    fn on_recovered(&mut self, path: &PathView) {
        self.note(Told::Recovered);
        self.inside.on_recovered(path);
    }

    fn control(&self) -> Control {
        self.inside.control()
    }
}

/// The transmission that is lost: one of the fourth round of slow start.
const LOST: u64 = 100;

/// What a TCP sender tells a controller of `params` up to `until`; one segment is lost.
fn told(params: &dyn ControllerParams, until: Time) -> Vec<Told> {
    let told: Arc<Mutex<Vec<Told>>> = Arc::default();
    let init = FlowInit { mtu: MSS + HEADERS, paced: true, ..FlowInit::new(MSS) };
    let spy = Spy { inside: params.build(init), told: Arc::clone(&told) };
    let setup = Setup { params: TcpParams::default(), ..Setup::default() };
    let mut lab = Lab::with(Box::new(spy), setup, lost([LOST]));
    lab.spacing = Duration::from_micros(100);
    lab.write_endless();
    lab.run_until(until);
    let told = told.lock().expect("one thread");
    told.clone()
}

/// The same controller, hosted.
struct Replay {
    hosted: Hosted,
    start: Instant,
    /// ACKs above a hole count as if the application limited the sender: they raise no window.
    ordered: bool,
}

impl Replay {
    #[expect(clippy::disallowed_methods, reason = "an origin: only differences from it are used")]
    fn new(params: &Arc<dyn ControllerParams>, ordered: bool) -> Replay {
        let start = Instant::now();
        let mss = u16::try_from(MSS.get()).expect("a segment is small");
        Replay { hosted: Hosted::new(Arc::clone(params), start, mss, 0), start, ordered }
    }

    fn at(&self, time: Time) -> Instant {
        self.start + std::time::Duration::from_nanos(time.as_nanos())
    }

    /// The window of TCP and its own, after an ACK.
    fn hear(&mut self, told: Told) -> Option<(u64, u64)> {
        match told {
            Told::Sent { now, bytes } => self.hosted.on_sent(self.at(now), bytes.get()),
            Told::Lost { now, sent, bytes } => {
                self.hosted.on_congestion(self.at(now), self.at(sent), false, bytes.get());
            }
            Told::Acked(ack) => {
                let [now, sent] = [ack.now, ack.sent].map(|time| self.at(time));
                let rtts = [ack.srtt, ack.min_rtt].map(|rtt| std::time::Duration::from_nanos(rtt.as_nanos()));
                self.hosted.on_acked(now, sent, ack.bytes.get(), self.ordered && !ack.may_raise, rtts);
                self.hosted.on_ack_end(now, ack.in_flight.get());
                return Some((ack.window.get(), self.hosted.window()));
            }
            Told::Recovered => {}
        }
        None
    }
}

/// The controllers that count from the end of the handshake, which gives TCP its first round-trip time and QUIC's
/// controllers none.
const BY_HANDSHAKE: [&str; 2] = ["tfrc", "vivace"];

/// The controller whose growth depends on every one-way delay, which TCP's timestamps tell and QUIC does not.
const BY_ONE_WAY_DELAY: &str = "ledbat";

/// Up to the hole, each ACK leaves the same window in both.
#[test]
fn windows_before_a_loss() {
    let alike = |name: &str| !BY_HANDSHAKE.contains(&name) && name != BY_ONE_WAY_DELAY;
    for params in catalogue(Style::Linux).iter().filter(|params| alike(params.name())) {
        let mut replay = Replay::new(params, false);
        // NADA sends 150 kbit/s at first.
        let told = told(&**params, at(2000));
        let in_order = told.iter().take_while(|told| !matches!(told, Told::Acked(ack) if !ack.may_raise));
        let windows: Vec<(u64, u64)> = in_order.filter_map(|told| replay.hear(*told)).collect();
        assert!(windows.len() > 15, "{}: {} ACKs", params.name(), windows.len());
        for (n, (tcp, hosted)) in windows.into_iter().enumerate() {
            assert_eq!(hosted, tcp, "{}, ACK {n}", params.name());
        }
    }
}

/// Through the loss, Reno and CUBIC have the same windows until the end of recovery, if neither counts ACKs above the hole;
/// `BBRv3`, which asks for rates and no order, has them to the end.
#[test]
fn windows_after_a_loss() {
    for (name, by_order) in [("reno", true), ("cubic", true), ("bbr3", false)] {
        let params = catalogue(Style::Linux).into_iter().find(|params| params.name() == name).expect(name);
        let mut replay = Replay::new(&params, by_order);
        let told = told(&*params, at(300));
        let lost = told.iter().position(|told| matches!(told, Told::Lost { .. })).expect("one is lost");
        let compared = told.iter().take_while(|told| !(by_order && matches!(told, Told::Recovered)));
        let mut after = 0;
        for (n, told) in compared.enumerate() {
            if let Some((tcp, hosted)) = replay.hear(*told) {
                assert_eq!(hosted, tcp, "{name}, event {n}");
                after += u32::from(n > lost);
            }
        }
        assert!(after > 100, "{name}: {after} ACKs after the loss");
    }
}
