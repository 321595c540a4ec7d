//! Queues in front of a link: what leaves when.

use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{ClassSummary, RunResult, Simulation};
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

/// Flows share hosts by name, which a queue that is fair to hosts heeds: the only flow of one host gets as much as the three
/// of another. The names read back from the resolved scenario; a default is a host for each flow.
#[test]
fn hosts() {
    let text = |key: &str, mode: &str| {
        let cbr = "rtt = \"20 ms\"\napp = { kind = \"cbr\", rate = \"20 Mbit/s\" }\n";
        format!(
            "duration = \"2 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
             queue = {{ kind = \"cake\", flow_mode = \"{mode}\" }}\n\
             [[flow]]\n{cbr}count = 3\n{key} = \"a\"\n[[flow]]\n{cbr}{key} = \"b\"\n"
        )
    };
    for (key, mode, share) in [
        ("sender_host", "flows", 0.25),
        ("sender_host", "dual-srchost", 0.5),
        ("sender_host", "dual-dsthost", 0.25),
        ("receiver_host", "dual-dsthost", 0.5),
        ("receiver_host", "triple-isolate", 0.5),
    ] {
        let scenario = parse(&text(key, mode));
        assert_eq!(parse(&scenario.to_toml()), scenario);
        let bands = &Simulation::new(compile(&scenario)).finish().summary.queues[0].bands;
        let sent: Vec<f64> = bands.iter().map(|band| band.dequeued as f64).collect();
        let measured = sent[3] / sent.iter().sum::<f64>();
        assert!((measured - share).abs() < 0.01, "{key}, {mode}: {measured}");
    }
    let wrong = |flow: &str| {
        let text = format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\n[[flow]]\nrtt = \"9 ms\"\n{flow}\n"
        );
        Scenario::parse(&text, None, &[], &Registry::default()).expect_err("wrong").to_string()
    };
    let fault = wrong("cc = \"reno\"\nsender_host = \"\"");
    assert!(fault.contains("flow[0].sender_host: \"\" is not allowed: a name that is not empty"), "{fault}");
    let fault =
        wrong("cc = \"reno\"\nreceiver_host = \"a\"\napp = { kind = \"poisson\", load = \"1 Mbit/s\" }");
    assert!(fault.contains("flow[0].receiver_host: does not go with `poisson`"), "{fault}");
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
    assert!(fault.contains("bottleneck.queue.aqm: \"pi\" is not built here: the controller of Hollot and others, 2001; the nearest is `pie`"), "{fault}");
    let fault = wrong("{ kind = \"fq_codel\", aqm = { kind = \"codel\", targt = \"1 ms\" } }");
    assert!(fault.contains("bottleneck.queue.aqm.targt: is not a key here"), "{fault}");
    let fault = wrong("{ kind = \"fq_codel\", aqm = { kind = \"codel\", target = \"0 s\" } }");
    assert!(fault.contains("bottleneck.queue.aqm.target"), "{fault}");
    let fault = wrong("{ kind = \"pie\", aqm = \"codel\" }");
    assert!(fault.contains("bottleneck.queue.aqm: is not a key here"), "{fault}");
}

/// A queue that sorts packets into a few classes tells the sojourn times of each: where a class is a flow, those of the
/// flow's own dequeues; in all, what the queue tells of all packets. The table has the same packets. A FIFO has no
/// classes, and a fair queue, whose bands are flows, has none either, unless CAKE sorts flows into tins.
#[test]
fn classes_have_sojourn_times() {
    let text = |queue: &str| {
        format!(
            "duration = \"2 s\"\n[record]\nevents = true\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n\
             [[flow]]\nrtt = \"10 ms\"\napp = {{ kind = \"cbr\", rate = \"2 Mbit/s\" }}\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"10 ms\"\n"
        )
    };
    let sorted = "bands = 2, filters = [{ flows = [0], band = 0 }], default_band = 1";
    for (queue, names) in [
        (format!("{{ kind = \"prio\", {sorted} }}"), &["band 0", "band 1"][..]),
        (format!("{{ kind = \"tbf\", child = {{ kind = \"prio\", {sorted} }} }}"), &["band 0", "band 1"]),
        ("{ kind = \"cake\", diffserv = \"diffserv4\" }".into(), &["best effort", "bulk", "video", "voice"]),
        ("{ kind = \"cake\", diffserv = \"besteffort\" }".into(), &[]),
        ("\"dualpi2\"".into(), &["L", "C"]),
        ("\"fq_codel\"".into(), &[]),
        ("\"fifo\"".into(), &[]),
    ] {
        let result = run(&text(&queue));
        let whole = &result.summary.queues[0];
        let classes: Vec<&str> = whole.classes.iter().map(|class| &*class.name).collect();
        assert_eq!(classes, names, "{queue}");
        if names.is_empty() {
            assert!(result.tables.iter().all(|table| table.name != "classes"), "{queue}");
            continue;
        }
        assert_eq!(whole.classes.iter().map(|class| class.dequeued).sum::<u64>(), whole.dequeued);
        let of_class =
            |class: &ClassSummary| class.sojourn_ms.map_or(0.0, |p| p.mean * class.dequeued as f64);
        let sum: f64 = whole.classes.iter().map(of_class).sum();
        let mean = sum / whole.dequeued as f64;
        assert!((mean - whole.sojourn_ms.expect("packets").mean).abs() < 1e-9, "{queue}: {mean}");
        let Column::U64(rows) = column(table(&result, "classes"), "dequeued") else { panic!("counts") };
        assert_eq!(rows.iter().sum::<u64>(), whole.dequeued, "{queue}");
        if !queue.contains("prio") {
            continue;
        }
        let dequeues = table(&result, "dequeue_events");
        let (Column::U32(flows), Column::U64(sojourns)) =
            (column(dequeues, "flow"), column(dequeues, "sojourn_ns"))
        else {
            panic!("flows and times");
        };
        for (flow, class) in (0..).zip(&whole.classes) {
            let mine = flows.iter().zip(sojourns).filter(|(of, _)| **of == flow);
            let mine: Vec<f64> = mine.map(|(_, ns)| *ns as f64 / 1e6).collect();
            let p = class.sojourn_ms.expect("packets");
            let mean = mine.iter().sum::<f64>() / mine.len() as f64;
            assert_eq!(class.dequeued, mine.len() as u64, "{queue}: {}", class.name);
            assert!((p.mean - mean).abs() < 1e-9, "{queue}: {} of {mean}", p.mean);
            assert!((p.max - mine.iter().copied().fold(0.0, f64::max)).abs() < 1e-9, "{queue}: {}", p.max);
        }
    }
}

/// Queues inside of queues: a name or a table, or a list of them; to any depth, and the keys that one leaves out are
/// those of the queue around it. The resolved scenario has all of it and reads back; messages name the place of a
/// fault.
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
    // A queue that has a limit of its own keeps it in a queue that has none; a FIFO that was not named is as large as
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
            "bottleneck.queue.children[2].aqm: \"pi\" is not built here",
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

/// An AQM's ramp is its key `sce`, also in the slot of a fair queue. It reads back from the resolved scenario, an
/// override reaches into it, and in plain SCE mode its marks are in the summary.
#[test]
fn an_aqm_with_an_sce_ramp() {
    let text = |queue: &str| {
        format!(
            "duration = \"5 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\necn = true\ncount = 2\n"
        )
    };
    let codel = "kind = \"codel\", ecn = true";
    let marks = |queue: &str| {
        let scenario = parse(&text(queue));
        assert_eq!(parse(&scenario.to_toml()), scenario, "{queue}");
        Simulation::new(compile(&scenario)).finish().summary.queues[0].sce
    };
    for queue in [
        format!("{{ {codel}, ecn_mode = \"sce\", sce = {{ thresh = 20 }} }}"),
        format!("{{ kind = \"fq_codel\", ecn_mode = \"sce\", aqm = {{ {codel}, sce = {{}} }} }}"),
        "{ kind = \"red\", ecn_mode = \"sce\", sce = { target = \"5 ms\", single = true } }".to_owned(),
    ] {
        assert!(marks(&queue) > 50, "{queue}: {}", marks(&queue));
    }
    assert_eq!(marks(&format!("{{ {codel}, ecn_mode = \"sce\" }}")), 0);
    assert_eq!(marks(&format!("{{ {codel}, ecn_mode = \"rfc3168\", sce = {{ thresh = 20 }} }}")), 0);
    let base = text(&format!("{{ {codel}, sce = {{ thresh = 20 }} }}"));
    let overrides = ["bottleneck.queue.sce.thresh=30".to_owned()];
    let changed = Scenario::parse(&base, None, &overrides, &Registry::default()).expect("valid");
    assert_eq!(changed, parse(&base.replace("20 }", "30 }")));
}

/// Reno's windows where every n-th packet is signalled, as the response function is derived for exactly that (RFC 5166
/// section 2.2). From half of W to W it sends `3/8 W^2` packets in `W/2` round trips, and after a mark `W/2` in the round
/// trip in which the window does not grow: `3/8 W^2 + W/2 = n`, and `n / (W/2 + 1)` on average. That is `sqrt(3 n / 2)` for
/// large n, and 2 % less for n = 800. Within 3 %: windows are whole packets. The link never fills.
#[test]
fn renos_response_to_every_nth() {
    for n in [200.0_f64, 800.0] {
        let text = format!(
            "duration = \"120 s\"\n[bottleneck]\nrate = \"1 Gbit/s\"\nqueue = {{ kind = \"nth\", n = {n} }}\n\
             [[flow]]\ncc = {{ kind = \"reno\", slow_start = \"none\" }}\nrtt = \"50 ms\"\necn = true\nack = \"immediate\"\n\
             [[window]]\nname = \"late\"\nfrom = \"60 s\"\nto = \"120 s\"\n"
        );
        let summary = run(&text).summary;
        let largest = ((0.25 + 1.5 * n).sqrt() - 0.5) / 0.75;
        let expected = n / (largest / 2.0 + 1.0);
        let packets = summary.windows[0].flows[0].throughput_mbps * 1e6 * 0.050 / 12_000.0;
        assert!((packets / expected - 1.0).abs() < 0.03, "{n}: {packets}, expected {expected}");
    }
}

/// Step 2 of the verification of MDS disciplines (spec/queues-and-signalling section 16.5): Reno and Reno-MDS with equal round
/// trips have equal windows, within 10 %, over PIE-MDS and RED-MDS, whose sums keep the ratio whatever the order of packets.
#[test]
fn reno_and_reno_mds_are_equal() {
    for queue in ["kind = \"pie-mds\"", "kind = \"red-mds\", limit = \"1 MB\""] {
        let text = format!(
            "duration = \"120 s\"\n[bottleneck]\nrate = \"50 Mbit/s\"\nqueue = {{ {queue} }}\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\necn = true\n[[flow]]\ncc = \"reno-mds\"\nrtt = \"20 ms\"\n\
             [[window]]\nname = \"late\"\nfrom = \"20 s\"\nto = \"120 s\"\n"
        );
        let late = &run(&text).summary.windows[0];
        let [reno, mds] = [0, 1].map(|flow| late.flows[flow].cwnd_bytes.as_ref().expect("a window").mean);
        assert!((0.9..1.1).contains(&(mds / reno)), "{queue}: {mds} and {reno}");
    }
}

/// The table `qdisc` has what a discipline knows in addition to its bands: a row per interval and discipline with
/// bands, none for other disciplines. What a single band reports is in `aqm`, including the tokens of a shaper around
/// one.
#[test]
fn state_of_disciplines() {
    let text = |queue: &str| {
        format!(
            "duration = \"2 s\"\n[record]\ninterval = \"100 ms\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
             queue = {queue}\n[[flow]]\ncc = \"reno\"\nrtt = \"10 ms\"\ncount = 2\n"
        )
    };
    let shaped = "{ kind = \"tbf\", rate = \"5 Mbit/s\", child = \"fq_codel\" }";
    for (queue, names) in [
        ("\"fq_codel\"", &["new_flows", "old_flows", "memory_bytes"][..]),
        (shaped, &["tokens_bytes", "peak_tokens_bytes", "new_flows", "old_flows", "memory_bytes"]),
        ("\"drr\"", &["active_classes"]),
    ] {
        let result = run(&text(queue));
        let rows = table(&result, "qdisc");
        let keys = ["time_s", "queue"].iter().chain(names).copied();
        assert_eq!(rows.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>(), keys.collect::<Vec<_>>());
        assert_eq!(rows.columns[0].1.len(), 20, "{queue}");
        let Column::F64(values) = column(rows, names[names.len() - 1]) else { panic!("numbers") };
        assert!(values.iter().any(|value| *value > 0.0), "{queue}");
    }
    let result = run(&text("{ kind = \"tbf\", rate = \"5 Mbit/s\", child = \"pie\" }"));
    assert!(result.tables.iter().all(|table| table.name != "qdisc"));
    let aqm = table(&result, "aqm");
    assert!(["tokens_bytes", "p"].iter().all(|name| aqm.columns.iter().any(|(column, _)| column == name)));
}
