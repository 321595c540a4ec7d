//! The limiter of SCE responses: at most tau within one smoothed round trip.
//!
//! tau SCE responses together equal one CE response (spec/mds section 1), and a controller makes at most one CE
//! response per round trip. More than tau SCE responses in one round trip would therefore exceed any response of a
//! conventional controller (spec/mds section 3).

use std::num::NonZeroU32;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Duration, Time};

/// The window over which SCE responses are limited to tau.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimiterWindow {
    /// A sliding window of one srtt over the times of the responses, as in the text of the MDS document.
    #[default]
    Sliding,
    /// A window that is emptied only after a full srtt without a response, as in the document's published runs. It
    /// differs where SCE keep arriving at intervals shorter than srtt.
    EmptiedAfterSrtt,
}

/// Grants SCE responses a limited number of places.
#[derive(Clone, Debug)]
pub(crate) enum Limiter {
    Sliding(SlidingWindow),
    EmptiedAfterSrtt { tau: u32, used: u32, last: Time },
}

/// The times of the last tau responses, in a ring allocated once.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    times: Box<[Time]>,
    /// Where the next response is written; once tau responses were made, also where the oldest is.
    next: usize,
    /// Responses made, up to tau.
    made: usize,
}

impl Limiter {
    pub(crate) fn new(window: LimiterWindow, tau: NonZeroU32) -> Limiter {
        match window {
            LimiterWindow::Sliding => Limiter::Sliding(SlidingWindow {
                times: vec![Time::ZERO; tau.get() as usize].into_boxed_slice(),
                next: 0,
                made: 0,
            }),
            LimiterWindow::EmptiedAfterSrtt => {
                Limiter::EmptiedAfterSrtt { tau: tau.get(), used: 0, last: Time::ZERO }
            }
        }
    }

    /// Takes a place for a response at `now`; returns false if none is left.
    pub(crate) fn take(&mut self, now: Time, srtt: Duration) -> bool {
        match self {
            Limiter::Sliding(window) => window.take(now, srtt),
            Limiter::EmptiedAfterSrtt { tau, used, last } => {
                if now.since(*last) > srtt {
                    *used = 0;
                }
                if *used == *tau {
                    return false;
                }
                *used += 1;
                *last = now;
                true
            }
        }
    }

    /// Returns the number of places in use at `now`.
    pub(crate) fn in_use(&self, now: Time, srtt: Duration) -> usize {
        match self {
            Limiter::Sliding(window) => {
                // Both parts of the ring are in order of time; before the first wrap, only the part before `next`
                // exists.
                let recent = |part: &[Time]| part.len() - part.partition_point(|t| now.since(*t) > srtt);
                let (newer, older) = window.times.split_at(window.next);
                let full = window.made == window.times.len();
                recent(newer) + if full { recent(older) } else { 0 }
            }
            Limiter::EmptiedAfterSrtt { used, .. } => *used as usize,
        }
    }
}

impl SlidingWindow {
    fn take(&mut self, now: Time, srtt: Duration) -> bool {
        let full = self.made == self.times.len();
        if full && now.since(self.times[self.next]) <= srtt {
            return false;
        }
        self.times[self.next] = now;
        self.next = (self.next + 1) % self.times.len();
        self.made = (self.made + 1).min(self.times.len());
        true
    }
}
