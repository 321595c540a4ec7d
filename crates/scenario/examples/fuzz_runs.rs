//! Random scenarios under invariants for a given time: `fuzz_runs --seconds 600 [--seed 1]`. Run it with debug assertions.
//!
//! One that fails is made as small as it can be, written to `results/fuzz-SEED.toml` and named on standard error. Each runs
//! in a thread of its own: one that hangs is written as it is. `fuzz_runs FILE` runs a file under the same invariants.

#[path = "../tests/scenario/generate/mod.rs"]
mod generate;
#[path = "../tests/scenario/invariants.rs"]
mod invariants;
#[path = "../tests/scenario/outcome.rs"]
mod outcome;
#[path = "../tests/scenario/random.rs"]
mod random;
#[path = "../tests/scenario/shrink.rs"]
mod shrink;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Longer runs are cut off.
const MOST_EVENTS: u64 = 300_000;

/// No run takes longer, unless it hangs.
const LONGEST: Duration = Duration::from_secs(60);

/// The search ends after this many failures.
const MOST_FAILURES: u32 = 10;

/// The failure reported for a run that takes longer.
const HANGS: &str = "it hangs";

/// What the last failing run said.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| {
        if let Ok(mut message) = MESSAGE.lock() {
            *message = info.to_string();
        }
    }));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first() {
        Some(file) if !file.starts_with("--") => run_file(file),
        _ => fuzz(number(&arguments, "--seconds", 60), number(&arguments, "--seed", 1)),
    }
}

fn fuzz(seconds: u64, first: u64) -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long to go on is the user's choice; no result depends on it"
    )]
    let start = Instant::now();
    let (mut complete, mut cut, mut failures) = (0, 0, 0);
    for seed in first.. {
        if start.elapsed() >= Duration::from_secs(seconds) || failures >= MOST_FAILURES {
            break;
        }
        let text = generate::generate(seed);
        match run(&text) {
            Ok(true) => complete += 1,
            Ok(false) => cut += 1,
            Err(failure) => {
                failures += 1;
                report(seed, &text, &failure);
            }
        }
    }
    println!("{complete} runs to their end, {cut} cut off after {MOST_EVENTS} events, {failures} failed");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Why a scenario failed: the first line says where.
type Failure = String;

/// Runs a scenario. Returns whether it came to its end.
fn run(text: &str) -> Result<bool, Failure> {
    let scenario = generate::read(text, &[]).map_err(|error| format!("not valid: {error}"))?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let summary = panic::catch_unwind(AssertUnwindSafe(|| invariants::check(&scenario, MOST_EVENTS)));
        // Nobody listens any more if it took too long.
        drop(sender.send(summary.map(|summary| summary.is_some()).map_err(|_| message())));
    });
    receiver.recv_timeout(LONGEST).unwrap_or_else(|_| Err(HANGS.to_owned()))
}

fn message() -> Failure {
    MESSAGE.lock().map(|message| message.clone()).unwrap_or_default()
}

/// Writes a failing scenario, as small as it can be.
fn report(seed: u64, text: &str, failure: &Failure) {
    let place = |failure: &Failure| failure.lines().next().map(str::to_owned);
    let small = if failure == HANGS {
        text.to_owned()
    } else {
        shrink::shrink(text, &mut |text| run(text).is_err_and(|other| place(&other) == place(failure)))
    };
    let (file, why) = (format!("results/fuzz-{seed}.toml"), run(&small).err().unwrap_or_default());
    let commented = format!("# {}\n{small}", why.replace('\n', "\n# "));
    let written = fs::create_dir_all("results").and_then(|()| fs::write(&file, commented));
    eprintln!("{file}: {why}");
    if let Err(error) = written {
        eprintln!("{file} cannot be written: {error}\n{small}");
    }
}

fn run_file(file: &str) -> ExitCode {
    match fs::read_to_string(file).map_err(|error| error.to_string()).and_then(|text| run(&text)) {
        Ok(complete) => {
            println!("{file}: {}", if complete { "no fault" } else { "no fault up to where it was cut off" });
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{file}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The number after `name` on the command line.
fn number(arguments: &[String], name: &str, default: u64) -> u64 {
    let Some(at) = arguments.iter().position(|argument| argument == name) else { return default };
    arguments.get(at + 1).and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        eprintln!("{name} takes a whole number");
        std::process::exit(2);
    })
}
