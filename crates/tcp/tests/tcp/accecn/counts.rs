//! The controller is told exactly what the receiver counted. Whole connections run over a path that marks data, and
//! loses and reorders ACKs.

use std::collections::BTreeMap;
use std::ops::Range;

use proptest::prelude::*;
use windtunnel_tcp::{AckParams, AckPolicy, Receiver};
use windtunnel_units::Duration;
use windtunnel_wire::TcpOption;

use super::*;

/// A path: 10 ms each way, 12 us between segments.
struct Path {
    scheme: FeedbackScheme,
    ect: Ecn,
    /// Data segments that arrive with CE, by number; those beyond the end repeat.
    marks: Vec<bool>,
    /// Data segments that are lost when they are first sent.
    losses: Vec<bool>,
    /// ACKs that are lost.
    ack_losses: Vec<bool>,
    /// The extra delay of each ACK beyond 10 ms, in microseconds, by number; those beyond the end repeat.
    ack_delays: Vec<u64>,
    timestamps: bool,
    policy: AckPolicy,
    /// An ACK is lost only while those before it that were lost acknowledged no more than this many segments.
    thinning: u64,
    strips_option: bool,
}

impl Default for Path {
    fn default() -> Path {
        Path {
            scheme: FeedbackScheme::AccEcn,
            ect: Ecn::Ect0,
            marks: vec![false],
            losses: vec![false],
            ack_losses: vec![false],
            ack_delays: vec![0],
            timestamps: true,
            policy: AckPolicy::Linux,
            thinning: u64::MAX,
            strips_option: false,
        }
    }
}

/// The outcome of a connection.
#[derive(Debug)]
struct Outcome {
    told: Told,
    /// Segments and payload that arrived with CE, and payload that arrived with ECT(1).
    ce: (u32, Bytes),
    ect1: Bytes,
    /// The receiver's own count of CE.
    received_ce: u64,
    /// The latest count of bytes with CE that an option brought to the sender.
    heard_ceb: Bytes,
    /// After that count, an ACK without an option arrived whose SACK blocks had no room for everything that had
    /// arrived.
    hidden: bool,
    /// The latest count of bytes with CE in an option of an ACK that moved SND.UNA: such an ACK is not superseded.
    advanced_ceb: Bytes,
}

/// SACK blocks that fit next to timestamps where there is no AccECN option.
const MOST_BLOCKS: usize = 3;

impl Outcome {
    /// With losses of data, SACK blocks may take the option's room (RFC 9768 section 3.2.3.3): marks may then be
    /// overestimated, but never underestimated.
    ///
    /// But if the options with the last counts are lost, the ACE field alone has to do (section 3.2.3.3, on the end of
    /// a volley), and it is interpreted by what ACKs are seen to acknowledge (section 3.2.2.5.2). Where lost ACKs and
    /// too few SACK blocks hide a part of that, the field may wrap unseen. The controller is then told at least what
    /// the last option said.
    fn check(&self) -> Result<(), TestCaseError> {
        let ce = self.told.counts.ce;
        prop_assert_eq!(self.ce.0, self.received_ce as u32);
        let seen = self.heard_ceb == self.ce.1 || !self.hidden;
        let least = if seen { self.ce } else { ((self.heard_ceb / MSS) as u32, self.heard_ceb) };
        prop_assert!(ce.packets >= least.0 && ce.bytes >= least.1, "all segments are full ones: {:?}", self);
        Ok(())
    }
}

/// The most ACKs lost in a row: fewer than the window holds, so that the sender goes on.
const MOST_IN_A_ROW: u32 = 15;

fn nth(pattern: &[bool], n: usize) -> bool {
    pattern[n % pattern.len()]
}

impl Path {
    /// Transfers `segments` full segments.
    fn run(&self, segments: u64) -> Outcome {
        let params = TcpParams { timestamps: self.timestamps, ..TcpParams::default() };
        let (mut sender, told_to) = sender_with(self.scheme, self.ect, 40, &params);
        let ack = AckParams { policy: self.policy, ..AckParams::default() };
        let mut receiver = Receiver::new(endpoint(self.scheme, self.ect), &params, ack);
        sender.write(MSS * segments);
        let mut events: BTreeMap<(Time, u64), (bool, Packet)> = BTreeMap::new();
        let mut outcome = Outcome {
            told: Told::default(),
            ce: (0, Bytes::ZERO),
            ect1: Bytes::ZERO,
            received_ce: 0,
            heard_ceb: Bytes::ZERO,
            hidden: false,
            advanced_ceb: Bytes::ZERO,
        };
        let (mut count, mut data, mut acks) = (0, 0, 0);
        let (mut now, mut link_free) = (Time::ZERO, Time::ZERO);
        let (mut heard, mut highest, mut latest, mut in_a_row) = (1, Seq::SYN, Seq::SYN, 0);
        let delay = Duration::from_millis(10);
        for _ in 0..1_000_000 {
            while let Some(mut packet) = sender.poll_transmit(now) {
                let first = packet.seq >= highest && packet.payload() > Bytes::ZERO;
                if first {
                    highest = packet.seq + packet.payload();
                    let n = data;
                    data += 1;
                    if nth(&self.losses, n) {
                        continue;
                    }
                    if packet.ecn != Ecn::NotEct && nth(&self.marks, n) {
                        packet.mark(Ecn::Ce);
                        outcome.ce.0 += 1;
                        outcome.ce.1 += packet.payload();
                    } else if packet.ecn == Ecn::Ect1 {
                        outcome.ect1 += packet.payload();
                    }
                }
                link_free = link_free.max(now) + Duration::from_micros(12);
                count += 1;
                events.insert((link_free + delay, count), (true, packet));
            }
            while let Some(mut packet) = receiver.poll_ack(now) {
                let covers = (packet.ack.get() - heard) / MSS.get();
                let syn_ack = packet.flags.contains(TcpFlags::SYN);
                let last = packet.ack == Seq::FIRST_DATA + MSS * segments;
                // A first ACE field of zero would be taken for a zeroed one (section 3.2.2.4), whichever ACK arrives first.
                let first = acks == 0;
                let may_be_lost =
                    !syn_ack && !first && !last && covers <= self.thinning && in_a_row < MOST_IN_A_ROW;
                let lost = may_be_lost && nth(&self.ack_losses, acks);
                let later = if syn_ack || first { 0 } else { self.ack_delays[acks % self.ack_delays.len()] };
                acks += usize::from(!syn_ack);
                in_a_row = if lost { in_a_row + 1 } else { 0 };
                if lost {
                    continue;
                }
                heard = packet.ack.get();
                if self.strips_option {
                    packet.strip_option(TcpOption::AccEcn);
                }
                if let Some(option) = packet.options().and_then(|options| options.accecn) {
                    outcome.heard_ceb = option.ce().map_or(outcome.heard_ceb, |ce| Bytes::new(ce.into()));
                    outcome.hidden = false;
                } else {
                    let sack = packet.options().map(|options| options.sack);
                    outcome.hidden |= sack.is_some_and(|sack| sack.as_slice().len() >= MOST_BLOCKS);
                }
                count += 1;
                events.insert((now + delay + Duration::from_micros(later), count), (false, packet));
            }
            if sender.is_drained() {
                break;
            }
            let timers = [sender.next_timer(), receiver.next_timer()].into_iter().flatten().min();
            let next = events.keys().next().map(|(time, _)| *time);
            now = timers.into_iter().chain(next).min().expect("something happens").max(now);
            if next == Some(now) {
                let (_, (to_receiver, packet)) = events.pop_first().expect("an event");
                if to_receiver {
                    receiver.on_segment(&packet, now);
                } else {
                    let option = packet.options().and_then(|options| options.accecn);
                    if packet.ack > latest {
                        latest = packet.ack;
                        let ceb = option.and_then(|option| option.ce());
                        outcome.advanced_ceb = ceb.map_or(outcome.advanced_ceb, |ce| Bytes::new(ce.into()));
                    }
                    sender.on_ack(&packet, now);
                }
            }
            if sender.next_timer().is_some_and(|due| due <= now) {
                sender.on_timer(now);
            }
            if receiver.next_timer().is_some_and(|due| due <= now) {
                receiver.on_timer(now);
            }
        }
        assert!(sender.is_drained(), "the transfer ends");
        outcome.told = told(&told_to);
        outcome.received_ce = receiver.stats().ce;
        outcome
    }
}

fn policies() -> impl Strategy<Value = AckPolicy> {
    prop_oneof![Just(AckPolicy::Linux), Just(AckPolicy::Every), Just(AckPolicy::Immediate)]
}

fn pattern(most: usize) -> impl Strategy<Value = Vec<bool>> {
    (1..=10_u8, prop::collection::vec(0..10_u8, 1..most))
        .prop_map(|(share, draws)| draws.into_iter().map(|draw| draw < share).collect())
}

/// Extra delays of ACKs in microseconds: most have none.
fn delays() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![3 => Just(0), 1 => 1..3_000_u64], 1..40)
}

/// Flags, with a share of `true` that is drawn from `percent`.
fn share_of(percent: Range<u8>, size: Range<usize>) -> impl Strategy<Value = Vec<bool>> {
    percent.prop_flat_map(move |percent| {
        prop::collection::vec(prop::bool::weighted(f64::from(percent) / 100.0), size.clone())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With the option: whatever is marked, and whichever ACKs are lost, the sums that the controller is told are the receiver's,
    /// in packets and in bytes. The ACK that says that all has arrived is not lost.
    #[test]
    fn with_the_option(
        marks in pattern(60),
        ack_losses in prop::collection::vec(prop::bool::weighted(0.5), 1..60),
        policy in policies(),
    ) {
        let outcome = Path { marks, ack_losses, policy, ..Path::default() }.run(300);
        let ce = outcome.told.counts.ce;
        prop_assert_eq!(outcome.ce.0, outcome.received_ce as u32);
        prop_assert_eq!((ce.packets, ce.bytes), outcome.ce);
    }

    /// Some data are lost as well.
    #[test]
    fn with_losses(
        marks in pattern(60),
        losses in prop::collection::vec(prop::bool::weighted(0.02), 50..200),
        ack_losses in prop::collection::vec(prop::bool::weighted(0.5), 1..60),
    ) {
        Path { marks, losses, ack_losses, ..Path::default() }.run(300).check()?;
    }

    /// ACKs overtake each other as well, by up to 3 ms; timestamps have ticks of 1 ms. Nothing that a superseded ACK says
    /// changes the sums.
    #[test]
    fn with_reordering(
        marks in pattern(60),
        ack_losses in prop::collection::vec(prop::bool::weighted(0.3), 1..60),
        ack_delays in delays(),
        timestamps in prop::bool::ANY,
        policy in policies(),
    ) {
        let outcome = Path { marks, ack_losses, ack_delays, timestamps, policy, ..Path::default() }.run(300);
        let ce = outcome.told.counts.ce;
        prop_assert_eq!(outcome.ce.0, outcome.received_ce as u32);
        prop_assert_eq!((ce.packets, ce.bytes), outcome.ce);
    }

    /// And some data are lost, so that ACKs which do not move SND.UNA deliver something by SACK, also those that are
    /// superseded. A counter that went back is not taken for one that wrapped at 2^24 bytes, and no mark is lost that
    /// was reported by an ACK that moved SND.UNA.
    #[test]
    fn with_reordering_and_losses(
        marks in pattern(60),
        losses in share_of(1..20, 50..200),
        ack_losses in prop::collection::vec(prop::bool::weighted(0.3), 1..60),
        ack_delays in delays(),
        timestamps in prop::bool::ANY,
    ) {
        let outcome = Path { marks, losses, ack_losses, ack_delays, timestamps, ..Path::default() }.run(300);
        let ce = outcome.told.counts.ce;
        prop_assert!(ce.bytes < Bytes::new(1 << 23), "all segments are 434 kB: {:?}", outcome);
        prop_assert!(ce.bytes >= outcome.advanced_ceb, "{:?}", outcome);
    }

    /// Up to a fifth of the data and most ACKs are lost.
    #[test]
    fn with_many_losses(
        marks in pattern(60),
        losses in share_of(1..20, 50..200),
        ack_losses in share_of(30..90, 1..60),
        policy in policies(),
    ) {
        Path { marks, losses, ack_losses, policy, ..Path::default() }.run(300).check()?;
    }

    /// Without it: exact as long as no ACK that arrives acknowledges more than seven segments, since a field of 3 bits
    /// cannot wrap then (RFC 9768 section 3.2.2.5.2). An ACK may be lost if the ones lost before it acknowledged five
    /// segments at most, as the next acknowledges two more.
    #[test]
    fn without_the_option(marks in pattern(60), ack_losses in pattern(60), policy in policies()) {
        let path = Path { marks, ack_losses, policy, thinning: 5, strips_option: true, ..Path::default() };
        let outcome = path.run(300);
        prop_assert_eq!(outcome.told.counts.ce.packets, outcome.ce.0);
        prop_assert_eq!(outcome.told.counts.ce.bytes, outcome.ce.1, "all segments are full ones");
    }

    /// Without it and with more ACKs lost: never fewer marks than there were (the safest likely case).
    #[test]
    fn never_fewer(marks in pattern(60), ack_losses in prop::collection::vec(prop::bool::weighted(0.8), 5..60)) {
        let outcome = Path { marks, ack_losses, strips_option: true, ..Path::default() }.run(300);
        prop_assert!(outcome.told.counts.ce.packets >= outcome.ce.0);
    }

    /// A flow that sends ECT(1): the controller is also told, through EE1B, how many bytes arrived as ECT(1).
    #[test]
    fn ect1_bytes(marks in pattern(60), ack_losses in prop::collection::vec(prop::bool::weighted(0.5), 1..60)) {
        let outcome = Path { marks, ack_losses, ect: Ecn::Ect1, ..Path::default() }.run(300);
        prop_assert_eq!(outcome.told.counts.ect1.bytes, outcome.ect1);
        prop_assert_eq!((outcome.told.counts.ce.packets, outcome.told.counts.ce.bytes), outcome.ce);
    }
}

/// RFC 3168 over the same path tells one event per round trip, not counts: with every tenth segment marked, there are
/// far fewer events than marks, while AccECN reports every mark.
#[test]
fn compared_with_rfc3168() {
    let marks = vec![false, false, false, false, true, false, false, false, false, false];
    let accecn = Path { marks: marks.clone(), ..Path::default() }.run(1000);
    assert_eq!((accecn.ce.0, accecn.told.counts.ce.packets), (100, 100));
    let classic = Path { marks, scheme: FeedbackScheme::Rfc3168, ..Path::default() }.run(1000);
    assert_eq!(classic.ce.0, 100);
    assert!(classic.told.counts.ce.packets > 200, "the latch repeats ECE: {:?}", classic.told);
}
