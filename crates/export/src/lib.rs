//! Exporters: what a run recorded, in the formats of other tools. They never change a result.

pub mod json;
pub mod pcapng;
pub mod xplot;
