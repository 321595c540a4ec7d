//! CAKE's ramp of SCE marks in sojourn time, around COBALT's target.
//!
//! Source: `sch_cake` of the SCE reference repository; spec/queues-and-signalling section 15.2. The ramp rises from 0 at
//! half of the target to `1/thresh` at the target, and from there to 1 at twice the target; with `sce_single` it starts at
//! the target. The upper branch belongs to packets that COBALT counts as above its target.

use windtunnel_units::Duration;

/// The ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SceRamp {
    target: Duration,
    /// The probability at the target.
    knee: f64,
}

impl SceRamp {
    /// A ramp through `knee` at the target.
    pub(super) const fn new(target: Duration, knee: f64) -> SceRamp {
        SceRamp { target, knee }
    }

    /// The probability of a mark after `sojourn`; `over`: COBALT counts it as above its target.
    #[inline]
    pub(super) fn probability(&self, sojourn: Duration, over: bool) -> f64 {
        // In targets: 0.5 is where the ramp starts, 1 the target, 2 the end.
        let waited = sojourn.ratio(self.target);
        let p = if over {
            self.knee + (1.0 - self.knee) * (waited - 1.0)
        } else {
            self.knee * (2.0 * waited - 1.0)
        };
        p.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the spec for a target of 5 ms: sce rises from 0 at 2.5 ms to 1 at 5 ms, sce-thresh 4 through 1/4 at
    /// 5 ms to 1 at 10 ms, sce-single from 0 at 5 ms to 1 at 10 ms. A slow link's packets stay on the lower branch.
    #[test]
    fn published_ramps() {
        for (knee, points) in [
            (1.0, [(2.5, 0.0), (3.75, 0.5), (5.0, 1.0), (7.5, 1.0), (20.0, 1.0)]),
            (0.25, [(2.5, 0.0), (3.75, 0.125), (5.0, 0.25), (7.5, 0.625), (10.0, 1.0)]),
            (0.0, [(2.5, 0.0), (5.0, 0.0), (7.5, 0.5), (10.0, 1.0), (20.0, 1.0)]),
        ] {
            let ramp = SceRamp::new(Duration::from_millis(5), knee);
            for (ms, p) in points {
                let sojourn = Duration::from_secs_f64(ms / 1e3);
                assert!((ramp.probability(sojourn, ms > 5.0) - p).abs() < 1e-9, "{knee} {ms}");
            }
        }
        let ramp = SceRamp::new(Duration::from_millis(5), 0.25);
        assert!((ramp.probability(Duration::from_secs_f64(7.5e-3), false) - 0.5).abs() < 1e-9);
    }
}
