//! Robustness: random losses end in delivery, and no stream of ACKs, however odd, makes the sender panic, miscount or
//! hang.

use proptest::prelude::*;
use windtunnel_tcp::{GrowthGate, LossDetection, Reduction, RtoRule, TcpParams};
use windtunnel_units::{Bytes, Probability, Seq, Time};
use windtunnel_wire::{Ecn, Options, Packet, SackBlock, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, endpoint, ms};

fn detections() -> impl Strategy<Value = (bool, LossDetection)> {
    prop_oneof![
        4 => Just((true, LossDetection::Rack)),
        2 => Just((true, LossDetection::Rfc6675)),
        1 => Just((false, LossDetection::Rfc6675)),
        2 => Just((false, LossDetection::Newreno)),
        1 => Just((false, LossDetection::Reno)),
        1 => Just((false, LossDetection::Tahoe)),
    ]
}

fn reductions() -> impl Strategy<Value = Reduction> {
    prop_oneof![
        Just(Reduction::Prr),
        Just(Reduction::PrrCrb),
        Just(Reduction::PrrSsrb),
        Just(Reduction::RateHalving),
        Just(Reduction::None),
    ]
}

fn gates() -> impl Strategy<Value = GrowthGate> {
    prop_oneof![
        Just(GrowthGate::Linux),
        Just(GrowthGate::None),
        Just(GrowthGate::MaxFlight),
        Just(GrowthGate::Rfc9002),
    ]
}

fn parameters() -> impl Strategy<Value = TcpParams> {
    (detections(), reductions(), gates(), any::<[bool; 8]>()).prop_map(
        |((sack, loss_detection), reduction, gate, switch)| TcpParams {
            sack,
            loss_detection,
            reduction,
            timestamps: switch[0],
            tlp: switch[1],
            frto: switch[2],
            undo: switch[3],
            limited_transmit: switch[4],
            rto: if switch[5] { RtoRule::Linux } else { RtoRule::Rfc6298 },
            growth_gate: gate,
            gso: switch[6],
            skip_probability: skips(loss_detection, switch[7]),
            ..crate::fixed_window()
        },
    )
}

/// Every round trip has a skip, if the detector permits skips.
fn skips(detection: LossDetection, on: bool) -> Probability {
    if on && detection == LossDetection::Rack { Probability::ONE } else { Probability::ZERO }
}

fn setup(params: TcpParams, paced: bool) -> Setup {
    let mut endpoint = endpoint();
    endpoint.paced = paced;
    endpoint.ecn = Ecn::Ect0;
    endpoint.feedback = windtunnel_tcp::FeedbackScheme::Rfc3168;
    Setup { params, endpoint, ..Setup::default() }
}

/// An arbitrary packet of an arbitrary receiver: numbers in and around what was sent.
#[derive(Clone, Debug)]
struct Odd {
    ack: u64,
    blocks: Vec<(u64, u64)>,
    flags: [bool; 4],
    window: u16,
    echo_ms: u64,
    wait_ms: u64,
    timer: bool,
}

fn odd() -> impl Strategy<Value = Odd> {
    let near =
        || prop_oneof![0_u64..40_000, (0_u64..30).prop_map(|n| n * MSS.get() + 1), Just(u64::MAX >> 8)];
    (
        near(),
        prop::collection::vec((near(), near()), 0..5),
        any::<[bool; 4]>(),
        prop_oneof![Just(0_u16), Just(1), Just(u16::MAX)],
        0_u64..2000,
        prop_oneof![Just(0_u64), 1_u64..50, 100_u64..3000],
        any::<bool>(),
    )
        .prop_map(|(ack, blocks, flags, window, echo_ms, wait_ms, timer)| Odd {
            ack,
            blocks,
            flags,
            window,
            echo_ms,
            wait_ms,
            timer,
        })
}

fn packet(odd: &Odd, now: Time) -> Packet {
    let mut packet = Packet::new(endpoint().flow, windtunnel_tcp::HEADERS, Bytes::ZERO);
    packet.ack = Seq::new(odd.ack);
    packet.ts_val = now;
    packet.ts_ecr = Time::ZERO + ms(odd.echo_ms);
    packet.window = odd.window;
    packet.flags = TcpFlags::ACK
        .with_if(TcpFlags::ECE, odd.flags[0])
        .with_if(TcpFlags::AE, odd.flags[1])
        .with_if(TcpFlags::SYN, odd.flags[2] && odd.flags[3]);
    if !odd.blocks.is_empty() {
        let mut options = Options::default();
        for &(start, end) in &odd.blocks {
            options.sack.push(SackBlock { start: Seq::new(start), end: Seq::new(end) });
        }
        packet.set_options(options);
    }
    packet
}

/// A receiver that reneges (RFC 2018 section 8): 2..=10 are SACKed, then the cumulative ACK stops below 2 with nothing
/// SACKed. The timer forgets what was reported and sends everything again.
#[test]
fn reneging() {
    let mut lab = Lab::new(
        setup(crate::fixed_window(), false),
        Script { lost: (0..10).collect(), ..Script::default() },
    );
    lab.write(10);
    lab.run_until(Time::ZERO + ms(60));
    let honest = |ack: u64, blocks: Vec<(u64, u64)>| Odd {
        ack: ack * MSS.get() + 1,
        blocks: blocks.iter().map(|(a, b)| (a * MSS.get() + 1, b * MSS.get() + 1)).collect(),
        flags: [false; 4],
        window: u16::MAX,
        echo_ms: 40,
        wait_ms: 0,
        timer: false,
    };
    lab.sender.on_ack(&packet(&honest(0, vec![(1, 10)]), lab.now), lab.now);
    lab.sender.on_ack(&packet(&honest(1, vec![]), lab.now), lab.now);
    assert_eq!(lab.sender.in_flight(), Bytes::ZERO, "all are SACKed");
    let now = lab.now;
    acknowledge_honestly(&mut lab, now);
    assert!(lab.sender.is_drained());
    assert_eq!(lab.sender.stats().rtos, 1, "one timeout shows it, slow start repairs all");
    assert_eq!(lab.sender.stats().retransmits, 9);
}

/// Lets the timers run out, and at once acknowledges what then leaves, in order.
fn acknowledge_honestly(lab: &mut Lab, mut now: Time) {
    for _ in 0..1000 {
        if let Some(due) = lab.sender.next_timer() {
            now = now.max(due);
            lab.sender.on_timer(now);
        }
        while let Some(sent) = lab.sender.poll_transmit(now) {
            if sent.seq <= lab.sender.snd_una() {
                let mut honest = Packet::new(endpoint().flow, windtunnel_tcp::HEADERS, Bytes::ZERO);
                honest.ack = sent.seq + sent.payload();
                honest.ts_val = now;
                honest.ts_ecr = sent.ts_val;
                honest.flags = TcpFlags::ACK;
                lab.sender.on_ack(&honest, now);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Random losses of data and ACKs, random delays, every combination of mechanisms: all data arrive in the end, and
    /// the pipe is empty then.
    #[test]
    fn everything_is_delivered(
        params in parameters(),
        paced in any::<bool>(),
        every in 1_u32..3,
        lost in prop::collection::btree_set(0_u64..200, 0..60),
        acks_lost in prop::collection::btree_set(0_u64..200, 0..40),
        late in prop::collection::btree_map(0_u64..200, 1_u64..80, 0..20),
        marked in prop::collection::btree_set(0_u64..200, 0..10),
    ) {
        let script = Script {
            lost,
            acks_lost,
            late: late.into_iter().map(|(i, n)| (i, ms(n))).collect(),
            ..Script::default()
        };
        let sack = params.sack;
        let mut lab = Lab::new(Setup { every, ..setup(params, paced) }, script);
        lab.mark_if_capable = marked;
        lab.write(120);
        lab.run_to_the_end();
        prop_assert_eq!(lab.sender.in_flight(), Bytes::ZERO);
        prop_assert_eq!(lab.received(), MSS * 120);
        if sack {
            // Duplicate ACKs do not name their segment, so that without SACK some data count twice.
            prop_assert_eq!(lab.sender.stats().delivered, MSS * 120);
        }
    }

    /// Garbage: ACKs of unsent data, SACKs of anything, closed windows, timers at any time. Counts stay consistent. A
    /// receiver that is honest from then on gets the remaining data, each segment when the timer sends it again.
    #[test]
    fn odd_acks(params in parameters(), paced in any::<bool>(), odds in prop::collection::vec(odd(), 1..60)) {
        let mut lab = Lab::new(setup(params, paced), Script { lost: (0..1000).collect(), ..Script::default() });
        lab.write(25);
        lab.run_until(Time::ZERO + ms(60));
        let mut now = lab.now;
        for odd in &odds {
            now += ms(odd.wait_ms);
            if odd.timer {
                lab.sender.on_timer(now);
            }
            lab.sender.on_ack(&packet(odd, now), now);
            let mut burst = 0;
            while lab.sender.poll_transmit(now).is_some() {
                burst += 1;
                prop_assert!(burst < 1000, "endless burst");
            }
            // A partly acknowledged segment is outstanding as a whole.
            let outstanding = lab.sender.snd_nxt() - lab.sender.snd_una() + MSS;
            prop_assert!(lab.sender.in_flight() <= outstanding * 2);
            prop_assert!(lab.sender.snd_una() <= lab.sender.snd_nxt());
            // Something is always due while data are outstanding.
            prop_assert!(lab.sender.is_drained() || lab.sender.next_timer().is_some(), "hangs: {:?}", lab.sender);
        }
        acknowledge_honestly(&mut lab, now);
        prop_assert!(lab.sender.is_drained(), "hangs: {:?}", lab.sender);
        prop_assert_eq!(lab.sender.in_flight(), Bytes::ZERO);
    }
}
