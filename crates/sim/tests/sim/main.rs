//! The event loop under controllers and queues that do as little as possible.

mod conservation;
mod fixtures;
mod paths;
mod recording;
