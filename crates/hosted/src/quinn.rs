//! As controllers of quinn (quinn-proto 0.11).

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use windtunnel_cc::ControllerParams;

use crate::connections::Connections;
use crate::hosted::Hosted;

/// Makes a controller of windtunnel's for each connection, or path, of quinn.
#[derive(Debug)]
pub struct Factory(Connections);

impl Factory {
    /// Makes controllers of these parameters, with random numbers from `seed`.
    pub fn new(params: Arc<dyn ControllerParams>, seed: u64) -> Factory {
        Factory(Connections::new(params, seed))
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapter::new(self.0.next(now, mtu)))
    }
}

/// One of windtunnel's controllers as one of quinn's.
#[derive(Debug)]
pub struct Adapter(Hosted);

impl Adapter {
    /// The controller of one connection.
    pub fn new(hosted: Hosted) -> Adapter {
        Adapter(hosted)
    }

    /// The controller, with what its sender does for it.
    pub fn hosted(&self) -> &Hosted {
        &self.0
    }

    /// The controller of a new path of the connection.
    #[must_use]
    pub fn on_new_path(&self) -> Adapter {
        Adapter(self.0.on_new_path())
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet: u64) {
        self.0.on_sent(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.0.on_acked(now, sent, bytes, app_limited, [rtt.get(), rtt.min()]);
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

    /// A controller is copied for a new path of its connection.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.on_new_path())
    }

    fn initial_window(&self) -> u64 {
        self.0.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
