//! noq: noq-proto 1.4, a fork of quinn with paths, pacing by rate and undo, with its CUBIC, `NewReno` and `BBRv3`.

use std::any::Any;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use noq_proto as proto;
use noq_proto::congestion::{
    Bbr3Config, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, FourTuple, PathId, ReadError, RttEstimator,
    ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_cc::ExitReason;
use windtunnel_hosted::Hosted;
use windtunnel_hosted::noq::Adapter;
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
    noq_proto, NoqParams, "noq",
    "noq-proto 1.4.0 (Rust), a fork of quinn; its controllers are cubic, newreno and bbr3",
    "noq-proto 1.4.0, github.com/n0-computer/noq",
    controllers: ["cubic" => CubicConfig, "newreno" => NewRenoConfig, "bbr3" => Bbr3Config],
    unseeded: "bbr3", undoes: true
);

fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, false)
}

fn cids(seed: u64, is_server: bool) -> Arc<dyn Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync> {
    Arc::new(move || -> Box<dyn ConnectionIdGenerator> {
        Box::new(SeededCids(seed::Cids::new(seed, is_server)))
    })
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: bytes::BytesMut,
    response: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(peer, None), ecn, datagram, response)
}

fn transmit(connection: &mut proto::Connection, now: Instant, datagram: &mut Vec<u8>) -> Option<Ecn> {
    connection.poll_transmit(now, NonZeroUsize::MIN, datagram).map(|transmit| ecn_field(transmit.ecn))
}

fn write(stream: &mut proto::SendStream<'_>, data: bytes::Bytes) -> usize {
    stream.write_chunks(&mut &mut [data][..]).unwrap_or(0)
}

fn window(connection: &proto::Connection) -> Option<u64> {
    connection.congestion_state(PathId::ZERO).map(Controller::window)
}

/// Passes each call on, and notes what the controller was told.
#[derive(Debug)]
struct Watcher {
    inside: Inside,
    record: Record,
}

impl Controller for Watcher {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.inside.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, packet: u64) {
        self.inside.on_packet_sent(now, bytes, packet);
        self.record.lock().sent(now, bytes.into());
    }

    fn on_cwnd_limited(&mut self) {
        self.inside.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        packet: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inside.on_ack(now, sent, bytes, packet, app_limited, rtt);
        self.record.lock().acknowledged(now, sent, bytes, app_limited, [rtt.get(), rtt.min()]);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inside.on_end_acks(now, in_flight, app_limited, largest);
        let mut seen = self.record.lock();
        let metrics = self.inside.metrics();
        let pacing_rate = metrics.pacing_rate.map(|bytes| Rate::from_bits_per_sec(8 * bytes));
        seen.ack_ended(now, in_flight, app_limited, (metrics.ssthresh, pacing_rate));
        seen.slow_start_exit = self.inside.slow_start_exit();
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost: u64,
        largest: u64,
    ) {
        let before = self.inside.window();
        self.inside.on_congestion_event(now, sent, is_persistent, is_ecn, lost, largest);
        let mut seen = self.record.lock();
        seen.slow_start_exit = self.inside.slow_start_exit();
        if is_ecn && self.inside.window() < before {
            seen.ecn_reductions += 1;
        }
        seen.congested(now, sent, is_persistent, lost);
    }

    fn on_packet_lost(&mut self, lost: u16, packet: u64, now: Instant) {
        self.inside.on_packet_lost(lost, packet, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inside.on_spurious_congestion_event();
        self.record.lock().spurious();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.inside.on_mtu_update(mtu);
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: std::time::Duration) {
        self.inside.on_ack_frequency_update(threshold, max_ack_delay);
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
