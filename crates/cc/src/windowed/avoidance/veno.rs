//! Veno: tells losses by chance from losses by congestion.
//!
//! Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks" (2003); Linux
//! `net/ipv4/tcp_veno.c`; spec/congestion-control section 3.10. Vegas' estimate of the packets queued,
//! `N = W (1 - base / r)`, says whether the path is congested: if N is less than three, a loss is due to chance and takes a
//! fifth of the window; otherwise a half. With three and more, the window grows in every second round trip only, so that
//! Veno stays longer where the path is full.
//!
//! Three is between Vegas' alpha and beta. A fifth follows from the condition that chance must not cost much, and that
//! a wrong verdict is repaired by the next loss.
//!
//! As in Linux, N is estimated at each ACK from the round trips since the last one, in halves of a packet. Veno acts in
//! Open alone; a flight after silence starts with a new base.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};

use super::module::{InSegments, Module, Segments, cong_avoid_ai, half};
use super::round_trips::RoundTrips;
use crate::controller::CongestionControl;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::{AvoidanceParams, Steered};
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// Parameters of Veno: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Fu and Liew 2003"))]
pub struct VenoParams {}

impl Params for VenoParams {
    const NAME: &'static str = "veno";
    const SUMMARY: &'static str = "Reno that takes a loss on an empty path for chance and gives up a fifth";
}

impl AvoidanceParams for VenoParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(InSegments::new(Veno::new()))
    }
}

/// Packets queued from which on the path is congested, in halves.
const BETA: u64 = 2 * 3;

/// Veno.
#[derive(Clone, Debug)]
struct Veno {
    times: RoundTrips,
    /// Delay decides; otherwise Veno is Reno.
    doing_veno_now: bool,
    /// Packets queued, in halves.
    diff: u64,
    /// The next window of ACKs grows a congested window.
    inc: bool,
    /// Growth is Reno's on this ACK.
    reno: bool,
}

impl Veno {
    const fn new() -> Veno {
        Veno { times: RoundTrips::new(), doing_veno_now: true, diff: 0, inc: true, reno: true }
    }

    fn enable(&mut self) {
        self.times.forget_base();
        self.doing_veno_now = true;
        self.inc = true;
    }

    fn congested(&self) -> bool {
        self.diff >= BETA
    }
}

impl Module for Veno {
    fn init(&mut self, _window: &mut Segments, _path: &PathView) {
        self.enable();
    }

    fn pkts_acked(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
        if let Some(rtt) = delivery.rtt {
            self.times.sample(rtt);
        }
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, _path: &PathView) -> Steered {
        self.reno = !self.doing_veno_now || !self.times.suffice();
        if self.doing_veno_now && !ack.growth_barred {
            if !self.reno {
                let double = 2 * window.w;
                self.diff = double - double * self.times.base_us() / self.times.least_us();
            }
            self.times.forget_least();
        }
        Steered::Grow
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        if self.reno || !self.congested() {
            return cong_avoid_ai(w, w, n, cwnd_cnt);
        }
        if cwnd_cnt.get() < w as f64 {
            cwnd_cnt.save(n as f64);
            return w;
        }
        cwnd_cnt.clear();
        self.inc = !self.inc;
        if self.inc { w } else { w + 1 }
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        if self.congested() { half(w) } else { (w * 4 / 5).max(2) }
    }

    fn set_state(&mut self, state: CaState, _path: &PathView) {
        self.doing_veno_now = state == CaState::Open;
        if self.doing_veno_now {
            self.times.forget_least();
        }
    }

    fn cwnd_restart(&mut self, _path: &PathView) {
        self.enable();
    }

    fn tx_start(&mut self, _path: &PathView) {
        self.enable();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("queued_packets", self.diff as f64 / 2.0);
        out("base_rtt_s", self.times.base_s());
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Duration;

    use super::*;

    fn path() -> PathView {
        PathView::of_segments(0, 0)
    }

    /// After three round trips of `rtt_us` on a path of 100 ms. Measured round trips count with a microsecond more.
    fn veno(rtt_us: u64) -> Veno {
        let mut veno = Veno::new();
        for us in [100_000, rtt_us, rtt_us, rtt_us] {
            veno.times.forget_least();
            veno.times.sample(Duration::from_micros(us - 1));
        }
        veno
    }

    /// spec/congestion-control section 3.10: `2 W - floor(2 W base / r)` halves of a packet at W = 100, six of them
    /// are congestion. Outside of Open, and while growth is barred, nothing is estimated.
    #[test]
    fn packets_queued_are_counted_in_halves() {
        let ack = AckSample { may_raise: true, ..AckSample::default() };
        let barred = AckSample { growth_barred: true, ..ack };
        let mut window = Segments { w: 100, ssthresh: 50 };
        for (rtt_us, halves, left) in
            [(102_000, 4, 80), (102_500, 5, 80), (103_000, 6, 50), (110_000, 19, 50)]
        {
            let mut veno = veno(rtt_us);
            veno.steer(&mut window, &ack, &path());
            assert_eq!((veno.diff, veno.reno), (halves, false), "{rtt_us} us");
            assert_eq!(veno.ssthresh(100, &path()), left, "{rtt_us} us");
        }
        let mut amiss = veno(110_000);
        amiss.set_state(CaState::Disorder, &path());
        amiss.steer(&mut window, &ack, &path());
        assert_eq!((amiss.diff, amiss.reno), (0, true));
        let mut held = veno(110_000);
        held.steer(&mut window, &barred, &path());
        assert_eq!((held.diff, held.times.least_us()), (0, 110_000));
    }

    /// Section 3.10: with a window of ten congested segments, ten ACKs are counted and the next one grows the window;
    /// after a window more (eleven ACKs and one) it does not, and after yet another it does.
    #[test]
    fn a_congested_window_grows_every_second_time() {
        let mut veno = Veno { diff: 6, reno: false, ..Veno::new() };
        let (mut w, mut cwnd_cnt) = (10, CwndCnt::default());
        let growths: Vec<u32> = (1..=60_u32)
            .filter(|_| {
                let before = w;
                w = veno.cong_avoid(w, 1, &mut cwnd_cnt);
                w > before
            })
            .collect();
        assert_eq!(growths, [11, 11 + 12 + 12]);
    }

    /// Section 3.10: Open restarts the measurement, and idle time or a restart of the window also forget the base.
    #[test]
    fn silence_forgets_the_base() {
        for forget in [Veno::cwnd_restart, Veno::tx_start] {
            let mut veno = Veno { doing_veno_now: false, inc: false, ..veno(110_000) };
            forget(&mut veno, &path());
            assert!(veno.doing_veno_now && veno.inc && veno.times.base_us() > 1_000_000_000);
        }
        let mut veno = veno(110_000);
        veno.set_state(CaState::Recovery, &path());
        assert_eq!((veno.doing_veno_now, veno.times.least_us()), (false, 110_000));
        veno.set_state(CaState::Open, &path());
        assert!(veno.doing_veno_now && veno.times.least_us() > 1_000_000_000);
    }
}
