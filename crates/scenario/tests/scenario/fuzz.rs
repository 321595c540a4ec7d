//! No text makes the parser panic, and each gets an answer that makes sense. `make fuzz` runs the same for longer.

use proptest::prelude::*;

use crate::mutate::{CORPUS, Random, check, mutated};

/// Valid scenarios with random changes; some of them must stay valid, or the changes are too coarse to get far.
#[test]
fn changed_scenarios() {
    let mut random = Random::new(1);
    let valid = (0..4000).filter(|_| check(&mutated(&mut random), &[])).count();
    assert!((40..3960).contains(&valid), "{valid} of 4000 stayed valid");
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
