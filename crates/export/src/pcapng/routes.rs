//! The number of queues that a packet has passed, by which its TTL is lower.

use super::Point;
use super::places::Place;

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

    /// The number of queues that a packet has passed at a place.
    pub(super) fn passed(&mut self, position: Place) -> usize {
        let queues = &mut self.queues[position.flow as usize][usize::from(position.reply)];
        let mut before = || {
            queues.iter().position(|&queue| queue == position.queue).unwrap_or_else(|| {
                queues.push(position.queue);
                queues.len() - 1
            })
        };
        match (position.point, position.reply) {
            (Point::Sender, false) | (Point::Receiver, true) => 0,
            (Point::QueueIn, _) => before(),
            (Point::QueueOut, _) => before() + 1,
            (Point::Receiver, false) | (Point::Sender, true) => queues.len(),
        }
    }
}
