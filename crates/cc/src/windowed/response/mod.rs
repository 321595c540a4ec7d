//! Responses: how much of cwnd a signal leaves, one file per response.
//!
//! A conventional flow answers CE and losses with its controller's multiplicative decrease (MD); with ABE it answers CE more
//! gently. A flow with Multiplicative Decrease Scaling answers them in the same way, and each SCE mark with the tau-th root
//! of the MD, so that tau SCE equal one CE (spec/mds section 1); the queue in turn sends tau SCE for each CE. The published
//! SCE responses take a part of a segment for each SCE. DCTCP answers CE in proportion to the share of marked segments.

mod abe;
mod conventional;
mod dctcp;
mod fallback;
mod mds;
mod sce;

use std::fmt::Debug;
use std::num::NonZeroU32;

use windtunnel_algorithm::{AnyParams, kinds, tau};
use windtunnel_units::{Bytes, Duration, Time};

use crate::kinds::Kinds;
use crate::needs::Feedback;
use crate::sample::{Delivery, PathView};

kinds! {
    pub(crate) fn visit(Kinds::response);
    conventional: ConventionalParams;
    abe: AbeParams;
    mds: MdsParams;
    sce: SceParams, DctcpSceParams;
    dctcp: DctcpParams;
}

/// The parameters of a response. This trait is an open set.
pub trait ResponseParams: AnyParams {
    /// Returns the signals that the response distinguishes. The flow negotiates this feedback.
    fn feedback(&self) -> Feedback {
        Feedback::Classic
    }

    /// Returns how many SCE equal one CE. Slow starts that end at SCE use this number.
    fn tau(&self) -> NonZeroU32 {
        tau::DEFAULT
    }

    /// Returns true if the response follows deliveries: [`Response::on_delivery`].
    fn follows_deliveries(&self) -> bool {
        false
    }

    /// Returns true if flows with the response are paced at `cwnd / srtt` unless the scenario says otherwise.
    fn paces(&self) -> bool {
        false
    }

    /// Returns how the flow treats SCE apart from the decrease.
    fn sce_rules(&self) -> SceRules {
        SceRules::default()
    }

    /// Builds the response of a flow whose avoidance starts with the multiplicative decrease `md`.
    fn build(&self, md: f64) -> Box<dyn Response>;
}

#[cfg(feature = "schema")]
impl PartialEq for dyn ResponseParams {
    fn eq(&self, other: &dyn ResponseParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// What a response leaves of cwnd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kept {
    /// A factor, which the avoidance applies with its own rounding.
    Factor(f64),
    /// A window.
    Window(Bytes),
}

/// The moment at which a signal is answered.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// cwnd before the answer.
    pub cwnd: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The clock.
    pub now: Time,
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// The avoidance's multiplicative decrease now.
    pub md: f64,
}

/// How a flow treats SCE apart from the decrease. The default is that of MDS.
#[expect(clippy::struct_excessive_bools, reason = "independent rules")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceRules {
    /// SCE are not answered in the round of a congestion response.
    pub held_off: bool,
    /// An ACK with SCE does not grow cwnd, whatever the avoidance allows.
    pub bars_growth: bool,
    /// SCE flatten the avoidance's curve instead of starting it anew.
    pub flattens: bool,
    /// The SCE that end slow start are answered as any other, and set ssthresh to half of cwnd.
    pub halves_ssthresh: bool,
    /// A response to CE is spread over the ACKs that echo it: [`Response::ce_of_ack`].
    pub spreads_ce: bool,
}

impl Default for SceRules {
    fn default() -> SceRules {
        SceRules {
            held_off: true,
            bars_growth: false,
            flattens: false,
            halves_ssthresh: false,
            spreads_ce: false,
        }
    }
}

/// How much of cwnd a signal leaves. Called when there is a signal, not on every ACK.
pub trait Response: Debug + Send + Sync {
    /// Returns the factor of cwnd that a loss leaves, where the avoidance's decrease is `md` now.
    fn loss(&self, md: f64) -> f64 {
        md
    }

    /// Returns what CE leaves of cwnd.
    fn ce(&self, at: &Moment) -> Kept;

    /// Returns what one SCE leaves of cwnd, or `None` if the flow does not answer it.
    fn sce(&mut self, _at: &Moment) -> Option<Kept> {
        None
    }

    /// Returns what an ACK that echoes CE for this many segments leaves of cwnd. Called only with
    /// [`SceRules::spreads_ce`].
    fn ce_of_ack(&mut self, _segments: u32, at: &Moment) -> Bytes {
        at.cwnd
    }

    /// An ACK delivered data; called before the signals of the same ACK are answered. Called only with
    /// [`ResponseParams::follows_deliveries`].
    fn on_delivery(&mut self, _delivery: &Delivery, _cwnd: Bytes, _path: &PathView) {}

    /// Returns true once the flow has given up its fine signals: [`crate::CongestionControl::is_conventional`].
    fn is_conventional(&self) -> bool {
        false
    }

    /// Reports named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
