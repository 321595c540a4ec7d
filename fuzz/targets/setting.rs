//! A `--set KEY=VALUE`: the same check for a valid scenario with one change.
#![no_main]

#[path = "../../crates/scenario/tests/scenario/mutate.rs"]
#[allow(dead_code, reason = "the changes are libFuzzer's")]
mod mutate;
#[path = "../../crates/scenario/tests/scenario/random.rs"]
#[allow(dead_code, reason = "the changes are libFuzzer's")]
mod random;

libfuzzer_sys::fuzz_target!(|setting: &str| {
    mutate::check(mutate::CORPUS[0], &[setting.to_owned()]);
});
