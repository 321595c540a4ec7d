//! The halves of a TCP connection: a sender with the application that writes into it, and a receiver.

use std::sync::Arc;

use windtunnel_cc::{CongestionControl, ExitReason};
use windtunnel_tcp::bsd42::{self, Bsd42Params};
use windtunnel_tcp::{ConnectionState, Endpoint, Receiver, Sender, TcpParams};
use windtunnel_units::{Bytes, Rate, Seq, Time};
use windtunnel_wire::Packet;

use super::tcp_sender::TcpSender;
use super::{
    Arrival, Completion, Counters, Feedback, Hidden, Reading, ReceiverHalf, SenderHalf, SenderState,
};
use crate::application::{Stream, Wish};

/// The sending end of a TCP connection.
#[derive(Debug)]
pub(crate) struct TcpEnd {
    pub(crate) sender: TcpSender,
    application: Stream,
    /// Packets sent again before the packet that was polled last.
    sent_before: u64,
    /// The application closes as soon as everything that can be sent of its last write has been sent.
    closes: bool,
}

impl TcpEnd {
    /// A sender as Linux has it.
    pub(crate) fn linux(
        endpoint: Endpoint,
        cc: Box<dyn CongestionControl>,
        params: &Arc<TcpParams>,
        application: Stream,
    ) -> TcpEnd {
        TcpEnd::new(TcpSender::Linux(Sender::new(endpoint, params, cc)), application)
    }

    /// A sender from before congestion control.
    pub(crate) fn bsd42(endpoint: Endpoint, params: &Bsd42Params, application: Stream) -> TcpEnd {
        TcpEnd::new(TcpSender::Bsd42(bsd42::Sender::new(endpoint, params.clone())), application)
    }

    fn new(sender: TcpSender, application: Stream) -> TcpEnd {
        TcpEnd { sender, application, sent_before: 0, closes: false }
    }

    /// Prefetches the memory that the next ACK needs in addition to this.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let TcpSender::Linux(sender) = &self.sender {
            sender.prefetch();
        }
    }

    /// Every ACK takes the long way.
    pub(crate) fn take_the_long_way(&mut self) {
        if let TcpSender::Linux(sender) = &mut self.sender {
            sender.take_the_long_way();
        }
    }

    /// Nothing is left to send, and no timer is set: without a packet or a new start nothing will happen.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.sender.is_drained() && !self.closes && SenderHalf::next_timer(self) == Time::NEVER
    }

    /// Gives memory back that is not in use, if nothing is in flight.
    pub(crate) fn give_back(&mut self) {
        if let TcpSender::Linux(sender) = &mut self.sender
            && sender.is_drained()
        {
            sender.give_back();
            self.application.give_back();
        }
    }

    fn fulfil(&mut self, wish: Wish) {
        match wish {
            Wish::Nothing => {}
            Wish::Write(bytes) => {
                self.sender.write(bytes);
                self.closes = self.application.closes();
            }
            Wish::Stop => self.sender.stop(),
            Wish::Datagram(_) => unreachable!("TCP has no datagrams"),
        }
    }

    /// The next packet of an application that closes after its last write.
    #[cold]
    fn poll_closing(&mut self, now: Time) -> Option<Packet> {
        self.sender.poll_transmit(now).or_else(|| self.close(now))
    }

    /// The last write has been handed to the network as far as that is possible: the application closes. Returns what
    /// leaves because of that.
    #[cold]
    fn close(&mut self, now: Time) -> Option<Packet> {
        if self.sender.connection_state() < ConnectionState::Established || self.sender.is_writing() {
            return None;
        }
        self.closes = false;
        self.sender.close();
        self.sender.poll_transmit(now)
    }
}

impl SenderHalf for TcpEnd {
    fn start(&mut self, now: Time) {
        let sent = stream_offset(self.sender.snd_nxt());
        let wish = self.application.start(sent, now);
        self.fulfil(wish);
    }

    fn stop(&mut self) {
        let wish = self.application.stop();
        self.fulfil(wish);
    }

    fn set_rate(&mut self, rate: Rate, now: Time) {
        self.application.set_rate(rate, now);
    }

    #[inline]
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        // The limit until this ACK: the ACK opens the window, and everything that fits leaves at once.
        let cwnd_limited = self.sender.cwnd_limited();
        let report = self.sender.on_ack(packet, now);
        Feedback { rtt: report.rtt, ece: report.ece, esce: report.esce, cwnd_limited }
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.sent_before = self.sender.sent_again();
        if self.closes {
            return self.poll_closing(now);
        }
        self.sender.poll_transmit(now)
    }

    /// When the sender or its application wants to be called.
    #[inline]
    fn next_timer(&self) -> Time {
        self.sender.next_timer().unwrap_or(Time::NEVER).min(self.application.next_timer())
    }

    fn on_timer(&mut self, now: Time) -> bool {
        while self.application.next_timer() <= now {
            let wish = self.application.on_timer(now);
            self.fulfil(wish);
        }
        if self.sender.next_timer().is_some_and(|due| due <= now) {
            self.sender.on_timer(now);
        }
        true
    }

    #[inline]
    fn observe(&self) -> SenderState {
        SenderState {
            cwnd: Some(self.sender.cwnd()),
            in_flight: self.sender.in_flight(),
            srtt: self.sender.srtt(),
            cwnd_limited: self.sender.cwnd_limited(),
        }
    }

    #[inline]
    fn sent_again(&self) -> bool {
        self.sender.sent_again() > self.sent_before
    }

    #[inline]
    fn completion(&mut self, now: Time) -> Option<Completion> {
        self.application.on_acked(stream_offset(self.sender.snd_una()), now)
    }

    fn in_slow_start(&self) -> bool {
        self.sender.in_slow_start()
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.sender.slow_start_exit()
    }

    fn reading(&self) -> Reading {
        let counters = Counters { messages: self.application.written(), ..self.sender.counters() };
        Reading { counters, info: Some(self.sender.info()) }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.sender.probe(out);
    }

    fn hidden(&self) -> Option<Hidden> {
        Some(self.sender.hidden())
    }

    fn is_done(&self) -> bool {
        let complete = self.application.is_done() && self.sender.is_drained() && !self.closes;
        (complete && self.sender.is_closed()) || self.sender.is_reset()
    }
}

impl ReceiverHalf for Receiver {
    #[inline]
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival {
        let delivered = self.on_segment(packet, now).delivered;
        Arrival { delivered, understands_sce: self.echoes_sce() }
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.poll_ack(now)
    }

    #[inline]
    fn next_timer(&self) -> Time {
        Receiver::next_timer(self).unwrap_or(Time::NEVER)
    }

    fn on_timer(&mut self, now: Time) -> Bytes {
        Receiver::on_timer(self, now).delivered
    }

    fn is_done(&self) -> bool {
        Receiver::is_done(self)
    }
}

/// The bytes of the stream below a sequence number.
fn stream_offset(seq: Seq) -> Bytes {
    Bytes::new(seq.get().saturating_sub(Seq::FIRST_DATA.get()))
}
