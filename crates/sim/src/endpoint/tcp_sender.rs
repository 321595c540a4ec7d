//! The sender of a TCP connection: Linux's, or one from before congestion control.

use windtunnel_cc::ExitReason;
use windtunnel_tcp::{AckReport, ConnectionState, Sender, TcpInfo, bsd42};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::Packet;

use super::{Counters, Hidden};

/// A TCP sender.
#[expect(clippy::large_enum_variant, reason = "a connection is one box; the large one is the usual one")]
#[derive(Debug)]
pub(crate) enum TcpSender {
    Linux(Sender),
    Bsd42(bsd42::Sender),
}

/// Calls the same method of whichever sender there is.
macro_rules! either {
    ($self:ident, $sender:ident => $call:expr) => {
        match $self {
            TcpSender::Linux($sender) => $call,
            TcpSender::Bsd42($sender) => $call,
        }
    };
}

impl TcpSender {
    pub(crate) fn write(&mut self, bytes: Bytes) {
        either!(self, sender => sender.write(bytes));
    }

    pub(crate) fn stop(&mut self) {
        either!(self, sender => sender.stop());
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        either!(self, sender => sender.poll_transmit(now))
    }

    #[inline]
    pub(crate) fn on_ack(&mut self, packet: &Packet, now: Time) -> AckReport {
        either!(self, sender => sender.on_ack(packet, now))
    }

    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Time> {
        either!(self, sender => sender.next_timer())
    }

    pub(crate) fn on_timer(&mut self, now: Time) {
        either!(self, sender => sender.on_timer(now));
    }

    /// A packet has left the sender's host, or was dropped by it.
    pub(crate) fn left_host(&mut self, now: Time) {
        match self {
            TcpSender::Linux(sender) => sender.left_host(now),
            TcpSender::Bsd42(_) => {}
        }
    }

    /// What it keeps about segments in flight.
    pub(crate) fn memory(&self) -> Bytes {
        match self {
            TcpSender::Linux(sender) => sender.memory(),
            TcpSender::Bsd42(_) => Bytes::ZERO,
        }
    }

    /// The slow-start threshold for the flow's next connection, if `remembered` is the one until now.
    pub(crate) fn ssthresh_metric(&self, remembered: Option<Bytes>) -> Option<Bytes> {
        match self {
            TcpSender::Linux(sender) => sender.ssthresh_metric(remembered),
            TcpSender::Bsd42(_) => remembered,
        }
    }

    /// The memory that its packets occupy in its host, if it counts that.
    pub(crate) fn in_host(&self) -> Bytes {
        match self {
            TcpSender::Linux(sender) => sender.in_host(),
            TcpSender::Bsd42(_) => Bytes::ZERO,
        }
    }

    #[inline]
    pub(crate) fn cwnd(&self) -> Bytes {
        either!(self, sender => sender.cwnd())
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> Bytes {
        either!(self, sender => sender.in_flight())
    }

    #[inline]
    pub(crate) fn srtt(&self) -> Duration {
        either!(self, sender => sender.srtt())
    }

    #[inline]
    pub(crate) fn snd_una(&self) -> Seq {
        either!(self, sender => sender.snd_una())
    }

    pub(crate) fn snd_nxt(&self) -> Seq {
        either!(self, sender => sender.snd_nxt())
    }

    pub(crate) fn is_drained(&self) -> bool {
        either!(self, sender => sender.is_drained())
    }

    /// The state of the connection; a sender from before congestion control has no handshake and never closes.
    pub(crate) fn connection_state(&self) -> ConnectionState {
        match self {
            TcpSender::Linux(sender) => sender.connection_state(),
            TcpSender::Bsd42(_) => ConnectionState::Established,
        }
    }

    /// The application has more to write than the send buffer takes.
    pub(crate) fn is_writing(&self) -> bool {
        match self {
            TcpSender::Linux(sender) => sender.is_writing(),
            TcpSender::Bsd42(_) => false,
        }
    }

    /// The application writes no more, and its connection ends.
    pub(crate) fn close(&mut self) {
        match self {
            TcpSender::Linux(sender) => sender.close(),
            TcpSender::Bsd42(_) => {}
        }
    }

    /// The sender has reset the connection.
    pub(crate) fn is_reset(&self) -> bool {
        match self {
            TcpSender::Linux(sender) => sender.is_reset(),
            TcpSender::Bsd42(_) => false,
        }
    }

    /// Both ends have closed, or the application never closes.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            TcpSender::Linux(sender) => {
                !sender.has_closed() || sender.connection_state() == ConnectionState::TimeWait
            }
            TcpSender::Bsd42(_) => true,
        }
    }

    /// The window, and nothing else, keeps the next segment from leaving.
    #[inline]
    pub(crate) fn cwnd_limited(&self) -> bool {
        match self {
            TcpSender::Linux(sender) => sender.cwnd_limited(),
            TcpSender::Bsd42(sender) => sender.in_flight() >= sender.cwnd(),
        }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        match self {
            TcpSender::Linux(sender) => sender.in_slow_start(),
            TcpSender::Bsd42(_) => false,
        }
    }

    pub(crate) fn slow_start_exit(&self) -> Option<ExitReason> {
        match self {
            TcpSender::Linux(sender) => sender.slow_start_exit(),
            TcpSender::Bsd42(_) => None,
        }
    }

    /// Packets sent again.
    #[inline]
    pub(crate) fn sent_again(&self) -> u64 {
        match self {
            TcpSender::Linux(sender) => sender.stats().retransmits + sender.stats().control_retransmits,
            TcpSender::Bsd42(sender) => sender.stats().retransmits,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        match self {
            TcpSender::Linux(sender) => {
                let stats = sender.stats();
                Counters {
                    sent: stats.segments_sent,
                    retransmits: stats.retransmits,
                    loss_episodes: stats.loss_episodes,
                    rtos: stats.rtos,
                    spurious_rtos: stats.spurious_rtos.into(),
                    tlps: stats.tlps.into(),
                    undos: stats.undos,
                    ecn_reductions: stats.ecn_reductions,
                    skips: stats.skips,
                    exposed: stats.exposed,
                    nonce_fail: stats.nonce_fail.into(),
                    delivered: stats.delivered,
                    limited: stats.limited,
                    ..Counters::default()
                }
            }
            TcpSender::Bsd42(sender) => {
                let stats = sender.stats();
                Counters {
                    sent: stats.segments_sent,
                    retransmits: stats.retransmits,
                    rtos: stats.rtos,
                    delivered: stats.delivered,
                    ..Counters::default()
                }
            }
        }
    }

    /// The values that the recorder reads at its tick.
    pub(crate) fn info(&self) -> TcpInfo {
        either!(self, sender => sender.info())
    }

    /// The named numbers of its controller.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match self {
            TcpSender::Linux(sender) => sender.probe(out),
            TcpSender::Bsd42(_) => {}
        }
    }

    /// What a capture shows about it besides the packet.
    pub(crate) fn hidden(&self) -> Hidden {
        let (ssthresh, state, limit) = match self {
            TcpSender::Linux(sender) => {
                (sender.control().ssthresh, sender.state() as u8, sender.limited_by() as u8)
            }
            TcpSender::Bsd42(_) => (Bytes::MAX, 0, 0),
        };
        let (cwnd, srtt, in_flight) = (self.cwnd(), self.srtt(), self.in_flight());
        Hidden { cwnd, ssthresh, srtt, state, limit, in_flight }
    }
}
