//! One controller has the same windows in every sender: driven alone, hosted, and as one of the stacks' own.

mod alone;
#[expect(dead_code, reason = "nothing asks for the time")]
#[path = "../../../quic/src/clock.rs"]
mod clock;
mod drive;
#[expect(dead_code, reason = "the example moves data")]
#[path = "../../examples/loopback/end.rs"]
mod end;
mod noq;
mod quinn;
mod stacks;
#[path = "../../../quic/src/tls.rs"]
mod tls;

use windtunnel_cc::{Style, catalogue};

use crate::alone::Alone;
use crate::drive::{END, LONG_BEFORE, Sender, windows};
use crate::stacks::hosted;

/// The expectation is the controller itself, told of the same packets by a sender that is written apart.
#[test]
fn a_controller_has_the_same_windows_everywhere() {
    for params in catalogue(Style::Linux) {
        let name = params.name();
        let alone = windows(&mut Alone::new(&*params));
        assert!(alone.iter().any(|window| *window != alone[0]), "{name}: the window moves");
        assert_eq!(windows(&mut hosted(&params)), alone, "{name}, hosted");
        assert_eq!(windows(&mut quinn::Adapted::new(&params)), alone, "{name} in quinn");
        assert_eq!(windows(&mut noq::Adapted::new(&params)), alone, "{name} in noq");
    }
}

/// A stack copies its controller for a new path, where it starts anew (RFC 9000 section 9.4): the copy has the initial
/// window, and packets that left before it do not move it.
#[test]
fn a_new_path_has_a_fresh_controller() {
    for params in catalogue(Style::Linux) {
        let fresh = hosted(&params).window();
        let (mut old_quinn, mut old_noq) = (quinn::Adapted::new(&params), noq::Adapted::new(&params));
        windows(&mut old_quinn);
        windows(&mut old_noq);
        let copies: [Box<dyn Sender>; 2] =
            [Box::new(old_quinn.on_new_path()), Box::new(old_noq.on_new_path())];
        for mut copy in copies {
            assert_eq!(copy.window(), fresh, "{}", params.name());
            copy.lost(END, LONG_BEFORE);
            copy.acked(END, LONG_BEFORE, 0);
            assert_eq!(copy.window(), fresh, "{}", params.name());
        }
    }
}
