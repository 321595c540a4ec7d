//! A run that goes on as far as it is asked to.

use std::collections::BTreeMap;

use windtunnel_scenario::{Reading, Registry, Scenario, ScenarioError};
use windtunnel_sim::{MemoryExceeded, Network, RunResult, Simulation};
use windtunnel_units::{Bytes, Time};

use crate::feed::{Feed, Rows};

/// What a run may hold in a page, whose memory a browser limits to 4 GiB.
const MEMORY: Bytes = Bytes::new(1 << 30);

/// The same in addition to rows, which go to the page as they come.
const NOTHING: Bytes = Bytes::ZERO;

/// Packets are recorded: what an animation of them needs. Recording never changes a run.
const WITH_PACKETS: &str = "record.packets=true";

/// A run in progress, and the rows that the page has not taken yet.
#[derive(Debug)]
pub struct Lab {
    scenario: Scenario,
    flows: Vec<(String, String)>,
    queues: Vec<(String, Vec<String>)>,
    simulation: Option<Simulation>,
    feed: Feed,
    result: Option<RunResult>,
}

impl Lab {
    /// A run of a scenario's text, at its start. `files` are the contents of the files that it names; `packets`, whether single
    /// packets are recorded.
    ///
    /// # Errors
    /// If the text is no scenario, or its run would hold more than a page can.
    pub fn new(
        text: &str,
        files: &BTreeMap<String, String>,
        packets: bool,
        registry: &Registry,
    ) -> Result<Lab, ScenarioError> {
        let overrides = if packets { vec![WITH_PACKETS.to_owned()] } else { Vec::new() };
        let reading = Reading { overrides: &overrides, files: Some(files), ..Reading::new(registry) };
        let scenario = Scenario::read(text, &reading)?;
        scenario.check_memory(MEMORY, text, &reading)?;
        let network: Network = windtunnel_scenario::compile(&scenario);
        let flows = network.flows.iter().map(|flow| (flow.name.clone(), flow.cc_name.to_string())).collect();
        let queues = network.links.iter().map(|link| (link.name.clone(), link.queue.classes())).collect();
        let feed = Feed::default();
        let mut simulation = Simulation::new(network);
        simulation.limit_memory(MEMORY);
        simulation.stream_to(Box::new(feed.clone()), NOTHING);
        Ok(Lab { scenario, flows, queues, simulation: Some(simulation), feed, result: None })
    }

    /// The scenario, with every default.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The flows' names and controllers, in the order of their numbers in tables.
    pub fn flows(&self) -> &[(String, String)] {
        &self.flows
    }

    /// The queues' names, likewise, and those of the classes into which each sorts packets.
    pub fn queues(&self) -> &[(String, Vec<String>)] {
        &self.queues
    }

    /// The time that the run has reached.
    pub fn now(&self) -> Time {
        self.simulation.as_ref().map_or(Time::ZERO + self.scenario.duration, Simulation::now)
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.simulation.is_none()
    }

    /// Handles what happens before `until`, but at most this many events. Returns whether that time was reached, or the end.
    ///
    /// # Errors
    /// If the run holds more than it may.
    pub fn advance(&mut self, until: Time, events: u64) -> Result<bool, MemoryExceeded> {
        let Some(simulation) = &mut self.simulation else { return Ok(true) };
        let reached = simulation.run_slice(until, events);
        simulation.check_memory()?;
        if reached && until >= simulation.end() {
            self.end()?;
        }
        Ok(reached)
    }

    /// Goes on until the next acknowledgement has reached a sender, or the end.
    ///
    /// # Errors
    /// If the run holds more than it may.
    pub fn step(&mut self) -> Result<(), MemoryExceeded> {
        let Some(simulation) = &mut self.simulation else { return Ok(()) };
        let (end, before) = (simulation.end(), simulation.arrived_without_data());
        while simulation.arrived_without_data() == before {
            if simulation.run_slice(end, 1) {
                return self.end();
            }
        }
        Ok(())
    }

    /// Ends the run: its last rows join the others, and its result is there.
    fn end(&mut self) -> Result<(), MemoryExceeded> {
        if let Some(simulation) = self.simulation.take() {
            let result = simulation.finish_within()?;
            self.feed.add(&result.tables);
            self.result = Some(result);
        }
        Ok(())
    }

    /// The result, once the run has ended.
    pub fn result(&self) -> Option<&RunResult> {
        self.result.as_ref()
    }

    /// The rows since the last call, by table.
    pub(crate) fn take_rows(&self) -> BTreeMap<&'static str, Rows> {
        self.feed.take()
    }
}
