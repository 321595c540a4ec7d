//! What the draft's texts, Linux's third version and the second version do differently. The rest is common to them.

use super::params::TextPoint;

/// Numbers and rules of a version.
#[expect(clippy::struct_excessive_bools, reason = "independent rules")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rules {
    /// The pace in Startup, and the window, as factors.
    pub(super) startup_pacing: f64,
    pub(super) startup_cwnd: f64,
    /// The pace in Drain, and when the path's queue drains after a probe.
    pub(super) drain_pacing: f64,
    pub(super) down_pacing: f64,
    /// The window while probing.
    pub(super) up_cwnd: f64,
    /// The share that may be lost.
    pub(super) loss_threshold: f64,
    /// What a loss leaves of bandwidth and amount in flight.
    pub(super) beta: f64,
    /// The share of the long-term bound that is left to others.
    pub(super) headroom: f64,
    /// Lost ranges in a round that end Startup.
    pub(super) startup_losses: u32,
    /// Bursts for which the window has room in hosts (`offload_budget`).
    pub(super) quanta: f64,
    /// The longest Drain in rounds.
    pub(super) drain_rounds: Option<u64>,
    /// A probe ends when the bandwidth does not grow any more; otherwise, when 1.25 products are in flight.
    pub(super) plateau: bool,
    /// Without SACK any loss is too much, since one per round trip is all that is detected.
    pub(super) any_loss_without_sack: bool,
    /// Too much loss is also seen by the ACKs of a probe, not by the losses alone.
    pub(super) acks_show_loss: bool,
    /// What is compared with the product of the path is what will be in flight when the next segment leaves
    /// (`bbr_packets_in_net_at_edt`), and in `ProbeBW` it counts from before the ACK (`prior_in_flight`). In the draft it is what the
    /// ACK leaves in flight (sections 5.3.2 and 5.3.3).
    pub(super) in_flight_at_departure: bool,
    /// Drain starts without the losses of Startup, and Cruise with a bound of the short term that is not above the long-term one.
    /// Losses that were none give the bounds back from when the recovery started, by which time the first of them may have lowered
    /// the long-term one, and no mode (`bbr_ssthresh`, `bbr_undo_cwnd`). In the draft it is the bounds before them, and the probe
    /// that they ended.
    pub(super) linux_signals: bool,
    /// `ProbeRTT` is due when the least round trip has expired, and keeps the window that follows from the one which is about to be
    /// replaced. Otherwise it has a clock of its own, and its window follows the least round trip.
    pub(super) one_filter: bool,
    /// The first pace is that of the initial window; in Linux, of the present one, less the margin.
    pub(super) paces_initial_window: bool,
    /// The point of the text that is taken literally.
    pub(super) literal: Option<TextPoint>,
}

impl Rules {
    /// Whether this point of the text is taken literally.
    pub(super) fn takes_literally(&self, point: TextPoint) -> bool {
        self.literal == Some(point)
    }

    /// The draft's newest text: 4 ln 2, the smallest gain that doubles the rate in each round where each ACK doubles its segment, and half
    /// for Drain, since Startup leaves one product of queue at most.
    pub(super) const DRAFT: Rules = Rules {
        startup_pacing: 2.77,
        startup_cwnd: 2.0,
        drain_pacing: 0.5,
        down_pacing: 0.9,
        up_cwnd: 2.25,
        loss_threshold: 0.02,
        beta: 0.7,
        headroom: 0.15,
        startup_losses: 6,
        quanta: 3.0,
        drain_rounds: Some(3),
        plateau: true,
        any_loss_without_sack: true,
        acks_show_loss: false,
        in_flight_at_departure: false,
        linux_signals: false,
        one_filter: true,
        paces_initial_window: true,
        literal: None,
    };

    /// The text that was posted as draft-ietf-ccwg-bbr-06.
    pub(super) const DRAFT_06: Rules = Rules { one_filter: false, ..Rules::DRAFT };

    /// Linux's branch, whose fractions are parts of 256.
    pub(super) const LINUX: Rules = Rules {
        startup_pacing: 710.0 / 256.0,
        drain_pacing: 88.0 / 256.0,
        down_pacing: 0.91,
        loss_threshold: 5.0 / 256.0,
        beta: 180.0 / 256.0,
        headroom: 38.0 / 256.0,
        drain_rounds: None,
        any_loss_without_sack: false,
        acks_show_loss: true,
        in_flight_at_departure: true,
        linux_signals: true,
        paces_initial_window: false,
        ..Rules::DRAFT_06
    };

    /// Version 2.
    pub(super) const V2: Rules = Rules {
        startup_pacing: 739.0 / 256.0,
        startup_cwnd: 739.0 / 256.0,
        down_pacing: 0.75,
        up_cwnd: 2.0,
        startup_losses: 8,
        plateau: false,
        ..Rules::LINUX
    };
}
