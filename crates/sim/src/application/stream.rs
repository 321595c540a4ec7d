//! Applications that write into a connection: streams, and the datagrams of a connection that has them.

use windtunnel_units::{Bytes, Rate, Time};

use super::config::{ApplicationConfig, Protocol, TransferParams};
use super::media::{Frames, Pieces};
use super::messages::{Completion, Messages};
use super::on_off::OnOff;
use super::request_response::RequestResponse;

/// What an application asks of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// Add these bytes to the stream; [`Bytes::MAX`]: without end.
    Write(Bytes),
    /// Send these bytes in a datagram of the connection.
    Datagram(Bytes),
    /// Discard what has not been sent yet.
    Stop,
}

/// An application that writes into a stream, from the sender's side: TCP's, or those of an external stack.
#[derive(Debug)]
pub struct Stream {
    kind: Kind,
    messages: Messages,
}

/// With a million flows, the applications that know least should be small.
#[derive(Debug)]
enum Kind {
    Bulk,
    Transfer(TransferParams),
    OnOff(Box<OnOff>),
    RequestResponse(Box<RequestResponse>),
    Media { frames: Box<Frames>, next: Time },
    Datagrams { pieces: Box<Pieces>, next: Time },
}

impl Stream {
    /// The application of `config`; `None` if it does not write into a connection. A segment has at most `mss` bytes, and
    /// so has a datagram.
    pub fn new(config: &ApplicationConfig, mss: Bytes, seed: u64) -> Option<Stream> {
        let kind = match config {
            ApplicationConfig::Bulk => Kind::Bulk,
            ApplicationConfig::Transfer(params) => Kind::Transfer(params.clone()),
            ApplicationConfig::OnOff(params) => Kind::OnOff(Box::new(OnOff::new(params.clone(), mss, seed))),
            ApplicationConfig::RequestResponse(params) => {
                Kind::RequestResponse(Box::new(RequestResponse::new(params.clone(), seed)))
            }
            ApplicationConfig::Media(params) if params.protocol == Protocol::Udp => {
                Kind::Datagrams { pieces: Box::new(Pieces::new(params, mss)), next: Time::NEVER }
            }
            ApplicationConfig::Media(params) => {
                Kind::Media { frames: Box::new(Frames::new(params)), next: Time::NEVER }
            }
            ApplicationConfig::Poisson(_) | ApplicationConfig::Cbr(_) | ApplicationConfig::Probe(_) => {
                return None;
            }
        };
        Some(Stream { kind, messages: Messages::default() })
    }

    /// A single transfer, after which the connection is closed.
    pub(crate) fn transfer(size: Bytes) -> Stream {
        Stream { kind: Kind::Transfer(TransferParams { size, close: true }), messages: Messages::default() }
    }

    /// The application starts, or starts again; `position` bytes of the stream were sent before.
    pub fn start(&mut self, position: Bytes, now: Time) -> Wish {
        self.messages.restart(position);
        match &mut self.kind {
            Kind::Bulk => Wish::Write(Bytes::MAX),
            Kind::Transfer(TransferParams { size, .. }) => {
                self.messages.write(*size, now);
                Wish::Write(*size)
            }
            Kind::OnOff(on_off) => on_off.start(now),
            Kind::RequestResponse(responses) => {
                responses.start();
                write_message(responses.respond(), &mut self.messages, now)
            }
            Kind::Media { next, .. } | Kind::Datagrams { next, .. } => {
                *next = now;
                self.on_timer(now)
            }
        }
    }

    /// The application ends.
    pub fn stop(&mut self) -> Wish {
        match &mut self.kind {
            Kind::Bulk | Kind::Transfer(_) => {}
            Kind::OnOff(on_off) => on_off.stop(),
            Kind::RequestResponse(responses) => responses.stop(),
            Kind::Media { next, .. } | Kind::Datagrams { next, .. } => *next = Time::NEVER,
        }
        self.messages.restart(Bytes::ZERO);
        Wish::Stop
    }

    /// The application sends at another rate from now on, if it has one.
    pub fn set_rate(&mut self, rate: Rate, now: Time) {
        match &mut self.kind {
            Kind::OnOff(on_off) => on_off.set_rate(rate, now),
            Kind::Media { frames, .. } => frames.set_rate(rate),
            Kind::Datagrams { pieces, .. } => pieces.set_rate(rate),
            Kind::Bulk | Kind::Transfer(_) | Kind::RequestResponse(_) => {}
        }
    }

    /// When [`Stream::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Time {
        match &self.kind {
            Kind::Bulk | Kind::Transfer(_) => Time::NEVER,
            Kind::OnOff(on_off) => on_off.next_timer(),
            Kind::RequestResponse(responses) => responses.next_timer(),
            Kind::Media { next, .. } | Kind::Datagrams { next, .. } => *next,
        }
    }

    /// The time asked for by [`Stream::next_timer`] has come.
    pub fn on_timer(&mut self, now: Time) -> Wish {
        match &mut self.kind {
            Kind::Bulk | Kind::Transfer(_) => Wish::Nothing,
            Kind::OnOff(on_off) => on_off.on_timer(now),
            Kind::RequestResponse(responses) => write_message(responses.respond(), &mut self.messages, now),
            Kind::Media { frames, next } => {
                *next = now + frames.interval();
                write_message(Some(frames.next_frame()), &mut self.messages, now)
            }
            Kind::Datagrams { pieces, next } => {
                let size = pieces.take(now);
                *next = pieces.next_departure(now);
                Wish::Datagram(size)
            }
        }
    }

    /// The first `acked` bytes of the stream are acknowledged. Returns a message that this completes; call until there is none.
    #[inline]
    pub fn on_acked(&mut self, acked: Bytes, now: Time) -> Option<Completion> {
        let completion = self.messages.complete(acked)?;
        if let Kind::RequestResponse(responses) = &mut self.kind {
            responses.on_completion(now);
        }
        Some(completion)
    }

    /// Gives memory back that is not in use.
    pub(crate) fn give_back(&mut self) {
        self.messages.give_back();
    }

    /// It writes messages, each as a whole; other applications write a stream without borders.
    pub const fn has_messages(&self) -> bool {
        match &self.kind {
            Kind::Bulk | Kind::OnOff(_) | Kind::Datagrams { .. } => false,
            Kind::Transfer(_) | Kind::RequestResponse(_) | Kind::Media { .. } => true,
        }
    }

    /// It sends datagrams.
    pub const fn has_datagrams(&self) -> bool {
        matches!(self.kind, Kind::Datagrams { .. })
    }

    /// How many messages it has written so far.
    pub const fn written(&self) -> u64 {
        self.messages.written()
    }

    /// It has written its last byte, and closes its connection.
    pub fn closes(&self) -> bool {
        match &self.kind {
            Kind::Transfer(params) => params.close,
            Kind::RequestResponse(responses) => responses.closes(),
            Kind::Bulk | Kind::OnOff(_) | Kind::Media { .. } | Kind::Datagrams { .. } => false,
        }
    }

    /// True if it neither waits for an acknowledgment nor will write again.
    pub fn is_done(&self) -> bool {
        !matches!(self.kind, Kind::Bulk) && self.messages.is_empty() && self.next_timer() == Time::NEVER
    }
}

fn write_message(size: Option<Bytes>, messages: &mut Messages, now: Time) -> Wish {
    match size {
        Some(size) => {
            messages.write(size, now);
            Wish::Write(size)
        }
        None => Wish::Nothing,
    }
}
