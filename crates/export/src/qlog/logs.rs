//! Writes the logs of all flows, as many rows at a time as the caller has.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use super::flow::{Flow, FlowLogs};
use super::{Vantage, Version};
use crate::packets::Packets;
use crate::pcapng::Point;

/// Bytes of a log that wait to be written.
const WAITING: usize = 1 << 15;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Where logs go.
pub trait Sink {
    /// Adds to the log of a flow at a vantage point; the first time it is made.
    fn append(&mut self, flow: usize, vantage: Vantage, bytes: &[u8]) -> io::Result<()>;
}

/// Files, by flow and vantage point. None is open for longer than a write takes: there may be more of them than a process can
/// have open.
impl Sink for Vec<[Option<PathBuf>; 3]> {
    fn append(&mut self, flow: usize, vantage: Vantage, bytes: &[u8]) -> io::Result<()> {
        let path = self[flow][vantage as usize].as_ref().ok_or(io::ErrorKind::NotFound)?;
        OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
    }
}

/// The logs while they are written. Their memory depends on flows and windows, not on the packets.
#[derive(Debug)]
pub struct Logs<S> {
    sink: S,
    flows: Vec<FlowLogs>,
    queues: Vec<String>,
    rows: usize,
}

impl<S: Sink> Logs<S> {
    /// Starts the logs of `flows`, in the order of their numbers, at these vantage points. `title` is the run's.
    pub fn new(
        sink: S,
        title: &str,
        flows: Vec<Flow>,
        queues: Vec<String>,
        vantages: &[Vantage],
        version: Version,
    ) -> Logs<S> {
        let flows = flows.into_iter().map(|flow| FlowLogs::new(flow, title, vantages, version)).collect();
        Logs { sink, flows, queues, rows: 0 }
    }

    /// Writes what packets show; rows of later calls are later ones. Packets of other flows, and of other protocols, are passed over.
    ///
    /// Fails if the sink does, or, with `InvalidData`, at a row that no run can have.
    pub fn write(&mut self, packets: &Packets<'_>) -> io::Result<()> {
        for index in 0..packets.len() {
            self.rows += 1;
            let Ok(n) = self.flows.binary_search_by_key(&packets.flow[index], |logs| logs.flow.index) else {
                continue;
            };
            if packets.proto[index] != if self.flows[n].flow.over_stack { UDP } else { TCP } {
                continue;
            }
            let tap = packets.tap[index];
            let Some(point) = Point::ALL.get(usize::from(tap)) else {
                let what = format!("packet {}: {tap} is not a tap", self.rows - 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            };
            self.flows[n].row(&packets.row(index), *point, &self.queues);
            self.flush(n, WAITING)?;
        }
        Ok(())
    }

    /// Writes the rest.
    pub fn finish(mut self) -> io::Result<S> {
        for n in 0..self.flows.len() {
            self.flush(n, 0)?;
        }
        Ok(self.sink)
    }

    fn flush(&mut self, n: usize, most: usize) -> io::Result<()> {
        for vantage in Vantage::ALL {
            if let Some(text) = &mut self.flows[n].texts[vantage as usize]
                && text.len() > most
            {
                text.take(|bytes| self.sink.append(n, vantage, bytes))?;
            }
        }
        Ok(())
    }
}
