//! Traces of transmission opportunities, which scenarios name by file.
//!
//! They are temporary files: a few for each octave of the rate. Every process makes the same ones, so that a failing
//! scenario can be run again.

use std::path::PathBuf;
use std::{env, fs, process};

use crate::random::Random;

/// The number of different traces for each octave.
pub(super) const VARIANTS: usize = 8;

/// The bits that may leave at one opportunity (Mahimahi).
const OPPORTUNITY: u64 = 1504 * 8;

/// The name of a trace whose mean rate is between half of `rate` and `rate`, in bit/s, as far as its clock of
/// milliseconds and its length allow.
pub(super) fn file(rate: u64, variant: usize) -> PathBuf {
    let octave = rate.ilog2();
    let path = env::temp_dir().join(format!("windtunnel-fuzz-{octave}-{variant}.trace"));
    if !path.exists() {
        // Other processes may be writing the same file: it must appear complete.
        let own = path.with_extension(process::id().to_string());
        let mut random = Random::new(u64::from(octave) * VARIANTS as u64 + variant as u64);
        let written = fs::write(&own, text(1 << octave, &mut random)).and_then(|()| fs::rename(&own, &path));
        written.expect("the folder for temporary files can be written");
    }
    path
}

/// Opportunities at random times, or at a few moments: bursts, and silence between them.
fn text(rate: u64, random: &mut Random) -> String {
    let count = random.log(1, 2000);
    let period_ms = (count * OPPORTUNITY * 1000 / rate).max(1);
    let moments = if random.one_in(2) { count } else { random.log(1, 10) };
    let moments: Vec<u64> = (0..moments).map(|_| random.next() % period_ms).collect();
    let mut times: Vec<u64> = (1..count).map(|_| moments[random.below(moments.len())]).collect();
    times.push(period_ms);
    times.sort_unstable();
    times.iter().map(u64::to_string).collect::<Vec<_>>().join("\n")
}
