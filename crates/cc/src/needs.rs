//! What a controller needs from its sender, in one value.

use std::num::NonZeroU32;

use windtunnel_algorithm::tau;

/// What a controller needs from its sender. The sender asks when the connection is created and when the handshake is over,
/// and does only what was requested. The default suits a window-based controller, which needs only ACKs, congestion events and timeouts.
///
/// The type is deliberately not `#[non_exhaustive]`, so that a controller can write `Needs { pacing:
/// PacingNeed::Always, ..Needs::default() }`.
#[expect(clippy::struct_excessive_bools, reason = "independent needs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Whether departures are paced.
    pub pacing: PacingNeed,
    /// The first segments of the connection are paced too, which otherwise leave at once (Linux: ten).
    pub paces_first: bool,
    /// A change of the controller's own rate moves the departure that already waits (RFC 5348 section 4.6). In Linux it keeps
    /// its time, and so it does with ideal endpoints.
    pub repaces: bool,
    /// The finest congestion feedback that the controller uses. Its flow negotiates this feedback unless the scenario
    /// names another.
    pub feedback: Feedback,
    /// How many SCE equal one CE to the controller: what a flow with MDS offers in its handshake.
    pub tau: NonZeroU32,
    /// The controller answers CE as scalable controllers do, so its packets may carry ECT(1) (RFC 9331 section 4.3).
    pub scalable: bool,
    /// ACKs carry [`crate::RateSample`]s and mark where packet-timed rounds start.
    pub rate_samples: bool,
    /// The sender reports every departure: [`crate::CongestionControl::on_sent`].
    pub departures: bool,
    /// The sender reports every lost segment: [`crate::CongestionControl::on_lost`].
    pub loss_reports: bool,
    /// The sender reports what each ACK delivered before it reports the congestion that the ACK shows:
    /// [`crate::CongestionControl::on_delivery`].
    pub delivery_reports: bool,
    /// ACKs carry the one-way delay of the data that they acknowledge: [`crate::AckSample::one_way`].
    pub one_way: bool,
    /// The transport reports when each packet left and arrived, if its receiver can tell:
    /// [`crate::CongestionControl::on_arrival`].
    pub arrivals: bool,
    /// The sender reports changes of its state: [`crate::CongestionControl::on_state`].
    pub states: bool,
    /// The controller starts reductions of its own: the sender asks after each ACK
    /// ([`crate::CongestionControl::asks_reduction`]).
    pub own_reductions: bool,
    /// The sender also reports ACKs that deliver nothing: duplicates, window updates, old ACKs.
    pub every_ack: bool,
    /// A loss that is found in the round of an answer to CE is reported as congestion too: the controller answers CE in
    /// proportion, and a loss by more.
    pub loss_after_ce: bool,
    /// The controller alone decides the window, on every ACK. For other controllers, the sender approaches a lower
    /// window by proportional rate reduction (RFC 9937), bars growth meanwhile, and lowers a window that was not used
    /// (RFC 2861, RFC 7661). In Linux, controllers with `cong_control` decide alone.
    pub own_window: bool,
    /// The controller sets the rate of a media source ([`crate::CongestionControl::target_bitrate`]), so it can carry media
    /// over RTP. An RTP sender reports departures, losses, deliveries, one-way delays and frames, and neither rate samples nor
    /// states.
    pub media: bool,
    /// The controller says how many ACKs it needs ([`crate::CongestionControl::ack_ratio`]): the sender asks its receiver for them.
    pub ack_requests: bool,
    /// How many windows of data the send buffer must hold, so that the buffer does not limit the rate that the
    /// controller measures: 2 in Linux, 3 for BBR (`sndbuf_expand`).
    pub send_buffer_windows: u32,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs {
            pacing: PacingNeed::None,
            paces_first: false,
            repaces: false,
            feedback: Feedback::Classic,
            tau: tau::DEFAULT,
            scalable: false,
            rate_samples: false,
            departures: false,
            loss_reports: false,
            delivery_reports: false,
            one_way: false,
            arrivals: false,
            states: false,
            own_reductions: false,
            every_ack: false,
            loss_after_ce: false,
            own_window: false,
            media: false,
            ack_requests: false,
            send_buffer_windows: 2,
        }
    }
}

/// Whether a controller needs its departures spaced in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingNeed {
    /// No: they are paced only if the scenario says so.
    #[default]
    None,
    /// Yes, unless the scenario says otherwise. The controller also works without pacing, as in the unpaced runs of
    /// "Multiplicative Decrease Scaling" with ESSP.
    Usual,
    /// Yes, unless the scenario says otherwise, at `cwnd / srtt` in congestion avoidance and at twice that in slow start, as
    /// in the published tests of SCE.
    Window,
    /// Yes, and a scenario cannot change this: the window alone does not control the rate.
    Always,
}

/// Congestion feedback besides losses, from coarse to fine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feedback {
    /// None: CE is not answered, and packets need not be ECN-capable.
    None,
    /// Whether anything was marked, at most once per round trip (RFC 3168).
    #[default]
    Classic,
    /// CE, and each SCE individually, without negotiation and without an identifier (the SCE drafts).
    PlainSce,
    /// CE, and each SCE individually (Multiplicative Decrease Scaling).
    Sce,
    /// What share of the packets was marked: each CE individually, from DCTCP's receiver or from counts. Coarser feedback
    /// does too, with all packets of an ACK marked.
    Shares,
    /// How many packets and bytes were marked (AccECN).
    Counts,
}

impl Feedback {
    /// True if SCE are heard.
    pub const fn hears_sce(self) -> bool {
        matches!(self, Feedback::PlainSce | Feedback::Sce)
    }

    /// True if each mark is heard, SCE or CE, rather than that there was one.
    pub const fn hears_each_mark(self) -> bool {
        !matches!(self, Feedback::None | Feedback::Classic)
    }
}
