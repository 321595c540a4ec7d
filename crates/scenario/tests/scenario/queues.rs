//! Queues in front of a link: what leaves when.

use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{RunResult, Simulation};
use windtunnel_units::Duration;

use crate::good_input::parse;

pub(crate) fn run(text: &str) -> RunResult {
    Simulation::new(compile(&parse(text))).finish()
}

pub(crate) fn table<'r>(result: &'r RunResult, name: &str) -> &'r Table {
    result.tables.iter().find(|table| table.name == name).expect("a table of the result")
}

pub(crate) fn column<'t>(table: &'t Table, name: &str) -> &'t Column {
    &table.columns.iter().find(|(column, _)| *column == name).expect("a column of the table").1
}

/// With `dequeue_point = "end"` the packet that leaves is the one that was transmitted, also after the AQM has dropped
/// another at the end of its transmission: at 1 Mbit/s a packet of 1500 B leaves at least 12 ms after the one before,
/// and a packet of 60 B at least 0.48 ms after it. The transmission of a dropped packet is lost time. DelTiM does not
/// relent while a flow does not respond, so no packet of 1500 B survives it; under a brick wall, a flow that responds
/// keeps most of its packets.
#[test]
fn what_leaves_at_the_end_was_transmitted() {
    let cbr = "app = { kind = \"cbr\", rate = \"1.5 Mbit/s\", packet_size = \"1500 B\" }";
    for (queue, large, drops, survivors) in [
        ("kind = \"deltim\", burst = \"1 ms\"", cbr, 100, [0, 100]),
        ("kind = \"brickwall\", drop_threshold = \"100 ms\"", "cc = \"reno\"", 10, [500, 500]),
    ] {
        let text = format!(
            "duration = \"20 s\"\n[record]\nevents = true\n\
             [bottleneck]\nrate = \"1 Mbit/s\"\ndequeue_point = \"end\"\nqueue = {{ {queue} }}\n\
             [[flow]]\nname = \"large\"\nrtt = \"10 ms\"\n\
             {large}\n\
             [[flow]]\nname = \"small\"\nrtt = \"10 ms\"\n\
             app = {{ kind = \"cbr\", rate = \"0.5 Mbit/s\", packet_size = \"60 B\" }}\n"
        );
        let result = run(&text);
        assert!(result.summary.queues[0].drops.aqm > drops, "{queue}: {:?}", result.summary.queues[0].drops);
        let dequeues = table(&result, "dequeue_events");
        let (Column::U64(times), Column::U32(sizes)) = (column(dequeues, "t_ns"), column(dequeues, "size"))
        else {
            panic!("times and sizes");
        };
        let mut left = [0, 0];
        for (pair, size) in times.windows(2).zip(&sizes[1..]) {
            let gap = pair[1] - pair[0];
            assert!(gap >= u64::from(*size) * 8_000, "{queue}: {size} B after {gap} ns");
            left[usize::from(*size == 60)] += 1;
        }
        assert!(left.iter().zip(survivors).all(|(n, least)| *n >= least), "{queue}: {left:?}");
    }
}

/// A queue has existed for a minute when the run starts, unless its `age` says otherwise; a PIE that has just been
/// created, as Linux does it, leaves p alone for half a second. A flow that starts at 0 s meets the first at once.
#[test]
fn the_age_of_a_queue() {
    let text = |age: &str| {
        format!(
            "duration = \"500 ms\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"pie\"{age} }}\n\
             [[flow]]\nrtt = \"10 ms\"\napp = {{ kind = \"cbr\", rate = \"20 Mbit/s\" }}\n"
        )
    };
    assert_eq!(parse(&text("")).links[0].queue.age, Duration::from_secs(60));
    let drops = |age| run(&text(age)).summary.queues[0].drops.aqm;
    assert_eq!(drops(", age = \"0 s\""), 0);
    assert!(drops("") > 0);
    let wrong = Scenario::parse(&text(", age = 3"), None, &[], &Registry::default());
    assert!(wrong.unwrap_err().to_string().contains("bottleneck.queue.age: `3` has no unit"));
}

/// Queue descriptions nest: `aqm` is a name or a table. It reads back from the resolved scenario, and messages name the
/// place of a fault in it. The bands of a fair queue are in the summary and in a table of their own.
#[test]
fn queues_nest() {
    let text = |queue: &str| {
        format!(
            "duration = \"2 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"10 ms\"\ncount = 2\n\
             [[flow]]\nname = \"probe\"\nrtt = \"10 ms\"\napp = {{ kind = \"cbr\", rate = \"20 Mbit/s\" }}\n"
        )
    };
    for queue in [
        "{ kind = \"fq_codel\", aqm = \"pie\" }",
        "{ kind = \"fq\", aqm = { kind = \"codel\", target = \"1 ms\" } }",
    ] {
        let scenario = parse(&text(queue));
        assert_eq!(parse(&scenario.to_toml()), scenario, "{queue}");
        let result = Simulation::new(compile(&scenario)).finish();
        let bands = &result.summary.queues[0].bands;
        assert_eq!(bands.iter().map(|band| &*band.name).collect::<Vec<_>>(), ["flow 0", "flow 1", "flow 2"]);
        assert!(bands[2].drops.aqm + bands[2].drops.full > 100, "{:?}", bands[2]);
        let sum: u64 = bands.iter().map(|band| band.dequeued).sum();
        // A packet that is being transmitted at the end has left its band, and is not counted as dequeued by the link.
        assert!((0..=1).contains(&(sum - result.summary.queues[0].dequeued)));
        let Column::U64(dequeued) = column(table(&result, "bands"), "dequeued") else { panic!("counts") };
        assert_eq!(dequeued.iter().sum::<u64>(), sum);
    }
    let wrong = |queue: &str| {
        Scenario::parse(&text(queue), None, &[], &Registry::default()).expect_err("wrong").to_string()
    };
    let fault = wrong("{ kind = \"fq_codel\", aqm = \"pi\" }");
    assert!(fault.contains("bottleneck.queue.aqm: \"pi\" is not allowed: an AQM is one of"), "{fault}");
    let fault = wrong("{ kind = \"fq_codel\", aqm = { kind = \"codel\", targt = \"1 ms\" } }");
    assert!(fault.contains("bottleneck.queue.aqm.targt: is not a key here"), "{fault}");
    let fault = wrong("{ kind = \"fq_codel\", aqm = { kind = \"codel\", target = \"0 s\" } }");
    assert!(fault.contains("bottleneck.queue.aqm.target"), "{fault}");
    let fault = wrong("{ kind = \"pie\", aqm = \"codel\" }");
    assert!(fault.contains("bottleneck.queue.aqm: is not a key here"), "{fault}");
}

/// Queues inside of queues: a name or a table, or a list of them; to any depth, and what is not said of one is as in the
/// queue around it. The resolved scenario has all of it and reads back; messages name the place of a fault.
#[test]
fn queues_inside_queues() {
    let text = |queue: &str| {
        format!(
            "duration = \"2 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"10 ms\"\ncount = 2\n"
        )
    };
    let shaped = "{ kind = \"tbf\", rate = \"5 Mbit/s\", limit = \"20 packets\", ecn_mode = \"rfc3168\", child = \
                  { kind = \"prio\", bands = 2, filters = [{ flows = [1], band = 0 }], children = \
                  [\"codel\", { kind = \"fq_codel\", aqm = \"pie\", limit = \"1 bdp\", ecn_mode = \"none\" }] } }";
    let scenario = parse(&text(shaped));
    assert_eq!(parse(&scenario.to_toml()), scenario);
    let resolved: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let prio = &resolved["bottleneck"]["queue"]["child"];
    let said = |queue: &serde_json::Value| [queue["limit"].clone(), queue["ecn_mode"].clone()];
    assert_eq!(said(prio), ["20 packets", "rfc3168"]);
    assert_eq!(said(&prio["children"][0]), ["20 packets", "rfc3168"]);
    assert_eq!(said(&prio["children"][1]), ["12500 B", "none"]);
    assert_eq!(prio["children"][1]["aqm"]["kind"], "pie");
    // A queue that has a limit of its own keeps it in a queue that has none; a FIFO that nobody named is as large as
    // the shaper's latency asks for: 50 ms at 10 Mbit/s and 15 kB.
    let limit = |queue: &str| {
        let resolved: serde_json::Value = serde_json::from_str(&parse(&text(queue)).to_json()).expect("JSON");
        resolved["bottleneck"]["queue"]["child"]["limit"].clone()
    };
    assert_eq!(limit("{ kind = \"tbf\", child = \"codel\" }"), "1000 packets");
    assert_eq!(limit("{ kind = \"tbf\", rate = \"10 Mbit/s\" }"), "77500 B");

    // 5 Mbit/s of the 10: the shaper's. The flow with priority has the first band.
    let result = Simulation::new(compile(&scenario)).finish();
    let queue = &result.summary.queues[0];
    assert!((4.6..5.1).contains(&queue.throughput_mbps), "{}", queue.throughput_mbps);
    assert_eq!(queue.bands.iter().map(|band| &*band.name).collect::<Vec<_>>(), ["band 0", "band 1"]);
    assert!(queue.bands[0].throughput_mbps > 4.0 * queue.bands[1].throughput_mbps);

    let wrong = |queue: &str| {
        Scenario::parse(&text(queue), None, &[], &Registry::default()).expect_err("wrong").to_string()
    };
    let mut deep = "\"fifo\"".to_owned();
    for _ in 0..60 {
        deep = format!("{{ kind = \"tbf\", child = {deep} }}");
    }
    assert_eq!(parse(&parse(&text(&deep)).to_toml()), parse(&text(&deep)));
    for (queue, fault) in [
        (
            "{ kind = \"tbf\", child = \"fif\" }",
            "bottleneck.queue.child: \"fif\" is not allowed: a queue is one of",
        ),
        (
            "{ kind = \"tbf\", child = { kind = \"codel\", target = \"0 s\" } }",
            "bottleneck.queue.child.target: \"0 s\" is not allowed",
        ),
        (
            "{ kind = \"prio\", children = [\"fifo\", \"fifo\", { kind = \"fq_codel\", aqm = \"pi\" }] }",
            "bottleneck.queue.children[2].aqm: \"pi\" is not allowed",
        ),
        (
            "{ kind = \"prio\", children = \"fifo\" }",
            "bottleneck.queue.children: \"fifo\" is not allowed: a list",
        ),
        (
            "{ kind = \"prio\", children = [] }",
            "bottleneck.queue.children: a list is not allowed: at least one",
        ),
        (
            "{ kind = \"prio\", bands = 4, children = [\"fifo\", \"pie\"] }",
            "bottleneck.queue.bands: 4 is not allowed: the number of queues in `children`",
        ),
        ("{ kind = \"fifo\", child = \"fifo\" }", "bottleneck.queue.child: is not a key here"),
        (
            "{ kind = \"tbf\", child = { kind = \"fifo\", age = \"1 s\" } }",
            "bottleneck.queue.child.age: belongs to",
        ),
        ("{ kind = \"tbf\", child = { kind = \"fifo\", limit = \"-1 B\" } }", "bottleneck.queue.child.limit"),
        ("{ kind = \"prio\", filters = [{ band = 7, ecn = [\"ect1\"] }] }", "bottleneck.queue.filters"),
    ] {
        let message = wrong(queue);
        assert!(message.contains(fault), "{message}");
    }
}

/// An override reaches into queues inside: one that is given by its name becomes a table.
#[test]
fn overrides_reach_queues_inside() {
    let text = "duration = \"1 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
                queue = { kind = \"tbf\", child = { kind = \"prio\", bands = 2, children = [\"fifo\", \"codel\"] } }\n\
                [[flow]]\ncc = \"reno\"\nrtt = \"10 ms\"\n";
    let settings = [
        "bottleneck.queue.child.children[1].target=1 ms",
        "bottleneck.queue.child.children.0.limit=9 packets",
    ];
    let settings = settings.map(str::to_owned);
    let scenario = Scenario::parse(text, None, &settings, &Registry::default()).expect("valid");
    let resolved: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let children = &resolved["bottleneck"]["queue"]["child"]["children"];
    assert_eq!(children[1]["target"], "1 ms");
    assert_eq!(children[0]["limit"], "9 packets");
}
