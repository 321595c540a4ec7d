//! Mechanisms of TCP: loss detection, recovery, timers, buffers and pacing.

use super::Draft;

impl Draft {
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
        if self.one_in(3) {
            self.one_of("growth_gate", &["linux", "none", "max-flight", "rfc9002"]);
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
        if self.one_in(6) {
            self.some_number("ack_ratio", 1, 127);
        }
        self.tcp_buffers();
    }

    /// Buffers, bursts and pacing of TCP.
    fn tcp_buffers(&mut self) {
        if self.one_in(4) {
            self.some_size("receive_window", 1, 1 << 30);
        }
        if self.one_in(6) {
            self.some_size("write_size", 1, 1 << 20);
        }
        if self.one_in(8) {
            self.one_of("truesize", &["driver", "sender"]);
            self.some_size("header_block", 1, 4096);
            self.some_switch("set_window_clamp");
        }
        if self.one_in(4) {
            self.some_size("send_buffer", 4608, 1 << 24);
            self.some_size("initial_send_buffer", 4608, 1 << 18);
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
