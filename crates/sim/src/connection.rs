//! A TCP connection: both of its ends, and the application that writes into it.

use windtunnel_cc::CongestionControl;
use windtunnel_tcp::bsd42::{self, Bsd42Params};
use windtunnel_tcp::{AckParams, Endpoint, Receiver, Sender, TcpParams};
use windtunnel_units::{Bytes, Seq, Time};

use crate::application::{Completion, Stream, Wish};
use crate::tcp_sender::TcpSender;

/// A TCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: TcpSender,
    pub(crate) receiver: Receiver,
    pub(crate) application: Stream,
    /// When the sender's event is set for. Timers of TCP move on at every ACK: an event stays where it is, and if it comes
    /// too early it is set anew.
    pub(crate) sender_event: Time,
    /// The same of the receiver.
    pub(crate) receiver_event: Time,
}

impl Connection {
    /// Between ends as Linux has them.
    pub(crate) fn linux(
        endpoint: Endpoint,
        cc: Box<dyn CongestionControl>,
        params: &TcpParams,
        ack: AckParams,
        application: Stream,
    ) -> Connection {
        let sender = TcpSender::Linux(Sender::new(endpoint, params, cc));
        Connection::new(sender, Receiver::new(endpoint, params, ack), application)
    }

    /// Between ends as they were before congestion control.
    pub(crate) fn bsd42(endpoint: Endpoint, params: &Bsd42Params, application: Stream) -> Connection {
        let sender = TcpSender::Bsd42(bsd42::Sender::new(endpoint, params.clone()));
        Connection::new(sender, params.receiver(endpoint), application)
    }

    fn new(sender: TcpSender, receiver: Receiver, application: Stream) -> Connection {
        Connection { sender, receiver, application, sender_event: Time::NEVER, receiver_event: Time::NEVER }
    }

    pub(crate) fn start(&mut self, now: Time) {
        let sent = stream_offset(self.sender.snd_nxt());
        let wish = self.application.start(sent, now);
        self.fulfil(wish);
    }

    pub(crate) fn stop(&mut self) {
        let wish = self.application.stop();
        self.fulfil(wish);
    }

    /// When the sender or its application wants to be called.
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        self.sender.next_timer().unwrap_or(Time::NEVER).min(self.application.next_timer())
    }

    /// Calls those whose time has come.
    pub(crate) fn on_timer(&mut self, now: Time) {
        while self.application.next_timer() <= now {
            let wish = self.application.on_timer(now);
            self.fulfil(wish);
        }
        if self.sender.next_timer().is_some_and(|due| due <= now) {
            self.sender.on_timer(now);
        }
    }

    /// The next message that is acknowledged as a whole; call until there is none.
    #[inline]
    pub(crate) fn completion(&mut self, now: Time) -> Option<Completion> {
        self.application.on_acked(stream_offset(self.sender.snd_una()), now)
    }

    /// True if nothing is left to send, to acknowledge, or to write.
    pub(crate) fn is_done(&self) -> bool {
        self.application.is_done() && self.sender.is_drained()
    }

    fn fulfil(&mut self, wish: Wish) {
        match wish {
            Wish::Nothing => {}
            Wish::Write(bytes) => self.sender.write(bytes),
            Wish::Stop => self.sender.stop(),
        }
    }
}

/// The bytes of the stream below a sequence number.
fn stream_offset(seq: Seq) -> Bytes {
    Bytes::new(seq.get().saturating_sub(Seq::FIRST_DATA.get()))
}
