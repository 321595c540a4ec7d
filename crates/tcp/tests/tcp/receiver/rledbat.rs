//! rLEDBAT (RFC 9840): what the receiver's controller is told, and what becomes of its window. Expectations are the rules of
//! sections 4.1 to 4.3, with a controller whose window is the test's.

use std::sync::{Arc, Mutex, MutexGuard};

use windtunnel_algorithm::{AnyParams, OutOfRange};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, ControllerParams, FlowInit, Needs, PathView,
    Phase,
};
use windtunnel_tcp::{AckPolicy, ReceiverController, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::fixture::{Bench, MSS, ms, policy};

/// What the controller has heard, and the window that it wants.
#[derive(Debug, Default)]
struct State {
    window: Option<Bytes>,
    adopted: Bytes,
    /// It is in congestion avoidance.
    avoids: bool,
    acks: Vec<AckSample>,
    losses: Vec<Time>,
}

#[derive(Clone, Debug, Default)]
struct Script(Arc<Mutex<State>>);

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("one thread")
    }

    /// A receiver that it controls.
    fn bench(&self, params: &TcpParams) -> Bench {
        let rledbat = Some(ReceiverController(Arc::new(self.clone())));
        Bench::new(&TcpParams { rledbat, ..params.clone() }, policy(AckPolicy::Immediate), Ecn::NotEct, false)
    }

    fn last(&self) -> AckSample {
        *self.state().acks.last().expect("a segment arrived")
    }
}

impl AnyParams for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn to_map(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

impl ControllerParams for Script {
    fn build(&self, _init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl CongestionControl for Script {
    fn needs(&self) -> Needs {
        Needs { one_way: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample, _path: &PathView) {
        self.state().acks.push(*ack);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, path: &PathView) -> bool {
        self.state().losses.push(path.now);
        true
    }

    fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {}

    fn adopt_window(&mut self, cwnd: Bytes) {
        self.state().adopted = cwnd;
    }

    fn control(&self) -> Control {
        let state = self.state();
        let phase = if state.avoids { Phase::CongestionAvoidance } else { Phase::SlowStart };
        Control { phase, ..Control::window(state.window.unwrap_or(state.adopted)) }
    }
}

/// The `n`-th full segment, sent at `sent`, which echoes the ACK that left at `echo`.
fn segment(bench: &Bench, n: u64, sent: Time, echo: Time) -> Packet {
    let mut packet = bench.packet(1 + n * MSS, MSS, TcpFlags::ACK, Ecn::NotEct);
    (packet.ts_val, packet.ts_ecr) = (sent, echo);
    packet
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + ms(milliseconds)
}

/// The segments `from` up to `to` arrive now; each echoes `echo`. Returns the right edge of each ACK.
fn arrive(bench: &mut Bench, from: u64, to: u64, echo: Time) -> Vec<u64> {
    for n in from..to {
        bench.put(&segment(bench, n, bench.now, echo));
    }
    bench.take().iter().map(|ack| ack.ack + ack.window).collect()
}

/// Section 4.1: the lesser of both windows is offered. rlWND of 100 kB is lower than a fixed fcWND of 1 MiB, from the
/// first time that the controller makes its window smaller; before, the window is fcWND (appendix A). In units of 128
/// bytes: 781. A buffer of 1 GiB alone would have a scale of 14; here the unit is at most a segment: 97 of 1 KiB. Of 20 kB
/// fcWND there is less.
#[test]
fn the_lesser_window_is_offered() {
    for (buffer, offered) in [(1 << 20, 781 << 7), (1 << 30, 97 << 10), (20_480, 20_480)] {
        let script = Script::default();
        let params = TcpParams { receive_window: Bytes::new(buffer), ..crate::fixed_window() };
        let mut bench = script.bench(&params);
        let most = buffer.min(65_535 << bench.shift) >> bench.shift << bench.shift;
        bench.put(&segment(&bench, 0, at(1), Time::ZERO));
        assert_eq!(bench.take()[0].window, most, "at its maximum");
        assert_eq!(script.state().adopted, Bytes::new(MSS), "what is in flight");
        script.state().window = Some(Bytes::new(1));
        bench.put(&segment(&bench, 1, at(1), Time::ZERO));
        script.state().window = Some(Bytes::new(100_000));
        // A unit of 1024 bytes falls with each segment of 1448.
        for n in 2..most / 1024 + 2 {
            bench.put(&segment(&bench, n, at(1), Time::ZERO));
        }
        assert_eq!(bench.take().pop().expect("an ACK").window, offered, "{buffer}");
    }
}

/// Section 4.1: the right edge never moves back. A window of 100 segments, 1131 units of 128 bytes, falls to two
/// segments, 23 units, rounded up: by 11 units with each segment, which has 11.3, so that this takes 101 segments. It then
/// rises by what the controller adds.
#[test]
fn the_window_falls_by_what_arrives() {
    let script = Script::default();
    let params = TcpParams { receive_window: Bytes::new(100 * MSS), ..crate::fixed_window() };
    let mut bench = script.bench(&params);
    let first = arrive(&mut bench, 0, 1, Time::ZERO)[0];
    script.state().window = Some(Bytes::new(1));
    let edges = arrive(&mut bench, 1, 101, Time::ZERO);
    assert!(edges.iter().is_sorted() && edges[0] >= first, "no edge moves back");
    assert_eq!(edges[99] - (1 + 101 * MSS), (1131 - 100 * 11) * 128, "still closing");
    bench.put(&segment(&bench, 101, bench.now, Time::ZERO));
    assert_eq!(bench.take()[0].window, 23 * 128);
    script.state().window = Some(Bytes::new(10 * MSS));
    bench.put(&segment(&bench, 102, bench.now, Time::ZERO));
    assert_eq!(bench.take()[0].window, 10 * MSS / 128 * 128);
}

/// Section 4.2: the round trip is from the first ACK with a timestamp to the first segment with its echo; the second ACK and
/// the second segment of the same millisecond give no sample, and neither does an ACK that made the window smaller. A segment
/// without data is none.
#[test]
fn round_trips() {
    let script = Script::default();
    let mut bench = script.bench(&crate::fixed_window());
    // ACKs at 30.2 and 30.9 ms.
    bench.now = at(30) + Duration::from_micros(200);
    arrive(&mut bench, 0, 1, Time::ZERO);
    bench.now = at(30) + Duration::from_micros(900);
    arrive(&mut bench, 1, 2, Time::ZERO);
    bench.now = at(71);
    let mut empty = bench.packet(1 + 2 * MSS, 0, TcpFlags::ACK, Ecn::NotEct);
    empty.ts_ecr = at(30);
    bench.put(&empty);
    bench.now = at(72);
    let echo = at(30) + Duration::from_micros(900);
    arrive(&mut bench, 2, 3, echo);
    assert_eq!(script.last().rtt, Some(Duration::from_micros(41_800)));
    bench.now = at(73);
    arrive(&mut bench, 3, 4, echo);
    assert_eq!(script.last().rtt, None);
    // The ACK at 72 ms offered no less; with two segments as the window from now on, that of 80 ms does.
    script.state().window = Some(Bytes::new(1));
    bench.now = at(80);
    arrive(&mut bench, 4, 5, Time::ZERO);
    bench.now = at(120);
    arrive(&mut bench, 5, 6, at(72));
    assert_eq!(script.last().rtt, Some(ms(48)));
    bench.now = at(130);
    arrive(&mut bench, 6, 7, at(80));
    assert_eq!(script.last().rtt, None, "the window was smaller");
}

/// Section 4.2.2: the delay of the data's own way is from the segment's timestamp, in milliseconds, to its arrival.
#[test]
fn one_way_delays() {
    let script = Script::default();
    let mut bench = script.bench(&crate::fixed_window());
    bench.now = at(50);
    bench.put(&segment(&bench, 0, at(20) + Duration::from_micros(700), Time::ZERO));
    assert_eq!(script.last().one_way, Some(ms(30)));
}

/// Section 4.3: of segments below the highest, those with a later timestamp than its are retransmissions. One that was only
/// overtaken has an earlier one, or the same. A retransmission is a loss, one in a round trip: the next counts once a segment
/// echoes an ACK that left at the answer or later. Meanwhile the window stays.
#[test]
fn retransmissions() {
    let script = Script::default();
    let mut bench = script.bench(&crate::fixed_window());
    let send = |bench: &mut Bench, now, n, sent, echo| {
        bench.now = at(now);
        bench.put(&segment(bench, n, at(sent), at(echo)));
    };
    send(&mut bench, 30, 0, 10, 1);
    send(&mut bench, 31, 4, 12, 1);
    send(&mut bench, 32, 1, 11, 1);
    send(&mut bench, 33, 2, 12, 1);
    assert_eq!(script.state().losses, [], "overtaken");
    send(&mut bench, 60, 3, 40, 31);
    assert_eq!(script.state().losses, [at(60)], "sent again");
    assert!(!script.last().may_raise);
    // Others of the same round trip, and a duplicate.
    send(&mut bench, 62, 9, 42, 33);
    send(&mut bench, 64, 5, 44, 33);
    send(&mut bench, 65, 5, 45, 33);
    assert_eq!(script.last().newly_delivered, Bytes::ZERO);
    assert_eq!(script.state().losses, [at(60)]);
    // The ACK of 60 ms is echoed, and one is lost after it.
    send(&mut bench, 100, 10, 80, 60);
    assert!(script.last().may_raise);
    send(&mut bench, 101, 6, 81, 60);
    assert_eq!(script.state().losses, [at(60), at(101)]);
}

/// What is in flight is the distance from what the echoed ACK acknowledged to the end of what arrives. A sender that leaves
/// two segments or more of its window unused, here of 30 (43,392 bytes in units of 128), is limited by something else: the
/// window does not grow. While the controller seeks the capacity, half of the window is enough.
#[test]
fn growth_needs_a_sender_that_the_window_limits() {
    for (seeks, flight, barred) in
        [(false, 27, true), (false, 28, false), (true, 14, true), (true, 15, false)]
    {
        let script = Script::default();
        let params = TcpParams { receive_window: Bytes::new(30 * MSS), ..crate::fixed_window() };
        let mut bench = script.bench(&params);
        script.state().avoids = !seeks;
        script.state().window = Some(Bytes::new(1));
        arrive(&mut bench, 0, 1, at(0));
        script.state().window = Some(Bytes::new(1 << 30));
        bench.now += ms(40);
        let echo = bench.now;
        arrive(&mut bench, 1, 2, at(0));
        bench.now += ms(40);
        arrive(&mut bench, 2, 2 + flight, echo);
        assert_eq!(script.last().growth_barred, barred, "{seeks} {flight}");
    }
}
