//! The event loop with controllers and queues that do as little as possible.

mod applications;
mod captures;
mod changes;
mod close;
mod connections;
mod conservation;
mod datagrams;
mod fixtures;
mod foreign;
mod late;
mod media;
mod memory;
mod outlet;
mod paths;
mod recording;
mod state;
