//! Congestion controllers as pure state machines.
//!
//! A controller receives the events of its connection ([`CongestionControl`]) with a read-only [`PathView`] and answers
//! with one value, [`Control`]: the window, the slow-start threshold, the pacing, and the send quantum. It states what
//! it needs to be told ([`Needs`]). It reads no clock, holds no queue or socket, allocates and logs nothing per ACK,
//! and knows no other flow but the subflows of its own connection ([`Subflow`]). Its random numbers come from its own stream
//! ([`FlowInit::random`]).
//!
//! # Families
//!
//! [`ControllerParams`] is the open set of controllers: each member is the parameters that build one controller. Its
//! families are siblings; none is a special case of another:
//!
//! - [`windowed`]: slow start x avoidance x response, each an open set too. Reno-MDS is Reno with another response, and
//!   each of them can use ESSP;
//! - [`PragueParams`]: a fractional window and a rate;
//! - [`BbrParams`]: a model of the path, its bandwidth and its round-trip time;
//! - [`CopaParams`]: a target rate from the queueing delay;
//! - [`C4Params`]: a nominal rate and the largest round trip without a queue;
//! - [`TfrcParams`]: the rate of TCP's throughput equation;
//! - [`VivaceParams`]: trials of rates, and the gradient of a utility function;
//! - [`ScreamParams`]: a window that sets the rate of media;
//! - [`NadaParams`]: a rate of media from one number that delay, losses and marks make;
//! - [`GccParams`]: a rate of media that follows the trend of the delay;
//! - a controller with its own model implements [`CongestionControl`] directly. See that trait for an example.
//!
//! Most algorithms exist in several variants; [`Style`] selects the variant where a scenario names none.
//!
//! # In another transport
//!
//! An adapter to another transport, such as QUIC, needs this crate alone: [`rate_sample`] takes samples of the delivery
//! rate, and [`HoldOff`] makes one congestion event of the losses of a round (`examples/alone.rs`). Without the feature
//! `schema`, parameters are Rust structs only, and neither serde nor schemars is needed. `README.md` says what is public,
//! and what may change before version 1.0.

mod backstop;
mod bbr;
mod c4;
mod catalogue;
pub mod check;
mod control;
mod controller;
mod copa;
mod gcc;
mod hold_off;
mod kinds;
mod loss_history;
mod nada;
mod needs;
mod prague;
pub mod rate_sample;
mod regression;
mod sample;
mod saved_path;
mod scream;
mod state;
mod style;
mod subflow;
mod tfrc;
mod unresponsive;
mod vivace;
pub mod windowed;

pub use catalogue::catalogue;
pub use control::{Control, ExitReason, Pacing, Phase};
pub use controller::{CongestionControl, ControllerParams};
pub use hold_off::HoldOff;
pub use kinds::Kinds;
pub use needs::{Feedback, Needs, PacingNeed};
pub use sample::{
    AckSample, ArrivedPacket, CongestionEvent, Delivery, Departure, EcnFeedback, FlowInit, LossFinder,
    LostSegment, Marked, MediaFrame, PathView, RateSample, SentSegment, SsthreshBase, Trigger,
};
pub use state::CaState;
pub use style::Style;
pub use subflow::{Subflow, SubflowState};
pub use unresponsive::{Ignored, Unresponsive};
pub use windowed::*;
pub use windtunnel_algorithm::{AnyParams, OutOfRange, Params, RandomStream};

windtunnel_algorithm::kinds! {
    fn visit_controllers(Kinds::controller);
    prague: PragueParams;
    bbr: BbrParams, Bbr3Params, Bbr2Params;
    copa: CopaParams;
    c4: C4Params;
    tfrc: TfrcParams;
    vivace: VivaceParams;
    scream: ScreamParams;
    nada: NadaParams;
    gcc: GccParams;
}

/// The code in the crate's front page is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Passes each built-in kind to `visitor`, in the order of listings and messages.
pub fn visit(visitor: &mut impl Kinds) {
    windowed::visit(visitor);
    visit_controllers(visitor);
}
