//! Vivace's laws (NSDI 2018, sections 3 and 5; spec/congestion-control section 3.26), in whole runs.

use windtunnel_sim::RunResult;

use super::{MSS, PACKET, run};

/// What fills the link, in Mbit/s of data.
const FULL: f64 = 40.0 * MSS / PACKET;
const LOSS_UTILITY: &str = "{ kind = \"vivace\", utility = \"loss\" }";

/// Flows over 40 Mbit/s and 100 ms, each 20 s after the one before, measured from `from` to the end, in seconds. They push
/// nothing: the paper's senders are not TCP.
fn runs(flows: &[&str], from: u32, seconds: u32, more: &str, settings: &[&str]) -> RunResult {
    let tables: Vec<String> = (0..)
        .step_by(20)
        .zip(flows)
        .map(|(start, cc)| format!("[[flow]]\nrtt = \"100 ms\"\nstart = \"{start} s\"\ncc = {cc}"))
        .collect();
    let text = format!(
        "duration = \"{seconds} s\"\ntcp = {{ write_size = \"0 B\" }}\n[bottleneck]\nrate = \"40 Mbit/s\"\n\
         queue = {{ kind = \"fifo\", limit = \"1 bdp\" }}\n{more}\n{}\n\
         [[window]]\nname = \"steady\"\nfrom = \"{from} s\"\nto = \"{seconds} s\"\n",
        tables.join("\n"),
    );
    run(&text, settings)
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.summary.windows[0].flows.iter().map(|flow| flow.goodput_mbps).collect()
}

/// Theorem 2: however deep the queue, it stays empty but for what probes add; the loss-based utility fills it.
#[test]
fn the_latency_utility_keeps_the_queue_empty() {
    let added = |cc: &str| {
        let result = runs(&[cc], 10, 40, "", &["bottleneck.queue.limit=4 bdp"]);
        let window = &result.summary.windows[0].flows[0];
        (window.rtt_ms.as_ref().expect("round trips").mean - 100.0, window.goodput_mbps, result)
    };
    let (queue, rate, result) = added("\"vivace\"");
    assert!(queue < 2.0, "{queue} ms");
    assert!(rate > 0.93 * FULL, "{rate}");
    assert_eq!(result.summary.flows[0].sender.retransmits, Some(0));
    let (queue, rate, _) = added(LOSS_UTILITY);
    assert!(queue > 200.0 && rate > 0.93 * FULL, "{queue} ms, {rate}");
}

/// Section 3.2: of 40 Mbit/s, losses below 5.5 % leave it optimal to fill the link. At 1 % an interval of 345 packets shows them with a
/// standard error of half of that, so that the rate swings below the capacity: over five seeds, goodputs are 34.5 and 35.5 Mbit/s.
#[test]
#[ignore = "long"]
fn withstands_random_losses() {
    let mean = |cc: &str| {
        let lossy = "impair = [{ kind = \"loss\", probability = \"1 %\" }]";
        let seeds = (1..=5).map(|seed| format!("seed={seed}"));
        seeds.map(|seed| goodputs(&runs(&[cc], 10, 60, lossy, &[&seed]))[0]).sum::<f64>() / 5.0
    };
    let (latency, loss) = (mean("\"vivace\""), mean(LOSS_UTILITY));
    assert!(latency > 0.88 * FULL * 0.99, "{latency}");
    assert!(loss > 0.9 * FULL * 0.99, "{loss}");
    assert!(mean("\"cubic\"") < 0.1 * FULL, "what answers each loss is slow here");
}

/// Theorem 1: flows converge to equal rates. The second starts 20 s after the first; within ten seconds more it has three quarters of
/// its share on average over four seeds (with the loss utility single ones have half of it), and later they are equal within a
/// quarter.
#[test]
#[ignore = "long"]
fn flows_converge() {
    for cc in ["\"vivace\"", LOSS_UTILITY] {
        let second = |seed: u32| goodputs(&runs(&[cc, cc], 30, 40, "", &[&format!("seed={seed}")]))[1];
        let early = (1..=4).map(second).sum::<f64>() / 4.0;
        assert!(early > 0.75 * FULL / 2.0, "{cc}: {early:?}");
        let late = goodputs(&runs(&[cc, cc], 60, 120, "", &[]));
        assert!((0.8..1.25).contains(&(late[0] / late[1])), "{cc}: {late:?}");
        assert!(late[0] + late[1] > 0.88 * FULL, "{cc}: {late:?}");
    }
}

/// Section 4.4: CUBIC fills the queue, and the latency utility gives way. The loss utility does not yield before 5 %
/// are lost, and takes the link from CUBIC.
#[test]
fn next_to_cubic() {
    let share = |cc: &str| {
        let rates = goodputs(&runs(&[cc, "\"cubic\""], 60, 120, "", &[]));
        rates[0] / (rates[0] + rates[1])
    };
    let (latency, loss) = (share("\"vivace\""), share(LOSS_UTILITY));
    assert!((0.01..0.2).contains(&latency), "{latency}");
    assert!(loss > 0.8, "{loss}");
}

/// The loss utility is the latency utility with b = 0, and not that of Allegro.
#[test]
fn utilities_are_one_family() {
    let digest = |cc: &str| runs(&[cc], 1, 5, "", &[]).summary.digest;
    assert_eq!(digest(LOSS_UTILITY), digest("{ kind = \"vivace\", b = 0 }"));
    assert_ne!(digest(LOSS_UTILITY), digest("{ kind = \"vivace\", utility = \"allegro\" }"));
    assert_ne!(digest(LOSS_UTILITY), digest("\"vivace\""));
}

/// An outage of five seconds leaves a timeout each time the timer doubles. Five seconds after the path is back the link is full again.
#[test]
fn an_outage_is_soon_forgotten() {
    let out = "impair = { kind = \"outage\", times = [{ from = \"10 s\", to = \"15 s\" }] }";
    let result = runs(&["\"vivace\""], 25, 40, out, &[]);
    assert!(result.summary.flows[0].sender.rtos > Some(2));
    let rate = goodputs(&result)[0];
    assert!(rate > 0.88 * FULL, "{rate}");
}
