//! Frames of media: how late they come, and when the picture stands still.
//!
//! | number | what it is | source |
//! |---|---|---|
//! | delay | from a frame's creation until its sender knows that it arrived, less the empty way back | - |
//! | late | a frame that is not there [`LATE`] after its creation | ITU-T G.114 (05/2003), section 4 |
//! | freeze | no frame for three times the usual interval, and for 150 ms more than that interval | W3C "Identifiers for WebRTC's Statistics API", `freezeCount` |
//!
//! The sender knows by a report (RTP) or an acknowledgement (TCP). A queue on the way back, and a receiver that waits before it
//! acknowledges, are part of the delay, which is an upper bound there. A frame whose last data come after those of later frames
//! is shown when it comes: there is no playout buffer.

use windtunnel_units::{Bytes, Duration, Time};

use super::transfers::{TransferColumns, distribution};
use crate::application::{ApplicationConfig, Protocol};
use crate::network::{FlowSpec, Network, PathHop};
use crate::result::FrameSummary;

/// A frame that comes later is of no use in a conversation: network planning should not exceed 400 ms one way.
const LATE: Duration = Duration::from_millis(400);
/// A freeze is this much longer than the usual interval, at least.
const FREEZE: Duration = Duration::from_millis(150);

/// The frames of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Media {
    interval: Duration,
    /// From the receiver to the sender, on an empty path.
    way_back: Duration,
    /// Frames that are younger at the end of the run may still be under way: as many as would be made in this time, and are missing
    /// there, are not counted.
    settled_after: Duration,
}

impl Media {
    /// None for a flow without frames, or whose sender does not know what became of them.
    pub(super) fn of(flow: &FlowSpec, network: &Network) -> Option<Media> {
        let ApplicationConfig::Media(params) = &flow.application else { return None };
        let delay = |hop: &PathHop| match hop {
            PathHop::Delay(delay) => *delay,
            PathHop::Link(link) => network.links[*link].params.delay,
            PathHop::Element(_) => Duration::ZERO,
        };
        let way_back = flow.reverse.iter().map(delay).sum();
        let has_feedback = flow.application.protocol() != Protocol::Udp;
        has_feedback.then(|| Media {
            interval: params.frame_interval,
            way_back,
            settled_after: LATE + flow.base_rtt,
        })
    }

    /// The longest time between two frames that is no freeze.
    fn patience(&self) -> Duration {
        (self.interval * 3).max(self.interval + FREEZE)
    }

    /// The summary of `from..to` in a run that ended at `end`. Of the frames of `arrived`, in order of arrival, and of those that did
    /// not arrive, `written` were made in the span; a sender without losses counts none.
    pub(super) fn summary(
        &self,
        (from, to): (Time, Time),
        end: Time,
        written: u64,
        arrived: &[Frame],
    ) -> FrameSummary {
        let delay = |frame: &Frame| frame.known.since(frame.made).saturating_sub(self.way_back);
        let of_span: Vec<&Frame> = arrived.iter().filter(|f| f.made >= from && f.made < to).collect();
        let in_time = of_span.iter().filter(|frame| delay(frame) <= LATE).count() as u64;
        let young = Time::ZERO + end.since(Time::ZERO).saturating_sub(self.settled_after);
        let young_ones = to.since(young.clamp(from, to)).as_nanos().div_ceil(self.interval.as_nanos());
        let young_here = of_span.iter().filter(|frame| frame.made >= young).count() as u64;
        let written = written.max(of_span.len() as u64);
        let missing = written - of_span.len() as u64;
        let made = written - missing.min(young_ones.saturating_sub(young_here));
        let here: Vec<&Frame> = arrived.iter().filter(|f| f.known >= from && f.known < to).collect();
        let mut delays: Vec<f64> = here.iter().map(|frame| delay(frame).as_millis_f64()).collect();
        let (mut freezes, mut frozen, mut last) = (0, Duration::ZERO, None);
        let shown = here.iter().map(|frame| frame.known);
        for moment in shown.chain((!here.is_empty()).then_some(to)) {
            let waited = last.replace(moment).map_or(Duration::ZERO, |last: Time| moment.since(last));
            if waited >= self.patience() {
                freezes += 1;
                frozen += waited;
            }
        }
        let span = to.since(from);
        FrameSummary {
            made,
            late_ratio: (made > 0).then(|| (made - in_time) as f64 / made as f64),
            freezes,
            frozen_ratio: frozen.ratio(span),
            delay_ms: distribution(&mut delays),
            bitrate_mbps: here.iter().map(|frame| frame.size).sum::<Bytes>().as_f64() * 8e-6
                / span.as_secs_f64(),
        }
    }
}

/// A frame that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) made: Time,
    /// When its sender knew.
    pub(super) known: Time,
    pub(super) size: Bytes,
}

impl Frame {
    /// The frames of `flows` flows, in order of arrival. Only those of media are kept.
    pub(super) fn by_flow(
        columns: &TransferColumns,
        flows: usize,
        is_media: impl Fn(usize) -> bool,
    ) -> Vec<Vec<Frame>> {
        let mut frames = vec![Vec::new(); flows];
        for (row, flow) in columns.flow.iter().map(|flow| *flow as usize).enumerate() {
            if is_media(flow) {
                frames[flow].push(Frame {
                    made: time_of(columns.start_s[row]),
                    known: time_of(columns.end_s[row]),
                    size: Bytes::new(columns.size_bytes[row]),
                });
            }
        }
        frames
    }
}

/// The time that a column has in seconds, to the nanosecond again.
fn time_of(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 1000 bytes every 40 ms; their sender knows 50 ms after they arrived.
    const MEDIA: Media = Media {
        interval: Duration::from_millis(40),
        way_back: Duration::from_millis(50),
        settled_after: Duration::from_millis(500),
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn frame(made: u64, delay: u64) -> Frame {
        Frame { made: at(made), known: at(made + delay + 50), size: Bytes::new(1000) }
    }

    /// Five frames; the third never arrives, and the fourth comes 401 ms after it was made: two of five are late. Delays are
    /// those without the way back. 400 ms is in time.
    #[test]
    fn late_frames_are_those_that_come_after_400_ms_or_never() {
        let arrived = [frame(0, 60), frame(40, 400), frame(160, 390), frame(120, 401)];
        let s = MEDIA.summary((at(0), at(2000)), at(9000), 5, &arrived);
        assert_eq!(s.made, 5);
        assert!((s.late_ratio.unwrap() - 0.4).abs() < 1e-12);
        let delays = s.delay_ms.unwrap();
        assert!((delays.min - 60.0).abs() < 1e-9 && (delays.max - 401.0).abs() < 1e-9);
        assert!((s.bitrate_mbps - 4.0 * 8000.0 / 2e6).abs() < 1e-12);
    }

    /// At 25 frames a second, 190 ms (40 + 150) are a freeze, since that is longer than three intervals, and 189 ms are none. With
    /// frames every 100 ms, three intervals are longer.
    #[test]
    fn a_freeze_is_three_intervals_and_150_ms_more_than_one() {
        let of = |media: &Media, gap| {
            media.summary((at(0), at(500)), at(9000), 3, &[frame(0, 50), frame(gap, 50)])
        };
        assert_eq!(of(&MEDIA, 189).freezes, 1, "and the end: no frame from 289 to 500 ms");
        let both = of(&MEDIA, 190);
        assert_eq!(both.freezes, 2);
        assert!((both.frozen_ratio - (190.0 + 210.0) / 500.0).abs() < 1e-9);
        let slow = Media { interval: Duration::from_millis(100), ..MEDIA };
        assert_eq!([299, 300].map(|gap| of(&slow, gap).freezes), [0, 1]);
    }

    /// 2.04 s are no whole number of nanoseconds as a binary fraction: the time is still that at which a window may begin.
    #[test]
    fn times_of_columns_are_exact() {
        for ms in (0..100_000).step_by(20) {
            assert_eq!(time_of(at(ms).as_secs_f64()), at(ms));
        }
    }

    /// A frame each 40 ms for a second; the last five are under way when it ends: none of the other twenty is late. Fourteen
    /// missing ones would be too many for the last 500 ms: one of them was lost.
    #[test]
    fn the_end_of_a_run_accuses_no_frame() {
        let run = (at(0), at(1000));
        let first = |frames: u64| (0..frames).map(|k| frame(k * 40, 60)).collect::<Vec<Frame>>();
        let s = MEDIA.summary(run, at(1000), 25, &first(20));
        assert_eq!((s.made, s.late_ratio), (20, Some(0.0)));
        let s = MEDIA.summary(run, at(1000), 25, &first(11));
        assert_eq!(s.made, 12);
        assert!((s.late_ratio.unwrap() - 1.0 / 12.0).abs() < 1e-12);
        let s = MEDIA.summary(run, at(9000), 25, &first(20));
        assert_eq!((s.made, s.late_ratio), (25, Some(0.2)), "long before the end, what is missing was lost");
        assert_eq!(
            MEDIA.summary(run, at(1000), 0, &first(20)).made,
            20,
            "a sender without losses counts no frames"
        );
        assert_eq!(MEDIA.summary(run, at(1000), 0, &[]).late_ratio, None);
        assert!(MEDIA.summary(run, at(1000), 0, &[]).delay_ms.is_none());
    }
}
