//! PI2, PI improved with a square: one queue at a target delay for classic and scalable traffic.
//!
//! Source: De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016; RFC 9332 appendix
//! A for the classic queue; spec/queues-and-signalling section 7. p' comes from a linear controller ([`super::pi`]); classic
//! packets are signalled with p'^2, L4S packets with k p' (in a queue with `ecn_mode = "l4s"`), and packets that understand SCE
//! with SCE at tau p'^2 (section 16.2).
//!
//! Why the constants are what they are. k = 2 gives a Reno flow the larger window: equal ones are at k = 1.64, since Reno's
//! is 1.22 / p' and DCTCP's is 2 / (k p'); the difference makes up for some of the classic queue's longer round trip in
//! the dual queue. From k p' = 1 on, marks cannot tell more, and classic packets are dropped even where a mark could reach
//! the receiver: with k = 2, at p'^2 = 25 %. A queue of less than two packets is not signalled, so that the link stays
//! busy.

use windtunnel_units::{Bytes, Time};

use super::coupled::CoupledLaw;
use super::pi::PiController;
use super::pi2_params::Pi2Params;
use crate::aqm::{Aqm, PacketView, QueueView, Verdict};
use crate::ecn::Class;
use crate::params::AqmInit;

/// PI2's variables.
#[derive(Clone, Debug)]
pub struct Pi2 {
    law: CoupledLaw,
    decides_on_arrival: bool,
    /// A shorter backlog is not signalled.
    short: Bytes,
}

impl Pi2 {
    /// PI2 with its own random stream.
    pub fn new(params: &Pi2Params, init: &AqmInit) -> Pi2 {
        let coupled = params.coupled();
        let pi = PiController::new(params.gains(), coupled.most(), init);
        Pi2 {
            law: CoupledLaw::new(pi, coupled, init.seed),
            decides_on_arrival: params.decides_on_arrival(),
            short: params.mtu * 2,
        }
    }

    fn verdict(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let u = self.law.draw();
        if queue.all_bytes < self.short {
            return Verdict::Pass;
        }
        match packet.class {
            Class::Scalable => self.law.scalable(0.0, u),
            class => self.law.classic(class, u),
        }
    }
}

impl Aqm for Pi2 {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        if self.decides_on_arrival { self.verdict(packet, queue) } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        if self.decides_on_arrival { Verdict::Pass } else { self.verdict(packet, queue) }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.law.pi.next_update())
    }

    fn on_timer(&mut self, queue: &QueueView) {
        self.law.pi.update(queue.head_waiting.unwrap_or_default(), queue.now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.law.pi.p());
        out("p_classic", self.law.p_classic());
        out("p_scalable", self.law.p_scalable().min(1.0));
    }
}
