//! Runs a scenario that may name the algorithms of this crate: `cargo run -- FILE [key=value]...`.

use std::process::ExitCode;

use windtunnel_rust_plugin::registry;
use windtunnel_scenario::{Scenario, compile, listing};
use windtunnel_sim::Simulation;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: windtunnel-rust-plugin FILE [key=value]..., or --list");
        return ExitCode::from(2);
    };
    match run(&file, &args.collect::<Vec<_>>()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(file: &str, overrides: &[String]) -> Result<String, String> {
    let registry = registry().map_err(|e| e.to_string())?;
    if file == "--list" {
        return Ok(listing(&registry));
    }
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let scenario = Scenario::parse(&text, Some(file), overrides, &registry).map_err(|e| e.to_string())?;
    let summary = Simulation::new(compile(&scenario)).finish().summary;
    let flows = summary.flows.iter().map(|flow| format!("{}: {:.2} Mbit/s", flow.name, flow.throughput_mbps));
    Ok(flows.chain([format!("digest {}", summary.digest)]).collect::<Vec<_>>().join("\n"))
}
