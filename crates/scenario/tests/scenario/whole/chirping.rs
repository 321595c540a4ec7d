//! Paced chirping (spec/congestion-control section 2.5).

use super::*;

/// 100 Mbit/s and 100 ms: 833 packets fit on the way.
fn ended(slow_start: &str) -> RunResult {
    let text = format!(
        "duration = \"4 s\"\n[bottleneck]\nrate = \"100 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"2000 packets\" }}\n\
         [[flow]]\ncc = {{ kind = \"reno\", slow_start = \"{slow_start}\" }}\nrtt = \"100 ms\"\nack = \"immediate\"\n"
    );
    run(&text, &[])
}

/// It ends by itself near the product, before anything is lost, and with a queue of a few packets; standard slow start fills the
/// queue of 2000.
#[test]
fn it_finds_the_rate() {
    let result = ended("paced-chirping");
    let exit = flow(&result).slow_start_exit.as_ref().expect("it ended");
    assert_eq!((exit.reason, flow(&result).sender.retransmits), ("chirps fill a round trip", Some(0)));
    assert_near("cwnd", exit.cwnd_bytes as f64 / MSS, 833.0, 0.1);
    assert!(exit.t_s < 1.5, "{} s", exit.t_s);
    let peak = |result: &RunResult| result.summary.queues[0].backlog_max_packets;
    let (chirped, standard) = (peak(&result), peak(&ended("standard")));
    assert!(chirped <= 16 && standard == 2000, "{chirped} and {standard}");
}

/// Responses of 5 kB, each after the one before: chirps start anew with each, so that the window stays at what the first two chirps
/// of five segments need. Longer responses are found out about, and their paths too: 2 MB end it as a long transfer does.
#[test]
fn pauses_start_it_anew() {
    let largest = |size: &str, think: &str| {
        let text = format!(
            "duration = \"20 s\"\n[bottleneck]\nrate = \"100 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"2000 packets\" }}\n\
             [[flow]]\ncc = {{ kind = \"reno\", slow_start = \"paced-chirping\" }}\nrtt = \"40 ms\"\n\
             app = {{ kind = \"request-response\", size = {{ kind = \"fixed\", value = \"{size}\" }}, think = {{ kind = \"fixed\", value = \"{think}\" }} }}\n"
        );
        let result = run(&text, &[]);
        let flow = flow(&result);
        (flow.cwnd_bytes.as_ref().expect("TCP").max as f64 / MSS, flow.slow_start_exit.is_some())
    };
    for think in ["0 ms", "10 ms", "500 ms"] {
        let (window, ended) = largest("5 kB", think);
        assert!(window <= 16.0 && !ended, "{think}: {window}");
        assert!(largest("2 MB", think).1, "{think}");
    }
}
