//! Percentiles of times in bounded memory.
//!
//! The buckets of an HDR histogram (Tene): each power of two is divided into `2^PRECISION` buckets, and each value
//! below that has a bucket of its own. With 10 bits a bucket is at most 0.1 % wide, with 8 bits 0.4 %. Recording is a
//! shift and an increment: it happens twice per packet, and a general library took 5 % of a run. The sums that an
//! interval keeps anyway, its [`Extent`], are not kept twice.
//!
//! [`Buckets`] lie side by side, which is fastest: each queue has one set. Flows may be a million, and the round trips of
//! each cover a small part of the range, at first a few values: [`Pages`] holds only the parts in use.

use windtunnel_prefetch::prefetch;
use windtunnel_units::{Bytes, Duration};

use super::extent::Extent;
use crate::result::Percentiles;

/// The longest time that is distinguished: all times beyond 17 minutes count as one.
const HIGHEST: u64 = (1 << 40) - 1;

/// The number of times in each bucket: percentiles to one part in `2^PRECISION`.
#[derive(Clone, Debug)]
pub(crate) struct Buckets<const PRECISION: u32> {
    counts: Vec<u32>,
    /// Values are counted in units of two to this many nanoseconds.
    unit: u32,
}

impl<const PRECISION: u32> Buckets<PRECISION> {
    /// Distinguishes times down to `2^unit` ns.
    pub(crate) const fn new(unit: u32) -> Self {
        Buckets { counts: Vec::new(), unit }
    }

    /// The memory of all buckets up to `longest`.
    pub(crate) fn memory(unit: u32, longest: Duration) -> Bytes {
        let last = bucket_of::<PRECISION>(longest.as_nanos().min(HIGHEST) >> unit);
        Bytes::new(((last + 1).next_multiple_of(1 << PRECISION) * size_of::<u32>()) as u64)
    }

    #[inline]
    pub(crate) fn record(&mut self, time: Duration) {
        let bucket = bucket_of_time::<PRECISION>(time, self.unit);
        match self.counts.get_mut(bucket) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(bucket),
        }
    }

    /// Counts a value beyond all buckets so far.
    #[cold]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize((bucket + 1).next_multiple_of(1 << PRECISION), 0);
        self.counts[bucket] = 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// The distribution in milliseconds of the times of this `extent`, or nothing without a sample.
    pub(crate) fn percentiles(&self, extent: &Extent) -> Option<Percentiles> {
        percentiles::<PRECISION>(&self.counts.iter().copied().enumerate(), self.unit, extent)
    }
}

/// The number of times in each bucket, in pages of a sixteenth of a power of two. Values near the last one find their page
/// at once.
#[derive(Clone, Debug)]
pub(crate) struct Pages<const PRECISION: u32> {
    /// In the order of their numbers.
    used: Vec<Page>,
    /// The index of the page of the last value.
    open: u32,
    /// Values are counted in units of two to this many nanoseconds.
    unit: u32,
}

/// The buckets on a page: a sixteenth of a power of two at 8 bits of precision. Most flows of many have few round trips, and
/// all of these on one page.
const PER_PAGE: usize = 16;

/// Buckets that follow each other.
#[derive(Clone, Debug)]
struct Page {
    /// The first bucket, divided by the buckets of a page.
    number: u32,
    counts: [u32; PER_PAGE],
}

impl<const PRECISION: u32> Pages<PRECISION> {
    /// Distinguishes times down to `2^unit` ns.
    pub(crate) const fn new(unit: u32) -> Self {
        Pages { used: Vec::new(), open: 0, unit }
    }

    /// The memory of all pages for times from `shortest` to `longest`.
    pub(crate) fn memory(unit: u32, shortest: Duration, longest: Duration) -> Bytes {
        let page = |time| bucket_of_time::<PRECISION>(time, unit) / PER_PAGE;
        Bytes::new(((page(longest) + 1 - page(shortest.min(longest))) * size_of::<Page>()) as u64)
    }

    #[inline]
    pub(crate) fn record(&mut self, time: Duration) {
        let bucket = bucket_of_time::<PRECISION>(time, self.unit);
        let number = (bucket / PER_PAGE) as u32;
        if self.used.get(self.open as usize).is_none_or(|page| page.number != number) {
            self.turn_to(number);
        }
        let count = &mut self.used[self.open as usize].counts[bucket % PER_PAGE];
        *count = count.saturating_add(1);
    }

    /// Asks for the memory that a value near the last one needs.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(page) = self.used.get(self.open as usize) {
            prefetch(page);
        }
    }

    /// Opens the page `number`, which is blank if no value was on it.
    #[inline(never)]
    fn turn_to(&mut self, number: u32) {
        // A round trip is seldom far from the one before.
        let open = self.open as usize;
        for nearby in [open + 1, open.wrapping_sub(1)] {
            if self.used.get(nearby).is_some_and(|page| page.number == number) {
                self.open = nearby as u32;
                return;
            }
        }
        let position = self.used.binary_search_by_key(&number, |page| page.number);
        let index = position.unwrap_or_else(|index| {
            // With a million flows, unused room counts; a flow with many pages is busy.
            if self.used.len() == self.used.capacity() {
                self.used.reserve_exact(1 + self.used.len() / 2);
            }
            self.used.insert(index, Page { number, counts: [0; PER_PAGE] });
            index
        });
        self.open = index as u32;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for page in &other.used {
            self.turn_to(page.number);
            let mine = &mut self.used[self.open as usize].counts;
            for (mine, theirs) in mine.iter_mut().zip(&page.counts) {
                *mine = mine.saturating_add(*theirs);
            }
        }
    }

    /// The distribution in milliseconds of the times of this `extent`, or nothing without a sample.
    pub(crate) fn percentiles(&self, extent: &Extent) -> Option<Percentiles> {
        let of_page = |page: &Page| {
            let first = page.number as usize * PER_PAGE;
            page.counts.into_iter().enumerate().map(move |(offset, count)| (first + offset, count))
        };
        percentiles::<PRECISION>(&self.used.iter().flat_map(of_page), self.unit, extent)
    }
}

/// The distribution in milliseconds of the times of this `extent`, whose `counts` come as (bucket, number of times), in order;
/// nothing without a sample.
fn percentiles<const PRECISION: u32>(
    counts: &(impl Iterator<Item = (usize, u32)> + Clone),
    unit: u32,
    extent: &Extent,
) -> Option<Percentiles> {
    let total: u64 = counts.clone().map(|(_, count)| u64::from(count)).sum();
    // The value of nearest rank: the middle of its bucket, limited to the range seen.
    let quantile = |share: f64| {
        let rank = (share * total as f64).ceil() as u64;
        let mut seen = 0;
        let reached = |(_, count): &(usize, u32)| {
            seen += u64::from(*count);
            seen >= rank
        };
        let bucket = counts.clone().find(reached).map_or(0, |(bucket, _)| bucket);
        let (low, width) = bounds_of::<PRECISION>(bucket);
        let middle = (low << unit) + ((width << unit) - 1) / 2;
        middle.clamp(extent.min().as_nanos(), extent.max().as_nanos()) as f64 / 1e6
    };
    (extent.count() > 0).then(|| Percentiles {
        min: extent.min_ms(),
        mean: extent.mean_ms(),
        p50: quantile(0.50),
        p95: quantile(0.95),
        p99: quantile(0.99),
        max: extent.max_ms(),
    })
}

/// A distribution of times: exact sum, minimum and maximum, and percentiles.
#[derive(Clone, Debug)]
pub(crate) struct TimeHistogram<const PRECISION: u32> {
    buckets: Buckets<PRECISION>,
    extent: Extent,
}

impl<const PRECISION: u32> TimeHistogram<PRECISION> {
    /// Distinguishes times down to `2^unit` ns.
    pub(crate) const fn new(unit: u32) -> Self {
        TimeHistogram { buckets: Buckets::new(unit), extent: Extent::NONE }
    }

    /// Its memory with times up to `longest`.
    pub(crate) fn memory(unit: u32, longest: Duration) -> Bytes {
        Bytes::new(size_of::<Self>() as u64) + Buckets::<PRECISION>::memory(unit, longest)
    }

    #[inline]
    pub(crate) fn record(&mut self, time: Duration) {
        self.buckets.record(time);
        self.extent.add(time);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.buckets.merge(&other.buckets);
        self.extent.merge(&other.extent);
    }

    /// The number of times.
    pub(crate) const fn count(&self) -> u64 {
        self.extent.count()
    }

    /// The distribution in milliseconds, or nothing without a sample.
    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        self.buckets.percentiles(&self.extent)
    }
}

/// The bucket of a time, counted in units of `2^unit` ns.
#[inline]
fn bucket_of_time<const PRECISION: u32>(time: Duration, unit: u32) -> usize {
    bucket_of::<PRECISION>(time.as_nanos().min(HIGHEST) >> unit)
}

/// The bucket of a value.
#[inline]
const fn bucket_of<const PRECISION: u32>(value: u64) -> usize {
    // The shift that leaves the leading PRECISION + 1 bits of the value.
    let shift = (value | 1).ilog2().saturating_sub(PRECISION);
    ((shift as usize) << PRECISION) + (value >> shift) as usize
}

/// The lowest value of a bucket, and the number of values that it holds.
const fn bounds_of<const PRECISION: u32>(bucket: usize) -> (u64, u64) {
    let shift = (bucket >> PRECISION).saturating_sub(1);
    let leading = bucket - (shift << PRECISION);
    ((leading as u64) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Percentiles of 1..=1000 ms by nearest rank, within the stated 0.1 %.
    #[test]
    fn percentiles_of_a_known_distribution() {
        for unit in [0, 10] {
            let mut h = TimeHistogram::<10>::new(unit);
            for ms in 1..=1000 {
                h.record(Duration::from_millis(ms));
            }
            let p = h.percentiles().unwrap();
            for (got, want) in [
                (p.min, 1.0),
                (p.mean, 500.5),
                (p.p50, 500.0),
                (p.p95, 950.0),
                (p.p99, 990.0),
                (p.max, 1000.0),
            ] {
                assert!((got - want).abs() <= want * 1e-3, "{got} for {want}");
            }
        }
    }

    proptest! {
        /// Every value is in its bucket, a bucket is at most 0.1 % wide, and buckets are in order.
        #[test]
        fn buckets_hold_their_values(value in 0_u64..=HIGHEST) {
            let bucket = bucket_of::<10>(value);
            let (low, width) = bounds_of::<10>(bucket);
            prop_assert!(low <= value && value < low + width);
            prop_assert!(width == 1 || width * 1000 <= low);
            prop_assert_eq!(bucket_of::<10>(low + width), bucket + 1);
        }

        /// Whatever the values and their order, pages give the percentiles that buckets side by side give, merged or not.
        #[test]
        fn pages_are_buckets(values in prop::collection::vec(0_u64..1 << 41, 1..50), cut in 0_usize..50) {
            let mut all = TimeHistogram::<8>::new(10);
            let mut parts = [Pages::<8>::new(10), Pages::<8>::new(10)];
            for (i, v) in values.iter().enumerate() {
                all.record(Duration::from_nanos(*v));
                parts[usize::from(i >= cut)].record(Duration::from_nanos(*v));
            }
            let [mut first, second] = parts;
            first.merge(&second);
            prop_assert!(first.used.is_sorted_by(|a, b| a.number < b.number));
            let got = first.percentiles(&all.extent);
            prop_assert_eq!(format!("{got:?}"), format!("{:?}", all.percentiles()));
        }

        /// Two halves merged equal the whole.
        #[test]
        fn merging_is_recording(values in prop::collection::vec(0_u64..1 << 41, 1..50), cut in 0_usize..50) {
            let mut whole = TimeHistogram::<8>::new(0);
            let mut parts = [TimeHistogram::<8>::new(0), TimeHistogram::<8>::new(0)];
            for (i, v) in values.iter().enumerate() {
                whole.record(Duration::from_nanos(*v));
                parts[usize::from(i >= cut)].record(Duration::from_nanos(*v));
            }
            let [mut first, second] = parts;
            first.merge(&second);
            prop_assert_eq!(format!("{:?}", first.percentiles()), format!("{:?}", whole.percentiles()));
        }
    }
}
