//! Topologies, links, and what happens behind links.

use super::{Draft, trace};
use crate::names::NAMES;

impl Draft {
    /// The links, and the flows over them.
    pub(super) fn network(&mut self) {
        let flows = 1 + self.random.below(4);
        if self.one_in(3) {
            let (hops, back) = (1 + self.random.below(4), !self.one_in(3));
            self.chain(hops, back);
            for flow in 0..flows {
                self.table("[[flow]]");
                self.way(hops, back);
                self.flow(flow);
            }
        } else {
            let rate = self.rate;
            self.table("[bottleneck]");
            self.link("bottleneck", rate, self.rtt / 4);
            match self.random.below(4) {
                0 => {
                    self.table("[reverse]");
                    let rate = self.random.log((rate / 1000).max(1000), rate);
                    self.link("reverse", rate, self.rtt / 4);
                }
                1 if !self.ideal => {
                    self.table("[reverse]");
                    self.elements("reverse");
                }
                _ => {}
            }
            for flow in 0..flows {
                self.table("[[flow]]");
                self.flow(flow);
            }
        }
    }

    /// The path of a flow: all of the chain or, as cross traffic, a part of it; backwards; or named link by link.
    pub(super) fn way(&mut self, hops: usize, back: bool) {
        let from = self.random.below(hops);
        let to = if self.one_in(2) { hops } else { from + 1 + self.random.below(hops - from) };
        if self.one_in(3) {
            let links: Vec<String> = (from..to).map(|hop| format!("\"l{hop}{}\"", hop + 1)).collect();
            self.bare("path", format_args!("[{}]", links.join(", ")));
            return;
        }
        let (from, to) = if back && self.one_in(3) { (to, from) } else { (from, to) };
        self.key("from", format_args!("n{from}"));
        self.key("to", format_args!("n{to}"));
    }

    /// Nodes in a row, with links forwards and perhaps back, and sometimes a link that bypasses all of them.
    pub(super) fn chain(&mut self, hops: usize, back: bool) {
        for node in 0..=hops {
            self.table("[[node]]");
            self.key("name", format_args!("n{node}"));
        }
        let delay = self.rtt / (2 * hops as u64);
        for hop in 0..hops {
            let ways = [(hop, hop + 1), (hop + 1, hop)];
            for (from, to) in ways.into_iter().take(1 + usize::from(back)) {
                self.hop(from, to, delay);
            }
        }
        if hops > 1 && self.one_in(3) {
            self.hop(0, hops, delay);
        }
    }

    fn hop(&mut self, from: usize, to: usize, delay: u64) {
        self.table("[[link]]");
        self.key("name", format_args!("l{from}{to}"));
        self.key("from", format_args!("n{from}"));
        self.key("to", format_args!("n{to}"));
        let rate = self.rate * self.random.log(1, 20);
        self.link("link", rate, delay);
    }

    /// The keys of a link whose last table has the header `table`.
    fn link(&mut self, table: &str, rate: u64, longest_delay: u64) {
        let traced = !self.apart && self.one_in(6);
        if traced {
            let file = trace::file(rate, self.random.below(trace::VARIANTS));
            self.bare("rate", format_args!("{{ trace = '{}' }}", file.display()));
        } else {
            self.key("rate", format_args!("{rate} bit/s"));
        }
        let preset = !self.ideal && !self.apart && self.one_in(8);
        if preset {
            // The one whose path changes needs a long run, and a rate without a trace.
            let can_change = !traced && self.duration > 4_000_000_000;
            let all = ["wifi-fade", "wifi-good", "wifi-bad", "geo"];
            self.one_of("preset", if can_change { &all } else { &all[1..] });
        }
        // The delay of a preset may be more than the path has.
        if preset || self.apart || self.one_in(3) {
            self.some_time("delay", 1, longest_delay);
        }
        if self.one_in(5) {
            self.some_size("overhead", 1, 1000);
        }
        if self.one_in(4) {
            self.one_of("dequeue_point", &["start", "end"]);
        } else if self.one_in(6) {
            let ring = 1 + self.random.below(4);
            self.bare("ring", ring);
        }
        let dotted =
            |key: &str| if table == "link" { format!("link.{key}") } else { format!("{table}.{key}") };
        if !self.one_in(5) {
            let key = dotted("queue");
            self.table(&format!("[{key}]"));
            self.has_bdp = table == "bottleneck" && !traced;
            self.queue(&key, rate, 0);
            self.has_bdp = false;
        }
        if self.one_in(4) {
            let mut at = 0;
            for _ in 0..=self.random.below(3) {
                at += self.random.log(1, self.duration / 5);
                self.table(&format!("[[{}]]", dotted("changes")));
                self.time("at", at);
                self.change(traced, rate, longest_delay);
            }
        }
        if !self.ideal && self.one_in(2) {
            self.elements(table);
        }
    }

    fn change(&mut self, traced: bool, rate: u64, longest_delay: u64) {
        if self.one_in(3) {
            self.some_time("every", self.duration / 50, self.duration);
        }
        let delay = !self.apart && (traced || self.one_in(3));
        if delay {
            self.some_time("delay", 1, longest_delay * 2);
            if !self.ideal {
                self.some_switch("reorder");
            }
        }
        if !traced && (!delay || self.one_in(3)) {
            let slower = (rate / 1000).max(1000);
            self.some_rate("rate", slower, rate * 2);
        }
    }

    /// When an element works.
    fn during(&mut self) {
        let from = self.random.log(1, self.duration / 2);
        let to = from + self.random.log(1, self.duration / 2);
        let every = (to - from + self.random.log(1, self.duration)).max(self.duration / 1000);
        let span = match self.random.below(3) {
            0 => format!("from = \"{from} ns\""),
            1 => format!("from = \"{from} ns\", to = \"{to} ns\""),
            _ => format!("from = \"{from} ns\", to = \"{to} ns\", every = \"{every} ns\""),
        };
        self.bare("during", format_args!("{{ {span} }}"));
    }

    fn elements(&mut self, table: &str) {
        for _ in 0..=self.random.below(3) {
            let kind = self.random.pick(&NAMES.media);
            self.table(&format!("[[{table}.impair]]"));
            self.key("kind", kind);
            if self.one_in(4) {
                let only = self.random.pick(&["flows = [0]", "ecn = [\"ect0\", \"ect1\"]", "dscp = [0]"]);
                self.bare("only", format_args!("{{ {only} }}"));
            }
            if self.one_in(4) && !kind.starts_with("tunnel") {
                self.during();
            }
            self.element(kind, table);
        }
    }

    fn element(&mut self, kind: &str, table: &str) {
        let rtt = self.rtt;
        match kind {
            "outage" => {
                self.some_switch("hold");
                let (from, span) = match self.random.below(5) {
                    0 => (0, self.duration * 2),
                    _ => (self.random.log(1, self.duration), self.random.log(1, self.duration)),
                };
                self.table(&format!("[[{table}.impair.times]]"));
                self.time("from", from);
                self.time("to", from + span);
            }
            "ack-thinning" => {
                self.some_number("keep_every", 1, 100);
                self.some_time("flush", 1, rtt * 10);
            }
            "loss" | "corruption" | "duplication" => {
                self.some_probability("probability");
                self.one_of("affects", &["all", "data", "acks"]);
            }
            "gilbert-elliott" => {
                for key in ["p", "r", "loss_good", "loss_bad"] {
                    self.some_probability(key);
                }
                self.one_of("affects", &["all", "data", "acks"]);
            }
            "periodic-loss" => {
                self.some_number("every", 2, 1000);
                self.some_switch("per_flow");
                self.one_of("affects", &["all", "data", "acks"]);
            }
            "scripted-loss" => self.listed(),
            "scripted-reordering" => {
                self.listed();
                let by_time = self.one_in(2);
                if by_time {
                    self.some_time("delay", 1, rtt * 4);
                }
                if !by_time || self.one_in(2) {
                    self.some_number("overtaken_by", 1, 1000);
                }
            }
            "aggregation" => {
                self.some_time("hold", 1, rtt * 4);
                self.some_number("packets", 1, 200);
            }
            "jitter" => self.jitter(rtt * 4),
            "linear-delay" => {
                let min = self.random.log(1, rtt * 2);
                self.time("min", min);
                self.some_time("max", min, rtt * 4);
                self.some_time("period", 1, self.duration);
                self.some_switch("reorder");
            }
            "burst-delay" => {
                let shortest = self.random.log(1_000_000, self.duration.max(1_000_000));
                self.time("min_period", shortest);
                self.some_time("max_period", shortest, shortest * 10);
                self.some_probability("probability");
                self.some_time("latency", 1, rtt * 4);
                self.some_switch("reorder");
            }
            "reordering" => {
                self.some_probability("probability");
                self.one_of("mode", &["late", "early"]);
                self.some_time("delay", 1, rtt * 4);
            }
            _ => {}
        }
    }

    fn jitter(&mut self, longest: u64) {
        match self.random.below(5) {
            0 => {
                let values: Vec<String> = (0..=self.random.below(4))
                    .map(|_| format!("\"{} ns\"", self.random.log(1, longest)))
                    .collect();
                let values = values.join(", ");
                self.bare("distribution", format_args!("{{ kind = \"listed\", values = [{values}] }}"));
            }
            1 => {
                let [low, high] = [self.random.log(1, longest), longest];
                let points = format!(
                    "{{ value = \"{low} ns\", probability = 0.5 }}, {{ value = \"{high} ns\", probability = 1 }}"
                );
                self.bare("distribution", format_args!("{{ kind = \"empirical\", points = [{points}] }}"));
            }
            2 => {
                let shape = self.random.pick(&["fixed", "wifi"]);
                self.key("distribution", shape);
                self.some_time("mean", 1, longest);
            }
            _ => {
                self.one_of("distribution", &["uniform", "normal", "pareto"]);
                self.some_time("mean", 1, longest);
                self.some_time("deviation", 1, longest);
            }
        }
        self.some_switch("reorder");
    }

    /// The packets that a script affects: a row of them, or some here and there.
    fn listed(&mut self) {
        let mut next = self.random.log(1, 100);
        let most_apart = [1, 100][self.random.below(2)];
        let mut packets = Vec::new();
        for _ in 0..self.random.log(1, 30) {
            packets.push(next);
            next += self.random.log(1, most_apart);
        }
        self.bare("packets", format_args!("{packets:?}"));
        self.some_switch("per_flow");
        self.one_of("affects", &["all", "data", "acks"]);
    }
}
