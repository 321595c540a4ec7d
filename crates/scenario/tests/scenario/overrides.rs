//! Overrides on top of a file.

use windtunnel_scenario::{LinkRate, Registry, Scenario};
use windtunnel_units::{Duration, Rate};

use crate::good_input::{DESIGN, parse};

fn with(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::parse(DESIGN, None, &overrides, &Registry::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// An override gives the same scenario as the edited file.
#[test]
fn an_override_is_an_edit() {
    let cases = [
        ("duration=50 s", "duration = \"60 s\"", "duration = \"50 s\""),
        ("bottleneck.rate=10 Mbps", "rate = \"100 Mbps\"", "rate = \"10 Mbps\""),
        (
            "bottleneck.queue=fifo",
            "queue = { kind = \"deltim\", burst = \"5 ms\", tau = 64 }",
            "queue = \"fifo\"",
        ),
        ("bottleneck.queue.tau = 32", "tau = 64 }\nchanges", "tau = 32 }\nchanges"),
        ("bottleneck.changes[0].at=20 s", "at = \"30 s\"", "at = \"20 s\""),
        ("bottleneck.changes=[]", "changes = [ { at = \"30 s\", rate = \"20 Mbps\" } ]", ""),
        ("flow[0].cc=cubic", "cc = \"reno\"  ", "cc = \"cubic\"  "),
        ("flow.0.cc.kind=\"cubic\"", "cc = \"reno\"  ", "cc = \"cubic\"  "),
        ("flow.reno.rtt=80 ms", "rtt = \"20 ms\"", "rtt = \"80 ms\""),
        ("flow[1].count=5", "count = 3", "count = 5"),
        ("record.interval='1 ms'", "seed = 1", "seed = 1\nrecord.interval = \"1 ms\""),
        (
            "flow[0].cc.slow_start.kind=standard",
            "cc = \"reno\"  ",
            "cc = { kind = \"reno\", slow_start = \"standard\" }  ",
        ),
        ("flow[0].ack.count=4", "start = \"0 s\"", "ack = { count = 4 }"),
        ("title=a = b", "Reno against Reno-MDS", "a = b"),
    ];
    for (setting, from, to) in cases {
        assert!(DESIGN.contains(from), "{from}");
        assert_eq!(with(&[setting]), parse(&DESIGN.replacen(from, to, 1)), "{setting}");
    }
}

/// Later overrides see the effects of earlier ones.
#[test]
fn overrides_apply_in_order() {
    let scenario = with(&[
        "bottleneck.rate=1 Gbps",
        "flow.reno.name=first",
        "flow.first.rtt=5 ms",
        "bottleneck.rate=2 Gbps",
    ]);
    assert_eq!(scenario.links[0].rate, Some(LinkRate::Fixed(Rate::from_mbps(2000))));
    assert_eq!(scenario.flows[0].route.rtt, Duration::from_millis(5));
}

/// A key that the file lacks but an override sets is not an error; messages about the rest still point into the file.
#[test]
fn overrides_complete_a_file() {
    let text = DESIGN.replacen("rate = \"100 Mbps\"", "", 1);
    assert!(Scenario::parse(&text, Some("s.toml"), &[], &Registry::default()).is_err());
    assert!(
        Scenario::parse(&text, Some("s.toml"), &["bottleneck.rate=1 Gbps".to_owned()], &Registry::default())
            .is_ok()
    );
    let error =
        Scenario::parse(&text, Some("s.toml"), &["bottleneck.delay=1 ms".to_owned()], &Registry::default())
            .unwrap_err();
    assert_eq!(error.to_string(), "s.toml:6: bottleneck.rate: is required");
}
