//! Stacks in shared libraries: `tiny.c`, compiled in several ways with the C compiler of this machine.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use windtunnel_scenario::{Reading, Scenario, compile};
use windtunnel_sim::{RunResult, Simulation};

use crate::runs::{first, registry, text};

const BOTTLENECK: &str = "rate = \"10 Mbps\"\nqueue = \"fifo\"";

/// Where the libraries are made: the scenarios' folder, too.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles `tiny.c` with these macros; nothing if there is no compiler.
fn tiny(name: &str, macros: &[&str]) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder().join(name);
    let status = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            "-Wno-unreachable-code",
        ])
        .args(macros)
        .arg("-I")
        .arg(sources.join("../foreign"))
        .arg(sources.join("tests/stacks/tiny.c"))
        .arg("-o")
        .arg(&library)
        .status();
    match status {
        Ok(status) => {
            assert!(status.success(), "{name} does not compile");
            Some(library)
        }
        Err(error) => {
            eprintln!("skipped: there is no C compiler `cc` here: {error}");
            None
        }
    }
}

/// A scenario in the folder of the libraries, which may load those in `allowed`; or the message about it.
fn parse(flow: &str, allowed: &[&Path]) -> Result<Scenario, String> {
    let mut registry = registry();
    for library in allowed {
        registry.allow_library(library).expect("it is there");
    }
    let file = folder().join("s.toml");
    let file = file.to_str().expect("a path in UTF-8");
    let text = text(5, BOTTLENECK, &[&format!("{flow}\nrtt = \"40 ms\"")]);
    let scenario = Scenario::read(&text, &Reading { file: Some(file), ..Reading::new(&registry) });
    scenario.map_err(|error| error.to_string().replace(file, "s.toml"))
}

/// The result of a flow that may load this library.
pub(crate) fn run(flow: &str, library: &Path) -> RunResult {
    let scenario = parse(flow, &[library]).unwrap_or_else(|message| panic!("{message}"));
    Simulation::new(compile(&scenario)).finish()
}

/// Ten datagrams of 1472 bytes in 40 ms are 2.9 Mbit/s, and each has a byte that is no data.
#[test]
fn a_library_carries_data() {
    let Some(library) = tiny("libcarries.so", &[]) else { return };
    let bulk = "stack = { kind = \"library\", file = \"./libcarries.so\" }";
    let result = run(bulk, &library);
    let flow = first(&result);
    assert!((2.7..2.95).contains(&flow.goodput_mbps), "{} Mbit/s", flow.goodput_mbps);
    assert_eq!(flow.cwnd_bytes.expect("it has a window").max, 14_720);
    // It tells of no losses.
    assert_eq!((flow.sender.loss_episodes, flow.sender.ecn_reductions), (None, None));
    assert!(flow.sender.sent > Some(1_000), "{:?}", flow.sender);
    assert_eq!(run(bulk, &library).summary.digest, result.summary.digest);

    let transfer = format!("{bulk}\napp = {{ kind = \"transfer\", size = \"100 kB\" }}");
    let transfers = first(&run(&transfer, &library)).transfers.clone().expect("a transfer");
    assert_eq!((transfers.arrived, transfers.completed), (1, 1));
}

/// The code may change without the scenario: a result says so, and is not kept for other runs. What draws without a seed
/// is named.
#[test]
fn a_library_is_foreign() {
    let Some(library) = tiny("libforeign.so", &[]) else { return };
    let flow = "stack = { kind = \"library\", file = \"libforeign.so\" }";
    let scenario = parse(flow, &[&library]).expect(flow);
    assert_eq!(
        (scenario.foreign(), scenario.unseeded()),
        (vec!["stack tiny 0.1 of libforeign.so".to_owned()], vec![])
    );
    let free = parse(&format!("{flow}\ncc = \"free\""), &[&library]).expect(flow);
    assert_eq!(free.unseeded(), ["free of tiny"]);
    // A resolved scenario reads back as the same one, wherever it lies.
    let mut registry = registry();
    registry.allow_library(&library).expect("it is there");
    let again = Scenario::read(&free.to_toml(), &Reading::new(&registry)).expect("it reads back");
    assert_eq!(again, free);
}

/// Each message names file, line, key, value and what is allowed.
#[test]
fn messages() {
    let Some(good) = tiny("libgood.so", &[]) else { return };
    let of = |file: &str| format!("stack = {{ kind = \"library\", file = \"{file}\" }}");
    let expect = |flow: &str, library: &Path, expected: &str| {
        assert_eq!(parse(flow, &[library]).expect_err(flow), format!("s.toml:{expected}"), "{flow}");
    };
    expect(
        "stack = \"library\"",
        &good,
        "6: flow[0].stack.file: is required: the shared library, such as \"./libmine.so\"",
    );
    let flow = format!("{}\ncc = \"fixd\"", of("libgood.so"));
    expect(
        &flow,
        &good,
        "7: flow[0].cc: \"fixd\" is not allowed: a controller of `tiny` is one of fixed, free\n  did you mean `fixed`?",
    );
    let flow = format!("{}\ncc = {{ windtunnel = \"cubic\" }}", of("libgood.so"));
    expect(
        &flow,
        &good,
        "7: flow[0].cc: does not go with `tiny`, which decides its window itself: cc is one of fixed, free",
    );
    expect(
        "stack = { kind = \"library\", file = \"libgood.so\", initial_window = \"20 kB\" }",
        &good,
        "6: flow[0].stack.file: \"libgood.so\" takes no initial window of 20 kB: its window is fixed",
    );
    let missing = parse(&of("libgone.so"), &[&good]).expect_err("it is not there");
    assert!(missing.contains("6: flow[0].stack.file: there is no file \"libgone.so\" in "), "{missing}");
    let strange = parse(&of("libgood.so"), &[]).expect_err("it is not allowed");
    assert_eq!(
        strange,
        "s.toml:6: flow[0].stack.file: \"libgood.so\" is not allowed: a library that you allow, because its code runs as \
         a part of windtunnel: --plugin FILE (in Python load_plugin)"
    );
}

/// What a library can do wrong, and its message.
#[test]
fn libraries_that_are_no_stacks() {
    let text = folder().join("libtext.so");
    fs::write(&text, "no library").expect("a folder to write to");
    let message = parse("stack = { kind = \"library\", file = \"libtext.so\" }", &[&text]).expect_err("text");
    assert!(message.contains("\"libtext.so\" is no library that this system can load: "), "{message}");
    for (name, macros, expected) in [
        (
            "symbol",
            "-DSYMBOL=other",
            "exports no function `windtunnel_stack`, which windtunnel_stack.h describes",
        ),
        ("table", "-DNO_TABLE", "has no table: windtunnel_stack() returned NULL"),
        (
            "version",
            "-DVERSION=7",
            "has a table of version 7; this windtunnel reads version 1: compile it with its windtunnel_stack.h",
        ),
        ("missing", "-DMISSING=transmit", "has no `transmit` in its table: it is NULL"),
        ("none", "-DCONTROLLERS=NULL", "names no controllers"),
        (
            "name",
            "-DNAME=\"a b\"",
            "has \"a b\" as its name, which must be letters, digits, `+`, `-` and `_`",
        ),
        ("refuses", "-DREFUSES=\"no entropy\"", "makes no server with fixed: no entropy"),
        ("window", "-DNO_WINDOW", "tells no congestion window: `cwnd` in struct windtunnel_state"),
    ] {
        let file = format!("lib{name}.so");
        let Some(library) = tiny(&file, &[macros]) else { return };
        let flow = format!("stack = {{ kind = \"library\", file = \"{file}\" }}");
        let message = parse(&flow, &[&library]).expect_err(name);
        assert_eq!(message, format!("s.toml:6: flow[0].stack.file: {file:?} {expected}"));
    }
}

/// A datagram that is longer than its buffer ends the run with a message that names the stack.
#[test]
fn a_datagram_beyond_its_buffer_ends_the_run() {
    let Some(library) = tiny("liblong.so", &["-DTOO_LONG"]) else { return };
    let flow = "stack = { kind = \"library\", file = \"liblong.so\" }";
    let payload = catch_unwind(AssertUnwindSafe(|| run(flow, &library))).expect_err("it is too long");
    assert_eq!(
        payload.downcast_ref::<String>().map(String::as_str),
        Some("the stack tiny of flow 0 panicked: transmit() returned 1473 B for a buffer of 1472 B")
    );
}

/// A stack that is known and not built in: the message says what is, and how to get it.
#[test]
#[cfg(not(feature = "ngtcp2"))]
fn a_stack_that_is_not_built_in() {
    assert_eq!(
        parse("stack = \"ngtcp2\"", &[]).expect_err("it is not built in"),
        "s.toml:6: flow[0].stack: \"ngtcp2\" is not built in; built in are linux, ideal, quinn, noq, library; build with \
         the cargo feature `ngtcp2` and NGTCP2_SOURCE, the folder of its sources, or bring its adapter as \
         stack = { kind = \"library\", file = \"./libwt_ngtcp2.so\" }"
    );
}
