//! A delay that ramps up over and over, as the Network Emulator for Windows Toolkit offers it ("Linear": a minimum, a
//! maximum and a period).
//!
//! The toolkit's own description was not available. Here time is divided into periods from the start of the run on; within
//! each the delay of a packet that enters rises in a straight line from the minimum to the maximum, and starts again. So
//! packets that enter evenly have delays that are spread evenly between the two. At the end of a period the delay falls at
//! once: in order, the packets after it wait for those before it, and leave together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};
use windtunnel_wire::Packet;

use super::due::Held;
use super::{Element, ElementParams, Passage, Stage, Tally};

/// A delay that ramps up from a minimum to a maximum in each period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Network Emulator for Windows Toolkit, \"Linear\"; semantics ours"))]
pub struct LinearDelayParams {
    /// The added delay at the start of each period.
    pub min: Duration,
    /// The added delay at its end.
    pub max: Duration,
    /// How long one ramp takes.
    pub period: Duration,
    /// If true, a packet with a short delay overtakes others; if false, no packet leaves before those ahead of it.
    pub reorder: bool,
}

impl Default for LinearDelayParams {
    fn default() -> LinearDelayParams {
        let (min, max) = (Duration::from_millis(1), Duration::from_millis(10));
        LinearDelayParams { min, max, period: Duration::from_secs(1), reorder: false }
    }
}

impl Params for LinearDelayParams {
    const NAME: &'static str = "linear-delay";
    const SUMMARY: &'static str = "A delay that ramps up from a minimum to a maximum in each period";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.max < self.min {
            return Err(OutOfRange::new("max", self.max, "at least `min`"));
        }
        if self.period.is_zero() {
            return Err(OutOfRange::new("period", self.period, "more than 0 s"));
        }
        Ok(())
    }
}

impl ElementParams for LinearDelayParams {
    fn stage(&self) -> Stage {
        Stage::Delay
    }

    fn keeps_order(&self) -> bool {
        !self.reorder
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(LinearDelay { params: self.clone(), held: Held::new(self.reorder) })
    }
}

#[derive(Debug)]
struct LinearDelay {
    params: LinearDelayParams,
    held: Held,
}

impl LinearDelay {
    fn delay(&self, now: Time) -> Duration {
        let LinearDelayParams { min, max, period, .. } = self.params;
        let (rise, since) = ((max - min).as_nanos(), now.as_nanos() % period.as_nanos());
        // Less than `rise`, so it fits.
        let risen = u128::from(rise) * u128::from(since) / u128::from(period.as_nanos());
        min + Duration::from_nanos(risen as u64)
    }
}

impl Element for LinearDelay {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        self.held.enter(packet, now + self.delay(now), now)
    }

    fn next_release(&self) -> Time {
        self.held.next_due()
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        self.held.release(now, tally)
    }
}
