//! What senders count themselves.

use std::ops::{AddAssign, Sub};

use windtunnel_tcp::{Limited, TcpInfo};
use windtunnel_units::{Bytes, Duration};

/// Counts of a sender since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) loss_episodes: u64,
    pub(crate) rtos: u64,
    pub(crate) spurious_rtos: u64,
    pub(crate) tlps: u64,
    pub(crate) undos: u64,
    pub(crate) ecn_reductions: u64,
    pub(crate) delivered: Bytes,
    /// Time under each limit.
    pub(crate) limited: [Duration; Limited::COUNT],
}

/// What is read of a flow's sender at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// What it has counted so far.
    pub(crate) counters: Counters,
    /// Its state, if it is the sender of one TCP connection.
    pub(crate) info: Option<TcpInfo>,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.sent += other.sent;
        self.retransmits += other.retransmits;
        self.loss_episodes += other.loss_episodes;
        self.rtos += other.rtos;
        self.spurious_rtos += other.spurious_rtos;
        self.tlps += other.tlps;
        self.undos += other.undos;
        self.ecn_reductions += other.ecn_reductions;
        self.delivered += other.delivered;
        self.limited.iter_mut().zip(other.limited).for_each(|(sum, part)| *sum += part);
    }
}

impl Sub for Counters {
    type Output = Counters;
    /// What was counted since `earlier`.
    fn sub(self, earlier: Counters) -> Counters {
        let mut limited = self.limited;
        limited.iter_mut().zip(earlier.limited).for_each(|(sum, part)| *sum = sum.saturating_sub(part));
        Counters {
            sent: self.sent - earlier.sent,
            retransmits: self.retransmits - earlier.retransmits,
            loss_episodes: self.loss_episodes - earlier.loss_episodes,
            rtos: self.rtos - earlier.rtos,
            spurious_rtos: self.spurious_rtos - earlier.spurious_rtos,
            tlps: self.tlps - earlier.tlps,
            undos: self.undos - earlier.undos,
            ecn_reductions: self.ecn_reductions - earlier.ecn_reductions,
            delivered: self.delivered.saturating_sub(earlier.delivered),
            limited,
        }
    }
}
