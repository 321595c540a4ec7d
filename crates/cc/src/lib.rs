//! Congestion controllers as pure state machines.
//!
//! A controller hears what happens on its connection ([`CongestionControl`]) with a read-only [`PathView`], and answers with
//! one value, [`Control`]: the window, the slow-start threshold, the pacing, and how much leaves at once. It says what it
//! needs to be told ([`Needs`]). It reads no clock, holds no queue or socket, allocates and logs nothing per ACK, and knows
//! no other flow; its random numbers come from a stream of its own ([`FlowInit::random`]).
//!
//! # Families
//!
//! [`ControllerParams`] is the open set of controllers: the parameters of one, which build it. Its families are siblings,
//! none is a special case of another:
//!
//! - [`windowed`]: slow start x avoidance x response, each an open set as well. Reno-MDS is Reno with another response, and
//!   any of them can be given ESSP;
//! - a controller with a model of its own implements [`CongestionControl`] directly. See [`CongestionControl`] for an example.
//!
//! Most algorithms exist in several variants; [`Style`] says which one runs where a scenario names none.

pub mod check;
mod control;
mod controller;
mod hold_off;
mod needs;
mod sample;
mod style;
pub mod windowed;

pub use control::{Control, ExitReason, Pacing, Phase};
pub use controller::{CongestionControl, ControllerParams};
pub use hold_off::HoldOff;
pub use needs::{Feedback, Needs, PacingNeed};
pub use sample::{
    AckSample, CongestionEvent, Departure, EcnFeedback, FlowInit, LossFinder, LostSegment, Marked, PathView,
    RateSample, SentSegment, SsthreshBase, Trigger,
};
pub use style::Style;
pub use windowed::{
    AimdGrowth, AimdParams, Avoidance, AvoidanceParams, Composition, ConventionalParams, CubicParams,
    CubicVariant, EsspParams, ExitResponse, HystartParams, HystartPpParams, LimiterWindow, MdsParams,
    NoSlowStartParams, Regrowth, RenoParams, Response, ResponseParams, ScalableParams, ScalableVariant,
    SlowStart, SlowStartGrowth, SlowStartParams, SlowStartVerdict, StandardParams, WindowedConfig, leonardo,
    scaled_md,
};
pub use windtunnel_algorithm::{AnyParams, OutOfRange, Params, RandomStream};
