//! What arrived, was lost and was marked in the last `LOGWIN` (section 5.1.4), in bins of 20 ms, so that memory is bounded at any
//! rate.

use windtunnel_units::{Bytes, Duration, Time};

/// `LOGWIN`: 500 ms.
const BINS: usize = 25;
const BIN: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    bytes: Bytes,
    packets: u64,
    lost: u64,
    marked: u64,
    /// The largest queueing delay, in seconds.
    queued: f64,
}

/// The last `LOGWIN`.
#[derive(Debug)]
pub(super) struct Log {
    bins: [Bin; BINS],
    /// The number of the present bin since the start of time.
    now: u64,
    /// When the first packet arrived.
    since: Option<Time>,
}

impl Log {
    pub(super) fn new() -> Log {
        Log { bins: [Bin::default(); BINS], now: 0, since: None }
    }

    /// Bins that are older than `LOGWIN` are emptied.
    pub(super) fn advance(&mut self, now: Time) {
        let number = now.since_start().as_nanos() / BIN.as_nanos();
        let passed = number.saturating_sub(self.now).min(BINS as u64);
        for k in 0..passed {
            self.bins[((number - k) % BINS as u64) as usize] = Bin::default();
        }
        self.now = self.now.max(number);
    }

    fn present(&mut self) -> &mut Bin {
        &mut self.bins[(self.now % BINS as u64) as usize]
    }

    /// Data arrived, some of it marked.
    pub(super) fn arrived(&mut self, bytes: Bytes, packets: u32, marked: u32, now: Time) {
        self.since.get_or_insert(now);
        let bin = self.present();
        bin.bytes += bytes;
        bin.packets += u64::from(packets);
        bin.marked += u64::from(marked);
    }

    /// A packet was lost.
    pub(super) fn lost(&mut self) {
        self.present().lost += 1;
    }

    /// A queueing delay was measured.
    pub(super) fn queued(&mut self, seconds: f64) {
        let bin = self.present();
        bin.queued = bin.queued.max(seconds);
    }

    fn sum(&self, of: impl Fn(&Bin) -> u64) -> f64 {
        self.bins.iter().map(of).sum::<u64>() as f64
    }

    /// Shares of packets that were lost, and that were marked of those that arrived.
    pub(super) fn shares(&self) -> (f64, f64) {
        let (packets, lost) = (self.sum(|bin| bin.packets), self.sum(|bin| bin.lost));
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        (share(lost, packets + lost), share(self.sum(|bin| bin.marked), packets))
    }

    /// `r_recv`, in bits per second: over `LOGWIN`, or since the start.
    pub(super) fn rate(&self, now: Time) -> f64 {
        let Some(since) = self.since else { return 0.0 };
        let span = now.since(since).min(BIN * BINS as u64).max(BIN);
        8.0 * self.sum(|bin| bin.bytes.get()) / span.as_secs_f64()
    }

    /// Nothing was lost, and no queue was longer than `most` seconds.
    pub(super) fn is_calm(&self, most: f64) -> bool {
        self.bins.iter().all(|bin| bin.lost == 0 && bin.queued < most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// 1000 bytes each 10 ms are 800 kbit/s, also before half a second is over; two of a hundred are lost; after a pause of half
    /// a second everything is forgotten.
    #[test]
    fn the_last_half_second() {
        let mut log = Log::new();
        for n in 0..100 {
            log.advance(at(10 * n));
            log.arrived(Bytes::new(1000), 1, u32::from(n % 10 == 0), at(10 * n));
            log.queued(if n == 40 { 0.02 } else { 0.001 });
            if n == 19 {
                assert!((log.rate(at(200)) - 800e3).abs() < 1.0, "{}", log.rate(at(200)));
            }
        }
        log.lost();
        assert!((log.rate(at(1000)) / 800e3 - 1.0).abs() < 0.05, "{}", log.rate(at(1000)));
        let (lost, marked) = log.shares();
        assert!((lost - 1.0 / 51.0).abs() < 1e-9 && (marked - 0.1).abs() < 1e-9, "{lost}, {marked}");
        assert!(!log.is_calm(0.01));
        log.advance(at(1600));
        assert_eq!(log.shares(), (0.0, 0.0));
        assert!(log.is_calm(0.01));
    }
}
