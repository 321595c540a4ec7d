//! What a run will need: rows, memory, disk and time, estimated from its scenario before it starts.
//!
//! ```text
//! Scenario --traffic--> packets of each group and link --rows, windows--> parts of the memory --> Estimate
//! ```
//!
//! Some numbers are bounds: a run has no more rows of `flows` than intervals times flows, and starts with no more than
//! its initial windows. Others are expectations: the number of packets is a result of the run, so expectations assume
//! that senders fill the links. Each part says which it is. `tests/estimate` compares both with real runs, and states
//! how far they may be off.

mod connections;
mod disk;
mod key;
mod rows;
mod traffic;
mod windows;

use serde::Serialize;
use windtunnel_sim::{Holder, MemoryExceeded};
use windtunnel_units::Bytes;

pub use disk::Disk;
pub use rows::{RESIDENT, TableRows};
pub use traffic::Packets;

use crate::model::Scenario;
use traffic::Traffic;

/// Events that a core handles in a second: rough, as the bench's works handle between half and twice as many.
const EVENTS_PER_SECOND: f64 = 15e6;

/// ACKs that a controller written in Python handles in a second: the number of the bench's controller.
const FOREIGN_ACKS_PER_SECOND: f64 = 3e5;

/// Data packets that a core handles in a second over a real stack, which encrypts and decrypts each: rough, as the stacks
/// handle between 0.13 million (the bench's W17) and 0.23 (W16).
const STACK_PACKETS_PER_SECOND: f64 = 1.5e5;

/// How certain a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// No run has more.
    Bound,
    /// A run whose senders fill its links has about as many.
    Expectation,
}

/// A part of the memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What occupies it.
    pub what: String,
    /// How much it is.
    #[serde(rename = "bytes", serialize_with = "plain_bytes")]
    pub memory: Bytes,
    /// How certain that is.
    pub certainty: Certainty,
    /// The key that causes most of it, from the file's top: `flow[0].iw`.
    pub key: String,
    /// What the user can change to reduce it.
    pub remedy: &'static str,
}

/// What a run will need.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The memory of the core by part, the largest first.
    pub parts: Vec<Part>,
    /// The rows of each table.
    pub tables: Vec<TableRows>,
    /// The packets and the events.
    pub packets: Packets,
    /// The files of the result.
    pub disk: Disk,
    /// The time that it takes, in seconds of a core.
    pub seconds: f64,
}

impl Estimate {
    /// What a run of this scenario will need.
    pub fn of(scenario: &Scenario) -> Estimate {
        let traffic = Traffic::of(scenario);
        let tables = rows::tables(scenario, &traffic);
        let mut parts: Vec<Part> = tables.iter().map(TableRows::part).collect();
        parts.extend(windows::parts(scenario, &traffic));
        parts.retain(|part| part.memory > Bytes::ZERO);
        parts.sort_by_key(|part| std::cmp::Reverse(part.memory));
        let foreign_acks = if scenario.foreign().is_empty() { 0.0 } else { traffic.acks() };
        Estimate {
            seconds: traffic.events / EVENTS_PER_SECOND
                + foreign_acks / FOREIGN_ACKS_PER_SECOND
                + traffic.over_stacks(scenario) / STACK_PACKETS_PER_SECOND,
            disk: Disk::of(&tables),
            packets: traffic.packets(),
            parts,
            tables,
        }
    }

    /// The memory of the core. Writing the result takes more for a while: about as much as the largest table.
    pub fn memory(&self) -> Bytes {
        Bytes::from_f64(self.parts.iter().map(|part| part.memory.as_f64()).sum())
    }

    /// The message for a run that was stopped at its memory limit: what needed the memory, and how to reduce it.
    pub fn explanation(&self, exceeded: &MemoryExceeded) -> String {
        let remedy = match exceeded.by {
            Holder::Table(name) => self.tables.iter().find(|table| table.table == name).map(TableRows::part),
            Holder::Packets => self.parts.iter().find(|part| part.key.starts_with("flow")).cloned(),
        };
        let remedy = remedy.map(|part| format!("{} (`{}`), or ", part.remedy, part.key));
        format!(
            "the run was stopped: {exceeded}; {}allow more memory (--memory SIZE); nothing was written",
            remedy.unwrap_or_default()
        )
    }

    /// The estimate as JSON: `memory_bytes`, and the fields.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        json["memory_bytes"] = self.memory().get().into();
        json.to_string()
    }

    /// Why the run is refused if it may have no more than `limit`: the key that causes most of its memory, and a message.
    pub fn refusal(&self, limit: Bytes) -> Option<(&str, String)> {
        let memory = self.memory();
        let most = self.parts.first().filter(|_| memory > limit)?;
        let about = match most.certainty {
            Certainty::Bound => "up to",
            Certainty::Expectation => "about",
        };
        let message = format!(
            "this run needs about {} of memory, and may have {}: {about} {} are {}; {}, or allow more memory (--memory SIZE)",
            readable(memory),
            readable(limit),
            readable(most.memory),
            most.what,
            most.remedy
        );
        Some((&most.key, message))
    }
}

/// A size with two digits and a unit of powers of two, as memory is measured.
pub fn readable(size: Bytes) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some((unit, shift)) = UNITS.into_iter().find(|(_, shift)| size.get() >> shift > 0) else {
        return format!("{} B", size.get());
    };
    let amount = size.as_f64() / (1_u64 << shift) as f64;
    if amount < 9.95 { format!("{amount:.1} {unit}") } else { format!("{amount:.0} {unit}") }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn plain_bytes<S: serde::Serializer>(size: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(size.get())
}
