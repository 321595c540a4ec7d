//! PSH as Linux sets it: spec/congestion-control section 1.22. The tests of the rules alone are in `sender/push.rs`.

use windtunnel_tcp::TcpParams;
use windtunnel_units::Bytes;
use windtunnel_wire::TcpFlags;

use super::harness::{Lab, MSS, Script, Setup, at, lost};

/// The segments that carry PSH, and whether they left again, of a sender with calls of this size.
fn pushed(write_size: Bytes, script: Script, segments: Option<u64>) -> Vec<(u64, bool)> {
    let params = TcpParams { write_size, ..Setup::default().params };
    let mut lab = Lab::new(Setup { params, fixed: true, ..Setup::default() }, script);
    match segments {
        Some(segments) => lab.write(segments),
        None => lab.write_endless(),
    }
    lab.run_until(at(160));
    let with_psh = lab.sent.iter().filter(|sent| sent.flags.contains(TcpFlags::PSH));
    with_psh.map(|sent| (sent.segment, sent.again)).take_while(|(segment, _)| *segment <= 20).collect()
}

/// Calls of four segments and a half end in segments 5, 9, 14 and 18; without more data the last one is pushed, too. The flag
/// belongs to the data, so that the ninth segment has it again when it is sent again.
#[test]
fn ends_of_writes() {
    let call = MSS * 9 / 2;
    let bulk = pushed(call, Script::default(), None);
    assert_eq!(bulk, [5, 9, 14, 18].map(|segment| (segment, false)));
    let message = pushed(call, Script::default(), Some(12));
    assert_eq!(message, [5, 9, 12].map(|segment| (segment, false)));
    let repaired = pushed(call, lost([8, 9]), Some(12));
    assert_eq!(repaired.iter().filter(|(segment, again)| *segment == 9 && *again).count(), 1, "{repaired:?}");
    let large = pushed(Bytes::new(128 << 10), Script::default(), None);
    assert!(large.is_empty(), "twenty segments are no 128 KiB: {large:?}");
}
