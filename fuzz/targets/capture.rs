//! A capture: whatever its bytes are, what is read from it can be followed.
#![no_main]

use windtunnel_trace::walk::{Known, walk};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(capture) = windtunnel_trace::read(input) else { return };
    assert!(capture.segments.rows().is_sorted_by_key(|row| row.t_ns));
    for (timestamps, window) in [(true, true), (false, false)] {
        let connections = vec![Known { mss: 1448, timestamps, window }; capture.connections.len()];
        // It asserts itself that no more is in flight than is unacknowledged.
        walk(capture.segments.clone(), &connections, &|| true).expect("nothing stops it");
    }
});
