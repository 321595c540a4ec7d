//! The way of a packet through the network: links, delay lines and elements.

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Simulation;
use super::capabilities::{Capabilities, Full};
use crate::element::Passage;
use crate::flow::Hop;

/// Events of the network.
impl Simulation {
    #[expect(clippy::inline_always, reason = "a choice between functions")]
    #[inline(always)]
    pub(super) fn network_event<C: Capabilities>(&mut self, source: usize) {
        if source < self.links.len() {
            self.link_event::<C>(source);
        } else if source < self.first_line {
            self.queue_timer_event(source - self.links.len());
        } else if source < self.first_element {
            self.line_event::<C>(source - self.first_line, source);
        } else {
            self.element_event(source - self.first_element);
        }
    }

    #[inline(never)]
    fn link_event<C: Capabilities>(&mut self, index: usize) {
        let now = self.now;
        let link = &mut self.links[index];
        let next = link.complete(now);
        self.events.set(index, next);
        if link.has_incidents() {
            self.take_incidents(index);
        }
        self.schedule_queue_timer(index);
        let link = &mut self.links[index];
        let Some(leaving) = link.leaving() else { return };
        leaving.enqueued_at = now;
        let to = self.from_link[index].of(leaving.flow);
        self.recorder.dequeued::<C>(now, index, link);
        let left = link.left_mut();
        if let Hop::Line(line) = to {
            let line = line as usize;
            if self.lines[line].enter(left) {
                self.schedule_line(line);
            }
        } else if let Some(packet) = left.take() {
            self.depart(packet, to);
        }
    }

    #[inline(never)]
    fn line_event<C: Capabilities>(&mut self, index: usize, source: usize) {
        let line = &mut self.lines[index];
        let mut packet = line.leave();
        let Some(arriving) = &mut packet else { return };
        let (rank, next) = line.next();
        self.events.set_ranked(source, rank, next);
        if self.lookahead.active {
            self.look_ahead(index);
        }
        let to = self.from_line[index].of(arriving.flow);
        match to {
            Hop::Receiver => self.deliver_segment::<C>(arriving),
            Hop::Sender => self.deliver_ack::<C>(arriving),
            to => {
                if let Some(packet) = packet {
                    self.forward(packet, to);
                }
            }
        }
    }

    #[inline(never)]
    fn element_event(&mut self, index: usize) {
        while let Some(packet) = self.elements[index].release(self.now) {
            let to = self.from_element[index].of(packet.flow);
            self.forward(packet, to);
        }
        self.schedule_element(index);
    }

    #[inline(never)]
    fn queue_timer_event(&mut self, index: usize) {
        self.links[index].on_timer(self.now);
        self.recorder.queue_changed(self.now, index, &self.links[index]);
        self.schedule_queue_timer(index);
        self.record_incidents(index);
    }
}

/// From hop to hop.
impl Simulation {
    /// Takes a packet to its next hop.
    #[inline(never)]
    pub(super) fn forward(&mut self, mut packet: Packet, to: Hop) {
        match to {
            Hop::Receiver => self.deliver_segment_apart(&packet),
            Hop::Sender => self.deliver_ack::<Full>(&mut packet),
            Hop::Link(_) | Hop::Line(_) | Hop::Element(_) => self.depart(packet, to),
            Hop::LeftHost(host) => self.leave_host(packet, host),
            Hop::Away(exit) => self.cross(packet, exit),
        }
    }

    /// Takes a packet to a hop that is not the end of its path, as a rule.
    #[expect(clippy::inline_always, reason = "a packet is moved through it: 60 instructions per packet")]
    #[inline(always)]
    pub(super) fn depart(&mut self, mut packet: Packet, to: Hop) {
        match to {
            Hop::Link(link) => self.enter_link(packet, link as usize),
            Hop::Line(line) => {
                packet.enqueued_at = self.now;
                let line = line as usize;
                if self.lines[line].enter(&mut Some(packet)) {
                    self.schedule_line(line);
                }
            }
            Hop::Element(element) => self.enter_element(packet, element as usize),
            _ => self.forward(packet, to),
        }
    }

    /// The head of a delay line has changed.
    #[inline]
    fn schedule_line(&mut self, index: usize) {
        let (rank, next) = self.lines[index].next();
        self.events.set_ranked(self.first_line + index, rank, next);
    }

    #[inline(never)]
    fn enter_link(&mut self, packet: Packet, index: usize) {
        let (_, mut near) = self.near(packet.flow.index());
        if near.enter::<Full>(&mut Some(packet), index) {
            self.record_incidents(index);
        }
    }

    #[inline(never)]
    fn enter_element(&mut self, packet: Packet, index: usize) {
        let to = self.from_element[index].of(packet.flow);
        match self.elements[index].enter(packet, self.now) {
            Passage::On(packet) => self.forward(packet, to),
            Passage::Twice(packet, mut copy) => {
                self.count_copy(&mut copy);
                self.forward(packet, to);
                self.forward(copy, to);
            }
            Passage::Lost(packet) => self.lose(&packet),
            Passage::Held => self.schedule_element(index),
            Passage::Replacing(passed, lost) => {
                self.lose(&lost);
                if let Some(packet) = passed {
                    self.forward(packet, to);
                }
                self.schedule_element(index);
            }
        }
    }

    fn schedule_element(&mut self, index: usize) {
        let source = self.first_element + index;
        let next = self.elements[index].next_release();
        let next = if next == Time::NEVER { next } else { next.max(self.now) };
        if self.events.time_of(source) != next {
            self.events.set_ranked(source, self.first_element_rank + index as u32, next);
        }
    }

    #[inline]
    pub(super) fn schedule_queue_timer(&mut self, index: usize) {
        if let Some(first) = self.first_queue_timer {
            self.move_queue_timer(index, first + index);
        }
    }

    #[inline(never)]
    fn move_queue_timer(&mut self, index: usize, source: usize) {
        if let Some(next) = self.links[index].moved_timer() {
            self.events.set(source, next);
        }
    }
}
