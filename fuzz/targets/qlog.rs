//! A log: whatever its bytes are, what is read from it keeps the laws of a walk.
#![no_main]

use windtunnel_trace::{Trace, open};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(Trace::Qlog(log)) = open(input) else { return };
    let sends = &log.walked.sends;
    assert!(sends.flow.iter().all(|flow| (*flow as usize) < log.connections.len()));
    assert_eq!(sends.in_flight.len(), sends.t_ns.len());
    assert!(log.metrics.time_s.iter().all(|time| time.is_finite()));
});
