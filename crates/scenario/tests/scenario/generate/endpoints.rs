//! Flows: when they send, and how their receivers acknowledge. What sends, by which controller and with which TCP: `applications`,
//! `controllers`, `mechanisms`.

use super::Draft;

impl Draft {
    /// The keys of a flow, after `from` and `to`.
    pub(super) fn flow(&mut self, index: usize) {
        self.key("name", format_args!("flow {index}"));
        let start = self.text.len();
        let rtt = self.rtt * self.random.log(1, 4);
        self.time("rtt", rtt);
        if self.one_in(4) {
            self.bare("count", 2);
        }
        for key in ["pacing", "ecn"] {
            // Never false: the MDS response needs ECN.
            if self.one_in(4) {
                self.bare(key, true);
            }
        }
        let datagrams = !self.ideal && self.one_in(6);
        if !datagrams && self.one_in(3) {
            self.some_number("iw", 1, 100);
        }
        self.schedule();
        if datagrams {
            self.remove(start, &["pacing"]);
            return if self.one_in(3) { self.rtp() } else { self.datagrams() };
        }
        let one_connection = self.ideal || self.one_in(3) || self.application();
        let has_controller = self.controller(one_connection);
        let end = self.text.len();
        if self.one_in(2) {
            self.acks();
        }
        if !self.ideal && self.one_in(2) {
            self.table("[flow.tcp]");
            self.tcp();
            if self.has_plain_ecn(start) && self.one_in(2) {
                self.bare("ecn_nonce", true);
            }
        }
        if has_controller && self.text[start..].contains("-mds\"\n") && self.one_in(3) {
            let dscp = self.random.log(1, 63);
            self.text.insert_str(start, &format!("mds_dscp = {dscp}\n"));
        }
        let text = &self.text[start..];
        let deceives = ["division = ", "duplicates = ", "optimistic = "].iter().any(|key| text.contains(key));
        if has_controller
            && !self.ideal
            && !deceives
            && !self.text.contains("timestamps = false")
            && self.one_in(4)
        {
            let kind = self.random.pick(&["ledbat-pp", "ledbat"]);
            self.text.insert_str(start, &format!("rledbat = \"{kind}\"\n"));
        }
        let text = &self.text[start..];
        let lasts = ["[flow.app]\n", "stop = ", "active = "].iter().all(|key| !text.contains(key));
        if has_controller && lasts && self.one_in(3) {
            self.text.insert_str(start, &format!("connection = \"connection {index}\"\n"));
        }
        if !has_controller {
            self.text.truncate(end);
            self.remove(start, &["pacing", "ecn", "iw"]);
        }
    }

    /// The flow that starts at `start` hears CE by RFC 3168: ECT(1) may be a nonce.
    fn has_plain_ecn(&self, start: usize) -> bool {
        let flow = &self.text[start..];
        let plain = |kind| flow.contains(&format!("kind = \"{kind}\"\n"));
        let is_usual = flow.contains("ecn = true\n") && !flow.contains("response = ");
        is_usual && ["reno", "aimd", "cubic", "scalable"].into_iter().any(plain)
    }

    /// Removes the lines with these keys from `start` on.
    fn remove(&mut self, start: usize, keys: &[&str]) {
        let written = self.text.split_off(start);
        let kept = |line: &&str| !keys.iter().any(|key| line.starts_with(&format!("{key} = ")));
        self.text.extend(written.split_inclusive('\n').filter(kept));
    }

    fn schedule(&mut self) {
        let most = self.duration - 1;
        match self.random.below(5) {
            0 => self.some_time("start", 1, most),
            1 => {
                let (start, span) = (self.random.log(1, most), self.random.log(1, self.duration));
                self.time("start", start);
                self.time("stop", start + span);
            }
            2 => {
                let mut from = self.random.log(1, self.duration / 10);
                let mut spans = Vec::new();
                while from < most && spans.len() < 4 {
                    let to = from + self.random.log(1, self.duration / 4);
                    spans.push(format!("{{ from = \"{from} ns\", to = \"{to} ns\" }}"));
                    from = to + self.random.log(1, self.duration / 4);
                }
                self.bare("active", format_args!("[{}]", spans.join(", ")));
            }
            _ => {}
        }
    }

    fn acks(&mut self) {
        self.table("[flow.ack]");
        let policies: &[&str] = if self.ideal {
            &["immediate", "quick-signal", "state-change"]
        } else {
            &["immediate", "quick-signal", "state-change", "dithered", "every", "linux"]
        };
        self.one_of("policy", policies);
        self.some_number("count", 1, 100);
        self.some_time("delay", 1, 1_000_000_000);
        if self.one_in(8) {
            self.bare("hide_marks", 0.5);
        }
        if !self.ideal && self.one_in(8) {
            self.some_number("mds_tau", 1, 128);
        }
        if !self.ideal && self.one_in(8) {
            match self.random.below(3) {
                0 => self.some_number("division", 2, 50),
                1 => {
                    self.some_number("duplicates", 1, 100);
                    self.some_time("duplicates_interval", 1_000_000, 1_000_000_000);
                }
                _ => {
                    self.some_time("optimistic", 100_000, 100_000_000);
                    self.some_size("optimistic_lead", 1, 1 << 20);
                }
            }
        }
    }
}
