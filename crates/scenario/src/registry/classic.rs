//! Controllers from before SACK: names for Reno's growth together with the loss recovery that went with it.

use windtunnel_tcp::LossDetection;

/// The name of the sender from before congestion control, which takes the place of a controller.
pub(crate) const BSD42: &str = "bsd42";

/// The initial window of RFC 6928 in segments.
pub(crate) const DEFAULT_IW: u32 = 10;

/// Reno as an earlier system had it.
#[derive(Debug)]
pub(crate) struct Classic {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    pub(crate) detection: LossDetection,
    /// The initial window of its time in segments (spec/congestion-control section 1.2).
    pub(crate) iw: u32,
}

impl Classic {
    /// All of them grow as Reno does.
    pub(crate) const AVOIDANCE: &'static str = "reno";

    /// The one called `name`.
    pub(crate) fn named(name: &str) -> Option<&'static Classic> {
        CLASSICS.iter().find(|classic| classic.name == name)
    }
}

/// All of them.
pub(crate) const CLASSICS: &[Classic] = &[
    Classic {
        name: "tahoe",
        title: "Tahoe",
        summary: "Slow start after every loss",
        source: "Jacobson 1988",
        detection: LossDetection::Tahoe,
        iw: 1,
    },
    Classic {
        name: "reno1990",
        title: "Reno1990",
        summary: "Fast recovery, ended by the first new ACK",
        source: "Jacobson 1990",
        detection: LossDetection::Reno,
        iw: 1,
    },
    Classic {
        name: "newreno",
        title: "NewReno",
        summary: "Fast recovery of one loss per round trip, without SACK",
        source: "RFC 6582",
        detection: LossDetection::Newreno,
        iw: DEFAULT_IW,
    },
];
