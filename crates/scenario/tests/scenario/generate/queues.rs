//! Queues: every kind, and queues inside of others.

use super::Draft;
use crate::names::NAMES;

impl Draft {
    /// The keys of the queue whose table is `table`, inside of `depth` others.
    pub(super) fn queue(&mut self, table: &str, rate: u64, depth: usize) {
        let nests = depth < 3 && self.one_in(4);
        let kind = match if nests { self.random.pick(&NAMES.classful) } else { self.plain_queue() } {
            // Packets that a queue before it has marked overtake others of their flow, which loss-free endpoints do not
            // expect.
            "dualpi2" if self.ideal => "pi2",
            "twin-af" if self.ideal => "codel-af",
            kind => kind,
        };
        self.key("kind", kind);
        match self.random.below(6) {
            0 => self.key("limit", "1 packet"),
            1 | 2 => {
                let packets = self.random.log(2, 1000);
                self.key("limit", format_args!("{packets} packets"));
            }
            3 => self.some_size("limit", self.mtu, self.mtu * 1000),
            4 => {
                let packet = (self.mtu * 8_000_000_000 / rate).max(1);
                // No limit is longer: at the lowest rates of a way back.
                self.some_time("limit", packet, (packet * 1000).min(1_000_000_000_000_000));
            }
            // A product below a byte is no limit: the shortest round trips and slowest links have none.
            _ if self.has_bdp && rate / 8 * (self.rtt / 1000) > 100_000_000 => {
                self.one_of("limit", &["1 bdp", "bdp/sqrt(n)", "2 bdp/sqrt(n)"]);
            }
            _ => {}
        }
        if depth == 0 && self.one_in(8) {
            self.some_number("mds_dscp", 1, 63);
        }
        if kind == "dualpi2" {
            // What a queue around it reads may be nothing that it can.
            self.key("ecn_mode", "l4s");
        } else if self.one_in(3) {
            self.one_of("ecn_mode", &["none", "rfc3168", "sce", "mds", "l4s"]);
        }
        if depth == 0 && self.one_in(5) {
            self.some_time("age", 1, 100_000_000_000);
        }
        if nests {
            return self.classful(kind, table, rate, depth);
        }
        if self.one_in(2) {
            return;
        }
        self.parameters(kind, rate);
        if ["brickwall", "pie", "red", "codel", "step", "nth"].contains(&kind) && self.one_in(3) {
            self.sce_ramp();
        }
    }

    /// A queue without others inside; the plainest twice as often.
    fn plain_queue(&mut self) -> &'static str {
        let mut kinds = NAMES.queues.clone();
        kinds.retain(|kind| !NAMES.classful.contains(kind));
        kinds.push("fifo");
        self.random.pick(&kinds)
    }

    /// The parameters of a queue without others inside.
    fn parameters(&mut self, kind: &str, rate: u64) {
        match kind {
            "step" | "nth" | "pie-mds" | "red-mds" | "codel-mds" => self.signaller(kind),
            "codel" | "fq_codel" => self.codel(kind == "fq_codel"),
            "cobalt" => self.cobalt(),
            "codel-af" | "twin-af" => self.codel_af(kind == "twin-af"),
            "fq" => self.fq(),
            "pi2" => self.pi2(),
            "dualpi2" => self.dualpi2(),
            "cnq" | "lfq" => self.lfq(kind == "lfq"),
            "dualsparse" => self.dualsparse(),
            "sfb" => self.sfb(),
            "choke" => self.choke(),
            "cake" => self.cake(rate),
            "fq_pie" => self.fq_pie(),
            "sfq" => self.sfq(),
            "fifo" => self.some_switch("headdrop"),
            "brickwall" => {
                for key in ["sce_threshold", "ce_threshold", "drop_threshold"] {
                    self.some_time(key, 1, 1_000_000_000);
                }
            }
            "ramp" => {
                self.some_time("max", 1, 10_000_000_000);
                self.one_of("random", &["coin", "recur"]);
            }
            "pie" => self.pie(),
            "red" => self.red(),
            "deltic" => {
                for key in ["sce_target", "ce_target", "drop_target"] {
                    self.some_time(key, 1, 1_000_000_000);
                }
            }
            "deltic-mds" => self.some_time("target", 1, 1_000_000_000),
            "deltim2" => {
                self.some_time("burst", 1_000_000, 1_000_000_000);
                self.some_time("update", 1, 1_000_000);
            }
            "deltim" => self.some_time("burst", 1, 1_000_000_000),
            _ => {}
        }
    }

    /// The keys of a queue that has others inside, and those queues.
    fn classful(&mut self, kind: &str, table: &str, rate: u64, depth: usize) {
        let shaped = rate / 10 + self.random.log(1, rate);
        match kind {
            "prio" | "drr" | "wrr" => return self.classes(kind, table, rate, depth),
            "replaced" => return self.replaced(table, rate, depth),
            "tbf" | "police" => {
                self.key("rate", format_args!("{shaped} bit/s"));
                self.some_size("burst", self.mtu, self.mtu * 100);
                if self.one_in(3) {
                    self.key("peakrate", format_args!("{} bit/s", shaped * 2));
                    self.some_size("mtu", self.mtu, self.mtu * 10);
                }
                self.some_size("mpu", 1, self.mtu);
                if kind == "tbf" {
                    self.some_time("latency", 1, 1_000_000_000);
                } else {
                    self.one_of("conform_exceed", &["drop", "pass", "mark"]);
                }
            }
            "vqpolice" | "ramppolice" => {
                self.key("rate", format_args!("{shaped} bit/s"));
                self.some_time("burst", 1_000, 1_000_000_000);
                if kind == "vqpolice" && self.one_in(2) {
                    self.one_of("aqm", &NAMES.aqms);
                }
            }
            _ => return,
        }
        if !self.one_in(3) {
            let table = format!("{table}.child");
            self.table(&format!("[{table}]"));
            self.queue(&table, shaped.min(rate), depth + 1);
        }
    }

    /// The keys of a scheduler with classes, and their queues.
    fn classes(&mut self, kind: &str, table: &str, rate: u64, depth: usize) {
        let bands = 2 + self.random.below(3);
        match kind {
            "prio" => self.bare("bands", bands),
            "drr" => {
                let quanta: Vec<String> =
                    (0..bands).map(|_| format!("\"{} B\"", self.random.log(64, 10_000))).collect();
                self.bare("quanta", format_args!("[{}]", quanta.join(", ")));
            }
            _ => {
                let weights: Vec<u64> = (0..bands).map(|_| self.random.log(1, 10)).collect();
                self.bare("weights", format_args!("{weights:?}"));
            }
        }
        let band = self.random.below(bands);
        self.bare("default_band", band);
        // By flow: packets of one flow that go to different bands can overtake each other.
        let (flow, band) = (self.random.below(4), self.random.below(bands));
        self.bare("filters", format_args!("[{{ flows = [{flow}], band = {band} }}]"));
        if !self.one_in(3) {
            let table = format!("{table}.children");
            for _ in 0..bands {
                self.table(&format!("[[{table}]]"));
                self.queue(&table, rate, depth + 1);
            }
        }
    }

    /// The times at which queues are replaced, and the queues.
    fn replaced(&mut self, table: &str, rate: u64, depth: usize) {
        let times = self.random.below(3);
        let mut at = 0;
        let times: Vec<String> = (0..times)
            .map(|_| {
                at += 1 + self.random.log(1, 2_000_000_000);
                format!("\"{at} ns\"")
            })
            .collect();
        self.bare("at", format_args!("[{}]", times.join(", ")));
        if !self.one_in(3) {
            let table = format!("{table}.children");
            for _ in 0..=times.len() {
                self.table(&format!("[[{table}]]"));
                self.queue(&table, rate, depth + 1);
            }
        }
    }

    fn pie(&mut self) {
        if self.one_in(2) {
            self.one_of("variant", &["linux", "rfc"]);
        } else {
            self.some_time("tick", 100_000, 10_000_000);
        }
        self.some_time("target", 1_000, 1_000_000_000);
        self.some_time("tupdate", 100_000, 1_000_000_000);
        for key in ["ecn", "bytemode", "dq_rate_estimator"] {
            self.some_switch(key);
        }
    }

    fn red(&mut self) {
        if self.one_in(4) {
            self.bare("adaptive_auto", true);
        } else {
            self.some_size("min", 1_001, 100_000);
        }
        self.some_probability("probability");
        self.one_of("random", &["uniform", "coin", "recur"]);
        self.one_of("idle", &["exact", "linux"]);
        for key in ["ecn", "harddrop", "gentle", "adaptive"] {
            self.some_switch(key);
        }
    }

    fn fq_pie(&mut self) {
        self.one_of("hash", &["perfect", "jenkins"]);
        self.some_size("quantum", 256, 10_000);
        self.some_size("memory_limit", 2_000, 1_000_000);
        self.some_time("target", 1_000, 1_000_000_000);
        self.some_time("tupdate", 100_000, 1_000_000_000);
        self.some_time("tick", 100_000, 10_000_000);
        for key in ["ecn", "bytemode", "dq_rate_estimator"] {
            self.some_switch(key);
        }
    }

    fn sfq(&mut self) {
        self.one_of("hash", &["perfect", "jenkins"]);
        for (key, most) in [("depth", 200), ("flows", 128)] {
            let number = self.random.log(1, most);
            self.bare(key, number);
        }
        self.some_size("quantum", 64, 10_000);
        self.some_switch("headdrop");
        if self.one_in(3) {
            self.one_of("aqm", &NAMES.aqms);
        } else if self.one_in(2) {
            let limit = self.random.log(100_000, 1_000_000);
            self.key("redflowlimit", format_args!("{limit} B"));
            self.some_size("max", 10_000, 100_000);
            self.some_probability("probability");
            self.some_switch("ecn");
            self.some_switch("harddrop");
        }
    }

    fn codel(&mut self, fair: bool) {
        if fair {
            self.one_of("hash", &["perfect", "jenkins"]);
            let flows = self.random.log(1, 1024);
            self.bare("flows", flows);
            self.some_size("quantum", 256, 10_000);
            self.some_size("memory_limit", 2_000, 1_000_000);
            // Packets that change bands can overtake others of their flow, which loss-free endpoints do not expect.
            if !self.ideal && self.one_in(3) {
                self.some_time("perturb", 1_000_000, 10_000_000_000);
            }
            if self.one_in(3) {
                self.one_of("aqm", &NAMES.aqms);
                return;
            }
        } else {
            self.one_of("variant", &["linux", "rfc"]);
        }
        self.some_switch("newton");
        self.some_time("target", 1, 100_000_000);
        self.some_time("interval", 1_000_000, 1_000_000_000);
        self.some_switch("ecn");
        if self.one_in(2) {
            self.some_time("ce_threshold", 1, 100_000_000);
        }
    }

    fn cobalt(&mut self) {
        let variant = self.random.pick(&["standalone", "cake"]);
        self.key("variant", variant);
        self.some_time("target", 1, 100_000_000);
        self.some_time("rtt", 100_000_001, 1_000_000_000);
        self.some_time("mtu_time", 1, 100_000_000);
        if variant == "standalone" {
            self.some_number("sce", 0, 100);
        }
    }

    fn codel_af(&mut self, twin: bool) {
        self.some_time("target", 100, 100_000_000);
        self.some_time("rtt", 100_000_001, 1_000_000_000);
        self.some_time("mtu_time", 1, 100_000_000);
        self.some_number("sce", 0, 100);
        self.one_of("hash", &["perfect", "jenkins"]);
        let flows = self.random.log(1, 65_536);
        self.bare("flows", flows);
        if twin {
            self.some_number("dscp", 1, 63);
            self.some_number("divisor", 1, 100);
        }
    }

    fn cake(&mut self, rate: u64) {
        if self.one_in(2) {
            self.some_rate("bandwidth", (rate / 20).max(1_000), rate);
        }
        self.one_of("diffserv", &["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"]);
        self.one_of("flow_mode", &["flowblind", "hosts", "flows", "dual-srchost", "triple-isolate"]);
        if self.one_in(2) {
            self.key("hash", "jenkins");
            let sets = self.random.log(1, 128);
            self.bare("flows", sets * 8);
        }
        self.some_time("target", 1, 100_000_000);
        self.some_time("rtt", 100_000_001, 1_000_000_000);
        if self.one_in(2) {
            self.some_size("memlimit", 2_000, 1_000_000);
        }
        self.some_size("overhead", 1, 256);
        self.some_size("mpu", 1, 256);
        self.one_of("atm", &["noatm", "atm", "ptm"]);
        self.one_of("ack_filter", &["off", "on", "aggressive"]);
        self.some_switch("ingress");
        self.some_switch("wash");
        if self.one_in(2) {
            self.some_number("sce_thresh", 1, 2_000);
        }
    }

    fn fq(&mut self) {
        self.one_of("hash", &["perfect", "jenkins"]);
        let packets = self.random.log(1, 100);
        self.bare("flow_limit", packets);
        self.some_size("quantum", 256, 10_000);
        self.some_size("initial_quantum", 1, 100_000);
        if self.one_in(3) {
            self.some_rate("maxrate", 100_000, 1_000_000_000);
        }
        if self.one_in(3) {
            self.one_of("aqm", &NAMES.aqms);
        }
    }

    fn pi2(&mut self) {
        self.one_of("variant", &["rfc", "paper"]);
        self.one_of("random", &["coin", "recur"]);
        self.some_switch("drop_enqueue");
        self.some_time("target", 1, 1_000_000_000);
        self.some_time("tupdate", 100_000, 1_000_000_000);
        self.some_number("coupling_factor", 1, 255);
        self.some_number("tau", 1, 200);
    }

    fn dualpi2(&mut self) {
        let linux = self.one_in(2);
        self.key("variant", if linux { "linux" } else { "rfc" });
        self.one_of("random", &["coin", "recur"]);
        self.one_of("scheduler", &["wrr-credit", "wrr", "time-shifted-fifo", "strict-priority"]);
        for switch in ["overflow", "any_ect", "mds"] {
            self.some_switch(switch);
        }
        self.some_size("memlimit", 2_000, 1_000_000);
        self.some_number("coupling_factor", 1, 255);
        self.some_probability("classic_protection");
        if self.one_in(2) {
            self.some_time("max_rtt", 1_000_000, 1_000_000_000);
        } else {
            self.some_time("tupdate", 100_000, 1_000_000_000);
        }
        if linux {
            self.some_switch("drop_enqueue");
        }
        match self.random.below(3) {
            0 => self.one_of("low_latency", &["pi2", "codel", "red", "deltim", "brickwall"]),
            1 if linux => {
                self.some_time("step_thresh", 1, 100_000_000);
                self.some_number("min_qlen_step", 1, 100);
            }
            1 => {
                self.some_time("minth", 1, 100_000_000);
                self.some_time("range", 1, 100_000_000);
                self.some_number("th_len", 1, 100);
            }
            _ => {}
        }
        if self.one_in(3) {
            self.one_of("classic", &["pie", "codel", "red", "deltim", "brickwall"]);
        }
    }

    fn lfq(&mut self, fair: bool) {
        self.one_of("hash", &["perfect", "jenkins"]);
        let flows = self.random.log(1, 65_536);
        self.bare("flows", flows);
        if fair {
            self.some_size("mtu", 256, 10_000);
            self.one_of("aqm_instances", &["flow", "one"]);
        }
        if self.one_in(2) {
            self.one_of("aqm", &NAMES.aqms);
        }
    }

    fn dualsparse(&mut self) {
        // A flow may change queues with the other classifiers, and its packets overtake each other, which loss-free
        // endpoints do not expect.
        let classifiers = if self.ideal { &["cnq", "lfq"][..] } else { &["cnq", "lfq", "rate", "dscp"] };
        self.one_of("classifier", classifiers);
        self.some_probability("ll_share");
        self.some_time("ll_depth", 1, 1_000_000_000);
        self.some_time("ll_limit", 1, 1_000_000_000);
        if self.one_in(2) {
            self.one_of("aqm", &NAMES.aqms);
        }
    }

    fn sfb(&mut self) {
        self.some_time("rehash", 1_000_000, 10_000_000_000);
        self.bare("db", "\"0.5 ms\"");
        self.some_number("target", 1, 1000);
        for key in ["penalty_rate", "penalty_burst"] {
            self.some_number(key, 1, 1000);
        }
        if self.one_in(3) {
            self.one_of("aqm", &NAMES.aqms);
        }
    }

    fn choke(&mut self) {
        self.some_number("min", 2, 100);
        self.some_probability("probability");
        self.some_switch("ecn");
        self.one_of("idle", &["exact", "linux"]);
    }
}
