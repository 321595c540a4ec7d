//! Groups of packets, and how much later one arrives than the one before (sections 5.1 and 5.2). Times are in milliseconds.

/// When a packet left, and when it arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timing {
    pub(super) departure: f64,
    pub(super) arrival: f64,
}

/// What a complete group tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variation {
    /// `d(i)`: by how much its way took longer than that of the group before.
    pub(super) delay: f64,
    /// `T(i) - T(i-1)`.
    pub(super) departures: f64,
    /// `t(i)`.
    pub(super) arrival: f64,
}

/// The group that grows, and the one before. Of a group its last packet counts.
#[derive(Debug)]
pub(super) struct Groups {
    burst_time: f64,
    /// When the first packet of the present group left.
    began: f64,
    last: Option<Timing>,
    before: Option<Timing>,
}

impl Groups {
    pub(super) const fn new(burst_time: f64) -> Groups {
        Groups { burst_time, began: 0.0, last: None, before: None }
    }

    /// Takes a packet. Returns the variation of the group that it completes. A packet that was overtaken is ignored.
    pub(super) fn packet(&mut self, packet: Timing) -> Option<Variation> {
        let Some(last) = self.last else {
            (self.began, self.last) = (packet.departure, Some(packet));
            return None;
        };
        if packet.departure < last.departure || packet.arrival < last.arrival {
            return None;
        }
        if self.belongs(packet, last) {
            self.last = Some(packet);
            return None;
        }
        (self.began, self.last) = (packet.departure, Some(packet));
        let before = self.before.replace(last)?;
        let departures = last.departure - before.departure;
        Some(Variation {
            delay: last.arrival - before.arrival - departures,
            departures,
            arrival: last.arrival,
        })
    }

    /// It left within a burst of the group's first packet, or it arrived within a burst of the last one, and caught up with it.
    fn belongs(&self, packet: Timing, last: Timing) -> bool {
        let gap = packet.arrival - last.arrival;
        let catches_up = gap < packet.departure - last.departure;
        packet.departure - self.began < self.burst_time || gap < self.burst_time && catches_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variations(packets: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
        let mut groups = Groups::new(5.0);
        let timings = packets.iter().map(|&(departure, arrival)| Timing { departure, arrival });
        timings
            .filter_map(|packet| groups.packet(packet))
            .map(|group| (group.delay, group.departures, group.arrival))
            .collect()
    }

    /// Section 5.1: packets that leave 20 ms apart, and take 30, 32 and 31 ms, have variations of 2 and -1 ms. The last group
    /// is not complete.
    #[test]
    fn the_difference_of_delays() {
        let packets = [(0.0, 30.0), (20.0, 52.0), (40.0, 71.0), (60.0, 91.0)];
        assert_eq!(variations(&packets), [(2.0, 20.0, 52.0), (-1.0, 20.0, 71.0)]);
    }

    /// Section 5.2, first rule: what leaves less than 5 ms after the first packet is one group, whose last packet counts. A packet
    /// that leaves 5 ms after it is not.
    #[test]
    fn a_burst_of_departures_is_a_group() {
        let packets = [(0.0, 30.0), (2.0, 33.0), (4.5, 36.5), (20.0, 50.0), (25.0, 55.0), (40.0, 70.0)];
        assert_eq!(variations(&packets), [(-2.0, 15.5, 50.0), (0.0, 5.0, 55.0)]);
    }

    /// Second rule: after an outage, packets that left 20 ms apart arrive 1 ms apart. They join the group of the first of them,
    /// whose way took 70 ms longer; without the rule there were a variation of 70 ms and three of -19 ms.
    #[test]
    fn a_burst_of_arrivals_is_a_group() {
        let packets =
            [(0.0, 30.0), (20.0, 120.0), (40.0, 121.0), (60.0, 122.0), (80.0, 123.0), (130.0, 160.0)];
        assert_eq!(variations(&packets), [(13.0, 80.0, 123.0)]);
        // Arrivals 4 ms apart of departures 4 ms apart do not catch up: the departures decide.
        let steady = [(0.0, 30.0), (4.0, 34.0), (8.0, 38.0), (12.0, 42.0), (16.0, 46.0)];
        assert_eq!(variations(&steady), [(0.0, 8.0, 42.0)]);
    }

    /// "Any packets received out of order are ignored."
    #[test]
    fn overtaken_packets_are_ignored() {
        let packets = [(0.0, 30.0), (40.0, 70.0), (20.0, 75.0), (60.0, 90.0), (80.0, 85.0), (80.0, 110.0)];
        assert_eq!(variations(&packets), [(0.0, 40.0, 70.0), (0.0, 20.0, 90.0)]);
    }
}
