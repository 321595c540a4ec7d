//! quinn: quinn-proto 0.11, with its CUBIC, `NewReno` and BBR.

use std::any::Any;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto as proto;
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, ReadError, RttEstimator, ServerConfig, StreamEvent,
    StreamId, TransportConfig, VarInt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{FlowContext, Stack, StackController, StackControllers, StackParams};
use windtunnel_units::{Bytes, Duration, OutOfRange, Time};
use windtunnel_wire::Ecn;

use crate::clock::instant;
use crate::connection::{Connection, Happening};
use crate::family::family;
use crate::fault::Fault;
use crate::hosted::Hosted;
use crate::seen::Record;
use crate::{seed, stack, tls};

family!(
    quinn_proto, QuinnParams, "quinn",
    "quinn-proto 0.11.19 (Rust); its controllers are cubic, newreno and bbr",
    "quinn-proto 0.11.19, github.com/quinn-rs/quinn",
    controllers: ["cubic" => CubicConfig, "newreno" => NewRenoConfig, "bbr" => BbrConfig],
    unseeded: "bbr", undoes: false
);

fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, false, None)
}

fn cids(seed: u64, is_server: bool) -> impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static {
    move || -> Box<dyn ConnectionIdGenerator> { Box::new(SeededCids(seed::Cids::new(seed, is_server))) }
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: bytes::BytesMut,
    response: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, peer, None, ecn, datagram, response)
}

fn transmit(connection: &mut proto::Connection, now: Instant, datagram: &mut Vec<u8>) -> Option<Ecn> {
    connection.poll_transmit(now, 1, datagram).map(|transmit| ecn_field(transmit.ecn))
}

fn write(stream: &mut proto::SendStream<'_>, data: bytes::Bytes) -> usize {
    stream.write_chunks(&mut [data]).map_or(0, |written| written.bytes)
}

#[expect(clippy::unnecessary_wraps, reason = "a connection of noq may have no path")]
fn window(connection: &proto::Connection) -> Option<u64> {
    Some(connection.congestion_state().window())
}

fn adapted(hosted: Hosted, _now: Instant) -> Box<dyn Controller> {
    Box::new(Adapter(hosted))
}

/// Passes each call on, and notes what the controller was told.
struct Watcher {
    inside: Box<dyn Controller>,
    record: Record,
}

impl Controller for Watcher {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet: u64) {
        self.inside.on_sent(now, bytes, last_packet);
        self.record.lock().sent(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inside.on_ack(now, sent, bytes, app_limited, rtt);
        self.record.lock().acknowledged(now, sent, bytes, app_limited, [rtt.get(), rtt.min()]);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inside.on_end_acks(now, in_flight, app_limited, largest);
        self.record.lock().ack_ended(now, in_flight, app_limited, self.inside.metrics().ssthresh);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        let before = self.inside.window();
        self.inside.on_congestion_event(now, sent, is_persistent, lost);
        let mut seen = self.record.lock();
        // A congestion event without losses is one for CE.
        if lost == 0 && self.inside.window() < before {
            seen.ecn_reductions += 1;
        }
        seen.congested(now, sent, is_persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.inside.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.inside.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inside.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Watcher { inside: self.inside.clone_box(), record: self.record.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.inside.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// One of windtunnel's controllers as one of quinn's.
struct Adapter(Hosted);

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet: u64) {
        self.0.on_sent(now, bytes);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.0.on_acked(sent, bytes, app_limited, [rtt.get(), rtt.min()]);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        self.0.on_ack_end(now, in_flight);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        self.0.on_congestion(now, sent, is_persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.0.on_mtu(mtu);
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    /// quinn shows these in its logs; its pacer takes the window and the round-trip time alone.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.0.window();
        metrics.ssthresh = self.0.ssthresh();
        metrics.pacing_rate = self.0.pacing_rate().map(|bytes| bytes * 8);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        unreachable!("a connection here has one path, and a controller is copied when a path is left")
    }

    fn initial_window(&self) -> u64 {
        self.0.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
