//! Round robin over several queues, by bytes or by packets.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queueing using Deficit Round Robin" (1995); Linux `sch_drr`;
//! spec/queues-and-signalling section 13. A class that has packets takes turns. Each turn adds its quantum to its
//! credit, and it sends while the credit covers the next packet; what is left is kept for its next turn, or lost when
//! it has nothing more to send. Shares are in proportion to the quanta.
//!
//! A class whose queue holds its packets back (a shaper) passes, and saves no credit for later.

use std::collections::VecDeque;

use windtunnel_units::Bytes;
use windtunnel_wire::Packet;

use super::{Children, Filters};
use crate::accounts::QueueCx;
use crate::discipline::QueueDiscipline;
use crate::hand_on::hand_on_queue;

/// What credit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Packets,
}

/// A class's place in the round.
#[derive(Clone, Copy, Debug)]
struct Class {
    quantum: u64,
    credit: u64,
    is_active: bool,
}

/// The queues and whose turn it is.
#[derive(Debug)]
pub(super) struct RoundRobin {
    children: Children,
    filters: Filters,
    unit: Unit,
    classes: Vec<Class>,
    /// Classes that have packets; the first has its turn.
    active: VecDeque<usize>,
    /// The first of them has been given its quantum.
    is_granted: bool,
    /// The class whose packet leaves next: the first.
    chosen: Option<usize>,
}

impl RoundRobin {
    pub(super) fn new(children: Children, filters: Filters, unit: Unit, quanta: &[u64]) -> RoundRobin {
        let class = |quantum: &u64| Class { quantum: *quantum, credit: 0, is_active: false };
        let active = VecDeque::with_capacity(quanta.len());
        let classes = quanta.iter().map(class).collect();
        RoundRobin { children, filters, unit, classes, active, is_granted: false, chosen: None }
    }

    fn cost(&self, size: Bytes) -> u64 {
        match self.unit {
            Unit::Bytes => size.get(),
            Unit::Packets => 1,
        }
    }

    /// The turn of the first class ends: it waits for the next one, or has nothing more to send.
    fn turn_ends(&mut self, stays: bool) {
        self.is_granted = false;
        if let Some(band) = self.active.pop_front() {
            if stays {
                self.active.push_back(band);
            } else {
                self.classes[band].is_active = false;
                self.classes[band].credit = 0;
            }
        }
    }

    /// The class that may send now, and the length of its packet.
    fn next(&mut self, cx: &mut QueueCx) -> Option<(usize, Bytes)> {
        let mut passed = 0;
        while passed < self.active.len() {
            let band = *self.active.front()?;
            let Some(size) = self.children.choose(band, cx) else {
                let waits = self.children.band_backlog(band).packets > 0;
                self.classes[band].credit = 0;
                self.turn_ends(waits);
                passed += usize::from(waits);
                continue;
            };
            let cost = self.cost(size);
            let class = &mut self.classes[band];
            if !std::mem::replace(&mut self.is_granted, true) {
                class.credit += class.quantum;
            }
            if cost <= class.credit {
                return Some((band, size));
            }
            self.turn_ends(true);
            passed = 0;
        }
        None
    }
}

impl QueueDiscipline for RoundRobin {
    hand_on_queue! {
        self => self.children;
        next_ready backlog learn_hosts next_timer on_timer bands band_backlog probe_band
    }

    fn band_name(&self, band: usize) -> String {
        format!("band {band}")
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let band = self.filters.band_of(&packet);
        self.children.enqueue(band, packet, cx);
        let class = &mut self.classes[band];
        if !class.is_active && self.children.band_backlog(band).packets > 0 {
            class.is_active = true;
            self.active.push_back(band);
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if let Some(band) = self.chosen {
            return self.children.choose(band, cx);
        }
        let (band, size) = self.next(cx)?;
        self.chosen = Some(band);
        Some(size)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let band = self.chosen.take()?;
        let packet = self.children.serve(band, cx);
        if let Some(packet) = &packet {
            let cost = self.cost(packet.size());
            self.classes[band].credit -= cost;
        }
        if self.children.band_backlog(band).packets == 0 {
            self.turn_ends(false);
        }
        packet
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active_classes", self.active.len() as f64);
    }
}
