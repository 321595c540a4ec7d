//! What sends and what receives: the two halves of a flow, behind one small interface.
//!
//! The loop knows no transport. It hands a packet to a half, polls it for packets until there are none, and calls it
//! when its timer expires; the recorder reads the sending half after each packet that it took. A half is a state
//! machine without input or output of its own, so that an external stack (a QUIC library, another TCP) can take the
//! place of ours: it implements [`SenderHalf`] and [`ReceiverHalf`], a [`Stack`] makes them, and
//! [`crate::Transport::Foreign`] carries the stack.
//!
//! The loop's code for them is generic, and compiled once for each transport: the path of a packet is inlined for our
//! own halves, and a call through a pointer for external ones (docs/decisions/0010-endpoint-interface.md).

mod counted;
mod datagrams;
mod ends;
mod ideal;
mod note;
mod observe;
mod pair;
mod stack;
mod still;
mod tcp;
mod tcp_sender;
mod waiting;

use std::fmt::Debug;

use windtunnel_cc::ExitReason;
use windtunnel_units::{Bytes, Rate, Time};
use windtunnel_wire::Packet;

pub use crate::application::{Completion, Receipt};
pub use counted::Counted;
pub use ends::OBSERVED;
pub(crate) use ends::{Datagrams, Ends, Foreign, Ideal, Tcp, Transported};
pub(crate) use note::Note;
pub use observe::{Arrival, Counters, Feedback, Hidden, Reading, SenderState};
pub(crate) use pair::Pair;
pub use stack::{
    FlowContext, Kinds, Stack, StackController, StackControllers, StackDescription, StackParams,
};
pub(crate) use still::Still;
pub(crate) use tcp::TcpEnd;
pub(crate) use waiting::{Kind, Parts, Waiting};

/// The sending half of a flow: a stack, and the application that writes into it.
///
/// After each call of [`start`], [`on_packet`] and [`on_timer`] the loop polls until there is no packet left, and
/// then asks for the next timer. Time comes from outside; a stack with a clock of its own derives it from the `now`
/// of each call.
///
/// [`start`]: SenderHalf::start
/// [`on_packet`]: SenderHalf::on_packet
/// [`on_timer`]: SenderHalf::on_timer
pub trait SenderHalf: Debug + Send {
    /// The application has data to send from now on. Called again after a [`SenderHalf::stop`].
    fn start(&mut self, now: Time);

    /// The application has no more data; data in flight drain.
    fn stop(&mut self);

    /// The application sends at another rate from now on, if it has one.
    fn set_rate(&mut self, _rate: Rate, _now: Time) {}

    /// A packet of the receiving half arrived.
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback;

    /// The next packet that leaves now, if there is one.
    fn poll(&mut self, now: Time) -> Option<Packet>;

    /// False if [`SenderHalf::poll`] would return nothing: a question that costs less.
    fn may_send(&self) -> bool {
        true
    }

    /// When [`SenderHalf::on_timer`] wants to be called; [`Time::NEVER`] if it does not.
    fn next_timer(&self) -> Time;

    /// The timer has expired. Returns whether that may have changed the window.
    fn on_timer(&mut self, now: Time) -> bool;

    /// What the recorder notes after each packet that the half took.
    fn observe(&self) -> SenderState;

    /// True if the packet polled last had been sent before.
    fn sent_again(&self) -> bool {
        false
    }

    /// A message of the application that is now acknowledged as a whole; the loop asks until there is none.
    fn completion(&mut self, _now: Time) -> Option<Completion> {
        None
    }

    /// True while its controller is in slow start.
    fn in_slow_start(&self) -> bool {
        false
    }

    /// Why slow start ended, once it has.
    fn slow_start_exit(&self) -> Option<ExitReason> {
        None
    }

    /// Its counters, and the state that no packet shows: read at the end of each recording interval.
    fn reading(&self) -> Reading {
        Reading::default()
    }

    /// The named numbers of its controller: `out(name, value)`, always the same names in the same order.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// What a capture shows about it with each packet that it sends.
    fn hidden(&self) -> Option<Hidden> {
        None
    }

    /// What decrypts the packets of both halves, in the lines of a key log (RFC 9850), each with its end; empty without TLS.
    fn secrets(&self) -> String {
        String::new()
    }

    /// If true, the timer's event is cancelled as soon as the timer is. If false, the event stays, fires too early,
    /// and is set again, which is cheaper for timers that move with every packet.
    fn withdraws_timer(&self) -> bool {
        false
    }

    /// Nothing is left to send, to acknowledge, or to write.
    fn is_done(&self) -> bool {
        false
    }
}

/// The receiving half of a flow. The loop calls it as it calls the sending half.
pub trait ReceiverHalf: Debug + Send {
    /// A packet of the sending half arrived.
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival;

    /// What the packet taken last told about a numbered datagram; the loop asks until there is none.
    fn receipt(&mut self) -> Option<Receipt> {
        None
    }

    /// The next packet that leaves now, if there is one.
    fn poll(&mut self, now: Time) -> Option<Packet>;

    /// When [`ReceiverHalf::on_timer`] wants to be called; [`Time::NEVER`] if it does not.
    fn next_timer(&self) -> Time;

    /// The timer has expired. Returns the data that are newly available to the application.
    fn on_timer(&mut self, now: Time) -> Bytes;

    /// It waits for nothing: neither for packets nor for a timer.
    fn is_done(&self) -> bool {
        true
    }

    /// False if it never asks for a timer.
    fn has_timer(&self) -> bool {
        true
    }

    /// If true, the timer's event is cancelled as soon as the timer is. If false, the event stays, fires too early,
    /// and is set again, which is cheaper for timers that move with every packet.
    fn withdraws_timer(&self) -> bool {
        false
    }
}

/// What follows from a segment that is acknowledged without a packet.
#[derive(Debug)]
pub(crate) struct Exchange<'a, S: ?Sized> {
    pub(crate) sender: &'a mut S,
    pub(crate) arrival: Arrival,
    pub(crate) feedback: Feedback,
}

/// Both halves of a flow.
#[derive(Debug)]
pub struct Halves {
    /// The half that sends data.
    pub sender: Box<dyn SenderHalf>,
    /// The half that receives them.
    pub receiver: Box<dyn ReceiverHalf>,
}
