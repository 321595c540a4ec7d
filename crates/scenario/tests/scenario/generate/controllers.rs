//! Controllers and their parameters.

use super::Draft;
use crate::names::NAMES;

impl Draft {
    /// The controller of a TCP flow; false for the sender from before congestion control.
    pub(super) fn controller(&mut self, one_connection: bool) -> bool {
        self.table("[flow.cc]");
        if !self.ideal && one_connection && self.one_in(8) {
            self.bsd42();
            return false;
        }
        let classics = ["tahoe", "reno1990", "newreno"];
        let base = if !self.ideal && self.one_in(4) {
            self.random.pick(&classics)
        } else {
            let other = self.random.pick(&NAMES.avoidances);
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
            let is_classic = classics.contains(&base);
            self.one_of("response", if is_classic { &["abe", "conventional"] } else { &NAMES.responses });
        }
        if suffix == "-mds" && self.one_in(3) {
            self.some_number("fallback", 1, 20);
        }
        let growths = ["per-srtt", "per-window", "linux", "per-ack", "per-ack-plus-eighth"];
        match base {
            "reno" | "aimd" if !self.ideal && self.one_in(3) => self.one_of("growth", &growths),
            "cubic" if self.one_in(3) => {
                self.one_of("variant", &["document", "rfc9438", "linux", "paper", "cuback"]);
            }
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
            "ledbat" if self.one_in(3) => {
                self.some_time("target", 1_000_000, 100_000_000);
                self.some_number("gain", 1, 10);
                self.some_number("allowed_increase", 1, 10);
            }
            "ledbat-pp" if self.one_in(3) => {
                self.some_time("target", 1_000_000, 1_000_000_000);
                self.some_switch("slowdown");
            }
            "scalable" if self.one_in(3) => self.one_of("variant", &["document", "linux", "paper"]),
            _ => self.loss_based(base),
        }
        if !NAMES.with_own_slow_start.contains(&base) && self.one_in(2) {
            self.one_of("slow_start", &NAMES.slow_starts);
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
        match self.random.below(if self.ideal { 6 } else { 10 }) {
            0 => {
                self.key("kind", "bbr");
                self.some_switch("ack_aggregation");
                self.some_switch("policer_detection");
                self.some_switch("pacing_margin");
            }
            1 => {
                self.key("kind", "bbr3");
                match self.random.below(7) {
                    6 => {
                        let bytes = 1 + self.random.below(5_000_000);
                        self.key("saved_cwnd", format_args!("{bytes} B"));
                        self.some_time("saved_rtt", 1_000_000, 1_000_000_000);
                    }
                    0 => self.key("ce", "loss"),
                    1 => self.key("ce", "none"),
                    2 => self.key("variant", "draft-06"),
                    3 => self.key("offload", "quic"),
                    _ => {
                        self.key("variant", "linux");
                        self.some_switch("ecn_low");
                        self.some_time("ecn_max_rtt", 1_000_000, 1_000_000_000);
                    }
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
            6 => self.scream(),
            7 => self.nada(),
            8 => self.gcc(),
            _ => self.one_of("kind", &NAMES.controllers),
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

    pub(super) fn nada(&mut self) {
        self.key("kind", "nada");
        for key in ["xref", "tau", "delta", "qbound", "qeps", "qth", "dloss", "dmark"] {
            if self.one_in(4) {
                self.some_time(key, 1, 10_000_000_000);
            }
        }
        for key in ["prio", "kappa", "eta", "lambda", "multiloss"] {
            if self.one_in(4) {
                let percent = 1 + self.random.below(1000);
                self.bare(key, format_args!("{:?}", percent as f64 / 100.0));
            }
        }
        if self.one_in(4) {
            let percent = self.random.below(101);
            self.bare("gamma_max", format_args!("{:?}", percent as f64 / 100.0));
        }
    }

    pub(super) fn scream(&mut self) {
        self.key("kind", "scream");
        for key in ["is_l4s", "reduce_jitter", "competing_flows_compensation", "clock_drift_compensation"] {
            if self.one_in(2) {
                self.some_switch(key);
            }
        }
        if self.one_in(2) {
            let thousandths = 1 + self.random.below(500);
            self.bare("loss_rate_threshold", format_args!("{:?}", thousandths as f64 / 1000.0));
            if self.one_in(2) {
                let policed = thousandths + self.random.below(500);
                self.bare("loss_rate_threshold_policer", format_args!("{:?}", policed as f64 / 1000.0));
            }
        }
        if self.one_in(2) {
            let percent = self.random.below(101);
            self.bare("acked_bitrate_margin", format_args!("{:?}", percent as f64 / 100.0));
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

    pub(super) fn gcc(&mut self) {
        self.key("kind", "gcc");
        self.one_of("filter", &["kalman", "trendline"]);
        if self.one_in(2) {
            self.some_rate("start_rate", 1, self.rate);
            self.some_number("max_deltas", 1, 1000);
        }
        if self.one_in(2) {
            self.some_time("burst_time", 1_000_000, 100_000_000);
            self.some_time("del_var_th", 6_000_000, 600_000_000);
            self.some_time("rate_window", 100_000_000, 10_000_000_000);
            self.some_time("update_interval", 1_000_000, 1_000_000_000);
            self.some_time("loss_interval", 1_000_000, 10_000_000_000);
        }
        if self.one_in(4) {
            let percent = 1 + self.random.below(99);
            self.bare("beta", format_args!("{:?}", percent as f64 / 100.0));
        }
        if self.one_in(4) {
            let tenths = 10 + self.random.below(90);
            self.bare("pacing_factor", format_args!("{:?}", tenths as f64 / 10.0));
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
}
