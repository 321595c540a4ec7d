//! UDP Prague: the start, growth by rate and by window, answers to marks and losses, and which keys it has not. Numbers by hand
//! from `prague_cc.cpp`, with packets of 1448 bytes.

use windtunnel_cc::{ExitReason, Params, PragueMode, PragueParams, PragueVariant};
use windtunnel_units::Duration;

use super::{NS, at_random_marks, close, law_at_random_marks, number, pace, prague};
use crate::driver::{CE, CLEAN, Driver, MSS};

const SIZE: f64 = 1448.0;

fn params() -> PragueParams {
    PragueParams { variant: PragueVariant::Udp, ..PragueParams::default() }
}

fn udp(rtt: Duration) -> Driver {
    prague(&params(), 10, rtt)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A flow whose window governs: unmarked packets until the rate is `rate` bytes per second.
fn faster_than(rate: f64, rtt: Duration) -> Driver {
    let mut flow = udp(rtt);
    for _ in 0..1_000_000 {
        if number(&flow, "rate_bytes_per_s") >= rate {
            return flow;
        }
        let gap = Duration::from_secs_f64(SIZE / number(&flow, "rate_bytes_per_s"));
        flow.ack(gap, 1, CLEAN);
    }
    panic!("{} bytes per second", number(&flow, "rate_bytes_per_s"));
}

/// The flow starts at 100 kbit/s, 3 % above it at first, with its initial window, and without slow start. The first ACK leaves the
/// window of the rate: two packets, the least.
#[test]
fn start() {
    let mut flow = udp(ms(20));
    close(pace(&flow), 0.1 * 1.03, 1e-5);
    assert_eq!((flow.cwnd(), flow.probe("alpha")), (MSS * 10, Some(0.0)));
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Unused));
    flow.ack(NS, 1, CE);
    assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS * 2, Some(12_500.0 * 0.02 / SIZE)));
    close(pace(&flow), 0.1 * 1.03, 1e-5);
}

/// The rate governs up to 2 ms, and where the round trip is shorter than the time from packet to packet: at 20 ms up to 72 400
/// bytes per second. By rate a packet adds `packet / R_v` over the packets of a virtual round trip.
#[test]
fn growth_by_rate() {
    for (rtt, by_rate) in [(2, 1.0), (3, 0.0)] {
        let flow = faster_than(1e6, ms(rtt));
        assert_eq!(flow.probe("by_rate"), Some(by_rate), "{rtt} ms");
    }
    let mut flow = udp(ms(20));
    let mut rate = 12_500.0;
    for _ in 0..20 {
        flow.ack(ms(20), 1, CLEAN);
        let by_rate = 0.02 <= SIZE / rate;
        assert_eq!(flow.probe("by_rate"), Some(f64::from(u8::from(by_rate))), "at {rate}");
        // With a window, the growth by packet and window over the round trip, scaled by (20 / 25)^2.
        rate += SIZE * SIZE / (rate * 0.025 * 0.025);
        close(number(&flow, "rate_bytes_per_s"), rate, 1e-9);
    }
}

/// By window the growth is that of the rate over the round trip: `packet^2 / W`, scaled by `(srtt / R_v)^2`, 0.16 at 10 ms. cwnd
/// has 3 % more than the window, and the next whole packet.
#[test]
fn growth_by_window() {
    for (rtt, scale) in [(10, 0.16), (25, 1.0), (40, 1.0)] {
        let mut flow = faster_than(1e6, ms(rtt));
        let before = number(&flow, "window_segments");
        flow.ack(NS, 3, CLEAN);
        let window = before + 3.0 * scale / before;
        close(number(&flow, "window_segments"), window, 1e-9);
        close(number(&flow, "rate_bytes_per_s"), window * SIZE / (rtt as f64 / 1e3), 1e-9);
        assert_eq!(flow.cwnd(), MSS * ((window * 1.03) as u64 + 1));
    }
}

/// What cwnd and the application leave unused grows all the same.
#[test]
fn unused_windows_grow() {
    let mut flow = faster_than(1e6, ms(25));
    (flow.unused, flow.app_limited, flow.barred) = (true, true, true);
    let before = number(&flow, "window_segments");
    flow.ack(NS, 1, CLEAN);
    assert!(number(&flow, "window_segments") > before);
}

/// alpha is averaged from 0 when the round trip and the virtual one are over, and the first marks take nothing.
#[test]
fn the_average_starts_at_zero() {
    let mut flow = faster_than(1e6, ms(10));
    let before = number(&flow, "window_segments");
    assert_eq!(flow.ack(NS, 1, CE), Some(false));
    close(number(&flow, "window_segments"), before, 1e-9);
    flow.ack(ms(26), 20, CLEAN);
    let alpha = number(&flow, "alpha");
    assert!(alpha > 0.0 && alpha < 1.0 / 16.0, "{alpha}");
    let before = number(&flow, "window_segments");
    assert_eq!(flow.ack(NS, 1, CE), Some(true));
    close(number(&flow, "window_segments"), before * (1.0 - alpha / 2.0), 1e-9);
}

/// The increase is a packet until seven virtual round trips had no signal, and one more for each step of 1.92 MB/s that the rate has:
/// then it is a millisecond of the rate, where that is more. A mark takes it back.
#[test]
fn a_larger_increase_after_quiet_rounds() {
    let mut flow = faster_than(6e6, ms(25));
    flow.ack(NS, 1, CE);
    close(number(&flow, "increase_packets"), 1.0, 1e-12);
    let mut rounds = Vec::new();
    let before = number(&flow, "rounds");
    for _ in 0..12 {
        let segments = flow.cwnd() / MSS;
        flow.ack(ms(26), segments + 1, CLEAN);
        if number(&flow, "increase_packets") > 1.0 {
            rounds.push(number(&flow, "rounds") - before);
        }
    }
    // 6 MB/s are three steps.
    assert_eq!(rounds.first(), Some(&10.0), "{rounds:?}");
    close(number(&flow, "increase_packets"), number(&flow, "rate_bytes_per_s") * 1e-3 / SIZE, 1e-9);
    flow.ack(ms(26), flow.cwnd() / MSS, CE);
    close(number(&flow, "increase_packets"), 1.0, 1e-12);
}

/// A loss takes half; nothing grows until the round trip and the virtual one are over, and a loss until then takes no more. An undo
/// adds what the loss took, once.
#[test]
fn losses_of_udp() {
    let mut flow = faster_than(1e6, ms(10));
    let before = number(&flow, "window_segments");
    flow.lose();
    close(number(&flow, "window_segments"), before / 2.0, 1e-9);
    flow.lose();
    flow.ack(ms(11), 20, CLEAN);
    close(number(&flow, "window_segments"), before / 2.0, 1e-9);
    assert_eq!(flow.probe("in_loss"), Some(1.0));
    flow.ack(ms(15), 10, CLEAN);
    assert_eq!(flow.probe("in_loss"), Some(0.0));
    assert!(number(&flow, "window_segments") > before / 2.0);
    let later = number(&flow, "window_segments");
    for _ in 0..2 {
        flow.undo();
        close(number(&flow, "window_segments"), later + before / 2.0, 1e-9);
    }
    assert_eq!(flow.probe("undos"), Some(2.0), "the second returned nothing");
}

/// A timeout starts the flow again: 100 kbit/s, two packets, alpha 0.
#[test]
fn a_timeout_starts_again() {
    let mut flow = faster_than(1e6, ms(30));
    flow.ack(NS, 1, CE);
    flow.ack(ms(31), 30, CLEAN);
    assert!(number(&flow, "alpha") > 0.0);
    flow.time_out(true);
    assert_eq!((flow.cwnd(), flow.probe("alpha")), (MSS * 2, Some(0.0)));
    close(pace(&flow), 0.1 * 1.03, 1e-5);
}

/// The pace is 3 % above the rate in the first half of a virtual round trip since alpha was updated, and below it in the second; a
/// burst is at most 250 us.
#[test]
fn pace_and_bursts() {
    let mut flow = faster_than(12e6, ms(25));
    let segments = flow.cwnd() / MSS;
    flow.ack(ms(26), segments + 1, CLEAN);
    let mbps = |flow: &Driver| number(flow, "rate_bytes_per_s") * 8.0 / 1e6;
    close(pace(&flow), mbps(&flow) * 1.03, 1e-5);
    flow.ack(ms(12), 1, CLEAN);
    close(pace(&flow), mbps(&flow) * 1.03, 1e-5);
    flow.ack(ms(1), 1, CLEAN);
    close(pace(&flow), mbps(&flow) / 1.03, 1e-5);
    assert_eq!(flow.cc.control().send_quantum, Some(MSS * 2), "12e6 x 250e-6 / 1448 = 2.07");
}

/// The law of the Linux module at random marks, whose waits UDP Prague has below 25 ms, too.
#[test]
fn the_rate_at_random_marks() {
    for (p, rtt) in [(0.01, 5), (0.03, 10), (0.03, 20), (0.02, 50)] {
        let law = law_at_random_marks(p, rtt);
        let rate = at_random_marks(&params(), p, ms(rtt));
        assert!((rate / law - 1.0).abs() < 0.06, "{rate:.2} Mbit/s at {p} and {rtt} ms, not {law:.2}");
    }
}

/// Keys of the module are refused by name.
#[test]
fn keys_of_the_module() {
    assert!(params().check().is_ok());
    assert!(PragueParams { prague_rtt_target: ms(33), ..params() }.check().is_ok());
    for (params, key) in [
        (PragueParams { prague_cwnd_mode: PragueMode::Window, ..params() }, "prague_cwnd_mode"),
        (PragueParams { prague_cwnd_transit: 5, ..params() }, "prague_cwnd_transit"),
        (PragueParams { prague_rtt_transition: 0, ..params() }, "prague_rtt_transition"),
        (PragueParams { prague_burst_shift: 11, ..params() }, "prague_burst_shift"),
    ] {
        assert_eq!(params.check().expect_err("a key of the module").key, key);
    }
}
