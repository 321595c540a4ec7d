//! What halves report about themselves: after each packet, at the end of an interval, and with a captured packet.

use std::ops::{AddAssign, Sub};

use windtunnel_tcp::{Limited, TcpInfo};
use windtunnel_units::{Bytes, Duration};

/// What a packet from the receiving half told the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The round-trip time, if the packet gave a sample of it.
    pub rtt: Option<Duration>,
    /// It echoed CE.
    pub ece: bool,
    /// It echoed SCE.
    pub esce: bool,
    /// The window, and nothing else, kept the next segment from leaving.
    pub cwnd_limited: bool,
}

impl Feedback {
    /// The echoes as one number: 1 for CE, 2 for SCE.
    pub(crate) fn echoes(&self) -> u8 {
        u8::from(self.ece) | (u8::from(self.esce) << 1)
    }
}

/// What a packet from the sending half brought to the receiving half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes that are newly available to the application.
    pub delivered: Bytes,
    /// ECT(1) on this flow means SCE.
    pub understands_sce: bool,
}

/// The state of a sending half after a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderState {
    /// The congestion window; none if it has none.
    pub cwnd: Option<Bytes>,
    /// Bytes in the network, as far as it knows.
    pub in_flight: Bytes,
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// The window, and nothing else, keeps the next segment from leaving.
    pub cwnd_limited: bool,
}

/// The values read from a sending half at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// What it has counted since it was made.
    pub counters: Counters,
    /// Its state, if it is the sender of one TCP connection.
    pub info: Option<TcpInfo>,
}

/// The state of a sending half after it has sent a packet, as a capture shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hidden {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] while it is infinite.
    pub ssthresh: Bytes,
    /// The smoothed round-trip time.
    pub srtt: Duration,
    /// The state of congestion control, as a number of [`windtunnel_tcp::CaState`].
    pub state: u8,
    /// What limits it, as a number of [`Limited`].
    pub limit: u8,
    /// Bytes in the network, as far as it knows.
    pub in_flight: Bytes,
}

/// Counts of a sending half since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data packets sent, those sent again included.
    pub sent: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Losses answered by a reduction, timeouts included.
    pub loss_episodes: u64,
    /// Expiries of the retransmission timer.
    pub rtos: u64,
    /// Timeouts that turned out to be spurious.
    pub spurious_rtos: u64,
    /// Tail loss probes.
    pub tlps: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Echoes of CE answered by a reduction.
    pub ecn_reductions: u64,
    /// Segments left out to expose optimistic ACKs.
    pub skips: u32,
    /// Connections reset because such a segment was acknowledged.
    pub exposed: u32,
    /// ACKs whose sum of ECN nonces was wrong.
    pub nonce_fail: u64,
    /// Data known to be delivered.
    pub delivered: Bytes,
    /// Messages that its application has written, whether or not they are complete.
    pub messages: u64,
    /// Time under each limit.
    pub limited: [Duration; Limited::COUNT],
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
        self.skips += other.skips;
        self.exposed += other.exposed;
        self.nonce_fail += other.nonce_fail;
        self.delivered += other.delivered;
        self.messages += other.messages;
        self.limited.iter_mut().zip(other.limited).for_each(|(sum, part)| *sum += part);
    }
}

impl Sub for Counters {
    type Output = Counters;
    /// The counts since `earlier`.
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
            skips: self.skips - earlier.skips,
            exposed: self.exposed - earlier.exposed,
            nonce_fail: self.nonce_fail - earlier.nonce_fail,
            delivered: self.delivered.saturating_sub(earlier.delivered),
            messages: self.messages - earlier.messages,
            limited,
        }
    }
}
