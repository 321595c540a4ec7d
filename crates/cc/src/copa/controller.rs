//! The events of Copa. Windows are real numbers of segments.

use windtunnel_units::{Bytes, Rate, Seq, Time};

use super::delay::Delays;
use super::params::CopaParams;
use super::velocity::{Direction, Velocity};
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, PathView, Trigger};

/// The least window, in segments.
const LEAST_CWND: f64 = 2.0;
/// The largest, in segments: TCP's window field, scaled, covers 2^30 bytes.
const LARGEST_CWND: f64 = 1_048_576.0;
/// The pace, in windows per standing round trip.
const PACE: f64 = 2.0;

/// Copa.
#[derive(Debug)]
pub(super) struct Copa {
    params: CopaParams,
    mss: Bytes,
    cwnd: f64,
    /// None before the first round trip is measured.
    delays: Option<Delays>,
    velocity: Velocity,
    in_slow_start: bool,
    exit: Option<ExitReason>,
    /// 1/delta of the competitive mode; None in the default mode.
    competing: Option<f64>,
    /// The round trip ends when this is acknowledged.
    round_end: Seq,
    rate: Rate,
}

impl Copa {
    pub(super) fn new(params: CopaParams, init: FlowInit) -> Copa {
        let cwnd = (init.iw.as_f64() / init.mss.as_f64()).max(LEAST_CWND);
        Copa {
            params,
            mss: init.mss,
            cwnd,
            delays: None,
            velocity: Velocity::new(cwnd),
            in_slow_start: true,
            exit: None,
            competing: None,
            round_end: Seq::FIRST_DATA,
            rate: Rate::ZERO,
        }
    }

    /// The present delta: that of the mode.
    fn delta(&self) -> f64 {
        self.competing.map_or(self.params.delta, |inverse| 1.0 / inverse)
    }

    /// A round trip enters the delays.
    fn measure(&mut self, ack: &AckSample, path: &PathView) {
        let Some(rtt) = ack.rtt else { return };
        match &mut self.delays {
            Some(delays) => delays.update(path, rtt, self.cwnd, self.params.min_rtt_window),
            None => self.delays = Some(Delays::new(path.now, rtt)),
        }
    }

    /// True while cwnd per standing round trip is at most `1 / (delta * dq)`.
    fn is_below_target(&self) -> bool {
        self.delays.as_ref().is_none_or(|delays| {
            self.cwnd * self.delta() * delays.queueing().as_nanos_f64() <= delays.standing().as_nanos_f64()
        })
    }

    /// The window moves towards the target by what `segments` allow.
    fn steer(&mut self, segments: f64, may_grow: bool, now: Time) {
        let below = self.is_below_target();
        if self.in_slow_start && below {
            if may_grow {
                self.cwnd += segments;
            }
        } else {
            if std::mem::replace(&mut self.in_slow_start, false) {
                self.exit.get_or_insert(ExitReason::Delay);
                self.velocity = Velocity::new(self.cwnd);
                if let Some(delays) = &mut self.delays {
                    delays.forgive(now);
                }
            }
            self.velocity.turn(if below { Direction::Up } else { Direction::Down }, self.cwnd);
            let step = segments * self.velocity.get() / (self.delta() * self.cwnd);
            match below {
                true if may_grow => self.cwnd += step,
                true => {}
                false => self.cwnd -= step,
            }
        }
        self.cwnd = self.cwnd.clamp(LEAST_CWND, LARGEST_CWND);
    }

    /// Once per round trip: the velocity, and the competitive mode's increase.
    fn end_round(&mut self, path: &PathView) {
        if path.una < self.round_end {
            return;
        }
        self.round_end = path.nxt;
        if !self.in_slow_start {
            self.velocity.end_round(self.cwnd, self.delta());
        }
        if let Some(inverse) = &mut self.competing {
            *inverse += 1.0;
        }
    }

    /// The mode follows who fills the queue.
    fn switch_mode(&mut self, path: &PathView) {
        let Some(delays) = &self.delays else { return };
        if self.in_slow_start
            || !self.params.mode_switching
            || !delays.others_fill_the_queue(path.now, path.srtt)
        {
            self.competing = None;
        } else if self.competing.is_none() {
            self.competing = Some(1.0 / self.params.delta);
        }
    }

    fn update_pace(&mut self, path: &PathView) {
        let rtt = self.delays.as_ref().map_or(path.srtt, Delays::standing);
        if !rtt.is_zero() {
            self.rate = Rate::of(self.cwnd().scale(PACE), rtt);
        }
    }
}

impl CongestionControl for Copa {
    fn needs(&self) -> Needs {
        Needs { pacing: PacingNeed::Always, feedback: Feedback::None, own_window: true, ..Needs::default() }
    }

    /// The handshake's round trip sets the pace, but is not among the delays: its packets are shorter than data, and
    /// the difference would look like a queue that never empties.
    fn on_established(&mut self, path: &PathView) {
        self.round_end = path.nxt;
        self.update_pace(path);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.measure(ack, path);
        self.switch_mode(path);
        let segments = ack.newly_delivered.as_f64() / self.mss.as_f64();
        self.steer(segments, ack.cwnd_limited || !ack.app_limited, path.now);
        self.end_round(path);
        self.update_pace(path);
    }

    /// A loss halves 1/delta of the competitive mode. The window follows from the target alone.
    fn on_congestion(&mut self, event: &CongestionEvent, _path: &PathView) -> bool {
        if let (Trigger::Loss, Some(inverse)) = (event.trigger, &mut self.competing) {
            *inverse = (*inverse / 2.0).max(1.0 / self.params.delta);
        }
        false
    }

    fn on_rto(&mut self, _new_episode: bool, path: &PathView) {
        self.exit.get_or_insert(ExitReason::Loss);
        self.cwnd = LEAST_CWND;
        self.velocity = Velocity::new(self.cwnd);
        self.in_slow_start = true;
        self.competing = None;
        self.update_pace(path);
    }

    fn control(&self) -> Control {
        Control {
            pacing: self.pacing(),
            phase: if self.in_slow_start { Phase::SlowStart } else { Phase::CongestionAvoidance },
            ..Control::window(self.cwnd())
        }
    }

    fn cwnd(&self) -> Bytes {
        self.mss * self.cwnd as u64
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(self.rate)
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let delays = self.delays.as_ref();
        out("cwnd_packets", self.cwnd);
        out("min_rtt_s", delays.map_or(f64::NAN, |delays| delays.least().as_secs_f64()));
        out("standing_rtt_s", delays.map_or(f64::NAN, |delays| delays.standing().as_secs_f64()));
        out("queueing_s", delays.map_or(f64::NAN, |delays| delays.queueing().as_secs_f64()));
        out("velocity", self.velocity.get());
        out("delta", self.delta());
        out("competing", f64::from(u8::from(self.competing.is_some())));
    }
}
