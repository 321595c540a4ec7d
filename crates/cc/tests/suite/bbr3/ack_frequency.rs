//! The ACKs that a flow asks for (007dbe1, "Impact of changing ACK frequency"): four in a round trip or more while it
//! probes, one per quarter of the window in DOWN and CRUISE.

use windtunnel_cc::Params;

use super::*;

fn asking() -> Flow {
    Flow::new(&Bbr3Params { ack_frequency: true, ..Bbr3Params::default() })
}

/// In segments per ACK.
fn ratio(flow: &Flow) -> Option<u32> {
    flow.cc.ack_ratio()
}

/// An ACK per two segments in Startup, REFILL and UP, one per quarter of the window in CRUISE and DOWN, each in `ProbeRTT`.
#[test]
fn by_mode() {
    let mut flow = asking();
    assert!(flow.cc.needs().ack_requests);
    flow.ack(round(100));
    assert_eq!((flow.mode(), ratio(&flow)), (STARTUP, Some(2)));
    flow.acks(3, round(100));
    assert_eq!(flow.mode(), CRUISE);
    assert_eq!(ratio(&flow), Some(flow.cwnd() as u32 / 4));
    assert!(flow.cwnd() >= 100.0);
    while flow.mode() == CRUISE {
        flow.ack(Ack { after: ms(10), ..round(100) });
    }
    assert_eq!((flow.mode(), ratio(&flow)), (REFILL, Some(2)), "before the probe");
    flow.probe(round(100));
    assert_eq!((flow.mode(), ratio(&flow)), (UP, Some(2)));
    flow.lose(Loss { number: 0, flight_then: 200, lost: 100, app_limited: false });
    flow.ack(Ack { in_flight: 200, ..within(80) });
    assert_eq!((flow.mode(), ratio(&flow)), (DOWN, Some(flow.cwnd() as u32 / 4)));
    flow.ack(Ack { after: Duration::from_secs(11), ..within(80) });
    assert_eq!((flow.mode(), ratio(&flow)), (PROBE_RTT, Some(1)));
}

/// In CRUISE each round in which the window had run out at most ACKs halves the share of the window, until the next probe.
#[test]
fn the_window_runs_out() {
    let mut flow = asking();
    flow.acks(4, round(100));
    let cwnd = |flow: &Flow| flow.cwnd() as u32;
    for share in [4, 8, 16] {
        assert_eq!((flow.mode(), ratio(&flow)), (CRUISE, Some(cwnd(&flow) / share)));
        flow.ack(Ack { cwnd_limited: true, ..within(80) });
        flow.ack(Ack { cwnd_limited: true, ..round(80) });
    }
    flow.probe(round(100));
    assert_eq!(ratio(&flow), Some(2));
}

/// Without the parameter nothing is asked for; Linux's rules have no such thing.
#[test]
fn off() {
    for params in [draft(), draft_06(), linux(), second()] {
        let mut flow = Flow::new(&*params);
        flow.ack(round(100));
        assert_eq!((ratio(&flow), flow.cc.needs().ack_requests), (None, false));
    }
    let linux = Bbr3Params { variant: Bbr3Variant::Linux, ack_frequency: true, ..Bbr3Params::default() };
    assert_eq!(linux.check().map_err(|refused| refused.key), Err("ack_frequency"));
}
