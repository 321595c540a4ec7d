//! What BBR sends: steps 7 and 8, and what ACKs deliver at once (step 2).

use super::*;

/// Step 8: the first ACK in Recovery sets the window to what is in flight and what it delivered; in this round the
/// window follows the two, and after the repair it is as before. After a timeout, an ACK that delivers nothing leaves
/// one packet.
#[test]
fn the_window_follows_a_loss() {
    let mut flow = Connection::new(flow(Mode::ProbeBw));
    flow.bbr.save_cwnd();
    flow.bbr.on_state(CaState::Recovery, &path(START, 0));
    flow.ack(1_000, 2, |_, path| path.in_flight = MSS * 60);
    assert_eq!((flow.bbr.cwnd, flow.probe("conserving")), (62, 1.0));
    flow.ack(1_000, 3, |_, path| path.in_flight = MSS * 65);
    assert_eq!(flow.bbr.cwnd, 68);
    flow.bbr.on_state(CaState::Open, &path(START, 0));
    flow.ack(1_000, 1, |_, path| path.in_flight = MSS * 65);
    assert_eq!((flow.bbr.cwnd, flow.probe("conserving")), (101, 0.0));

    flow.time_out(0);
    assert_eq!(flow.bbr.cwnd, 1);
    let delivered_at = flow.bbr.delivered_at;
    flow.ack(50_000, 0, |_, _| {});
    assert_eq!((flow.bbr.cwnd, flow.bbr.delivered_at), (1, delivered_at));
    flow.ack(1_000, 1, |_, _| {});
    assert_eq!((flow.bbr.cwnd, flow.bbr.delivered_at), (4, flow.now), "the least window");
}

/// Step 8: twice the product is 200 packets. Added are the budget of six, two in the probing phase, and what ACKs
/// deliver at once, up to 100 ms of the bandwidth: 99 whole packets, as it is rounded down.
#[test]
fn the_target_of_the_window() {
    for (phase, aggregated, target) in [(2, 0, 206), (0, 0, 208), (2, 20, 226), (2, 150, 306)] {
        let mut bbr = flow(Mode::ProbeBw);
        bbr.phase = phase;
        bbr.update_gains();
        bbr.cwnd = 400;
        if aggregated > 0 {
            bbr.aggregation.on_ack(aggregated, START, per_second(1000), 400, false);
        }
        let ack = AckSample { newly_delivered: MSS, ..AckSample::default() };
        let path = path(START, 0);
        assert_eq!(bbr.grown(&facts(&ack, &path)), target, "phase {phase}, {aggregated}");
    }
}

/// Step 2: a burst of 20 packets counts if the switch is on and the ACK has a rate sample.
#[test]
fn what_acks_deliver_at_once() {
    for (ack_aggregation, sampled, extra) in [(true, true, 20), (false, true, 0), (true, false, 0)] {
        let mut bbr = flow(Mode::ProbeBw);
        bbr.params.ack_aggregation = ack_aggregation;
        let mut flow = Connection::new(bbr);
        flow.ack(10_000, 20, |ack, _| ack.rate = ack.rate.filter(|_| sampled));
        assert_eq!(flow.bbr.aggregation.extra(), extra, "{ack_aggregation}, {sampled}");
    }
}

/// Step 8: before the path is full, the window grows below the target of 100 times 739/256, 289, and six, which is
/// 296 as an even number, and until ten packets are delivered, the SYN among them. Aggregation does not count yet.
#[test]
fn growth_before_the_path_is_full() {
    for (cwnd, delivered, grown) in
        [(295, 100, 297), (296, 100, 296), (400, 8, 402), (400, 9, 400), (400, 10, 400)]
    {
        let mut bbr = flow(Mode::Startup);
        (bbr.full, bbr.cwnd, bbr.delivered) = (false, cwnd, MSS * delivered);
        bbr.aggregation.on_ack(50, START, per_second(1000), 400, false);
        let ack = AckSample { newly_delivered: MSS * 2, ..AckSample::default() };
        let path = path(START, 0);
        assert_eq!(bbr.grown(&facts(&ack, &path)), grown, "{cwnd} after {delivered}");
    }
}

/// Step 8: the window that returns after a loss is the present one if that is good, else the larger.
#[test]
fn the_window_that_is_saved() {
    for (prior_state, mode, expected) in [
        (CaState::Open, Mode::ProbeBw, [100, 100]),
        (CaState::Cwr, Mode::Startup, [100, 100]),
        (CaState::Recovery, Mode::ProbeBw, [150, 100]),
        (CaState::Loss, Mode::ProbeBw, [150, 100]),
        (CaState::Open, Mode::ProbeRtt, [150, 100]),
    ] {
        for (before, expected) in [150, 50].into_iter().zip(expected) {
            let mut bbr = flow(mode);
            (bbr.prior_state, bbr.prior_cwnd) = (prior_state, before);
            bbr.save_cwnd();
            assert_eq!(bbr.prior_cwnd, expected, "{prior_state:?} {mode:?} {before}");
        }
    }
}

/// The state table and step 7: without a round trip of the handshake, ten packets leave in the nominal millisecond,
/// times 2.885 and less 1 %; the first round trip resets the pace. A SYN that was lost leaves one packet.
#[test]
fn the_pace_before_there_is_a_round_trip() {
    let unknown = PathView { srtt: Duration::ZERO, min_rtt: Duration::ZERO, ..path(START, 0) };
    let mut bbr = Bbr::new(BbrParams::default(), FlowInit::new(MSS));
    bbr.on_established(&unknown);
    assert_eq!((bbr.min_rtt, bbr.product(per_second(1000), Gain::ONE)), (None, 10));
    let is = |pace: u64, packets: f64, seconds: f64| {
        let expected = packets * 1000.0 / seconds * 2.885 * 0.99;
        assert!((pace as f64 / expected - 1.0).abs() < 0.005, "{pace}, not {expected}");
    };
    is(bbr.pacing_rate, 10.0, 0.001);
    let mut flow = Connection::new(bbr);
    flow.ack(100_000, 1, |ack, _| ack.rate = None);
    is(flow.bbr.pacing_rate, 10.0, 0.1);
    assert_eq!((flow.bbr.min_rtt, flow.probe("min_rtt_s")), (Some(100_000), 0.1));
    flow.bbr.on_cwnd_validation(MSS, &path(flow.now, 0));
    assert_eq!(flow.bbr.cwnd, 1);
    is(flow.bbr.pacing_rate, 1.0, 0.1);
}
