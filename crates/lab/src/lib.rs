//! A run to watch and to change while it goes on: what the page of the lab asks of the simulator.
//!
//! The text of the scenario is the whole state. A control writes a change into it, at the time that the run has reached
//! ([`Edit`]); the run then starts again, and is back at that time a moment later ([`Lab`]). So the page always shows what
//! `windtunnel run` would give of its text, to the last bit, and going back in time is nothing of its own.
//!
//! The page asks in JSON, and gets JSON with columns of numbers behind it ([`Desk`]). Nothing here depends on a browser; what
//! WebAssembly needs is in `exports.rs`.

mod desk;
mod edit;
mod exports;
mod feed;
mod queue;
mod run;
mod text;

pub use desk::{Answer, Desk};
pub use edit::{Edit, EditError};
pub use run::Lab;
