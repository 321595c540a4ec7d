//! Halves that do nothing: of a place that no connection has, and of a flow whose connections are flows of their own.

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::{Arrival, Feedback, ReceiverHalf, SenderHalf, SenderState};

/// No half.
#[derive(Debug)]
pub(crate) struct Nobody;

impl SenderHalf for Nobody {
    fn start(&mut self, _: Time) {}

    fn stop(&mut self) {}

    fn on_packet(&mut self, _: &Packet, _: Time) -> Feedback {
        Feedback::default()
    }

    fn poll(&mut self, _: Time) -> Option<Packet> {
        None
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _: Time) -> bool {
        false
    }

    fn observe(&self) -> SenderState {
        SenderState::default()
    }
}

impl ReceiverHalf for Nobody {
    fn on_packet(&mut self, _: &Packet, _: Time) -> Arrival {
        Arrival::default()
    }

    fn poll(&mut self, _: Time) -> Option<Packet> {
        None
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _: Time) -> Bytes {
        Bytes::ZERO
    }

    fn has_timer(&self) -> bool {
        false
    }
}
