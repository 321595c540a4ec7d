//! What a controller needs of its sender, in one value.

/// What a controller needs of its sender. The sender asks once, when the connection is made, and does only what was asked
/// for; the default is the need of a window-based controller: nothing beyond ACKs, congestion and timeouts.
///
/// `#[non_exhaustive]` is left out on purpose: `Needs { pacing: PacingNeed::Always, ..Needs::default() }` is how a controller writes it.
#[expect(clippy::struct_excessive_bools, reason = "independent needs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Whether departures are paced.
    pub pacing: PacingNeed,
    /// The finest congestion feedback that it makes use of: what its flow negotiates where the scenario names nothing else.
    pub feedback: Feedback,
    /// It answers CE as a scalable controller does, so that its packets may carry ECT(1) (RFC 9331 section 4.3).
    pub scalable: bool,
    /// ACKs carry [`crate::RateSample`]s, and say where packet-timed rounds start.
    pub rate_samples: bool,
    /// It hears of every departure: [`crate::CongestionControl::on_sent`].
    pub departures: bool,
    /// It hears of every lost segment: [`crate::CongestionControl::on_lost`].
    pub loss_reports: bool,
    /// It hears of ACKs that deliver nothing as well: duplicates, window updates, old ones.
    pub every_ack: bool,
    /// It alone decides the window, on every ACK. For others the sender approaches a lower window by proportional rate
    /// reduction (RFC 9937), bars growth meanwhile, and lowers a window that was not used (RFC 2861, RFC 7661). In Linux
    /// this is whether a controller has `cong_control`.
    pub own_window: bool,
    /// How many windows of data the send buffer must hold, so that the controller can tell what the path carries from what
    /// the buffer does: 2 in Linux, 3 for BBR (`sndbuf_expand`).
    pub send_buffer_windows: u32,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs {
            pacing: PacingNeed::None,
            feedback: Feedback::Classic,
            scalable: false,
            rate_samples: false,
            departures: false,
            loss_reports: false,
            every_ack: false,
            own_window: false,
            send_buffer_windows: 2,
        }
    }
}

/// Whether a controller needs its departures spaced in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingNeed {
    /// No: they are paced if the scenario says so.
    #[default]
    None,
    /// Yes, unless the scenario says otherwise: it works without, as the unpaced runs of "Multiplicative Decrease Scaling"
    /// do with ESSP.
    Usual,
    /// Yes: its window alone does not control the rate, so a scenario cannot say otherwise.
    Always,
}

/// Congestion feedback besides losses, from coarse to fine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feedback {
    /// None: CE is not answered, and packets need not be ECN-capable.
    None,
    /// That something was marked, at most once per round trip (RFC 3168).
    #[default]
    Classic,
    /// CE, and each SCE on its own (Multiplicative Decrease Scaling).
    Sce,
    /// How many packets and bytes were marked (AccECN).
    Counts,
}
