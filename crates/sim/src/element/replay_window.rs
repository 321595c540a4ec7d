//! The anti-replay window of a VPN (RFC 4303 section 3.4.3 and appendix A2; RFC 6479 has the same rule).
//!
//! A packet that is new, or within the window behind the newest one and not seen before, is accepted. One behind the
//! window is not, because the receiver no longer knows whether it has seen it.

/// The largest window that can be asked for: far above what VPNs have (`WireGuard`: 8128).
pub(super) const LARGEST_WINDOW: u32 = 65_536;

/// Which of the last packets have arrived.
#[derive(Debug)]
pub(super) struct ReplayWindow {
    newest: u64,
    /// Whether the packet has arrived whose number, modulo the length, is the index; only for numbers in the window.
    seen: Vec<bool>,
}

impl ReplayWindow {
    /// A window of this many packets, the newest one included. Numbers start at 1.
    pub(super) fn new(packets: u32) -> ReplayWindow {
        ReplayWindow { newest: 0, seen: vec![false; packets as usize] }
    }

    /// Whether the packet with this number passes.
    pub(super) fn accept(&mut self, number: u64) -> bool {
        let size = self.seen.len() as u64;
        if number > self.newest {
            for skipped in (self.newest + 1..number).rev().take(self.seen.len()) {
                self.seen[(skipped % size) as usize] = false;
            }
            self.newest = number;
        } else if self.newest - number >= size || self.seen[(number % size) as usize] {
            return false;
        }
        self.seen[(number % size) as usize] = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(packets: u32, numbers: &[u64]) -> Vec<bool> {
        let mut window = ReplayWindow::new(packets);
        numbers.iter().map(|&number| window.accept(number)).collect()
    }

    /// RFC 4303 appendix A2.1: with a window of W and the newest packet T, T - W + 1 is the oldest that passes.
    #[test]
    fn the_edge_of_the_window() {
        assert_eq!(accepted(32, &[100, 69, 68, 101, 70, 69]), [true, true, false, true, true, false]);
    }

    /// Each number passes once, however far the window has moved meanwhile.
    #[test]
    fn replays() {
        assert_eq!(
            accepted(4, &[1, 1, 2, 3, 2, 6, 5, 5, 4, 3]),
            [true, false, true, true, false, true, true, false, true, false]
        );
        assert_eq!(
            accepted(4, &[1, 2, 3, 4, 1000, 997, 998, 999, 1000, 996]),
            [true, true, true, true, true, true, true, true, false, false]
        );
    }

    /// A window of one packet is a demand for order.
    #[test]
    fn the_least_window() {
        assert_eq!(accepted(1, &[1, 3, 2, 3, 4]), [true, true, false, false, true]);
    }
}
