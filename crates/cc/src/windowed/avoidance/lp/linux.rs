//! TCP-LP as in Linux (`net/ipv4/tcp_lp.c`; spec/congestion-control section 3.17): nearly always it is Reno.
//!
//! The delay is the receiver's timestamp, brought to milliseconds by an estimate of its tick rate, less the echoed one, all in 32
//! bits. The echoed one is a count of milliseconds; the receiver's has a random offset, which is different for each connection.
//! So the "delay" is a random number, and what moves is its last digits. What that makes of the rules:
//!
//! - The smoothed delay is kept times eight. From 2^29 on this does not fit: what is left of it is below 2^29, and so below the
//!   least delay, and the path never seems congested. Seven offsets of eight are so large.
//! - With a smaller one the first delay is an indication, as it is the least and the greatest one and nothing is below a range that is
//!   empty. Each indication starts the range anew, from the smoothed delay to twice that: 15 % of the offset are far above any
//!   delay, and another indication needs what follows.
//! - The tick rate is taken from ratios of whole milliseconds between ACKs. While it is above 1000 per second, a division of whole
//!   numbers makes the receiver's timestamp count zero times, and the delay is 2^32 less the time since the sender booted. A delay
//!   that grows by a sixteenth of the ACKs' spacing does that. What the next indications then are is a matter of overflows.
//! - ssthresh stays, so that slow start follows an indication.
//!
//! The arithmetic is the module's. Two things differ: the echo is that of the newest segment acknowledged, where a delayed ACK echoes
//! the oldest (RFC 7323), and the sender booted when the run began.

use windtunnel_units::{Duration, Time};

use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, cong_avoid_ai, half};
use crate::windowed::cwnd_cnt::CwndCnt;

/// The part of the range of delay that shows congestion, in percent.
const EARLY_PERCENT: u32 = 15;
/// Round trips of inference.
const INFERENCE: u32 = 3;
/// The sender's tick rate, and the resolution of delays: per second.
const TICKS: u32 = 1000;

/// Whole milliseconds since the run began, as a timestamp has them.
fn ticks(time: Time) -> u32 {
    (time.since_start().as_nanos() / Duration::from_millis(1).as_nanos()) as u32
}

/// One-way delays, as the module computes them.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// The smoothed delay times eight, as far as 32 bits hold it; zero before the first sample.
    smoothed: u32,
    least: u32,
    greatest: u32,
    /// A delay beyond the greatest, which counts once it is exceeded.
    beyond: u32,
    /// The estimate of the receiver's tick rate, per second; zero before the first.
    remote_hz: u32,
    /// The last timestamps: the receiver's, and the echo.
    last: (u32, u32),
}

impl Delays {
    const NEW: Delays =
        Delays { smoothed: 0, least: u32::MAX, greatest: 0, beyond: 0, remote_hz: 0, last: (0, 0) };

    /// The receiver's ticks per second, after an ACK with these timestamps: a new ratio has a weight of 1/64.
    fn estimate_remote_hz(&mut self, value: u32, echo: u32) {
        let (last_value, last_echo) = std::mem::replace(&mut self.last, (value, echo));
        if last_value == 0 || last_echo == 0 || value == last_value || echo == last_echo {
            return;
        }
        let ratio = TICKS.wrapping_mul(value.wrapping_sub(last_value)) / echo.wrapping_sub(last_echo);
        let old = i64::from(self.remote_hz << 6);
        let new = if old > 0 { old + i64::from(ratio) - (old >> 6) } else { i64::from(ratio) << 6 };
        self.remote_hz = (new >> 6) as u32;
    }

    /// Takes the timestamps of an ACK.
    fn sample(&mut self, value: u32, echo: u32) {
        self.estimate_remote_hz(value, echo);
        if self.remote_hz == 0 {
            return;
        }
        let delay = value.wrapping_mul(TICKS / self.remote_hz).wrapping_sub(echo);
        if delay == 0 {
            return;
        }
        self.least = self.least.min(delay);
        if delay > self.beyond && delay > self.greatest {
            let before = std::mem::replace(&mut self.beyond, delay);
            self.greatest = if before == 0 { delay } else { before };
        } else if delay > self.greatest {
            self.greatest = delay;
        }
        let error = i64::from(delay) - i64::from(self.smoothed >> 3);
        self.smoothed = if self.smoothed == 0 {
            delay.wrapping_shl(3)
        } else {
            (i64::from(self.smoothed) + error) as u32
        };
    }

    /// The delay from which on congestion is near.
    const fn threshold(&self) -> u32 {
        let range = self.greatest.wrapping_sub(self.least);
        self.least.wrapping_add(EARLY_PERCENT.wrapping_mul(range) / 100)
    }

    /// True if congestion is near: the range then starts anew.
    fn show_congestion(&mut self) -> bool {
        let near = self.smoothed >> 3 >= self.threshold();
        if near {
            self.least = self.smoothed >> 3;
            (self.greatest, self.beyond) = (self.smoothed >> 2, self.smoothed >> 2);
        }
        near
    }
}

/// Linux's TCP-LP.
#[derive(Clone, Copy, Debug)]
pub(super) struct LpLinux {
    /// How far the receiver's timestamps are ahead of its clock.
    offset: u32,
    delays: Delays,
    /// When the last indication was; zero before the first.
    indicated: u32,
    inference: u32,
    infers: bool,
    state: CaState,
}

impl LpLinux {
    pub(super) fn new(offset: u32) -> LpLinux {
        LpLinux {
            offset,
            delays: Delays::NEW,
            indicated: 0,
            inference: 0,
            infers: false,
            state: CaState::Open,
        }
    }
}

impl Module for LpLinux {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { states: true, one_way: true, ..needs }
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        let now = ticks(path.now);
        if let (Some(rtt), Some(one_way)) = (ack.rtt, ack.one_way) {
            let left = Time::ZERO + path.now.since_start().saturating_sub(rtt);
            let echo = ticks(left);
            self.delays.sample(ticks(left + one_way).wrapping_add(self.offset), echo);
            if now > echo {
                self.inference = INFERENCE * (now - echo);
            }
        }
        self.infers = self.indicated != 0 && now.wrapping_sub(self.indicated) < self.inference;
        if self.delays.show_congestion() {
            // A reduction that runs sets the window itself, so that this one is lost.
            if !self.state.is_reducing() {
                window.w = if self.infers { 1 } else { (window.w / 2).max(1) };
            }
            self.indicated = now;
        }
        if self.infers { Steered::Hold } else { Steered::Grow }
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        cong_avoid_ai(w, w, n, cwnd_cnt)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        half(w)
    }

    fn set_state(&mut self, state: CaState, _path: &PathView) {
        self.state = state;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("one_way_ms", f64::from(self.delays.smoothed >> 3));
        out("one_way_threshold_ms", f64::from(self.delays.threshold()));
        out("remote_hz", f64::from(self.delays.remote_hz));
        out("infers", f64::from(u8::from(self.infers)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windtunnel_units::Bytes;

    const MSS: Bytes = Bytes::new(1448);

    /// After ACKs each 10 ms with a delay of 20 ms, and those given: the delays, and which ACKs showed congestion.
    fn after(offset: u32, more: &[u32]) -> (Delays, Vec<usize>) {
        let mut delays = Delays::NEW;
        let all = [20; 20].iter().chain(more).zip(1..);
        let near = all.filter_map(|(delay, n)| {
            delays.sample(offset.wrapping_add(10 * n + delay), 10 * n);
            delays.show_congestion().then_some(n as usize)
        });
        let near = near.collect();
        (delays, near)
    }

    /// The smoothed delay times eight fits into 32 bits below 2^29: there the first delay, which the second ACK shows because the tick
    /// rate needs two, is an indication, and beyond nothing is.
    #[test]
    fn the_offset_decides() {
        for (offset, near) in [
            (0, &[2][..]),
            (1000, &[2]),
            ((1 << 29) - 200, &[2]),
            (1 << 29, &[]),
            (1 << 31, &[]),
            (u32::MAX - 10_000, &[]),
        ] {
            assert_eq!(after(offset, &[]).1, near, "{offset}");
        }
    }

    /// A delay that grows by 10 ms between ACKs that are 10 ms apart makes a tick rate above 1000: the delay is then 2^32 less the
    /// echo of 210 ms. In 32 bits that takes 210 and the smoothed delay from eight times the latter: 8 x 1020 - 1230.
    #[test]
    fn a_rise_of_the_delay_is_lost() {
        let (delays, near) = after(1000, &[30]);
        assert_eq!(near, [2]);
        assert!(delays.remote_hz > TICKS, "{delays:?}");
        assert_eq!((delays.smoothed, delays.beyond), (6930, 0_u32.wrapping_sub(210)));
    }

    /// After an indication the range is the smoothed delay and twice that, and the threshold 15 % more: of 1020, 1173.
    #[test]
    fn the_range_starts_anew() {
        let (delays, _) = after(1000, &[]);
        assert_eq!((delays.least, delays.greatest, delays.threshold()), (1020, 2040, 1173));
    }

    /// The tick rate: ratios of whole milliseconds. A ratio above the rate moves it by their difference over 64, rounded down; above
    /// 1000, the receiver's timestamp does not count, and the delay is less than nothing: 2^32 minus the echo.
    #[test]
    fn the_tick_rate() {
        let mut delays = Delays::NEW;
        let mut rates = Vec::new();
        for (value, echo) in [(5, 0), (6, 1), (7, 2), (9, 3), (10, 4), (11, 4), (12, 6), (13, 7)] {
            delays.sample(1000 + value, echo);
            rates.push(delays.remote_hz);
        }
        // 2 ticks for 1: 1000 + 1000/64 = 1015; 1 for 1: 1014.77; an echo that stays tells nothing; 1 for 2: 1014 - 514/64, down.
        assert_eq!(rates, [0, 0, 1000, 1015, 1014, 1014, 1005, 1004]);
        assert_eq!(TICKS / delays.remote_hz, 0);
        assert_eq!(delays.greatest.max(delays.beyond), 0_u32.wrapping_sub(3));
    }

    fn at(ms: u64) -> PathView {
        PathView { now: Time::ZERO + Duration::from_millis(ms), ..PathView::of_segments(0, 40) }
    }

    fn ack(one_way_ms: u64) -> AckSample {
        AckSample {
            acked: MSS,
            rtt: Some(Duration::from_millis(20 + one_way_ms)),
            one_way: Some(Duration::from_millis(one_way_ms)),
            may_raise: true,
            ..AckSample::default()
        }
    }

    /// An indication halves the window and leaves ssthresh; the ACK itself still grows it, the next ones do not for three round
    /// trips of 40 ms. During a reduction the window is left alone. Without timestamps, and with a large offset, there is none.
    #[test]
    fn gives_way() {
        let unstamped = AckSample { one_way: None, ..ack(20) };
        for (offset, state, ack, w) in [
            (0, CaState::Open, ack(20), 20),
            (0, CaState::Recovery, ack(20), 40),
            (1 << 30, CaState::Open, ack(20), 40),
            (0, CaState::Open, unstamped, 40),
        ] {
            let mut lp = LpLinux::new(offset);
            let mut window = Segments { w: 40, ssthresh: 30 };
            lp.set_state(state, &at(100));
            for ms in [100, 110] {
                assert_eq!(lp.steer(&mut window, &ack, &at(ms)), Steered::Grow);
            }
            assert_eq!((window.w, window.ssthresh), (w, 30), "{offset} {state:?}");
            let held: Vec<u64> =
                (111..300).filter(|ms| lp.steer(&mut window, &ack, &at(*ms)) == Steered::Hold).collect();
            let indicated = offset == 0 && ack.one_way.is_some();
            assert_eq!(held, if indicated { (111..230).collect() } else { vec![] }, "{offset} {state:?}");
        }
    }
}
