//! Samples of the delivery rate (draft-ietf-ccwg-bbr section 4.1; spec/congestion-control section 1.17).
//!
//! Each segment remembers, from its latest transmission, how much had been delivered by then. When it is delivered,
//! the amount delivered in between divided by the time that this took is the rate at which the path delivers. That
//! time is the longer of two: the time between the transmissions of the data (otherwise a burst would be mistaken for
//! the rate), and the time between their ACKs (otherwise ACKs that come in a burst would).
//!
//! While the application has nothing to send, the rate is the application's own: samples are marked as such until the
//! data in flight at that time have been delivered.

use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::sample::{Departure, RateSample};

/// The sample of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The rate, if the sample is reliable.
    pub rate: Option<RateSample>,
    /// A packet-timed round starts: data sent after the start of the last one have been delivered.
    pub round_start: bool,
}

/// The connection's delivery counters when a segment was (last) sent, for the delivery-rate sample
/// (draft-ietf-ccwg-bbr section 4.1.2.2). The sender keeps it with the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes delivered.
    delivered: Bytes,
    /// When the last of these bytes were delivered.
    delivered_time: Time,
    /// The transmission time of the segment that provided the newest sample.
    first_sent: Time,
    /// Bytes in flight including this segment; the top bit: the application limited the sender.
    in_flight: u32,
    /// The low half of the bytes found to be lost: differences are exact below 4 GiB.
    lost: u32,
}

const APP_LIMITED: u32 = 1 << 31;

impl Snapshot {
    /// The counters at a transmission; `in_flight` includes the segment.
    #[inline]
    fn new(
        delivered: Bytes,
        delivered_time: Time,
        first_sent: Time,
        in_flight: Bytes,
        app_limited: bool,
        lost: Bytes,
    ) -> Snapshot {
        let in_flight = in_flight.get().min(u64::from(APP_LIMITED - 1)) as u32;
        Snapshot {
            delivered,
            delivered_time,
            first_sent,
            in_flight: in_flight | if app_limited { APP_LIMITED } else { 0 },
            lost: lost.get() as u32,
        }
    }

    /// The counters as a controller sees them, for a segment that left at `sent`; `lost` is the current count.
    pub fn departure(&self, sent: Time, lost: Bytes) -> Departure {
        Departure {
            sent,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            lost: lost - self.lost_since(lost),
            app_limited: self.app_limited(),
        }
    }

    /// Bytes found lost since then, where `lost` is the current total.
    fn lost_since(&self, lost: Bytes) -> Bytes {
        Bytes::new(u64::from((lost.get() as u32).wrapping_sub(self.lost)))
    }

    /// Bytes in flight including the segment.
    fn in_flight(&self) -> Bytes {
        Bytes::new(u64::from(self.in_flight & !APP_LIMITED))
    }

    /// The application, not cwnd, limited the sender.
    const fn app_limited(&self) -> bool {
        self.in_flight & APP_LIMITED != 0
    }
}

/// The segment that provides an ACK's sample: the latest one sent among those that it delivered.
#[derive(Clone, Copy, Debug)]
struct Sampled {
    sent: Time,
    end: Seq,
    snapshot: Snapshot,
}

/// The sampler's state.
#[derive(Debug, Default)]
pub struct RateSampler {
    /// The controller asked for samples; the latest rate is kept in any case.
    wanted: bool,
    delivered: Bytes,
    delivered_time: Time,
    /// Bytes found to be lost.
    lost: Bytes,
    /// The transmission time of the segment that provided the latest sample.
    first_sent: Time,
    /// Samples are limited by the application until more than this is delivered.
    app_limited: Option<Bytes>,
    next_round_delivered: Bytes,
    sampled: Option<Sampled>,
    /// The bytes and the time whose quotient is [`RateSampler::latest`], which is seldom asked for. Zero before the
    /// first sample.
    latest: (Bytes, Duration),
}

impl RateSampler {
    /// A sampler that produces samples for ACKs if they are `wanted`.
    pub fn new(wanted: bool) -> RateSampler {
        RateSampler { wanted, ..RateSampler::default() }
    }

    /// A segment leaves, for the first time or again; `in_flight` was in the network before it. The snapshot is
    /// stored with the segment.
    #[inline]
    pub fn on_sent(&mut self, now: Time, payload: Bytes, in_flight: Bytes) -> Snapshot {
        if in_flight == Bytes::ZERO {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Snapshot::new(
            self.delivered,
            self.delivered_time,
            self.first_sent,
            in_flight + payload,
            self.app_limited.is_some(),
            self.lost,
        )
    }

    /// Data were found lost.
    pub fn on_lost(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    /// The ACK delivered the segment up to `end`, which left at `sent`.
    #[inline]
    pub fn on_delivered(&mut self, sent: Time, end: Seq, snapshot: &Snapshot) {
        let later = |sampled: &Sampled| (sent, end) > (sampled.sent, sampled.end);
        if self.sampled.as_ref().is_none_or(later) {
            self.sampled = Some(Sampled { sent, end, snapshot: *snapshot });
        }
    }

    /// The whole ACK has been processed: it newly delivered `delivered`.
    pub fn finish(&mut self, now: Time, delivered: Bytes, min_rtt: Duration) -> Sample {
        if delivered > Bytes::ZERO {
            self.delivered += delivered;
            self.delivered_time = now;
        }
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        let Some(Sampled { sent, snapshot, .. }) = self.sampled.take() else { return Sample::default() };
        self.first_sent = sent;
        let round_start = snapshot.delivered >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = self.delivered;
        }
        let interval = sent.since(snapshot.first_sent).max(now.since(snapshot.delivered_time));
        if interval < min_rtt || interval.is_zero() {
            return Sample { rate: None, round_start };
        }
        let delivered = self.delivered - snapshot.delivered;
        if !snapshot.app_limited() || Rate::of(delivered, interval) >= self.latest_rate() {
            self.latest = (delivered, interval);
        }
        let rate = self.wanted.then(|| RateSample {
            rate: Rate::of(delivered, interval),
            interval,
            delivered,
            lost: snapshot.lost_since(self.lost),
            departure: snapshot.departure(sent, self.lost),
        });
        Sample { rate, round_start }
    }

    /// The application has less than a segment to send, cwnd has room, and all lost segments were retransmitted.
    pub fn on_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited = Some((self.delivered + in_flight).max(Bytes::new(1)));
    }

    /// The rate of the latest sample. One that the application limited counts only if it is not lower (Linux
    /// `net/ipv4/tcp_rate.c`, `tcp_rate_gen`).
    pub fn latest(&self) -> Option<Rate> {
        Some(self.latest_rate()).filter(|rate| *rate != Rate::ZERO)
    }

    fn latest_rate(&self) -> Rate {
        let (delivered, interval) = self.latest;
        Rate::of(delivered, interval)
    }

    /// Bytes delivered since the connection started.
    pub const fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Bytes found to be lost since the connection started.
    pub const fn lost(&self) -> Bytes {
        self.lost
    }

    /// From now on the rate of the data sent is the application's.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }
}
