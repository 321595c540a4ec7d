//! A stack with its parameters and the controller of its senders, as the simulator takes it.

use std::sync::Arc;

use windtunnel_hosted::{HEADERS, Hosted, Marks};
use windtunnel_sim::application::{ApplicationConfig, Protocol, Stream};
use windtunnel_sim::endpoint::{
    Counted, FlowContext, Halves, Stack, StackController, StackControllers, StackDescription, StackParams,
};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Ecn;

use crate::clock::instant;
use crate::connection::Connection;
use crate::datagrams;
use crate::fault::Fault;
use crate::guard::Guarded;
use crate::halves::{Host, Receiver, Sender};
use crate::marks::Counter;
use crate::seen::Record;

/// Both ends of a connection.
pub(crate) struct Pair {
    pub(crate) client: Box<dyn Connection>,
    pub(crate) server: Box<dyn Connection>,
    /// The client's window before it has connected.
    pub(crate) initial_window: u64,
}

/// Makes the ends of connections in one stack.
pub(crate) trait Ends: StackParams + Clone {
    /// The stack reports reductions that it undoes.
    const UNDOES: bool = false;

    /// What its senders count.
    fn counts(&self) -> Counted {
        let counted = Counted::SENT | Counted::DELIVERED | Counted::LOSS_EPISODES | Counted::ECN_REDUCTIONS;
        if Self::UNDOES { counted | Counted::UNDOS } else { counted }
    }

    /// What both hosts do wrong.
    fn fault(&self) -> Option<Fault> {
        None
    }

    /// How many bytes of DATAGRAM frames may wait, if that is given.
    fn datagram_buffer(&self) -> Option<Bytes> {
        None
    }

    /// The client and the server of a flow. What `controller` is told goes into `record`.
    fn ends(&self, controller: &StackController, flow: &FlowContext<'_>, record: &Record) -> Pair;
}

/// A stack, and the controllers of its senders.
#[derive(Clone, Debug)]
struct Quic<P> {
    params: P,
    controllers: StackControllers,
}

impl<P> Quic<P> {
    /// The controller of `flow` hears each mark.
    fn hears_each_mark(&self, flow: &FlowContext<'_>) -> bool {
        let StackController::Ours(params) = &self.controllers.decides else { return false };
        flow.ecn != Ecn::NotEct && params.needs().feedback.hears_each_mark()
    }
}

/// The stack with these parameters.
pub(crate) fn stack<P: Ends>(params: &P, controllers: StackControllers) -> Arc<dyn Stack> {
    Arc::new(Quic { params: params.clone(), controllers })
}

/// Checks that a connection can carry an application; `datagrams` if the stack has DATAGRAM frames.
pub(crate) fn carries(application: &ApplicationConfig, datagrams: bool) -> Result<(), String> {
    match (application, application.protocol()) {
        (ApplicationConfig::Poisson(_), _) => Err("opens no connections during a run".to_owned()),
        (ApplicationConfig::Media(_), Protocol::Udp) if datagrams => Ok(()),
        (ApplicationConfig::Media(_), Protocol::Udp) => {
            Err("sends no DATAGRAM frames here; media go over streams with protocol = \"tcp\"".to_owned())
        }
        (_, Protocol::Udp) => Err("has DATAGRAM frames for media alone".to_owned()),
        (_, Protocol::Rtp) => Err("carries no RTP; media go over streams with protocol = \"tcp\"".to_owned()),
        (_, Protocol::Tcp) => Ok(()),
    }
}

impl<P: Ends> Stack for Quic<P> {
    fn name(&self) -> &str {
        self.params.title()
    }

    fn protocol(&self) -> Protocol {
        Protocol::Udp
    }

    fn description(&self) -> Option<StackDescription<'_>> {
        Some(StackDescription { params: &self.params, controllers: &self.controllers })
    }

    fn counts(&self) -> Counted {
        self.params.counts()
    }

    fn halves(&self, flow: &FlowContext<'_>) -> Option<Halves> {
        let mss = Bytes::new(u64::from(payload(flow)));
        let segment = match flow.application.protocol() {
            Protocol::Udp => mss.min(self.params.datagram_buffer().unwrap_or(mss)) - datagrams::OVERHEAD,
            Protocol::Tcp | Protocol::Rtp => mss,
        };
        let application = Stream::new(flow.application, segment, flow.seed)?;
        let marks = self.hears_each_mark(flow).then(Marks::default);
        let mut record = Record::default();
        record.marks.clone_from(&marks);
        let Pair { client, server, initial_window } =
            self.params.ends(&self.controllers.decides, flow, &record);
        let initial_window = Bytes::new(initial_window);
        if let Some(shadow) = &self.controllers.shadow {
            let (shadow, start) = (Arc::clone(shadow), instant(Time::ZERO));
            let shadow = Hosted::with_initial_window(initial_window, shadow, start, mss, flow.seed);
            record.lock().shadow = Some(shadow);
        }
        let host = |end, marks: Option<Marks>, fault| {
            let guarded = Box::new(Guarded::new(self.params.title(), flow.flow, end));
            let counter = marks.map(|marks| Counter::new(mss, flow.ecn, marks));
            Host::new(flow, guarded, counter, fault)
        };
        let fault = self.params.fault();
        let of_receiver = marks.is_some().then(Marks::default);
        let client = host(client, marks, fault);
        let server = host(server, of_receiver, fault.and_then(Fault::of_receiver));
        Some(Halves {
            sender: Box::new(Sender::new(client, application, record, initial_window)),
            receiver: Box::new(Receiver::new(server)),
        })
    }
}

/// The largest UDP payload of a flow's packets.
pub(crate) fn payload(flow: &FlowContext<'_>) -> u16 {
    u16::try_from((flow.mtu - HEADERS).get()).unwrap_or(u16::MAX)
}
