//! SCReAM's laws (draft-ietf-ccwg-rfc8298bis-screamv2-01; spec/congestion-control section 3.27), in whole runs.

use windtunnel_sim::RunResult;

use super::{floats, run, share, steady};

/// The delay target, in ms.
const TARGET: f64 = 60.0;
const RTT: f64 = 50.0;

/// Media without a maximum that matters.
const UNLIMITED: &str = "rate = \"1 Gbit/s\"";
const L4S: &str = "{ kind = \"scream\", is_l4s = true }";
const DEEP: &str = "{ kind = \"fifo\", limit = \"4 bdp\" }";

/// A flow of media.
fn media(cc: &str, source: &str) -> String {
    format!(
        "[[flow]]\nrtt = \"{RTT} ms\"\ncc = {cc}\napp = {{ kind = \"media\", protocol = \"rtp\", {source} }}\n"
    )
}

/// A minute over 10 Mbit/s, measured from `from` on.
fn minute(queue: &str, link: &str, flows: &str, from: u32) -> RunResult {
    let text = format!(
        "duration = \"60 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n{link}\n{flows}\n\
         [[window]]\nname = \"steady\"\nfrom = \"{from} s\"\nto = \"60 s\"\n"
    );
    run(&text, &[])
}

/// "Detecting Increased Queue Delay": virtual marks start at half the target and are certain at the target. A flow alone fills the path, and
/// the mean delay is below half the target, the longest below the target; nothing is lost, and every frame arrives.
#[test]
fn alone_it_fills_the_path_and_holds_the_delay() {
    let result = minute(DEEP, "", &media("\"scream\"", UNLIMITED), 15);
    let (flows, queue) = steady(&result);
    assert!(queue.utilization > 0.97, "{}", queue.utilization);
    let sojourn = queue.sojourn_ms.expect("packets");
    assert!(sojourn.mean < TARGET / 2.0 && sojourn.max < TARGET, "{sojourn:?}");
    assert_eq!(flows[0].datagrams.expect("RTP").lost, 0);
    // Frames take a round trip, the queue, and the time over which the pace spreads them: a frame interval of 33.3 ms / 1.5.
    let frames = flows[0].transfers.as_ref().expect("frames").time_ms.expect("some");
    assert!(frames.max < RTT + TARGET + 33.4 / 1.5, "{frames:?}");
}

/// Over DualPI2 the packets of a frame leave at 1.5 times the target rate, and meet a threshold of 1 ms: the pace fills the link, and the rate
/// is what the headroom leaves. With less headroom the link is used more. The delay stays at the threshold.
#[test]
fn over_l4s_the_pace_meets_the_threshold() {
    for headroom in [1.5, 1.1] {
        let cc = format!("{{ kind = \"scream\", is_l4s = true, packet_pacing_headroom = {headroom} }}");
        let result = minute("\"dualpi2\"", "", &media(&cc, UNLIMITED), 15);
        let (flows, queue) = steady(&result);
        let sojourn = queue.sojourn_ms.expect("packets");
        assert!(sojourn.p99 < 2.0, "{sojourn:?}");
        let used = queue.utilization * headroom;
        assert!((0.98..1.08).contains(&used), "headroom {headroom}: {}", queue.utilization);
        assert!(queue.ce > 100 && flows[0].datagrams.expect("RTP").lost == 0);
    }
}

/// `BETA_ECN`: where CoDel marks, nothing is lost, and its 5 ms are held.
#[test]
fn answers_classic_marks() {
    let flow = media("\"scream\"\necn = true", UNLIMITED);
    let result = minute("{ kind = \"codel\", ecn = true }", "", &flow, 15);
    let (flows, queue) = steady(&result);
    assert!(queue.ce > 10 && flows[0].datagrams.expect("RTP").lost == 0, "{} marks", queue.ce);
    // The last mark, at 59.943 s, is answered a round trip later, after the end of the run.
    assert_eq!(flows[0].sender.ecn_reductions.expect("it has a controller"), queue.ce - 1);
    assert!(queue.utilization > 0.85, "{}", queue.utilization);
    assert!(queue.sojourn_ms.expect("packets").mean < 7.5, "{:?}", queue.sojourn_ms);
}

/// Two flows share the path equally, also if the second one starts 5 s later.
#[test]
fn two_flows_share() {
    let later = media("\"scream\"", UNLIMITED).replace("[[flow]]", "[[flow]]\nstart = \"5 s\"");
    let result = minute(DEEP, "", &[media("\"scream\"", UNLIMITED), later].concat(), 20);
    assert!((0.45..0.55).contains(&share(&result)), "{}", share(&result));
    assert!(steady(&result).1.utilization > 0.85);
}

/// Next to CUBIC the queue decides. Where it stays below half the target (CoDel, or half a bandwidth-delay product),
/// losses alone count, and both keep 0.7. A queue that CUBIC holds above half the target counts as marks all the time,
/// and SCReAM starves: the delay target follows to at most 1.5 times the sum of the mean delay and its deviation, and
/// half of that is still below the mean (section 3.27).
#[test]
fn the_queue_decides_next_to_cubic() {
    let cubic = format!("[[flow]]\nrtt = \"{RTT} ms\"\ncc = \"cubic\"\n");
    let shares = |queue: &str| {
        share(&minute(queue, "", &[media("\"scream\"", UNLIMITED), cubic.clone()].concat(), 15))
    };
    let (codel, shallow) = (shares("\"codel\""), shares("{ kind = \"fifo\", limit = \"0.5 bdp\" }"));
    assert!((0.35..0.6).contains(&codel), "CoDel: {codel}");
    assert!((0.3..0.6).contains(&shallow), "half a BDP: {shallow}");
    let (full, deep) = (shares("{ kind = \"fifo\", limit = \"1 bdp\" }"), shares(DEEP));
    assert!(full < 0.15 && deep < full, "one BDP: {full}, four: {deep}");
}

/// A drop of the capacity from 10 to 3 Mbit/s: the frames that were sent before make a queue of some 100 ms, and two seconds later the delay is again
/// below twice the target and stays there, over a path that is used.
#[test]
fn recovers_from_a_drop_of_the_capacity() {
    let drop = "changes = [{ at = \"20 s\", rate = \"3 Mbit/s\" }]";
    for (cc, queue) in [("\"scream\"", DEEP), (L4S, "\"dualpi2\"")] {
        let result = minute(queue, drop, &media(cc, UNLIMITED), 22);
        let whole = result.summary.queues[0].sojourn_ms.expect("packets");
        assert!(whole.max > TARGET, "the drop shows: {whole:?}");
        let (flows, link) = steady(&result);
        let sojourn = link.sojourn_ms.expect("packets");
        assert!(sojourn.max < 2.0 * TARGET, "{cc}: {sojourn:?}");
        assert!(flows[0].throughput_mbps > 0.6 * 3.0, "{cc}: {}", flows[0].throughput_mbps);
        let starts = floats(&result, "transfers", "start_s");
        let times = floats(&result, "transfers", "time_ms");
        let late = starts.iter().zip(times).filter(|(start, _)| **start > 22.0).map(|(_, time)| *time);
        let longest = late.fold(0.0, f64::max);
        assert!(longest < RTT + 2.0 * TARGET + 33.4, "{cc}: a frame took {longest} ms");
    }
}

/// An encoder that can do 4 Mbit/s is given that, and its frames leave faster, at up to six times their rate: they take less than a frame's time
/// more than the round trip. One whose lowest rate is 4 Mbit/s keeps sending that over 3 Mbit/s, and fills the queue.
#[test]
fn the_rate_stays_within_what_the_encoder_can_do() {
    let result = minute(DEEP, "", &media("\"scream\"", "rate = \"4 Mbit/s\""), 15);
    let flow = &steady(&result).0[0];
    assert!((flow.goodput_mbps / 4.0 - 1.0).abs() < 0.01, "{}", flow.goodput_mbps);
    let frames = flow.transfers.as_ref().expect("frames").time_ms.expect("some");
    assert!(frames.max < RTT + 33.4 / 2.0, "{frames:?}");

    let stubborn =
        media("\"scream\"", "rate = \"8 Mbit/s\", min_rate = \"4 Mbit/s\", discard_after = \"300 ms\"");
    let drop = "changes = [{ at = \"20 s\", rate = \"3 Mbit/s\" }]";
    let result = minute(DEEP, drop, &stubborn, 30);
    let frames = steady(&result).0[0].transfers.as_ref().expect("frames");
    // What does not fit is discarded at the sender: a quarter of the frames.
    let arrived = frames.completed as f64 / frames.arrived as f64;
    assert!((0.6..0.8).contains(&arrived), "{arrived}");
    assert!(steady(&result).1.utilization > 0.97);
}

/// Where the path is silent for four seconds, frames wait at the sender and are discarded after 400 ms; later ones arrive again.
#[test]
fn old_frames_are_discarded() {
    let outage = "impair = [{ kind = \"outage\", times = [{ from = \"20 s\", to = \"24 s\" }] }]";
    let longest = |source: &str| {
        let result = minute(DEEP, outage, &media("\"scream\"", source), 15);
        let flow = steady(&result).0[0].clone();
        let frames = flow.transfers.expect("frames");
        assert!(flow.sender.rtos.expect("a controller") >= 1 && frames.completed < frames.arrived);
        assert!(flow.throughput_mbps > 6.0, "it recovers: {}", flow.throughput_mbps);
        frames.time_ms.expect("some").max
    };
    let discarding = longest("rate = \"1 Gbit/s\", discard_after = \"400 ms\"");
    // At the sender for up to 400 ms and a frame interval, then as any other.
    assert!(discarding < 400.0 + 33.4 + RTT + TARGET, "{discarding}");
    assert!(longest(UNLIMITED) > 1000.0, "without discarding they wait for the timeout");
}

/// Over TCP the window and the pace alone count: bulk data fill the path, with the delay of the target.
#[test]
fn carries_bulk_over_tcp() {
    let bulk = format!("[[flow]]\nrtt = \"{RTT} ms\"\ncc = \"scream\"\n");
    let result = minute(DEEP, "", &bulk, 15);
    let queue = steady(&result).1;
    assert!(queue.utilization > 0.98 && queue.sojourn_ms.expect("packets").max < TARGET, "{queue:?}");
}

/// Media in both directions over links whose rates change (the path of RFC 8867 section 5.3): each keeps within the rate
/// of its link, and has the highest rate again when there is room, although its feedback waits in the other's queue.
#[test]
fn both_directions() {
    let result = run(include_str!("../../../../../scenarios/media-both-ways.toml"), &[]);
    let goodput = |window: usize, flow: usize| result.summary.windows[window].flows[flow].goodput_mbps;
    let narrow = [goodput(0, 0), goodput(0, 1)];
    assert!((0.25..0.5).contains(&narrow[0]) && (0.4..0.8).contains(&narrow[1]), "{narrow:?}");
    let late = [goodput(1, 0), goodput(1, 1)];
    assert!(late.iter().all(|rate| (1.4..=1.51).contains(rate)), "{late:?}");
}

/// A flow of media over 10 Mbit/s, whose controller has these keys in addition.
fn optional(queue: &str, link: &str, keys: &str, source: &str, from: u32) -> RunResult {
    minute(queue, link, &media(&format!("{{ kind = \"scream\", {keys} }}"), source), from)
}

fn lost(result: &RunResult) -> f64 {
    steady(result).0[0].datagrams.expect("RTP").loss_ratio
}

const LINK_LOSSES: &str = "loss_rate_threshold = 0.01";
const POLICER: &str = "loss_rate_threshold = 0.01, loss_rate_threshold_policer = 0.1";
const EACH_LOSS: &str = "loss_rate_threshold = 0";

/// "Link layer losses": a link that loses each 200th packet, 0.5 %, takes none of the rate of an encoder that leaves the queue
/// empty; where each loss is answered, it takes more than a fifth. Random losses come in groups that exceed 1 % now and
/// then: less than a tenth is taken. 2 % are congestion, with and without the part.
#[test]
fn losses_of_the_link_take_no_rate() {
    let goodput = |impairment: &str, keys: &str| {
        let link = format!("impair = [{{ {impairment} }}]");
        let result = optional(DEEP, &link, keys, "rate = \"5 Mbit/s\"", 15);
        steady(&result).0[0].goodput_mbps
    };
    let (regular, random) =
        ("kind = \"periodic-loss\", every = 200", "kind = \"loss\", probability = \"0.5 %\"");
    let kept = goodput(regular, LINK_LOSSES);
    assert!((kept / (5.0 * 0.995) - 1.0).abs() < 0.005, "{kept}");
    assert!(goodput(random, LINK_LOSSES) > 0.9 * 5.0, "{}", goodput(random, LINK_LOSSES));
    for each in [goodput(regular, EACH_LOSS), goodput(random, EACH_LOSS)] {
        assert!(each < 0.8 * 5.0, "{each}");
    }
    let frequent = "kind = \"loss\", probability = \"2 %\"";
    let (answered, each) = (goodput(frequent, LINK_LOSSES), goodput(frequent, EACH_LOSS));
    assert!((answered / each - 1.0).abs() < 0.1, "{answered} {each}");
}

/// The price: over a tenth of a bandwidth-delay product, which is never a quarter of the delay target, losses are answered
/// late, but before 1 % is lost. Over half of one they come with a queue that is not short, and nothing changes.
#[test]
fn a_shallow_queue_loses_up_to_the_threshold() {
    let over = |bdp: f64, keys: &str| {
        optional(&format!("{{ kind = \"fifo\", limit = \"{bdp} bdp\" }}"), "", keys, UNLIMITED, 15)
    };
    let (each, late) = (lost(&over(0.1, EACH_LOSS)), lost(&over(0.1, LINK_LOSSES)));
    assert!(2.0 * each < late && late < 0.01, "{each} {late}");
    assert_eq!(over(0.5, EACH_LOSS).summary.digest, over(0.5, LINK_LOSSES).summary.digest);
}

/// -01's part for policers: a bucket of 300 kB holds what is above 5 Mbit/s for long, and then more than 10 % is lost
/// at once. The window then stays below where that happens. A bucket of 100 kB loses less at once, and is not found.
#[test]
fn a_policer_with_a_large_bucket_is_found() {
    let over = |burst: u32, keys: &str| {
        let queue = format!("{{ kind = \"police\", rate = \"5 Mbit/s\", burst = \"{burst} kB\" }}");
        optional(&queue, "", keys, UNLIMITED, 15)
    };
    let (link, policer) = (over(300, LINK_LOSSES), over(300, POLICER));
    assert!(lost(&link) > 0.03 && lost(&policer) < 0.001, "{} {}", lost(&link), lost(&policer));
    let rate = steady(&policer).0[0].throughput_mbps;
    assert!((0.75 * 5.0..5.0).contains(&rate), "{rate}");
    assert_eq!(over(100, LINK_LOSSES).summary.digest, over(100, POLICER).summary.digest);
}

/// "Clock drift": one-way delays that grow by 1 ms in a second, as those of clocks that drift by 0.1 % do, and a path that is 40 ms
/// longer from 10 s on, as a clock that is set. Both are taken for a queue, for ten minutes, and the encoder has nearly
/// nothing; with the part, the base is measured again, and the path is used as before. (The clocks of all hosts are one here:
/// it is the path that changes.)
#[test]
fn a_delay_that_never_ends_is_a_new_base() {
    let drift = "impair = [{ kind = \"linear-delay\", min = \"0 ms\", max = \"60 ms\", period = \"60 s\" }]";
    let longer = "changes = [{ at = \"10 s\", delay = \"40 ms\" }]";
    for link in [drift, longer] {
        let used = |on: bool| {
            let keys = format!("clock_drift_compensation = {on}");
            steady(&optional(DEEP, link, &keys, UNLIMITED, 40)).1.clone()
        };
        let (without, with) = (used(false), used(true));
        assert!(without.utilization < 0.1, "{}", without.utilization);
        assert!(with.utilization > 0.95, "{link}: {}", with.utilization);
        let sojourn = with.sojourn_ms.expect("packets");
        assert!(sojourn.mean < TARGET / 2.0 && sojourn.max < TARGET, "{link}: {sojourn:?}");
    }
}

/// "Reference window undershoot": when the capacity falls from 10 to 3 Mbit/s, the round trip that becomes longer lowers the
/// target first; a quarter of the answer leaves more of the window, and more of the link is used. The queue is longer for
/// it, and ends below twice the target as before. On a path that does not change, nothing does.
#[test]
fn a_quarter_of_the_answer_leaves_more_after_a_drop() {
    let after = |link: &str, margin: f64| {
        let keys = format!("acked_bitrate_margin = {margin:?}");
        steady(&optional(DEEP, link, &keys, UNLIMITED, 22)).1.clone()
    };
    let drop = "changes = [{ at = \"20 s\", rate = \"3 Mbit/s\" }]";
    let (whole, quarter) = (after(drop, 0.0), after(drop, 0.8));
    assert!(quarter.utilization > whole.utilization + 0.05, "{} {}", whole.utilization, quarter.utilization);
    let (short, long) = (whole.sojourn_ms.expect("packets").max, quarter.sojourn_ms.expect("packets").max);
    assert!(short < long && long < 2.0 * TARGET, "{short} {long}");
    let steady = [after("", 0.0), after("", 0.8)].map(|queue| queue.utilization);
    assert!((steady[0] - steady[1]).abs() < 0.002, "{steady:?}");
}
