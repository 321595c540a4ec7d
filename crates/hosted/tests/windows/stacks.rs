//! The adapters, called as their stacks call them.

use std::sync::Arc;

use windtunnel_cc::ControllerParams;
use windtunnel_hosted::Hosted;
use windtunnel_units::Time;

use crate::alone::SEED;
use crate::clock::instant;
use crate::drive::{MSS, ROUND_TRIP, Sender};
use crate::end;

pub(crate) fn hosted(params: &Arc<dyn ControllerParams>) -> Hosted {
    Hosted::new(Arc::clone(params), instant(Time::ZERO), MSS, SEED)
}

impl Sender for Hosted {
    fn sent(&mut self, now: Time) {
        self.on_sent(instant(now), MSS.into());
    }

    fn acked(&mut self, now: Time, sent: Time, in_flight: u64) {
        let rtt = std::time::Duration::from_nanos(ROUND_TRIP.as_nanos());
        self.on_acked(instant(now), instant(sent), MSS.into(), false, [rtt, rtt]);
        self.on_ack_end(instant(now), in_flight);
    }

    fn lost(&mut self, now: Time, sent: Time) {
        self.on_congestion(instant(now), instant(sent), false, MSS.into());
    }

    fn window(&self) -> u64 {
        Hosted::window(self)
    }
}

/// A handshake over a path of [`ROUND_TRIP`], in which each datagram arrives.
pub(crate) fn shake_hands(client: &mut dyn end::End, server: &mut dyn end::End) {
    let mut datagram = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..4 {
        let mut pass = |from: &mut dyn end::End, to: &mut dyn end::End| {
            let mut flying = Vec::new();
            while from.transmit(&mut datagram, instant(now)) {
                flying.push(std::mem::take(&mut datagram));
            }
            now += ROUND_TRIP / 2;
            for datagram in flying {
                to.receive(&datagram, instant(now));
            }
        };
        pass(client, server);
        pass(server, client);
    }
}
