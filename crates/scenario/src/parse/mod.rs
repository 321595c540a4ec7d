//! From the text of a scenario to the model.

mod application;
mod claim;
mod connection;
mod controller;
pub(crate) mod cursor;
pub(crate) mod deserialize;
pub(crate) mod document;
mod ecn;
pub(crate) mod fault;
mod files;
mod flow;
mod interrupt;
mod limit;
mod link;
mod mds_dscp;
pub(crate) mod nearest;
mod overrides;
pub(crate) mod preset;
mod queue;
mod rate;
mod record;
mod rledbat;
mod route;
mod rtp;
mod scenario;
mod schedule;
mod stack;
mod tcp;
mod transport;
mod when;

pub(crate) use scenario::{fault_at, parse};
pub(crate) use stack::{OURS, SHADOW};
