//! What sends and what receives: the two halves of a flow, behind one small interface.
//!
//! The loop knows no transport. It hands a packet to a half, polls it for packets until there are none, and calls it when its
//! timer expires; the recorder looks at the sending half after each packet that it took. A half is a state machine without input or
//! output of its own, so that a stack from elsewhere (a QUIC library, another TCP) can stand where ours stands: it implements
//! [`SenderHalf`] and [`ReceiverHalf`], a [`Stack`] makes them, and [`crate::Transport::Foreign`] carries the stack.
//!
//! Our own halves are variants of an enum, so that the compiler inlines what a packet passes; the others are called through a
//! pointer (docs/decisions/0010-endpoint-interface.md).

mod datagrams;
mod ideal;
mod nobody;
mod note;
mod observe;
mod tcp;
mod tcp_sender;

use std::fmt::Debug;

use windtunnel_cc::ExitReason;
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{FlowId, Packet};

use crate::application::{ApplicationConfig, DatagramReceiver, DatagramSender, Protocol};
use nobody::Nobody;
pub(crate) use note::Note;

pub use crate::application::{Completion, Receipt};
pub use observe::{Arrival, Counters, Feedback, Hidden, Reading, SenderState};
pub(crate) use tcp::TcpEnd;

/// The sending half of a flow: a stack, and the application that writes into it.
///
/// After each call of [`start`], [`on_packet`] and [`on_timer`] the loop polls until there is no packet left, and then asks for the next
/// timer. Time comes from outside; a stack with a clock of its own reckons from the `now` of each call.
///
/// [`start`]: SenderHalf::start
/// [`on_packet`]: SenderHalf::on_packet
/// [`on_timer`]: SenderHalf::on_timer
pub trait SenderHalf: Debug + Send {
    /// The application has data to send from now on. Called again after a [`SenderHalf::stop`].
    fn start(&mut self, now: Time);

    /// The application has no more data; what is in flight drains.
    fn stop(&mut self);

    /// A packet of the receiving half arrived.
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback;

    /// The next packet that leaves now, if there is one.
    fn poll(&mut self, now: Time) -> Option<Packet>;

    /// When [`SenderHalf::on_timer`] wants to be called; [`Time::NEVER`] if it does not.
    fn next_timer(&self) -> Time;

    /// The timer has expired. Returns whether that may have changed the window.
    fn on_timer(&mut self, now: Time) -> bool;

    /// What the recorder notes after each packet that it took.
    fn observe(&self) -> SenderState;

    /// True if the packet polled last had been sent before.
    fn sent_again(&self) -> bool {
        false
    }

    /// A message of the application that is now acknowledged as a whole; the loop asks until there is none.
    fn completion(&mut self, _now: Time) -> Option<Completion> {
        None
    }

    /// Its controller is in slow start.
    fn in_slow_start(&self) -> bool {
        false
    }

    /// Why slow start ended, once it has.
    fn slow_start_exit(&self) -> Option<ExitReason> {
        None
    }

    /// What it has counted, and the state that no packet shows: read at the end of each recording interval.
    fn reading(&self) -> Reading {
        Reading::default()
    }

    /// What a capture shows of it beside each packet that it sends.
    fn hidden(&self) -> Option<Hidden> {
        None
    }

    /// True if its event is taken back as soon as its timer is: otherwise it stays, comes too early, and is set anew, which is cheaper
    /// for timers that move with every packet.
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

    /// The next packet that leaves now, if there is one.
    fn poll(&mut self, now: Time) -> Option<Packet>;

    /// When [`ReceiverHalf::on_timer`] wants to be called; [`Time::NEVER`] if it does not.
    fn next_timer(&self) -> Time;

    /// The timer has expired. Returns what the application has now, and had not before.
    fn on_timer(&mut self, now: Time) -> Bytes;

    /// False if it never asks for a timer.
    fn has_timer(&self) -> bool {
        true
    }

    /// True if its event is taken back as soon as its timer is: otherwise it stays, comes too early, and is set anew, which is cheaper
    /// for timers that move with every packet.
    fn withdraws_timer(&self) -> bool {
        false
    }
}

/// Both halves of a flow.
#[derive(Debug)]
pub struct Halves {
    /// The half that sends data.
    pub sender: Box<dyn SenderHalf>,
    /// The half that receives them.
    pub receiver: Box<dyn ReceiverHalf>,
}

/// What a stack needs to know of the flow whose halves it makes.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext<'a> {
    /// Which flow it is: all of its packets carry this.
    pub flow: FlowId,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// What makes the flow send.
    pub application: &'a ApplicationConfig,
    /// The seed of the flow's own random stream.
    pub seed: u64,
}

/// A stack that is not part of this crate.
pub trait Stack: Debug + Send + Sync {
    /// Its name in results.
    fn name(&self) -> &str;

    /// The protocol of its packets, as captures show it.
    fn protocol(&self) -> Protocol;

    /// Both halves of a flow; nothing if it cannot carry the application.
    fn halves(&self, flow: &FlowContext<'_>) -> Option<Halves>;
}

/// Any sending half.
#[expect(
    clippy::large_enum_variant,
    reason = "loss-free endpoints are read with each packet: no pointer to follow"
)]
#[derive(Debug)]
pub(crate) enum AnySender {
    Ideal(windtunnel_tcp::ideal::Sender),
    Tcp(Box<TcpEnd>),
    Datagrams(Box<DatagramSender>),
    Foreign(Box<dyn SenderHalf>),
    /// The place of a connection that has ended.
    Nobody(Nobody),
}

/// Any receiving half.
#[expect(
    clippy::large_enum_variant,
    reason = "loss-free endpoints are read with each packet: no pointer to follow"
)]
#[derive(Debug)]
pub(crate) enum AnyReceiver {
    Ideal(windtunnel_tcp::ideal::Receiver),
    Tcp(Box<windtunnel_tcp::Receiver>),
    Datagrams(Box<DatagramReceiver>),
    Foreign(Box<dyn ReceiverHalf>),
    Nobody(Nobody),
}

/// One expression for whichever half there is, compiled once for each type: an event costs one branch. `mut` if the expression
/// changes the half.
macro_rules! each {
    ($enum:ident, $any:expr, mut $half:ident => $call:expr) => {
        each!(@ $enum, $any, $half, as_mut => $call)
    };
    ($enum:ident, $any:expr, $half:ident => $call:expr) => {
        each!(@ $enum, $any, $half, as_ref => $call)
    };
    (@ $enum:ident, $any:expr, $half:ident, $get:ident => $call:expr) => {
        match $any {
            $enum::Ideal($half) => $call,
            $enum::Tcp($half) => {
                let $half = $half.$get();
                $call
            }
            $enum::Datagrams($half) => {
                let $half = $half.$get();
                $call
            }
            $enum::Foreign($half) => {
                let $half = $half.$get();
                $call
            }
            $enum::Nobody($half) => $call,
        }
    };
}

impl AnySender {
    pub(crate) const NOBODY: AnySender = AnySender::Nobody(Nobody);

    /// The half, to look at where no packet passes.
    pub(crate) fn get(&self) -> &dyn SenderHalf {
        each!(AnySender, self, half => half)
    }

    /// The half, to call where no packet passes.
    pub(crate) fn get_mut(&mut self) -> &mut dyn SenderHalf {
        each!(AnySender, self, mut half => half)
    }

    /// Takes a packet, and has the recorder note what follows from it.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet, now: Time, note: Note<'_>) {
        each!(AnySender, self, mut half => note.feedback(half, packet, now));
    }

    /// Handles the expiry of its timer, likewise.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time, note: Note<'_>) {
        each!(AnySender, self, mut half => note.expiry(half, now));
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Packet> {
        each!(AnySender, self, mut half => SenderHalf::poll(half, now))
    }

    #[inline]
    pub(crate) fn sent_again(&self) -> bool {
        each!(AnySender, self, half => SenderHalf::sent_again(half))
    }

    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        each!(AnySender, self, half => SenderHalf::next_timer(half))
    }

    /// When its event is due, if it is to be set anew; it is set for `set`.
    #[inline]
    pub(crate) fn moved_timer(&self, set: Time) -> Option<Time> {
        each!(AnySender, self, half => {
            moved(SenderHalf::next_timer(half), set, || SenderHalf::withdraws_timer(half))
        })
    }

    /// True for loss-free endpoints, which never send again what was lost.
    pub(crate) const fn is_loss_free(&self) -> bool {
        matches!(self, AnySender::Ideal(_))
    }
}

impl AnyReceiver {
    pub(crate) const NOBODY: AnyReceiver = AnyReceiver::Nobody(Nobody);

    /// Takes a packet, and has the recorder note what follows from it.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet, now: Time, note: Note<'_>) {
        each!(AnyReceiver, self, mut half => note.arrival(half, packet, now));
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Packet> {
        each!(AnyReceiver, self, mut half => ReceiverHalf::poll(half, now))
    }

    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        each!(AnyReceiver, self, half => ReceiverHalf::next_timer(half))
    }

    #[inline]
    pub(crate) fn on_timer(&mut self, now: Time) -> Bytes {
        each!(AnyReceiver, self, mut half => ReceiverHalf::on_timer(half, now))
    }

    /// When its event is due, if it is to be set anew; it is set for `set`.
    #[inline]
    pub(crate) fn moved_timer(&self, set: Time) -> Option<Time> {
        each!(AnyReceiver, self, half => {
            moved(ReceiverHalf::next_timer(half), set, || ReceiverHalf::withdraws_timer(half))
        })
    }

    pub(crate) fn has_timer(&self) -> bool {
        each!(AnyReceiver, self, half => ReceiverHalf::has_timer(half))
    }
}

#[inline]
fn moved(next: Time, set: Time, withdraws: impl FnOnce() -> bool) -> Option<Time> {
    (next < set || (next > set && withdraws())).then_some(next)
}
