//! Both halves of a flow over a QUIC connection: datagrams become packets, and the application writes into streams, or
//! sends DATAGRAM frames.
//!
//! A message of the application (a transfer, a response, a frame) has a stream of its own, and is complete when all of
//! the stream is acknowledged. An application without messages writes one stream. What it gives up when it stops is
//! reset (`RESET_STREAM`).

use std::collections::VecDeque;
use std::sync::Arc;

use windtunnel_cc::ExitReason;
use windtunnel_hosted::HEADERS;
use windtunnel_sim::application::{Completion, Stream, Wish};
use windtunnel_sim::endpoint::{
    Arrival, Counters, Feedback, FlowContext, Hidden, Reading, Receipt, ReceiverHalf, SenderHalf, SenderState,
};
use windtunnel_tcp::{CaState, Limited};
use windtunnel_units::{Bytes, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet};

use crate::clock::{instant, time};
use crate::connection::{Connection, Happening};
use crate::datagrams::{Inbox, Outbox};
use crate::fault::{Fault, Faulty};
use crate::marks::Counter;
use crate::seen::Record;

/// What applications write.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// One end of a connection, and the packets that carry its datagrams.
#[derive(Debug)]
pub(crate) struct Host {
    flow: FlowId,
    connection: Box<dyn Connection>,
    /// The host's sockets can set the ECN field.
    sets_ecn: bool,
    faulty: Faulty,
    /// The largest datagram.
    payload: Bytes,
    dscp: Dscp,
    /// The host counts marks itself, for a controller that hears each.
    counter: Option<Counter>,
    timer: Time,
    datagram: Vec<u8>,
}

impl Host {
    /// The host of an end of `flow`.
    pub(crate) fn new(
        flow: &FlowContext<'_>,
        connection: Box<dyn Connection>,
        counter: Option<Counter>,
        fault: Option<Fault>,
    ) -> Host {
        Host {
            flow: flow.flow,
            connection,
            sets_ecn: flow.ecn != Ecn::NotEct,
            faulty: Faulty::new(fault),
            payload: flow.mtu - HEADERS,
            dscp: flow.dscp,
            counter,
            timer: Time::NEVER,
            datagram: Vec::new(),
        }
    }

    fn receive(&mut self, packet: &Packet, now: Time) {
        if let Some(datagram) = packet.content() {
            let seen = self.counter.as_mut().map_or(packet.ecn, |counter| counter.receive(packet));
            let ecn = self.faulty.received(seen);
            self.connection.receive(datagram, ecn, instant(now));
        }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.datagram.clear();
        let ecn = if self.faulty.may_send(now) { self.transmit(now) } else { None };
        self.set_timer();
        let payload = Bytes::new(self.datagram.len() as u64);
        let mut packet = Packet::new(self.flow, payload + HEADERS, payload);
        packet.ecn = if self.sets_ecn { ecn? } else { ecn.map(|_| Ecn::NotEct)? };
        packet.dscp = self.dscp;
        if let Some(counter) = &self.counter {
            packet.ecn = counter.on_the_path(packet.ecn);
            counter.stamp(&mut packet);
        }
        packet.set_content(Arc::from(&*self.datagram));
        Some(packet)
    }

    /// The ECN field of the next datagram, which is now in `datagram`.
    fn transmit(&mut self, now: Time) -> Option<Ecn> {
        let ecn = self.connection.transmit(&mut self.datagram, instant(now));
        if ecn.is_none() {
            self.faulty.drained(now);
        }
        ecn.map(|ecn| self.faulty.sent(ecn, now))
    }

    fn set_timer(&mut self) {
        let timer = self.connection.next_timer().map_or(Time::NEVER, time);
        self.timer = self.faulty.timer(timer);
    }

    /// Calls the connection's timer if it is due.
    fn expire(&mut self, now: Time) {
        if self.timer <= now {
            self.connection.expire(instant(now));
        }
        self.set_timer();
    }
}

/// Data that the application has written and the connection has not taken.
#[derive(Debug)]
struct Write {
    stream: Option<u64>,
    /// [`Bytes::MAX`] stands for data without end.
    left: Bytes,
    /// The length of the message that this is, if it is one: the stream ends with it.
    message: Option<Bytes>,
}

/// A message in a stream that is not wholly acknowledged.
#[derive(Debug)]
struct Sent {
    stream: u64,
    size: Bytes,
    is_acked: bool,
}

/// The sending half: the client.
#[derive(Debug)]
pub(crate) struct Sender {
    host: Host,
    record: Record,
    /// The window before there is a connection.
    initial_window: Bytes,
    application: Stream,
    is_connecting: bool,
    is_connected: bool,
    is_closed: bool,
    writes: VecDeque<Write>,
    outbox: Outbox,
    sent: VecDeque<Sent>,
    /// Bytes that the application has written since its start; without end, none.
    written: Bytes,
    /// Bytes of messages that are acknowledged, up to the first that is not.
    acked: Bytes,
    packets: u64,
    /// What kept the last call from sending more.
    limit: Limited,
    /// The reductions for CE that were reported.
    told: u64,
}

impl Sender {
    pub(crate) fn new(host: Host, application: Stream, record: Record, initial_window: Bytes) -> Sender {
        Sender {
            host,
            record,
            initial_window,
            application,
            is_connecting: false,
            is_connected: false,
            is_closed: false,
            writes: VecDeque::new(),
            outbox: Outbox::default(),
            sent: VecDeque::new(),
            written: Bytes::ZERO,
            acked: Bytes::ZERO,
            packets: 0,
            limit: Limited::Handshake,
            told: 0,
        }
    }

    fn window(&self) -> Bytes {
        self.host.connection.window().map_or(self.initial_window, Bytes::new)
    }

    /// What keeps the connection from sending more at `now`. With data, and room in the window, it is the pacer if a
    /// timer is near, and else flow control: other timers are further away than an eighth of a round trip.
    fn limited(&mut self, now: Time) -> Limited {
        let sends_datagrams = self.application.has_datagrams();
        let has_data = !self.writes.is_empty() || (sends_datagrams && self.host.connection.holds_datagrams());
        let seen = self.record.lock();
        let full = self.window().saturating_sub(self.host.payload);
        if !self.is_connected {
            Limited::Handshake
        } else if !has_data {
            Limited::Application
        } else if seen.in_flight > full {
            Limited::Cwnd
        } else if self.host.timer < now + seen.srtt / 8 {
            Limited::Pacing
        } else {
            Limited::Receiver
        }
    }

    fn grant(&mut self, wish: Wish, now: Time) {
        match wish {
            Wish::Nothing => {}
            Wish::Stop => self.give_up(),
            Wish::Datagram(_) if !self.is_connected || self.is_closed => {}
            Wish::Datagram(size) => {
                let frame = self.outbox.next(size, now);
                self.host.connection.send_datagram(frame);
            }
            Wish::Write(size) if self.application.has_messages() => {
                self.written += size;
                self.writes.push_back(Write { stream: None, left: size, message: Some(size) });
            }
            Wish::Write(size) => match self.writes.back_mut() {
                Some(write) if write.left < Bytes::MAX && size < Bytes::MAX => write.left += size,
                Some(write) => write.left = size,
                None => self.writes.push_back(Write { stream: None, left: size, message: None }),
            },
        }
    }

    /// The application has stopped: it gives up what is not acknowledged.
    fn give_up(&mut self) {
        let unwritten = self.writes.drain(..).filter_map(|write| write.stream);
        let unacked = self.sent.drain(..).filter(|sent| !sent.is_acked).map(|sent| sent.stream);
        for stream in unwritten.chain(unacked) {
            self.host.connection.reset(stream);
        }
        self.acked = self.written;
    }

    /// Hears what happened to the connection, and writes what it takes.
    fn drive(&mut self, now: Time) {
        while let Some(happening) = self.host.connection.happened() {
            match happening {
                Happening::Connected => self.is_connected = true,
                Happening::Closed(_) => self.is_closed = true,
                Happening::Finished(stream) => self.finished(stream),
            }
        }
        if self.is_connected && !self.is_closed {
            self.write();
            if self.application.closes() && self.application.is_done() && self.sent.is_empty() {
                self.host.connection.close(instant(now));
                self.is_closed = true;
            }
        }
        self.host.set_timer();
    }

    /// A stream is acknowledged, and with it, perhaps, others before it.
    fn finished(&mut self, stream: u64) {
        if let Some(sent) = self.sent.iter_mut().find(|sent| sent.stream == stream) {
            sent.is_acked = true;
        }
        while let Some(first) = self.sent.front().filter(|sent| sent.is_acked) {
            self.acked += first.size;
            self.sent.pop_front();
        }
    }

    fn write(&mut self) {
        while let Some(write) = self.writes.front_mut() {
            let connection = &mut self.host.connection;
            if write.stream.is_none() {
                write.stream = connection.open();
            }
            let Some(stream) = write.stream else { return };
            while write.left > Bytes::ZERO {
                let length = write.left.get().min(ZEROS.len() as u64) as usize;
                let taken = connection.write(stream, &ZEROS[..length]);
                if write.left < Bytes::MAX {
                    write.left -= Bytes::new(taken as u64);
                }
                if taken < length {
                    return;
                }
            }
            // A stream without messages waits for more.
            let Some(size) = write.message else { return };
            connection.finish(stream);
            self.sent.push_back(Sent { stream, size, is_acked: false });
            self.writes.pop_front();
        }
    }
}

impl SenderHalf for Sender {
    fn start(&mut self, now: Time) {
        if !std::mem::replace(&mut self.is_connecting, true) {
            self.host.connection.connect(instant(now));
        }
        let wish = self.application.start(self.written, now);
        self.grant(wish, now);
        self.drive(now);
    }

    fn stop(&mut self) {
        self.application.stop();
        self.give_up();
    }

    fn set_rate(&mut self, rate: Rate, now: Time) {
        self.application.set_rate(rate, now);
    }

    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        self.host.receive(packet, now);
        self.drive(now);
        let mut seen = self.record.lock();
        let ece = seen.ecn_reductions > std::mem::replace(&mut self.told, seen.ecn_reductions);
        let esce = self.host.counter.as_mut().is_some_and(Counter::take_esce);
        Feedback { rtt: seen.rtt.take(), ece, esce, cwnd_limited: !seen.app_limited }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        let packet = self.host.poll(now);
        match packet {
            Some(_) => self.packets += 1,
            None => self.limit = self.limited(now),
        }
        packet
    }

    fn next_timer(&self) -> Time {
        self.host.timer.min(self.application.next_timer())
    }

    fn on_timer(&mut self, now: Time) -> bool {
        self.host.expire(now);
        if self.application.next_timer() <= now {
            let wish = self.application.on_timer(now);
            self.grant(wish, now);
        }
        self.drive(now);
        true
    }

    fn observe(&self) -> SenderState {
        let seen = self.record.lock();
        SenderState {
            cwnd: Some(self.window()),
            in_flight: seen.in_flight,
            srtt: seen.srtt,
            cwnd_limited: !seen.app_limited,
        }
    }

    fn completion(&mut self, now: Time) -> Option<Completion> {
        self.application.on_acked(self.acked, now)
    }

    fn in_slow_start(&self) -> bool {
        let window = self.window();
        self.record.lock().ssthresh.is_none_or(|ssthresh| window < ssthresh)
    }

    /// A stack does not say why slow start ended; a controller of ours inside it does. Before any loss or mark the
    /// stack's own saw a delay grow, or ACKs come close together.
    fn slow_start_exit(&self) -> Option<ExitReason> {
        let seen = self.record.lock();
        let by_counts = match (seen.loss_episodes, seen.ecn_reductions) {
            (0, 0) => ExitReason::Other("before a loss"),
            (0, _) => ExitReason::Ce,
            _ => ExitReason::Loss,
        };
        Some(seen.slow_start_exit.unwrap_or(by_counts))
    }

    fn reading(&self) -> Reading {
        let seen = self.record.lock();
        let counters = Counters {
            sent: if self.application.has_datagrams() { self.outbox.written() } else { self.packets },
            delivered: seen.delivered,
            loss_episodes: seen.loss_episodes,
            ecn_reductions: seen.ecn_reductions,
            undos: seen.undos,
            messages: self.application.written(),
            ..Counters::default()
        };
        Reading { counters, info: None }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("cwnd", self.window().as_f64());
        out("limit", f64::from(self.limit as u8));
        self.record.lock().probe(out);
    }

    fn hidden(&self) -> Option<Hidden> {
        let seen = self.record.lock();
        Some(Hidden {
            cwnd: self.window(),
            ssthresh: seen.ssthresh.unwrap_or(Bytes::MAX),
            srtt: seen.srtt,
            state: if seen.is_recovering { CaState::Recovery } else { CaState::Open } as u8,
            limit: self.limit as u8,
            in_flight: seen.in_flight,
        })
    }

    fn secrets(&self) -> String {
        self.host.connection.secrets()
    }

    fn is_done(&self) -> bool {
        self.application.is_done() && self.writes.is_empty() && self.sent.is_empty()
    }
}

/// The receiving half: the server.
#[derive(Debug)]
pub(crate) struct Receiver {
    host: Host,
    inbox: Inbox,
}

impl Receiver {
    pub(crate) fn new(host: Host) -> Receiver {
        Receiver { host, inbox: Inbox::new() }
    }
}

impl ReceiverHalf for Receiver {
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival {
        let Receiver { host, inbox } = self;
        host.receive(packet, now);
        while host.connection.happened().is_some() {}
        let mut delivered = Bytes::new(host.connection.read());
        while let Some(frame) = host.connection.read_datagram() {
            delivered += inbox.receive(&frame, now);
        }
        host.set_timer();
        Arrival { delivered, understands_sce: host.counter.as_ref().is_some_and(Counter::hears_sce) }
    }

    fn receipt(&mut self) -> Option<Receipt> {
        self.inbox.receipt()
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.host.poll(now)
    }

    fn next_timer(&self) -> Time {
        self.host.timer
    }

    fn on_timer(&mut self, now: Time) -> Bytes {
        self.host.expire(now);
        Bytes::ZERO
    }
}
