//! What the sender tells about itself, as Linux's `tcp_get_info` does.

use windtunnel_units::{Bytes, Duration};

use super::Sender;
use crate::info::TcpInfo;

impl Sender {
    /// The state that no packet shows.
    pub fn info(&self) -> TcpInfo {
        let control = self.cc.control();
        TcpInfo {
            state: self.state,
            ssthresh: (control.ssthresh < Bytes::MAX).then_some(control.ssthresh),
            rttvar: (self.rtt.srtt() > Duration::ZERO).then(|| self.rtt.rttvar()),
            rto: self.timeout(),
            backoff: self.backoff.doublings(),
            consecutive_rtos: self.backoff.expiries,
            pacing_rate: self.pacer.rate(),
            delivery_rate: self.rate.latest(),
            unacked: self.board.outstanding().bytes,
            sacked: self.board.sacked().bytes,
            lost: self.board.lost().bytes,
            retrans_out: self.board.retransmitted().bytes,
            reordering: Some(self.reordering.dupthresh()),
        }
    }
}
