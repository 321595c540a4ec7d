//! What is recorded: the keys of `[record]`, as a scenario writes them and the recorder reads them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Duration;

use super::StateRecording;

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordParams {
    /// The resolution of the time series.
    pub interval: Duration,
    /// The minimum distance of single events (sojourn times, windows, marks) that are kept in each series; with 0 s,
    /// none are kept. The default is a 20,000th of the run, at least 100 us.
    pub points: Option<Duration>,
    /// When the internal numbers of controllers and queues are recorded.
    pub state: StateRecording,
    /// Whether every dequeue and every ACK is kept. Use this for short runs, because memory grows with their number.
    pub events: bool,
    /// Whether every packet is kept at its sender, before and after each queue, and at its receiver, as captures need
    /// it. Use this for short runs, because memory grows with their number.
    pub packets: bool,
    /// Whether the payload of each such packet over a real stack is kept, and the TLS secrets of its connection: a capture
    /// then has the real bytes, and analysers decrypt them. Both differ from run to run, because keys come from the
    /// system.
    pub payloads: bool,
}

impl Default for RecordParams {
    fn default() -> RecordParams {
        RecordParams {
            interval: Duration::from_millis(10),
            points: None,
            state: StateRecording::default(),
            events: false,
            packets: false,
            payloads: false,
        }
    }
}
