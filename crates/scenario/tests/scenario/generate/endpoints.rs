//! Flows: applications, controllers, the mechanisms of their TCP.

use super::Draft;

/// Controllers that measure delay.
const DELAY_BASED: [&str; 9] =
    ["vegas", "illinois", "compound", "yeah", "veno", "cdg", "nv", "lp", "ledbat-pp"];

/// Controllers that react to losses, beside Reno and CUBIC.
const LOSS_BASED: [&str; 8] = ["highspeed", "htcp", "bic", "hybla", "westwood", "binomial", "sqrt", "iiad"];

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
        if !has_controller {
            self.text.truncate(end);
            self.remove(start, &["pacing", "ecn", "iw"]);
        }
    }

    /// The flow that starts at `start` hears CE by RFC 3168: ECT(1) may be a nonce.
    fn has_plain_ecn(&self, start: usize) -> bool {
        let flow = &self.text[start..];
        let plain = |kind| flow.contains(&format!("kind = \"{kind}\"\n"));
        flow.contains("ecn = true\n") && ["reno", "aimd", "cubic", "scalable"].into_iter().any(plain)
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

    fn datagrams(&mut self) {
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
    fn rtp(&mut self) {
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
        self.scream();
    }

    fn scream(&mut self) {
        self.key("kind", "scream");
        for key in ["is_l4s", "reduce_jitter", "competing_flows_compensation"] {
            if self.one_in(2) {
                self.some_switch(key);
            }
        }
        if self.one_in(2) {
            self.some_time("qdelay_target_lo", 1_000_000, 400_000_000);
            self.some_time("virtual_rtt", 1_000_000, 1_000_000_000);
            self.some_size("min_ref_wnd", 1, 1_000_000);
            self.some_number("post_congestion_delay_rtt", 1, 1000);
        }
        for key in ["beta_loss", "beta_ecn"] {
            if self.one_in(4) {
                let percent = 1 + self.random.below(99);
                self.bare(key, format_args!("{:?}", percent as f64 / 100.0));
            }
        }
        if self.one_in(4) {
            let tenths = 10 + self.random.below(90);
            self.bare("packet_pacing_headroom", format_args!("{:?}", tenths as f64 / 10.0));
        }
    }

    fn media(&mut self, protocol: &str) {
        self.key("kind", "media");
        self.key("protocol", protocol);
        self.some_rate("rate", 1, self.rate * 2);
        self.some_time("frame_interval", (self.duration / 5000).max(1), self.duration);
        self.some_number("keyframe_every", 1, 100);
    }

    /// The application of a TCP flow; true unless it opens many connections.
    fn application(&mut self) -> bool {
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

    /// The controller of a TCP flow; false for the sender from before congestion control.
    fn controller(&mut self, one_connection: bool) -> bool {
        self.table("[flow.cc]");
        if !self.ideal && one_connection && self.one_in(8) {
            self.bsd42();
            return false;
        }
        let classics = ["tahoe", "reno1990", "newreno"];
        let base = if !self.ideal && self.one_in(4) {
            self.random.pick(&classics)
        } else {
            let other =
                if self.one_in(2) { self.random.pick(&LOSS_BASED) } else { self.random.pick(&DELAY_BASED) };
            self.random.pick(&["reno", "aimd", "cubic", "scalable", other])
        };
        if self.one_in(4) {
            return self.proportional();
        }
        if self.one_in(8) {
            return self.with_model();
        }
        let suffix = if classics.contains(&base) {
            ""
        } else {
            self.random.pick(&["", "", "", "-mds", "-mds", "-sce"])
        };
        self.key("kind", format_args!("{base}{suffix}"));
        if suffix.is_empty() && self.one_in(4) {
            self.one_of("response", &["abe", "conventional"]);
        }
        let growths = ["per-srtt", "per-window", "linux", "per-ack", "per-ack-plus-eighth"];
        match base {
            "reno" | "aimd" if !self.ideal && self.one_in(3) => self.one_of("growth", &growths),
            "cubic" if self.one_in(3) => self.one_of("variant", &["document", "rfc9438", "linux", "paper"]),
            "cubic" if self.one_in(3) => {
                self.some_number("bic_scale", 1, 4096);
                self.some_number("beta", 2, 1023);
                self.some_switch("tcp_friendliness");
                self.some_number("initial_ssthresh", 1, 1000);
            }
            "vegas" if self.one_in(3) => {
                self.one_of("variant", &["linux", "paper"]);
                self.some_number("alpha", 1, 4);
                self.some_number("beta", 4, 10);
                self.some_number("gamma", 1, 10);
            }
            "illinois" if self.one_in(3) => {
                self.some_number("win_thresh", 1, 100);
                self.some_number("theta", 1, 10);
            }
            "compound" if self.one_in(3) => {
                self.one_of("rtt", &["mean", "min"]);
                self.some_switch("tune_gamma");
                self.some_number("low_window", 1, 100);
            }
            "cdg" if self.one_in(3) => {
                self.some_number("backoff_beta", 1, 1024);
                self.some_number("backoff_factor", 1, 1000);
                self.some_number("hystart_detect", 1, 3);
                self.some_number("use_ineff", 1, 100);
                self.some_switch("use_shadow");
                self.some_switch("use_tolerance");
            }
            "nv" if self.one_in(3) => {
                self.some_number("nv_pad", 2, 100);
                self.some_number("nv_cong_dec_mult", 1, 128);
                self.some_number("nv_rtt_factor", 1, 256);
                self.some_number("nv_dec_eval_min_calls", 1, 255);
                self.some_time("nv_reset_period", 1_000_000, 10_000_000_000);
            }
            "ledbat-pp" if self.one_in(3) => {
                self.some_time("target", 1_000_000, 1_000_000_000);
                self.some_switch("slowdown");
            }
            "scalable" if self.one_in(3) => self.one_of("variant", &["document", "linux", "paper"]),
            _ => self.loss_based(base),
        }
        if base != "hybla" && self.one_in(2) {
            self.one_of(
                "slow_start",
                &[
                    "none",
                    "standard",
                    "limited",
                    "hystart",
                    "hystart-pp",
                    "essp",
                    "bbr-startup",
                    "paced-chirping",
                ],
            );
        }
        true
    }

    /// Parameters of a loss-based controller of Linux, or of a binomial one.
    fn loss_based(&mut self, base: &str) {
        match base {
            "bic" => {
                self.some_number("beta", 1, 1023);
                self.some_switch("fast_convergence");
                self.some_number("max_increment", 1, 100);
                self.some_number("low_window", 1, 100);
                self.some_number("initial_ssthresh", 1, 1000);
                self.some_number("smooth_part", 1, 100);
            }
            "htcp" => {
                self.some_switch("use_rtt_scaling");
                self.some_switch("use_bandwidth_switch");
            }
            "hybla" => self.some_number("rtt0", 1, 1000),
            "binomial" if self.one_in(2) => {
                for key in ["alpha", "beta", "l"] {
                    let tenths = 1 + self.random.below(9);
                    self.bare(key, format_args!("0.{tenths}"));
                }
                let half_steps = self.random.below(5) as f64;
                self.bare("k", format_args!("{:?}", half_steps / 2.0 - 1.0));
            }
            _ => {}
        }
    }

    /// A controller that answers marks in proportion to their number.
    fn proportional(&mut self) -> bool {
        let kind = self.random.below(if self.ideal { 2 } else { 3 });
        match kind {
            0 => {
                self.key("kind", "dctcp");
                self.one_of("arithmetic", &["linux", "rfc8257"]);
                self.some_number("dctcp_shift_g", 1, 10);
                self.some_number("dctcp_alpha_on_init", 1, 1024);
            }
            1 => {
                self.key("kind", "dctcp-sce");
                self.some_switch("ce_spread");
            }
            _ => {
                self.key("kind", "prague");
                self.one_of("variant", &["linux", "draft"]);
                self.one_of("prague_cwnd_mode", &["window", "rate", "switch"]);
                self.some_time("prague_rtt_target", 1_000_000, 100_000_000);
                self.some_switch("classic_fallback");
            }
        }
        true
    }

    /// A controller with a model of the path.
    fn with_model(&mut self) -> bool {
        match self.random.below(if self.ideal { 6 } else { 7 }) {
            0 => {
                self.key("kind", "bbr");
                self.some_switch("ack_aggregation");
                self.some_switch("policer_detection");
                self.some_switch("pacing_margin");
            }
            1 => {
                self.key("kind", "bbr3");
                if self.one_in(2) {
                    self.key("variant", "linux");
                    self.some_switch("ecn_low");
                    self.some_time("ecn_max_rtt", 1_000_000, 1_000_000_000);
                }
            }
            2 => self.key("kind", "bbr2"),
            3 => self.vivace(),
            4 => self.tfrc(),
            5 => {
                self.key("kind", "copa");
                if self.one_in(2) {
                    let percent = 1 + self.random.below(300);
                    self.bare("delta", format_args!("{:?}", percent as f64 / 100.0));
                }
                self.some_switch("mode_switching");
                self.some_time("min_rtt_window", 1_000_000, 20_000_000_000);
            }
            _ => self.scream(),
        }
        true
    }

    /// TFRC with any history.
    fn tfrc(&mut self) {
        self.key("kind", "tfrc");
        self.some_number("b", 1, 8);
        self.some_number("n", 2, 16);
        if self.one_in(2) {
            let tenths = 10 + self.random.below(991);
            self.bare("t_rto_factor", format_args!("{:?}", tenths as f64 / 10.0));
        }
        self.some_switch("history_discounting");
        self.some_switch("oscillation_prevention");
        if self.one_in(2) {
            self.one_of("initial_rate", &["rfc3390", "iw"]);
        }
    }

    /// PCC with any utility function.
    fn vivace(&mut self) {
        self.key("kind", "vivace");
        self.one_of("utility", &["latency", "loss", "allegro"]);
        if self.one_in(2) {
            return;
        }
        let (t, step) = (1 + self.random.below(100), 1 + self.random.below(50));
        self.bare("t", format_args!("{:?}", t as f64 / 100.0));
        self.some_number("b", 1, 10_000);
        self.some_number("c", 1, 100);
        self.some_number("theta", 1, 10);
        for key in ["epsilon", "omega", "delta"] {
            self.bare(key, format_args!("{:?}", step as f64 / 100.0));
        }
    }

    /// The sender from before congestion control.
    fn bsd42(&mut self) {
        self.key("kind", "bsd42");
        self.some_number("window", 1, 1000);
        if self.one_in(2) {
            return;
        }
        let percent = self.random.below(101) as f64;
        self.bare("alpha", format_args!("{:?}", percent / 100.0));
        self.some_number("beta", 1, 100);
        self.some_time("rto_initial", 1_000_000, 10_000_000_000);
        self.some_time("rto_min", 1_000_000, 10_000_000_000);
        self.some_time("rto_max", 10_000_000_000, 100_000_000_000);
        self.some_time("tick", 1_000_000, 1_000_000_000);
        self.one_of("backoff", &["none", "exp"]);
        self.one_of("out_of_order", &["keep", "drop"]);
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

    /// Mechanisms, in the current table.
    pub(super) fn tcp(&mut self) {
        let classic = ["newreno", "reno", "tahoe"];
        match self.random.below(8) {
            0 | 1 => {
                self.bare("sack", false);
                let detection = if self.one_in(3) { "rfc6675" } else { self.random.pick(&classic) };
                self.key("loss_detection", detection);
                self.key("skip_probability", "0 %");
            }
            2 => {
                self.bare("sack", true);
                self.key("loss_detection", "rfc6675");
                self.key("skip_probability", "0 %");
            }
            3 => {
                self.bare("sack", true);
                self.key("loss_detection", "rack");
                if self.one_in(2) {
                    self.key("skip_probability", "5 %");
                }
            }
            _ => {}
        }
        for key in [
            "timestamps",
            "tlp",
            "frto",
            "undo",
            "limited_transmit",
            "growth_gate",
            "count_acks",
            "gso",
            "small_queues",
            "autotuning",
        ] {
            if self.one_in(4) {
                self.some_switch(key);
            }
        }
        if self.one_in(4) {
            self.one_of("reduction", &["prr", "prr-crb", "prr-ssrb", "rate-halving", "none"]);
        }
        if self.one_in(8) {
            self.one_of("inflation", &["outstanding", "entry", "unlimited"]);
        }
        if self.one_in(4) {
            self.one_of("ecn_pp", &["linux", "off", "on"]);
        }
        if self.one_in(4) {
            self.one_of("rto", &["linux", "rfc6298"]);
        }
        if self.one_in(3) {
            self.one_of("idle", &["rfc2861", "rfc5681", "rfc7661", "none"]);
        }
        if self.one_in(6) {
            self.one_of("ssthresh_base", &["cwnd", "flight"]);
        }
        if self.one_in(6) {
            self.some_number("dupthresh", 1, 300);
        }
        if self.one_in(6) {
            self.some_number("initial_ssthresh", 1, 1000);
        }
        if self.one_in(6) {
            self.some_switch("ssthresh_metrics_save");
        }
        for key in ["rto_min", "tick"] {
            if self.one_in(8) {
                self.some_time(key, 1, 1_000_000_000);
            }
        }
        for key in ["rto_initial", "rto_max"] {
            if self.one_in(8) {
                self.some_time(key, 1_000_000_000, 100_000_000_000);
            }
        }
        self.tcp_buffers();
    }

    /// Buffers, bursts and pacing of TCP.
    fn tcp_buffers(&mut self) {
        if self.one_in(4) {
            self.some_size("receive_window", 1, 1 << 30);
        }
        if self.one_in(8) {
            self.one_of("truesize", &["driver", "sender"]);
        }
        if self.one_in(4) {
            self.some_size("send_buffer", 4608, 1 << 24);
            self.some_switch("send_autotuning");
        }
        if self.one_in(8) {
            self.some_rate("max_pacing_rate", 10_000, self.rate * 2);
        }
        if self.one_in(4) {
            self.some_time("gro", 1, self.rtt * 2);
        }
        if self.one_in(6) {
            self.some_size("gso_max", 1, 1 << 20);
        }
        if self.one_in(6) {
            self.some_size("limit_output_bytes", 1, 1 << 22);
        }
        for key in ["pacing_ss_ratio", "pacing_ca_ratio"] {
            if self.one_in(8) {
                let tenths = self.random.log(1, 1000) as f64;
                self.bare(key, format_args!("{:?}", tenths / 10.0));
            }
        }
    }
}
