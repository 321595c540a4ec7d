//! Growth by whole segments, shared by all windows that are counted in segments.
//!
//! Linux's additive increase (spec/congestion-control section 0.4; `tcp_cong_avoid_ai`): acknowledged segments
//! accumulate in `snd_cwnd_cnt`. Each time it reaches `cnt` segments, the window grows by one. Reno's `cnt` is the
//! window itself. AIMD with increase a has `W / a`, so the count may be a fraction.

/// Acknowledged segments that have not made the window grow yet (Linux `snd_cwnd_cnt`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CwndCnt(f64);

impl CwndCnt {
    /// Returns by how many segments `n` acknowledged segments grow a window that grows by one for every `cnt` of them.
    pub(crate) fn add(&mut self, cnt: f64, n: f64) -> u64 {
        let mut grown = 0;
        // What is left from a larger `cnt` is worth at most one segment.
        if self.0 >= cnt {
            self.0 = 0.0;
            grown = 1;
        }
        self.0 += n;
        if self.0 >= cnt {
            let whole = (self.0 / cnt) as u64;
            self.0 = (self.0 - whole as f64 * cnt).max(0.0);
            grown += whole;
        }
        grown
    }

    /// Returns 1 if `n` acknowledged segments make the window grow, else 0: by one segment at most, however many have
    /// accumulated.
    pub(crate) fn add_for_one(&mut self, cnt: f64, n: f64) -> u64 {
        self.0 += n;
        if self.0 < cnt {
            return 0;
        }
        self.0 -= cnt;
        1
    }

    /// Keeps `n` acknowledged segments for later.
    pub(crate) fn save(&mut self, n: f64) {
        self.0 += n;
    }

    /// Returns the count in segments.
    pub(crate) const fn get(self) -> f64 {
        self.0
    }

    /// Discards the count: the window was reduced.
    pub(crate) fn clear(&mut self) {
        self.0 = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reno: `cnt` is the window. Returns the window and the count after the ACKs.
    fn reno(mut w: u64, acks: &[u64]) -> (u64, f64) {
        let mut cwnd_cnt = CwndCnt::default();
        for n in acks {
            w += cwnd_cnt.add(w as f64, *n as f64);
        }
        (w, cwnd_cnt.0)
    }

    /// spec/congestion-control section 0.4: ten ACKs of one and five of two grow 10 to 11; one of 25 to 12, and
    /// five stay.
    #[test]
    fn a_window_of_acknowledged_segments_is_a_segment() {
        assert_eq!(reno(10, &[1; 10]), (11, 0.0));
        assert_eq!(reno(10, &[2; 5]), (11, 0.0));
        assert_eq!(reno(10, &[25]), (12, 5.0));
    }

    /// spec/congestion-control section 0.4 rule 1: what is left once `cnt` has fallen gives one segment and is gone.
    #[test]
    fn an_old_count_is_worth_one_segment() {
        let mut cwnd_cnt = CwndCnt::default();
        assert_eq!(cwnd_cnt.add(100.0, 90.0), 0);
        assert_eq!(cwnd_cnt.add(20.0, 1.0), 1);
        assert_eq!(cwnd_cnt, CwndCnt(1.0));
    }

    /// A `cnt` of 18.9 segments: nine segments in 170.1.
    #[test]
    fn counts_may_be_fractions() {
        let mut cwnd_cnt = CwndCnt::default();
        let grown: u64 = (0..171).map(|_| cwnd_cnt.add(18.9, 1.0)).sum();
        assert_eq!(grown, 9);
        assert!((cwnd_cnt.0 - 0.9).abs() < 1e-9);
    }
}
