//! All rates doubled and all times halved: the same packets, in half of the time.
//!
//! This holds where the scenario states every time that matters: for datagrams, and for loss-free endpoints with
//! controllers that count in round trips. Times and rates are chosen so that no transmission time is rounded.

use std::fmt::Write;

use windtunnel_units::{Duration, Rate};

use super::Case;
use super::moved::assert_equal;
use super::run::{Captured, Run};
use super::same::parse;
use crate::random::Random;

/// How long a byte takes: an even number of nanoseconds, and a whole rate.
const NANOSECONDS_PER_BYTE: [u64; 12] = [2, 4, 8, 10, 20, 40, 80, 100, 200, 1000, 4000, 8000];

/// The title of a scenario that can be scaled.
const TITLE: &str = "times and rates can be scaled";

/// Controllers and slow starts without a clock.
const TIMELESS: [&str; 6] = [
    "reno",
    "reno-mds",
    "scalable",
    "scalable-mds",
    "{ kind = \"aimd\" }",
    "{ kind = \"reno\", slow_start = \"none\" }",
];

/// A scenario with this seed that can be scaled.
pub(super) fn generate(seed: u64) -> String {
    let mut random = Random::new(seed);
    let per_byte = NANOSECONDS_PER_BYTE[random.below(NANOSECONDS_PER_BYTE.len())];
    let packet = per_byte * 1500;
    let mut some = |least: u64, span: usize| 8 * (least / 8 + random.below(span.max(8) / 8) as u64);
    let (rtt, target) = (some(packet, 200 * packet as usize), some(packet, 20 * packet as usize));
    let (duration, interval) = (rtt * 40 + packet * 400, some(20 * packet, 100 * packet as usize));
    let starts: Vec<u64> = (0..3).map(|_| some(0, rtt as usize)).collect();
    let rate = 8_000_000_000 / per_byte;
    let ideal = random.below(2) == 0;
    let queue = match random.below(3) {
        0 => format!(
            "{{ kind = \"brickwall\", sce_threshold = \"{target} ns\", ce_threshold = \"{interval} ns\" }}"
        ),
        1 => format!("{{ kind = \"ramp\", max = \"{interval} ns\" }}"),
        _ => "{ kind = \"fifo\", limit = \"30 packets\" }".to_owned(),
    };
    let endpoints = if ideal { "ideal" } else { "linux" };
    let mut text = format!(
        "title = \"{TITLE}\"\nduration = \"{duration} ns\"\nendpoints = \"{endpoints}\"\nseed = {seed}\n[record]\ninterval = \"{} ns\"\n\
         [bottleneck]\nrate = \"{rate} bit/s\"\nqueue = {queue}\n",
        hundredth(duration)
    );
    for start in &starts[..=random.below(3)] {
        let what = if ideal {
            let controller = random.pick(&TIMELESS);
            if controller.starts_with('{') {
                format!("pacing = false\ncc = {controller}")
            } else {
                format!("pacing = false\ncc = \"{controller}\"")
            }
        } else {
            // Between a quarter of the rate and all of it, in whole transmission times.
            let gap = packet * (1 + random.below(4) as u64);
            format!("app = {{ kind = \"probe\", size = \"1500 B\", interval = \"{gap} ns\" }}")
        };
        writeln!(text, "[[flow]]\n{what}\nrtt = \"{rtt} ns\"\nstart = \"{start} ns\"")
            .expect("memory is enough");
    }
    text
}

/// About a hundredth of a time.
const fn hundredth(ns: u64) -> u64 {
    ns / 800 * 8 + 8
}

/// All rates doubled and all times halved.
pub(super) fn doubled(case: &Case) -> bool {
    if case.scenario.title != TITLE {
        return false;
    }
    let run = Run::of(&parse(&scaled(&case.scenario.to_toml())));
    let without_srtt = |packet: &Captured| Captured { srtt_ns: 0, ..*packet };
    let halved = |packet: &Captured| Captured { ns: packet.ns / 2, ..without_srtt(packet) };
    let pairs = || case.run.packets.iter().zip(&run.packets);
    let same = pairs().take_while(|(whole, half)| halved(whole) == without_srtt(half)).count();
    let rounded = pairs().take(same + 1).any(|(whole, half)| whole.srtt_ns != 2 * half.srtt_ns);
    let decides = pairs().nth(same).is_some_and(|(whole, half)| {
        let sender = half.sender;
        whole.sender != sender && Captured { sender, ..halved(whole) } == without_srtt(half)
    });
    // A controller compares times with the smoothed round-trip time, an average in whole nanoseconds. Where its half is
    // rounded, a window may differ for no other reason, and from then on these are different runs.
    if !(rounded && decides) {
        let actual: Vec<Captured> = run.packets.iter().map(without_srtt).collect();
        assert_equal(case.run.packets.iter().map(halved), &actual, "twice as fast");
    }
    true
}

/// The text with every quoted time halved and every quoted rate doubled.
fn scaled(text: &str) -> String {
    let mut pieces: Vec<String> = text.split('"').map(str::to_owned).collect();
    for quoted in pieces.iter_mut().skip(1).step_by(2) {
        if let Ok(time) = quoted.parse::<Duration>() {
            *quoted = format!("{} ns", time.as_nanos() / 2);
        } else if let Ok(rate) = quoted.parse::<Rate>() {
            *quoted = format!("{} bit/s", rate.bits_per_sec() * 2);
        }
    }
    pieces.join("\"")
}
