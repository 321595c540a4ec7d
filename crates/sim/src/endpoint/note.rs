//! What the recorder notes about a flow's halves: the same for every transport.

#![expect(
    clippy::inline_always,
    reason = "compiled once for each transport; a `match` at each call cost loss-free endpoints 10 % more instructions"
)]

use windtunnel_cc::ExitReason;
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::{Feedback, ReceiverHalf, SenderHalf};
use crate::recorder::{Recorder, WindowState};
use crate::simulation::Capabilities;

/// The recorder, and the place of a flow in it.
pub(crate) struct Note<'a> {
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) flow: usize,
    /// The flow whose statistics it counts towards: itself, unless it is one of another flow's connections.
    pub(crate) series: usize,
}

impl Note<'_> {
    /// The sending half has taken a packet, or in a plain run what a packet would have said.
    #[inline(always)]
    pub(crate) fn feedback<C: Capabilities, H: SenderHalf + ?Sized>(
        mut self,
        half: &mut H,
        feedback: &Feedback,
        packet: Option<&Packet>,
        now: Time,
    ) {
        while let Some(completion) = half.completion(now) {
            self.recorder.completed(now, self.series, &completion);
        }
        let state = half.observe();
        let Some(cwnd) = state.cwnd else {
            return self.recorder.answered(now, self.series, feedback.rtt);
        };
        if self.flow != self.series {
            return self.recorder.member_acknowledged(now, self.series, feedback.rtt, cwnd);
        }
        let Feedback { rtt, cwnd_limited, .. } = *feedback;
        let state = WindowState {
            rtt,
            srtt: state.srtt,
            cwnd,
            in_flight: state.in_flight,
            cwnd_limited,
            // Asking the controller costs a virtual call, so it is asked only while the answer is needed.
            slow_start: self.recorder.wants_phase::<C>(self.flow) && self.in_slow_start(half, cwnd, now),
        };
        self.recorder.acknowledged(now, self.flow, state);
        if C::SINGLE_PACKETS
            && self.recorder.detailed()
            && let Some(packet) = packet
        {
            self.recorder.acknowledged_in_detail(now, packet, feedback.echoes(), state);
            self.recorder.controller_changed(now, self.flow, &|out| half.probe(out));
        }
    }

    /// True if the sending half is in slow start. Notes when it has left it.
    #[inline(never)]
    fn in_slow_start<H: SenderHalf + ?Sized>(&mut self, half: &H, cwnd: Bytes, now: Time) -> bool {
        let slow_start = half.in_slow_start();
        if self.recorder.leaves_slow_start(self.flow, slow_start) {
            let reason = half.slow_start_exit().unwrap_or(ExitReason::Unused);
            self.recorder.left_slow_start(now, self.flow, cwnd, reason);
        }
        slow_start
    }

    /// The timer of the sending half has expired: a timeout changes the window without an ACK.
    #[inline(always)]
    pub(crate) fn expiry<H: SenderHalf + ?Sized>(self, half: &mut H, now: Time) {
        if half.on_timer(now) && self.flow == self.series {
            let state = half.observe();
            if let Some(cwnd) = state.cwnd {
                self.recorder.timed(now, self.flow, cwnd, state.cwnd_limited);
                self.recorder.controller_changed(now, self.flow, &|out| half.probe(out));
            }
        }
    }

    /// The receiving half takes a packet.
    #[inline(always)]
    pub(crate) fn arrival<H: ReceiverHalf + ?Sized>(self, half: &mut H, packet: &Packet, now: Time) {
        let arrival = half.on_packet(packet, now);
        self.recorder.received(now, self.series, packet, &arrival);
        while let Some(receipt) = half.receipt() {
            self.recorder.datagram(self.series, &receipt);
        }
    }
}
