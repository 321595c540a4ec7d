//! Runs a scenario file and prints how much it simulated: for profilers, which want no interpreter around the core.
//!
//! `cargo run --profile shipped -p windtunnel-scenario --example run -- FILE [key=value]...`

use std::process::ExitCode;

use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::Simulation;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: run FILE [key=value]...");
        return ExitCode::from(2);
    };
    let overrides: Vec<String> = args.collect();
    let scenario = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}")).and_then(|text| {
        Scenario::parse(&text, Some(&file), &overrides, &Registry::default()).map_err(|e| e.to_string())
    });
    match scenario {
        Ok(scenario) => {
            let summary = Simulation::new(compile(&scenario)).finish().summary;
            println!("{} packets, {} events, digest {}", summary.packets, summary.events, summary.digest);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
