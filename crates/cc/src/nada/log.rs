//! What arrived, was lost and was marked in the last `LOGWIN` (section 5.1), in bins of 20 ms, so that memory is bounded at any
//! rate.

use windtunnel_units::{Bytes, Duration, Time};

const BINS: usize = 25;
const BIN: Duration = Duration::from_millis(20);
/// `LOGWIN`.
pub(super) const LOGWIN: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// When its first report came, and the bytes that this told of.
    first: Option<(Time, Bytes)>,
    bytes: Bytes,
    packets: u64,
    lost: u64,
    marked: u64,
    /// The largest queueing delay.
    queued: Duration,
}

/// The last `LOGWIN`.
#[derive(Debug)]
pub(super) struct Log {
    bins: [Bin; BINS],
    /// The number of the present bin since the start of time.
    now: u64,
    /// When the last report came.
    last: Time,
}

impl Log {
    pub(super) fn new() -> Log {
        Log { bins: [Bin::default(); BINS], now: 0, last: Time::ZERO }
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

    /// A report came: data arrived.
    pub(super) fn arrived(&mut self, bytes: Bytes, packets: u32, now: Time) {
        self.last = now;
        let bin = self.present();
        bin.first.get_or_insert((now, bytes));
        bin.bytes += bytes;
        bin.packets += u64::from(packets);
    }

    /// Packets that arrived were marked.
    pub(super) fn marked(&mut self, packets: u32) {
        self.present().marked += u64::from(packets);
    }

    /// A packet was lost.
    pub(super) fn lost(&mut self) {
        self.present().lost += 1;
    }

    /// A queueing delay was measured.
    pub(super) fn queued(&mut self, delay: Duration) {
        let bin = self.present();
        bin.queued = bin.queued.max(delay);
    }

    fn sum(&self, of: impl Fn(&Bin) -> u64) -> f64 {
        self.bins.iter().map(of).sum::<u64>() as f64
    }

    /// Shares of packets that were lost, and that were marked of those that arrived.
    pub(super) fn shares(&self) -> (f64, f64) {
        let (packets, lost) = (self.sum(|bin| bin.packets), self.sum(|bin| bin.lost));
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        (share(lost, packets + lost), share(self.sum(|bin| bin.marked), packets).min(1.0))
    }

    /// `r_recv`, in bits per second: what came after the first report, over the time from that one to the last. Zero if there is
    /// one report or none.
    pub(super) fn rate(&self) -> f64 {
        let firsts = self.bins.iter().filter_map(|bin| bin.first);
        let Some((start, bytes)) = firsts.min_by_key(|(at, _)| *at) else { return 0.0 };
        let span = self.last.since(start).as_secs_f64();
        if span > 0.0 { 8.0 * (self.sum(|bin| bin.bytes.get()) - bytes.as_f64()) / span } else { 0.0 }
    }

    /// Nothing was lost, and every queueing delay was less than `qeps`.
    pub(super) fn is_calm(&self, qeps: Duration) -> bool {
        self.bins.iter().all(|bin| bin.lost == 0 && bin.queued < qeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QEPS: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// 1000 bytes each 10 ms are 800 kbit/s, from the second report on and after half a second is over, also while the present bin
    /// is not full; one of fifty is lost and each tenth is marked; after a pause of half a second everything is forgotten.
    #[test]
    fn the_last_half_second() {
        let mut log = Log::new();
        for n in 0..100 {
            log.advance(at(10 * n + 3));
            log.arrived(Bytes::new(1000), 1, at(10 * n + 3));
            log.marked(u32::from(n % 10 == 0));
            log.queued(Duration::from_millis(if n == 90 { 20 } else { 1 }));
            let expected = if n == 0 { 0.0 } else { 800e3 };
            assert!((log.rate() - expected).abs() < 1e-6, "{}", log.rate());
        }
        log.lost();
        let (lost, marked) = log.shares();
        assert!((lost - 1.0 / 51.0).abs() < 1e-9 && (marked - 0.1).abs() < 1e-9, "{lost}, {marked}");
        assert!(!log.is_calm(QEPS) && !log.is_calm(Duration::SECOND), "a queue, and a loss");
        log.advance(at(1490));
        assert_eq!(log.shares(), (0.0, 0.0));
        assert!(log.is_calm(QEPS) && log.rate() <= 0.0);
    }

    /// A queueing delay counts until it is half a second old.
    #[test]
    fn a_queue_is_remembered() {
        let mut log = Log::new();
        log.advance(at(100));
        log.queued(QEPS);
        for (ms, calm) in [(100, false), (579, false), (600, true)] {
            log.advance(at(ms));
            assert_eq!(log.is_calm(QEPS), calm, "{ms} ms");
        }
        assert!(BIN * BINS as u64 == LOGWIN);
    }
}
