//! The halves of a flow, by transport.

use windtunnel_prefetch::prefetch;
use windtunnel_tcp::{Receiver, ideal};
use windtunnel_units::{Bytes, Rate, Time};
use windtunnel_wire::{Extras, Packet};

use super::ideal::exchange;
use super::{Exchange, Halves, Pair, Reading, ReceiverHalf, SenderHalf, SenderState, Still, TcpEnd, Waiting};
use crate::application::{DatagramReceiver, DatagramSender};
use crate::arrivals::Arrivals;
use crate::flow::Hop;

/// What every sender with a window tells of its state, by the names of the table `flows`.
pub const OBSERVED: [&str; 3] = ["cwnd_bytes", "in_flight_bytes", "srtt_ms"];

/// What is at the ends of a flow: a pointer, so that a flow is one cache line.
#[derive(Debug)]
pub(crate) enum Ends {
    Ideal(Box<Pair<ideal::Sender, ideal::Receiver>>),
    Tcp(Box<Pair<TcpEnd, Receiver>>),
    Datagrams(Box<Pair<DatagramSender, DatagramReceiver>>),
    /// Media over RTP, or a stack that is not part of this crate.
    Foreign(Box<Halves>),
    /// The source of connections that are flows of their own.
    Many(Box<Arrivals>),
    /// A connection that has not started.
    Waiting(Box<Waiting>),
    /// A connection to which nothing can happen any more.
    Still(Box<Still>),
    /// The place of a connection that has ended.
    Nobody,
}

/// Evaluates one expression for whichever pair of halves there is.
macro_rules! with_halves {
    ($ends:expr, $halves:ident => $call:expr, nobody => $nobody:expr) => {
        match $ends {
            Ends::Ideal($halves) => $call,
            Ends::Tcp($halves) => $call,
            Ends::Datagrams($halves) => $call,
            Ends::Foreign($halves) => $call,
            Ends::Many(_) | Ends::Waiting(_) | Ends::Still(_) | Ends::Nobody => $nobody,
        }
    };
}

/// Queries that no packet path uses.
impl Ends {
    pub(crate) fn start(&mut self, now: Time) {
        if let Ends::Waiting(_) = self
            && let Ends::Waiting(waiting) = std::mem::replace(self, Ends::Nobody)
        {
            *self = waiting.start();
        }
        with_halves!(self, halves => halves.sender.start(now), nobody => {});
    }

    /// TCP takes the long way with every segment.
    pub(crate) fn take_the_long_way(&mut self) {
        if let Ends::Tcp(halves) = self {
            halves.sender.take_the_long_way();
            halves.receiver.take_the_long_way();
        }
    }

    pub(crate) fn stop(&mut self) {
        with_halves!(self, halves => halves.sender.stop(), nobody => {});
    }

    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        match self {
            Ends::Waiting(waiting) => waiting.set_rate(rate, now),
            ends => with_halves!(ends, halves => halves.sender.set_rate(rate, now), nobody => {}),
        }
    }

    /// What the sender keeps about packets in flight.
    pub(crate) fn memory(&self) -> Bytes {
        match self {
            Ends::Ideal(halves) => halves.sender.memory(),
            Ends::Tcp(halves) => halves.sender.sender.memory(),
            _ => Bytes::ZERO,
        }
    }

    /// The values of a sender that does not exist.
    fn still(&self) -> Option<&Still> {
        match self {
            Ends::Waiting(waiting) => Some(&waiting.state),
            Ends::Still(state) => Some(state),
            _ => None,
        }
    }

    /// The initial window of the sender, if it has one.
    pub(crate) fn window(&self) -> Option<Bytes> {
        with_halves!(self, halves => halves.sender.observe().cwnd, nobody => self.still()?.window)
    }

    pub(crate) fn reading(&self) -> Reading {
        let still = || self.still().map(|state| state.reading).unwrap_or_default();
        with_halves!(self, halves => halves.sender.reading(), nobody => still())
    }

    /// The slow-start threshold for the flow's next connection, if `remembered` is the one until now.
    pub(crate) fn ssthresh_metric(&self, remembered: Option<Bytes>) -> Option<Bytes> {
        match self {
            Ends::Tcp(halves) => halves.sender.sender.ssthresh_metric(remembered),
            _ => remembered,
        }
    }

    /// The named numbers of the sender's controller; none for datagrams, nor for a flow that stands for many
    /// connections.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        with_halves!(self, halves => halves.sender.probe(out), nobody => if let Some(state) = self.still() {
            state.probe(out);
        });
    }

    /// The numbers of the sender's state that a condition may be about: those of its controller, and [`OBSERVED`].
    pub(crate) fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.probe(out);
        with_halves!(self, halves => {
            let SenderState { cwnd, in_flight, srtt, .. } = halves.sender.observe();
            let values = [cwnd.map_or(f64::NAN, Bytes::as_f64), in_flight.as_f64(), srtt.as_millis_f64()];
            OBSERVED.iter().zip(values).for_each(|(name, value)| out(name, value));
        }, nobody => OBSERVED.iter().for_each(|name| out(name, f64::NAN)));
    }

    /// What decrypts the flow's packets.
    pub(crate) fn secrets(&self) -> String {
        with_halves!(self, halves => halves.sender.secrets(), nobody => String::new())
    }

    /// Nothing is left to send, to acknowledge, or to write.
    pub(crate) fn is_done(&self) -> bool {
        with_halves!(
            self,
            halves => halves.receiver.is_done() && halves.sender.is_done(),
            nobody => false
        )
    }

    /// Without a packet or a new start nothing will happen to this connection; only TCP says so.
    pub(crate) fn is_at_rest(&self) -> bool {
        let Ends::Tcp(halves) = self else { return false };
        let receiver = &halves.receiver;
        halves.sender.is_at_rest() && receiver.is_done() && ReceiverHalf::next_timer(receiver) == Time::NEVER
    }

    /// Nothing will happen to this connection any more: what is seen of it stays, and its halves go.
    pub(crate) fn settle(&mut self, series: u32) {
        if let Ends::Tcp(halves) = self {
            *self = Ends::Still(Box::new(Still::after(halves, series)));
        }
    }

    /// Gives memory back that an idle connection does not use.
    pub(crate) fn give_back(&mut self) {
        if let Ends::Tcp(halves) = self {
            halves.sender.give_back();
            halves.receiver.give_back();
        }
    }

    /// Returns the memory of an ACK's options that has arrived.
    pub(crate) fn take_back(&mut self, extras: Box<Extras>) {
        if let Ends::Tcp(halves) = self {
            halves.receiver.take_back(extras);
        }
    }

    /// True if the receiving half may ask for a timer.
    pub(crate) fn has_receiver_timer(&self) -> bool {
        let waits = matches!(self, Ends::Waiting(_));
        with_halves!(self, halves => halves.receiver.has_timer(), nobody => waits)
    }

    /// The source of the flow's connections, if it stands for many.
    pub(crate) fn arrivals(&self) -> Option<&Arrivals> {
        if let Ends::Many(arrivals) = self { Some(arrivals) } else { None }
    }

    /// The same, to be changed.
    pub(crate) fn arrivals_mut(&mut self) -> Option<&mut Arrivals> {
        if let Ends::Many(arrivals) = self { Some(arrivals) } else { None }
    }

    /// Asks for the memory of the half to which `hop` leads.
    #[inline]
    pub(crate) fn prefetch(&self, hop: Hop) {
        match (self, hop) {
            (Ends::Tcp(halves), Hop::Sender) => prefetch(&halves.sender),
            (Ends::Tcp(halves), Hop::Receiver) => prefetch(&halves.receiver),
            (Ends::Ideal(halves), Hop::Sender) => halves.sender.prefetch(),
            (Ends::Ideal(halves), Hop::Receiver) => prefetch(&halves.receiver),
            _ => {}
        }
    }

    /// Asks for what that half points to.
    #[inline]
    pub(crate) fn prefetch_details(&self, hop: Hop) {
        match (self, hop) {
            (Ends::Tcp(halves), Hop::Sender) => halves.sender.prefetch(),
            (Ends::Tcp(halves), Hop::Receiver) => halves.receiver.prefetch(),
            (Ends::Ideal(halves), Hop::Sender) => halves.sender.prefetch_details(),
            _ => {}
        }
    }

    /// True for loss-free endpoints, which never send again what was lost.
    #[inline]
    pub(crate) const fn is_loss_free(&self) -> bool {
        matches!(self, Ends::Ideal(_))
    }
}

/// A transport as a type: where its halves are among the [`Ends`]. The loop's code is compiled once for each
/// transport.
pub(crate) trait Transported {
    type Sender: SenderHalf + ?Sized;
    type Receiver: ReceiverHalf + ?Sized;

    /// A flow with this transport, or one of its connections, may end with its last packet and before the run: its packets
    /// in the network are counted.
    const ARRIVES: bool;

    /// The sending half; none if the flow has another transport, or its connection has ended.
    fn sender(ends: &mut Ends) -> Option<&mut Self::Sender>;

    /// The receiving half, likewise.
    fn receiver(ends: &mut Ends) -> Option<&mut Self::Receiver>;

    /// A segment may be acknowledged without a packet.
    const EXCHANGES: bool = false;

    /// The receiving half takes a segment, and its sending half hears of that at once, without a packet in between;
    /// nothing where this needs a packet.
    #[inline]
    fn exchange<'a>(_: &'a mut Ends, _: &Packet, _: Time) -> Option<Exchange<'a, Self::Sender>> {
        None
    }
}

macro_rules! transport {
    ($name:ident, $sender:ty, $receiver:ty, $arrives:literal, { $($unbox:tt)? } $(, $exchange:item)*) => {
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Transported for $name {
            type Sender = $sender;
            type Receiver = $receiver;
            const ARRIVES: bool = $arrives;

            #[inline(always)]
            fn sender(ends: &mut Ends) -> Option<&mut Self::Sender> {
                if let Ends::$name(halves) = ends { Some(&mut $($unbox)? halves.sender) } else { None }
            }

            #[inline(always)]
            fn receiver(ends: &mut Ends) -> Option<&mut Self::Receiver> {
                if let Ends::$name(halves) = ends { Some(&mut $($unbox)? halves.receiver) } else { None }
            }

            $($exchange)*
        }
    };
}

transport!(
    Ideal,
    ideal::Sender,
    ideal::Receiver,
    false,
    {},
    const EXCHANGES: bool = true;,
    #[inline]
    fn exchange<'a>(ends: &'a mut Ends, segment: &Packet, now: Time) -> Option<Exchange<'a, ideal::Sender>> {
        if let Ends::Ideal(halves) = ends { exchange(halves, segment, now) } else { None }
    }
);
transport!(Tcp, TcpEnd, Receiver, true, {});
transport!(Datagrams, DatagramSender, DatagramReceiver, false, {});
transport!(Foreign, dyn SenderHalf, dyn ReceiverHalf, false, { * });
