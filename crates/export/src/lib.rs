//! Exporters: what a run recorded, in the formats of other tools. They never change a result.

pub mod json;
mod packets;
pub mod pcapng;
pub mod qlog;
pub mod xplot;
