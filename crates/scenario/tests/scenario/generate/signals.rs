//! AQMs that differ in how they signal: MDS variants, the step, the n-th marker, and the SCE ramp of an AQM.

use super::Draft;

impl Draft {
    /// The parameters of such an AQM.
    pub(super) fn signaller(&mut self, kind: &str) {
        match kind {
            "step" => {
                match self.random.below(3) {
                    0 => {
                        let packets = self.random.log(1, 1000);
                        self.key("threshold", format_args!("{packets} packets"));
                    }
                    1 => self.some_size("threshold", 1, 1_000_000),
                    _ => self.some_time("threshold", 1, 1_000_000_000),
                }
                self.one_of("at", &["enqueue", "dequeue"]);
            }
            "nth" => {
                self.some_number("n", 1, 10_000);
                self.one_of("signal", &["sce", "ce", "drop"]);
            }
            "codel-mds" => {
                self.some_time("target", 1, 100_000_000);
                self.some_time("interval", 1_000_000, 1_000_000_000);
                self.some_switch("codel_exact");
                self.some_number("tau", 1, 1000);
            }
            "pie-mds" => {
                self.some_time("target", 1_000, 1_000_000_000);
                self.some_time("tupdate", 100_000, 1_000_000_000);
                self.some_switch("bytemode");
                self.linked();
            }
            _ => {
                self.some_size("min", 1_001, 100_000);
                self.some_probability("probability");
                for key in ["harddrop", "gentle", "adaptive"] {
                    self.some_switch(key);
                }
                self.linked();
            }
        }
    }

    /// How a probability becomes the signals of an MDS variant.
    fn linked(&mut self) {
        self.some_number("tau", 1, 1000);
        match self.random.below(3) {
            0 => self.key("random", "coin"),
            1 => self.key("accumulate", "shared"),
            _ => {}
        }
    }

    /// The ramp of an AQM.
    pub(super) fn sce_ramp(&mut self) {
        let target = self.random.log(1_000, 1_000_000_000);
        let end = self.random.log(1, target);
        let shape = match self.random.below(4) {
            0 => String::new(),
            1 => format!(", thresh = {end}"),
            2 => format!(", single = true, lo = \"{} ns\"", end * 3),
            _ => format!(", knee = 0.3, lo = \"{} ns\", hi = \"{} ns\"", target / 3, target + end),
        };
        let random = self.random.pick(&["coin", "recur"]);
        self.bare("sce", format_args!("{{ target = \"{target} ns\", random = \"{random}\"{shape} }}"));
    }
}
