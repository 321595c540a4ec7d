//! Applications: what makes a flow send.

use super::Draft;

impl Draft {
    /// The application of a TCP flow; true unless it opens many connections.
    pub(super) fn application(&mut self) -> bool {
        self.table("[flow.app]");
        let kind = self.random.below(5);
        match kind {
            0 => {
                self.key("kind", "transfer");
                self.some_size("size", 1, 10_000_000);
                if self.one_in(4) {
                    self.some_switch("close");
                }
            }
            1 => {
                self.key("kind", "on-off");
                for key in ["on", "off"] {
                    self.distribution(key, "ns", (self.duration / 1000).max(1000), self.duration);
                }
                if self.one_in(2) {
                    self.some_rate("rate", 1, self.rate * 2);
                }
            }
            2 => {
                self.key("kind", "request-response");
                self.distribution("size", "B", 1, 1_000_000);
                self.distribution("think", "ns", 1, self.rtt * 20);
                if self.one_in(2) {
                    self.some_number("count", 1, 100);
                }
            }
            3 => {
                self.key("kind", "poisson");
                let expected = self.random.log(1, 1000) as f64;
                let arrivals = (expected / (self.duration as f64 / 1e9)).clamp(1e-6, 1e6);
                self.bare("arrivals", format_args!("{arrivals:?}"));
                self.distribution("size", "B", 1, 100_000);
                self.some_number("max_active", 1, 100);
            }
            _ => self.media("tcp"),
        }
        kind != 3
    }

    pub(super) fn datagrams(&mut self) {
        self.table("[flow.app]");
        let most = self.rate.saturating_mul(3);
        match self.random.below(3) {
            0 => {
                self.key("kind", "cbr");
                self.some_rate("rate", 64_000, most);
                self.some_size("packet_size", 44, 65_535);
                self.some_switch("responsive");
            }
            1 => {
                self.key("kind", "probe");
                self.some_time("interval", (self.duration / 5000).max(1), self.duration);
                self.some_size("size", 44, 65_535);
            }
            _ => self.media("udp"),
        }
    }

    /// Media whose rate a controller sets.
    pub(super) fn rtp(&mut self) {
        self.table("[flow.app]");
        self.key("kind", "media");
        self.key("protocol", "rtp");
        let least = self.random.log(1, self.rate);
        let most = least + self.random.log(1, self.rate * 2);
        self.key("rate", format_args!("{most} bit/s"));
        self.key("min_rate", format_args!("{least} bit/s"));
        self.some_time("frame_interval", (self.duration / 5000).max(1), self.duration);
        self.some_number("keyframe_every", 1, 100);
        self.some_time("discard_after", self.rtt / 2 + 1, self.duration);
        self.table("[flow.cc]");
        match self.random.below(3) {
            0 => self.scream(),
            1 => self.nada(),
            _ => self.gcc(),
        }
    }

    fn media(&mut self, protocol: &str) {
        self.key("kind", "media");
        self.key("protocol", protocol);
        self.some_rate("rate", 1, self.rate * 2);
        self.some_time("frame_interval", (self.duration / 5000).max(1), self.duration);
        self.some_number("keyframe_every", 1, 100);
    }

    fn distribution(&mut self, key: &str, unit: &str, least: u64, most: u64) {
        let low = self.random.log(least, most);
        let high = low + 1 + self.random.log(1, most);
        let text = match self.random.below(6) {
            0 => format!("{{ kind = \"fixed\", value = \"{low} {unit}\" }}"),
            1 => format!("{{ kind = \"uniform\", min = \"{low} {unit}\", max = \"{high} {unit}\" }}"),
            2 => format!("{{ kind = \"exponential\", mean = \"{low} {unit}\" }}"),
            3 => {
                format!(
                    "{{ kind = \"pareto\", min = \"{low} {unit}\", max = \"{high} {unit}\", shape = 1.2 }}"
                )
            }
            4 => self.empirical(unit, low, most),
            _ => format!("{{ kind = \"lognormal\", median = \"{low} {unit}\", sigma = 1.0 }}"),
        };
        self.bare(key, text);
    }

    /// A distribution given by some of its points, with probability 1 at the last; it may have steps and equal points.
    fn empirical(&mut self, unit: &str, least: u64, most: u64) -> String {
        let count = 1 + self.random.below(5);
        let mut values: Vec<u64> = (0..count).map(|_| self.random.log(least, most)).collect();
        let mut percents: Vec<usize> = (1..count).map(|_| self.random.below(101)).collect();
        percents.push(100);
        values.sort_unstable();
        percents.sort_unstable();
        let points = values.iter().zip(&percents).map(|(value, percent)| {
            format!("{{ value = \"{value} {unit}\", probability = \"{percent} %\" }}")
        });
        format!("{{ kind = \"empirical\", points = [{}] }}", points.collect::<Vec<_>>().join(", "))
    }
}
