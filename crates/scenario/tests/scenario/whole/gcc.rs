//! GCC's laws (draft-ietf-rmcat-gcc-02; spec/ccwg-2026 section K.4), in whole runs.

use windtunnel_sim::RunResult;

use super::{floats, run, share, steady};

const KALMAN: &str = "\"gcc\"";
const TRENDLINE: &str = "{ kind = \"gcc\", filter = \"trendline\" }";

/// A flow of media whose encoder can do more than any path here.
fn media(cc: &str) -> String {
    format!(
        "[[flow]]\nrtt = \"50 ms\"\ncc = {cc}\n\
         app = {{ kind = \"media\", protocol = \"rtp\", rate = \"20 Mbit/s\", min_rate = \"64 kbit/s\" }}\n"
    )
}

/// Two minutes over a link with a queue of 300 ms, measured from `from` on.
fn two_minutes(link: &str, flows: &str, from: u32) -> RunResult {
    let text = format!(
        "duration = \"120 s\"\n[record]\ninterval = \"100 ms\"\n\
         [bottleneck]\nqueue = {{ kind = \"fifo\", limit = \"300 ms\" }}\n{link}\n{flows}\n\
         [[window]]\nname = \"steady\"\nfrom = \"{from} s\"\nto = \"120 s\"\n"
    );
    run(&text, &[])
}

/// A number of the controller every 100 ms, from 0.1 s on.
fn state<'r>(result: &'r RunResult, name: &str) -> &'r [f64] {
    floats(result, "cc", name)
}

/// The rate goes from 0.85 of the capacity to a little above it, by 8 % in a second, so that on average it is more than
/// 0.9 of it. Above the capacity, the queue after t seconds is 0.04 t^2. With groups of some 9 ms, sixty of them make a
/// trend of 12.5 ms of 0.3 s of growth, which the Kalman filter passes on 32 groups later, and the answer takes a
/// round trip: 0.65 s, 17 ms. WebRTC's slope of 12.5 / 240 takes 0.65 s, and nine groups and half of its window more: 0.9 s, 32 ms.
#[test]
fn alone_it_fills_the_path_with_little_queue() {
    for (cc, longest) in [(KALMAN, 17.0), (TRENDLINE, 32.0)] {
        let result = two_minutes("rate = \"2 Mbit/s\"", &media(cc), 60);
        let (flows, queue) = steady(&result);
        assert!(queue.utilization > 0.9, "{cc}: {}", queue.utilization);
        let sojourn = queue.sojourn_ms.expect("packets");
        assert!(sojourn.max < longest && sojourn.mean < 2.0, "{cc}: {sojourn:?}");
        assert_eq!(flows[0].datagrams.expect("RTP").lost, 0);
        let frames = flows[0].transfers.as_ref().expect("frames");
        // A round trip, the queue, and the time over which the pace spreads a frame.
        assert!(frames.time_ms.expect("some").max < 50.0 + longest + 33.4, "{cc}: {frames:?}");
    }
}

/// The text compares the mean variation of one group with 12.5 ms, which no growth of 8 % in a second reaches: the queue fills, and
/// losses of less than 2 % do not count. All implementations multiply the mean by up to sixty groups.
#[test]
fn the_text_alone_fills_the_queue() {
    let text = "{ kind = \"gcc\", max_deltas = 1 }";
    let result = two_minutes("rate = \"2 Mbit/s\"", &media(text), 60);
    let (flows, queue) = steady(&result);
    assert!(
        queue.sojourn_ms.expect("packets").mean > 0.9 * 300.0 && flows[0].datagrams.expect("RTP").lost > 100
    );
    assert!(state(&result, "signal").iter().all(|signal| *signal == 0.0));
}

/// Section 6, over 10 Mbit/s and from 5 Mbit/s on: with 5 % of random loss the rate stays at what it was, to the bit. With 0.5 % it
/// grows, and fills the path. With 20 % it loses a tenth in each second: after 40 s 1.5 % are left, with the noise of shares
/// of few packets at the end.
#[test]
fn losses() {
    let lossy = |probability: f64| {
        let link =
            format!("rate = \"10 Mbit/s\"\nimpair = [{{ kind = \"loss\", probability = {probability} }}]");
        two_minutes(&link, &media("{ kind = \"gcc\", start_rate = \"5 Mbit/s\" }"), 40)
    };
    let held = lossy(0.05);
    let rates = state(&held, "loss_based_bits_per_s");
    assert!(rates.len() > 1100 && rates.iter().all(|rate| (rate - 5e6).abs() < 1e-6));
    assert!(
        state(&held, "delay_based_bits_per_s")[10..].iter().all(|rate| *rate >= 5e6),
        "the other one leads"
    );
    assert!((steady(&held).0[0].goodput_mbps / (5.0 * 0.95) - 1.0).abs() < 0.01);

    let few = lossy(0.005);
    assert!(steady(&few).1.utilization > 0.9, "{}", steady(&few).1.utilization);
    let many = lossy(0.2);
    let left = state(&many, "loss_based_bits_per_s")[399] / 5e6;
    assert!((0.01..0.025).contains(&left), "{left}");
    assert_eq!(lossy(0.05).summary.digest, held.summary.digest);
}

/// Section 5.4: a fixed threshold starves next to CUBIC, because CUBIC's queue exceeds it at each of its rises. The adaptive one
/// follows, and the flow keeps several times as much. WebRTC's threshold returns within 26 ms (`K_d`), and gives that up.
#[test]
fn the_adaptive_threshold_holds_next_to_cubic() {
    let cubic = "[[flow]]\nrtt = \"50 ms\"\nstart = \"60 s\"\ncc = \"cubic\"\n";
    let shares = |cc: &str| share(&two_minutes("rate = \"4 Mbit/s\"", &[&media(cc), cubic].concat(), 80));
    let adaptive = shares(KALMAN);
    let fixed = shares("{ kind = \"gcc\", k_u = 0.0, k_d = 0.0 }");
    let webrtc = shares(TRENDLINE);
    assert!(adaptive > 0.15 && fixed < 0.05 && adaptive > 4.0 * fixed, "{adaptive}, fixed {fixed}");
    assert!(webrtc < 0.1, "{webrtc}");
}

/// The other side of the adaptive threshold: two flows, and each raises its own to the trend that both make. It falls in 5.6 s
/// (`K_d`), so each cycle starts from a higher one, until the queue is full. There they stay: the delay of a full queue does not vary,
/// and losses between 2 and 10 % hold the rate. Under WebRTC's threshold, which falls at once, there is little queue.
#[test]
fn two_flows_lift_each_others_threshold() {
    let both = |cc: &str| {
        let later = media(cc).replace("[[flow]]", "[[flow]]\nstart = \"20 s\"");
        let text = format!(
            "duration = \"180 s\"\n[record]\ninterval = \"100 ms\"\n\
             [bottleneck]\nrate = \"4 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"300 ms\" }}\n{}\n{later}\n\
             [[window]]\nname = \"steady\"\nfrom = \"140 s\"\nto = \"180 s\"\n",
            media(cc)
        );
        run(&text, &[])
    };
    let kalman = both(KALMAN);
    let sojourn = steady(&kalman).1.sojourn_ms.expect("packets");
    assert!(sojourn.mean > 0.95 * 300.0, "{sojourn:?}");
    for (name, range) in [("loss_share", 0.02..0.1), ("signal", 0.0..0.1)] {
        let last = state(&kalman, name).iter().rev().take(200);
        let outside = last.filter(|value| !range.contains(*value)).count();
        assert!(outside < 20, "{name} is outside in {outside} of 200 samples");
    }
    assert!(state(&kalman, "threshold_ms").iter().any(|threshold| *threshold > 25.0));
    let sojourn = steady(&both(TRENDLINE)).1.sojourn_ms.expect("packets");
    assert!(sojourn.mean < 10.0, "{sojourn:?}");
}

/// A drop from 4 to 1 Mbit/s is answered by 0.85 of what arrives: five seconds later the queue is gone, and the path is used.
#[test]
fn recovers_from_a_drop_of_the_capacity() {
    let link = "rate = \"4 Mbit/s\"\nchanges = [{ at = \"70 s\", rate = \"1 Mbit/s\" }]";
    for cc in [KALMAN, TRENDLINE] {
        let result = two_minutes(link, &media(cc), 75);
        let (flows, queue) = steady(&result);
        let sojourn = queue.sojourn_ms.expect("packets");
        assert!(queue.utilization > 0.9 && sojourn.mean < 5.0 && sojourn.max < 100.0, "{cc}: {sojourn:?}");
        assert_eq!(flows[0].datagrams.expect("RTP").lost, 0);
    }
}

/// Where the path is silent for four seconds, waits end without a report, and lost packets halve the loss-based estimate. The
/// first reports tell of little that arrived, and `A_hat < 1.5 R_hat` takes the rate to the encoder's least; from there it grows by
/// 8 % in a second.
#[test]
fn an_outage_starts_it_again() {
    let link =
        "rate = \"2 Mbit/s\"\nimpair = [{ kind = \"outage\", times = [{ from = \"60 s\", to = \"64 s\" }] }]";
    let result = two_minutes(link, &media(KALMAN), 60);
    assert!(steady(&result).0[0].sender.rtos.expect("a controller") >= 1);
    let rate = |seconds: usize| state(&result, "delay_based_bits_per_s")[10 * seconds - 1];
    assert!(rate(59) > 1.7e6 && rate(65) < 80e3, "{} {}", rate(59), rate(65));
    let growth = rate(90) / rate(75);
    // 1.08^15.
    assert!((growth / 3.172_169 - 1.0).abs() < 0.03, "{growth}");
}

/// Over TCP the newest packet of each ACK counts, and the pace alone: bulk data use the path as media do.
#[test]
fn carries_bulk_over_tcp() {
    let bulk = format!("[[flow]]\nrtt = \"50 ms\"\ncc = {KALMAN}\n");
    let result = two_minutes("rate = \"2 Mbit/s\"", &bulk, 60);
    let queue = steady(&result).1;
    assert!(queue.utilization > 0.9 && queue.sojourn_ms.expect("packets").max < 17.0, "{queue:?}");
}
