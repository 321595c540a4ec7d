//! Media in DATAGRAM frames (RFC 9221): nothing is sent again, and frames that wait too long give way.

use windtunnel_sim::DatagramSummary;

use crate::runs::{first, run, text};

const STACKS: [&str; 2] = ["quinn", "noq"];

/// Media at `rate` for ten seconds over a link of 10 Mbit/s and 20 ms with `more` keys.
fn media(stack: &str, rate: &str, more: &str) -> DatagramSummary {
    let link = format!("rate = \"10 Mbps\"\nqueue = {{ kind = \"fifo\", limit = \"20 packets\" }}\n{more}");
    let app = format!("app = {{ kind = \"media\", rate = \"{rate}\" }}");
    let flow = format!("stack = {stack}\nrtt = \"20 ms\"\n{app}");
    first(&run(&text(10, &link, &[&flow]))).datagrams.expect("datagrams")
}

/// On an empty path all arrive after half a round trip and their transmission. A frame has 8333 bytes,
/// six packets of 1.16 ms.
#[test]
fn all_arrive_over_an_empty_path() {
    for stack in STACKS {
        let all = media(&format!("\"{stack}\""), "2 Mbps", "");
        let delay = all.one_way_ms.expect("delays").mean;
        assert_eq!((all.lost, all.duplicates), (0, 0), "{stack}");
        assert!((1790..=1800).contains(&all.sent) && all.sent - all.received < 4, "{stack}: {all:?}");
        assert!((11.1..11.3).contains(&delay), "{stack}: {delay} ms");
    }
}

/// RFC 9221 section 5: lost frames are not sent again. The share lost is the link's, within five standard deviations of
/// 1800 draws.
#[test]
fn losses_stay_losses() {
    for stack in STACKS {
        let all =
            media(&format!("\"{stack}\""), "2 Mbps", "impair = { kind = \"loss\", probability = 0.05 }");
        assert!((all.loss_ratio - 0.05).abs() < 5.0 * (0.05_f64 * 0.95 / 1800.0).sqrt(), "{stack}: {all:?}");
    }
}

/// A source that is faster than the link fills the stack's buffer, and the oldest frames give way. A full buffer moves at
/// the source's rate, since each new frame takes the place of an old one: 100 kB take 53 ms at 15 Mbit/s. The path adds
/// 11.2 ms, and its queue of 20 packets up to 24 ms.
#[test]
fn the_buffer_bounds_the_delay() {
    for stack in STACKS {
        let delay = |buffer: &str| {
            let with = format!("{{ kind = \"{stack}\", datagram_buffer = \"{buffer}\" }}");
            let all = media(&with, "15 Mbps", "");
            assert!(all.loss_ratio > 0.3, "{stack}: {all:?}");
            all.one_way_ms.expect("delays").p50
        };
        let [small, large] = ["100 kB", "200 kB"].map(delay);
        assert!((62.0..90.0).contains(&small), "{stack}: {small} ms");
        assert!((48.0..57.0).contains(&(large - small)), "{stack}: {small} and {large} ms");
    }
}
