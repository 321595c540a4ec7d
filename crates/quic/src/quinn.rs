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
use windtunnel_cc::ExitReason;
use windtunnel_hosted::Hosted;
use windtunnel_hosted::quinn::Adapter;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{FlowContext, Stack, StackController, StackControllers, StackParams};
use windtunnel_units::{Bytes, Duration, OutOfRange, Rate, Time};
use windtunnel_wire::Ecn;

use crate::clock::instant;
use crate::connection::{Connection, Happening};
use crate::family::family;
use crate::fault::Fault;
use crate::secrets::Secrets;
use crate::seen::Record;
use crate::{null_crypto, seed, stack, tls};

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

/// Passes each call on, and notes what the controller was told.
struct Watcher {
    inside: Inside,
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
        let mut seen = self.record.lock();
        let metrics = self.inside.metrics();
        let pacing_rate = metrics.pacing_rate.map(Rate::from_bits_per_sec);
        seen.ack_ended(now, in_flight, app_limited, (metrics.ssthresh, pacing_rate));
        seen.slow_start_exit = self.inside.slow_start_exit();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        let before = self.inside.window();
        self.inside.on_congestion_event(now, sent, is_persistent, lost);
        let mut seen = self.record.lock();
        seen.slow_start_exit = self.inside.slow_start_exit();
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
        Box::new(Watcher { inside: self.inside.on_new_path(), record: self.record.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.inside.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
