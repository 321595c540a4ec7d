//! A scenario file: it is a scenario that reads back as itself, or there is a message that points into it.
#![no_main]

#[path = "../../crates/scenario/tests/scenario/mutate.rs"]
#[allow(dead_code, reason = "the changes are libFuzzer's")]
mod mutate;
#[path = "../../crates/scenario/tests/scenario/random.rs"]
#[allow(dead_code, reason = "the changes are libFuzzer's")]
mod random;

libfuzzer_sys::fuzz_target!(|text: &str| {
    mutate::check(text, &[]);
});
