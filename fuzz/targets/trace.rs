//! A trace of transmission opportunities: either it can be used, or a message names a line.
#![no_main]

use windtunnel_sim::parse_mahimahi;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match parse_mahimahi(text) {
        Ok(trace) => assert!(!trace.period().is_zero() && trace.mean_rate().bits_per_sec() > 0),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
