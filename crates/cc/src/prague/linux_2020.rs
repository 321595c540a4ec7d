//! The rules of the module of 2020 (L4STeam/linux b256daedc767 of 4 August 2020, `net/ipv4/tcp_prague.c`, version 0.5), with which
//! heistp/l4s-tests measured.
//!
//! What differs from version 0.7: the average starts at 1, so that the first mark halves; no flow is independent of its round
//! trip (`prague_rtt_scaling` is off by default); nothing is governed by a rate, and the pace has no dither and no least value.
//! The fraction is a carry next to cwnd, and an answer is a part of cwnd, not of the fractional window. cwnd therefore moves
//! where the carry has grown to a segment either way, and what is carried below two segments is forgotten. The growth gate is
//! open while data wait, since the host's pacing may close Linux's own (`tcp_is_cwnd_limited`).

use windtunnel_units::{Bytes, Rate};

use super::average::Average;
use super::params::PragueParams;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::hold_off::HoldOff;
use crate::sample::{AckSample, CongestionEvent, FlowInit, Marked, PathView, Trigger};

/// The least cwnd, in segments.
const LEAST_CWND: u64 = 2;

/// Prague of 2020.
#[derive(Debug)]
pub(super) struct Linux2020 {
    params: PragueParams,
    mss: Bytes,
    /// The size of a full packet.
    mtu: f64,
    cwnd: u64,
    ssthresh: u64,
    /// What cwnd has still to change by, in segments.
    carry: f64,
    average: Average,
    saw_ce: bool,
    in_loss: bool,
    hold_off: HoldOff,
    /// cwnd and carry before the last loss.
    undo: Option<(u64, f64)>,
    /// How often losses turned out to have been none.
    undos: u64,
    /// In bytes per second of IP packets; zero is without limit.
    pace: f64,
    burst: u64,
    exit: Option<ExitReason>,
}

impl Linux2020 {
    pub(super) fn new(params: PragueParams, init: FlowInit) -> Linux2020 {
        Linux2020 {
            params,
            mss: init.mss,
            mtu: init.mtu.as_f64(),
            cwnd: (init.iw / init.mss).max(1),
            ssthresh: u64::MAX,
            carry: 0.0,
            average: Average::new(1.0),
            saw_ce: false,
            in_loss: false,
            hold_off: HoldOff::new(),
            undo: None,
            undos: 0,
            pace: 0.0,
            burst: 1,
            exit: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Growth by the segments that arrived unmarked. As long as all of them are slow start's, cwnd does not follow the carry: a
    /// mark ends slow start with an ACK that acknowledges nothing unmarked.
    fn grow(&mut self, ack: &AckSample) {
        self.saw_ce |= ack.ecn.ce.any();
        let mut unmarked = (ack.newly_delivered / self.mss).saturating_sub(ack.ecn.ce.packets.into());
        let limit = ack.reached_flight_limit(self.mss * self.cwnd, self.in_slow_start());
        let unused = ack.window_unused && ack.app_limited || limit;
        if unmarked > 0 && !self.in_loss && !unused {
            if self.in_slow_start() {
                let growth = unmarked.min(self.ssthresh - self.cwnd);
                self.cwnd += growth;
                unmarked -= growth;
                if unmarked == 0 {
                    return;
                }
            }
            self.carry += unmarked as f64 / self.cwnd as f64;
        }
        self.follow();
    }

    /// cwnd takes a whole segment from the carry.
    fn follow(&mut self) {
        if self.carry <= -1.0 {
            if self.in_slow_start() {
                self.exit.get_or_insert(if self.saw_ce { ExitReason::Ce } else { ExitReason::Loss });
            }
            self.carry += 1.0;
            self.cwnd -= 1;
            if self.cwnd < LEAST_CWND {
                self.cwnd = LEAST_CWND;
                self.carry = 0.0;
            }
            self.ssthresh = self.cwnd;
        } else if self.carry >= 1.0 {
            self.carry -= 1.0;
            self.cwnd += 1;
        }
    }

    fn update_average(&mut self, path: &PathView) {
        if !self.average.is_over(path.una) {
            return;
        }
        if self.saw_ce {
            self.average.update(path.now);
        }
        let in_slow_start = self.in_slow_start();
        self.average.start_round(path.nxt, in_slow_start);
    }

    fn update_pace(&mut self, path: &PathView) {
        if path.srtt.is_zero() {
            (self.pace, self.burst) = (0.0, self.cwnd);
            return;
        }
        let segments = self.cwnd.max(path.in_flight / self.mss) as f64;
        let factor = if self.cwnd < self.ssthresh / 2 { 2.0 } else { 1.0 };
        self.pace = factor * segments * self.mtu / path.srtt.as_secs_f64();
        self.burst = ((self.pace / self.mtu) as u64 >> self.params.prague_burst_shift).max(1);
    }

    fn on_ce(&mut self, path: &PathView) -> bool {
        if !self.hold_off.allows(path.una) {
            return false;
        }
        self.hold_off.start(path.nxt);
        let share = if self.params.classic_fallback { 1.0 } else { self.average.alpha() };
        let reduction = share * self.cwnd as f64 / 2.0;
        self.carry -= reduction;
        reduction > 0.0
    }

    fn on_loss(&mut self) {
        self.undo = Some((self.cwnd, self.carry));
        self.carry -= f64::midpoint(self.cwnd as f64, self.carry);
        self.in_loss = true;
    }
}

impl CongestionControl for Linux2020 {
    fn on_established(&mut self, path: &PathView) {
        self.average.updated = path.now;
        self.average.start_round(path.nxt, true);
        self.update_pace(path);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        let packets = (ack.newly_delivered / self.mss) as u32;
        self.average.on_ack(Marked { bytes: ack.newly_delivered, packets }, ack.ecn.ce);
        self.grow(ack);
        self.update_average(path);
        self.update_pace(path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        match event.trigger {
            Trigger::Ce => self.on_ce(path),
            Trigger::Controller => false,
            Trigger::Loss => {
                self.on_loss();
                true
            }
        }
    }

    /// cwnd starts again from what is in flight. The carry stays and takes it to two segments.
    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if new_episode {
            self.on_loss();
        }
        self.cwnd = path.in_flight / self.mss + 1;
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, _path: &PathView) {
        // Only a SYN that was lost leads here.
        self.cwnd = (cwnd / self.mss).max(1);
    }

    /// cwnd is what it was. The carry moves by what it has changed since the loss once more, as in the module.
    fn on_undo(&mut self, _path: &PathView) {
        self.undos += 1;
        if let Some((cwnd, carry)) = self.undo.take() {
            self.carry += self.carry - carry;
            self.cwnd = self.cwnd.max(cwnd);
        }
    }

    fn on_recovered(&mut self, _path: &PathView) {
        self.in_loss = false;
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.mss * self.cwnd,
            ssthresh: if self.ssthresh == u64::MAX { Bytes::MAX } else { self.mss * self.ssthresh },
            pacing: Pacing::Rate(Rate::from_bits_per_sec(
                (self.pace * 8.0 * self.mss.as_f64() / self.mtu) as u64,
            )),
            send_quantum: Some(self.mss * self.burst),
            app_limited: false,
            phase: if self.in_slow_start() { Phase::SlowStart } else { Phase::CongestionAvoidance },
        }
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    /// The names of version 0.7: the window is cwnd with its carry, and the rate is the pace.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.average.alpha());
        out("window_segments", self.cwnd as f64 + self.carry);
        out("rate_bytes_per_s", self.pace);
        out("increase_packets", 1.0);
        out("rounds", f64::from(self.average.rounds));
        out("by_rate", 0.0);
        out("in_loss", f64::from(u8::from(self.in_loss)));
        out("undos", self.undos as f64);
        out("undo_cwnd_bytes", self.undo.map_or(f64::NAN, |(cwnd, _)| (self.mss * cwnd).as_f64()));
    }
}
