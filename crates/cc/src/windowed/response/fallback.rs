//! The fallback test of MDS senders: windtunnel's proposal (spec/mds section 9), not a part of the MDS document.
//!
//! An MDS sender whose SCE are lost behind the queue hears nothing until the queue marks its packets CE, which it does only
//! when SCE would come at the packet rate. Conventional flows get CE at 1/tau of that rate long before, and starve. The
//! sender cannot see the marks, but it sees the congestion that they should have told of. So the test counts the round
//! trips that show congestion, by their delay or by CE, since the last SCE. At `fallback` of them the sender gives up the MDS
//! identifier for the rest of the connection. Its packets are then conventional ones to every queue, and get CE as those
//! do. A round trip that shows no congestion does not count; it proves nothing, so it does not start the count anew either.
//!
//! The delay is srtt above the minimum RTT. Its bound of 10 ms is twice the burst of 5 ms, within which MDS queues aim to keep the
//! delay. A queue with that burst signals 10 ms of delay at 400 Hz or more (DelTiM: `R^2 e` with R = 200/s), which is several
//! SCE in each round trip to a sender that has a fair share of the packets.

use std::num::NonZeroU32;

use windtunnel_units::{Duration, Seq};

use crate::sample::{Delivery, PathView};

/// The delay above the minimum RTT that shows congestion.
const DELAYED_ABOVE: Duration = Duration::from_millis(10);

/// The state of the test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fallback {
    /// Congested round trips since the last SCE after which the sender is conventional.
    rounds: NonZeroU32,
    /// How many there were until now.
    silent: u32,
    /// SND.NXT when the present round trip began.
    round_end: Seq,
    /// SCE was echoed in the present round trip.
    sce: bool,
    /// CE was echoed in the present round trip.
    ce: bool,
}

impl Fallback {
    /// The round trip of the handshake, which carries no data to mark, shows nothing.
    pub(super) const fn new(rounds: NonZeroU32) -> Fallback {
        Fallback { rounds, silent: 0, round_end: Seq::FIRST_DATA, sce: true, ce: false }
    }

    /// True from the end of the last round trip that the test allows.
    pub(super) const fn has_fallen_back(&self) -> bool {
        self.silent >= self.rounds.get()
    }

    /// Congested round trips since the last SCE.
    pub(super) const fn silent(&self) -> u32 {
        self.silent
    }

    /// An ACK delivered data. A round trip ends with the ACK of all that was sent when it began.
    pub(super) fn on_delivery(&mut self, delivery: &Delivery, path: &PathView) {
        if self.has_fallen_back() {
            return;
        }
        self.sce |= delivery.ecn.sce.any();
        self.ce |= delivery.ecn.ce.any();
        if path.una < self.round_end {
            return;
        }
        let delayed = path.srtt.saturating_sub(path.min_rtt) > DELAYED_ABOVE;
        if self.sce {
            self.silent = 0;
        } else if delayed || self.ce {
            self.silent += 1;
        }
        self.round_end = path.nxt;
        (self.sce, self.ce) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{EcnFeedback, Marked};
    use windtunnel_units::Bytes;

    /// A round trip of ten segments that is `delay_us` above the minimum of 20 ms, with `ce` and `sce` marked segments.
    fn round(test: &mut Fallback, number: u64, delay_us: u64, ce: u32, sce: u32) -> bool {
        let marked = |packets: u32| Marked { bytes: Bytes::new(1448) * u64::from(packets), packets };
        let ecn = EcnFeedback { ce: marked(ce), sce: marked(sce), ..EcnFeedback::default() };
        let min_rtt = Duration::from_millis(20);
        let srtt = min_rtt + Duration::from_micros(delay_us);
        for segment in 1..=10 {
            let una = number * 10 + segment;
            let path = PathView { srtt, min_rtt, ..PathView::of_segments(una, una + 10) };
            // The first ACK ends the round trip before; the marks are on the second segment.
            let ecn = if segment == 2 { ecn } else { EcnFeedback::default() };
            test.on_delivery(&Delivery { ecn, ..Delivery::default() }, &path);
        }
        test.has_fallen_back()
    }

    fn test_of(rounds: u32) -> Fallback {
        Fallback::new(NonZeroU32::new(rounds).expect("a number of rounds"))
    }

    /// Section 9: the first ACK ends the round trip of the handshake, and that of round trip k + 1 ends round trip k. 10 ms are the
    /// bound, which is strict.
    #[test]
    fn falls_back_after_n_congested_round_trips() {
        for n in [1, 2, 8] {
            for (delay_us, ce) in [(10_001, 0), (0, 1)] {
                let mut test = test_of(n);
                let fell = (0..10).find(|number| round(&mut test, *number, delay_us, ce, 0));
                assert_eq!(fell, Some(u64::from(n)), "N = {n}, {delay_us} us, {ce} CE");
            }
        }
        let mut test = test_of(1);
        assert!((0..100).all(|number| !round(&mut test, number, 10_000, 0, 0)), "not above the bound");
    }

    /// Section 9: an SCE starts the count anew; a round trip that shows no congestion leaves it as it is.
    #[test]
    fn sce_alone_starts_the_count_anew() {
        let mut test = test_of(4);
        assert!((0..100).all(|number| !round(&mut test, number, 50_000, 1, u32::from(number % 4 == 3))));
        let mut test = test_of(4);
        let delay = |number: u64| if number.is_multiple_of(4) { 50_000 } else { 0 };
        let fell = (0..100).find(|number| round(&mut test, *number, delay(*number), 0, 0));
        // srtt is read when a round trip ends, by the first ACK of the next: numbers 4, 8, 12 and 16.
        assert_eq!(fell, Some(16));
    }

    /// Section 9: the sender is conventional for the rest of the connection: its packets get no SCE any more.
    #[test]
    fn stays_conventional() {
        let mut test = test_of(1);
        assert!(!round(&mut test, 0, 20_000, 0, 0));
        assert!(round(&mut test, 1, 20_000, 0, 0));
        assert!(round(&mut test, 2, 0, 0, 3));
        assert_eq!(test.silent(), 1);
    }
}
