//! Estimates of rows, events and memory against real runs, whose allocations are counted.
//!
//! How far an estimate may be off, which is what users are told:
//!
//! - A bound holds, always. That of `flows` and `queues` is the number of rows itself, unless the run stalls.
//! - An expectation assumes that senders fill the links. Where they do, packets, events and the rows that follow from
//!   them are within a factor of two of it (within a factor of three for thinned points and marks, which depend on the
//!   values), and the memory is between an eighth and 1.25 times the estimate.
//! - Every application over every queue, and the scenarios of the gallery and of the course, need between a third of what
//!   is expected and three times as much, if their senders fill the links; at most three times as much if they do not.
//!   Where connections arrive, the expectation is that of Little's law, for the load that is offered.
//! - Where a path loses most packets, or a timer keeps senders silent, a run may need far less. It hardly ever needs
//!   more: of random scenarios, whose keys are at the ends of their ranges, at most one of 30 needs twice the memory
//!   and 4 MiB.

#[path = "../scenario/generate/mod.rs"]
mod generate;
#[path = "../scenario/names.rs"]
mod names;
#[path = "../scenario/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;
use windtunnel_scenario::{Certainty, Estimate, RESIDENT, TableRows, compile};
use windtunnel_sim::recorder::Sink;
use windtunnel_sim::recorder::columns::Table;
use windtunnel_sim::{RunResult, Simulation};
use windtunnel_units::Bytes;

#[global_allocator]
static ALLOCATIONS: PeakAlloc = PeakAlloc;

/// Longer runs are left out, so that the test is fast.
const MOST_EVENTS: f64 = 2e6;

/// One run at a time: allocations of all threads are counted together.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run, and what was expected of it.
struct Measured {
    name: String,
    estimate: Estimate,
    result: RunResult,
    left: Left,
    memory: Bytes,
}

/// Runs a scenario; returns `None` if that takes too long.
fn measure(name: &str, text: &str, settings: &[&str]) -> Option<Measured> {
    measure_file(None, name, text, settings)
}

/// The same for the scenario of a file.
fn measure_file(file: Option<&str>, name: &str, text: &str, settings: &[&str]) -> Option<Measured> {
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let scenario =
        generate::read_from(file, text, &settings).unwrap_or_else(|error| panic!("{name}: {error}"));
    let estimate = Estimate::of(&scenario);
    let most = if file.is_some() { MOST_EVENTS / 12.0 } else { MOST_EVENTS };
    if estimate.packets.events > most {
        return None;
    }
    let before = ALLOCATIONS.current_usage();
    ALLOCATIONS.reset_peak_usage();
    let left = Left::default();
    let mut simulation = Simulation::new(compile(&scenario));
    simulation.stream_to(Box::new(left.clone()), RESIDENT);
    let result = simulation.finish();
    let memory = Bytes::new((ALLOCATIONS.peak_usage() - before) as u64);
    Some(Measured { name: name.to_owned(), estimate, result, left, memory })
}

/// Counts the rows that leave memory while a run goes on, as they do in files.
#[derive(Clone, Debug, Default)]
struct Left(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Sink for Left {
    fn rows(&mut self, table: &Table, rows: Range<usize>) {
        *self.0.lock().expect("one thread").entry(table.name).or_default() += rows.len() as u64;
    }
}

impl Measured {
    fn expected_rows(&self, table: &str) -> (u64, Certainty) {
        let estimate = self.estimate.tables.iter().find(|estimate| estimate.table == table);
        estimate.map_or((0, Certainty::Expectation), |estimate| (estimate.rows, estimate.certainty))
    }

    fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let left = self.left.0.lock().expect("one thread").clone();
        let stayed = self.result.tables.iter().filter(|table| !table.columns.is_empty());
        let stayed = stayed.map(|table| (table.name, table.columns[0].1.len() as u64));
        stayed.chain(left).collect::<Vec<_>>().into_iter()
    }

    /// Bounds hold, and those at intervals are exact.
    fn check_bounds(&self) {
        for (table, rows) in self.rows() {
            let (expected, certainty) = self.expected_rows(table);
            if certainty == Certainty::Bound {
                assert!(rows <= expected, "{}: {rows} rows of {table}, at most {expected}", self.name);
            }
            if ["flows", "queues"].contains(&table) && self.result.summary.stalled.is_none() {
                assert_eq!(rows, expected, "{}: rows of {table}", self.name);
            }
        }
    }

    /// The expectations of a run whose senders fill its links.
    fn check_expectations(&self) {
        let name = &self.name;
        let within = |what: &str, measured: f64, expected: f64, least: f64, most: f64| {
            // Few are left to chance.
            let (low, high) = (least * expected - 64.0, most * expected + 64.0);
            assert!((low..=high).contains(&measured), "{name}: {measured} {what}, expected {expected}");
        };
        let (summary, packets) = (&self.result.summary, &self.estimate.packets);
        within("packets", summary.packets as f64, packets.data, 0.5, 1.1);
        within("events", summary.events as f64, packets.events, 0.4, 1.5);
        for (table, rows) in self.rows() {
            let (expected, _) = self.expected_rows(table);
            let (least, most) = match table {
                // Queues that never mark have no such rows, and neither have flows whose windows never change.
                "mark_points" | "mark_events" | "bands" => (0.0, 3.0),
                // With `state = "changes"` a number that rarely changes has few rows.
                "cc" | "aqm" => (0.0, 1.0),
                "cwnd_points" | "sojourn_points" => (0.1, 2.0),
                _ => (0.4, 1.5),
            };
            within(table, rows as f64, expected as f64, least, most);
        }
        let (memory, expected) = (self.memory.as_f64(), self.estimate.memory().as_f64());
        assert!(memory <= 1.25 * expected, "{name}: {memory} bytes, expected {expected}");
        assert!(memory >= expected / 8.0, "{name}: {memory} bytes, expected {expected}");
    }
}

/// The scenarios of `folder` that are short enough, with these settings.
fn examples(folder: &str, settings: &[&str]) -> Vec<Measured> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    // A work with a Python file next to it has a controller in Python.
    let ours = |file: &&PathBuf| !file.with_extension("py").exists();
    let scenarios = files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "toml"))
        .filter(ours);
    let texts =
        scenarios.map(|file| (file.display().to_string(), fs::read_to_string(file).expect("readable")));
    let ours = texts.filter(|(_, text)| !of_another_crate(text));
    ours.filter_map(|(name, text)| measure(&name, &text, settings)).collect()
}

/// A scenario with a stack that this crate does not know: it is estimated where that stack is.
fn of_another_crate(text: &str) -> bool {
    text.contains("stack = ")
}

/// The examples, the bench's works that are short, and the scenarios of the papers.
#[test]
#[ignore = "long"]
fn estimates_of_examples() {
    let _turn = alone();
    let mut measured = examples("scenarios", &[]);
    measured.extend(examples("python/windtunnel/bench", &[]));
    measured.extend(examples("python/windtunnel/papers/mds/data/scenarios", &[]));
    assert!(measured.len() >= 10, "{}", measured.len());
    for run in &measured {
        run.check_bounds();
        run.check_expectations();
    }
}

impl Measured {
    /// All rows, and their memory.
    fn rows_and_memory(&self) -> (f64, f64) {
        let all = self.estimate.tables.iter();
        all.fold((0.0, 0.0), |(rows, memory), table| {
            (rows + table.rows as f64, memory + table.memory().as_f64())
        })
    }

    /// Why a run is further from what was expected than a factor of three, apart from what is too little to matter. An
    /// expectation assumes that senders fill their links: those that do not may need less.
    fn far_off(&self) -> Option<String> {
        const FACTOR: f64 = 3.0;
        const FEW_ROWS: f64 = 500.0;
        const LITTLE: f64 = 400e3;
        let rows: f64 = self.rows().map(|(_, rows)| rows as f64).sum();
        let (expected_rows, _) = self.rows_and_memory();
        let (memory, expected) = (self.memory.as_f64(), self.estimate.memory().as_f64());
        let filled = self.result.summary.packets as f64 > 0.5 * self.estimate.packets.data;
        let far = |measured: f64, expected: f64, little: f64| {
            measured > FACTOR * expected + little || (filled && expected > FACTOR * measured + little)
        };
        (far(rows, expected_rows, FEW_ROWS) || far(memory, expected, LITTLE)).then(|| {
            let name = &self.name;
            format!("{name}: {rows} rows, expected {expected_rows}; {memory} bytes, expected {expected}; filled: {filled}")
        })
    }
}

/// What makes a flow send, with values that are usual for each.
const APPLICATIONS: [&str; 9] = [
    "cc = \"cubic\"\ncount = 3",
    "cc = \"cubic\"\ncount = 20\napp = { kind = \"transfer\", size = \"100 kB\" }",
    "cc = \"cubic\"\ncount = 3\napp = { kind = \"on-off\", on = \"200 ms\", off = \"200 ms\" }",
    "cc = \"cubic\"\ncount = 3\napp = { kind = \"request-response\", size = \"20 kB\", think = \"50 ms\" }",
    "cc = \"cubic\"\napp = { kind = \"poisson\", load = \"6 Mbit/s\" }",
    "cc = \"cubic\"\napp = { kind = \"poisson\", load = \"20 Mbit/s\", size = \"5 kB\" }",
    "app = { kind = \"media\", rate = \"2 Mbit/s\" }",
    "app = { kind = \"cbr\", rate = \"5 Mbit/s\" }",
    "app = \"probe\"",
];

/// Every application over every queue: rows and memory are within a factor of three.
#[test]
fn estimates_of_applications_over_queues() {
    let _turn = alone();
    let listing: serde_json::Value =
        serde_json::from_str(&windtunnel_scenario::listing(&windtunnel_scenario::Registry::default()))
            .expect("JSON");
    let queues: Vec<&str> = listing["queues"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|queue| queue["name"].as_str())
        .collect();
    assert!(queues.len() > 30, "{queues:?}");
    let mut far = Vec::new();
    for queue in queues {
        for flow in APPLICATIONS {
            let text = format!(
                "duration = \"1500 ms\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = \"{queue}\"\n[[flow]]\nrtt = \"30 ms\"\n{flow}\n"
            );
            let run = measure(&format!("{queue}: {flow}"), &text, &[]).expect("short");
            far.extend(run.far_off());
        }
    }
    assert!(far.is_empty(), "{} far off:\n{}", far.len(), far.join("\n"));
}

/// The scenarios of the gallery and of the course: none is refused at 4 GB, and those that are short enough need what was
/// expected, within a factor of three.
#[test]
#[ignore = "long"]
fn estimates_of_documents() {
    let _turn = alone();
    let mut far = Vec::new();
    let mut count = 0;
    for folder in ["docs/gallery", "docs/course"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .expect("it is there")
            .map(|entry| entry.expect("readable").path())
            .map(|path| path.join(path.file_name().expect("a name")).with_extension("toml"))
            .filter(|file| file.exists())
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("readable");
            let name = file.to_str().expect("UTF-8");
            let whole = generate::read_from(Some(name), &text, &[]).unwrap_or_else(|error| panic!("{error}"));
            let needed = Estimate::of(&whole).memory();
            assert!(needed < Bytes::new(4_000_000_000), "{name}: {needed} for a whole run");
            // A sender that is deceived has no bound but the length of the run.
            let deceived = text.contains("optimistic = ");
            if let Some(run) = measure_file(Some(name), name, &text, &[]).filter(|_| !deceived) {
                count += 1;
                far.extend(run.far_off());
            }
        }
    }
    assert!(count >= 8, "{count}");
    assert!(far.is_empty(), "{} far off:\n{}", far.len(), far.join("\n"));
}

/// What the how-tos print is not refused at 4 GB, with the queue that they start from and with a fair one.
#[test]
fn estimates_of_how_tos() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to");
    let mut count = 0;
    for file in fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("readable").path()) {
        let text = fs::read_to_string(&file).expect("readable");
        for block in text.split("```toml").skip(1).filter_map(|rest| rest.split("```").next()) {
            if !block.contains("[bottleneck]") || !block.contains("[[flow]]") || of_another_crate(block) {
                continue;
            }
            count += 1;
            for settings in [&[][..], &["bottleneck.queue=fq_codel".to_owned()][..]] {
                let scenario = generate::read(block, settings)
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                let needed = Estimate::of(&scenario).memory();
                assert!(needed < Bytes::new(4_000_000_000), "{}: {needed}", file.display());
            }
        }
    }
    assert!(count > 0);
}

/// With everything recorded, and with loss recovery.
#[test]
fn estimates_of_detail() {
    let _turn = alone();
    let all = ["record.events=true", "record.packets=true", "record.state=changes"];
    let text = "duration = \"5 s\"\n[bottleneck]\nrate = \"50 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"1 bdp\" }\n\
                [[flow]]\ncc = \"cubic\"\nrtt = \"20 ms\"\ncount = 3\n[[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\n";
    let run = measure("detail", text, &all).expect("short");
    run.check_bounds();
    run.check_expectations();
    let packets = run.rows().find(|(table, _)| *table == "packets").expect("recorded").1;
    assert!(packets > 50_000, "{packets}");
}

/// Initial windows are a bound: ten thousand packets each, which a queue without a limit takes.
#[test]
fn estimates_of_initial_windows() {
    let _turn = alone();
    let text = "duration = \"60 ms\"\nendpoints = \"ideal\"\n[bottleneck]\nrate = \"1 Gbit/s\"\n\
                [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\niw = 10000\ncount = 10\npacing = false\n";
    let run = measure("initial windows", text, &[]).expect("short");
    let (memory, expected) = (run.memory.as_f64(), run.estimate.memory().as_f64());
    assert!(memory > 10e6 && memory <= expected && memory >= expected / 8.0, "{memory} of {expected}");
    assert_eq!(run.estimate.parts[0].key, "flow[0].iw");
}

/// The memory of a flow that hardly sends: three thousand of them share a link, with loss recovery, without it, and as
/// connections that arrive during the run.
#[test]
fn estimates_of_many_flows() {
    let _turn = alone();
    for (flow, endpoints) in [
        ("cc = \"reno\"\ncount = 3000", "linux"),
        ("cc = \"reno\"\ncount = 3000", "ideal"),
        ("cc = \"reno\"\napp = { kind = \"poisson\", load = \"300 Mbit/s\" }", "linux"),
    ] {
        let text = format!(
            "duration = \"1 s\"\nendpoints = \"{endpoints}\"\n[bottleneck]\nrate = \"100 Mbit/s\"\n\
             [record]\ninterval = \"1 s\"\npoints = \"0 s\"\n[[flow]]\nrtt = \"20 ms\"\n{flow}\n"
        );
        let run = measure(&format!("{flow}, {endpoints}"), &text, &[]).expect("short");
        run.check_bounds();
        let (memory, expected) = (run.memory.as_f64(), run.estimate.memory().as_f64());
        assert!((expected / 8.0..=1.25 * expected).contains(&memory), "{}: {memory} of {expected}", run.name);
    }
}

/// 1 Gbit/s for 8 s, shared by `count` flows of CUBIC.
fn many(flow: &str, count: u32) -> String {
    format!(
        "duration = \"8 s\"\nendpoints = \"linux\"\n[bottleneck]\nrate = \"1 Gbit/s\"\nqueue = \"fifo\"\n\
         [record]\ninterval = \"1 s\"\npoints = \"0 s\"\nstate = \"off\"\n\
         [[flow]]\nrtt = \"20 ms\"\ncc = \"cubic\"\n{flow}\ncount = {count}\nstagger = \"100 us\"\n"
    )
}

/// How much more memory 8192 flows need than 2048, for each. The rows of tables and the timers fill powers of two.
fn of_one_flow(memory: impl Fn(u32) -> f64) -> f64 {
    (memory(8192) - memory(2048)) / 6144.0
}

/// At its peak, a run needs at most 4 KiB for a flow that has nothing in flight, in addition to its rows in tables. A
/// flow that has ended needs less, also when its summary is made, and one that waits for its start far less. If a
/// million flows work one after the other, most of them have ended or wait.
#[test]
fn memory_per_flow() {
    let _turn = alone();
    let peak = |flow: &str| {
        of_one_flow(|count| {
            let run = measure(flow, &many(flow, count), &[]).expect("short");
            let rows: Bytes = run.estimate.tables.iter().map(TableRows::memory).sum();
            run.memory.as_f64() - rows.as_f64()
        })
    };
    let transfer = "app = { kind = \"transfer\", size = \"1 kB\" }";
    let waiting = of_one_flow(|count| {
        let network = compile(&generate::read(&many(transfer, count), &[]).expect("valid"));
        let simulation = Simulation::new(network);
        let held = ALLOCATIONS.current_usage();
        drop(simulation);
        (held - ALLOCATIONS.current_usage()) as f64
    });
    let idle = peak("app = { kind = \"request-response\", size = \"1 kB\", think = \"100 s\" }");
    let ended = peak(transfer);
    println!(
        "bytes of a flow: {waiting:.0} before its start, {idle:.0} while idle, {ended:.0} after its end"
    );
    assert!(waiting <= 1536.0, "{waiting} bytes for a flow that waits for its start");
    assert!(idle <= 4096.0, "{idle} bytes for an idle flow");
    assert!(ended <= 2560.0, "{ended} bytes for a flow that has ended");
}

/// A flow needs no more memory because the network has more links that others pass: in a row of them, each with 200 flows of
/// its own, between 40 that pass all links.
#[test]
fn memory_by_links() {
    let _turn = alone();
    let row = |links: usize| {
        let ends = |from: usize, to: usize| format!("from = \"n{from}\"\nto = \"n{to}\"\n");
        let flows = |name: &str, count: u32| {
            format!("name = \"{name}\"\ncount = {count}\ncc = \"cubic\"\nrtt = \"1 s\"\n")
        };
        let mut parts = vec![
            "duration = \"10 ms\"\n[record]\ninterval = \"10 ms\"\npoints = \"0 s\"\nstate = \"off\"\n"
                .to_owned(),
        ];
        parts.extend((0..=links).map(|node| format!("[[node]]\nname = \"n{node}\"\n")));
        parts.push(format!("[[flow]]\n{}{}", ends(0, links), flows("first", 20)));
        for link in 0..links {
            let way = ends(link, link + 1);
            parts.push(format!("[[link]]\nname = \"l{link}\"\n{way}rate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n"));
            parts.push(format!("[[flow]]\n{way}{}", flows(&format!("f{link}"), 200)));
        }
        parts.push(format!("[[flow]]\n{}{}", ends(0, links), flows("last", 20)));
        parts.concat()
    };
    let of_one_link = |links: usize| {
        let network = compile(&generate::read(&row(links), &[]).expect("valid"));
        let simulation = Simulation::new(network);
        let held = ALLOCATIONS.current_usage();
        drop(simulation);
        (held - ALLOCATIONS.current_usage()) as f64 / links as f64
    };
    let (few, many) = (of_one_link(20), of_one_link(100));
    println!("bytes of a link and its flows: {few:.0} of 20, {many:.0} of 100");
    // With an entry for each of 20,000 flows and not of 4000 it would be 250 kB more.
    assert!(many <= 1.1 * few, "{many} bytes, and {few} where links are few");
}

/// Random scenarios: bounds hold, and hardly any run needs much more memory than expected.
#[test]
fn estimates_of_random_scenarios() {
    let _turn = alone();
    let measured: Vec<Measured> = (1..=90)
        .filter_map(|seed| measure(&format!("seed {seed}"), &generate::generate(seed), &[]))
        .collect();
    assert!(measured.len() > 60, "{}", measured.len());
    measured.iter().for_each(Measured::check_bounds);
    let needs_more =
        |run: &&Measured| run.memory.as_f64() > 2.0 * run.estimate.memory().as_f64() + f64::from(4 << 20);
    let more: Vec<&str> = measured.iter().filter(needs_more).map(|run| run.name.as_str()).collect();
    assert!(more.len() * 30 <= measured.len(), "{more:?} need more than expected");
}
