//! The number of queues that a packet has passed, by which its TTL is lower.

use super::{Point, Row};

/// The queues on each flow's path, in both directions, as far as packets have revealed them.
///
/// The first packet of a flow that reaches a queue has passed all queues before it, so that queues appear in order.
#[derive(Debug)]
pub(super) struct Routes {
    queues: Vec<[Vec<u32>; 2]>,
}

impl Routes {
    pub(super) fn new(flows: usize) -> Routes {
        Routes { queues: vec![[Vec::new(), Vec::new()]; flows] }
    }

    /// The number of queues that the packet of `row` has passed.
    pub(super) fn passed(&mut self, row: &Row, point: Point) -> usize {
        let queues = &mut self.queues[row.flow as usize][usize::from(row.is_ack_direction())];
        let mut before = || {
            queues.iter().position(|&queue| queue == row.queue).unwrap_or_else(|| {
                queues.push(row.queue);
                queues.len() - 1
            })
        };
        match (point, row.is_ack_direction()) {
            (Point::Sender, false) | (Point::Receiver, true) => 0,
            (Point::QueueIn, _) => before(),
            (Point::QueueOut, _) => before() + 1,
            (Point::Receiver, false) | (Point::Sender, true) => queues.len(),
        }
    }
}
