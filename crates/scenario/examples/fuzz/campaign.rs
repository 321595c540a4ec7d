//! A search for failing cases, limited in time or number, and the reports about those found.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::shrink;

/// A kind of random input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The case with this seed.
    pub(crate) generate: fn(u64) -> String,
    /// Tries a case; panics if it fails, otherwise returns a short result.
    pub(crate) attempt: fn(&str, &Bounds) -> Vec<&'static str>,
}

/// Why a case fails: the first line says where.
type Failure = String;

/// How long a search lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    seconds: u64,
    cases: u64,
    first_seed: u64,
    /// Longer runs are cut off.
    pub(crate) events: u64,
}

impl Bounds {
    /// The limits that a command line gives; `None` if it is wrong.
    pub(crate) fn parse(arguments: &[String]) -> Option<Bounds> {
        let mut bounds = Bounds { seconds: u64::MAX, cases: u64::MAX, first_seed: 1, events: 300_000 };
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            let bound = match name.as_str() {
                "--seconds" => &mut bounds.seconds,
                "--cases" => &mut bounds.cases,
                "--seed" => &mut bounds.first_seed,
                "--events" => &mut bounds.events,
                _ => return None,
            };
            *bound = arguments.next()?.parse().ok()?;
        }
        if (bounds.seconds, bounds.cases) == (u64::MAX, u64::MAX) {
            bounds.seconds = 60;
        }
        Some(bounds)
    }
}

/// No case takes longer, unless it hangs.
const LONGEST: Duration = Duration::from_secs(60);

/// A search ends after this many failures.
const MOST_FAILURES: u64 = 10;

/// The failure reported for a case that takes longer.
const HANGS: &str = "it hangs";

/// What the last panic said.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Tries case after case.
pub(crate) fn search(attack: Attack, bounds: &Bounds) -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long to go on is the user's choice; no result depends on it"
    )]
    let start = Instant::now();
    let mut worker = Worker::new(attack, *bounds);
    let (mut tally, mut failures) = (BTreeMap::<&str, u64>::new(), 0);
    let mut cases = 0;
    let seconds = Duration::from_secs(bounds.seconds);
    while cases < bounds.cases && failures < MOST_FAILURES && start.elapsed() < seconds {
        let seed = bounds.first_seed + cases;
        let text = (attack.generate)(seed);
        let mut outcome = worker.attempt(&text);
        if outcome.as_ref().is_err_and(|failure| failure == HANGS) {
            // A machine that was busy or asleep must not count as a run that hangs.
            outcome = worker.attempt(&text);
        }
        match outcome {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| *tally.entry(outcome).or_default() += 1),
            Err(failure) => {
                failures += 1;
                report(attack, &mut worker, seed, &text, &failure);
            }
        }
        cases += 1;
        if cases.is_multiple_of(100_000) {
            eprintln!("{} {cases} cases, {failures} failed", attack.name);
        }
    }
    let outcomes: Vec<String> = tally.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    println!(
        "{}: {cases} cases from seed {} on ({}), {failures} failed",
        attack.name,
        bounds.first_seed,
        outcomes.join(", ")
    );
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tries the case in a file.
pub(crate) fn again(attack: Attack, bounds: &Bounds, file: &str) -> ExitCode {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    match Worker::new(attack, *bounds).attempt(&text) {
        Ok(outcomes) => {
            println!("{file}: no fault: {}", outcomes.join(", "));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{file}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a failing case, as small as it can be.
fn report(attack: Attack, worker: &mut Worker, seed: u64, text: &str, failure: &Failure) {
    let first_line = |failure: &Failure| failure.lines().next().map(str::to_owned);
    let small = if failure == HANGS {
        text.to_owned()
    } else {
        let fails = &mut |text: &str| {
            worker.attempt(text).is_err_and(|other| first_line(&other) == first_line(failure))
        };
        let small = shrink::shrink(text, fails);
        if fails(&small) { small } else { text.to_owned() }
    };
    let (name, events) = (attack.name, worker.bounds.events);
    let file = format!("results/fuzz-{name}-{seed}.toml");
    let written = fs::create_dir_all("results").and_then(|()| fs::write(&file, &small));
    eprintln!("{file}: {failure}");
    eprintln!("  again: fuzz {name} {file} --events {events}");
    eprintln!("  as it was made: fuzz {name} --seed {seed} --cases 1 --events {events}");
    if let Err(error) = written {
        eprintln!("{file} cannot be written: {error}\n{small}");
    }
}

/// A thread that tries cases, so that a case that hangs does not stop the search.
#[derive(Debug)]
struct Worker {
    attack: Attack,
    bounds: Bounds,
    cases: Sender<String>,
    outcomes: Receiver<Result<Vec<&'static str>, Failure>>,
}

impl Worker {
    fn new(attack: Attack, bounds: Bounds) -> Worker {
        panic::set_hook(Box::new(|info| {
            if let Ok(mut message) = MESSAGE.lock() {
                *message = info.to_string();
            }
        }));
        let ((cases, queue), (answers, outcomes)) = (mpsc::channel::<String>(), mpsc::channel());
        thread::spawn(move || {
            for text in queue {
                let attempt = AssertUnwindSafe(|| (attack.attempt)(&text, &bounds));
                let outcome = panic::catch_unwind(attempt).map_err(|_| message());
                // If the case took too long, the receiver is gone.
                drop(answers.send(outcome));
            }
        });
        Worker { attack, bounds, cases, outcomes }
    }

    fn attempt(&mut self, text: &str) -> Result<Vec<&'static str>, Failure> {
        let sent = self.cases.send(text.to_owned());
        sent.ok().and_then(|()| self.outcomes.recv_timeout(LONGEST).ok()).unwrap_or_else(|| {
            *self = Worker::new(self.attack, self.bounds);
            Err(HANGS.to_owned())
        })
    }
}

fn message() -> Failure {
    MESSAGE.lock().map(|message| message.clone()).unwrap_or_default()
}
