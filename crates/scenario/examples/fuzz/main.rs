//! Random input to the core, for as long as one likes: `fuzz KIND [--seconds S] [--cases N] [--seed N]`.
//!
//! - `texts`: valid scenario files and traces with random changes. The parser must answer each with a scenario or a message.
//! - `runs`: random scenarios under the invariants of any run.
//! - `relations`: random scenarios under relations between runs, such as that half a run is the first half of the whole.
//!
//! Each case is made from its own seed. One that fails is made as small as it can be and written to
//! `results/fuzz-KIND-SEED.toml`; `fuzz KIND FILE` tries it again. Build it with `--profile fuzz`, which has assertions.

mod campaign;

#[path = "../../tests/scenario/generate/mod.rs"]
mod generate;
#[path = "../../tests/scenario/invariants.rs"]
mod invariants;
#[path = "../../tests/scenario/mutate.rs"]
mod mutate;
#[path = "../../tests/scenario/names.rs"]
mod names;
#[path = "../../tests/scenario/outcome.rs"]
mod outcome;
#[path = "../../tests/scenario/random.rs"]
mod random;
#[path = "../../tests/scenario/relations/mod.rs"]
mod relations;
#[path = "../../tests/scenario/shrink.rs"]
mod shrink;
#[path = "../../tests/scenario/tables.rs"]
mod tables;

use std::process::ExitCode;

use campaign::{Attack, Bounds};
use random::Random;
use windtunnel_scenario::Scenario;

const USAGE: &str =
    "usage: fuzz texts|runs|relations [FILE] [--seconds S] [--cases N] [--seed N] [--events N]";

const ATTACKS: [Attack; 3] = [
    Attack { name: "texts", generate: |seed| mutate::mutated(&mut Random::new(seed)), attempt: text },
    Attack { name: "runs", generate: generate::generate, attempt: run },
    Attack { name: "relations", generate: relations::generate, attempt: relate },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (kind, rest) = arguments.split_first().map_or(("", &[][..]), |(kind, rest)| (kind.as_str(), rest));
    let (file, options) = match rest.split_first() {
        Some((file, options)) if !file.starts_with("--") => (Some(file), options),
        _ => (None, rest),
    };
    let attack = ATTACKS.iter().find(|attack| attack.name == kind);
    let (Some(attack), Some(bounds)) = (attack, Bounds::parse(options)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match file {
        Some(file) => campaign::again(*attack, &bounds, file),
        None => campaign::search(*attack, &bounds),
    }
}

fn text(text: &str, _: &Bounds) -> Vec<&'static str> {
    vec![if mutate::check(text, &[]) { "valid" } else { "refused" }]
}

fn run(text: &str, bounds: &Bounds) -> Vec<&'static str> {
    let summary = invariants::check(&parse(text), bounds.events);
    vec![if summary.is_some() { "to the end" } else { "cut off" }]
}

fn relate(text: &str, bounds: &Bounds) -> Vec<&'static str> {
    relations::check(&parse(text), bounds.events)
}

fn parse(text: &str) -> Scenario {
    generate::read(text, &[]).unwrap_or_else(|error| panic!("not valid: {error}"))
}
