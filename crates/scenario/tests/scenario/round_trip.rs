//! A resolved scenario, printed, reads back as the same scenario.

use proptest::prelude::*;
use proptest::strategy::Union;
use windtunnel_scenario::{Registry, Scenario, schema};

use crate::generate::{self, generate};
use crate::good_input::{DESIGN, EVERYTHING, PARKING_LOT, parse};

fn check(scenario: &Scenario) {
    let toml = scenario.to_toml();
    assert_eq!(&parse(&toml), scenario, "{toml}");
    assert_eq!(parse(&toml).to_toml(), toml, "printing is stable");
}

#[test]
fn of_the_examples() {
    for text in [DESIGN, PARKING_LOT, EVERYTHING] {
        check(&parse(text));
    }
}

/// Each controller by its name alone: what is printed names no parameter that cannot be given, such as the slow start of a
/// controller that has its own.
#[test]
fn of_each_controller() {
    let schema: serde_json::Value =
        serde_json::from_str(&schema(&Registry::default())).expect("a schema is JSON");
    let mut controllers = Vec::new();
    strings(schema.pointer("/$defs/Controller/anyOf/0").expect("the names of controllers"), &mut controllers);
    let mut names = Vec::new();
    for endpoints in ["ideal", "linux"] {
        for &name in &controllers {
            let text = format!(
                "duration = \"1 s\"\nendpoints = \"{endpoints}\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n[[flow]]\nrtt = \"20 ms\"\ncc = \"{name}\"\n"
            );
            if let Ok(scenario) = Scenario::parse(&text, None, &[], &Registry::default()) {
                check(&scenario);
                names.push(name);
            }
        }
    }
    for name in ["hybla", "hybla-mds", "reno", "cubic-sce", "dctcp"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

/// All texts within a value.
fn strings<'v>(value: &'v serde_json::Value, texts: &mut Vec<&'v str>) {
    match value {
        serde_json::Value::String(text) => texts.push(text),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, texts)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, texts)),
        _ => {}
    }
}

/// The JSON has the form of the file and its values.
#[test]
fn json_has_the_form_of_the_file() {
    let json: serde_json::Value = serde_json::from_str(&parse(EVERYTHING).to_json()).expect("JSON");
    assert_eq!(json["title"], "Everything \"quoted\" \u{7} \u{7f} \\ and µ");
    assert_eq!(json["bottleneck"]["queue"]["kind"], "brickwall");
    assert_eq!(json["bottleneck"]["queue"]["limit"], "7500 kB", "1.5 * 1 Gbit/s * 40 ms");
    assert_eq!(json["flow"][1]["cc"]["slow_start"]["css_rounds"], 4);
    assert_eq!(json["flow"][1]["active"][1]["from"], "30 s");
    assert_eq!(json["window"][1]["name"], "after");
}

/// One of several lines of a table, or none.
fn maybe(lines: Vec<BoxedStrategy<String>>) -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Union::new(lines)]
}

fn line<T: std::fmt::Debug>(
    values: impl Strategy<Value = T> + 'static,
    text: impl Fn(T) -> String + 'static,
) -> BoxedStrategy<String> {
    values.prop_map(text).boxed()
}

fn controller() -> impl Strategy<Value = String> {
    let slow_start = maybe(vec![
        line("none|standard|hystart-pp|essp", |name| format!(", slow_start = \"{name}\"")),
        line(1.0..9.0, |x: f64| format!(", slow_start = {{ kind = \"essp\", delay_factor = {x:?} }}")),
        line(1..9_u64, |n| {
            format!(", slow_start = {{ kind = \"hystart++\", min_rtt_thresh = \"{n} us\", exit_sce = {n} }}")
        }),
    ]);
    let response = maybe(vec![
        line((1..=65_536_u32, 0.01..0.99), |(tau, md)| {
            format!(", response = \"mds\", tau = {tau}, ce_md = {md:?}")
        }),
        line(0.01..0.99, |md: f64| format!(", ce_md = {md:?}")),
    ]);
    let avoidance = Union::new(vec![
        line("per-srtt|per-window", |growth| format!("kind = \"reno\", growth = \"{growth}\"")),
        line((1e-9..1e3, 1e-9..0.999), |(a, b)| format!("kind = \"aimd\", a = {a:?}, b = {b:?}")),
        line((any::<bool>(), 1e-9..1e9), |(b, c)| {
            format!("kind = \"cubic\", c = {c:?}, fast_convergence = {b}")
        }),
        line(0..u64::from(u32::MAX), |n| {
            format!("kind = \"scalable\", variant = \"document\", lwnd = \"{n} B\", inv_a = {}", n.max(1))
        }),
    ]);
    (avoidance, slow_start, response).prop_map(|(a, s, r)| format!("{{ {a}{s}{r} }}"))
}

fn queue() -> impl Strategy<Value = String> {
    let limit = maybe(vec![
        line(1..u64::from(u32::MAX), |n| format!(", limit = \"{n} packets\"")),
        line(1..1_000_000_000_000_u64, |n| format!(", limit = \"{n} B\"")),
        line(1..1_000_000_000_000_u64, |n| format!(", limit = \"{n} ns\"")),
        line(0.01..9.0, |x: f64| format!(", limit = \"{x} bdp\"")),
        line(0.01..9.0, |x: f64| format!(", limit = \"{x} bdp/sqrt(n)\"")),
    ]);
    let kind = Union::new(vec![
        line(any::<bool>(), |b| format!("kind = \"fifo\", headdrop = {b}")),
        line(0..10_000_000_000_u64, |n| format!("kind = \"brickwall\", ce_threshold = \"{n} ns\"")),
        line(1..1_000_000_000_u64, |n| format!("kind = \"deltim\", burst = \"{n} ns\", tau = {n}")),
        line(1..1_000_000_000_u64, |n| format!("kind = \"deltic-mds\", target = \"{n} ns\"")),
    ]);
    let mode = maybe(vec![line("none|rfc3168|sce|mds|l4s", |mode| format!(", ecn_mode = \"{mode}\""))]);
    (kind, limit, mode).prop_map(|(k, l, m)| format!("{{ {k}{l}{m} }}"))
}

fn flow() -> impl Strategy<Value = String> {
    let schedule = maybe(vec![
        line((0..50_u64, 50..99_u64), |(a, b)| format!("start = \"{a} s\"\nstop = \"{b} s\"\n")),
        line((0..1000_u64, 1..9_u32), |(n, count)| format!("stagger = \"{n} ms\"\ncount = {count}\n")),
        line((0..30_u64, 31..60_u64), |(a, b)| {
            format!("active = [{{ from = \"{a} s\", to = \"{b}s\" }}, {{ from = \"{b}.5 s\" }}]\n")
        }),
    ]);
    let ends = maybe(vec![
        line((1..100_u32, any::<bool>()), |(iw, pacing)| format!("iw = {iw}\npacing = {pacing}\n")),
        line("immediate|quick-signal|state-change", |policy| format!("ack = \"{policy}\"\n")),
        line((1..9_u32, 1..900_u32), |(n, ms)| format!("ack = {{ count = {n}, delay = \"{ms} ms\" }}\n")),
    ]);
    (controller(), 1..1_000_000_000_u64, schedule, ends).prop_map(|(cc, rtt, schedule, ends)| {
        format!("[[flow]]\ncc = {cc}\nrtt = \"{rtt} ns\"\n{schedule}{ends}")
    })
}

prop_compose! {
    /// A dumbbell of any size.
    fn dumbbell()(
        title in any::<String>(),
        seed in 0..=i64::MAX,
        rate in 1..=10_000_000_000_000_u64,
        change in 1..100_000_000_000_u64,
        queue in queue(),
        flows in proptest::collection::vec(flow(), 1..5),
    ) -> String {
        let title = serde_json::Value::from(title).to_string().replace('\u{7f}', "\\u007f");
        format!(
            "title = {title}\nduration = \"100 s\"\nseed = {seed}\n[bottleneck]\nrate = \"{rate} bit/s\"\nqueue = {queue}\n\
             changes = [{{ at = \"{change} ns\", rate = \"{rate} bit/s\" }}]\n{}",
            flows.concat()
        )
    }
}

/// tc's way to write rates, and texts' way to write the bandwidth-delay product, mean what ours mean.
#[test]
fn of_other_spellings() {
    let scenario = |rate: &str, limit: &str| {
        parse(&format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"{rate}\"\nqueue = {{ kind = \"fifo\", limit = \"{limit}\" }}\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n"
        ))
    };
    let ours = scenario("100 Mbit/s", "1.5 bdp");
    for (rate, limit) in [("100mbit", "1.5 BDP"), ("100000kbit", "1.5BDP"), ("0.1Gbit", "1.5 Bdp")] {
        assert_eq!(scenario(rate, limit), ours, "{rate}, {limit}");
    }
}

/// Random scenarios with every kind of key, as the fuzzer makes them.
#[test]
fn of_random_scenarios() {
    for seed in 0..1000 {
        let scenario = generate::read(&generate(seed), &[]).expect("a valid scenario");
        let toml = scenario.to_toml();
        let again = generate::read(&toml, &[]).expect("what was printed is valid");
        assert_eq!(again.to_toml(), toml, "seed {seed}: printing is stable");
        assert_eq!(again, scenario, "seed {seed}: it says the same");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn of_any_dumbbell(text in dumbbell()) {
        check(&parse(&text));
    }
}
