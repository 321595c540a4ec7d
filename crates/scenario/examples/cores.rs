//! Runs a scenario file in parts and prints what they had to do: how much faster as many cores could be.
//!
//! `cargo run --profile shipped -p windtunnel-scenario --example cores -- FILE PARTS THREADS [key=value]...`
//!
//! The parts take turns on the threads. In each window the parts wait for the one that has most events, so that the events
//! of all windows, divided by those of the busiest parts, are the most that as many cores can gain. Waiting comes on top.

use std::process::ExitCode;

use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::Run;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, parts, threads, overrides @ ..] = &args[..] else {
        eprintln!("usage: cores FILE PARTS THREADS [key=value]...");
        return ExitCode::from(2);
    };
    match count(file, parts, threads, overrides) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn count(file: &str, parts: &str, threads: &str, overrides: &[String]) -> Result<String, String> {
    let number = |text: &str| text.parse::<usize>().map_err(|e| format!("{text}: {e}"));
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let scenario =
        Scenario::parse(&text, Some(file), overrides, &Registry::default()).map_err(|e| e.to_string())?;
    let (parts, threads) = (number(parts)?, number(threads)?);
    let (mut run, why) = Run::in_parts(compile(&scenario), parts, threads).map_err(|e| e.to_string())?;
    run.run_slice(run.end(), u64::MAX);
    let balance = run.balance();
    let summary = run.finish_within().map_err(|e| e.to_string())?.summary;
    let windows = balance.windows.max(1) as f64;
    Ok(format!(
        "{} packets, {} events, digest {}\n{} parts{}, {} windows of {:.0} events, {:.0} of them in the busiest part: \
         {:.2} times as fast at most",
        summary.packets,
        summary.events,
        summary.digest,
        balance.parts,
        why.map_or_else(String::new, |why| format!(" ({why})")),
        balance.windows,
        balance.events as f64 / windows,
        balance.most as f64 / windows,
        balance.events as f64 / balance.most.max(1) as f64,
    ))
}
