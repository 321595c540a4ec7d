//! Where the recorder finds the flows and queues that it watches: in one place, or in the parts of a run.

use super::class_series::Class;
use super::flow_series::FlowRecorder;
use super::queue_series::QueueRecorder;
use crate::endpoint::Reading;
use crate::flow::Flow;
use crate::link::Link;

/// What a recorder watches: all flows and queues of a run, wherever they are.
pub(super) trait Subjects {
    /// The record of a flow.
    fn flow(&mut self, index: usize) -> &mut FlowRecorder;

    /// The record of a queue.
    fn queue(&mut self, index: usize) -> &mut QueueRecorder;

    /// That of its classes.
    fn classes(&mut self, index: usize) -> &mut [Class];

    /// Its link.
    fn link(&mut self, index: usize) -> &mut Link;
}

/// All of them in one place.
pub(super) struct Whole<'a> {
    pub(super) of_flows: Vec<FlowRecorder>,
    pub(super) of_queues: Vec<QueueRecorder>,
    pub(super) of_classes: Vec<Vec<Class>>,
    pub(super) links: &'a mut [Link],
    pub(super) flows: &'a [Flow],
    /// The reading of a flow's sender; none if all are loss-free.
    pub(super) reading: &'a dyn Fn(usize) -> Option<Reading>,
}

impl Subjects for Whole<'_> {
    #[inline]
    fn flow(&mut self, index: usize) -> &mut FlowRecorder {
        &mut self.of_flows[index]
    }

    fn queue(&mut self, index: usize) -> &mut QueueRecorder {
        &mut self.of_queues[index]
    }

    fn classes(&mut self, index: usize) -> &mut [Class] {
        &mut self.of_classes[index]
    }

    fn link(&mut self, index: usize) -> &mut Link {
        &mut self.links[index]
    }
}
