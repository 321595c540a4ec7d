//! A capture: whatever its bytes are, what is read from it can be followed.
#![no_main]

use windtunnel_trace::walk::{Known, Rows, walk};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(capture) = windtunnel_trace::read(input) else { return };
    let rows = Rows::from(&capture.segments);
    assert!(rows.equally_long() && rows.t_ns.is_sorted());
    for (timestamps, window) in [(true, true), (false, false)] {
        let connections = vec![Known { mss: 1448, timestamps, window }; capture.connections.len()];
        let walked = walk(&rows, &connections, &|| true).expect("nothing stops it");
        assert!(
            walked
                .sends
                .in_flight
                .iter()
                .zip(&walked.sends.unacked)
                .all(|(flight, unacked)| flight <= unacked)
        );
    }
});
