//! Runs that several threads share: what random scenarios hardly ever have.

use std::fmt::Write;

use windtunnel_scenario::compile;
use windtunnel_sim::Run;

use crate::good_input::parse;
use crate::relations;

/// Equal links in a row, 12 Mbit/s and `delay`; over each of them `local` flows, and one over all. All flows are equal but
/// for the keys in `flow`, so that most events have others at the same nanosecond in other parts.
fn row(links: usize, delay: &str, local: usize, flow: &str) -> String {
    let mut text = "duration = \"3 s\"\nmtu = \"1500 B\"\n[record]\npoints = \"1 ms\"\n".to_owned();
    for node in 0..=links {
        write!(text, "[[node]]\nname = \"n{node}\"\n").unwrap();
    }
    for link in 0..links {
        write!(
            text,
            "[[link]]\nname = \"l{link}\"\nfrom = \"n{link}\"\nto = \"n{}\"\nrate = \"12 Mbit/s\"\n\
             delay = \"{delay}\"\nqueue = {{ kind = \"fifo\", limit = \"20 packets\" }}\n",
            link + 1
        )
        .unwrap();
    }
    for link in 0..links {
        write!(
            text,
            "[[flow]]\nname = \"local{link}\"\nfrom = \"n{link}\"\nto = \"n{}\"\ncount = {local}\n{flow}",
            link + 1
        )
        .unwrap();
    }
    write!(text, "[[flow]]\nname = \"all\"\nfrom = \"n0\"\nto = \"n{links}\"\n{flow}").unwrap();
    text
}

/// Events at the same time in different parts have the order of one loop: rows of points and of transfers are in it.
#[test]
fn at_the_same_time() {
    let bulk = "cc = \"reno\"\nrtt = \"40 ms\"\n";
    let transfers = "cc = \"cubic\"\nrtt = \"40 ms\"\napp = { kind = \"request-response\", size = { kind = \"fixed\", value = \"30 kB\" }, think = { kind = \"fixed\", value = \"1 ms\" } }\n";
    let datagrams = "rtt = \"40 ms\"\napp = { kind = \"cbr\", rate = \"6 Mbit/s\" }\n";
    for flow in [bulk, transfers, datagrams] {
        let text = row(4, "2 ms", 2, flow);
        assert!(relations::check_parts(&parse(&text), 200_000), "cannot be divided: {text}");
    }
}

/// The subflows of a connection are in one part, although they take the first and the third link: their controllers read
/// each other's state.
#[test]
fn subflows_stay_together() {
    for cc in ["lia", "olia", "balia"] {
        let mut text = row(4, "2 ms", 2, &format!("cc = \"{cc}\"\nrtt = \"40 ms\"\n"));
        for name in ["name = \"local0\"\n", "name = \"local2\"\n"] {
            text = text.replace(name, &format!("{name}connection = \"m\"\n"));
        }
        assert!(relations::check_parts(&parse(&text), 200_000), "cannot be divided: {text}");
    }
}

/// A run is divided where that pays, and otherwise the tool says why not.
#[test]
fn divided_where_it_pays() {
    let bulk = "cc = \"reno\"\nrtt = \"40 ms\"\n";
    let why = |text: &str| {
        let (run, why) = Run::new(compile(&parse(text)), 2).expect("all flows fit");
        (run.balance().parts, why.unwrap_or_default())
    };
    let fast = row(4, "2 ms", 2, bulk).replace("12 Mbit/s", "1 Gbit/s");
    assert_eq!(why(&fast), (2, String::new()));
    let one = row(1, "2 ms", 2, bulk).replace("12 Mbit/s", "1 Gbit/s");
    let slow = row(4, "2 ms", 2, bulk).replace("12 Mbit/s", "100 kbit/s");
    let traced = fast.replace("[record]\n", "[record]\npackets = true\n");
    for (text, said) in [
        (&one, "joined without a delay"),
        (&slow, "wait for each other every 2 ms"),
        (&traced, "`record.packets`"),
    ] {
        let (parts, why) = why(text);
        assert_eq!(parts, 1);
        assert!(why.contains(said), "{why}");
    }
}
