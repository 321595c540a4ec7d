//! What a connection leaves to the next one to the same host: its slow-start threshold.
//!
//! Linux `tcp_update_metrics`; spec/congestion-control section 1.21. A threshold that was measured on
//! the path spares the next connection the losses by which its slow start would find it again. It may also be wrong for long:
//! a loss by chance leaves a low one, and only a connection that outgrows it corrects that. So Linux has not kept it by
//! default since 2020 (`tcp_no_ssthresh_metrics_save`).

use windtunnel_cc::CaState;
use windtunnel_units::Bytes;

use super::Sender;

/// What of a connection decides how far its threshold can be trusted.
#[derive(Clone, Copy, Debug)]
struct Ending {
    cwnd: Bytes,
    /// [`Bytes::MAX`] while none is known.
    ssthresh: Bytes,
    state: CaState,
}

impl Ending {
    /// Returns the threshold to remember, if `remembered` is the one until now.
    fn leaves(self, remembered: Option<Bytes>, mss: Bytes) -> Option<Bytes> {
        let half = mss * (self.cwnd / mss / 2);
        if self.ssthresh == Bytes::MAX {
            // The first slow start never ended: the threshold is at least what was reached safely.
            return remembered.map(|threshold| threshold.max(half));
        }
        if self.cwnd >= self.ssthresh && self.state == CaState::Open {
            return Some(half.max(self.ssthresh));
        }
        // In the middle of a repair or of a new slow start, ssthresh proves only that the path carried this much.
        remembered.map(|threshold| threshold.max(self.ssthresh))
    }
}

impl Sender {
    /// Returns the slow-start threshold to remember for the next connection, if `remembered` is the one until now. A
    /// connection that never measured a round trip, or that ends during a back-off, knows nothing.
    pub fn ssthresh_metric(&self, remembered: Option<Bytes>) -> Option<Bytes> {
        if !self.params.ssthresh_metrics_save || self.rtt.srtt().is_zero() || self.backoff.doublings() > 0 {
            return remembered;
        }
        let ending = Ending { cwnd: self.cwnd, ssthresh: self.cc.control().ssthresh, state: self.state };
        ending.leaves(remembered, self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    /// The rules of spec/congestion-control section 1.21 by hand, in segments.
    #[test]
    fn the_rules() {
        let leaves = |cwnd: u64, ssthresh: Option<u64>, state, remembered: Option<u64>| {
            let segments = |count: u64| MSS * count;
            let ssthresh = ssthresh.map_or(Bytes::MAX, segments);
            let left = Ending { cwnd: MSS * cwnd, ssthresh, state }.leaves(remembered.map(segments), MSS);
            left.map(|left| left / MSS)
        };
        let (open, recovery) = (CaState::Open, CaState::Recovery);
        // Initial slow start leaves nothing of its own, but raises what is too low: 81 / 2 = 40.
        assert_eq!(leaves(81, None, open, None), None);
        assert_eq!(leaves(81, None, open, Some(39)), Some(40));
        assert_eq!(leaves(81, None, open, Some(41)), Some(41));
        // Congestion avoidance is believed, whatever was remembered; also at cwnd = ssthresh.
        assert_eq!(leaves(50, Some(40), open, Some(90)), Some(40));
        assert_eq!(leaves(100, Some(40), open, None), Some(50));
        assert_eq!(leaves(40, Some(40), open, None), Some(40));
        // Neither a repair nor a second slow start is: it can only raise what is there.
        for (cwnd, state) in [(40, recovery), (40, CaState::Disorder), (1, CaState::Loss), (10, open)] {
            assert_eq!(leaves(cwnd, Some(40), state, None), None);
            assert_eq!(leaves(cwnd, Some(40), state, Some(30)), Some(40));
            assert_eq!(leaves(cwnd, Some(40), state, Some(60)), Some(60));
        }
    }
}
