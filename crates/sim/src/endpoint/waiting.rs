//! TCP connections that have not started: what their halves will be made of.
//!
//! Of a million flows that start one after the other, few are at work at a time. Halves take some 3 KB, and what they
//! are made of a tenth of that.

use std::sync::Arc;

use windtunnel_tcp::{AckParams, Endpoint, Receiver, TcpParams};
use windtunnel_units::{Rate, Time};
use windtunnel_wire::FlowId;

use super::{Ends, Pair, Still, TcpEnd};
use crate::application::Stream;
use crate::network::ControllerFactory;

/// What a connection is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) endpoint: Endpoint,
    pub(crate) cc: ControllerFactory,
    pub(crate) params: Arc<TcpParams>,
    pub(crate) ack: AckParams,
    pub(crate) application: Stream,
}

impl Parts {
    /// The halves of the connection.
    fn assemble(self) -> Pair<TcpEnd, Receiver> {
        let Parts { endpoint, cc, params, ack, application } = self;
        let sender = TcpEnd::linux(endpoint, cc.make(0, None), &params, application);
        Pair::new(sender, Receiver::new(endpoint, &params, ack))
    }
}

/// A connection that has not started.
#[derive(Debug)]
pub(crate) struct Waiting {
    parts: Parts,
    /// The state in which its sender starts.
    pub(crate) state: Arc<Still>,
}

impl Waiting {
    /// Its application will send at another rate.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        self.parts.application.set_rate(rate, now);
    }

    /// The connection starts.
    pub(crate) fn start(self) -> Ends {
        Ends::Tcp(Box::new(self.parts.assemble()))
    }
}

/// Connections whose senders start in the same state, and that state.
#[derive(Debug)]
pub(crate) struct Kind {
    endpoint: Endpoint,
    cc: ControllerFactory,
    params: Arc<TcpParams>,
    state: Arc<Still>,
}

impl Kind {
    /// The ends of a connection made of `parts`: it waits if it is of the same kind as the one before, which is
    /// remembered in `latest`.
    pub(crate) fn ends(latest: &mut Option<Kind>, parts: Parts) -> Ends {
        if let Some(kind) = latest
            && kind.has(&parts)
        {
            return Ends::Waiting(Box::new(Waiting { parts, state: Arc::clone(&kind.state) }));
        }
        let (endpoint, cc, params) = (anybody(parts.endpoint), parts.cc.clone(), Arc::clone(&parts.params));
        let pair = parts.assemble();
        *latest = Some(Kind { endpoint, cc, params, state: Arc::new(Still::of(&pair.sender)) });
        Ends::Tcp(Box::new(pair))
    }

    fn has(&self, parts: &Parts) -> bool {
        parts.cc.starts_like(&self.cc)
            && Arc::ptr_eq(&parts.params, &self.params)
            && anybody(parts.endpoint) == self.endpoint
    }
}

/// The same connection of no flow in particular.
fn anybody(endpoint: Endpoint) -> Endpoint {
    Endpoint { flow: FlowId::new(0), ..endpoint }
}
