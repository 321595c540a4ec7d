//! No text makes the parser panic, and every text gets a sensible answer. No scenario violates the invariants of a run
//! or the relations between runs. `make fuzz` runs the same for longer.

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::{fs, io};

use proptest::prelude::*;
use windtunnel_scenario::Scenario;
use windtunnel_sim::parse_mahimahi;
use windtunnel_units::Rate;

use crate::generate::{self, ROWS, generate};
use crate::invariants;
use crate::mutate::{CORPUS, check, mutated};
use crate::random::Random;
use crate::relations;

/// Valid scenarios with random changes; some of them must stay valid, or the changes are too coarse to get far.
#[test]
fn changed_scenarios() {
    let mut random = Random::new(1);
    let valid = (0..4000).filter(|_| check(&mutated(&mut random), &[])).count();
    assert!((40..3960).contains(&valid), "{valid} of 4000 stayed valid");
}

/// Scenarios of every kind keep the invariants; most of them run to their end.
#[test]
fn random_scenarios() {
    let runs = 300;
    let complete = (1..=runs).filter(|&seed| {
        let text = generate(seed);
        let scenario = parse(&text);
        let summary = panic::catch_unwind(AssertUnwindSafe(|| invariants::check(&scenario, 20_000)));
        summary.unwrap_or_else(|_| panic!("seed {seed} fails:\n{text}")).is_some()
    });
    assert!(complete.count() as u64 > runs / 2);
}

/// The relations between runs hold; each relation applies to some of the scenarios.
#[test]
fn related_scenarios() {
    let mut said = BTreeSet::new();
    for seed in 1..=40 {
        let text = relations::generate(seed);
        let checked = panic::catch_unwind(|| relations::check(&parse(&text), 4_000));
        said.extend(checked.unwrap_or_else(|_| panic!("seed {seed} fails:\n{text}")));
    }
    assert_eq!(said, relations::names());
}

/// What takes a short way because it is usual (header prediction; runs without a record of single packets) gives the
/// same digest and the same summary the long way: 300 scenarios of any kind.
#[test]
fn scenarios_both_ways() {
    for seed in 2001..=2300 {
        let text = generate(seed);
        let checked = panic::catch_unwind(|| relations::check_ways(&parse(&text), 5_000));
        checked.unwrap_or_else(|_| panic!("seed {seed} differs the long way:\n{text}"));
    }
}

/// Parts of a run on several threads give what one loop gives: 200 scenarios of links in a row. Those in which all is joined
/// (by connections that arrive, or by flows without a delay) cannot be divided.
#[test]
fn scenarios_in_parts() {
    let mut divided = 0;
    for seed in 3001..=3200 {
        let text = generate(ROWS + seed);
        let checked = panic::catch_unwind(|| relations::check_parts(&parse(&text), 5_000));
        divided += u32::from(checked.unwrap_or_else(|_| panic!("seed {seed} differs in parts:\n{text}")));
    }
    assert!(divided > 100, "{divided} of 200 can be divided");
}

/// What is recorded changes no run, neither its digest nor its summary: 200 scenarios of any kind, each with every key of
/// `[record]` switched alone.
#[test]
fn recorded_scenarios() {
    for seed in 1001..=1200 {
        let text = generate(seed);
        let checked = panic::catch_unwind(|| relations::check_records(&parse(&text), 1_500));
        checked.unwrap_or_else(|_| panic!("seed {seed} fails:\n{text}"));
    }
}

/// Scenarios with which random tests found faults before: every file in `found/`. `make fuzz` and `make soak` write what fails to
/// `results/`, from where it is copied.
#[test]
fn found_scenarios() {
    let cases = texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenario/found"));
    assert!(cases.len() >= 6, "{} files", cases.len());
    for text in cases {
        let scenario = parse(&text);
        assert!(invariants::check(&scenario, u64::MAX).is_some());
        relations::check(&scenario, u64::MAX);
    }
}

/// The seeds of coverage-guided fuzzing (`fuzz/`), by the rules of its targets: texts that reach code that other inputs
/// rarely reach.
#[test]
fn seeds_of_coverage() {
    let scenarios = seeds("scenario");
    let valid = scenarios.iter().filter(|text| check(text, &[])).count();
    assert!((4..scenarios.len()).contains(&valid), "{valid} of {} are valid", scenarios.len());
    for setting in seeds("setting") {
        check(CORPUS[0], &[setting]);
    }
    for text in seeds("trace") {
        match parse_mahimahi(&text) {
            Ok(trace) => assert!(trace.mean_rate() > Rate::ZERO, "{text}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Those seeds of a target that are texts.
fn seeds(target: &str) -> Vec<String> {
    let archive = format!("{}/../../fuzz/seeds/{target}.tar", env!("CARGO_MANIFEST_DIR"));
    let mut archive = tar::Archive::new(fs::File::open(archive).expect("the archive is in the repository"));
    let entries = archive.entries().expect("a tar archive");
    entries.filter_map(|entry| io::read_to_string(entry.expect("an entry")).ok()).collect()
}

/// The texts in a folder.
fn texts(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("the folder is in the repository");
    files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok()).collect()
}

fn parse(text: &str) -> Scenario {
    generate::read(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text, &[]);
    }

    #[test]
    fn any_override(setting in any::<String>(), key in "[a-z.\\[\\]0-9]{0,20}", value in ".{0,10}") {
        for setting in [setting, format!("{key}={value}"), format!("flow[0].{key}={value}"), format!("bottleneck.{key}={value}")] {
            check(CORPUS[0], &[setting]);
        }
    }
}
