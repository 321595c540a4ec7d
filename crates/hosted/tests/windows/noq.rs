//! The adapter to noq, called as noq calls it.

use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory};
use windtunnel_cc::ControllerParams;
use windtunnel_hosted::noq::Adapter;
use windtunnel_units::Time;

use crate::clock::instant;
use crate::drive::{MSS, Sender};
use crate::end;
use crate::stacks::{hosted, shake_hands};

/// An estimate of the round-trip time, once there is one: only a connection can make it.
type Estimate = Arc<Mutex<Option<RttEstimator>>>;

/// A controller that keeps the last estimate of its connection.
#[derive(Clone, Debug)]
struct Keeper(Estimate);

impl ControllerFactory for Keeper {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        self.clone_box()
    }
}

impl Controller for Keeper {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        12_000
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        12_000
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The estimate of a connection over the path of the test.
fn estimate() -> RttEstimator {
    let estimate = Estimate::default();
    let keeper = Arc::new(Keeper(Arc::clone(&estimate)));
    let address = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut client = end::noq::client(address(443), keeper, instant(Time::ZERO));
    let mut server = end::noq::server(address(50_000));
    shake_hands(&mut *client, &mut *server);
    let estimate = *estimate.lock().unwrap_or_else(PoisonError::into_inner);
    estimate.expect("the handshake was acknowledged")
}

pub(crate) struct Adapted {
    controller: Box<dyn Controller>,
    rtt: RttEstimator,
    number: u64,
}

impl Adapted {
    pub(crate) fn new(params: &Arc<dyn ControllerParams>) -> Adapted {
        Adapted { controller: Box::new(Adapter::new(hosted(params))), rtt: estimate(), number: 0 }
    }

    /// The controller of a new path.
    pub(crate) fn on_new_path(&self) -> Adapted {
        Adapted { controller: self.controller.clone_box(), rtt: self.rtt, number: self.number }
    }
}

impl Sender for Adapted {
    fn sent(&mut self, now: Time) {
        self.controller.on_packet_sent(instant(now), MSS, self.number);
        self.controller.on_sent(instant(now), MSS.into(), self.number);
        self.number += 1;
    }

    fn acked(&mut self, now: Time, sent: Time, in_flight: u64) {
        let controller = &mut self.controller;
        controller.on_ack(instant(now), instant(sent), MSS.into(), 0, false, &self.rtt);
        controller.on_end_acks(instant(now), in_flight, false, None);
    }

    fn lost(&mut self, now: Time, sent: Time) {
        self.controller.on_congestion_event(instant(now), instant(sent), false, false, MSS.into(), 0);
    }

    fn window(&self) -> u64 {
        self.controller.window()
    }
}
