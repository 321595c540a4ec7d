//! The description of a window-based controller, and how it is composed.

use std::sync::Arc;

#[cfg(feature = "schema")]
use serde_json::{Map, Value};
use windtunnel_algorithm::{AnyParams, OutOfRange};

use super::avoidance::{Avoidance, AvoidanceParams, RenoParams};
use super::controller::Windowed;
use super::response::{ConventionalParams, ResponseParams};
use super::slow_start::{SlowStart, SlowStartParams, StandardParams};
use crate::controller::{CongestionControl, ControllerParams};
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::FlowInit;
use crate::style::Style;

/// A window-based controller: slow start x avoidance x response.
#[derive(Clone, Debug)]
pub struct WindowedConfig {
    /// How the window grows between responses.
    pub avoidance: Arc<dyn AvoidanceParams>,
    /// How the flow finds its first window.
    pub slow_start: Arc<dyn SlowStartParams>,
    /// What congestion signals do to the window.
    pub response: Arc<dyn ResponseParams>,
}

impl Default for WindowedConfig {
    /// Reno with standard slow start and the conventional response.
    fn default() -> WindowedConfig {
        WindowedConfig {
            avoidance: Arc::new(RenoParams::default()),
            slow_start: Arc::new(StandardParams::default()),
            response: Arc::new(ConventionalParams::default()),
        }
    }
}

#[cfg(feature = "schema")]
impl PartialEq for WindowedConfig {
    fn eq(&self, other: &WindowedConfig) -> bool {
        *self.avoidance == *other.avoidance
            && *self.slow_start == *other.slow_start
            && *self.response == *other.response
    }
}

impl WindowedConfig {
    /// Describes a growth function with its usual slow start and the conventional response, in the variants of `style`.
    pub fn usual(avoidance: Arc<dyn AvoidanceParams>, style: Style) -> WindowedConfig {
        let slow_start = avoidance.usual_slow_start(style);
        let mut config = WindowedConfig { avoidance, slow_start, ..WindowedConfig::default() };
        config.resolve(style);
        config
    }

    /// Fills in all values that depend on the endpoints' style, so that the effective configuration can be printed.
    pub fn resolve(&mut self, style: Style) {
        if let Some(resolved) = self.avoidance.resolved(style) {
            self.avoidance = resolved;
        }
        if let Some(resolved) = self.slow_start.resolved(style) {
            self.slow_start = resolved;
        }
    }

    /// Returns true if the flow answers SCE and therefore must negotiate MDS.
    pub fn answers_sce(&self) -> bool {
        self.response.feedback() == Feedback::Sce
    }
}

impl AnyParams for WindowedConfig {
    /// The name is the avoidance's; slow start and response are parameters.
    fn name(&self) -> &str {
        self.avoidance.name()
    }

    /// Lists the avoidance's parameters, `slow_start` as a table with `kind` where it can be chosen, the response's name, and
    /// its parameters.
    #[cfg(feature = "schema")]
    fn to_map(&self) -> Map<String, Value> {
        let mut map = self.avoidance.to_map();
        if self.avoidance.fixes_slow_start().is_none() {
            let mut slow_start = Map::new();
            slow_start.insert("kind".to_owned(), self.slow_start.name().into());
            slow_start.extend(self.slow_start.to_map());
            map.insert("slow_start".to_owned(), slow_start.into());
        }
        map.insert("response".to_owned(), self.response.name().into());
        map.extend(self.response.to_map());
        map
    }

    fn check(&self) -> Result<(), OutOfRange> {
        self.avoidance.check()?;
        self.slow_start.check()?;
        self.response.check()
    }
}

impl ControllerParams for WindowedConfig {
    /// Unresolved values are those of the MDS document.
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        self.avoidance.build(Composition::new(self, init))
    }
}

/// A window-based controller that lacks its avoidance.
#[derive(Debug)]
pub struct Composition {
    init: FlowInit,
    needs: Needs,
    slow_start: Box<dyn SlowStart>,
    response: Arc<dyn ResponseParams>,
}

impl Composition {
    fn new(config: &WindowedConfig, init: FlowInit) -> Composition {
        Composition {
            init,
            needs: Needs {
                pacing: match (config.slow_start.paces(), config.response.paces()) {
                    (true, _) => PacingNeed::Usual,
                    (false, true) => PacingNeed::Window,
                    (false, false) => PacingNeed::None,
                },
                feedback: config.response.feedback(),
                tau: config.response.tau(),
                rate_samples: config.slow_start.samples_rates(),
                departures: config.slow_start.sets_gaps(),
                paces_first: config.slow_start.paces_first(),
                loss_reports: config.slow_start.hears_losses(),
                delivery_reports: config.response.follows_deliveries(),
                loss_after_ce: config.response.feedback() == Feedback::Shares,
                ..Needs::default()
            },
            slow_start: config.slow_start.build(&init, config.response.tau()),
            response: Arc::clone(&config.response),
        }
    }

    /// Returns the flow that the controller is for.
    pub const fn init(&self) -> &FlowInit {
        &self.init
    }

    /// Sets ssthresh of the new connection to this many segments, if not 0.
    #[must_use]
    pub fn starting_below(mut self, ssthresh: u32) -> Composition {
        if ssthresh > 0 {
            self.init.ssthresh = Some(self.init.mss * u64::from(ssthresh));
        }
        self
    }

    /// Builds the complete controller. It is compiled once per avoidance, so that an ACK makes no dynamic call to the
    /// avoidance.
    pub fn with<A: Avoidance + 'static>(self, avoidance: A) -> Box<dyn CongestionControl> {
        let response = self.response.build(avoidance.md());
        let rules = self.response.sce_rules();
        let needs = avoidance.needs(self.needs);
        Box::new(Windowed::new(self.init, needs, self.slow_start, avoidance, response, rules))
    }
}
