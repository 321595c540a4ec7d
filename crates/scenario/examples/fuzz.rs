//! Random input to the scenario parser for a given time: `fuzz --seconds 600 [--seed 1]`.
//!
//! A mutational fuzzer in the process, because those that measure coverage need a nightly compiler. Each text is made
//! from its own seed; a failing one is printed with it.

#[path = "../tests/scenario/mutate.rs"]
mod mutate;
#[path = "../tests/scenario/random.rs"]
mod random;

use std::panic;
use std::time::{Duration, Instant};

/// Texts between two looks at the clock.
const BATCH: u64 = 1000;

fn main() {
    let seconds = argument("--seconds").unwrap_or(60);
    let mut seed = argument("--seed").unwrap_or(1);
    #[expect(
        clippy::disallowed_methods,
        reason = "how long to go on is the user's choice; no result depends on it"
    )]
    let start = Instant::now();
    let (mut texts, mut valid) = (0_u64, 0_u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..BATCH {
            let text = mutate::mutated(&mut random::Random::new(seed));
            let Ok(is_valid) = panic::catch_unwind(|| mutate::check(&text, &[])) else {
                println!("seed {seed} fails; its text:\n{text}");
                std::process::exit(1);
            };
            valid += u64::from(is_valid);
            seed += 1;
        }
        texts += BATCH;
    }
    println!("{texts} texts, {valid} of them valid scenarios; none fails");
}

/// The number after `name` on the command line.
fn argument(name: &str) -> Option<u64> {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name)?;
    let number = arguments.get(at + 1).and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| {
        eprintln!("{name} takes a whole number");
        std::process::exit(2);
    }))
}
