//! Runs of scenarios with stacks.

use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::{FlowSummary, RunResult, Simulation};

/// Each stack with each of its own controllers.
pub(crate) const CONTROLLERS: [(&str, &str); 6] = [
    ("quinn", "\"cubic\""),
    ("quinn", "\"newreno\""),
    ("quinn", "\"bbr\""),
    ("noq", "\"cubic\""),
    ("noq", "\"newreno\""),
    ("noq", "\"bbr3\""),
];

/// Each stack with controllers of ours.
pub(crate) const OURS: [(&str, &str); 6] = [
    ("quinn", "{ windtunnel = \"reno\" }"),
    ("quinn", "{ windtunnel = \"cubic\" }"),
    ("quinn", "{ windtunnel = \"bbr3\" }"),
    ("noq", "{ windtunnel = \"reno\" }"),
    ("noq", "{ windtunnel = \"cubic\" }"),
    ("noq", "{ windtunnel = \"bbr3\" }"),
];

/// The lines of a flow's table.
pub(crate) fn flow(stack: &str, cc: &str, rtt_ms: u32) -> String {
    format!("stack = \"{stack}\"\ncc = {cc}\nrtt = \"{rtt_ms} ms\"")
}

/// The registry with all stacks.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::default();
    windtunnel_quic::visit(&mut registry);
    registry
}

/// A scenario in which one flow of each of `flows` (the lines of its table) crosses `bottleneck`.
pub(crate) fn text(seconds: u32, bottleneck: &str, flows: &[&str]) -> String {
    format!(
        "duration = \"{seconds} s\"\n[bottleneck]\n{bottleneck}\n[[flow]]\n{}\n",
        flows.join("\n[[flow]]\n")
    )
}

/// The scenario, or the message about it.
pub(crate) fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Some("s.toml"), &[], &registry()).map_err(|error| error.to_string())
}

/// The result of a scenario.
pub(crate) fn run(text: &str) -> RunResult {
    let scenario = parse(text).unwrap_or_else(|message| panic!("{message}"));
    Simulation::new(compile(&scenario)).finish()
}

/// The first flow of a result.
pub(crate) fn first(result: &RunResult) -> &FlowSummary {
    &result.summary.flows[0]
}
