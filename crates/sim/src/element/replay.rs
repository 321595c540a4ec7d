//! The window of a VPN's exit that refuses replays (RFC 4303 section 3.4.3).
//!
//! The entry numbers packets; the exit accepts each number once, and only if it is less than a window below the highest one
//! that has arrived. `IPsec` and `WireGuard` do this. A packet that more others overtake than the window holds is dropped, so
//! that a queue within the VPN that gives some packets precedence over others loses some of those ("Multiplicative Decrease
//! Scaling", MDS vs L4S).

/// The numbers that have arrived among the last ones.
#[derive(Clone, Debug)]
pub(super) struct ReplayWindow {
    /// One more than the highest number.
    next: u64,
    /// Whether a number has arrived, in a ring.
    seen: Box<[bool]>,
}

impl ReplayWindow {
    pub(super) fn new(size: u32) -> ReplayWindow {
        ReplayWindow { next: 0, seen: vec![false; size as usize].into_boxed_slice() }
    }

    /// True if a packet with this number is accepted.
    pub(super) fn accepts(&mut self, number: u64) -> bool {
        let size = self.seen.len() as u64;
        if number + size < self.next {
            return false;
        }
        // Numbers that were skipped may still come.
        let skipped = self.next.max((number + 1).saturating_sub(size))..=number;
        for missing in skipped {
            self.seen[(missing % size) as usize] = false;
        }
        self.next = self.next.max(number + 1);
        !std::mem::replace(&mut self.seen[(number % size) as usize], true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4303 section 3.4.3 with a window of four: what is ahead is accepted; what is late by less than four once; what is
    /// late by more, or a copy, never.
    #[test]
    fn a_window_of_four() {
        let mut window = ReplayWindow::new(4);
        for (number, accepted) in [
            (0, true),
            (0, false),
            (2, true),
            (1, true),
            (1, false),
            (5, true),
            (2, false),
            (3, true),
            (1, false),
            (4, true),
            (100, true),
            (96, false),
            (97, true),
            (97, false),
            (101, true),
            (97, false),
        ] {
            assert_eq!(window.accepts(number), accepted, "{number}");
        }
    }
}
