//! How many queues a packet has passed: what its TTL has lost.

use super::{Point, Row};

/// The queues on each flow's way, in both directions, as far as packets have shown them.
///
/// The first packet of a flow that reaches a queue has passed all queues before it, so that queues come up in their order.
#[derive(Debug)]
pub(super) struct Routes {
    queues: Vec<[Vec<u32>; 2]>,
}

impl Routes {
    pub(super) fn new(flows: usize) -> Routes {
        Routes { queues: vec![[Vec::new(), Vec::new()]; flows] }
    }

    /// The queues behind the packet of `row`.
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
