//! qlog: what a QUIC stack says about its connections, as the departures and acknowledgements that a walk through TCP segments gives.
//!
//! Read are JSON text sequences and contained logs, with the names of all drafts: `transport:packet_sent` and
//! `quic:packet_sent`, events as arrays and as objects, times in milliseconds and microseconds. A damaged event is passed over and
//! counted. Of a log that its connection's receiver wrote, what was in flight is not known. A log of a TCP flow, which says so in
//! its `protocol_types`, is read as the segments that it tells, and these are walked through.
//!
//! Sources: draft-ietf-quic-qlog-main-schema and -quic-events (editor's copies f8dfcfc), draft-marx-qlog-main-schema-01 (arrays), and
//! what quinn, quiche, picoquic, ngtcp2, mvfst and quic-go write.

mod event;
mod flight;
mod scan;
mod segments;

use std::collections::BTreeMap;
use std::io::Read;

use event::{Data, Event, First, Head, Part, Value};
use flight::Flight;
use scan::{Found, Scanner};
use segments::Bytes;

use crate::segments::Segments;
use crate::walk::{Known, Walked, walk};

/// Bytes that are read at a time.
const PART: usize = 1 << 16;
/// Connections in one log: those above are passed over.
const MOST_CONNECTIONS: usize = 1 << 12;
/// Times are less than this, in nanoseconds: some centuries.
const MOST_NS: f64 = 9e18;
/// Numbers that a sender tells of itself are less than this.
const MOST: f64 = 1e15;
/// Characters of a name.
const LONGEST_NAME: usize = 120;

/// A connection of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logged {
    /// Its ends, or else what the log calls it.
    pub name: String,
    /// Its packets with data that the log's owner sent, and those that it received.
    pub sent: u64,
    /// Packets with data that it received.
    pub received: u64,
    /// Acknowledgements that it received.
    pub acks: u64,
    /// The length of a full packet; of a TCP flow its payload.
    pub largest: u64,
    /// From the first initial packet to the first answer.
    pub handshake_ns: Option<u64>,
    /// The peer's limit is known.
    pub limit_known: bool,
    /// It is a TCP flow, told in the terms of QUIC.
    pub tcp: bool,
}

/// The numbers that senders have told of themselves: columns of equal length. A number that was not told is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "named as the columns of a run's table `flows`")]
pub struct Metrics {
    pub time_s: Vec<f64>,
    pub flow: Vec<u32>,
    pub cwnd_bytes: Vec<f64>,
    pub in_flight_bytes: Vec<f64>,
    pub srtt_ms: Vec<f64>,
    pub rtt_mean_ms: Vec<f64>,
    pub rtt_min_ms: Vec<f64>,
    /// Packets that were lost since the row before.
    pub retransmits: Vec<u64>,
    pub sent: Vec<u64>,
}

/// What a log holds.
#[derive(Clone, Debug, Default)]
pub struct Qlog {
    /// Its connections in the order of their first events.
    pub connections: Vec<Logged>,
    /// Departures and acknowledgements of all.
    pub walked: Walked,
    /// What senders have told of themselves.
    pub metrics: Metrics,
    /// The events in it, those that are not read included.
    pub events: u64,
    /// The time of the last.
    pub duration_ns: u64,
    /// What could not be read: whole sentences.
    pub notes: Vec<String>,
}

/// Reads a log.
pub(crate) fn read(mut input: impl Read) -> std::io::Result<Qlog> {
    let mut reading = Reading::default();
    let mut scanner = Scanner::default();
    let mut part = vec![0; PART];
    let mut at = 0_u64;
    loop {
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(length) => {
                at += length as u64;
                scanner.feed(part.get(..length).unwrap_or_default(), &mut |found| reading.found(found));
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if at == 0 => return Err(error),
            Err(_) => {
                reading.notes.push(format!(
                    "The log cannot be read further at byte {at}: what comes after is missing."
                ));
                break;
            }
        }
    }
    if scanner.finish() {
        reading.notes.push(format!("The log ends in the middle of a record at byte {at}."));
    }
    Ok(reading.finish())
}

/// A connection while it is read.
#[derive(Debug)]
struct Open {
    flight: Flight,
    /// Of a TCP flow, in place of the flight.
    bytes: Option<Bytes>,
    logged: Logged,
    asked_ns: Option<u64>,
    lost: u64,
    last: Told,
}

/// The last numbers that a sender told.
#[derive(Clone, Copy, Debug)]
struct Told {
    cwnd: f64,
    in_flight: f64,
    smoothed: f64,
    latest: f64,
    least: f64,
}

const UNTOLD: Told =
    Told { cwnd: f64::NAN, in_flight: f64::NAN, smoothed: f64::NAN, latest: f64::NAN, least: f64::NAN };

/// The state while a log is read.
#[derive(Debug, Default)]
struct Reading {
    head: Head,
    /// Of a sequence, whose head comes first.
    has_head: bool,
    /// The trace's connections, by their group.
    open: BTreeMap<String, usize>,
    connections: Vec<Open>,
    walked: Walked,
    segments: Segments,
    metrics: Metrics,
    events: u64,
    start_ns: Option<f64>,
    /// The sum of differences, where times are those to the event before.
    sum_ns: f64,
    last_ns: u64,
    broken: u64,
    timeless: u64,
    late: u64,
    too_many: u64,
    notes: Vec<String>,
}

impl Reading {
    fn found(&mut self, found: Found<'_>) {
        match found {
            Found::Record(text) if !self.has_head => {
                self.has_head = true;
                match serde_json::from_slice::<Part<First>>(text) {
                    Ok(Part(First { trace: Some(Part(head)) })) => self.head = head,
                    _ => self.event(text),
                }
            }
            Found::Record(text) | Found::Event(text) => self.event(text),
            Found::TraceStarts(text) => {
                let closed = [text, b"]}"].concat();
                self.head = serde_json::from_slice::<Part<Head>>(&closed).unwrap_or_default().0;
                (self.start_ns, self.sum_ns, self.last_ns) = (None, 0.0, 0);
                self.open.clear();
            }
            Found::TraceEnds(text) => {
                // The vantage point may stand after the events.
                if let Ok(Part(head)) = serde_json::from_slice::<Part<Head>>(text) {
                    for (group, index) in &self.open {
                        if let Some(open) = self.connections.get_mut(*index) {
                            name(&mut open.logged, &head, group);
                        }
                    }
                }
            }
            Found::Broken => self.broken += 1,
        }
    }

    fn event(&mut self, text: &[u8]) {
        self.events += 1;
        let Ok(event) = serde_json::from_slice::<Event>(text) else {
            self.broken += 1;
            return;
        };
        let Some(event_name) = event.name.rsplit(':').next() else { return };
        let is_difference =
            matches!(self.head.common_fields.0.time_format.text(), "delta" | "relative_to_previous_event");
        let Some(t_ns) = self.time(&event.time, is_difference) else { return };
        let read = matches!(
            event_name,
            "packet_sent"
                | "packet_received"
                | "packet_lost"
                | "metrics_updated"
                | "metric_update"
                | "recovery_metrics_updated"
                | "parameters_set"
                | "connection_started"
                | "ecn_state_updated"
        );
        if !read {
            return;
        }
        let Some(n) = self.connection(event.group.text()) else {
            self.too_many += 1;
            return;
        };
        let (open, data) = (&mut self.connections[n], &event.data);
        let is_application = is_application(data);
        let number = data.header.0.packet_number.whole().or_else(|| data.packet_number.whole());
        match event_name {
            "packet_sent" if is_application => {
                if let Some(number) = number {
                    match &mut open.bytes {
                        Some(bytes) => bytes.sends(t_ns, number, data, &mut self.segments),
                        None => open.flight.sends(t_ns, number, data, &mut self.walked),
                    }
                }
            }
            "packet_sent" => {
                open.asked_ns.get_or_insert(t_ns);
                if let Some(bytes) = &mut open.bytes {
                    bytes.handshake(t_ns, false, &mut self.segments);
                }
            }
            "packet_received" if is_application => {
                open.received(t_ns, data, &mut self.walked, &mut self.segments);
            }
            "packet_received" => {
                if let (Some(asked), None) = (open.asked_ns, open.logged.handshake_ns) {
                    open.logged.handshake_ns = Some(t_ns.saturating_sub(asked));
                }
                open.limits(data);
                if let Some(bytes) = &mut open.bytes {
                    bytes.handshake(t_ns, true, &mut self.segments);
                }
            }
            "packet_lost" => {
                open.lost += 1;
                if let Some(number) = number.filter(|_| is_application) {
                    open.flight.lost(number);
                    if let Some(bytes) = &mut open.bytes {
                        bytes.lost(number);
                    }
                }
            }
            "parameters_set" => {
                if let ("remote", Some(limit)) = (data.owner.text(), data.initial_max_data.whole()) {
                    open.limited(limit);
                }
            }
            "ecn_state_updated" => {
                if let Some(bytes) = &mut open.bytes {
                    bytes.ecn(data.code_point.text());
                }
            }
            "connection_started" => {
                if let Some(ends) = ends(data) {
                    open.logged.name = ends;
                }
            }
            _ => open.told(t_ns, n as u32, data, unit_ns(&self.head) / 1e6, &mut self.metrics),
        }
    }

    /// Since the first event of the trace. What is dated before another counts as simultaneous.
    fn time(&mut self, time: &Value, is_difference: bool) -> Option<u64> {
        let Some(time) = time.real() else {
            self.timeless += 1;
            return None;
        };
        let mut ns = time * unit_ns(&self.head);
        if is_difference {
            self.sum_ns += ns;
            ns = self.sum_ns;
        }
        let since = (ns - *self.start_ns.get_or_insert(ns)).round();
        if since.is_nan() || since >= MOST_NS {
            self.timeless += 1;
            return None;
        }
        let t_ns = since.max(0.0) as u64;
        self.late += u64::from(t_ns < self.last_ns || since < 0.0);
        self.last_ns = self.last_ns.max(t_ns);
        Some(self.last_ns)
    }

    /// The number of the connection to which an event belongs.
    fn connection(&mut self, group: &str) -> Option<usize> {
        if let Some(index) = self.open.get(group) {
            return Some(*index);
        }
        let index = self.connections.len();
        if index == MOST_CONNECTIONS {
            return None;
        }
        let mut open = Open {
            flight: Flight::new(index as u32),
            bytes: None,
            logged: Logged::default(),
            asked_ns: None,
            lost: 0,
            last: UNTOLD,
        };
        name(&mut open.logged, &self.head, group);
        if self.head.common_fields.0.protocol_type.0.iter().any(|protocol| protocol.text() == "TCP") {
            open.logged.tcp = true;
            open.bytes = Some(Bytes::new(index as u32));
        }
        self.connections.push(open);
        self.open.insert(group.to_owned(), index);
        Some(index)
    }

    fn finish(mut self) -> Qlog {
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                self.notes.push(format!("{count} of {} events {what}.", self.events.max(count)));
            }
        };
        note(self.broken, "are damaged or too long, and were left out");
        note(self.timeless, "have no time and were left out");
        note(self.late, "are dated before the event in front of them, and count as simultaneous");
        note(self.too_many, "are of further connections, and were left out");
        let connections: Vec<Logged> = self
            .connections
            .into_iter()
            .map(|Open { flight, bytes, logged, .. }| {
                let (sent, acks, largest, limit_known) = bytes
                    .map_or((flight.packets, flight.acks, flight.largest, flight.limit_known()), |bytes| {
                        (bytes.segments, bytes.acks, bytes.largest, bytes.limit_known())
                    });
                Logged { sent, acks, largest, limit_known, ..logged }
            })
            .collect();
        let parameters: Vec<Known> = connections
            .iter()
            .map(|c| Known { mss: c.largest, timestamps: false, window: c.limit_known })
            .collect();
        if let Some(walked) = walk(self.segments, &parameters, &|| true) {
            self.walked.append(walked);
        }
        self.walked.back_ns = vec![u64::MAX; connections.len()];
        self.walked.at_sender = vec![true; connections.len()];
        let last = |times: &[u64]| times.iter().copied().max().unwrap_or(0);
        let told = self.metrics.time_s.iter().fold(0.0, |last: f64, time| last.max(*time));
        Qlog {
            duration_ns: last(&self.walked.sends.t_ns)
                .max(last(&self.walked.acks.t_ns))
                .max((told * 1e9) as u64),
            connections,
            walked: self.walked,
            metrics: self.metrics,
            events: self.events,
            notes: self.notes,
        }
    }
}

impl Open {
    /// A packet of the application reaches the log's owner.
    fn received(&mut self, t_ns: u64, data: &Data, walked: &mut Walked, segments: &mut Segments) {
        self.limits(data);
        // Of a TCP flow: data that follow those before.
        self.logged.received += u64::from(self.bytes.is_some() && data.frames.0.is_empty());
        for Part(frame) in &data.frames.0 {
            match frame.frame_type.text() {
                "ack" | "ack_ecn" => match &mut self.bytes {
                    Some(bytes) => bytes.acknowledged(t_ns, frame, segments),
                    None => self.flight.acknowledged(t_ns, frame, walked),
                },
                "stream" | "datagram" => self.logged.received += 1,
                _ => {}
            }
        }
    }

    fn limits(&mut self, data: &Data) {
        for Part(frame) in &data.frames.0 {
            if let ("max_data", Some(limit)) = (frame.frame_type.text(), frame.maximum.whole()) {
                self.limited(limit);
            }
        }
    }

    fn limited(&mut self, bytes: u64) {
        self.flight.limited(bytes);
        if let Some(of_tcp) = &mut self.bytes {
            of_tcp.limited(bytes);
        }
    }

    /// The sender's numbers; those that have not changed may be missing. `unit_ms`: that of times in this log.
    fn told(&mut self, t_ns: u64, flow: u32, data: &Data, unit_ms: f64, metrics: &mut Metrics) {
        let last = &mut self.last;
        for (value, kept, unit) in [
            (&data.congestion_window, &mut last.cwnd, 1.0),
            (&data.bytes_in_flight, &mut last.in_flight, 1.0),
            (&data.smoothed_rtt, &mut last.smoothed, unit_ms),
            (&data.latest_rtt, &mut last.latest, unit_ms),
            (&data.min_rtt, &mut last.least, unit_ms),
        ] {
            if let Some(value) = value.real().filter(|value| (0.0..MOST).contains(value)) {
                *kept = value * unit;
            }
        }
        let Told { cwnd, in_flight, smoothed, latest, least } = *last;
        metrics.time_s.push(t_ns as f64 / 1e9);
        metrics.flow.push(flow);
        metrics.cwnd_bytes.push(cwnd);
        metrics.in_flight_bytes.push(in_flight);
        metrics.srtt_ms.push(smoothed);
        let sample = if latest.is_nan() { smoothed } else { latest };
        metrics.rtt_mean_ms.push(sample);
        // A sender that tells neither has a least round-trip time, too: near that of its smoothed ones.
        metrics
            .rtt_min_ms
            .push([latest, least, smoothed].into_iter().find(|rtt| !rtt.is_nan()).unwrap_or(f64::NAN));
        metrics.retransmits.push(std::mem::take(&mut self.lost));
        metrics.sent.push(1);
    }
}

/// Nanoseconds in a unit of the log's times: milliseconds, but for drafts 00 and 01, which say what they are.
fn unit_ns(head: &Head) -> f64 {
    match head.configuration.0.time_units.text() {
        "us" => 1e3,
        "ns" => 1.0,
        "s" => 1e9,
        _ => 1e6,
    }
}

/// A packet of the space in which data are: 1-RTT and 0-RTT share their numbers (RFC 9000 section 12.3). Converters call a packet
/// of a type that they do not know unknown.
fn is_application(data: &Data) -> bool {
    let kind =
        [&data.header.0.packet_type, &data.packet_type].into_iter().map(Value::text).find(|t| !t.is_empty());
    kind.is_none_or(|kind| ["1rtt", "0rtt", "unknown"].iter().any(|name| kind.eq_ignore_ascii_case(name)))
}

/// What the log calls a connection, unless its ends are known.
fn name(logged: &mut Logged, head: &Head, group: &str) {
    if logged.name.contains(" > ") {
        return;
    }
    let Head { vantage_point: Part(vantage), common_fields: Part(common), title, .. } = head;
    let group = if group.is_empty() { common.group_id.text() } else { group };
    let words = [title.text(), vantage.kind.text(), group];
    let name = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    logged.name = name.chars().take(LONGEST_NAME).collect();
    if logged.name.is_empty() {
        "connection".clone_into(&mut logged.name);
    }
}

fn ends(data: &Data) -> Option<String> {
    let end = |address: &Value, port: &Value| {
        let address = address.text();
        let shown = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        (!address.is_empty()).then(|| port.whole().map_or(shown.clone(), |port| format!("{shown}:{port}")))
    };
    let tuple =
        |tuple: &event::End| end(&tuple.ip_v4, &tuple.port_v4).or_else(|| end(&tuple.ip_v6, &tuple.port_v6));
    let local = end(&data.src_ip, &data.src_port).or_else(|| tuple(&data.local.0))?;
    let remote = end(&data.dst_ip, &data.dst_port).or_else(|| tuple(&data.remote.0))?;
    Some(format!("{local} > {remote}").chars().take(LONGEST_NAME).collect())
}
