//! Slow starts of the congestion control working group (spec/ccwg-2026 sections D and F.1).

use super::*;

/// CUBIC of RFC 9438 over 50 Mbit/s and 100 ms: 416 packets fit on the way, and `buffers` times as many into the queue.
fn ended(slow_start: &str, buffers: u32, tcp: &str) -> RunResult {
    let text = format!(
        "duration = \"3 s\"\n[tcp]\n{tcp}\n[record]\nstate = \"changes\"\n\
         [bottleneck]\nrate = \"50 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"{buffers} BDP\" }}\n\
         [[flow]]\ncc = {{ kind = \"cubic\", variant = \"rfc9438\", slow_start = \"{slow_start}\" }}\nrtt = \"100 ms\"\n"
    );
    run(&text, &[])
}

/// Two columns of a table.
fn columns(result: &RunResult, table: &str, names: [&str; 2]) -> Vec<(f64, f64)> {
    let table = result.tables.iter().find(|one| one.name == table).expect("recorded");
    let [times, values] = names.map(|name| {
        match table.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column) {
            Some(Column::F64(values)) => values.clone(),
            other => panic!("{name}: {other:?}"),
        }
    });
    times.into_iter().zip(values).collect()
}

/// Section F.1: Rapid Start's recovery ends with 0.7 of what path and queue hold, and CUBIC's plateau at twice that,
/// with PRR out of the way. More than half of the flight was lost. Where the receive window grows by doubling alone,
/// cwnd is beyond the flight at the loss; then the flight is what the recovery must start from.
#[test]
fn rapid_start_finds_what_path_and_queue_hold() {
    let wide = "autotuning = false\nreceive_window = \"32 MB\"";
    for (buffers, tcp) in [(1, wide), (2, wide), (1, "ssthresh_base = \"flight\"")] {
        let result = ended("rapid", buffers, tcp);
        let exit = flow(&result).slow_start_exit.as_ref().expect("it ended");
        assert_eq!((exit.reason, flow(&result).sender.rtos), ("loss", Some(0)), "{tcp}");
        let plateaus = columns(&result, "cc", ["time_s", "w_max_segments"]);
        let (ended, plateau) = *plateaus.iter().find(|(_, w_max)| *w_max > 0.0).expect("recovered");
        let holds = (416.7 * f64::from(1 + buffers)).floor();
        assert_near("plateau", plateau, 2.0 * holds, 0.01);
        let windows = columns(&result, "cwnd_points", ["time_s", "bytes"]);
        let before: Vec<_> = windows.iter().filter(|(time, _)| (exit.t_s..=ended).contains(time)).collect();
        assert_near("cwnd", before.last().expect("points").1 / MSS, 0.7 * holds, 0.01);
        assert!(exit.cwnd_bytes as f64 / MSS > 0.9 * 1.5 * holds, "{}", exit.cwnd_bytes);
    }
}

/// Section D: with six capacities of queue SEARCH ends by itself and drains to one capacity, without a loss; with one
/// the queue overflows first, as in standard slow start.
#[test]
fn search_needs_a_deep_queue() {
    let deep = ended("search", 6, "");
    let exit = flow(&deep).slow_start_exit.as_ref().expect("it ended");
    assert_eq!((exit.reason, flow(&deep).sender.retransmits), ("delivery rate", Some(0)));
    assert_near("cwnd", exit.cwnd_bytes as f64 / MSS, 1.05 * 416.7, 0.02);
    let lost = |slow_start: &str| {
        let result = ended(slow_start, 1, "");
        let exit = flow(&result).slow_start_exit.expect("it ended");
        (exit.reason, exit.cwnd_bytes)
    };
    assert_eq!(lost("search"), lost("standard"));
    assert_eq!(lost("search").0, "loss");
}

/// Section D, vector 5, with the rate and round trip of the preset `wifi-good` and the jitter of `wifi-bad`, whose mean
/// is 7 ms: HyStart ends with less than the path holds, 133 packets, in more than half of the runs, SEARCH in less than
/// a tenth. Its drain phase is left out, which would lower the window after that.
#[test]
fn jitter_ends_hystart_and_not_search() {
    let early = |slow_start: &str| {
        let left = |seed: u32| {
            let text = format!(
                "duration = \"4 s\"\nseed = {seed}\n[bottleneck]\npreset = \"wifi-good\"\n\
                 impair = {{ kind = \"jitter\", distribution = \"wifi\", mean = \"7 ms\" }}\n\
                 [[flow]]\ncc = {{ kind = \"cubic\", slow_start = {slow_start} }}\nrtt = \"80 ms\"\n"
            );
            let result = run(&text, &[]);
            let exit = flow(&result).slow_start_exit;
            exit.is_some_and(|exit| exit.reason != "loss" && exit.cwnd_bytes as f64 / MSS < 133.0)
        };
        (0..40).filter(|seed| left(*seed)).count()
    };
    let (hystart, search) = (early("\"hystart\""), early("{ kind = \"search\", drain = 0 }"));
    assert!(hystart > 20 && search < 4, "{hystart} and {search} of 40");
}

/// 100 MB to a satellite: 250 Mbit/s, 600 ms, a queue of one capacity (18.75 MB), unless `path` says otherwise. Returns the
/// result and the time of the transfer.
fn satellite(cc: &str, path: &str) -> (RunResult, f64) {
    let text = format!(
        "duration = \"60 s\"\n[tcp]\nreceive_window = \"100 MB\"\nwindow_growth = false\nautotuning = false\n\
         [record]\nstate = \"changes\"\n[bottleneck]\nqueue = {{ kind = \"fifo\", limit = \"1 BDP\" }}\n{path}\n\
         cc = {cc}\napp = {{ kind = \"transfer\", size = \"100 MB\" }}\n"
    );
    let result = run(&text, &[]);
    let time = flow(&result).transfers.as_ref().and_then(|transfers| transfers.time_ms).expect("completed");
    (result, time.mean / 1000.0)
}

/// CUBIC with this slow start.
fn cubic(slow_start: &str) -> String {
    format!("{{ kind = \"cubic\", slow_start = {slow_start} }}")
}

const SATELLITE: &str = "rate = \"250 Mbit/s\"\n[[flow]]\nrtt = \"600 ms\"";
const RESUME: &str = "{ kind = \"careful-resume\", saved_cwnd = \"18.75 MB\", saved_rtt = \"600 ms\" }";

/// RFC 9959: 100 MB take at most 7.4 s with the saved window of the path (the limit that C4's tests set for C4, section M), and
/// 9 s or more without it.
#[test]
fn careful_resume_spares_round_trips() {
    let (resumed, time) = satellite(&cubic(RESUME), SATELLITE);
    assert!(time < 7.4, "{time} s");
    let phases: Vec<f64> =
        columns(&resumed, "cc", ["time_s", "cr_phase"]).iter().map(|(_, phase)| *phase).collect();
    for phase in [1.0, 2.0, 3.0, 5.0] {
        assert!(phases.contains(&phase), "{phase}");
    }
    let (_, plain) = satellite(&cubic("\"standard\""), SATELLITE);
    assert!(plain > 9.0, "{plain} s");
}

/// The path may not be the saved one. With less than half of the saved round trip nothing is resumed: the run is that of slow start
/// without anything saved. With a tenth of the rate the jump overflows the queue; the retreat leaves half of what arrived, and
/// the transfer takes no longer than a tenth more than without the jump.
#[test]
fn careful_resume_on_another_path() {
    let nearer = "rate = \"250 Mbit/s\"\n[[flow]]\nrtt = \"290 ms\"";
    let (resumed, _) = satellite(&cubic(RESUME), nearer);
    let (plain, _) = satellite(&cubic("\"careful-resume\""), nearer);
    assert_eq!(resumed.summary.digest, plain.summary.digest);

    let narrower = "rate = \"25 Mbit/s\"\n[[flow]]\nrtt = \"600 ms\"";
    let (resumed, time) = satellite(&cubic(RESUME), narrower);
    let (_, without) = satellite(&cubic("\"careful-resume\""), narrower);
    let exit = flow(&resumed).slow_start_exit.expect("it ended");
    assert_eq!((exit.reason, flow(&resumed).sender.rtos), ("loss", Some(0)));
    assert!(time < 1.1 * without, "{time} s, and {without} s without the jump");
}

const BBR: &str = "{ kind = \"bbr3\", saved_cwnd = \"18.75 MB\", saved_rtt = \"600 ms\" }";

/// RFC 9959's notes for BBR on the same path: two rounds at half of the saved rate, and then Startup. The transfer takes at least four
/// round trips less.
#[test]
fn bbr_resumes_too() {
    let (_, time) = satellite(BBR, SATELLITE);
    let (_, plain) = satellite("\"bbr3\"", SATELLITE);
    assert!(time < plain - 4.0 * 0.6, "{time} s, and {plain} s without the jump");
}

/// A path that is not the saved one: with less than half of the round trip nothing is resumed; with a tenth of the rate the queue
/// overflows, Drain follows, and the transfer takes no longer than a tenth more, whatever two rounds at five times the rate lose.
#[test]
fn bbr_resumes_on_another_path() {
    let nearer = "rate = \"250 Mbit/s\"\n[[flow]]\nrtt = \"290 ms\"";
    assert_eq!(satellite(BBR, nearer).1.to_bits(), satellite("\"bbr3\"", nearer).1.to_bits());

    let narrower = "rate = \"25 Mbit/s\"\n[[flow]]\nrtt = \"600 ms\"";
    let (resumed, time) = satellite(BBR, narrower);
    let (_, without) = satellite("\"bbr3\"", narrower);
    assert_eq!(flow(&resumed).slow_start_exit.expect("it ended").reason, "careful resume");
    assert!(time < 1.1 * without, "{time} s, and {without} s without the jump");
}
