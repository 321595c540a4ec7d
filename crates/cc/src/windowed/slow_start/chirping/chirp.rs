//! A chirp: segments that leave ever faster, and what their round trips tell about the capacity.

use windtunnel_units::{Duration, Seq, Time};

/// The largest number of segments of a chirp.
pub(super) const MOST: usize = 16;
/// The least number of segments in an excursion of the queue that counts.
const EXCURSION: usize = 5;
/// An excursion lasts while the queue stays above this share of its peak.
const SHARE: f64 = 0.625;

/// The gaps of a chirp of some number of segments around a mean gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    first: Duration,
    step: Duration,
    segments: usize,
}

impl Geometry {
    /// The first gap is `ratio` times the mean one.
    pub(super) fn new(ratio: f64, mean: Duration, segments: usize) -> Geometry {
        let step = mean.scale(2.0 * (ratio - 1.0) / segments as f64);
        Geometry { first: mean.scale(ratio), step, segments }
    }

    pub(super) const fn segments(&self) -> usize {
        self.segments
    }

    /// The gap before segment `index`, from 1 on.
    pub(super) fn gap(&self, index: usize) -> Duration {
        self.first.saturating_sub(self.step * (index as u64 - 1))
    }

    /// The sum of the gaps.
    pub(super) fn length(&self) -> Duration {
        (1..self.segments).map(|index| self.gap(index)).fold(Duration::ZERO, |sum, gap| sum + gap)
    }
}

/// A chirp that was sent at least in part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chirp {
    pub(super) segments: usize,
    sent: [Time; MOST],
    ends: [Seq; MOST],
    departed: usize,
    round_trips: [Duration; MOST],
    acked: usize,
}

impl Chirp {
    pub(super) const fn new(segments: usize) -> Chirp {
        Chirp {
            segments,
            sent: [Time::ZERO; MOST],
            ends: [Seq::SYN; MOST],
            departed: 0,
            round_trips: [Duration::ZERO; MOST],
            acked: 0,
        }
    }

    /// The next segment left; it ends at `end`. True if it was the last.
    pub(super) fn on_sent(&mut self, end: Seq, now: Time) -> bool {
        (self.sent[self.departed], self.ends[self.departed]) = (now, end);
        self.departed += 1;
        self.departed == self.segments
    }

    /// Everything below `una` is acknowledged. True if that is the whole chirp.
    pub(super) fn on_ack(&mut self, una: Seq, now: Time) -> bool {
        while self.acked < self.departed && self.ends[self.acked] <= una {
            self.round_trips[self.acked] = now - self.sent[self.acked];
            self.acked += 1;
        }
        self.acked == self.segments
    }

    /// True once its first segment is acknowledged.
    pub(super) const fn is_heard(&self) -> bool {
        self.acked > 0
    }

    /// The gap before a segment; the first one has that of the second.
    fn gap(&self, index: usize) -> Duration {
        let index = index.max(1);
        self.sent[index] - self.sent[index - 1]
    }

    /// The time that the bottleneck takes for a segment, by the queue that the chirp built.
    pub(super) fn estimate(&self) -> Duration {
        service(&self.round_trips[..self.segments], |index| self.gap(index))
    }
}

/// The mean of the gaps at which the queue grew, by the round trips of the segments of a chirp and the gaps before them.
fn service(round_trips: &[Duration], gap: impl Fn(usize) -> Duration) -> Duration {
    let count = round_trips.len();
    let rises = |index: usize| index + 1 < count && round_trips[index] < round_trips[index + 1];
    let mut estimates = [None; MOST];
    let mut rest = gap(count - 1);
    let mut start = 0;
    while start + 1 < count {
        if !rises(start) {
            start += 1;
            continue;
        }
        let end = end_of_excursion(round_trips, start);
        if end == count {
            rest = gap(start);
            estimates[start..count].fill(Some(rest));
        } else if end - start >= EXCURSION {
            for index in (start..end).filter(|index| rises(*index)) {
                estimates[index] = Some(gap(index));
            }
        }
        start = end;
    }
    let sum = estimates[1..count].iter().map(|estimate| estimate.unwrap_or(rest));
    sum.fold(Duration::ZERO, |sum, estimate| sum + estimate) / (count as u64 - 1)
}

/// The first segment after an excursion that starts at `start`; the number of segments if it lasts to the end.
fn end_of_excursion(round_trips: &[Duration], start: usize) -> usize {
    let mut peak = Duration::ZERO;
    for (index, round_trip) in round_trips.iter().enumerate().skip(start + 1) {
        let queued = round_trip.saturating_sub(round_trips[start]);
        peak = peak.max(queued);
        if queued <= peak.scale(SHARE) {
            return index;
        }
    }
    round_trips.len()
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Bytes;

    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// spec/congestion-control section 2.5: gamma 2, 16 segments, a mean of 200 us.
    #[test]
    fn geometry() {
        let chirp = Geometry::new(2.0, us(200), 16);
        let gaps: Vec<Duration> = (1..16).map(|index| chirp.gap(index)).collect();
        let expected: Vec<Duration> = (0..15).map(|index| us(400 - 25 * index)).collect();
        assert_eq!((gaps, chirp.length()), (expected, us(3375)));
    }

    /// A link that takes 200 us for a segment, and the chirp of above: from the ninth gap, of 200 us, on the queue grows to the
    /// end, which shows the gap before the last segment that still met no queue. The eight gaps before it are no estimates.
    #[test]
    fn a_link() {
        let chirp = Geometry::new(2.0, us(200), 16);
        let (mut now, mut free) = (Duration::ZERO, Duration::ZERO);
        let round_trips: Vec<Duration> = (0..16)
            .map(|index| {
                now += if index == 0 { Duration::ZERO } else { chirp.gap(index) };
                free = free.max(now) + us(200);
                free - now
            })
            .collect();
        assert_eq!(service(&round_trips, |index| chirp.gap(index.max(1))), us(200));
    }

    /// spec/congestion-control section 2.5, by hand. The gaps before segments 1 to 9 are 90, 80, ... 10 us, and a
    /// segment without an estimate counts with the last one. Of an excursion of five or more segments, those count
    /// with their own gap behind which the queue still grows; a shorter one counts for nothing. It ends where the
    /// queue falls to 0.625 of its peak.
    #[test]
    fn excursions() {
        let gaps = [0, 90, 80, 70, 60, 50, 40, 30, 20, 10];
        for (queue, sum) in [
            // Behind 1, 3 and 5 it grows; behind 2 it stays and behind 4 it falls.
            ([0, 10, 20, 20, 30, 28, 40, 5, 5, 5], 90 + 70 + 50 + 6 * 10),
            // Five segments, 2 to 6: the queue grows behind 2, 3, 4 and 5.
            ([0, 0, 0, 10, 20, 30, 40, 25, 0, 0], 80 + 70 + 60 + 50 + 5 * 10),
            // Four segments.
            ([0, 0, 0, 0, 10, 20, 30, 5, 5, 5], 9 * 10),
            // The first one counts with its own gaps; the last one, from 7 on, does not end: all of it has the gap
            // there, and so have those without an estimate.
            ([0, 10, 20, 30, 40, 50, 5, 5, 20, 30], 90 + 80 + 70 + 60 + 5 * 30),
        ] {
            let round_trips = queue.map(|queued| us(1000 + queued));
            assert_eq!(service(&round_trips, |index| us(gaps[index])), us(sum) / 9, "{queue:?}");
        }
    }

    /// The estimate is made of the times at which segments left and were acknowledged. An ACK of two segments is that
    /// of each. Here the queue grows behind the third segment to the end, and 80 us before it are the estimate.
    #[test]
    fn departures_and_acks_make_the_estimate() {
        let at = |us: u64| Time::from_nanos(us * 1000);
        let end = |index: u64| Seq::FIRST_DATA + Bytes::new(1000 * (index + 1));
        let mut chirp = Chirp::new(5);
        for (index, departure) in (0..).zip([0, 90, 170, 240, 300]) {
            assert_eq!(chirp.on_sent(end(index), at(departure)), index == 4);
        }
        assert!(!chirp.on_ack(Seq::FIRST_DATA, at(500)) && !chirp.is_heard());
        assert!(!chirp.on_ack(end(1), at(1090)) && chirp.is_heard());
        assert!(!chirp.on_ack(end(2), at(1170)));
        assert!(!chirp.on_ack(end(3), at(1350)));
        assert!(chirp.on_ack(end(4), at(1500)));
        assert_eq!(chirp.round_trips[..5], [1090, 1000, 1000, 1110, 1200].map(us));
        assert_eq!([0, 1, 4].map(|index| chirp.gap(index)), [90, 90, 60].map(us));
        assert_eq!(chirp.estimate(), us(80));
    }
}
