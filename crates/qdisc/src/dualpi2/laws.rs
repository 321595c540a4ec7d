//! What the packets of both queues are told.

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Ecn;

use super::native::Native;
use super::slot::{Slot, severer};
use super::{LOW_LATENCY, params::DualPi2Params, params::DualPi2Variant};
use crate::aqm::{Aqm, CoupledLaw, PacketView, PiController, QueueView, Signal, Verdict};
use crate::params::AqmInit;

/// The AQMs of both queues, which share p'.
#[derive(Debug)]
pub(super) struct Laws {
    law: CoupledLaw,
    native: Native,
    /// In place of p'^2.
    classic: Option<Slot>,
    have_slots: bool,
    /// The first of all timers.
    next_timer: Time,
    decides_on_arrival: bool,
    /// Arrivals are of interest: for that reason, or to an AQM in a slot.
    judges_arrivals: bool,
    /// In a shorter backlog p' signals nothing.
    short: Bytes,
    /// The probability of the low-latency queue's own AQM for the last packet.
    p_native: f64,
    /// Packets that this AQM marked, and those that only p' did.
    native_marks: u64,
    coupled_marks: u64,
}

impl Laws {
    pub(super) fn new(params: &DualPi2Params, native: Native, classic: Option<Slot>, init: &AqmInit) -> Laws {
        let coupled = params.coupled();
        let pi = PiController::new(params.gains(), coupled.most(), init);
        let have_slots = classic.is_some() || matches!(native, Native::Slot(_));
        let mut laws = Laws {
            law: CoupledLaw::new(pi, coupled, init.seed),
            have_slots,
            native,
            classic,
            next_timer: init.now,
            decides_on_arrival: params.drop_enqueue,
            judges_arrivals: params.drop_enqueue || have_slots,
            short: if params.variant == DualPi2Variant::Linux { params.mtu * 2 } else { Bytes::ZERO },
            p_native: 0.0,
            native_marks: 0,
            coupled_marks: 0,
        };
        laws.next_timer = laws.first_timer();
        laws
    }

    /// Whether a scenario has put an AQM into one of the queues.
    #[inline]
    pub(super) const fn have_slots(&self) -> bool {
        self.have_slots
    }

    /// The laws as the AQM of one queue.
    #[inline]
    pub(super) fn of(&mut self, band: usize) -> BandAqm<'_> {
        BandAqm { laws: self, band }
    }

    /// A packet was stored in the low-latency queue.
    #[inline]
    pub(super) fn stored(&mut self, packets_before: usize) {
        if let Native::Step(step) = &mut self.native {
            step.stored(packets_before);
        }
    }

    fn slot(&mut self, band: usize) -> Option<&mut Slot> {
        match (&mut self.native, band) {
            (Native::Slot(slot), LOW_LATENCY) => Some(slot),
            (_, LOW_LATENCY) => None,
            _ => self.classic.as_mut(),
        }
    }

    /// A queue is empty while the link is free.
    #[inline]
    pub(super) fn on_empty(&mut self, band: usize, now: Time) {
        if let Some(slot) = self.slot(band) {
            slot.on_empty(now);
        }
    }

    #[inline]
    fn classic(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let u = self.law.draw();
        if queue.all_bytes < self.short { Verdict::Pass } else { self.law.classic(packet.class, u) }
    }

    /// A packet arrives.
    #[inline(never)]
    fn arrival(&mut self, band: usize, packet: &PacketView, queue: &QueueView) -> Verdict {
        let slot = self.slot(band).map(|slot| slot.on_enqueue(packet, queue));
        if !self.decides_on_arrival {
            return slot.unwrap_or(Verdict::Pass);
        }
        if band == LOW_LATENCY {
            let coupled = self.coupled(0.0, queue);
            self.count(coupled, false, packet);
            return severer(coupled, slot.unwrap_or(Verdict::Pass));
        }
        slot.unwrap_or_else(|| self.classic(packet, queue))
    }

    /// A low-latency packet leaves.
    #[inline]
    fn low_latency(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let (ramp, native) = match &mut self.native {
            Native::Step(step) => (0.0, step.verdict(packet, queue)),
            Native::Slot(slot) => (0.0, slot.on_dequeue(packet, queue)),
            Native::Ramp(ramp) => (ramp.probability(packet, queue), Verdict::Pass),
        };
        let coupled = if self.decides_on_arrival { Verdict::Pass } else { self.coupled(ramp, queue) };
        let is_native = native != Verdict::Pass || ramp > self.law.p_scalable();
        self.p_native = if native == Verdict::Pass { ramp } else { 1.0 };
        let verdict = severer(coupled, native);
        self.count(verdict, is_native, packet);
        verdict
    }

    #[inline]
    fn coupled(&mut self, ramp: f64, queue: &QueueView) -> Verdict {
        let u = self.law.draw();
        if queue.all_bytes < self.short { Verdict::Pass } else { self.law.scalable(ramp, u) }
    }

    #[inline]
    fn count(&mut self, verdict: Verdict, is_native: bool, packet: &PacketView) {
        if verdict == Verdict::Mark(Signal::Ce) && packet.ecn != Ecn::Ce {
            *(if is_native { &mut self.native_marks } else { &mut self.coupled_marks }) += 1;
        }
    }

    #[inline]
    pub(super) const fn next_timer(&self) -> Time {
        self.next_timer
    }

    fn first_timer(&self) -> Time {
        let native = match &self.native {
            Native::Slot(slot) => slot.next_timer(),
            Native::Step(_) | Native::Ramp(_) => None,
        };
        let classic = self.classic.as_ref().and_then(Slot::next_timer);
        let update = self.law.pi.next_update();
        [native, classic].into_iter().flatten().fold(update, Time::min)
    }

    /// Calls the timers that are due; `queues` are the two queues.
    pub(super) fn on_timer(&mut self, queues: [&QueueView; 2]) {
        let now = queues[0].now;
        if self.law.pi.next_update() <= now {
            let waiting = queues.map(|queue| queue.head_waiting.unwrap_or_default());
            self.law.pi.update(waiting[0].max(waiting[1]), now);
        }
        for (band, queue) in queues.into_iter().enumerate() {
            if let Some(slot) = self.slot(band) {
                slot.on_timer(queue);
            }
        }
        self.next_timer = self.first_timer();
    }

    /// p', and the probabilities that follow from it.
    pub(super) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p_prime", self.law.pi.p());
        out("p_c", self.law.p_classic());
    }

    /// The low-latency queue's probabilities, and its marks by their cause.
    pub(super) fn probe_low_latency(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p_cl", self.law.p_scalable().min(1.0));
        out("p_native", self.p_native);
        out("native_marks", self.native_marks as f64);
        out("coupled_marks", self.coupled_marks as f64);
    }

    /// The numbers of the AQM in the slot of a queue.
    pub(super) fn probe_slot(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        match (&self.native, &self.classic, band) {
            (Native::Slot(slot), _, LOW_LATENCY) => slot.probe(out),
            (_, _, LOW_LATENCY) | (_, None, _) => {}
            (_, Some(slot), _) => slot.probe(out),
        }
    }
}

/// The laws as the AQM of one of the two queues.
#[derive(Debug)]
pub(super) struct BandAqm<'l> {
    laws: &'l mut Laws,
    band: usize,
}

impl Aqm for BandAqm<'_> {
    #[inline]
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        if self.laws.judges_arrivals { self.laws.arrival(self.band, packet, queue) } else { Verdict::Pass }
    }

    fn on_full(&mut self, now: Time) {
        if let Some(slot) = self.laws.slot(self.band) {
            slot.on_full(now);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "its views of packet and queue then need not be stored: 20 instructions"
    )]
    #[inline(always)]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let laws = &mut *self.laws;
        if self.band == LOW_LATENCY {
            return laws.low_latency(packet, queue);
        }
        match &mut laws.classic {
            Some(slot) => slot.on_dequeue(packet, queue),
            None if laws.decides_on_arrival => Verdict::Pass,
            None => laws.classic(packet, queue),
        }
    }
}
