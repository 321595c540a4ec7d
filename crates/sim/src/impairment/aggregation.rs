//! Bursts as of 802.11's frame aggregation: packets are collected and leave together.
//!
//! A burst opens with a packet that finds none open, and closes when it has its number of packets or its time is over. One
//! PPDU of 802.11n and later lasts 5.484 ms at most, and an A-MPDU has 64 frames (256 from 802.11ax on).

use std::collections::VecDeque;

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Passage;
use super::params::AggregationParams;

/// Releases packets in bursts.
#[derive(Debug)]
pub(super) struct Aggregation {
    params: AggregationParams,
    /// Packets of closed bursts, and behind them those of the open one.
    packets: VecDeque<Packet>,
    /// How many packets are of the open burst.
    open: usize,
    /// When the open burst closes by time.
    closes: Time,
    /// When a burst last closed by number: it is due since then.
    due: Time,
    /// Bursts closed and not counted yet.
    closed: u64,
}

impl Aggregation {
    pub(super) const fn new(params: AggregationParams) -> Aggregation {
        Aggregation {
            params,
            packets: VecDeque::new(),
            open: 0,
            closes: Time::NEVER,
            due: Time::ZERO,
            closed: 0,
        }
    }

    pub(super) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        if self.open == 0 {
            self.closes = now + self.params.hold;
        }
        self.packets.push_back(packet);
        self.open += 1;
        if self.open == self.params.packets as usize {
            self.due = now;
            self.close();
        }
        Passage::Held
    }

    pub(super) fn next_release(&self) -> Time {
        if self.packets.len() > self.open { self.due } else { self.closes }
    }

    pub(super) fn release(&mut self, now: Time, bursts: &mut u64) -> Option<Packet> {
        if self.closes <= now {
            self.close();
        }
        *bursts += std::mem::take(&mut self.closed);
        if self.packets.len() > self.open { self.packets.pop_front() } else { None }
    }

    fn close(&mut self) {
        self.open = 0;
        self.closes = Time::NEVER;
        self.closed += 1;
    }
}
