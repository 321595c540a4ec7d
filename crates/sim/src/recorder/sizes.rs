//! The memory of one row of each table, and of what a run keeps about each flow and queue: the numbers from which an
//! estimate is computed.

use windtunnel_qdisc::QueueDiscipline;
use windtunnel_units::{Bytes, Duration};

use super::band_series::BandColumns;
use super::class_series::{self, ClassColumns};
use super::events::{AckEvents, DequeueEvents, MarkEvents, Oscillators};
use super::flow_series::{FlowColumns, FlowRecorder, FlowTotals};
use super::packets::{Captured, PacketColumns};
use super::payloads;
use super::points::{MarkPoints, ThroughputPoints};
use super::queue_series::{QueueColumns, QueueTotals};
use super::tcp_series::TcpColumns;
use super::thinned::ThinnedRows;
use super::transfers::TransferColumns;

/// A row of `flows`.
pub const FLOWS: Bytes = Bytes::new(FlowColumns::ROW + TcpColumns::ROW);
/// A row of `queues`.
pub const QUEUES: Bytes = Bytes::new(QueueColumns::ROW);
/// A row of `bands`.
pub const BANDS: Bytes = Bytes::new(BandColumns::ROW);
/// A row of `classes`.
pub const CLASSES: Bytes = Bytes::new(ClassColumns::ROW);
/// A row of `transfers`.
pub const TRANSFERS: Bytes = Bytes::new(TransferColumns::ROW);
/// A row of `throughput_points`.
pub const THROUGHPUT_POINTS: Bytes = Bytes::new(ThroughputPoints::ROW);
/// A row of `cwnd_points` or `sojourn_points`.
pub const THINNED_POINTS: Bytes = Bytes::new(ThinnedRows::ROW);
/// A row of `mark_points`, which exists twice while rows are put in order.
pub const MARK_POINTS: Bytes = Bytes::new(2 * MarkPoints::ROW);
/// A row of `dequeue_events`.
pub const DEQUEUE_EVENTS: Bytes = Bytes::new(DequeueEvents::ROW + Oscillators::ROW);
/// A row of `ack_events`.
pub const ACK_EVENTS: Bytes = Bytes::new(AckEvents::ROW);
/// A row of `mark_events`.
pub const MARK_EVENTS: Bytes = Bytes::new(MarkEvents::ROW);
/// A row of `packets`.
pub const PACKETS: Bytes = Bytes::new(PacketColumns::ROW);
/// What is noted about each captured packet besides its rows.
pub const PACKET_NOTES: Bytes = Bytes::new(size_of::<Captured>() as u64);
/// A row of `payloads` whose payload has `length` bytes.
pub const fn payload(length: u64) -> Bytes {
    payloads::memory(length)
}

/// The record of a flow.
pub const FLOW: Bytes = Bytes::new(size_of::<FlowRecorder>() as u64);
/// The totals of a flow between two edges of windows, with a histogram of round trips from `shortest` to `longest`.
pub fn flow_totals(shortest: Duration, longest: Duration) -> Bytes {
    FlowTotals::memory(shortest, longest)
}

/// The totals of a queue between two edges of windows, with a histogram of sojourn times up to `longest`.
pub fn queue_totals(longest: Duration) -> Bytes {
    QueueTotals::memory(longest)
}

/// The totals of the classes of a new queue between two edges of windows, with histograms of sojourn times up to `longest`.
pub fn class_totals(queue: &dyn QueueDiscipline, longest: Duration) -> Bytes {
    class_series::memory(queue, longest)
}

/// The number of classes of a new queue that are recorded.
pub fn classes(queue: &dyn QueueDiscipline) -> usize {
    class_series::names_of(queue).len()
}

/// A row of `cc` or `aqm` that has this many numbers. It exists twice while the table is made.
pub const fn state_row(numbers: usize) -> Bytes {
    let number = 2 * size_of::<f64>() as u64;
    Bytes::new(12 + 12 + numbers as u64 * number)
}
