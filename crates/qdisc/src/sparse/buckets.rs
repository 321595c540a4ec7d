//! Rules that know a sparse flow by its rate or by its code point, and the policer of the low-latency queue
//! (spec/queues-and-signalling section 12).

use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, FlowId, Packet};

use super::{Gone, SparseRule};
use crate::accounts::QueueCx;
use crate::flows::Classifier;

/// A token bucket holds at least two packets of full size: a shallower one would let none of them pass.
const LEAST_DEPTH: f64 = 3_000.0;

/// A token bucket, full at first.
#[derive(Clone, Copy, Debug, Default)]
struct TokenBucket {
    /// Bytes that are missing.
    owed: f64,
    at: Time,
}

impl TokenBucket {
    /// Whether a packet of `size` conforms to `rate` (bytes per second) and `depth` (bytes); if so, it pays.
    fn conforms(&mut self, size: Bytes, now: Time, rate: f64, depth: f64) -> bool {
        self.owed = (self.owed - rate * now.since(self.at).as_secs_f64()).max(0.0);
        self.at = now;
        let conforms = self.owed + size.as_f64() <= depth;
        if conforms {
            self.owed += size.as_f64();
        }
        conforms
    }
}

/// A rate: a part of the link's, or fixed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Share {
    OfLink(f64),
    Fixed(Rate),
}

impl Share {
    /// In bytes per second.
    fn bytes(self, link: Rate) -> f64 {
        match self {
            Share::OfLink(share) => link.bits_per_sec() as f64 / 8.0 * share,
            Share::Fixed(rate) => rate.bits_per_sec() as f64 / 8.0,
        }
    }
}

/// A flow is sparse as far as it keeps to a rate.
#[derive(Debug)]
pub(crate) struct RateRule {
    classifier: Classifier,
    buckets: Vec<TokenBucket>,
    share: Share,
}

impl RateRule {
    pub(crate) fn new(classifier: Classifier, share: Share) -> RateRule {
        RateRule { classifier, buckets: Vec::new(), share }
    }
}

impl SparseRule for RateRule {
    fn is_sparse(&mut self, packet: &Packet, cx: &QueueCx) -> bool {
        let flow = self.classifier.band_of(packet.flow);
        if flow == self.buckets.len() {
            self.buckets.push(TokenBucket { owed: 0.0, at: cx.now });
        }
        self.buckets[flow].conforms(packet.size(), cx.now, self.share.bytes(cx.rate), LEAST_DEPTH)
    }
}

/// A packet's code point says that its flow is sparse.
#[derive(Debug)]
pub(crate) struct DscpRule(pub(crate) Dscp);

impl SparseRule for DscpRule {
    fn is_sparse(&mut self, packet: &Packet, _cx: &QueueCx) -> bool {
        packet.dscp == self.0
    }
}

/// A rule within a token bucket for all sparse flows together: what does not conform is not sparse.
#[derive(Debug)]
pub(crate) struct Policed<R> {
    rule: R,
    share: Share,
    depth: Duration,
    bucket: TokenBucket,
    /// Packets that were sparse by the rule and did not conform.
    exceeding: u64,
}

impl<R> Policed<R> {
    pub(crate) fn new(rule: R, share: Share, depth: Duration) -> Policed<R> {
        Policed { rule, share, depth, bucket: TokenBucket::default(), exceeding: 0 }
    }
}

impl<R: SparseRule> SparseRule for Policed<R> {
    fn is_sparse(&mut self, packet: &Packet, cx: &QueueCx) -> bool {
        if !self.rule.is_sparse(packet, cx) {
            return false;
        }
        let rate = self.share.bytes(cx.rate);
        let depth = (rate * self.depth.as_secs_f64()).max(LEAST_DEPTH);
        let conforms = self.bucket.conforms(packet.size(), cx.now, rate, depth);
        self.exceeding += u64::from(!conforms);
        conforms
    }

    fn stored(&mut self, flow: FlowId, band: usize) {
        self.rule.stored(flow, band);
    }

    fn left(&mut self, gone: Gone) {
        self.rule.left(gone);
    }

    fn bulk_turn(&mut self) {
        self.rule.bulk_turn();
    }

    /// `owed_bytes` is as the last packet left it that was asked for.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("owed_bytes", self.bucket.owed);
        out("exceeding", self.exceeding as f64);
        self.rule.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 MB/s and 3000 B: two packets of 1500 B at once, then one each 1.5 ms; a long pause fills no more than the
    /// bucket.
    #[test]
    fn conformance() {
        let mut bucket = TokenBucket::default();
        let mut asks = |us: u64| bucket.conforms(Bytes::new(1_500), Time::from_nanos(us * 1_000), 1e6, 3e3);
        assert_eq!([0, 0, 0, 1_499, 1_500, 1_501].map(&mut asks), [true, true, false, false, true, false]);
        assert_eq!([1_000_000, 1_000_000, 1_000_000].map(asks), [true, true, false]);
    }

    /// One per cent of a link of 8 Mbit/s is 10 kB/s, and so is 80 kbit/s, whatever the link.
    #[test]
    fn shares_in_bytes() {
        let link = Rate::from_mbps(8);
        for share in [Share::OfLink(0.01), Share::Fixed(Rate::from_bits_per_sec(80_000))] {
            assert!((share.bytes(link) - 1e4).abs() < 1e-9, "{share:?}");
        }
    }
}
