//! Elements whose output has another order than their input.

use super::*;

/// Packets 100 us apart with delays of 0 to 2 ms: either order is kept, or every late packet is counted; a packet
/// that others do not hold up has the same delay in both cases.
#[test]
fn jitter_keeps_order_or_does_not() {
    let mut kept = jitter(JitterShape::Uniform, 1000, 1000, false);
    let (out, _) = run(&mut kept, stream(5000, 100));
    assert!(numbers(&out).is_sorted() && kept.stats().tally.reordered == 0);
    assert!(out.is_sorted_by_key(|(at, _)| *at));

    let mut free = jitter(JitterShape::Uniform, 1000, 1000, true);
    let (out, _) = run(&mut free, stream(5000, 100));
    assert!(out.is_sorted_by_key(|(at, _)| *at));
    let mut highest = 0;
    let is_late = |n: &&u64| {
        highest = highest.max(**n);
        highest > **n
    };
    let late = numbers(&out).iter().filter(is_late).count();
    assert_eq!(free.stats().tally.reordered, late as u64);
    assert!(late > 1000, "{late}");
}

/// Late: chosen packets leave 2 ms later, the others at once. Early: chosen packets leave at once, the others 2 ms
/// later.
#[test]
fn reordering_late_and_early() {
    for mode in [ReorderingMode::Late, ReorderingMode::Early] {
        let params = ReorderingParams { probability: p(0.1), mode, delay: Duration::from_millis(2) };
        let mut medium = element(params);
        let (out, _) = run(&mut medium, stream(20_000, 1000));
        let late = out.iter().filter(|(at, packet)| {
            let delay = at.since(us(packet.seq.get() * 1000));
            assert!(delay.is_zero() || delay == Duration::from_millis(2));
            !delay.is_zero()
        });
        let expected = if mode == ReorderingMode::Late { 0.1 } else { 0.9 };
        assert_binomial(late.count() as u64, 20_000, expected);
        assert!(medium.stats().tally.reordered > 1000);
    }
}

fn scripted(params: ScriptedReorderingParams) -> PlacedElement {
    element(params)
}

/// A listed packet leaves right behind the last of those that overtake it, at the same time; of two neighbours the second
/// does not overtake the first, so that both wait for the same packets. The reordering extent (RFC 4737 section 4.2) of
/// each is the number asked for.
#[test]
fn listed_packets_are_overtaken() {
    let overtaken = |packets: &[u64], overtaken_by| {
        let params = ScriptedReorderingParams {
            packets: packets.to_vec(),
            overtaken_by: Some(overtaken_by),
            ..Default::default()
        };
        let mut medium = scripted(params);
        let (out, _) = run(&mut medium, stream(8, 100));
        assert_eq!(medium.stats().tally.reordered, packets.len() as u64);
        out
    };
    let out = overtaken(&[2], 3);
    assert_eq!(numbers(&out), [1, 3, 4, 5, 2, 6, 7, 8]);
    assert_eq!(out[4].0, us(500), "with the third that overtakes it");
    assert_eq!(numbers(&overtaken(&[2, 3], 2)), [1, 4, 5, 2, 3, 6, 7, 8]);
    assert_eq!(numbers(&overtaken(&[2, 4], 2)), [1, 3, 5, 2, 6, 4, 7, 8]);
}

/// All in one nanosecond: the position is exact even then.
#[test]
fn listed_packets_are_overtaken_at_once() {
    let params = ScriptedReorderingParams { packets: vec![1], overtaken_by: Some(2), ..Default::default() };
    let (out, _) = run(&mut scripted(params), stream(6, 0));
    assert_eq!(numbers(&out), [2, 3, 1, 4, 5, 6]);
}

/// By time: packets 2 and 3 leave 250 us after they came, at 450 and 550 us. With both rules whichever is first: packet 2 is
/// overtaken by one at 300 us; the last is not overtaken, and leaves by time.
#[test]
fn listed_packets_are_late() {
    let late = |packets: &[u64], overtaken_by| {
        let delay = Some(Duration::from_micros(250));
        let packets = packets.to_vec();
        let mut medium =
            scripted(ScriptedReorderingParams { packets, overtaken_by, delay, ..Default::default() });
        let (out, _) = run(&mut medium, stream(6, 100));
        let held: Vec<_> =
            out.iter().filter(|(at, packet)| *at != us(packet.seq.get() * 100)).map(|(at, _)| *at).collect();
        (numbers(&out), held)
    };
    assert_eq!(late(&[2, 3], None), (vec![1, 4, 2, 5, 3, 6], vec![us(450), us(550)]));
    assert_eq!(late(&[2, 6], Some(1)), (vec![1, 3, 2, 4, 5, 6], vec![us(300), us(850)]));
}

/// Packets that the element does not concern neither count nor overtake: ACKs among data and, with `per_flow`, the
/// packets of another flow. The second data packet of flow 0 waits for one more of its kind.
#[test]
fn listed_packets_are_overtaken_by_their_own() {
    let mixed =
        || (1..=4).flat_map(|i| [(us(i), data(0, i)), (us(i), ack(0, i)), (us(i), data(1, i))]).collect();
    let order = |per_flow| {
        let params = ScriptedReorderingParams {
            packets: vec![2],
            overtaken_by: Some(1),
            per_flow,
            affects: Affects::Data,
            ..Default::default()
        };
        let (out, _) = run(&mut scripted(params), mixed());
        let of_data = out.iter().filter(|(_, packet)| packet.payload() > Bytes::ZERO);
        of_data.map(|(_, packet)| (packet.flow.get(), packet.seq.get())).collect::<Vec<_>>()
    };
    let each = [(0, 1), (1, 1), (0, 3), (0, 2), (1, 3), (1, 2), (0, 4), (1, 4)];
    assert_eq!(order(true), each);
    // Together: the second data packet is the first of flow 1, which the second of flow 0 overtakes.
    let together = [(0, 1), (0, 2), (1, 1), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4)];
    assert_eq!(order(false), together);
}
