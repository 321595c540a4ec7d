//! A flow that stands for many connections: each arrives, transfers something, and is gone.
//!
//! A connection occupies a slot among the flows while any of its packets is in the network; after that its endpoints
//! no longer exist: memory is bounded by the number of connections active at once.

use std::sync::Arc;

use windtunnel_tcp::{AckParams, Endpoint, Receiver, TcpParams};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::FlowId;

use crate::application::{PoissonParams, PoissonProcess, Stream};
use crate::endpoint::{Counters, Ends, Pair, TcpEnd};
use crate::network::ControllerFactory;
use crate::streams::stream_seed;

/// A source of connections.
#[derive(Debug)]
pub(crate) struct Arrivals {
    process: PoissonProcess,
    endpoint: Endpoint,
    cc: ControllerFactory,
    params: Arc<TcpParams>,
    ack: AckParams,
    /// The number of connections made.
    made: u64,
    /// The slow-start threshold that the connections that have ended left.
    ssthresh: Option<Bytes>,
    /// Slots of connections that have ended, the next one to be taken last.
    vacant: Vec<usize>,
    /// All slots: indices of flows.
    slots: Vec<usize>,
    /// Sums of the connections that have ended.
    ended: Counters,
}

impl Arrivals {
    pub(crate) fn new(
        poisson: &PoissonParams,
        seed: u64,
        endpoint: Endpoint,
        cc: ControllerFactory,
        params: Arc<TcpParams>,
        ack: AckParams,
    ) -> Arrivals {
        let process = PoissonProcess::new(poisson, stream_seed(seed, "times"), stream_seed(seed, "sizes"));
        let ssthresh = params.initial_ssthresh.map(|segments| endpoint.mss() * u64::from(segments));
        let (vacant, slots, ended) = (Vec::new(), Vec::new(), Counters::default());
        Arrivals { process, endpoint, cc, params, ack, made: 0, ssthresh, vacant, slots, ended }
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.process.start(now);
    }

    pub(crate) fn stop(&mut self) {
        self.process.stop();
    }

    pub(crate) const fn next_timer(&self) -> Time {
        self.process.next_timer()
    }

    /// A transfer arrives. Returns its size, if there is room for it.
    pub(crate) fn arrive(&mut self, now: Time) -> Option<Bytes> {
        let size = self.process.arrive(now);
        let active = self.slots.len() - self.vacant.len();
        self.process.admits(active).then_some(size)
    }

    /// Takes a free slot.
    pub(crate) fn take_slot(&mut self) -> Option<usize> {
        self.vacant.pop()
    }

    /// `flow` is a new slot, which is now occupied.
    pub(crate) fn add_slot(&mut self, flow: usize) {
        self.slots.push(flow);
    }

    /// The connection at `flow` has ended; these were its ends.
    pub(crate) fn vacate(&mut self, flow: usize, ends: &Ends) {
        self.vacant.push(flow);
        self.ended += ends.reading().counters;
        self.ssthresh = ends.ssthresh_metric(self.ssthresh);
    }

    /// The sums of the connections that have ended, and all slots.
    pub(crate) fn counted(&self) -> (Counters, &[usize]) {
        (self.ended, &self.slots)
    }

    /// Both ends of a connection at `flow` that transfers `size`.
    pub(crate) fn connection(&mut self, flow: usize, size: Bytes) -> Ends {
        let endpoint = Endpoint { flow: FlowId::new(flow as u32), ..self.endpoint };
        let cc = self.cc.make(self.made, self.ssthresh);
        self.made += 1;
        let sender = TcpEnd::linux(endpoint, cc, &self.params, Stream::transfer(size));
        Ends::Tcp(Box::new(Pair::new(sender, Receiver::new(endpoint, &self.params, self.ack))))
    }
}
