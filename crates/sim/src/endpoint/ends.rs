//! The halves of a flow, by transport.

use windtunnel_prefetch::prefetch;
use windtunnel_tcp::{Receiver, ideal};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Options;

use super::{Halves, Reading, ReceiverHalf, SenderHalf, TcpEnd};
use crate::application::{DatagramReceiver, DatagramSender};
use crate::flow::Hop;

/// Both halves of a flow.
#[expect(
    clippy::large_enum_variant,
    reason = "loss-free endpoints are read with each packet: no pointer to follow"
)]
#[derive(Debug)]
pub(crate) enum Ends {
    Ideal {
        sender: ideal::Sender,
        receiver: ideal::Receiver,
    },
    Tcp {
        sender: Box<TcpEnd>,
        receiver: Box<Receiver>,
    },
    Datagrams {
        sender: Box<DatagramSender>,
        receiver: Box<DatagramReceiver>,
    },
    /// Media over RTP, or a stack that is not part of this crate.
    Foreign(Halves),
    /// The place of a connection that has ended, or a flow whose connections are flows of their own.
    Nobody,
}

/// Evaluates one expression for whichever sending half there is.
macro_rules! with_sender {
    ($ends:expr, $half:ident => $call:expr, nobody => $nobody:expr) => {
        match $ends {
            Ends::Ideal { sender: $half, .. } => $call,
            Ends::Tcp { sender: $half, .. } => $call,
            Ends::Datagrams { sender: $half, .. } => $call,
            Ends::Foreign(Halves { sender: $half, .. }) => $call,
            Ends::Nobody => $nobody,
        }
    };
}

/// Queries that no packet path uses.
impl Ends {
    pub(crate) fn start(&mut self, now: Time) {
        with_sender!(self, half => half.start(now), nobody => {});
    }

    pub(crate) fn stop(&mut self) {
        with_sender!(self, half => half.stop(), nobody => {});
    }

    /// What the sender keeps about packets in flight.
    pub(crate) fn memory(&self) -> Bytes {
        match self {
            Ends::Ideal { sender, .. } => sender.memory(),
            Ends::Tcp { sender, .. } => sender.sender.memory(),
            Ends::Datagrams { .. } | Ends::Foreign(_) | Ends::Nobody => Bytes::ZERO,
        }
    }

    /// The initial window of the sender, if it has one.
    pub(crate) fn window(&self) -> Option<Bytes> {
        with_sender!(self, half => half.observe().cwnd, nobody => None)
    }

    pub(crate) fn reading(&self) -> Reading {
        with_sender!(self, half => half.reading(), nobody => Reading::default())
    }

    /// The slow-start threshold for the flow's next connection, if `remembered` is the one until now.
    pub(crate) fn ssthresh_metric(&self, remembered: Option<Bytes>) -> Option<Bytes> {
        match self {
            Ends::Tcp { sender, .. } => sender.sender.ssthresh_metric(remembered),
            Ends::Ideal { .. } | Ends::Datagrams { .. } | Ends::Foreign(_) | Ends::Nobody => remembered,
        }
    }

    /// The named numbers of the sender's controller; none for datagrams, nor for a flow that stands for many
    /// connections.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        with_sender!(self, half => half.probe(out), nobody => {});
    }

    /// Nothing is left to send, to acknowledge, or to write.
    pub(crate) fn is_done(&self) -> bool {
        let receiver = match self {
            Ends::Ideal { receiver, .. } => receiver.is_done(),
            Ends::Tcp { receiver, .. } => ReceiverHalf::is_done(&**receiver),
            Ends::Datagrams { receiver, .. } => receiver.is_done(),
            Ends::Foreign(halves) => halves.receiver.is_done(),
            Ends::Nobody => false,
        };
        receiver && with_sender!(self, half => half.is_done(), nobody => false)
    }

    /// Returns the options of an ACK that has arrived.
    pub(crate) fn take_back(&mut self, options: Box<Options>) {
        if let Ends::Tcp { receiver, .. } = self {
            receiver.take_back(options);
        }
    }

    /// True if the receiving half may ask for a timer.
    pub(crate) fn has_receiver_timer(&self) -> bool {
        match self {
            Ends::Ideal { receiver, .. } => receiver.has_timer(),
            Ends::Tcp { receiver, .. } => receiver.has_timer(),
            Ends::Datagrams { receiver, .. } => receiver.has_timer(),
            Ends::Foreign(halves) => halves.receiver.has_timer(),
            Ends::Nobody => false,
        }
    }

    /// Asks for the memory of the half to which `hop` leads.
    #[inline]
    pub(crate) fn prefetch(&self, hop: Hop) {
        match (self, hop) {
            (Ends::Tcp { sender, .. }, Hop::Sender) => prefetch(&**sender),
            (Ends::Tcp { receiver, .. }, Hop::Receiver) => prefetch(&**receiver),
            (Ends::Ideal { sender, .. }, Hop::Sender) => prefetch(sender),
            (Ends::Ideal { receiver, .. }, Hop::Receiver) => prefetch(receiver),
            _ => {}
        }
    }

    /// Asks for what that half points to.
    #[inline]
    pub(crate) fn prefetch_details(&self, hop: Hop) {
        match (self, hop) {
            (Ends::Tcp { sender, .. }, Hop::Sender) => sender.prefetch(),
            (Ends::Tcp { receiver, .. }, Hop::Receiver) => receiver.prefetch(),
            (Ends::Ideal { sender, .. }, Hop::Sender) => sender.prefetch(),
            _ => {}
        }
    }

    /// True for loss-free endpoints, which never send again what was lost.
    #[inline]
    pub(crate) const fn is_loss_free(&self) -> bool {
        matches!(self, Ends::Ideal { .. })
    }
}

/// A transport as a type: where its halves are among the [`Ends`]. The loop's code is compiled once for each
/// transport.
pub(crate) trait Transported {
    type Sender: SenderHalf + ?Sized;
    type Receiver: ReceiverHalf + ?Sized;

    /// A flow with this transport may be a connection of another flow, which ends with its last packet: its packets
    /// in the network are counted.
    const ARRIVES: bool;

    /// The sending half; none if the flow has another transport, or its connection has ended.
    fn sender(ends: &mut Ends) -> Option<&mut Self::Sender>;

    /// The receiving half, likewise.
    fn receiver(ends: &mut Ends) -> Option<&mut Self::Receiver>;
}

macro_rules! transport {
    ($name:ident, $sending:pat => $send:expr, $receiving:pat => $receive:expr, $sender:ty, $receiver:ty, $arrives:literal) => {
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Transported for $name {
            type Sender = $sender;
            type Receiver = $receiver;
            const ARRIVES: bool = $arrives;

            #[inline(always)]
            fn sender(ends: &mut Ends) -> Option<&mut Self::Sender> {
                if let $sending = ends { Some($send) } else { None }
            }

            #[inline(always)]
            fn receiver(ends: &mut Ends) -> Option<&mut Self::Receiver> {
                if let $receiving = ends { Some($receive) } else { None }
            }
        }
    };
}

transport!(
    Ideal,
    Ends::Ideal { sender, .. } => sender,
    Ends::Ideal { receiver, .. } => receiver,
    ideal::Sender, ideal::Receiver, false
);
transport!(
    Tcp,
    Ends::Tcp { sender, .. } => &mut **sender,
    Ends::Tcp { receiver, .. } => &mut **receiver,
    TcpEnd, Receiver, true
);
transport!(
    Datagrams,
    Ends::Datagrams { sender, .. } => &mut **sender,
    Ends::Datagrams { receiver, .. } => &mut **receiver,
    DatagramSender, DatagramReceiver, false
);
transport!(
    Foreign,
    Ends::Foreign(Halves { sender, .. }) => &mut **sender,
    Ends::Foreign(Halves { receiver, .. }) => &mut **receiver,
    dyn SenderHalf, dyn ReceiverHalf, false
);
