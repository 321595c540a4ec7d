//! Stacks in C: one end of a connection in one, and what it tells of itself.
//!
//! Such a stack has no controller that a watcher could stand in front of. It is asked for its state after each call
//! instead, and the record is filled from what has changed: an ACK is a change of what is in flight, a reduction a
//! smaller window. What the stack does not tell is not counted.

use std::time::Instant;

use windtunnel_foreign::{Config, Event, Identity, Library, State};
use windtunnel_sim::endpoint::{Counted, FlowContext, StackController};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::Ecn;

use crate::clock::{instant, time};
use crate::connection::{Connection, Happening};
use crate::seen::{Record, Seen};
use crate::{stack, tls};

/// Why no controller of windtunnel's goes into a stack in C.
pub(crate) const DECIDES_ITSELF: &str = "decides its window itself";

/// The server of every connection, as TLS has it for stacks in Rust.
pub(crate) const IDENTITY: Identity =
    Identity { name: c"localhost", certificate: tls::CERTIFICATE, key: tls::KEY };

/// Both ends of a flow's connection.
pub(crate) fn ends(
    library: Library,
    controller: &StackController,
    initial_window: Option<Bytes>,
    flow: &FlowContext<'_>,
    record: &Record,
) -> stack::Pair {
    let StackController::Own(controller) = controller else { unreachable!("the stack {DECIDES_ITSELF}") };
    let end = |is_server| {
        let config = Config {
            controller,
            is_server,
            sets_ecn: flow.ecn != Ecn::NotEct,
            seed: flow.seed,
            max_udp_payload: stack::payload(flow).into(),
            initial_window: initial_window.map(Bytes::get),
            identity: IDENTITY,
        };
        let mut inside =
            library.end(&config).unwrap_or_else(|why| panic!("{} makes no end: {why}", library.name()));
        let (payload, state) = (config.max_udp_payload, inside.state());
        End { inside, payload, state, record: (!is_server).then(|| record.clone()) }
    };
    let [client, server] = [end(false), end(true)];
    let initial_window = client.state.cwnd.unwrap_or(0);
    stack::Pair { client: Box::new(client), server: Box::new(server), initial_window }
}

/// Checks that the stack takes this initial window.
pub(crate) fn accepts(library: Library, initial_window: Option<Bytes>) -> Result<(), String> {
    let Some(window) = initial_window else { return Ok(()) };
    let trial = Config::trial(library.controllers()[0], false, IDENTITY);
    let config = Config { initial_window: Some(window.get()), ..trial };
    let end = library.end(&config).map(drop);
    end.map_err(|why| format!("takes no initial window of {window}: {why}"))
}

/// What can be counted of a stack that tells this.
pub(crate) fn counts(told: &State) -> Counted {
    let mut counted = Counted::SENT;
    if told.packets_lost.is_some() {
        counted = counted | Counted::LOSS_EPISODES;
    }
    if told.packets_lost.is_some() && told.ssthresh.is_some() {
        counted = counted | Counted::ECN_REDUCTIONS;
    }
    counted
}

/// One end of a connection.
#[derive(Debug)]
struct End {
    inside: windtunnel_foreign::End,
    /// The longest datagram.
    payload: u64,
    /// What it told after the last call.
    state: State,
    /// The client's, which sends data.
    record: Option<Record>,
}

impl End {
    /// Asks the stack for its state. Returns the state before.
    fn note(&mut self) -> State {
        let Some(record) = &self.record else { return self.state };
        let before = std::mem::replace(&mut self.state, self.inside.state());
        let mut seen = record.lock();
        let State { cwnd, bytes_in_flight, ssthresh, smoothed_rtt, pacing_rate, pto_count, .. } = self.state;
        seen.srtt = smoothed_rtt.map(Duration::from_nanos).unwrap_or_default();
        seen.in_flight = bytes_in_flight.map(Bytes::new).unwrap_or_default();
        seen.ssthresh = ssthresh.filter(|ssthresh| *ssthresh > 0).map(Bytes::new);
        seen.pacing_rate = pacing_rate.map(|bytes| Rate::from_bits_per_sec(8 * bytes));
        seen.probe_timeouts = pto_count;
        seen.app_limited =
            cwnd.zip(bytes_in_flight).is_some_and(|(cwnd, in_flight)| in_flight + self.payload <= cwnd);
        before
    }

    /// The same after a call in which an ACK or a timer may have changed it.
    fn note_events(&mut self, now: Instant) {
        let before = self.note();
        let Some(record) = &self.record else { return };
        let mut seen = record.lock();
        let (was, is) = (before, self.state);
        if (was.bytes_in_flight, was.latest_rtt) != (is.bytes_in_flight, is.latest_rtt) {
            seen.rtt = is.latest_rtt.filter(|rtt| *rtt > 0).map(Duration::from_nanos);
        }
        if is.packets_lost > was.packets_lost {
            let lost = match is.bytes_lost.zip(was.bytes_lost) {
                Some((is, was)) => is - was,
                None => self.payload * (is.packets_lost.unwrap_or(0) - was.packets_lost.unwrap_or(0)),
            };
            note_loss(&mut seen, now, lost);
        } else if is.cwnd < was.cwnd && is.ssthresh != was.ssthresh {
            seen.ecn_reductions += 1;
        }
    }
}

/// Packets are found lost at `now`. Those lost together left about a round trip before: what is found within a round
/// trip of the start of a recovery period belongs to it (RFC 9002 section 7.3.2).
fn note_loss(seen: &mut Seen, now: Instant, lost: u64) {
    let sent = now.checked_sub(std::time::Duration::from_nanos(seen.srtt.as_nanos()));
    seen.congested(now, sent.unwrap_or(now), false, lost);
}

/// Nanoseconds since the start of the run.
fn nanos(now: Instant) -> u64 {
    time(now).as_nanos()
}

impl Connection for End {
    fn connect(&mut self, now: Instant) {
        self.inside.connect(nanos(now));
        self.note();
    }

    fn receive(&mut self, datagram: &[u8], ecn: Ecn, now: Instant) {
        self.inside.receive(datagram, ecn as u8, nanos(now));
        self.note_events(now);
    }

    fn transmit(&mut self, datagram: &mut Vec<u8>, now: Instant) -> Option<Ecn> {
        let ecn = self.inside.transmit(datagram, nanos(now));
        self.note();
        ecn.map(field)
    }

    fn next_timer(&mut self) -> Option<Instant> {
        self.inside.next_timer().map(|at| instant(Time::from_nanos(at)))
    }

    fn expire(&mut self, now: Instant) {
        self.inside.expire(nanos(now));
        self.note_events(now);
    }

    fn happened(&mut self) -> Option<Happening> {
        self.inside.poll().map(|event| match event {
            Event::Connected => Happening::Connected,
            Event::Finished(stream) => Happening::Finished(stream),
            Event::Closed(reason) => Happening::Closed(reason),
        })
    }

    fn open(&mut self) -> Option<u64> {
        self.inside.open()
    }

    fn write(&mut self, stream: u64, data: &'static [u8]) -> usize {
        self.inside.write(stream, data)
    }

    fn finish(&mut self, stream: u64) {
        self.inside.finish(stream);
    }

    fn reset(&mut self, stream: u64) {
        self.inside.reset(stream);
    }

    fn read(&mut self) -> u64 {
        self.inside.read()
    }

    fn close(&mut self, now: Instant) {
        self.inside.close(nanos(now));
    }

    fn window(&self) -> Option<u64> {
        self.state.cwnd
    }
}

/// The ECN field of two bits.
fn field(bits: u8) -> Ecn {
    match bits {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}
