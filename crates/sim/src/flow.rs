//! A flow: a sender, a receiver, and the way between them.

use windtunnel_prefetch::prefetch;
use windtunnel_units::Time;

use crate::endpoint::Ends;

/// One hop of a compiled route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hop {
    Link(u32),
    Line(u32),
    Element(u32),
    /// Behind the interface of the sender's own host: the sender hears of the packet.
    LeftHost(u32),
    Receiver,
    Sender,
    /// Into another part of a run that several threads share: by way of this one of its exits.
    Away(u32),
}

/// A flow of the network: one cache line, as with many flows every line counts.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// Where its data go first.
    pub(crate) data: Hop,
    /// Where its ACKs go first.
    pub(crate) acks: Hop,
    /// The time for which the sender's event is set. TCP timers move at every ACK: an event stays where it is, and is
    /// set again if it fires too early.
    pub(crate) sender_event: Time,
    /// The same for the receiver.
    pub(crate) receiver_event: Time,
    pub(crate) ends: Ends,
    /// Its packets in the network. Counted only where the flow may end before the run does
    /// ([`crate::endpoint::Transported::ARRIVES`]).
    pub(crate) in_network: u32,
    /// How many of its starts the plan still has.
    pub(crate) starts: u32,
    /// The flow whose statistics it counts towards: itself, or the one whose connection it is.
    pub(crate) series: u32,
    /// It was started, and not stopped since.
    pub(crate) active: bool,
}

const _: () = assert!(size_of::<Flow>() == 64);

impl Flow {
    /// Asks for its memory.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self);
    }

    /// When a packet has taken the hop `to`, its ACK is back at the sender at once: the whole delay lies before the receiver.
    #[inline]
    pub(crate) fn answers_at_once(&self, to: Hop) -> bool {
        to == Hop::Receiver && self.acks == Hop::Sender
    }

    /// A flow that takes this way.
    pub(crate) fn new(ends: Ends, data: Hop, acks: Hop, series: u32) -> Flow {
        Flow {
            ends,
            starts: 0,
            data,
            acks,
            series,
            in_network: 0,
            active: false,
            sender_event: Time::NEVER,
            receiver_event: Time::NEVER,
        }
    }
}
