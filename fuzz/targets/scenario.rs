//! A scenario file: either it is a scenario that reads back as itself, or a message points into the text.
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
