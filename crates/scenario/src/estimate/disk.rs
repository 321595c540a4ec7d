//! The approximate sizes of a result's files, as shares of the tables' memory.

use serde::Serialize;
use windtunnel_units::Bytes;

use super::rows::TableRows;

/// Numbers as text, with a comma each: columns of small numbers are shorter, others longer than in memory.
const CSV: f64 = 0.75;

/// The size of a captured packet in a pcapng file with the usual points: block, headers and comment.
const PCAPNG_ROW: u64 = 70;

/// The share of a table's memory that remains after Parquet has compressed its columns, as measured with the examples.
fn compressed(table: &str) -> f64 {
    match table {
        // Most columns repeat.
        "packets" => 0.08,
        // They are encrypted.
        "payloads" => 1.0,
        "flows" | "queues" | "bands" | "cc" | "aqm" | "qdisc" => 0.25,
        "dequeue_events" | "mark_events" | "ack_events" => 0.35,
        _ => 0.6,
    }
}

/// The sizes of the files, expectations all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Disk {
    /// The tables of the result folder.
    #[serde(serialize_with = "super::plain_bytes")]
    pub parquet: Bytes,
    /// The same as CSV, if exported.
    #[serde(serialize_with = "super::plain_bytes")]
    pub csv: Bytes,
    /// All packets as pcapng, if exported.
    #[serde(serialize_with = "super::plain_bytes")]
    pub pcapng: Bytes,
}

impl Disk {
    pub(super) fn of(tables: &[TableRows]) -> Disk {
        let memory: f64 = tables.iter().map(|table| table.size().as_f64()).sum();
        let parquet = tables.iter().map(|table| table.size().as_f64() * compressed(table.table)).sum();
        let find = |name| tables.iter().find(|table| table.table == name);
        let packets = find("packets").map_or(0, |table| table.rows);
        let payloads = find("payloads").map_or(Bytes::ZERO, TableRows::memory);
        Disk {
            parquet: Bytes::from_f64(parquet),
            csv: Bytes::from_f64(memory * CSV),
            pcapng: Bytes::new(packets.saturating_mul(PCAPNG_ROW)) + payloads,
        }
    }
}
